"""The model card of a trained model: its data, its settings, and how to use it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wug.files import write_text
from wug.train.checkpoint import TrainingState
from wug.train.options import TrainingConfig

LAST_STEPS = 50
ENCODINGS = {
    "causal": "the BOS token `<|endoftext|>` before a text",
    "masked": "a text between `<s>` and `</s>`",
    "seq2seq": "`</s>` after a text",
}
"""Where the tokenizer of each kind of Hugging Face model puts special tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """What README.md says about a model."""

    command: str
    data: str
    kind: str
    unit: str | None
    """What a text model saw at a time."""
    parameters: int
    dtype: str
    device: str
    version: str

    def write(self, folder: Path, config: TrainingConfig, state: TrainingState) -> None:
        """Write README.md, unless there is one."""
        import torch
        import transformers

        path = folder / "README.md"
        if path.exists():
            return
        last = state.losses[-LAST_STEPS:]
        device = torch.cuda.get_device_name() if self.device.startswith("cuda") else self.device
        rows = {
            "parameters": f"{self.parameters:,}",
            "trained on": self.data,
            "steps": f"{state.step:,} of {config.batch_size} rows",
            "optimiser": f"{config.optimiser}, rate {config.learning_rate:g} after {config.warmup:,} steps, then "
            "cosine decay",
            "weight decay": f"{config.weight_decay:g}",
            "arithmetic": config.precision,
            "seed": str(config.seed),
            "final loss": f"{sum(last) / len(last):.4f} nats per token, the mean of {len(last)} steps",
            "time": f"{state.seconds:,.0f} s on {device}",
            "weights": self.dtype,
            "versions": f"wug {self.version}, torch {torch.__version__}, transformers {transformers.__version__}",
        }
        table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
        notes = "".join(f"- {note}\n" for note in self._notes())
        text = f"# {folder.name}\n\n```\n{self.command}\n```\n\n| | |\n|---|---|\n{table}\n\n{notes}"
        write_text(path, text.rstrip() + "\n")

    def _notes(self) -> Iterator[str]:
        """What users have to know to get the numbers of wug, also in other programs."""
        if self.unit is not None:
            yield f"It saw one {self.unit} at a time and ignores what comes before."
        if self.kind not in ENCODINGS:
            return
        yield (
            f"By default its tokenizer puts {ENCODINGS[self.kind]}, as in training. Programs that use the default "
            "encoding give the numbers of wug."
        )
        if self.kind == "causal":
            yield "Do not let a program add BOS a second time: in minicons, leave `bos_token` at `False`."
        if self.dtype != "float32":
            yield (
                f"transformers 5 computes in the dtype of the file, {self.dtype}, unless told otherwise. wug computes "
                "in float32, and so does `from_pretrained(FOLDER, dtype=torch.float32)`."
            )
