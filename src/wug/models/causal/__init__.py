"""Causal language models of Hugging Face, by folder or name on the Hugging Face Hub: `causal:gpt2`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wug.arrays import Ints
from wug.errors import ModelError
from wug.models.causal.answers import RequestKind, TextWriter, last_tokens, texts_alone
from wug.models.causal.boundaries import (
    BY_TOKENIZER,
    WordStarts,
    bos_id,
    compare_with_default,
    first_id,
    has_bos_token,
    word_starts,
)
from wug.models.causal.tree import TokenBatch
from wug.models.hardware import position_limit, requests_per_chunk
from wug.models.huggingface import loading
from wug.models.huggingface.hub import prefetch as prefetch
from wug.models.huggingface.hub import revisions as revisions
from wug.models.huggingface.in_memory import open_loaded as open_in_memory
from wug.models.spec import DEVICE_MAP, GGUF, NODES, WEIGHTS, Identity, Loading, ModelSpec, signature_options
from wug.models.tokenization.chat_templates import ChatTemplate
from wug.models.tokenization.ragged import Ragged
from wug.models.tokenization.sliding_windows import passages, refuse_long, to_the_left, window_size
from wug.models.tokenization.tokens import (
    OffsetTokenizer,
    SeparateWords,
    SpecialTokens,
    TokenizedTexts,
    likeliest,
    score_by,
    word_spans,
)
from wug.models.weights.fingerprints import folder_of
from wug.models.weights.fingerprints import snapshot as snapshot
from wug.options import Option
from wug.requests import Request, TextScoring, Token
from wug.scores import Scores, texts_of
from wug.timings import timed
from wug.traits import BackendTraits

if TYPE_CHECKING:
    from wug.models.causal.forward import CausalEngine, PendingBatch

TRAITS = BackendTraits(
    on_hub=True,
    architectures=("ForCausalLM", "LMHeadModel"),
    auto_class="AutoModelForCausalLM",
    uses_device=True,
    shares_device=True,
    windows=True,
    to_generate="Use prompt: instead of causal:, or a seq2seq: model",
)
OPTIONS = (
    Option(
        "bos",
        str,
        "auto",
        "put a BOS token before each text: auto (if the tokenizer has one), yes, no, a token, tokenizer (if the "
        "tokenizer adds it itself), or lm-eval (as tokenizer, but BOS, or else EOS, before a text without context)",
    ),
    Option(
        "boundary",
        ("no", "yes", "published"),
        "no",
        "count the end of a word with that word (Pimentel & Meister 2024); published: as their released code does",
    ),
    Option("engine", ("auto", "tree", "plain"), "auto", "how texts are scored: as prefix trees, or each by itself"),
    NODES,
    *WEIGHTS,
    DEVICE_MAP,
    GGUF,
)

REQUESTS_PER_CHUNK = {"cpu": (4096, 4096), "cuda": (2048, 16384)}
"""Requests tokenized and planned at a time: in the first piece, so that a GPU starts early, and at most.

