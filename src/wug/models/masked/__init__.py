"""Masked language models of Hugging Face, by folder or hub name: `masked:bert-base-cased`."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wug.errors import ModelError
from wug.models import _weights
from wug.models._fingerprint import folder_of
from wug.models._hub import prefetch as prefetch
from wug.models._likeliest import likeliest
from wug.models._loading import Loading, signed
from wug.models._options import ADAPTER, DEVICE, DTYPE, NODES, QUANTIZE, TRUST
from wug.models._passages import Passages, on_both_sides, passages, room
from wug.models._ragged import Ints, Ragged
from wug.models._spec import Identity, ModelSpec
from wug.models._tokens import Tokenised, Tokeniser, word_spans
from wug.models.masked.cloze import Engine, choose_engine
from wug.models.masked.masking import Asked, plan
from wug.models.masked.pieces import Frame, word_ends
from wug.options import Option
from wug.types import Reading, Request, Scored, Token, Traits

TRAITS = Traits(
    on_hub=True,
    architectures=("ForMaskedLM",),
    aliases=("bert_",),  # as evaluate_lm.py spells BERT models
    auto_class="AutoModelForMaskedLM",
    uses_device=True,
    shares_device=True,
    sees_right_context=True,
    windows=True,
)
METRICS = ("within_word_l2r", "original")
OPTIONS = (
    Option(
        "pll",
        METRICS,
        "within_word_l2r",
        "what is masked with a token: the rest of its word (within_word_l2r), or nothing else (original)",
    ),
    DTYPE,
    DEVICE,
    NODES,
    QUANTIZE,
    ADAPTER,
    TRUST,
)

OLD_SPELLING = re.compile(r"(distil)?(ro)?bert_[a-z0-9_]+")

log = logging.getLogger("wug")


class MaskedModel:
    """A masked language model that scores texts by pseudo-log-likelihood, or a span of them by masking it."""

    __slots__ = (
        "_engine",
        "_frame",
        "_limit",
        "_mask",
        "_metric",
        "_silent",
        "_spec",
        "_tokenise",
        "chunk",
        "id",
        "options",
        "ordered",
        "training_context",
    )

    def __init__(self, loaded: _weights.Loaded, spec: ModelSpec) -> None:
        tokenizer, model = loaded.tokenizer, loaded.model
        if tokenizer.mask_token_id is None:
            raise ModelError(
                f"{spec}: its tokenizer has no mask token, as masked models have. Use causal:{spec.shown_name}"
            )
        self._spec = spec
        options = spec.read(OPTIONS)
        self._metric: str = options["pll"]
        self._tokenise = Tokeniser(tokenizer)
        self._frame = Frame.of(tokenizer.backend_tokenizer)
        self._mask: int = tokenizer.mask_token_id
        self._silent = np.array(sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}), dtype=np.int64)
        self._limit = _context(model, tokenizer)
        self.chunk = _chunk(model)
        pad = 0 if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        self._engine: Engine = choose_engine(
            model,
            mask=self._mask,
            pad=pad,
            nodes=options["nodes"],
            workers=_workers(model, foreign=options["trust_remote_code"]),
        )
        self.id = f"masked/{loaded.name}@{loaded.fingerprint}"
        self.options = {"dtype": str(model.dtype).removeprefix("torch."), "pll": self._metric, **signed(options)}
        self.ordered = False
        self.training_context: str | None = getattr(model.config, "training_context", None)

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order, in natural logarithms; with a span, only the tokens in it."""
        found: dict[int, Scored] = {}
        for reading in dict.fromkeys(request.reading for request in requests):
            places = [place for place, request in enumerate(requests) if request.reading == reading]
            answers = self._score([requests[place] for place in places], reading)
            found.update(zip(places, answers, strict=True))
        return [found[place] for place in range(len(requests))]

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where the words of each text begin and end, by the tokenizer's own rule."""
        return word_spans(self._tokenise.hf.backend_tokenizer, texts)

    def likeliest(self, text: str, place: int, most: int = 10) -> list[Token]:
        """The tokens that are most probable where the token `place` of a text stands, masked as it is when scored.

        None are known of a special token that is written in a text.
        """
        import torch

        requests = [Request(text)]
        tokens = self._tokenise(requests)
        sequences = self._frame.around(tokens.ids)
        self._refuse_long(requests, sequences)
        asked, where = self._questions(requests, tokens, _wanted(requests, tokens))
        found = np.flatnonzero(where == place)
        if not len(found):
            return []
        ids = torch.from_numpy(sequences.flat.astype(np.int64))[None].to(self._engine.model.device)
        ids[0, asked.places[found[0]] : asked.stops[found[0]]] = self._mask
        with torch.inference_mode():
            logits = self._engine.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        return likeliest(logits[0, asked.places[found[0]]], self._tokenise.hf, int(tokens.starts[place]), most)

    def _score(self, requests: Sequence[Request], reading: Reading | None) -> Iterator[Scored]:
        tokens = self._tokenise([Request(request.text) for request in requests])
        parts = None
        if reading is not None:
            marks = len(self._frame.before) + len(self._frame.after)
            parts = passages(tokens.ids, *room(reading, self._limit, marks, self._spec), on_both_sides)
        sequences = self._frame.around(tokens.ids if parts is None else parts.tokens)
        self._refuse_long(requests, sequences)
        wanted = _wanted(requests, tokens)
        asked, where = self._questions(requests, tokens, wanted)
        if parts is not None:
            asked = _within(parts, asked, where, len(self._frame.before))
        more = reading is not None and reading.distribution
        engine = self._engine.with_distribution() if more else self._engine
        found = engine.columns(plan(sequences, asked, self._mask))
        columns: list[list[Any]] = [[None] * len(tokens.ids.flat) for _ in found]
        for column, values in zip(columns, found, strict=True):
            for place, value in zip(where.tolist(), values.tolist(), strict=True):
                column[place] = value
        return _assemble(requests, tokens, wanted, columns)

    def _questions(
        self, requests: Sequence[Request], tokens: Tokenised, wanted: npt.NDArray[np.bool_]
    ) -> tuple[Asked, Ints]:
        """What to ask, and for which tokens: all that are wanted but special ones written in a text."""
        lengths = tokens.ids.lengths
        of_text = np.repeat(np.arange(len(requests)), lengths)
        places = np.arange(len(of_text)) - np.repeat(tokens.ids.starts, lengths)
        stops = places + 1
        spans = np.array([request.span is not None for request in requests], dtype=bool)[of_text] & wanted
        if self._metric == "within_word_l2r" or spans.any():
            ends = word_ends(self._tokenise.hf.backend_tokenizer, [request.text for request in requests], tokens)
            if self._metric == "within_word_l2r":
                stops = ends
            # The tokens of a span are masked together, up to the end of its last word.
            last = np.zeros(len(requests), dtype=np.int64)
            np.maximum.at(last, of_text[spans], ends[spans])
            stops = np.where(spans, last[of_text], stops)
        where = np.flatnonzero(wanted & ~np.isin(tokens.ids.flat, self._silent))
        before = len(self._frame.before)
        return Asked(of_text[where], places[where] + before, stops[where] + before), where

    def _refuse_long(self, requests: Sequence[Request], sequences: Ragged) -> None:
        if self._limit is None or not len(sequences) or sequences.lengths.max() <= self._limit:
            return
        longest = int(sequences.lengths.argmax())
        raise ModelError(
            f"{self._spec}: a text of {sequences.lengths[longest]:,} tokens is longer than the model's context of "
            f"{self._limit:,}: {requests[longest].text[:60]!r}…"
        )


