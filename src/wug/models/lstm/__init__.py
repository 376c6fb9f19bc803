"""Word-level LSTM language models: `lstm:folder`, or as Gulordava et al. (2018) have them, `lstm:model.pt?vocab=…`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wug.errors import InputError, MissingExtra, ModelError
from wug.files import user_path
from wug.models._fingerprint import unchanged
from wug.models._hardware import pick_device, ran_out
from wug.models._options import DEVICE, DTYPE, EOS, FLOATS
from wug.models._ragged import Ints, Ragged
from wug.models._spec import Identity, ModelSpec
from wug.models._words import (
    SPLITTINGS,
    UNKNOWN,
    Vocabulary,
    Worded,
    alternatives,
    answer,
    read_words,
    worded,
)  # fmt: skip
from wug.models.lstm.folder import (
    CONFIG,
    VOCABULARY,
    WEIGHTS,
    Shape,
    fingerprint,
    read_config,
    read_shape,
    require_fit,
)
from wug.models.lstm.network import Floats, Network
from wug.models.lstm.walk import Passage, walk_list, walk_tree
from wug.models.lstm.weights import Weights, load_weights
from wug.options import Option
from wug.types import Request, Scored, Traits

TRAITS = Traits(architectures=("WordLSTM",), suffixes=(".pt",), uses_device=True)
STATES = ("fresh", "carry", "published")
OPTIONS = (
    Option(
        "vocab",
        Path,
        None,
        "the words that the model knows, one a line in the order of its embeddings; a folder has it in vocab.txt",
    ),
    Option("words", SPLITTINGS, None, "what parts words; by default what a folder says, and spaces for a file"),
    Option(
        "state",
        STATES,
        "fresh",
        "each text begins after <eos> with a state of zeros (fresh), or the state goes on over the whole list (carry) "
        "or over the .text file beside a table of pairs (published)",
    ),
    EOS,
    Option("lowercase", bool, None, "look words up in lower case; by default what a folder says, and no for a file"),
    replace(DTYPE, type=FLOATS, help="the number format of weights and arithmetic"),
    DEVICE,
)

END = "<eos>"
PIECE = 4096
"""Texts in a tree: bounds the memory of a level."""
WHOLE_LIST = 1 << 40


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked of the network."""

    state: str
    """One of STATES."""
    eos: bool
    dtype: str


