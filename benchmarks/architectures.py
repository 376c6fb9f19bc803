"""Every causal architecture of the installed transformers, made tiny: wug's numbers compared with the plain model's.

    python benchmarks/architectures.py                  all of them, some minutes on one core
    python benchmarks/architectures.py mistral phi3     some of them
    python benchmarks/architectures.py --write docs/architectures.md

Random weights, texts of 1 to 200 tokens, each asked alone and all together, in the order given and shuffled. What
is compared is the log-probability of each token: wug's against `model(input_ids).logits` of that text alone, without
padding, mask or cache of ours. Windows are set to several sizes, all of them below 200 tokens.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "helpers")]

import tiny_architectures  # noqa: E402
from wug.errors import ModelError  # noqa: E402
from wug.models.causal.forward import CausalEngine  # noqa: E402
from wug.models.causal.selftest import choose_engine  # noqa: E402

SEEN = "## Results"
WINDOWS = (40, 29, 97, 150)
LENGTHS = (1, 2, 3, 5, 8, 12, 17, 24, 28, 29, 30, 39, 40, 41, 55, 64, 65, 80, 96, 97, 98, 110, 126, 127, 128, 129, 130,
           149, 150, 151, 175, 200)  # fmt: skip
LONGROPE = {
    "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 64,
    "short_factor": [1.0] * 4, "long_factor": [1.0, 2.0, 4.0, 8.0],
}  # fmt: skip
VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "phi3, longrope": ("phi3", {"rope_parameters": LONGROPE, "original_max_position_embeddings": 64}),
    "llama, longrope": ("llama", {"rope_parameters": LONGROPE}),
    "llama, dynamic": (
        "llama", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 4.0}},
    ),
    "llama, yarn": (
        "llama",
        {"rope_parameters": {
            "rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "original_max_position_embeddings": 64,
        }},
    ),
}  # fmt: skip
"""Architectures with other settings than the defaults."""


@dataclass(frozen=True, slots=True)
class Line:
    """What was seen of an architecture."""

    name: str
    way: str
    """trees, plain, one at a time; or refused, not made."""
    gap: float | None
    """The largest difference in nats."""
    tokens: int
    note: str


def look(name: str) -> Line:
    """Try one architecture, with each window if it has any."""
    base, settings = VARIANTS.get(name, (name, {}))
    windows = WINDOWS if name == base and tiny_architectures.has_window(base) else (None,)
    gap, tokens, ways, notes = 0.0, 0, [], []
    for window in windows:
        try:
            model = tiny_architectures.model(tiny_architectures.configuration(base, window=window, **settings))
            measured = [tiny_architectures.alone(model, text) for text in tiny_architectures.texts(LENGTHS)]
        except Exception as error:
            return Line(name, "not made", None, 0, _short(error))
        try:
            engine = choose_engine(model)
        except ModelError as error:
            return Line(name, "refused", None, 0, _short(error))
        ways.append(_way(engine))
        for found in _answers(engine):
            tokens += sum(map(len, found))
            gap = max(gap, *(float(np.abs(a - b).max(initial=0)) for a, b in zip(found, measured, strict=True)))
    if windows != (None,):
        notes.append(f"windows of {', '.join(map(str, sorted(WINDOWS)))}")
    return Line(name, ", ".join(dict.fromkeys(ways)), gap, tokens, "; ".join(notes))


def _answers(engine: CausalEngine) -> Iterator[Sequence[Any]]:
    """What wug says of each text: alone, all together, and together with others in another order."""
    texts = tiny_architectures.texts(LENGTHS)
    yield [engine.logprobs([text])[0] for text in texts]
    yield engine.logprobs(texts)
    crowd = [(place, text) for place, text in enumerate(texts)]
    crowd += [(-1, text) for text in tiny_architectures.texts([3, 200, 77, 128, 1] * 4, seed=99)]
    random.Random(3).shuffle(crowd)
    found = engine.logprobs([text for _, text in crowd])
    by_place = {place: one for (place, _), one in zip(crowd, found, strict=True) if place >= 0}
    yield [by_place[place] for place in range(len(texts))]


def _way(engine: CausalEngine) -> str:
    if engine.methods.layout is not None:
        return "trees"
    return "plain" if engine.methods.padded else "one at a time"


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    text = text.removeprefix("Class validation error for validator 'validate_architecture': ")
    return (text if len(text) <= 150 else text[:150] + "…").replace("|", "/")


def table(lines: Sequence[Line]) -> str:
    """The lines as Markdown."""
    rows = ["| architecture | scored as | largest difference | tokens compared | notes |", "|---|---|---|---|---|"]
    for line in lines:
        gap = "" if line.gap is None else f"{line.gap:.1e}"
        rows.append(f"| {line.name} | {line.way} | {gap} | {line.tokens or ''} | {line.note} |")
    return "\n".join(rows)


def seen(lines: Sequence[Line]) -> str:
    """The end of the page of the docs: what was seen, in numbers and tables."""
    import torch
    import transformers

    ran = [line for line in lines if line.gap is not None]
    trees = sum(line.way == "trees" for line in ran)
    worst = max((line.gap for line in ran if line.gap is not None), default=0.0)
    return "\n".join(
        [
            SEEN,
            "",
            f"transformers {transformers.__version__}, PyTorch {torch.__version__}, float32 on the CPU: {len(ran)} "
            f"architectures compared, {trees} of them in trees; the largest difference of a token is {worst:.1e} nats. "
            f"Windows were set to {', '.join(map(str, sorted(WINDOWS)))} tokens.",
            "",
            table(ran),
            "",
            "## Refused or not made",
            "",
            table([line for line in lines if line.gap is None]),
            "",
        ]
    )


def _quiet() -> None:
    import torch
    import transformers

    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    logging.getLogger("wug").setLevel(logging.ERROR)
    torch.set_num_threads(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="architectures; all without any")
    parser.add_argument("--write", type=Path, help="the page whose tables are to be replaced")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args()

    names = arguments.names or sorted([*tiny_architectures.names(), *VARIANTS])
    lines = []
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn"), initializer=_quiet) as pool:
        for line in pool.map(look, names):
            lines.append(line)
            print(line, file=sys.stderr, flush=True)
    if arguments.write is None:
        print(table(lines))
    else:
        prose = arguments.write.read_text(encoding="utf-8").split(SEEN)[0]
        arguments.write.write_text(prose + seen(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
