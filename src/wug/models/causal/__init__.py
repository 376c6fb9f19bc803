"""Causal language models of Hugging Face, by folder or hub name: `causal:gpt2`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from wug.errors import ModelError
from wug.models import _weights
from wug.models._fingerprint import Folder, folder_of
from wug.models._hardware import device_of
from wug.models._hub import prefetch as prefetch
from wug.models._likeliest import likeliest
from wug.models._loading import Loading, signed
from wug.models._options import ADAPTER, DEVICE, DEVICE_MAP, DTYPE, GGUF, NODES, QUANTIZE, TRUST
from wug.models._passages import passages, room, to_the_left
from wug.models._ragged import Ints, Ragged
from wug.models._spec import Identity, ModelSpec
from wug.models._tokens import Tokenised, Tokeniser, word_spans
from wug.models.causal.boundary import WordStarts, word_starts
from wug.models.causal.forward import Asked, Engine
from wug.models.causal.selftest import choose_engine, position_limit
from wug.models.causal.tree import Batch
from wug.models.masked.pieces import Frame
from wug.options import Option
from wug.scores import Beside, Scores
from wug.stages import stage
from wug.types import Reading, Request, Token, Traits

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
    DTYPE,
    DEVICE,
    Option(
        "bos", str, "auto", "put a BOS token before each text: auto (if the tokenizer has one), yes, no, or a token"
    ),
    Option(
        "boundary",
        ("no", "yes", "published"),
        "no",
        "count the end of a word with that word (Pimentel & Meister 2024); published: as their released code does",
    ),
    Option("engine", ("auto", "tree", "plain"), "auto", "how texts are asked: as prefix trees, or each by itself"),
    NODES,
    QUANTIZE,
    ADAPTER,
    DEVICE_MAP,
    GGUF,
    TRUST,
)

PIECE = {"cpu": 4096, "cuda": 16384}
"""Requests tokenised and planned at a time: more where a batch holds more."""
GENERIC = ("TokenizersBackend", "PreTrainedTokenizerFast")
"""Classes of tokenizers that take everything from their files."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Requests with what the device needs to answer them."""

    requests: list[Request]
    tokens: Tokenised
    sequences: Ragged
    """The tokens with the BOS token, if there is one; of long texts, of each passage."""
    where: Ints
    """For each token of these, where it stands among the tokens; -1 where it is not asked."""
    batches: list[Batch]


@dataclass(frozen=True, slots=True)
class Asking:
    """With what, and how, requests are asked."""

    engine: Engine
    reading: Reading | None
    size: int | None
    """Tokens of a text that are read at a time, the BOS token apart; None: any number."""
    stride: int
    cuts: bool
    """Whether what comes after a span is left out: not where the end of a word is asked for, or where the length of
    the whole text matters."""


