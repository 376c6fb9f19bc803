"""Causal language models of Hugging Face, by folder or hub name: `causal:gpt2`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from wug.errors import ModelError
from wug.models import _weights
from wug.models._fingerprint import Folder, folder_of
from wug.models._options import DEVICE, DTYPE, NODES, TRUST
from wug.models._ragged import Ragged
from wug.models._spec import Identity, ModelSpec
from wug.models._tokens import Tokenised, Tokeniser
from wug.models.causal.boundary import word_starts
from wug.models.causal.forward import Asked, Engine
from wug.models.causal.fused import fuse_activations
from wug.models.causal.tree import Batch
from wug.models.causal.trial import choose_engine, position_limit
from wug.options import Option
from wug.scores import Scores
from wug.types import Request

ANSWERS = "scores"
OPTIONS = (
    DTYPE,
    DEVICE,
    Option("bos", str, "auto", "prepend a start mark: auto (where the tokenizer has one), yes, no, or a token"),
    Option(
        "boundary",
        ("no", "yes", "published"),
        "no",
        "count the end of a word with that word (Pimentel & Meister 2024); published: as their released code does",
    ),
    Option("engine", ("auto", "tree", "plain"), "auto", "how texts are asked: as prefix trees, or each by itself"),
    NODES,
    TRUST,
)

PIECE = {"cpu": 4096, "cuda": 16384}
"""Requests tokenised and planned at a time: more where a batch holds more."""
GENERIC = ("TokenizersBackend", "PreTrainedTokenizerFast")
"""Classes of tokenizers that take everything from their files."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Requests with what the device needs to answer them."""

    requests: list[Request]
    tokens: Tokenised
    sequences: Ragged
    """The tokens with the start mark, if there is one."""
    batches: list[Batch]


class CausalModel:
    """A causal language model that scores texts."""

    __slots__ = ("_bos", "_cuts", "_engine", "_limit", "_spec", "_tokenise", "chunk", "id", "options", "ordered")

    def __init__(self, loaded: _weights.Loaded, spec: ModelSpec) -> None:
        options = spec.read(OPTIONS)
        self._spec = spec
        self._tokenise = Tokeniser(loaded.tokenizer)
        self._bos = _start_mark(loaded.tokenizer, options["bos"], spec)
        boundary: str = options["boundary"]
        self._limit = position_limit(loaded.model)
        self._engine: Engine = choose_engine(
            loaded.model,
            wanted=options["engine"],
            nodes=options["nodes"],
            word_starts=None
            if boundary == "no"
            else word_starts(loaded.tokenizer, spec, published=boundary == "published", marked=self._bos is not None),
        )
        self.id = f"causal/{loaded.name}@{loaded.fingerprint}"
        self.options = _signed(options, str(loaded.model.dtype).removeprefix("torch."), marked=self._bos is not None)
        # What comes after a span matters where the end of a word is asked for, or the length of the whole text.
        self._cuts = boundary == "no" and self._engine.ways.together is None
        self.chunk = self._engine.chunk
        self.ordered = False

    def score(self, requests: Sequence[Request]) -> Scores:
        """One answer for each request, in order, in natural logarithms."""
        # Sorted texts share beginnings with their neighbours; a duplicate costs nothing in a tree.
        order = sorted(range(len(requests)), key=[request.text for request in requests].__getitem__)
        blocks: list[Scores] = []
        under_way: list[tuple[Prepared, list[Asked]]] = []
        for prepared in self._prepare([requests[place] for place in order]):
            under_way.append((prepared, [self._engine.ask(batch) for batch in prepared.batches]))
            if len(under_way) > 1:
                blocks.append(self._assemble(*under_way.pop(0)))
        blocks += [self._assemble(prepared, asked) for prepared, asked in under_way]
        return Scores.join(blocks).take(np.argsort(order))

    def _prepare(self, requests: list[Request]) -> Iterator[Prepared]:
        """The requests, piece by piece, tokenised and planned: while a GPU works on the piece before.

        No thread is needed for that: asking a GPU returns at once, and a thread would only take turns with
        the one that feeds it.
        """
        source = iter(requests)
        size = PIECE.get(self._engine.device.type, PIECE["cpu"])
        while piece := list(islice(source, size)):
            tokens = self._tokenise(piece, cut=self._cuts)
            sequences = tokens.ids if self._bos is None else tokens.ids.led_by(self._bos)
            self._refuse_long(piece, sequences)
            yield Prepared(piece, tokens, sequences, self._engine.plan(sequences))

    def _refuse_long(self, piece: list[Request], sequences: Ragged) -> None:
        if self._limit is None or not len(sequences) or sequences.lengths.max() <= self._limit:
            return
        longest = int(sequences.lengths.argmax())
        raise ModelError(
            f"{self._spec}: a text of {sequences.lengths[longest]:,} tokens is longer than the model's context of "
            f"{self._limit:,}: {piece[longest].text[:60]!r}…"
        )

    def _assemble(self, prepared: Prepared, asked: list[Asked]) -> Scores:
        tokens, sequences = prepared.tokens, prepared.sequences
        values = self._engine.collect(asked, len(sequences.flat))
        if self._bos is not None:
            values = np.delete(values, sequences.starts)
        # Without a start mark nothing comes before the first token: it has no probability, and stays no number.
        return Scores(
            [request.text for request in prepared.requests],
            np.append(0, np.cumsum(tokens.ids.lengths)),
            tokens.starts.astype(np.int32),
            tokens.ends.astype(np.int32),
            values,
            tokens.pieces,
        )


