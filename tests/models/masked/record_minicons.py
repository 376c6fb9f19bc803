"""Score the sentences of `minicons.json` with minicons, and store its numbers there.

    pip install minicons==0.3.39 "transformers<5"
    python tests/models/masked/record_minicons.py

It needs a separate environment, since the masked scorer of minicons does not run with transformers 5.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

RECORD = Path(__file__).with_name("minicons.json")
MODEL = Path(__file__).parents[3] / "src" / "wug" / "assets" / "models" / "wug-masked"


def main() -> None:
    """Log-probabilities of all tokens by both metrics, one sentence at a time, in float32."""
    import torch
    from minicons.scorer import MaskedLMScorer

    scorer = MaskedLMScorer(str(MODEL), "cpu", dtype=torch.float32)
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    found["versions"] = {name: version(name) for name in ("minicons", "transformers", "torch")}
    for metric in ("original", "within_word_l2r"):
        stats = [scorer.compute_stats(scorer.prepare_text([text], PLL_metric=metric))[0] for text in found["texts"]]
        found[metric] = [[round(value, 6) for value in one] for one in stats]
        for name, reduction in (("sum", lambda x: x.sum(0).item()), ("token", lambda x: x.mean(0).item())):
            scores = [
                scorer.sequence_score([text], PLL_metric=metric, reduction=reduction)[0] for text in found["texts"]
            ]
            found[f"{metric}, {name}"] = [round(score, 6) for score in scores]
    RECORD.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
