"""Encoder–decoders that score: texts as answers to a source, or word by word in sentinel spans.

For spans, each word is taken out of the text and written after its sentinel, as T5 was trained: the encoder reads
`The keys <extra_id_0> here.`, and the decoder writes `<extra_id_0> are`. Both sides of a word count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wug.errors import InputError, ModelError
from wug.models.decoding.teacher_forcing import (
    DEFAULT_WINDOW_TOKENS,
    ForcedTarget,
    ScorerInfo,
    SourceScorer,
    TeacherForcing,
)
from wug.models.hardware import requests_per_chunk
from wug.models.huggingface.loading import HubModel
from wug.models.seq2seq.config import DecodingConfig, Seq2SeqSpecialTokens
from wug.models.spec import ModelSpec, signature_options
from wug.models.tokenization.ragged import Ragged
from wug.models.tokenization.sliding_windows import refuse_long, window_size
from wug.models.tokenization.tokens import (
    OffsetTokenizer,
    TokenizedTexts,
    Unknown,
    blank_spans,
    cut_off,
    score_by,
    word_spans,
)
from wug.options import Option
from wug.requests import Request, TextScoring
from wug.scores import Scores, texts_of

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


SCORE = Option(
    "score",
    ("no", "source", "spans"),
    "no",
    "score texts instead of generating: as outputs for a source, or word by word in sentinel spans (T5)",
)
_GENERATION: Mapping[str, Any] = {"beams": 1, "max_length": None, "engine": "auto"}
UNUSED: Mapping[str, Mapping[str, Any]] = {
    "no": {"source": "", "eos": False},
    "source": _GENERATION,
    "spans": {**_GENERATION, "source": "", "eos": False},
}
"""For each value of the option score, the options without effect and their defaults."""
SENTINELS = ("<extra_id_{}>", "▁<extra_id_{}>")
"""Names of sentinels: T5's, and mT5's."""


class HubEncoderDecoder:
    """A model of transformers as `TeacherForcing` uses it."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self.device, self.dtype = model.device, model.dtype
        self.vocabulary: int = model.get_output_embeddings().weight.shape[0]

    def read(self, sources: torch.Tensor) -> torch.Tensor:
        """The encoder's last states."""
        import torch

        encoder = self._model.get_encoder()
        return encoder(input_ids=sources, attention_mask=torch.ones_like(sources)).last_hidden_state

    def write(self, memory: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """The logits themselves, since models differ after their last layer (scales, biases)."""
        from transformers.modeling_outputs import BaseModelOutput

        states = memory[rows]
        return self._model(
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            attention_mask=states.new_ones(states.shape[:2], dtype=tokens.dtype),
            decoder_input_ids=tokens,
            use_cache=False,
        ).logits

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """The states are the logits."""
        return states


class MarianTokenizer:
    """Token offsets from the SentencePiece model of the answers: Marian's tokenizer in transformers gives none."""

    def __init__(self, hf: PreTrainedTokenizerBase) -> None:
        if hf.separate_vocabs:
            raise ModelError("Marian models with two vocabularies, one per language, cannot score; they can generate")
        self.hf = hf
        self._unknown = Unknown(hf.unk_token_id, hf.unk_token)

    def __call__(self, requests: Sequence[Request], *, cut: bool = True) -> TokenizedTexts:
        """The tokens of each request's text, up to the end of its span if `cut`."""
        texts = texts_of(requests)
        ids: list[list[int]] = self.hf(text_target=texts, add_special_tokens=False)["input_ids"] if texts else []
        spans = (self._spans(text, token_ids) for text, token_ids in zip(texts, ids, strict=True))
        tokens = TokenizedTexts.of(texts, Ragged.of(ids), spans, self._unknown)
        return cut_off(tokens, requests) if cut else tokens

    def _spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """The span of each token, by SentencePiece, whatever it does to letters (ligatures, widths)."""
        protobuf: Any = import_module("sentencepiece.sentencepiece_pb2")  # has no types
        parsed = protobuf.SentencePieceText.FromString(self.hf.spm_target.encode(text, out_type="serialized_proto"))
        if [self.hf.encoder.get(piece.piece, self._unknown.id) for piece in parsed.pieces] != list(ids):
            raise InputError(
                f"the token offsets of this text are unknown: {text!r}. "
                f"Remove special tokens of Marian's tokenizer from it (such as {self.hf.eos_token} or >>de<<)"
            )
        letters = [0, *accumulate(len(letter.encode()) for letter in text)]  # in bytes, as pieces are counted
        return [(bisect_left(letters, piece.begin), bisect_left(letters, piece.end)) for piece in parsed.pieces]


@dataclass(frozen=True, slots=True)
class HubScoringTokenizer:
    """A tokenizer of transformers for sources and answers."""

    tokenize: OffsetTokenizer | MarianTokenizer
    prefix: str
    end: int | None
    """The end token to score after a text; None: none."""

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sources, with special tokens."""
        ids: list[list[int]] = self.tokenize.hf([self.prefix + text for text in texts])["input_ids"]
        return ids

    def answers(self, requests: Sequence[Request]) -> TokenizedTexts:
        """The tokens of texts up to the ends of their spans; the end token only after whole texts."""
        tokens = self.tokenize(requests)
        if self.end is None:
            return tokens
        sizes = np.array([len(request.text) for request in requests], dtype=np.int64)
        is_whole = sizes < [np.inf if request.span is None else request.span[1] for request in requests]
        insertions, lengths = np.cumsum(tokens.ids.lengths)[is_whole], sizes[is_whole]
        ids = Ragged(np.insert(tokens.ids.flat, insertions, self.end), tokens.ids.lengths + is_whole)
        starts, ends = (np.insert(column, insertions, lengths) for column in (tokens.starts, tokens.ends))
        name: str = self.tokenize.hf.convert_ids_to_tokens(self.end)
        pieces = dict(tokens.token_names)
        bounds = np.append(0, np.cumsum(tokens.ids.lengths))
        for n in np.flatnonzero(is_whole).tolist():
            spans = zip(tokens.starts[bounds[n] : bounds[n + 1]], tokens.ends[bounds[n] : bounds[n + 1]], strict=True)
            pieces[n] = (*tokens.token_names.get(n, tuple(requests[n].text[a:b] for a, b in spans)), name)
        return TokenizedTexts(ids, starts, ends, pieces, tokens.notices)

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text, by the tokenizer's own rule if it has one."""
        hf = self.tokenize.hf
        return word_spans(hf.backend_tokenizer, texts) if hf.is_fast else blank_spans(texts)


class Sentinels(NamedTuple):
    """The sentinel of the first span of a text, and the next one, with which that span ends."""

    opens: int
    closes: int

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, spec: ModelSpec) -> Sentinels:
        """The first two sentinels of a tokenizer."""
        vocabulary = tokenizer.get_vocab()
        for name in SENTINELS:
            if name.format(0) in vocabulary and name.format(1) in vocabulary:
                return cls(vocabulary[name.format(0)], vocabulary[name.format(1)])
        raise ModelError(
            f"{spec}: score=spans needs the sentinels of T5 in the vocabulary (<extra_id_0>), and it has none. "
            "Use score=source"
        )


