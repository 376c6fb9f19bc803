"""LSTMs with attention that turn text into text, as `wug train` makes them: `attention_lstm:folder`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from wug.errors import MissingExtra, ModelError
from wug.files import user_path
from wug.models._fingerprint import unchanged
from wug.models._given_source import END, SOURCE, SourceScorer
from wug.models._hardware import halving, pick_device
from wug.models._options import BATCH, DEVICE, DTYPE, FLOATS, MAX_LENGTH
from wug.models._spec import Identity, ModelSpec
from wug.models._words import Vocabulary, read_words
from wug.models.attention_lstm import scoring
from wug.models.attention_lstm.folder import PAD, START, load_attention_lstm, source_numbers
from wug.models.decoding import outputs
from wug.models.decoding.outputs import Decoded
from wug.models.lstm.folder import CONFIG, VOCABULARY, WEIGHTS, fingerprint
from wug.types import Answer, Traits

TRAITS = Traits(
    returns="text",
    architectures=("AttentionLSTM",),
    uses_device=True,
    windows=True,
    to_score="Open it with score=source",
    to_generate="Open it without score=source",
)
"""Or scores, with score=source."""
OPTIONS = (
    replace(MAX_LENGTH, help=MAX_LENGTH.help.replace("tokens", "words")),
    replace(DTYPE, type=FLOATS, help="the number format of weights and arithmetic"),
    DEVICE,
    replace(BATCH, help=BATCH.help.replace("tokens", "words")),
    scoring.SCORE,
    SOURCE,
    END,
)
GLANCE = 8
"""Words after which answers that have ended leave the batch: to look more often would keep a GPU waiting."""


class AttentionLSTMModel:
    """An LSTM with attention that turns sources into answers."""

    __slots__ = ("_bound", "_model", "_tokens", "_vocabulary", "chunk", "id", "options")

    def __init__(self, name: str, model: Any, vocabulary: Vocabulary, options: Mapping[str, Any]) -> None:
        self._model, self._vocabulary = model, vocabulary
        self._bound = options["max_length"]
        on_gpu = model.output.bias.device.type == "cuda"
        self._tokens = options["batch"] or (1 << 18 if on_gpu else 1 << 14)
        self.id = name
        self.options: Mapping[str, str] = _signed(options, str(model.output.bias.dtype).removeprefix("torch."))
        self.chunk = 16384 if on_gpu else 512

    def generate(self, sources: Sequence[str]) -> list[Answer]:
        """One answer for each source, in order."""
        return outputs.map_distinct(sources, self._ask)

    def _ask(self, sources: list[str]) -> list[Answer]:
        rows = [source_numbers(source, self._vocabulary) for source in sources]
        bounds = [outputs.token_limit(len(row), self._bound) for row in rows]
        written: dict[int, Decoded] = {}
        for batch in outputs.plan_batches([len(row) for row in rows], bounds, tokens=self._tokens):
            written.update(zip(batch, self._write([rows[n] for n in batch], bounds[batch[0]]), strict=True))
        names, unknown = self._vocabulary.names, self._vocabulary.unknown
        return [
            outputs.make_answer(
                " ".join(names[word] for word in written[n].tokens), ended=written[n].ended, known=unknown not in row
            )
            for n, row in enumerate(rows)
        ]

    def _write(self, rows: Sequence[Sequence[int]], bound: int) -> list[Decoded]:
        """The answers to a batch; when memory runs out, to smaller ones."""

        def write(low: int, high: int) -> list[Decoded]:
            return write_greedily(self._model, self._vocabulary, rows[low:high], bound)

        def single(row: int) -> str:
            words = f"a source of {len(rows[row]):,} words"
            return f"{words} in {self.id}: take -M dtype=bfloat16, or another --device"

        parts = halving(write, 0, len(rows), shrink=lambda low, high: f"{high - low:,} sources", single=single)
        return [*chain.from_iterable(parts)]


def identify(spec: ModelSpec) -> Identity | None:
    """What the model will be, told from its files; None where only loading tells."""
    options = spec.read(OPTIONS)
    scoring.refuse_idle(options)
    folder = user_path(spec.name)
    if not all((folder / name).is_file() for name in (CONFIG, WEIGHTS, VOCABULARY)):
        return None
    words, _ = read_words(folder / VOCABULARY)
    if options["score"] == "source":
        return Identity(_name(folder, words), scoring.signed(options), "scores")
    return Identity(_name(folder, words), _signed(options, options["dtype"]), "text")


def load(spec: ModelSpec) -> AttentionLSTMModel | SourceScorer:
    """The model in the folder that `spec` names, checked and ready; with score=source, as a scorer."""
    options = spec.read(OPTIONS)
    scoring.refuse_idle(options)
    dtype = options["dtype"]
    folder = user_path(spec.name)
    if not folder.is_dir():
        raise ModelError(f"{spec}: no such folder. Give a folder that wug train made")
    try:
        import torch
    except ImportError:
        raise MissingExtra("an attention_lstm model", "hf") from None
    with unchanged(folder):
        model, vocabulary = load_attention_lstm(folder)
        name = _name(folder, vocabulary.names)
    device = pick_device(options["device"])
    try:
        model = model.to(device=torch.device(device), dtype=getattr(torch, dtype))
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"{spec}: cannot move to device {device!r}: {str(error).split(chr(10))[0]}") from error
    if options["score"] == "source":
        return scoring.scorer(name, model, vocabulary, options)
    return AttentionLSTMModel(name, model, vocabulary, options)


def write_greedily(model: Any, vocabulary: Vocabulary, rows: Sequence[Sequence[int]], bound: int) -> list[Decoded]:
    """The likeliest next word after the other, for each source, until the end mark or until there are `bound` words."""
    import torch

    device, width, end = model.output.bias.device, max(map(len, rows)), vocabulary.end
    source = torch.tensor([[*row, *[vocabulary.index[PAD]] * (width - len(row))] for row in rows], device=device)
    present = torch.arange(width, device=device) < torch.tensor([[len(row)] for row in rows], device=device)
    never = torch.tensor([vocabulary.index[PAD], vocabulary.index[START]], device=device)
    found = torch.full((len(rows), bound), end, device=device)
    alive = torch.arange(len(rows), device=device)
    words = torch.full((len(rows),), vocabulary.index[START], device=device)
    # cuDNN would compute float32 in TF32, with three digits: torch's own kernels do not.
    own_kernels = torch.backends.cudnn.flags(enabled=False) if device.type == "cuda" else nullcontext()
    with torch.inference_mode(), own_kernels:
        memory, state = model.read(source, present)
        for place in range(bound):
            logits, state = model.write(words, memory, state)
            if place == 0 and bool(logits.isnan().any()):
                raise ModelError(
                    "the network answers with values that are no numbers. In half precision that is an overflow: "
                    "use -M dtype=float32. Otherwise its weights are damaged"
                )
            words = logits.index_fill(1, never, -torch.inf).argmax(dim=1)
            found[alive, place] = words
            if place % GLANCE == GLANCE - 1:
                going = (found[alive, : place + 1] != end).all(dim=1).nonzero()[:, 0]
                if not len(going):
                    break
                if len(going) < len(alive):
                    alive, words, memory, state = alive[going], words[going], memory.of(going), state.of(going)
    return [_until(row, vocabulary.end) for row in found.tolist()]


def _name(folder: Path, words: Sequence[str]) -> str:
    return f"attention_lstm/{folder.resolve().name}@{fingerprint(folder / WEIGHTS, words)}"


def _signed(options: Mapping[str, Any], dtype: str) -> dict[str, str]:
    """The options that change an answer."""
    return {"dtype": dtype, "beams": "1", "max_length": str(options["max_length"] or "auto")}


def _until(row: list[int], end: int | None) -> Decoded:
    """A row up to the end mark."""
    if end in row:
        return Decoded(tuple(row[: row.index(end)]), ended=True)
    return Decoded(tuple(row), ended=False)
