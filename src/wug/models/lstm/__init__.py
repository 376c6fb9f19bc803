"""Word-level LSTM language models: `lstm:folder`, or as Gulordava et al. (2018) have them, `lstm:model.pt?vocab=…`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wug.arrays import Floats, Ints
from wug.errors import InputError, ModelError, needs_extra
from wug.files import read_object, user_path
from wug.models.hardware import is_out_of_memory, pick_device
from wug.models.lstm.weights import (
    CONFIG,
    VOCABULARY,
    WEIGHTS,
    LstmConfig,
    Weights,
    fingerprint,
    load_weights,
    read_shape,
    require_fit,
)
from wug.models.spec import DEVICE, DTYPE, EOS, FLOATS, Identity, ModelSpec
from wug.models.tokenization.ragged import Ragged
from wug.models.tokenization.words import (
    SPLITTINGS,
    UNKNOWN,
    Vocabulary,
    WordIds,
    alternatives,
    read_words,
    scored_tokens,
    to_word_ids,
)  # fmt: skip
from wug.models.weights.fingerprints import unchanged
from wug.options import Option
from wug.requests import Request
from wug.scores import Scores, texts_of
from wug.traits import BackendTraits

if TYPE_CHECKING:
    from wug.models.lstm.network import RecurrentNetwork

TRAITS = BackendTraits(architectures=("WordLSTM",), suffixes=(".pt",), uses_device=True)
STATES = ("fresh", "carry", "published")
OPTIONS = (
    Option(
        "vocab",
        Path,
        None,
        "the vocabulary, one word per line in the order of the embeddings; default: vocab.txt of a folder",
    ),
    Option(
        "words", SPLITTINGS, None, "how texts are split into words; default: a folder's setting, and spaces for a file"
    ),
    Option(
        "state",
        STATES,
        "fresh",
        "each text begins after <eos> with the zero state (fresh), or the state continues over the whole list (carry) "
        "or over the .text file of a table of pairs (published)",
    ),
    EOS,
    Option("lowercase", bool, None, "look words up in lower case; default: a folder's setting, and no for a file"),
    replace(DTYPE, type=FLOATS, help="dtype of weights and arithmetic"),
    DEVICE,
)

END = "<eos>"
TEXTS_PER_TREE = 4096
WHOLE_LIST = 1 << 40


class WordLSTM:
    """A word-level recurrent language model that scores texts."""

    def __init__(
        self, spec: ModelSpec, name: str, network: RecurrentNetwork, vocabulary: Vocabulary, options: Mapping[str, Any]
    ) -> None:
        self._spec, self._state, self._adds_end = spec, options["state"], options["eos"]
        self._network, self._vocabulary = network, vocabulary
        self.id = name
        self.options: Mapping[str, str] = _signature(options, vocabulary)
        self.ordered = self._state != "fresh"
        self.chunk = WHOLE_LIST if self.ordered else _chunk(network)
        self.training_context = None if self.ordered else _training_context(_path(spec))

    def score(self, requests: Sequence[Request]) -> Scores:
        """One output per request, in order, in nats; with a carried state, every call starts from zero."""
        import torch

        words = [to_word_ids(request, self._vocabulary, end=self._adds_end) for request in requests]
        try:
            with torch.inference_mode():
                blocks = self._carried(requests, words) if self.ordered else self._fresh(requests, words)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            raise ModelError(f"{self._spec}: out of memory. Use another --device, or -M dtype=bfloat16") from error
        columns = np.concatenate([np.empty((3 if _wants_distribution(requests) else 1, 0)), *blocks], axis=1)
        scores = scored_tokens(requests, words, self._vocabulary).scores(texts_of(requests), columns)
        extras = {n: extra for n, extra in scores.extras.items() if _wants_distribution(requests[n : n + 1])}
        return replace(scores, extras=extras)

    def _fresh(self, requests: Sequence[Request], words: Sequence[WordIds]) -> list[Floats]:
        from wug.models.lstm.network import walk_tree

        results: list[Floats] = [np.empty(0)] * len(requests)
        # Texts that share a beginning are in the same tree.
        order = sorted(range(len(requests)), key=[request.text for request in requests].__getitem__)
        for first in range(0, len(order), TEXTS_PER_TREE):
            indices = order[first : first + TEXTS_PER_TREE]
            texts = Ragged.of([words[index].ids[: words[index].scored] for index in indices])
            sequences = texts.with_first(self._end)
            values = walk_tree(self._network, sequences, distribution=_wants_distribution(requests))
            values = np.delete(values, sequences.starts, axis=1)
            for index, columns in zip(indices, np.split(values, texts.starts[1:], axis=1), strict=True):
                results[index] = columns
        return results

    def _carried(self, requests: Sequence[Request], words: Sequence[WordIds]) -> list[Floats]:
        from wug.models.lstm.network import Passage, walk_list

        turns = alternatives(requests)
        texts = [[_as_array(words[index].ids[: words[index].scored]) for index in turn] for turn in turns]
        if self._state == "published":
            passages = [
                Passage(*self._published(requests[turn[0]], turn_texts))
                for turn, turn_texts in zip(turns, texts, strict=True)
            ]
            return walk_list(self._network, passages, _as_array([]), distribution=_wants_distribution(requests))
        # The text continues from the first of a turn, with <eos> after it.
        first_texts = [words[turn[0]] for turn in turns]
        ids = [_as_array(text.ids if text.has_end else [*text.ids, self._end]) for text in first_texts]
        passages = [Passage(text, turn_texts, _as_array([])) for text, turn_texts in zip(ids, texts, strict=True)]
        return walk_list(self._network, passages, _as_array([self._end]), distribution=_wants_distribution(requests))

    def _published(self, request: Request, texts: Sequence[Ints]) -> tuple[Ints, Sequence[Ints], Ints]:
        """The passage of a turn in the text file of a suite, word for word."""
        turn = request.position
        if turn is None or turn.line is None:
            raise ModelError(
                f"{self._spec}: state=published continues from the sentences of the .text file of a table of pairs, "
                f"and {request.text!r} is not in such a file. Use -S target=word with a table that has one "
                "(`wug check` reports if it does not fit), or use state=carry"
            )
        line_ids, preceding_ids = (
            _as_array(to_word_ids(Request(text), self._vocabulary, end=False).ids)
            for text in (turn.line, " ".join(turn.before))
        )
        return line_ids, texts, preceding_ids

    @property
    def _end(self) -> int:
        return self._vocabulary.index[END]


def identify(spec: ModelSpec) -> Identity | None:
    """The model's identity, from its files; None if only loading tells, or if outputs depend on their order."""
    options = spec.read(OPTIONS)
    path = _path(spec)
    vocabulary_path = _vocabulary_path(path, options)
    needed = [path / CONFIG, path / WEIGHTS, vocabulary_path] if path.is_dir() else [path, vocabulary_path]
    if options["state"] != "fresh" or not all(file.is_file() for file in needed):
        return None
    shape, vocabulary = _config_and_vocabulary(path, options)
    return Identity(
        _name(path, None if shape is None else shape.kind, vocabulary),
        _signature(options, vocabulary),
        "scores",
        training_context=_training_context(path),
    )


