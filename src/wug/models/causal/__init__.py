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

from wug.errors import ModelError
from wug.models.causal.answers import RequestKind, TextWriter, texts_alone
from wug.models.causal.tree import TokenBatch
from wug.models.causal.word_boundaries import WordStarts, word_starts
from wug.models.huggingface import loading
from wug.models.huggingface.devices import position_limit, requests_per_chunk
from wug.models.huggingface.hub import prefetch as prefetch
from wug.models.spec import DEVICE_MAP, GGUF, NODES, WEIGHTS, Identity, Loading, ModelSpec, signature_options
from wug.models.tokenization.chat_templates import ChatTemplate
from wug.models.tokenization.ragged import Ints, Ragged
from wug.models.tokenization.sliding_windows import passages, refuse_long, to_the_left, window_size
from wug.models.tokenization.tokens import (
    OffsetTokenizer,
    SpecialTokens,
    TokenizedTexts,
    likeliest,
    score_by,
    word_spans,
)
from wug.models.weights.fingerprints import Folder, folder_of
from wug.options import Option
from wug.scores import Scores, texts_of
from wug.stages import stage
from wug.types import Reading, Request, Token, Traits

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from wug.models.causal.forward import CausalEngine, PendingBatch

TRAITS = Traits(
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

REQUESTS_PER_PIECE = {"cpu": (4096, 4096), "cuda": (2048, 16384)}
"""Requests tokenized and planned at a time: in the first piece, so that a GPU starts early, and at most.

Each piece is twice as large as the one before.
"""
GENERIC_TOKENIZERS = ("TokenizersBackend", "PreTrainedTokenizerFast")
"""Tokenizer classes that take everything from their files."""

BY_TOKENIZER = ("tokenizer", "lm-eval")
"""Values of `bos` with which the tokenizer decides about texts with a context."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class PreparedRequests:
    """Requests with the batches that score them."""

    requests: list[Request]
    tokens: TokenizedTexts
    sequences: Ragged
    """The tokens with the BOS token, if there is one; for long texts, those of each passage."""
    where: Ints
    """For each token of the sequences, its place among the tokens; -1 if it is not scored."""
    batches: list[TokenBatch]


@dataclass(frozen=True, slots=True)
class ScoringPlan:
    """How requests with one reading are scored."""

    engine: CausalEngine
    reading: Reading | None
    size: int | None
    """Tokens of a window, without the BOS token; None: any number."""
    stride: int
    cuts: bool
    """Whether tokens after a span are left out. Not if the end of a word is scored, or the length of a text matters."""
    bos: int | None
    """The token before each text; None for none."""


class CausalModel:
    """A causal language model that scores texts."""

    __slots__ = (
        "_bos", "_bos_alone", "_boundary", "_engine", "_limit", "_plain_kinds", "_spec", "_tokenize", "_writer",
        "chat", "chunk", "id", "options", "ordered", "training_context",
    )  # fmt: skip

    def __init__(self, loaded: loading.HubModel, spec: ModelSpec) -> None:
        from wug.models.causal.selftest import choose_engine

        options = spec.read(OPTIONS)
        self._spec = spec
        self._tokenize = OffsetTokenizer(loaded.tokenizer)
        self.chat = ChatTemplate(loaded.tokenizer, str(spec))
        self._writer: TextWriter | None = None
        self._bos = _bos_id(loaded.tokenizer, options["bos"], spec)
        self._bos_alone = _first_id(loaded.tokenizer, spec) if options["bos"] == "lm-eval" else self._bos
        self._plain_kinds = (RequestKind(None, self._bos), RequestKind(None, self._bos_alone))
        if options["bos"] == "auto":
            _compare_with_default(loaded.tokenizer, self._bos)
        self._boundary: str = options["boundary"]
        self._limit = position_limit(loaded.model)
        self.chunk = requests_per_chunk(loaded.model, cpu=(6e4, 32, 8192), gpu=(4e6, 512, 65536))
        with stage("check"):
            self._engine: CausalEngine = choose_engine(
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
        if not kind.after:
            return self._score(requests, self._plan(kind))
        rendered = self.chat.render(requests)
        if kind.writes:
            self._writer = self._writer or TextWriter(self._engine.model, self._tokenize.hf, self._limit)
            return self._writer.write(requests, [one.whole for one in rendered], kind.bos)
        wholes = [
            Request(one.whole, None if request.span is None else (0, one.start + request.span[1]), reading=kind.reading)
            for request, one in zip(requests, rendered, strict=True)
        ]
        return texts_alone(requests, rendered, self._score(wholes, self._plan(kind)))

    @property
    def noise(self) -> float | None:
        """How far rounding moves the log-probability of a sentence in half precision, in nats; None in float32."""
        measured = self._engine.noise
        return None if measured is None or not measured.sentence else measured.sentence

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text, by the tokenizer's own rule."""
        return word_spans(self._tokenize.hf.backend_tokenizer, texts)

    def likeliest(self, text: str, place: int, count: int = 10) -> list[Token]:
        """The most probable tokens in place of the token `place`, given those before it.

        Empty for the first token of a text without a BOS token.
        """
        import torch

        tokens = self._tokenize([Request(text)])
        ids = tokens.ids if self._bos is None else tokens.ids.led_by(self._bos)
        refuse_long(ids, self._limit, [text], self._spec)
        context = ids.flat[: place + int(self._bos is not None)]
        if not len(context) or not 0 <= place < len(tokens.ids.flat):
            return []
        with torch.inference_mode():  # one text alone, without a mask: right for every model
            inputs = torch.from_numpy(context.astype(np.int64))[None].to(self._engine.device)
            logits = self._engine.model(input_ids=inputs).logits[0, -1]
        return likeliest(logits, self._tokenize.hf, int(tokens.starts[place]), count)

    def _kind(self, request: Request) -> RequestKind:
        """How a request is read; a text without context may have another token before it, a template writes its own."""
        if request.chat is None and not request.generate:
            alone = request.span is None or request.span[0] == 0
            kind = self._plain_kinds[alone]
            return kind if request.reading is None else kind._replace(reading=request.reading)
        chat = request.conversation
        bos = self._bos if chat is None or chat.plain else None
        return RequestKind(request.reading, bos, after=True, writes=request.generate > 0)

    def _plan(self, kind: RequestKind) -> ScoringPlan:
        engine, reading, bos = self._engine, kind.reading, kind.bos
        cuts = self._boundary == "no" and engine.methods.max_shared_tokens is None
        if reading is None:
            return ScoringPlan(engine, None, None, 1, cuts, bos)
        if reading.boundary and self._boundary != "no":
            raise ModelError(
                f"{self._spec}: the request asks for values with and without word ends, and the model was opened with "
                f"boundary={self._boundary}. Open it without the option boundary"
            )
        size, stride = window_size(reading, self._limit, int(bos is not None), self._spec, without_bos=True)
        if reading.distribution or reading.boundary:
            boundary = "yes" if reading.boundary else self._boundary
            starts = None if boundary == "no" else self._word_starts(boundary)
            engine = engine.variant(word_starts=starts, distribution=reading.distribution)
        return ScoringPlan(engine, reading, size, stride, cuts and not reading.boundary, bos)

    def _word_starts(self, boundary: str) -> WordStarts:
        published, has_bos = boundary == "published", self._bos is not None
        return word_starts(self._tokenize.hf, self._spec, published=published, has_bos=has_bos)

    def _score(self, requests: Sequence[Request], plan: ScoringPlan) -> Scores:
        # Sorted texts share beginnings with their neighbours; a duplicate costs nothing in a tree.
        order = sorted(range(len(requests)), key=texts_of(requests).__getitem__)
        blocks: list[Scores] = []
        pending: list[tuple[PreparedRequests, list[PendingBatch]]] = []
        pieces = self._prepare([requests[place] for place in order], plan)
        for prepared in _one_ahead(pieces) if plan.engine.device.type == "cuda" else pieces:
            pending.append((prepared, plan.engine.start(prepared.batches)))
            if len(pending) > 1:
                blocks.append(self._assemble(*pending.pop(0), plan))
        blocks += [self._assemble(prepared, started, plan) for prepared, started in pending]
        return Scores.join(blocks).take(np.argsort(order))

    def _prepare(self, requests: list[Request], plan: ScoringPlan) -> Iterator[PreparedRequests]:
        """Tokenize and plan requests piece by piece."""
        from wug.models.causal.forward import queried_only

        source = iter(requests)
        size, largest = REQUESTS_PER_PIECE.get(plan.engine.device.type, REQUESTS_PER_PIECE["cpu"])
        while piece := list(islice(source, size)):
            size = min(2 * size, largest)
            tokens = self._tokenize(piece, cut=plan.cuts)
            boundary = plan.reading is not None and plan.reading.boundary
            # Whether a word is over is seen from the token after it.
            found = passages(tokens.ids, plan.size, plan.stride, partial(to_the_left, beyond=int(boundary)))
            plain = tokens.ids if found is None else found.tokens
            where = np.arange(len(plain.flat)) if found is None else found.where
            sequences = plain
            if plan.bos is not None:
                led = plain.starts
                if found is not None and plan.reading is not None and not plan.reading.window_bos:
                    led = led[found.firsts == 0]
                sequences, where = plain.led_by(plan.bos, led), np.insert(where, led, -1)
            refuse_long(sequences, self._limit, texts_of(piece), self._spec)
            batches = plan.engine.plan(sequences)
            if found is not None and not boundary:
                batches = [queried_only(batch, where) for batch in batches]
            yield PreparedRequests(piece, tokens, sequences, where, batches)

    def _assemble(self, prepared: PreparedRequests, pending: list[PendingBatch], plan: ScoringPlan) -> Scores:
        tokens, count = prepared.tokens, len(prepared.sequences.flat)
        reading, inside = plan.reading or Reading(), prepared.where >= 0

        def placed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
            """The values of the tokens; NaN for the first of a text without a BOS token."""
            found = np.full(len(tokens.ids.flat), np.nan)
            found[prepared.where[inside]] = values[inside]
            return found

        columns = [plan.engine.collect(pending, count, word_ends=not reading.boundary)]
        if reading.distribution:
            columns.extend(plan.engine.collect_distributions(pending, count))
        word_ends = placed(plan.engine.collect(pending, count)) if reading.boundary else None
        return tokens.scores(texts_of(prepared.requests), np.stack([*map(placed, columns)]), word_ends)


def _one_ahead(pieces: Iterator[PreparedRequests]) -> Iterator[PreparedRequests]:
    """The pieces, each prepared by a thread while the one before is computed.

    A GPU takes about a thousand kernels in advance: with a large model, the thread that launches them waits.
    """
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, pieces, None)
        while (piece := coming.result()) is not None:
            coming = pool.submit(next, pieces, None)
            yield piece


