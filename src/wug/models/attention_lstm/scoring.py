"""Attention LSTMs that score texts as answers to a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from wug.errors import InputError
from wug.models._forced import Asker
from wug.models._given_source import Description, Limits, Line, SourceScorer
from wug.models._words import Vocabulary, names, split_words, worded
from wug.models.attention_lstm.folder import START, source_numbers
from wug.options import Option
from wug.types import Request

SCORE = Option("score", ("no", "source"), "no", "score texts as answers to a source instead of writing")


class Network:
    """The network as `Asker` asks it."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.device, self.dtype = model.output.bias.device, model.output.bias.dtype
        self.vocabulary: int = model.shape.vocabulary

    def read(self, sources: Any) -> Any:
        """What was read, and the state in which answers begin."""
        import torch

        with self._own_kernels():
            return self._model.read(sources, torch.ones_like(sources, dtype=torch.bool))

    def write(self, memory: Any, rows: Any, written: Any) -> Any:
        """What the output layer gets."""
        read, state = memory
        with self._own_kernels():
            return self._model.states(written, read.of(rows), state.of(rows))

    def logits(self, states: Any) -> Any:
        """Of all words."""
        return self._model.output(states)

    def _own_kernels(self) -> Any:
        import torch

        # cuDNN would compute float32 in TF32, with three digits: torch's own kernels do not.
        return torch.backends.cudnn.flags(enabled=False) if self.device.type == "cuda" else nullcontext()


@dataclass(frozen=True, slots=True)
class WordReader:
    """Words of a vocabulary, parted by white space."""

    vocabulary: Vocabulary
    eos: bool

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        """The words of sources by their numbers, and the end mark."""
        return [source_numbers(text, self.vocabulary) for text in texts]

    def lines(self, requests: Sequence[Request]) -> list[Line]:
        """The words of texts up to the ends of their spans."""
        found = []
        for request in requests:
            words = worded(request, self.vocabulary, end=self.eos)
            count = words.asked
            columns = (words.ids[:count], words.starts[:count], words.ends[:count])
            found.append(Line(*columns, names(request.text, words, self.vocabulary)))
        return found

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Where the words of each text begin and end."""
        return [split_words(text, self.vocabulary.words) for text in texts]


def scorer(name: str, model: Any, vocabulary: Vocabulary, options: Mapping[str, Any]) -> SourceScorer:
    """The model as a scorer."""
    network = Network(model)
    asker = Asker(network, options["batch"])
    chunk = 16384 if network.device.type == "cuda" else 1024
    known = Description(name, signed(options), chunk, [vocabulary.index[START]], Limits())
    return SourceScorer(known, WordReader(vocabulary, options["eos"]), asker, options["source"])


def signed(options: Mapping[str, Any]) -> dict[str, str]:
    """The options that change a score."""
    return {
        "dtype": options["dtype"],
        "score": options["score"],
        **({"source": options["source"]} if options["source"] else {}),
        "eos": "yes" if options["eos"] else "no",
    }


def refuse_idle(options: Mapping[str, Any]) -> None:
    """An error for options that say how to write where nothing is written, or how to score where nothing is scored."""
    idle: dict[str, Any] = {"max_length": None} if options["score"] == "source" else {"source": "", "eos": False}
    for name, nothing in idle.items():
        if options[name] != nothing:
            raise InputError(f"option {name} is of no use with score={options['score']}")