@dataclass(frozen=True, slots=True)
class _SpanTokens:
    tokenize: OffsetTokenizer
    special: Seq2SeqSpecialTokens
    sentinels: Sentinels
    prefix: Sequence[int]


class SpanScorer:
    """An encoder–decoder that scores each word of a text in a sentinel span."""

    ordered = False

    def __init__(self, info: ScorerInfo, tokens: _SpanTokens, forcing: TeacherForcing) -> None:
        self.id, self.options, self.chunk = info.id, info.options, info.chunk
        self._info = info
        self._tokens, self._forcing = tokens, forcing

    def score(self, requests: Sequence[Request]) -> Scores:
        """One output per request, in order, in nats; with a span, only the tokens in it."""
        return score_by(lambda request: request.scoring, requests, self._score)

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text, by the tokenizer's own rule."""
        return word_spans(self._tokens.tokenize.hf.backend_tokenizer, texts)

    def _score(self, requests: Sequence[Request], scoring: TextScoring | None) -> Scores:
        tokens = self._tokens.tokenize(requests, cut=False)
        size = self._size(requests, tokens, scoring)
        boundary = scoring is not None and scoring.boundary
        distribution = scoring is not None and scoring.distribution
        bounds = np.append(0, np.cumsum(tokens.ids.lengths)).tolist()
        targets: list[ForcedTarget] = []
        is_scored = np.zeros(bounds[-1], dtype=bool)
        for request, ids, begin, end in zip(requests, tokens.ids.split(), bounds, bounds[1:], strict=False):
            for first, last in _spans(request, tokens.starts[begin:end].tolist()):
                targets.append(self._target(ids, first, last, size, boundary=boundary))
                is_scored[begin + first : begin + last] = True
        columns, with_word_end = [np.empty((3 if distribution else 1, 0))], [np.empty(0)]
        for values in self._forcing.columns(targets, distribution=distribution):
            columns.append(values[:, :-1] if boundary else values)
            if boundary:  # the sentinel after a word says that it is over
                with_word_end.append(values[0, :-1].copy())
                with_word_end[-1][-1] += values[0, -1]
        extra = np.concatenate(with_word_end) if boundary else None
        return tokens.keep(is_scored).scores(texts_of(requests), np.concatenate(columns, axis=1), extra)

    def _size(self, requests: Sequence[Request], texts: TokenizedTexts, scoring: TextScoring | None) -> int | None:
        """Tokens of a text per window; None: all of it."""
        tokens, limit = self._tokens, self._info.source_limit
        special = len(tokens.special.before) + len(tokens.special.after) + len(tokens.prefix) + 1
        if scoring is not None:
            return window_size(scoring, limit or self._info.window, special, self.id)[0]
        refuse_long(texts.ids, limit, texts_of(requests), self.id, special)
        return None

    def _target(self, ids: list[int], first: int, last: int, size: int | None, *, boundary: bool) -> ForcedTarget:
        tokens = self._tokens
        begin, end = 0, len(ids)
        if size is not None and end > size:  # as much before the word as after it
            begin = min(max(0, (first + last - size) // 2), end - size)
            end = begin + size
        special, sentinels = tokens.special, tokens.sentinels
        before, after = ids[begin:first], ids[last:end]
        source = (*special.before, *tokens.prefix, *before, sentinels.opens, *after, *special.after)
        lead = [*special.lead, sentinels.opens]
        closes = [sentinels.closes] if boundary else []
        return ForcedTarget(source, [*lead, *ids[first:last], *closes], len(lead))


def _spans(request: Request, starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The tokens that are taken out at a time: those in the span of the request, or each word between white space."""
    if request.span is not None:
        first, last = (bisect_left(starts, bound) for bound in request.span)
        if first < last:
            yield first, last
        return
    first = 0
    for index in range(1, len(starts) + 1):
        # A token opens a word if there is white space between it and the one before.
        if index == len(starts) or any(map(str.isspace, request.text[starts[index - 1] : starts[index]])):
            yield first, index
            first = index


def make_scorer(
    loaded: HubModel, config: DecodingConfig, spec: ModelSpec, options: Mapping[str, Any]
) -> SourceScorer | SpanScorer:
    """The model as a scorer, by the option score."""
    tokenizer, by_source = loaded.tokenizer, options["score"] == "source"
    marian = by_source and not tokenizer.is_fast and type(tokenizer).__name__ == "MarianTokenizer"
    tokenize = MarianTokenizer(tokenizer) if marian else OffsetTokenizer(tokenizer)
    special = Seq2SeqSpecialTokens.of(tokenizer, config)
    max_length = min(config.source_limit or 1 << 30, config.answer_limit or 1 << 30)
    forcing = TeacherForcing(HubEncoderDecoder(loaded.model), options["batch"], max_length=max_length)
    window = tokenizer.model_max_length if 2 < tokenizer.model_max_length < 1 << 20 else DEFAULT_WINDOW_TOKENS
    chunk = requests_per_chunk(loaded.model, cpu=(2e4, 32, 1024), gpu=(4e5, 256, 16384))
    info = ScorerInfo(
        f"seq2seq/{loaded.name}@{loaded.fingerprint}",
        signature(options, loaded.dtype),
        chunk if by_source else max(16, chunk // 8),
        special.lead,
        config.source_limit,
        config.answer_limit,
        window,
    )
    if isinstance(tokenize, OffsetTokenizer) and not by_source:
        sentinels = Sentinels.of(tokenizer, spec)
        prefix = tokenizer.backend_tokenizer.encode(options["prefix"], add_special_tokens=False).ids
        return SpanScorer(info, _SpanTokens(tokenize, special, sentinels, prefix), forcing)
    reader = HubScoringTokenizer(tokenize, options["prefix"], config.ends[0] if options["eos"] else None)
    return SourceScorer(info, reader, forcing, options["source"])


def signature(options: Mapping[str, Any], dtype: str) -> dict[str, str]:
    """The options that change a score."""
    by_source = options["score"] == "source"
    return {
        "dtype": dtype,
        "score": options["score"],
        **({"source": options["source"]} if by_source and options["source"] else {}),
        **({"prefix": options["prefix"]} if options["prefix"] else {}),
        **({"eos": "yes" if options["eos"] else "no"} if by_source else {}),
        **signature_options(options),
    }
