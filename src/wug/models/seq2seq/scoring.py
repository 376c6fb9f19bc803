"""Encoder–decoders of transformers that score: texts as answers to a source, or word by word in sentinel spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wug.errors import InputError
from wug.models import _loading
from wug.models._forced import Asker
from wug.models._given_source import WINDOW, Description, Limits, Line, SourceScorer, lines
from wug.models._spec import ModelSpec
from wug.models._tokens import Tokeniser, blank_spans, word_spans
from wug.models._weights import Loaded
from wug.models.seq2seq.facts import Facts
from wug.models.seq2seq.frame import Frame
from wug.models.seq2seq.marian import MarianTokeniser
from wug.models.seq2seq.spans import SpanScorer, sentinels
from wug.options import Option
from wug.types import Request

SCORE = Option(
    "score",
    ("no", "source", "spans"),
    "no",
    "score texts instead of writing: as answers to a source, or word by word in sentinel spans (T5)",
)
WRITING: Mapping[str, Any] = {"beams": 1, "max_length": None, "engine": "auto"}
"""Options that are about writing, with the values that say nothing."""


class Network:
    """The model as `Asker` asks it."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.device, self.dtype = model.device, model.dtype
        self.vocabulary: int = model.get_output_embeddings().weight.shape[0]

    def read(self, sources: Any) -> Any:
        """The encoder's last states."""
        import torch

        encoder = self._model.get_encoder()
        return encoder(input_ids=sources, attention_mask=torch.ones_like(sources)).last_hidden_state

    def write(self, memory: Any, rows: Any, written: Any) -> Any:
        """The logits themselves: what a model does behind its last layer (scales, biases) is its own."""
        from transformers.modeling_outputs import BaseModelOutput

        states = memory[rows]
        return self._model(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=states.new_ones(states.shape[:2], dtype=written.dtype),
            decoder_input_ids=written,
            use_cache=False,
        ).logits

    def logits(self, states: Any) -> Any:
        """They are the states."""
        return states


@dataclass(frozen=True, slots=True)
class HubReader:
    """A tokenizer of transformers: sources as it reads them, texts as it reads answers."""

    tokenise: Tokeniser | MarianTokeniser
    prefix: str
    end: int | None
    """The mark that is scored behind a text; None where that is not asked."""

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sources, with their marks."""
        found: list[list[int]] = self.tokenise.hf([self.prefix + text for text in texts])["input_ids"]
        return found

    def lines(self, requests: Sequence[Request]) -> list[Line]:
        """The tokens of texts up to the ends of their spans; the end mark only behind whole texts."""
        found = zip(lines(self.tokenise, requests), requests, strict=True)
        return [self._closed(line, request) for line, request in found]

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where the words of each text begin and end, by the tokenizer's own rule where it has one."""
        hf = self.tokenise.hf
        return word_spans(hf.backend_tokenizer, texts) if hf.is_fast else blank_spans(texts)

    def _closed(self, line: Line, request: Request) -> Line:
        text = request.text
        if self.end is None or (request.span is not None and request.span[1] <= len(text)):
            return line
        named = line.names or tuple(text[a:b] for a, b in zip(line.starts, line.ends, strict=True))
        mark: str = self.tokenise.hf.convert_ids_to_tokens(self.end)
        ids, starts, ends = [*line.ids, self.end], [*line.starts, len(text)], [*line.ends, len(text)]
        return Line(ids, starts, ends, (*named, mark), line.notices)


def scorer(loaded: Loaded, known: Facts, spec: ModelSpec, options: Mapping[str, Any]) -> SourceScorer | SpanScorer:
    """The model as a scorer, in the manner that its options say."""
    by_source = options["score"] == "source"
    marian = by_source and not loaded.tokenizer.is_fast and type(loaded.tokenizer).__name__ == "MarianTokenizer"
    tokenise = MarianTokeniser(loaded.tokenizer) if marian else Tokeniser(loaded.tokenizer)
    frame = Frame.of(loaded.tokenizer, known)
    longest = min(known.source_limit or 1 << 30, known.answer_limit or 1 << 30)
    asker = Asker(Network(loaded.model), options["batch"], longest=longest)
    dtype = str(loaded.model.dtype).removeprefix("torch.")
    usual = loaded.tokenizer.model_max_length
    window = usual if 2 < usual < 1 << 20 else WINDOW
    described = Description(
        f"seq2seq/{loaded.name}@{loaded.fingerprint}",
        signed(options, dtype),
        _chunk(loaded.model, known, each_word=options["score"] == "spans"),
        frame.lead,
        Limits(known.source_limit, known.answer_limit, window),
    )
    if isinstance(tokenise, Tokeniser) and not by_source:
        marks = sentinels(loaded.tokenizer, spec)
        return SpanScorer(described, tokenise, asker, frame, marks, options["prefix"])
    end = known.ends[0] if options["eos"] else None
    reader = HubReader(tokenise, options["prefix"], end)
    return SourceScorer(described, reader, asker, options["source"])


def signed(options: Mapping[str, Any], dtype: str) -> dict[str, str]:
    """The options that change a score."""
    by_source = options["score"] == "source"
    return {
        "dtype": dtype,
        "score": options["score"],
        **({"source": options["source"]} if by_source and options["source"] else {}),
        **({"prefix": options["prefix"]} if options["prefix"] else {}),
        **({"eos": "yes" if options["eos"] else "no"} if by_source else {}),
        **_loading.signed(options),
    }


def refuse_idle(options: Mapping[str, Any]) -> None:
    """An error for options that say how to write where nothing is written, or how to score where nothing is scored."""
    idle: Mapping[str, Any] = {
        "no": {"source": "", "eos": False},
        "source": WRITING,
        "spans": {**WRITING, "source": "", "eos": False},
    }[options["score"]]
    for name, nothing in idle.items():
        if options[name] != nothing:
            raise InputError(f"option {name} is of no use with score={options['score']}")


def _chunk(model: Any, facts: Facts, *, each_word: bool) -> int:
    """Requests for a few seconds' work, guessed from the number of parameters."""
    rate, least, most = (4e5, 256, 16384) if model.device.type == "cuda" else (2e4, 32, 1024)
    found = int(min(most, max(least, rate / max(facts.millions, 1.0))))
    return max(16, found // 8) if each_word else found
