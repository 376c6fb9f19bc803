"""The card of a trained model: what it learnt from, and how."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wug.files import write_text
from wug.train.checkpoint import TrainingState
from wug.train.recipe import Recipe

LAST = 50
ENCODINGS = {
    "causal": "the BOS token `<|endoftext|>` before a text",
    "masked": "a text between `<s>` and `</s>`",
    "seq2seq": "`</s>` after a text",
}
"""What the tokenizers of each kind of Hugging Face model put where."""


def write_card(
    folder: Path,
    recipe: Recipe,
    state: TrainingState,
    *,
    command: str,
    about: str,
    kind: str,
    unit: str | None,
    parameters: int,
    dtype: str,
    device: str,
    version: str,
) -> None:
    """Write README.md beside the weights, unless somebody wrote one already.

    `unit` is what a model of text saw by itself, `dtype` that of the weights in the file.
    """
    import torch
    import transformers

    path = folder / "README.md"
    if path.exists():
        return
    last = state.losses[-LAST:]
    where = torch.cuda.get_device_name() if device.startswith("cuda") else device
    rows = {
        "parameters": f"{parameters:,}",
        "learnt from": about,
        "steps": f"{state.step:,} of {recipe.batch} rows",
        "optimiser": f"{recipe.optimiser}, rate {recipe.rate:g} after {recipe.warmup:,} steps, then a cosine",
        "weight decay": f"{recipe.weight_decay:g}",
        "arithmetic": recipe.precision,
        "seed": str(recipe.seed),
        "loss at the end": f"{sum(last) / len(last):.4f} nats a token, the mean of {len(last)} steps",
        "time": f"{state.seconds:,.0f} s on {where}",
        "weights": dtype,
        "versions": f"wug {version}, torch {torch.__version__}, transformers {transformers.__version__}",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    notes = "".join(f"- {note}\n" for note in _notes(kind, unit, dtype))
    write_text(path, f"# {folder.name}\n\n```\n{command}\n```\n\n| | |\n|---|---|\n{table}\n\n{notes}".rstrip() + "\n")


def _notes(kind: str, unit: str | None, dtype: str) -> Iterator[str]:
    """What a user has to know to get the numbers of wug, also in other programs."""
    if unit is not None:
        yield f"It saw each {unit} by itself: what comes before means nothing to it."
    if kind not in ENCODINGS:
        return
    yield (
        f"By default its tokenizer puts {ENCODINGS[kind]}, as in training. Programs that use the default encoding give "
        "the numbers of wug."
    )
    if kind == "causal":
        yield "Do not let a program add BOS a second time: in minicons, leave `bos_token` at `False`."
    if dtype != "float32":
        yield (
            f"transformers 5 computes in the dtype of the file, {dtype}, unless told otherwise. wug computes in "
            "float32, and so does `from_pretrained(FOLDER, dtype=torch.float32)`."
        )