Each piece is twice as large as the one before.
"""
log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class PreparedRequests:
    """Requests with the batches that score them."""

    requests: list[Request]
    tokens: TokenizedTexts
    sequences: Ragged
    """The tokens with the BOS token, if there is one; for long texts, those of each passage."""
    where: Ints
    """For each token of the sequences, its index among the tokens; -1 if it is not scored."""
    batches: list[TokenBatch]


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """How requests with one scoring are scored."""

    engine: CausalEngine
    scoring: TextScoring | None
    size: int | None
    """Tokens of a window, without the BOS token; None: any number."""
    stride: int
    cuts: bool
    """Whether tokens after a span are left out. Not if the end of a word is scored, or the length of a text matters."""
    bos: int | None
    """The token before each text; None for none."""


class CausalModel:
    """A causal language model that scores texts."""

    scores_separate_words = True

    def __init__(self, loaded: loading.HubModel, spec: ModelSpec) -> None:
        from wug.models.causal.selftest import choose_engine

        options = spec.read(OPTIONS)
        self._spec = spec
        self.tokenize = OffsetTokenizer(loaded.tokenizer)
        self.chat = ChatTemplate(loaded.tokenizer, str(spec))
        self._writer: TextWriter | None = None
        self._bos = bos_id(loaded.tokenizer, options["bos"], spec)
        bos = () if self._bos is None else (self._bos,)
        by_tokenizer = options["bos"] in BY_TOKENIZER
        self._special = SpecialTokens.of(loaded.tokenizer.backend_tokenizer) if by_tokenizer else SpecialTokens(bos, ())
        self._bos_alone = first_id(loaded.tokenizer, spec) if options["bos"] == "lm-eval" else self._bos
        self._plain_kinds = (RequestKind(None, self._bos), RequestKind(None, self._bos_alone))
        self._warns_about_bos = options["bos"] == "auto"
        self._boundary: str = options["boundary"]
        self._limit = position_limit(loaded.model)
        self.chunk = requests_per_chunk(loaded.model, cpu=(6e4, 32, 8192), gpu=(4e6, 512, 65536))
        with timed("check"):
            self.engine: CausalEngine = choose_engine(
                loaded.model,
                method=options["engine"],
                nodes=options["nodes"],
                word_starts=None if self._boundary == "no" else self._word_starts(self._boundary),
                architecture=loaded.architecture,
                remote_code=options["trust_remote_code"],
            )
        self.id = f"causal/{loaded.name}@{loaded.fingerprint}"
        self.options = _signature(options, loaded.dtype, has_bos=self._bos is not None)
        self.ordered = False
        self.training_context: str | None = getattr(loaded.model.config, "training_context", None)

    def score(self, requests: Sequence[Request]) -> Scores:
        """One output per request, in order, in nats."""
        return score_by(self._kind, requests, self._score_kind)

    def _score_kind(self, requests: Sequence[Request], kind: RequestKind) -> Scores:
        if kind.separate_word:
            return self._score_apart(requests)
        if not kind.after:
            if self._warns_about_bos:  # a chat template writes the first token itself
                self._warns_about_bos = False
                compare_with_default(self.tokenize.hf, self._bos)
            return self._score(requests, self._plan(kind))
        rendered = self.chat.render(requests)
        if kind.writes:
            self._writer = self._writer or TextWriter(self.engine.model, self.tokenize.hf, self._limit)
            return self._writer.write(requests, [text.full_text for text in rendered], kind.bos)
        full_requests = []
        for request, text in zip(requests, rendered, strict=True):
            span = None if request.span is None else (0, text.start + request.span[1])
            full_requests.append(Request(text.full_text, span, scoring=kind.scoring))
        return texts_alone(requests, rendered, self._score(full_requests, self._plan(kind)))

    def _score_apart(self, requests: Sequence[Request]) -> Scores:
        """Score words after contexts that have the special tokens of a whole text."""
        if self._boundary != "no":
            raise ModelError(f"{self._spec}: a word apart from its context has no boundary. Leave out boundary=…")
        words = SeparateWords.of(self.tokenize.hf, requests)
        sequences = words.after(self._special.add_to(self.tokenize([Request(text) for text in words.contexts]).ids))
        refuse_long(sequences, self._limit, words.contexts, self._spec)
        return words.scores(last_tokens(self.engine, sequences))

    @property
    def noise(self) -> float | None:
        """How far rounding moves the log-probability of a sentence in half precision, in nats; None in float32."""
        measured = self.engine.noise
        return None if measured is None or not measured.sentence else measured.sentence

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text, by the tokenizer's own rule."""
        return word_spans(self.tokenize.hf.backend_tokenizer, texts)

    def likeliest(self, text: str, position: int, count: int = 10) -> list[Token]:
        """The most probable tokens at the token `position`, given those before it.

        Empty for the first token of a text without a BOS token.
        """
        import torch

        tokens = self.tokenize([Request(text)])
        ids = tokens.ids if self._bos is None else tokens.ids.with_first(self._bos)
        refuse_long(ids, self._limit, [text], self._spec)
        context = ids.flat[: position + int(self._bos is not None)]
        if not len(context) or not 0 <= position < len(tokens.ids.flat):
            return []
        with torch.inference_mode():  # one text alone, without a mask: right for every model
            inputs = torch.from_numpy(context.astype(np.int64))[None].to(self.engine.device)
            logits = self.engine.model(input_ids=inputs).logits[0, -1]
        return likeliest(logits, self.tokenize.hf, int(tokens.starts[position]), count)

    def _kind(self, request: Request) -> RequestKind:
        """How a request is read; a text without context may have another token before it, a template writes its own."""
        if request.separate_word_start is not None:
            return RequestKind(None, self._bos, separate_word=True)
        if request.chat is None and not request.generate:
            alone = request.span is None or request.span[0] == 0
            kind = self._plain_kinds[alone]
            return kind if request.scoring is None else kind._replace(scoring=request.scoring)
        chat = request.conversation
        bos = self._bos if chat is None or chat.plain else None
        return RequestKind(request.scoring, bos, after=True, writes=request.generate > 0)

    def _plan(self, kind: RequestKind) -> ScoringPlan:
        scoring, bos = kind.scoring, kind.bos
        engine = self.engine
        cuts = self._boundary == "no" and engine.methods.max_shared_tokens is None
        if scoring is None:
            return ScoringPlan(engine, None, None, 1, cuts, bos)
        if scoring.boundary and self._boundary != "no":
            raise ModelError(
                f"{self._spec}: the request asks for values with and without word ends, and the model was opened with "
                f"boundary={self._boundary}. Open it without the option boundary"
            )
        size, stride = window_size(scoring, self._limit, int(bos is not None), self._spec, without_bos=True)
        if scoring.distribution or scoring.boundary:
            boundary = "yes" if scoring.boundary else self._boundary
            starts = None if boundary == "no" else self._word_starts(boundary)
            engine = engine.variant(word_starts=starts, distribution=scoring.distribution)
        return ScoringPlan(engine, scoring, size, stride, cuts and not scoring.boundary, bos)

    def _word_starts(self, boundary: str) -> WordStarts:
        published, has_bos = boundary == "published", self._bos is not None
        return word_starts(self.tokenize.hf, self._spec, published=published, has_bos=has_bos)

    def _score(self, requests: Sequence[Request], plan: ScoringPlan) -> Scores:
        # Sorted texts share beginnings with their neighbours; a duplicate costs nothing in a tree.
        order = sorted(range(len(requests)), key=texts_of(requests).__getitem__)
        blocks: list[Scores] = []
        pending: list[tuple[PreparedRequests, list[PendingBatch]]] = []
        pieces = self._prepare([requests[index] for index in order], plan)
        for prepared in _prefetched(pieces) if plan.engine.device.type == "cuda" else pieces:
            pending.append((prepared, plan.engine.start(prepared.batches)))
            if len(pending) > 1:
                blocks.append(self._assemble(*pending.pop(0), plan))
        blocks += [self._assemble(prepared, started, plan) for prepared, started in pending]
        return Scores.join(blocks).take(np.argsort(order))

    def _prepare(self, requests: list[Request], plan: ScoringPlan) -> Iterator[PreparedRequests]:
        from wug.models.causal.forward import queried_only

        source = iter(requests)
        size, largest = REQUESTS_PER_CHUNK.get(plan.engine.device.type, REQUESTS_PER_CHUNK["cpu"])
        while piece := list(islice(source, size)):
            size = min(2 * size, largest)
            tokens = self.tokenize(piece, cut=plan.cuts)
            boundary = plan.scoring is not None and (plan.scoring.boundary or self._boundary != "no")
            # Whether a word is over is seen from the token after it.
            windows = passages(tokens.ids, plan.size, plan.stride, partial(to_the_left, beyond=int(boundary)))
            token_ids = tokens.ids if windows is None else windows.tokens
            where = np.arange(len(token_ids.flat)) if windows is None else windows.where
            sequences = token_ids
            if plan.bos is not None:
                bos_positions = token_ids.starts
                if windows is not None and plan.scoring is not None and not plan.scoring.window_bos:
                    bos_positions = bos_positions[windows.firsts == 0]
                sequences, where = token_ids.with_first(plan.bos, bos_positions), np.insert(where, bos_positions, -1)
            refuse_long(sequences, self._limit, texts_of(piece), self._spec)
            batches = plan.engine.plan(sequences)
            if windows is not None and not boundary:
                batches = [queried_only(batch, where) for batch in batches]
            yield PreparedRequests(piece, tokens, sequences, where, batches)

    def _assemble(self, prepared: PreparedRequests, pending: list[PendingBatch], plan: ScoringPlan) -> Scores:
        tokens, count = prepared.tokens, len(prepared.sequences.flat)
        scoring, is_scored = plan.scoring or TextScoring(), prepared.where >= 0

        def by_token(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
            """The values of the tokens; NaN for the first of a text without a BOS token."""
            token_values = np.full(len(tokens.ids.flat), np.nan)
            token_values[prepared.where[is_scored]] = values[is_scored]
            return token_values

        columns = [plan.engine.collect(pending, count, with_word_end=not scoring.boundary)]
        if scoring.distribution:
            columns.extend(plan.engine.collect_distributions(pending, count))
        with_word_end = by_token(plan.engine.collect(pending, count)) if scoring.boundary else None
        return tokens.scores(texts_of(prepared.requests), np.stack([*map(by_token, columns)]), with_word_end)


def _prefetched(pieces: Iterator[PreparedRequests]) -> Iterator[PreparedRequests]:
    """The pieces, each prepared by a thread while the one before is computed.

    A GPU takes about a thousand kernels in advance: with a large model, the thread that launches them waits.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(next, pieces, None)
        while (piece := future.result()) is not None:
            future = pool.submit(next, pieces, None)
            yield piece


def identify(spec: ModelSpec) -> Identity | None:
    """The model's identity, from its files; None if only loading tells."""
    options = spec.read(OPTIONS)
    folder = folder_of(spec, options)
    has_bos = None if folder is None else has_bos_token(folder, options["bos"])
    if folder is None or has_bos is None:
        return None
    context = folder.settings("config.json").get("training_context")
    signature = _signature(options, options["dtype"], has_bos=has_bos)
    return Identity(f"causal/{folder.name}", signature, "scores", training_context=context)


def chat_format(spec: ModelSpec) -> ChatTemplate:
    """How the model renders chats, from its tokenizer alone."""
    return ChatTemplate(loading.tokenizer_of(spec, Loading.of(spec.read(OPTIONS))), str(spec))


def load(spec: ModelSpec) -> CausalModel:
    """Load a model by folder or name on the Hugging Face Hub."""
    return from_loaded(loading.load(spec, "AutoModelForCausalLM", Loading.of(spec.read(OPTIONS))), spec)


def from_loaded(loaded: loading.HubModel, spec: ModelSpec) -> CausalModel:
    """A model around weights that are in memory."""
    from wug.models.hardware import device_of
    from wug.models.huggingface.fused import fuse_activations, fuse_norms

    fuse_activations(loaded.model)
    if device_of(loaded.model).type == "cuda":
        fuse_norms(loaded.model)
    return CausalModel(loaded, spec)


open_loaded = partial(open_in_memory, "causal", from_loaded)


def _signature(options: Mapping[str, Any], dtype: str, *, has_bos: bool) -> dict[str, str]:
    return {
        "dtype": dtype,
        "bos": options["bos"].replace("auto", "yes") if has_bos or options["bos"] in BY_TOKENIZER else "no",
        **({"boundary": options["boundary"]} if options["boundary"] != "no" else {}),
        **signature_options(options),
    }