def identify(spec: ModelSpec) -> Identity | None:
    """What the model will be, told from its files; None where only loading tells."""
    options = spec.read(OPTIONS)
    folder = folder_of(spec, options)
    marked = None if folder is None else _is_marked(folder, options["bos"])
    if folder is None or marked is None:
        return None
    return Identity(f"causal/{folder.name}", _signed(options, options["dtype"], marked=marked), "scores")


def load(spec: ModelSpec) -> CausalModel:
    """The model that `spec` names, checked and ready."""
    options = spec.read(OPTIONS)
    loaded = _weights.load(
        spec,
        "AutoModelForCausalLM",
        dtype=options["dtype"],
        device=_weights.pick_device(options["device"]),
        trust_remote_code=options["trust_remote_code"],
    )
    fuse_activations(loaded.model)
    return CausalModel(loaded, spec)


def _start_mark(tokenizer: Any, policy: str, spec: ModelSpec) -> int | None:
    if policy == "no":
        return None
    if policy in ("auto", "yes"):
        bos: int | None = tokenizer.bos_token_id
        if bos is None and policy == "yes":
            raise ModelError(f"{spec}: bos=yes, but the tokenizer has no start mark. Use bos=no, or name a token")
        return bos
    index: int = tokenizer.convert_tokens_to_ids(policy)
    if index is None or (index == tokenizer.unk_token_id and policy != tokenizer.unk_token):
        raise ModelError(f"{spec}: bos={policy}: the tokenizer has no such token")
    return index


def _signed(options: Mapping[str, Any], dtype: str, *, marked: bool) -> dict[str, str]:
    """The options that change an answer, where texts begin with a start mark and where they do not."""
    return {
        "dtype": dtype,
        "bos": options["bos"].replace("auto", "yes") if marked else "no",
        **({"boundary": options["boundary"]} if options["boundary"] != "no" else {}),
    }


def _is_marked(folder: Folder, policy: str) -> bool | None:
    """Whether texts will begin with a start mark; None where only the tokenizer tells."""
    if policy != "auto":
        return policy != "no"
    settings = folder.settings("tokenizer_config.json")
    if settings.get("bos_token") is not None:
        return True
    # Classes of one model may have a start mark by themselves; these have none but what the files say.
    generic = settings.get("tokenizer_class") in GENERIC
    return False if generic and "bos_token" not in folder.settings("special_tokens_map.json") else None