def identify(spec: ModelSpec) -> Identity | None:
    """The model's identity, from its files; None if only loading tells."""
    options = spec.read(OPTIONS)
    folder = folder_of(spec, options)
    has_bos = None if folder is None else _has_bos(folder, options["bos"])
    if folder is None or has_bos is None:
        return None
    context = folder.settings("config.json").get("training_context")
    described = _signature(options, options["dtype"], has_bos=has_bos)
    return Identity(f"causal/{folder.name}", described, "scores", training_context=context)


def chat_format(spec: ModelSpec) -> ChatTemplate:
    """How the model renders chats, from its tokenizer alone."""
    return ChatTemplate(loading.tokenizer_of(spec, Loading.of(spec.read(OPTIONS))), str(spec))


def load(spec: ModelSpec) -> CausalModel:
    """Load a model by folder or name on the Hugging Face Hub."""
    return around(loading.load(spec, "AutoModelForCausalLM", Loading.of(spec.read(OPTIONS))), spec)


def around(loaded: loading.HubModel, spec: ModelSpec) -> CausalModel:
    """A model around weights that are in memory."""
    from wug.models.huggingface.devices import device_of
    from wug.models.huggingface.fused import fuse_activations, fuse_norms

    fuse_activations(loaded.model)
    if device_of(loaded.model).type == "cuda":
        fuse_norms(loaded.model)
    return CausalModel(loaded, spec)