def identify(spec: ModelSpec) -> Identity | None:
    """What the model will be, told from its files; None where only loading tells."""
    options = spec.read(OPTIONS)
    folder = folder_of(spec, options)
    if folder is None:
        return None
    described = {"dtype": options["dtype"], "pll": options["pll"], **signed(options)}
    context = folder.settings("config.json").get("training_context")
    return Identity(f"masked/{folder.name}", described, "scores", training_context=context)


def load(spec: ModelSpec) -> MaskedModel:
    """The model that `spec` names, checked and ready."""
    options = spec.read(OPTIONS)
    spec = _modern(spec)
    return around(_weights.load(spec, "AutoModelForMaskedLM", Loading.of(options)), spec)


def around(loaded: _weights.Loaded, spec: ModelSpec) -> MaskedModel:
    """The model around weights that are in memory."""
    return MaskedModel(loaded, spec)


def _modern(spec: ModelSpec) -> ModelSpec:
    """The same model under the hub's spelling: `bert_base_uncased` is `bert-base-uncased` there."""
    if not OLD_SPELLING.fullmatch(spec.name) or Path(spec.name).exists():
        return spec
    name = spec.name.replace("_", "-")
    log.warning("%s is spelt %s on the hub", spec.name, name)
    return replace(spec, name=name)


