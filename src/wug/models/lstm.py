"""Word-level LSTM language models, as Gulordava et al. (2018) trained them: `lstm:model.pt?vocab=vocab.txt`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wug.errors import InputError, MissingExtra, ModelError
from wug.files import checksum, read_lines
from wug.models._lstm_network import Floats, Network
from wug.models._lstm_walk import walk_list, walk_tree
from wug.models._ragged import Ragged
from wug.models._spec import ModelSpec
from wug.models._words import UNKNOWN, Vocabulary, Worded, alternatives, answer, worded, yes
from wug.types import Request, Scored

OPTIONS: Mapping[str, str] = {
    "vocab": "the words that the model knows, one a line in the order of its embeddings, with <eos> and <unk>",
    "state": "fresh (default: each text begins after <eos> with a state of zeros), or carry (over the whole list)",
    "eos": "yes: score the <eos> after a text as well; default no",
    "lowercase": "yes: look words up in lower case; default no",
    "dtype": "float32 (default), float64, bfloat16 or float16",
    "device": "cpu, cuda, cuda:1, mps; by default the best there is",
}

END = "<eos>"
DTYPES = ("float32", "float64", "bfloat16", "float16")
STATES = ("fresh", "carry")
PIECE = 4096
"""Texts in a tree: bounds the memory of a level."""
WHOLE_LIST = 1 << 40


@dataclass(frozen=True, slots=True)
class Settings:
    """What is asked of the network."""

    state: str
    """fresh or carry."""
    eos: bool
    dtype: str


class WordLSTM:
    """A word-level recurrent language model that scores texts."""

    __slots__ = ("_network", "_settings", "_spec", "_vocabulary", "chunk", "id", "options", "ordered")

    def __init__(
        self, spec: ModelSpec, name: str, network: Network, vocabulary: Vocabulary, settings: Settings
    ) -> None:
        self._spec, self._network, self._vocabulary, self._settings = spec, network, vocabulary, settings
        self.id = name
        self.options: Mapping[str, str] = {
            "dtype": settings.dtype,
            "state": settings.state,
            "eos": "yes" if settings.eos else "no",
            **({"lowercase": "yes"} if vocabulary.lowercase else {}),
        }
        self.ordered = settings.state == "carry"
        self.chunk = WHOLE_LIST if self.ordered else _chunk(network)

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order, in natural logarithms.

        With a carried state, every call begins anew: what was asked before does not matter.
        """
        import torch

        words = [worded(request, self._vocabulary, end=self._settings.eos) for request in requests]
        try:
            with torch.inference_mode():
                found = self._carried(requests, words) if self.ordered else self._fresh(requests, words)
        except torch.OutOfMemoryError as error:
            raise ModelError(f"{self._spec}: out of memory. Use another --device, or -M dtype=bfloat16") from error
        return [
            answer(request, one, values.tolist(), self._vocabulary)
            for request, one, values in zip(requests, words, found, strict=True)
        ]

    def _fresh(self, requests: Sequence[Request], words: Sequence[Worded]) -> list[Floats]:
        found: list[Floats] = [np.empty(0)] * len(requests)
        # Texts that begin alike come into the same tree.
        order = sorted(range(len(requests)), key=[request.text for request in requests].__getitem__)
        for first in range(0, len(order), PIECE):
            places = order[first : first + PIECE]
            texts = Ragged.of([words[place].ids[: words[place].asked] for place in places])
            sequences = texts.led_by(self._end)
            values = np.delete(walk_tree(self._network, sequences), sequences.starts)
            for place, own in zip(places, np.split(values, texts.starts[1:]), strict=True):
                found[place] = own
        return found

    def _carried(self, requests: Sequence[Request], words: Sequence[Worded]) -> list[Floats]:
        turns = [[words[place] for place in turn] for turn in alternatives(requests)]
        return walk_list(self._network, turns, self._end)

    @property
    def _end(self) -> int:
        return self._vocabulary.index[END]


def load(spec: ModelSpec) -> WordLSTM:
    """The model that `spec` names, checked and ready."""
    options = spec.checked(OPTIONS)
    dtype, state = options.get("dtype", "float32"), options.get("state", "fresh")
    for name, value, known in (("dtype", dtype, DTYPES), ("state", state, STATES)):
        if value not in known:
            raise InputError(f"option {name}={value!r} is not one of {', '.join(known)}")
    if "vocab" not in options:
        raise InputError(f"{spec} needs its vocabulary, one word a line: {spec}?vocab=FILE, or -M vocab=FILE")
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtra("an lstm model", "hf") from None
    from wug.models._lstm_weights import load_weights
    from wug.models._weights import pick_device

    # An @ in a path is no revision.
    path = Path(spec.name if spec.revision is None else f"{spec.name}@{spec.revision}").expanduser()
    words = Path(options["vocab"]).expanduser()
    vocabulary = read_vocabulary(words, lowercase=yes(options, "lowercase"))
    weights = load_weights(path)
    if weights.words != len(vocabulary.names):
        raise ModelError(
            f"{path} has {weights.words:,} words and {words} has {len(vocabulary.names):,}: "
            "this is another model's vocabulary"
        )
    network = Network(weights, device=pick_device(options.get("device")), dtype=dtype)
    name = f"lstm/{path.name}@{_fingerprint(path, vocabulary)}"
    return WordLSTM(spec, name, network, vocabulary, Settings(state, yes(options, "eos"), dtype))


def read_vocabulary(path: Path, *, lowercase: bool = False) -> Vocabulary:
    """The words of a file, one a line, numbered in their order."""
    names = [line.strip() for line in read_lines(path)]
    while names and not names[-1]:
        names.pop()
    index: dict[str, int] = {}
    for number, name in enumerate(names):
        fault = ""
        if len(name.split()) != 1:
            fault = f"expected one word, found {name!r}" if name else "is empty, but every line is a word"
        elif name in index:
            fault = f"{name!r} is there already, in line {index[name] + 1}"
        if fault:
            raise InputError(fault, file=path, place=f"line {number + 1}")
        index[name] = number
    if END not in index:
        raise InputError(f"has no {END}, which opens and closes every sentence of a word LSTM", file=path)
    return Vocabulary(names, index, index.get(UNKNOWN), index[END], lowercase)


def _fingerprint(path: Path, vocabulary: Vocabulary) -> str:
    with path.open("rb") as file:
        return checksum(hashlib.file_digest(file, "sha256").digest(), "\n".join(vocabulary.names))


def _chunk(network: Network) -> int:
    """Requests for a few seconds' work: sentences of ten words, by the size of the output layer."""
    rate = 1e13 if network.device.type == "cuda" else 1e11
    return int(min(65536, max(64, rate * 3 / (20 * network.words * network.hidden))))