def _bos_id(tokenizer: PreTrainedTokenizerBase, policy: str, spec: ModelSpec) -> int | None:
    if policy == "no":
        return None
    if policy in BY_TOKENIZER:
        before = SpecialTokens.of(tokenizer.backend_tokenizer).before
        if len(before) > 1:
            raise ModelError(
                f"{spec}: bos={policy}: the tokenizer puts {len(before)} tokens before a text. Use bos=TOKEN"
            )
        return before[0] if before else None
    if policy in ("auto", "yes"):
        bos: int | None = tokenizer.bos_token_id
        if bos is None and policy == "yes":
            raise ModelError(f"{spec}: bos=yes, but the tokenizer has no BOS token. Use bos=no, or name a token")
        return bos
    index: int = tokenizer.convert_tokens_to_ids(policy)
    if index is None or (index == tokenizer.unk_token_id and policy != tokenizer.unk_token):
        raise ModelError(f"{spec}: bos={policy}: the tokenizer has no such token")
    return index


def _first_id(tokenizer: PreTrainedTokenizerBase, spec: ModelSpec) -> int:
    """The BOS token, or else the EOS token."""
    found: int | None = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if found is None:
        raise ModelError(f"{spec}: bos=lm-eval, but the tokenizer has neither a BOS nor an EOS token")
    return found


