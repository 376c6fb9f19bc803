"""Masked language models of Hugging Face, by folder or name on the Hugging Face Hub: `masked:bert-base-cased`."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wug.arrays import Ints, Mask
from wug.errors import ModelError
from wug.models.hardware import position_limit, requests_per_chunk
from wug.models.huggingface import loading
from wug.models.huggingface.hub import prefetch as prefetch
from wug.models.huggingface.hub import revisions as revisions
from wug.models.huggingface.in_memory import open_loaded as open_in_memory
from wug.models.spec import NODES, WEIGHTS, Identity, Loading, ModelSpec, signature_options
from wug.models.tokenization.ragged import Ragged
from wug.models.tokenization.sliding_windows import Passages, on_both_sides, passages, refuse_long, window_size
from wug.models.tokenization.tokens import (
    OffsetTokenizer,
    SeparateWords,
    SpecialTokens,
    TokenizedTexts,
    likeliest,
    score_by,
    word_ends,
    word_spans,
)
from wug.models.weights.fingerprints import folder_of
from wug.models.weights.fingerprints import snapshot as snapshot
from wug.options import Option
from wug.requests import Request, TextScoring, Token
from wug.scores import Scores, texts_of
from wug.traits import BackendTraits

if TYPE_CHECKING:
    from wug.models.masked.forward import MaskedEngine

TRAITS = BackendTraits(
    on_hub=True,
    architectures=("ForMaskedLM",),
    aliases=("bert_",),  # as evaluate_lm.py spells BERT models
    auto_class="AutoModelForMaskedLM",
    uses_device=True,
    shares_device=True,
    sees_right_context=True,
    windows=True,
)
METRICS = ("within_word_l2r", "original", "whole_word", "global_l2r")
"""Kauf & Ivanova (2023)."""
OPTIONS = (
    Option(
        "pll",
        METRICS,
        "within_word_l2r",
        "what is masked with a token: the rest of its word (within_word_l2r), nothing else (original), its word, or "
        "all that follows (global_l2r)",
    ),
    NODES,
    *WEIGHTS,
)

MASKS_AFTER = 3
"""Masks after the context of a word that is tokenized apart from it, as in BabyLM's pipeline."""
OLD_SPELLING = re.compile(r"(distil)?(ro)?bert_[a-z0-9_]+")

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class MaskedTargets:
    """Tokens to score, each with itself masked and those around it from `begins` to before `stops`."""

    sequences: Ints
    positions: Ints
    begins: Ints
    stops: Ints

    def __len__(self) -> int:
        return len(self.sequences)


@dataclass(frozen=True, slots=True)
class MaskedBatch:
    """Distinct masked copies, one per row and padded at their ends, and their targets."""

    tokens: Ints
    lengths: Ints
    positions: Ints
    """For each row, the position that is scored."""
    rows: Ints
    """For each target, its row: the words of a minimal pair share one."""
    targets: Ints
    """For each target, its token."""
    where: Ints