class CausalModel:
    """A causal language model that scores texts."""

    __slots__ = (
        "_bos",
        "_boundary",
        "_engine",
        "_limit",
        "_spec",
        "_tokenise",
        "chunk",
        "id",
        "options",
        "ordered",
        "training_context",
    )

    def __init__(self, loaded: _weights.Loaded, spec: ModelSpec) -> None:
        options = spec.read(OPTIONS)
        self._spec = spec
        self._tokenise = Tokeniser(loaded.tokenizer)
        self._bos = _bos_id(loaded.tokenizer, options["bos"], spec)
        if options["bos"] == "auto":
            _compare_with_default(loaded.tokenizer, self._bos)
        self._boundary: str = options["boundary"]
        self._limit = position_limit(loaded.model)
        self.chunk = _chunk(loaded.model)
        with stage("check"):
            self._engine: Engine = choose_engine(
                loaded.model,
                wanted=options["engine"],
                nodes=options["nodes"],
                word_starts=None if self._boundary == "no" else self._word_starts(self._boundary),
                shape=loaded.shape,
                foreign=options["trust_remote_code"],
            )
        self.id = f"causal/{loaded.name}@{loaded.fingerprint}"
        self.options = _signed(options, str(loaded.model.dtype).removeprefix("torch."), marked=self._bos is not None)
        self.ordered = False
        self.training_context: str | None = getattr(loaded.model.config, "training_context", None)

    def score(self, requests: Sequence[Request]) -> Scores:
        """One answer for each request, in order, in natural logarithms."""
        readings = dict.fromkeys(request.reading for request in requests)
        if len(readings) == 1:
            return self._score(requests, self._asking(*readings))
        blocks: list[Scores] = []
        order: list[int] = []
        for reading in readings:
            places = [place for place, request in enumerate(requests) if request.reading == reading]
            blocks.append(self._score([requests[place] for place in places], self._asking(reading)))
            order += places
        return Scores.join(blocks).take(np.argsort(order))

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where the words of each text begin and end, by the tokenizer's own rule."""
        return word_spans(self._tokenise.hf.backend_tokenizer, texts)

    def likeliest(self, text: str, place: int, most: int = 10) -> list[Token]:
        """The tokens that are most probable where the token `place` of a text stands, after those before it.

        None are known of the first token of a text that no BOS token leads.
        """
        import torch

        tokens = self._tokenise([Request(text)])
        ids = tokens.ids if self._bos is None else tokens.ids.led_by(self._bos)
        self._refuse_long([Request(text)], ids)
        context = ids.flat[: place + int(self._bos is not None)]
        if not len(context) or not 0 <= place < len(tokens.ids.flat):
            return []
        with torch.inference_mode():  # one text alone, without a mask: what every model gives right numbers for
            asked = torch.from_numpy(context.astype(np.int64))[None].to(self._engine.device)
            logits = self._engine.model(input_ids=asked).logits[0, -1]
        return likeliest(logits, self._tokenise.hf, int(tokens.starts[place]), most)

    def _asking(self, reading: Reading | None) -> Asking:
        engine = self._engine
        cuts = self._boundary == "no" and engine.ways.together is None
        if reading is None:
            return Asking(engine, None, None, 1, cuts)
        if reading.boundary and self._boundary != "no":
            raise ModelError(
                f"{self._spec}: values beside those of boundary={self._boundary} are asked for. Open the model without "
                "the option boundary: values with and without it are then given side by side"
            )
        size, stride = room(reading, self._limit, int(self._bos is not None), self._spec, without_bos=True)
        if reading.distribution or reading.boundary:
            # Not kept: making one costs nothing, and shares the model, its ways and its output layer.
            boundary = "yes" if reading.boundary else self._boundary
            starts = None if boundary == "no" else self._word_starts(boundary)
            engine = Engine(
                engine.model, engine.ways, nodes=engine.nodes, word_starts=starts, distribution=reading.distribution
            )
        return Asking(engine, reading, size, stride, cuts and not reading.boundary)

    def _word_starts(self, boundary: str) -> WordStarts:
        published, marked = boundary == "published", self._bos is not None
        return word_starts(self._tokenise.hf, self._spec, published=published, marked=marked)

    def _score(self, requests: Sequence[Request], asking: Asking) -> Scores:
        # Sorted texts share beginnings with their neighbours; a duplicate costs nothing in a tree.
        order = sorted(range(len(requests)), key=[request.text for request in requests].__getitem__)
        blocks: list[Scores] = []
        under_way: list[tuple[Prepared, list[Asked]]] = []
        for prepared in self._prepare([requests[place] for place in order], asking):
            under_way.append((prepared, asking.engine.ask(prepared.batches)))
            if len(under_way) > 1:
                blocks.append(self._assemble(*under_way.pop(0), asking))
        blocks += [self._assemble(prepared, asked, asking) for prepared, asked in under_way]
        return Scores.join(blocks).take(np.argsort(order))

    def _prepare(self, requests: list[Request], asking: Asking) -> Iterator[Prepared]:
        """The requests, piece by piece, tokenised and planned: while a GPU works on the piece before.

        No thread is needed for that: asking a GPU returns at once, and a thread would only take turns with
        the one that feeds it.
        """
        source = iter(requests)
        size = PIECE.get(asking.engine.device.type, PIECE["cpu"])
        while piece := list(islice(source, size)):
            tokens = self._tokenise(piece, cut=asking.cuts)
            boundary = asking.reading is not None and asking.reading.boundary
            # Whether a word is over is seen from the token behind it.
            found = passages(tokens.ids, asking.size, asking.stride, partial(to_the_left, beyond=int(boundary)))
            plain = tokens.ids if found is None else found.tokens
            where = np.arange(len(plain.flat)) if found is None else found.where
            sequences = plain
            if self._bos is not None:
                led = plain.starts
                if found is not None and asking.reading is not None and not asking.reading.window_bos:
                    led = led[found.firsts == 0]
                sequences, where = plain.led_by(self._bos, led), np.insert(where, led, -1)
            self._refuse_long(piece, sequences)
            batches = asking.engine.plan(sequences)
            if found is not None and not boundary:
                batches = [_only(batch, where) for batch in batches]
            yield Prepared(piece, tokens, sequences, where, batches)

    def _refuse_long(self, piece: list[Request], sequences: Ragged) -> None:
        if self._limit is None or not len(sequences) or sequences.lengths.max() <= self._limit:
            return
        longest = int(sequences.lengths.argmax())
        raise ModelError(
            f"{self._spec}: a text of {sequences.lengths[longest]:,} tokens is longer than the model's context of "
            f"{self._limit:,}: {piece[longest].text[:60]!r}…"
        )

    def _assemble(self, prepared: Prepared, asked: list[Asked], asking: Asking) -> Scores:
        tokens, count = prepared.tokens, len(prepared.sequences.flat)
        engine, reading = asking.engine, asking.reading or Reading()
        inside = prepared.where >= 0
        offsets = np.append(0, np.cumsum(tokens.ids.lengths))

        def placed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
            """The values of the tokens; without a BOS token the first of a text has none, and stays no number."""
            found = np.empty(len(tokens.ids.flat), dtype=values.dtype)
            found[prepared.where[inside]] = values[inside]
            return found

        def column(values: npt.NDArray[Any]) -> tuple[Any, ...]:
            """The same, None for the first of a text that has none."""
            listed: list[Any] = placed(values).tolist()
            if self._bos is None:
                for place in tokens.ids.starts[tokens.ids.lengths > 0].tolist():
                    listed[place] = None
            return tuple(listed)

        columns: dict[str, tuple[Any, ...]] = {}
        if reading.boundary:
            columns["closed"] = column(engine.collect(asked, count))
        if reading.distribution:
            entropies, ranks = engine.collect_distributions(asked, count)
            columns |= {"entropies": column(entropies), "ranks": column(ranks)}
        return Scores(
            [request.text for request in prepared.requests],
            offsets,
            tokens.starts.astype(np.int32),
            tokens.ends.astype(np.int32),
            placed(engine.collect(asked, count, closed=not reading.boundary)),
            tokens.pieces,
            tokens.notices,
            beside=_of_each(columns, offsets),
        )