class WordLSTM:
    """A word-level recurrent language model that scores texts."""

    __slots__ = (
        "_network",
        "_settings",
        "_spec",
        "_vocabulary",
        "chunk",
        "id",
        "options",
        "ordered",
        "training_context",
    )

    def __init__(
        self, spec: ModelSpec, name: str, network: Network, vocabulary: Vocabulary, settings: Settings
    ) -> None:
        self._spec, self._network, self._vocabulary, self._settings = spec, network, vocabulary, settings
        self.id = name
        self.options: Mapping[str, str] = _signed(settings, vocabulary)
        self.ordered = settings.state != "fresh"
        self.chunk = WHOLE_LIST if self.ordered else _chunk(network)
        self.training_context = None if self.ordered else _training_context(_path(spec))

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order, in natural logarithms.

        With a carried state, every call begins anew: what was asked before does not matter.
        """
        import torch

        words = [worded(request, self._vocabulary, end=self._settings.eos) for request in requests]
        try:
            with torch.inference_mode():
                found = self._carried(requests, words) if self.ordered else self._fresh(requests, words)
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise
            raise ModelError(f"{self._spec}: out of memory. Use another --device, or -M dtype=bfloat16") from error
        return [
            _answer(request, text, columns, self._vocabulary)
            for request, text, columns in zip(requests, words, found, strict=True)
        ]

    def _fresh(self, requests: Sequence[Request], words: Sequence[Worded]) -> list[Floats]:
        found: list[Floats] = [np.empty(0)] * len(requests)
        # Texts that begin alike come into the same tree.
        order = sorted(range(len(requests)), key=[request.text for request in requests].__getitem__)
        for first in range(0, len(order), PIECE):
            places = order[first : first + PIECE]
            texts = Ragged.of([words[place].ids[: words[place].asked] for place in places])
            sequences = texts.led_by(self._end)
            values = walk_tree(self._network, sequences, distribution=_tells(requests))
            values = np.delete(values, sequences.starts, axis=1)
            for place, columns in zip(places, np.split(values, texts.starts[1:], axis=1), strict=True):
                found[place] = columns
        return found

    def _carried(self, requests: Sequence[Request], words: Sequence[Worded]) -> list[Floats]:
        turns = alternatives(requests)
        asked = [[_numbers(words[place].ids[: words[place].asked]) for place in turn] for turn in turns]
        if self._settings.state == "published":
            found = [self._published(requests[turn[0]], texts) for turn, texts in zip(turns, asked, strict=True)]
            return walk_list(self._network, found, _numbers([]), distribution=_tells(requests))
        # The text goes on from the first of a turn, with <eos> after it.
        read = [words[turn[0]] for turn in turns]
        ids = [_numbers(text.ids if text.closed else [*text.ids, self._end]) for text in read]
        found = [Passage(text, others, _numbers([])) for text, others in zip(ids, asked, strict=True)]
        return walk_list(self._network, found, _numbers([self._end]), distribution=_tells(requests))

    def _published(self, request: Request, asked: Sequence[Ints]) -> Passage:
        """What stands at a turn in the text that goes with a suite, word for word: nothing is added."""
        turn = request.turn
        if turn is None or turn.line is None:
            raise ModelError(
                f"{self._spec}: state=published goes on from the sentences of the .text file beside a table of pairs, "
                f"and {request.text!r} has no place in such a file. Ask with -S target=word about a table that has "
                "one (`wug check` says where it does not fit), or use state=carry"
            )
        read, before = (self._ids(line) for line in (turn.line, " ".join(turn.before)))
        return Passage(read, asked, before)

    def _ids(self, text: str) -> Ints:
        return _numbers(worded(Request(text), self._vocabulary, end=False).ids)

    @property
    def _end(self) -> int:
        return self._vocabulary.index[END]


def identify(spec: ModelSpec) -> Identity | None:
    """What the model will be, told from its files; None where only loading tells, or where no answer can be kept."""
    options = spec.read(OPTIONS)
    path, settings = _path(spec), Settings(options["state"], options["eos"], options["dtype"])
    listed = _listed(path, options)
    needed = [path / CONFIG, path / WEIGHTS, listed] if path.is_dir() else [path, listed]
    if settings.state != "fresh" or not all(file.is_file() for file in needed):
        return None
    shape, vocabulary = _described(path, options)
    return Identity(
        _name(path, None if shape is None else shape.kind, vocabulary),
        _signed(settings, vocabulary),
        "scores",
        training_context=_training_context(path),
    )


def load(spec: ModelSpec) -> WordLSTM:
    """The model that `spec` names, checked and ready."""
    options = spec.read(OPTIONS)
    path = _path(spec)
    if not path.exists():
        raise InputError("no such file or folder", file=path)
    if not path.is_dir() and options["vocab"] is None:
        raise InputError(f"{spec} needs its vocabulary, one word a line: {spec}?vocab=FILE, or -M vocab=FILE")
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("an lstm model", "hf") from None

    settings, device = Settings(options["state"], options["eos"], options["dtype"]), pick_device(options["device"])
    with unchanged(path):
        weights, vocabulary = _opened(path, options)
        network = Network(weights, device=device, dtype=settings.dtype)
        return WordLSTM(spec, _name(path, weights.kind, vocabulary), network, vocabulary, settings)


def read_vocabulary(path: Path, *, lowercase: bool = False, words: str = "spaces") -> Vocabulary:
    """The words of a file, one a line, numbered in their order."""
    names, index = read_words(path)
    if END not in index:
        raise InputError(f"has no {END}, which opens and closes every sentence of a word LSTM", file=path)
    return Vocabulary(names, index, index.get(UNKNOWN), index[END], lowercase, words)


def _opened(path: Path, options: Mapping[str, Any]) -> tuple[Weights, Vocabulary]:
    """What a folder or a file has, and the words that go with it."""
    shape, vocabulary = _described(path, options)
    if shape is None:
        weights = load_weights(path)
    else:
        weights = load_weights(path / WEIGHTS, shape.kind)
        require_fit(path, shape, weights)
    if weights.words != len(vocabulary.names):
        raise ModelError(
            f"{path} has {weights.words:,} words and {_listed(path, options)} has {len(vocabulary.names):,}: "
            "this is another model's vocabulary"
        )
    return weights, vocabulary


def _described(path: Path, options: Mapping[str, Any]) -> tuple[Shape | None, Vocabulary]:
    """What there is to know beside the weights; options win over what a folder says."""
    shape = read_shape(path / CONFIG) if path.is_dir() else None
    lowercase, words = (False, SPLITTINGS[0]) if shape is None else (shape.lowercase, shape.words)
    if options["lowercase"] is not None:
        lowercase = options["lowercase"]
    vocabulary = read_vocabulary(_listed(path, options), lowercase=lowercase, words=options["words"] or words)
    return shape, vocabulary


def _training_context(path: Path) -> str | None:
    return read_config(path / CONFIG).get("training_context") if path.is_dir() else None


def _path(spec: ModelSpec) -> Path:
    # An @ in a path is no revision.
    return user_path(spec.name if spec.revision is None else f"{spec.name}@{spec.revision}")


def _listed(path: Path, options: Mapping[str, Any]) -> Path:
    """Where the words of the model stand; a file has none beside it unless an option says where."""
    listed: Path = options["vocab"] or path / VOCABULARY
    return listed


def _name(path: Path, kind: str | None, vocabulary: Vocabulary) -> str:
    if not path.is_dir():
        return f"lstm/{path.name}@{fingerprint(path, vocabulary.names)}"
    # The weights of simple RNNs do not say their kind.
    more = [kind] if kind is not None and kind.startswith("RNN_") else []
    return f"lstm/{path.resolve().name}@{fingerprint(path / WEIGHTS, vocabulary.names, *more)}"


def _signed(settings: Settings, vocabulary: Vocabulary) -> dict[str, str]:
    """The options that change an answer."""
    return {
        "dtype": settings.dtype,
        "state": settings.state,
        "eos": "yes" if settings.eos else "no",
        **({"lowercase": "yes"} if vocabulary.lowercase else {}),
        **({"words": vocabulary.words} if vocabulary.words != "spaces" else {}),
    }


def _tells(requests: Sequence[Request]) -> bool:
    """Whether any of the requests wants entropies and ranks."""
    return any(request.reading is not None and request.reading.distribution for request in requests)


def _answer(request: Request, words: Worded, columns: Floats, vocabulary: Vocabulary) -> Scored:
    """The answer to a request, with entropies and ranks where it wants them."""
    logprobs, *more = ([None if math.isnan(value) else value for value in column] for column in columns.tolist())
    scored = answer(request, words, logprobs, vocabulary)
    if not more or request.reading is None or not request.reading.distribution:
        return scored
    entropies, ranks = more
    return replace(
        scored, entropies=tuple(entropies), ranks=tuple(None if rank is None else int(rank) for rank in ranks)
    )


def _numbers(ids: Sequence[int]) -> Ints:
    return np.array(ids, dtype=np.int64)


def _chunk(network: Network) -> int:
    """Requests for a few seconds' work: sentences of ten words, by the size of the output layer."""
    rate = 1e13 if network.device.type == "cuda" else 1e11
    return int(min(65536, max(64, rate * 3 / (20 * network.words * network.output))))
