"""A model that is known by its files, and loaded at the first question that the cache cannot answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wug.errors import ModelError
from wug.models import Identity
from wug.types import Answer, Request, Scored, Source


class Deferred:
    """A model that is loaded when it is needed, and must then be what it was identified as."""

    ordered = False
    """Of a model whose answers depend on each other none is kept, and it is loaded at once."""

    def __init__(self, identity: Identity, load: Callable[[], Any]) -> None:
        self.id: str = identity.id
        self.options: Mapping[str, str] = identity.options
        self.bounded: bool = identity.bounded
        self.training_context: str | None = identity.training_context
        self._load = load
        self._model: Any = None
        self.failed = False
        """Whether it could not be loaded, or was another model then."""

    @property
    def is_loaded(self) -> bool:
        """Whether it was needed."""
        return self._model is not None

    @property
    def chunk(self) -> int:
        """How many questions it likes at a time; the files do not tell."""
        chunk: int = self.loaded().chunk
        return chunk

    def loaded(self) -> Any:
        """The model itself."""
        if self._model is None:
            self.failed = True
            model = self._load()
            before, after = (self.id, dict(self.options)), (model.id, dict(model.options))
            # Whoever asks again asks the model as it is; what is under way was begun with another.
            self._model, self.id, self.options = model, model.id, model.options
            self.failed = before != after
            if self.failed:
                raise ModelError(
                    f"{_described(*before)} is {_described(*after)} now that it is loaded: its files changed while "
                    "they were in use, or say other than the model does. Give the command again"
                )
        return self._model

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what Python itself asks for, of copies and the like
            raise AttributeError(name)
        return getattr(self.loaded(), name)


class DeferredScorer(Deferred):
    """A scorer that is loaded when it is needed."""

    def score(self, requests: Sequence[Request]) -> Sequence[Scored]:
        """One answer for each request, in order."""
        answers: Sequence[Scored] = self.loaded().score(requests)
        return answers


class DeferredGenerator(Deferred):
    """A generator that is loaded when it is needed."""

    def generate(self, sources: Sequence[str | Source]) -> Sequence[Answer | str]:
        """One answer for each source, in order."""
        answers: Sequence[Answer | str] = self.loaded().generate(sources)
        return answers


def defer(identity: Identity, load: Callable[[], Any]) -> DeferredScorer | DeferredGenerator:
    """The model that `load` gives, when it is needed."""
    return (DeferredScorer if identity.answers == "scores" else DeferredGenerator)(identity, load)


def _described(name: str, options: Mapping[str, str]) -> str:
    return ", ".join([name, *(f"{key}={value}" for key, value in options.items())])