def _of_each(columns: Mapping[str, tuple[Any, ...]], offsets: Ints) -> dict[int, Beside]:
    """What each text has of the columns of all tokens; nothing where there are none."""
    # A slice of a tuple is a tuple: the columns of each text are cut out in one step.
    return {
        place: Beside(**{name: values[first:last] for name, values in columns.items()})
        for place, (first, last) in enumerate(pairwise(offsets.tolist()) if columns else ())
    }


def _only(batch: Batch, where: Ints) -> Batch:
    """A batch without its questions about tokens that are read but not asked."""
    asked = where[batch.where] >= 0
    return replace(batch, parents=batch.parents[asked], targets=batch.targets[asked], where=batch.where[asked])


def identify(spec: ModelSpec) -> Identity | None:
    """What the model will be, told from its files; None where only loading tells."""
    options = spec.read(OPTIONS)
    folder = folder_of(spec, options)
    marked = None if folder is None else _is_marked(folder, options["bos"])
    if folder is None or marked is None:
        return None
    context = folder.settings("config.json").get("training_context")
    described = _signed(options, options["dtype"], marked=marked)
    return Identity(f"causal/{folder.name}", described, "scores", training_context=context)


def load(spec: ModelSpec) -> CausalModel:
    """The model that `spec` names, checked and ready."""
    options = spec.read(OPTIONS)
    loaded = _weights.load(spec, "AutoModelForCausalLM", Loading.of(options))
    return around(loaded, spec)


def around(loaded: _weights.Loaded, spec: ModelSpec) -> CausalModel:
    """The model around weights that are in memory."""
    _fuse_activations(loaded.model)
    return CausalModel(loaded, spec)


def _fuse_activations(model: Any) -> None:
    """Compute GPT-2's GELU in one kernel: the same function, rounded once instead of after each of eight steps."""
    import torch
    from transformers.activations import NewGELUActivation

    for parent in list(model.modules()):
        for name, module in parent.named_children():
            if type(module) is NewGELUActivation:
                setattr(parent, name, torch.nn.GELU(approximate="tanh"))


def _bos_id(tokenizer: Any, policy: str, spec: ModelSpec) -> int | None:
    if policy == "no":
        return None
    if policy in ("auto", "yes"):
        bos: int | None = tokenizer.bos_token_id
        if bos is None and policy == "yes":
            raise ModelError(f"{spec}: bos=yes, but the tokenizer has no BOS token. Use bos=no, or name a token")
        return bos
    index: int = tokenizer.convert_tokens_to_ids(policy)
    if index is None or (index == tokenizer.unk_token_id and policy != tokenizer.unk_token):
        raise ModelError(f"{spec}: bos={policy}: the tokenizer has no such token")
    return index


def _compare_with_default(tokenizer: Any, bos: int | None) -> None:
    """Warn where a text begins otherwise than by the tokenizer's default, which most other programs use."""
    default = Frame.of(tokenizer.backend_tokenizer).before
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


def _signed(options: Mapping[str, Any], dtype: str, *, marked: bool) -> dict[str, str]:
    """The options that change an answer, where texts begin with a BOS token and where they do not."""
    return {
        "dtype": dtype,
        "bos": options["bos"].replace("auto", "yes") if marked else "no",
        **({"boundary": options["boundary"]} if options["boundary"] != "no" else {}),
        **signed(options),
    }


def _is_marked(folder: Folder, policy: str) -> bool | None:
    """Whether texts will begin with a BOS token; None where only the tokenizer tells."""
    if policy != "auto":
        return policy != "no"
    settings = folder.settings("tokenizer_config.json")
    if settings.get("bos_token") is not None:
        return True
    # Classes of one model may have a BOS token by themselves; these have none but what the files say.
    generic = settings.get("tokenizer_class") in GENERIC
    return False if generic and "bos_token" not in folder.settings("special_tokens_map.json") else None


def _chunk(model: Any) -> int:
    """Requests for a few seconds' work, guessed from the number of parameters."""
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    rate, least, most = (4e6, 512, 65536) if device_of(model).type == "cuda" else (6e4, 32, 8192)
    return int(min(most, max(least, rate / max(millions, 1.0))))