def load(spec: ModelSpec) -> WordLSTM:
    """Load a word LSTM from a folder or a file."""
    options = spec.read(OPTIONS)
    path = _path(spec)
    if not path.exists():
        raise InputError("no such file or folder", file=path)
    if not path.is_dir() and options["vocab"] is None:
        raise InputError(f"{spec} needs its vocabulary, one word per line: {spec}?vocab=FILE, or -M vocab=FILE")
    with needs_extra("an lstm model", "hf"):
        from wug.models.lstm.network import RecurrentNetwork

    device = pick_device(options["device"])
    with unchanged(path):
        weights, vocabulary = _load(path, options)
        network = RecurrentNetwork(weights, device=device, dtype=options["dtype"])
        return WordLSTM(spec, _name(path, weights.kind, vocabulary), network, vocabulary, options)


def read_vocabulary(path: Path, *, lowercase: bool = False, words: str = "spaces") -> Vocabulary:
    """The words of a file, one per line."""
    names, index = read_words(path)
    if END not in index:
        raise InputError(f"has no {END}, which opens and closes every sentence of a word LSTM", file=path)
    return Vocabulary(names, index, index.get(UNKNOWN), index[END], lowercase, words)


def _load(path: Path, options: Mapping[str, Any]) -> tuple[Weights, Vocabulary]:
    shape, vocabulary = _config_and_vocabulary(path, options)
    if shape is None:
        weights = load_weights(path)
    else:
        weights = load_weights(path / WEIGHTS, shape.kind)
        require_fit(path, shape, weights)
    if weights.words != len(vocabulary.names):
        raise ModelError(
            f"{path} has {weights.words:,} words and {_vocabulary_path(path, options)} has {len(vocabulary.names):,}: "
            "this is another model's vocabulary"
        )
    return weights, vocabulary


def _config_and_vocabulary(path: Path, options: Mapping[str, Any]) -> tuple[LstmConfig | None, Vocabulary]:
    """The configuration and the vocabulary; options override the folder's settings."""
    shape = read_shape(path / CONFIG) if path.is_dir() else None
    lowercase, words = (False, SPLITTINGS[0]) if shape is None else (shape.lowercase, shape.words)
    if options["lowercase"] is not None:
        lowercase = options["lowercase"]
    vocabulary = read_vocabulary(_vocabulary_path(path, options), lowercase=lowercase, words=options["words"] or words)
    return shape, vocabulary


def _training_context(path: Path) -> str | None:
    return read_object(path / CONFIG).get("training_context") if path.is_dir() else None


def _path(spec: ModelSpec) -> Path:
    # An @ in a path does not start a revision.
    return user_path(spec.name if spec.revision is None else f"{spec.name}@{spec.revision}")


def _vocabulary_path(path: Path, options: Mapping[str, Any]) -> Path:
    return Path(options["vocab"] or path / VOCABULARY)


def _name(path: Path, kind: str | None, vocabulary: Vocabulary) -> str:
    if not path.is_dir():
        return f"lstm/{path.name}@{fingerprint(path, vocabulary.names)}"
    # The weights of simple RNNs do not tell their kind.
    kind_suffix = [kind] if kind is not None and kind.startswith("RNN_") else []
    return f"lstm/{path.resolve().name}@{fingerprint(path / WEIGHTS, vocabulary.names, *kind_suffix)}"


def _signature(options: Mapping[str, Any], vocabulary: Vocabulary) -> dict[str, str]:
    return {
        "dtype": options["dtype"],
        "state": options["state"],
        "eos": "yes" if options["eos"] else "no",
        **({"lowercase": "yes"} if vocabulary.lowercase else {}),
        **({"words": vocabulary.words} if vocabulary.words != "spaces" else {}),
    }


def _wants_distribution(requests: Sequence[Request]) -> bool:
    return any(request.scoring is not None and request.scoring.distribution for request in requests)


def _as_array(ids: Sequence[int]) -> Ints:
    return np.array(ids, dtype=np.int64)


def _chunk(network: RecurrentNetwork) -> int:
    """Requests for a few seconds of work, estimated from the size of the output layer."""
    rate = 1e13 if network.device.type == "cuda" else 1e11
    return int(min(65536, max(64, rate * 3 / (20 * network.words * network.output))))