def _wanted(requests: Sequence[Request], tokens: Tokenised) -> npt.NDArray[np.bool_]:
    """Which tokens answers report: those whose first visible character stands in the request's span."""
    spans = np.array(
        [(0, len(request.text) + 1) if request.span is None else request.span for request in requests], dtype=np.int64
    ).reshape(-1, 2)
    low, high = np.repeat(spans, tokens.ids.lengths, axis=0).T
    inside: npt.NDArray[np.bool_] = (tokens.starts >= low) & (tokens.starts < high)
    return inside


def _within(parts: Passages, asked: Asked, where: Ints, before: int) -> Asked:
    """Questions to texts as questions to the passages in which their tokens are asked."""
    passage = np.repeat(np.arange(len(parts.tokens)), parts.tokens.lengths)
    of_token = np.empty(int(parts.where.max(initial=-1)) + 1, dtype=np.int64)
    of_token[parts.where[parts.where >= 0]] = passage[parts.where >= 0]
    here = of_token[where]
    first, last = parts.firsts[here], parts.tokens.lengths[here] + before
    return Asked(here, asked.places - first, np.minimum(asked.stops - first, last))


def _assemble(
    requests: Sequence[Request],
    tokens: Tokenised,
    wanted: npt.NDArray[np.bool_],
    columns: Sequence[Sequence[float | None]],
) -> Iterator[Scored]:
    bounds = np.append(0, np.cumsum(tokens.ids.lengths)).tolist()
    starts, ends = tokens.starts.tolist(), tokens.ends.tolist()
    values, *more = columns
    for number, request in enumerate(requests):
        first, last = bounds[number], bounds[number + 1]
        here = (np.flatnonzero(wanted[first:last]) + first).tolist()
        names = tokens.pieces.get(number)
        entropies, ranks = (tuple(column[place] for place in here) for column in more) if more else (None, None)
        yield Scored(
            request.text,
            tuple(starts[place] for place in here),
            tuple(ends[place] for place in here),
            tuple(values[place] for place in here),
            None if names is None else tuple(names[place - first] for place in here),
            tokens.notices.get(number, ()),
            entropies=entropies,
            ranks=None if ranks is None else tuple(None if rank is None else int(rank) for rank in ranks),
        )


def _context(model: Any, tokenizer: Any) -> int | None:
    """How many tokens fit into the model, special ones included; None if any number does."""
    import torch

    limits = [getattr(model.config, "max_position_embeddings", None), tokenizer.model_max_length]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa counts places from after the padding's number.
            limits.append(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    known = [limit for limit in limits if limit is not None and 0 < limit < 1e9]
    return min(known, default=None)


def _workers(model: Any, *, foreign: bool) -> int:
    """Threads that ask the model at once; code that a model brings along may not be made for several."""
    import torch

    return torch.get_num_threads() if model.device.type == "cpu" and not foreign else 1


def _chunk(model: Any) -> int:
    """Requests for a few seconds' work, guessed from the number of parameters."""
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    rate, least, most = (4e5, 256, 16384) if model.device.type == "cuda" else (6e3, 32, 1024)
    return int(min(most, max(least, rate / max(millions, 1.0))))