@dataclass(frozen=True, slots=True)
class MaskedPlan:
    """The masked copies for some targets, longest first."""

    sequences: Ragged
    targets: MaskedTargets
    mask: int
    order: Ints
    """The targets in the order of their copies."""
    lengths: Ints
    """The lengths of the copies: descending."""

    @classmethod
    def of(cls, sequences: Ragged, targets: MaskedTargets, mask: int) -> MaskedPlan:
        """Plan every target."""
        lengths = sequences.lengths[targets.sequences]
        order = np.argsort(-lengths, kind="stable")
        return cls(sequences, targets, mask, order, lengths[order])

    def cut(self, first: int, nodes: int, *, padding: bool) -> int:
        """Where a batch that begins with copy `first` ends.

        A batch has copies of one length, so that nothing is padded, unless they fill less than an eighth of it: then
        shorter ones join them, if the model accepts `padding`.
        """
        width = int(self.lengths[first])
        same_length_end = int(np.searchsorted(-self.lengths, -width, side="right"))
        minimum = -(-nodes // 8 // width) if padding else 0
        return min(len(self.order), first + max(1, nodes // width), max(same_length_end, first + minimum))

    def batch(self, first: int, last: int, pad: int) -> MaskedBatch:
        """The copies `first:last`, written out."""
        targets = self.targets
        where, lengths = self.order[first:last], self.lengths[first:last]
        column = np.arange(int(lengths[0]))
        starts = self.sequences.starts[targets.sequences[where], None]
        indices = np.minimum(starts + column, len(self.sequences.flat) - 1)
        tokens = np.where(column < lengths[:, None], self.sequences.flat[indices], pad)
        masked = (column >= targets.begins[where, None]) & (column < targets.stops[where, None])
        positions = targets.positions[where]
        scored = tokens[np.arange(len(where)), positions]
        copies = np.column_stack([np.where(masked, self.mask, tokens), lengths, positions])
        distinct, rows = np.unique(copies, axis=0, return_inverse=True)
        return MaskedBatch(distinct[:, :-2], distinct[:, -2], distinct[:, -1], rows.reshape(-1), scored, where)


class MaskedModel:
    """A masked language model that scores texts by pseudo-log-likelihood, or a span of them by masking it."""

    scores_separate_words = True

    def __init__(self, loaded: loading.HubModel, spec: ModelSpec) -> None:
        from wug.models.masked.forward import choose_engine

        tokenizer, model = loaded.tokenizer, loaded.model
        if tokenizer.mask_token_id is None:
            raise ModelError(
                f"{spec}: its tokenizer has no mask token, as masked models have. Use causal:{spec.shown_name}"
            )
        self._spec = spec
        options = spec.read(OPTIONS)
        self._metric: str = options["pll"]
        self.tokenize = OffsetTokenizer(tokenizer)
        self._special = SpecialTokens.of(tokenizer.backend_tokenizer)
        self._mask: int = tokenizer.mask_token_id
        self._unscored = np.array(sorted(set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}), dtype=np.int64)
        limits = (position_limit(model), tokenizer.model_max_length)
        self._limit = min((limit for limit in limits if limit is not None and 0 < limit < 1e9), default=None)
        self.chunk = requests_per_chunk(model, cpu=(6e3, 32, 1024), gpu=(4e5, 256, 16384))
        pad = 0 if tokenizer.pad_token_id is None else tokenizer.pad_token_id
        self.engine: MaskedEngine = choose_engine(model, mask=self._mask, pad=pad, nodes=options["nodes"])
        self.id = f"masked/{loaded.name}@{loaded.fingerprint}"
        self.options = {"dtype": loaded.dtype, "pll": self._metric, **signature_options(options)}
        self.ordered = False
        self.training_context: str | None = getattr(model.config, "training_context", None)

    def score(self, requests: Sequence[Request]) -> Scores:
        """One output per request, in order, in nats; with a span, only the tokens in it."""
        return score_by(lambda r: (r.scoring, r.separate_word_start is not None), requests, self._score_kind)

    def _score_kind(self, requests: Sequence[Request], kind: tuple[TextScoring | None, bool]) -> Scores:
        return self._score_apart(requests) if kind[1] else self._score(requests, kind[0])

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text, by the tokenizer's own rule."""
        return word_spans(self.tokenize.hf.backend_tokenizer, texts)

    def likeliest(self, text: str, position: int, count: int = 10) -> list[Token]:
        """The most probable tokens at the token `position`, masked as in scoring.

        Empty for a special token that is written in a text.
        """
        import torch

        requests = [Request(text)]
        tokens = self.tokenize(requests)
        sequences = self._special.add_to(tokens.ids)
        refuse_long(sequences, self._limit, texts_of(requests), self._spec)
        targets, where = self._targets(requests, tokens, _selected(requests, tokens))
        matches = np.flatnonzero(where == position)
        if not len(matches):
            return []
        ids = torch.from_numpy(sequences.flat.astype(np.int64))[None].to(self.engine.model.device)
        target = matches[0]
        ids[0, targets.begins[target] : targets.stops[target]] = self._mask
        with torch.inference_mode():
            logits = self.engine.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        logits = logits[0, targets.positions[target]]
        return likeliest(logits, self.tokenize.hf, int(tokens.starts[position]), count)

    def _score(self, requests: Sequence[Request], scoring: TextScoring | None) -> Scores:
        tokens = self.tokenize([Request(request.text) for request in requests])
        windows = None
        if scoring is not None:
            special = len(self._special.before) + len(self._special.after)
            windows = passages(tokens.ids, *window_size(scoring, self._limit, special, self._spec), on_both_sides)
        sequences = self._special.add_to(tokens.ids if windows is None else windows.tokens)
        refuse_long(sequences, self._limit, texts_of(requests), self._spec)
        selected = _selected(requests, tokens)
        targets, where = self._targets(requests, tokens, selected)
        if windows is not None:
            after = len(self._special.after) if self._metric == "global_l2r" else 0
            targets = _in_windows(windows, targets, where, len(self._special.before), after)
        distribution = scoring is not None and scoring.distribution
        values = self.engine.columns(MaskedPlan.of(sequences, targets, self._mask), distribution=distribution)
        columns = np.full((len(values), len(tokens.ids.flat)), np.nan)
        columns[:, where] = values
        return tokens.keep(selected).scores(texts_of(requests), columns[:, selected])

    def _score_apart(self, requests: Sequence[Request]) -> Scores:
        """Score words at the first of three masks after their contexts (Samuel 2024)."""
        words = SeparateWords.of(self.tokenize.hf, requests)
        masks = self.tokenize.hf.mask_token * MASKS_AFTER
        contexts = self.tokenize([Request(text + masks) for text in words.contexts]).ids
        positions = len(self._special.before) + contexts.lengths - MASKS_AFTER
        sequences = self._special.add_to(contexts)
        refuse_long(sequences, self._limit, words.contexts, self._spec)
        sequences.flat[sequences.starts + positions] = words.targets
        targets = MaskedTargets(np.arange(len(positions)), positions, positions, positions + MASKS_AFTER)
        return words.scores(self.engine.columns(MaskedPlan.of(sequences, targets, self._mask))[0])

    def _targets(
        self, requests: Sequence[Request], tokens: TokenizedTexts, selected: Mask
    ) -> tuple[MaskedTargets, Ints]:
        """The targets, and the index of each: all selected tokens but special ones written in a text."""
        lengths = tokens.ids.lengths
        of_text = np.repeat(np.arange(len(requests)), lengths)
        positions = np.arange(len(of_text)) - np.repeat(tokens.ids.starts, lengths)
        begins, stops = positions, positions + 1
        spans = np.array([request.span is not None for request in requests], dtype=bool)[of_text] & selected
        by_word = self._metric in ("within_word_l2r", "whole_word")
        if self._metric == "global_l2r":  # the end-of-sequence token too
            stops = lengths[of_text] + len(self._special.after)
        if by_word or spans.any():
            ends = word_ends(self.tokenize.hf.backend_tokenizer, texts_of(requests), tokens)
            if by_word:
                stops = ends
            if self._metric == "whole_word":
                begins = np.where(spans, positions, _word_starts(ends, positions))
            # The tokens of a span are masked together, up to the end of its last word.
            span_ends = np.zeros(len(requests), dtype=np.int64)
            np.maximum.at(span_ends, of_text[spans], ends[spans])
            stops = np.where(spans, span_ends[of_text], stops)
        where = np.flatnonzero(selected & ~np.isin(tokens.ids.flat, self._unscored))
        before = len(self._special.before)
        columns = (column[where] + before for column in (positions, begins, stops))
        return MaskedTargets(of_text[where], *columns), where


def identify(spec: ModelSpec) -> Identity | None:
    """The model's identity, from its files; None if only loading tells."""
    options = spec.read(OPTIONS)
    folder = folder_of(spec, options)
    if folder is None:
        return None
    signature = {"dtype": options["dtype"], "pll": options["pll"], **signature_options(options)}
    context = folder.settings("config.json").get("training_context")
    return Identity(f"masked/{folder.name}", signature, "scores", training_context=context)


def load(spec: ModelSpec) -> MaskedModel:
    """Load a model by folder or name on the Hugging Face Hub."""
    options = spec.read(OPTIONS)
    spec = _with_hub_name(spec)
    return from_loaded(loading.load(spec, "AutoModelForMaskedLM", Loading.of(options)), spec)


def from_loaded(loaded: loading.HubModel, spec: ModelSpec) -> MaskedModel:
    """A model around weights that are in memory."""
    return MaskedModel(loaded, spec)


open_loaded = partial(open_in_memory, "masked", from_loaded)


def _with_hub_name(spec: ModelSpec) -> ModelSpec:
    """The model under its name on the Hugging Face Hub: `bert_base_uncased` is `bert-base-uncased` there."""
    if not OLD_SPELLING.fullmatch(spec.name) or Path(spec.name).exists():
        return spec
    name = spec.name.replace("_", "-")
    log.warning("%s is spelt %s on the Hugging Face Hub", spec.name, name)
    return replace(spec, name=name)


def _selected(requests: Sequence[Request], tokens: TokenizedTexts) -> Mask:
    """The tokens to report: those whose first visible character is in the request's span."""
    spans = np.array(
        [(0, len(request.text) + 1) if request.span is None else request.span for request in requests], dtype=np.int64
    ).reshape(-1, 2)
    low, high = np.repeat(spans, tokens.ids.lengths, axis=0).T
    selected: Mask = (tokens.starts >= low) & (tokens.starts < high)
    return selected


def _word_starts(ends: Ints, positions: Ints) -> Ints:
    """For each token, the number, in its text, of the first token of its word."""
    opens = np.ones(len(ends), dtype=bool)
    opens[1:] = (ends[1:] != ends[:-1]) | (positions[1:] == 0)
    starts: Ints = positions[np.flatnonzero(opens)[np.cumsum(opens) - 1]] if len(ends) else positions
    return starts


def _in_windows(windows: Passages, targets: MaskedTargets, where: Ints, before: int, after: int) -> MaskedTargets:
    """Targets in texts as targets in the passages in which they are scored.

    Args:
        windows: The passages.
        targets: The targets in the texts.
        where: The index of each target among all tokens.
        before: Special tokens before a passage.
        after: Special tokens after it that are masked if a target's range goes beyond the passage.
    """
    window_of = np.repeat(np.arange(len(windows.tokens)), windows.tokens.lengths)
    of_token = np.empty(int(windows.where.max(initial=-1)) + 1, dtype=np.int64)
    of_token[windows.where[windows.where >= 0]] = window_of[windows.where >= 0]
    window_indices = of_token[where]
    first, last = windows.firsts[window_indices], windows.tokens.lengths[window_indices] + before + after
    begins = np.maximum(targets.begins - first, before)
    return MaskedTargets(window_indices, targets.positions - first, begins, np.minimum(targets.stops - first, last))
