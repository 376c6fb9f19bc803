"""Compare `--protocol lm-eval` with lm-eval itself: `lm_eval_parity.py MODEL BLIMP_FOLDER CHOICES.jsonl`.

Needs lm_eval 0.4.13 and wug in one environment. Writes task files for 500 BLiMP pairs and a multiple-choice table, runs
both programs offline in float32, and compares the log-probability of every option and the accuracies.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
PAIRS, PARADIGMS = 500, 10
PAIR_TASK = """task: parity_blimp
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
output_type: multiple_choice
test_split: test
doc_to_text: ""
doc_to_target: 0
doc_to_choice: "{{{{[sentence_good, sentence_bad]}}}}"
num_fewshot: 0
metric_list: [{{metric: acc}}]
"""
CHOICE_TASK = """task: parity_choices
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
output_type: multiple_choice
test_split: test
doc_to_text: "{{{{context}}}}"
doc_to_choice: "{{{{options}}}}"
doc_to_target: "{{{{answer - 1}}}}"
metric_list: [{{metric: acc}}, {{metric: acc_norm}}]
"""


def write_tasks(folder: Path, blimp: Path, choices: Path) -> list[Path]:
    """The two task files, with their data."""
    lines: list[str] = []
    for path in sorted(blimp.glob("*.jsonl*"))[:PARADIGMS]:
        text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
        lines += text.splitlines()[: PAIRS // PARADIGMS]
    (folder / "pairs.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "choices.jsonl").write_text(choices.read_text())
    made = []
    for name, task in {"pairs": PAIR_TASK, "choices": CHOICE_TASK}.items():
        made.append(folder / f"{name}.yaml")
        made[-1].write_text(task.format(file=folder / f"{name}.jsonl"))
    return made


def by_lm_eval(model: str, folder: Path) -> dict[str, Any]:
    """The results and samples of lm-eval."""
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    found: dict[str, Any] = simple_evaluate(
        model="hf",
        model_args={"pretrained": model, "dtype": "float32"},
        tasks=["parity_blimp", "parity_choices"],
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
        device="cpu",
        batch_size=16,
        bootstrap_iters=0,
    )
    return found


def main() -> int:
    """Print the largest difference per task and the accuracies; exit 1 if they disagree."""
    import wug
    from wug.evaluation.request import RunRequest
    from wug.evaluation.service import execute

    model, blimp, choices = sys.argv[1:]
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = write_tasks(folder, Path(blimp), Path(choices))
        theirs = by_lm_eval(model, folder)
        report = execute(RunRequest(suites=files, models=[f"causal:{model}"], protocol="lm-eval"))
        for result in report.results:
            ours = [one for one in result.outcomes if one.metric == "accuracy"]
            samples = sorted(theirs["samples"][result.suite], key=lambda one: one["doc_id"])
            pairs = [
                (mine, float(other[0]))
                for outcome, sample in zip(ours, samples, strict=True)
                for mine, other in zip(outcome.detail["logprobs"], sample["filtered_resps"], strict=True)
            ]
            worst = max(abs(mine - other) for mine, other in pairs)
            names = {"accuracy": "acc,none", "accuracy:character": "acc_norm,none"}
            for one in result.estimates:
                if one.group == "all" and one.metric in names:
                    other = theirs["results"][result.suite][names[one.metric]]
                    failed |= abs(one.value - other) > 1e-12
                    print(f"{result.suite} {names[one.metric]}: wug {one.value:.6f}, lm-eval {other:.6f}")
            failed |= worst > 1e-4
            print(f"{result.suite}: {len(ours)} items, {len(pairs)} options, largest difference {worst:.2g} nats")
    print(f"wug {wug.__version__}, lm_eval 0.4.13: {'they disagree' if failed else 'equal'}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
