"""The model card of a trained model: its data, its settings, and how to use it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wug import __version__
from wug.files import write_text
from wug.train.checkpoint import TrainingState
from wug.train.material import ExampleMaterial, TextMaterial
from wug.train.options import Training, TrainingConfig

LAST_STEPS = 50
ENCODINGS = {
    "causal": "the BOS token `<|endoftext|>` before a text",
    "masked": "a text between `<s>` and `</s>`",
    "seq2seq": "`</s>` after a text",
}
"""Where the tokenizer of each kind of Hugging Face model puts special tokens."""


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What README.md says about a model."""

    training: Training
    material: TextMaterial | ExampleMaterial
    command: str
    parameters: int
    device: str

    def write(self, config: TrainingConfig, state: TrainingState) -> None:
        """Write README.md, unless there is one."""
        import torch
        import transformers

        path = self.training.output / "README.md"
        if path.exists():
            return
        last = state.losses[-LAST_STEPS:]
        device = torch.cuda.get_device_name() if self.device.startswith("cuda") else self.device
        rows = {
            "parameters": f"{self.parameters:,}",
            "trained on": self.material.description,
            "steps": f"{state.step:,} of {config.batch_size} rows",
            "optimiser": f"{config.optimiser}, rate {config.learning_rate:g} after {config.warmup:,} steps, then "
            "cosine decay",
            "weight decay": f"{config.weight_decay:g}",
            "arithmetic": config.precision,
            "seed": str(config.seed),
            "final loss": f"{sum(last) / len(last):.4f} nats per token, the mean of {len(last)} steps",
            "time": f"{state.seconds:,.0f} s on {device}",
            "weights": self.training.dtype,
            "versions": f"wug {__version__}, torch {torch.__version__}, transformers {transformers.__version__}",
        }
        table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
        notes = "".join(f"- {note}\n" for note in self._notes())
        text = f"# {self.training.output.name}\n\n```\n{self.command}\n```\n\n| | |\n|---|---|\n{table}\n\n{notes}"
        write_text(path, text.rstrip() + "\n")

    def _notes(self) -> Iterator[str]:
        """What users have to know to get the numbers of wug, also in other programs."""
        kind, dtype = self.material.settings["kind"], self.training.dtype
        if unit := self.material.settings.get("unit"):
            yield f"It saw one {unit} at a time and ignores what comes before."
        if kind not in ENCODINGS:
            return
        yield (
            f"By default its tokenizer puts {ENCODINGS[kind]}, as in training. Programs that use the default "
            "encoding give the numbers of wug."
        )
        if kind == "causal":
            yield "Do not let a program add BOS a second time: in minicons, leave `bos_token` at `False`."
        if dtype != "float32":
            yield (
                f"transformers 5 computes in the dtype of the file, {dtype}, unless told otherwise. wug computes "
                "in float32, and so does `from_pretrained(FOLDER, dtype=torch.float32)`."
            )
