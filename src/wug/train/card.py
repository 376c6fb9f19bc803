"""The card of a trained model: what it learnt from, and how."""

from __future__ import annotations

from pathlib import Path

from wug.files import write_text
from wug.train.checkpoint import TrainingState
from wug.train.recipe import Recipe

LAST = 50


def write_card(
    folder: Path,
    recipe: Recipe,
    state: TrainingState,
    *,
    command: str,
    about: str,
    parameters: int,
    device: str,
    version: str,
) -> None:
    """Write README.md beside the weights, unless somebody wrote one already."""
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
        "versions": f"wug {version}, torch {torch.__version__}, transformers {transformers.__version__}",
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    write_text(path, f"# {folder.name}\n\n```\n{command}\n```\n\n| | |\n|---|---|\n{table}\n")
