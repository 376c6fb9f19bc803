"""LSTM encoder–decoders with attention, as `wug train` makes them: `attention_lstm:folder`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import MissingExtra, ModelError, first_line
from wug.files import user_path
from wug.models.attention_lstm.folder import START, load_attention_lstm, source_numbers
from wug.models.decoding import outputs
from wug.models.decoding.conditional_scoring import (
    END,
    SOURCE,
    ScorerInfo,
    SourceScorer,
    TokenLimits,
    refuse_unused,
)
from wug.models.decoding.outputs import Decoded
from wug.models.huggingface.devices import halving, pick_device
from wug.models.lstm.folder import CONFIG, VOCABULARY, WEIGHTS, fingerprint
from wug.models.spec import BATCH, DEVICE, DTYPE, FLOATS, MAX_LENGTH, Identity, ModelSpec
from wug.models.tokenization.tokens import TokenizedTexts
from wug.models.tokenization.words import Vocabulary, read_words, scored_tokens, split_words, to_word_ids
from wug.models.weights.fingerprints import unchanged
from wug.options import Option
from wug.types import Answer, Request, Traits

if TYPE_CHECKING:
    from wug.models.attention_lstm.network import AttentionLSTM

TRAITS = Traits(
    returns="text",
    architectures=("AttentionLSTM",),
    uses_device=True,
    windows=True,
    to_score="Open it with score=source",
    to_generate="Open it without score=source",
)
"""With score=source it returns scores."""
OPTIONS = (
    replace(MAX_LENGTH, help=MAX_LENGTH.help.replace("tokens", "words")),
    replace(DTYPE, type=FLOATS, help="dtype of weights and arithmetic"),
    DEVICE,
    replace(BATCH, help=BATCH.help.replace("tokens", "words")),
    Option("score", ("no", "source"), "no", "score texts as outputs for a source instead of generating"),
    SOURCE,
    END,
)
UNUSED: Mapping[str, Mapping[str, Any]] = {"no": {"source": "", "eos": False}, "source": {"max_length": None}}
"""For each value of the option score, the options without effect and their defaults."""


class AttentionLSTMModel:
    """An LSTM with attention that generates answers to sources."""

    def __init__(self, name: str, model: AttentionLSTM, vocabulary: Vocabulary, options: Mapping[str, Any]) -> None:
        self._model, self._vocabulary = model, vocabulary
        self._max_length: int | None = options["max_length"]
        on_gpu = model.output.bias.device.type == "cuda"
        self._tokens: int = options["batch"] or (1 << 18 if on_gpu else 1 << 14)
        self.id = name
        self.options: Mapping[str, str] = _signature(options)
        self.chunk = 16384 if on_gpu else 512

    def generate(self, sources: Sequence[str]) -> list[Answer]:
        """One answer per source, in order."""
        return outputs.map_distinct(sources, self._generate)

    def _generate(self, sources: list[str]) -> list[Answer]:
        rows = [source_numbers(source, self._vocabulary) for source in sources]
        limits = [outputs.token_limit(len(row), self._max_length) for row in rows]
        decoded: dict[int, Decoded] = {}
        for batch in outputs.plan_batches([len(row) for row in rows], limits, tokens=self._tokens):
            decoded.update(zip(batch, self._decode([rows[n] for n in batch], limits[batch[0]]), strict=True))
        names, unknown = self._vocabulary.names, self._vocabulary.unknown
        return [
            outputs.make_answer(
                " ".join(names[word] for word in decoded[n].tokens), ended=decoded[n].ended, known=unknown not in row
            )
            for n, row in enumerate(rows)
        ]

    def _decode(self, rows: Sequence[Sequence[int]], limit: int) -> list[Decoded]:
        from wug.models.attention_lstm import network

        def decode(low: int, high: int) -> list[Decoded]:
            return network.decode_greedily(self._model, self._vocabulary, rows[low:high], limit)

        def size(low: int, high: int) -> str:
            return f"{(high - low) * max(map(len, rows[low:high])):,} words in {self.id}"

        return [*chain.from_iterable(halving(decode, 0, len(rows), size))]


@dataclass(frozen=True, slots=True)
class WordScoringTokenizer:
    """Words of a vocabulary, split at white space."""

    vocabulary: Vocabulary
    eos: bool

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        """The word numbers of sources, with the end token."""
        return [source_numbers(text, self.vocabulary) for text in texts]

    def answers(self, requests: Sequence[Request]) -> TokenizedTexts:
        """The words of texts up to the ends of their spans."""
        words = [to_word_ids(request, self.vocabulary, end=self.eos) for request in requests]
        return scored_tokens(requests, words, self.vocabulary)

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text."""
        return [split_words(text, self.vocabulary.words) for text in texts]


def identify(spec: ModelSpec) -> Identity | None:
    """The model's identity, from its files; None if only loading tells."""
    options = spec.read(OPTIONS)
    refuse_unused(options, UNUSED)
    folder = user_path(spec.name)
    if not all((folder / name).is_file() for name in (CONFIG, WEIGHTS, VOCABULARY)):
        return None
    name = _name(folder, read_words(folder / VOCABULARY)[0])
    return Identity(name, _signature(options), "scores" if options["score"] == "source" else "text")


def load(spec: ModelSpec) -> AttentionLSTMModel | SourceScorer:
    """Load the model in a folder; with score=source, as a scorer."""
    options = spec.read(OPTIONS)
    refuse_unused(options, UNUSED)
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
        model = model.to(device=torch.device(device), dtype=getattr(torch, options["dtype"]))
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"{spec}: cannot move to device {device!r}: {first_line(error)}") from error
    if options["score"] != "source":
        return AttentionLSTMModel(name, model, vocabulary, options)
    from wug.models.attention_lstm.network import AttentionEncoderDecoder
    from wug.models.decoding.teacher_forcing import TeacherForcing

    network = AttentionEncoderDecoder(model)
    chunk = 16384 if network.device.type == "cuda" else 1024
    info = ScorerInfo(name, _signature(options), chunk, [vocabulary.index[START]], TokenLimits())
    tokenizer = WordScoringTokenizer(vocabulary, options["eos"])
    return SourceScorer(info, tokenizer, TeacherForcing(network, options["batch"]), options["source"])


def _name(folder: Path, words: Sequence[str]) -> str:
    return f"attention_lstm/{folder.resolve().name}@{fingerprint(folder / WEIGHTS, words)}"


def _signature(options: Mapping[str, Any]) -> dict[str, str]:
    if options["score"] == "no":
        return {"dtype": options["dtype"], "beams": "1", "max_length": str(options["max_length"] or "auto")}
    return {
        "dtype": options["dtype"],
        "score": options["score"],
        **({"source": options["source"]} if options["source"] else {}),
        "eos": "yes" if options["eos"] else "no",
    }