def _compare_with_default(tokenizer: PreTrainedTokenizerBase, bos: int | None) -> None:
    """Warn if texts do not begin as by the tokenizer's default, which most other programs use."""
    default = SpecialTokens.of(tokenizer.backend_tokenizer).before
    if default == (() if bos is None else (bos,)):
        return
    names = ", ".join(map(repr, tokenizer.convert_ids_to_tokens(list(default)))) or "no token"
    log.warning(
        "texts are scored %s, but by default the tokenizer (%s) puts %s before a text: other programs may give other "
        "numbers. bos=%s scores them so, bos=%s as now and without this warning",
        "without a BOS token" if bos is None else f"after the BOS token {tokenizer.convert_ids_to_tokens(bos)!r}",
        type(tokenizer).__name__,
        names,
        "TOKEN" if default else "no",
        "no" if bos is None else "yes",
    )


def _signature(options: Mapping[str, Any], dtype: str, *, has_bos: bool) -> dict[str, str]:
    """The options that change an output."""
    return {
        "dtype": dtype,
        "bos": options["bos"].replace("auto", "yes") if has_bos or options["bos"] in BY_TOKENIZER else "no",
        **({"boundary": options["boundary"]} if options["boundary"] != "no" else {}),
        **signature_options(options),
    }


def _has_bos(folder: Folder, policy: str) -> bool | None:
    """Whether texts will begin with a BOS token; None if only the tokenizer tells."""
    if policy != "auto":
        return policy != "no"
    settings = folder.settings("tokenizer_config.json")
    if settings.get("bos_token") is not None:
        return True
    # Other classes may have a BOS token that no file names.
    generic = settings.get("tokenizer_class") in GENERIC_TOKENIZERS
    return False if generic and "bos_token" not in folder.settings("special_tokens_map.json") else None
