"""A model as Python asks it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, overload

from wug.errors import InputError, ModelError
from wug.runs.loaded import open_loaded
from wug.runs.opening import Opened, open_model
from wug.texts.surprisals import can_score_sources
from wug.types import Answer, Request, Scored

KINDS = "a name such as 'causal:gpt2', a folder, or a loaded model of transformers"


class Model:
    """A model, ready to be asked; loaded when it is first needed."""

    __slots__ = ("opened",)

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        """As the rest of wug knows it."""

    @property
    def id(self) -> str:
        """Kind, name and fingerprint: `causal/gpt2@607a30d`."""
        return str(self.opened.id)

    @property
    def options(self) -> Mapping[str, str]:
        """Every option that changes an answer."""
        return dict(self.opened.options)

    @overload
    def score(self, texts: str | Request) -> Scored: ...  # type: ignore[overload-overlap]
    @overload
    def score(self, texts: Iterable[str | Request]) -> list[Scored]: ...
    def score(self, texts: str | Request | Iterable[str | Request]) -> Scored | list[Scored]:
        """The log-probability of every token of a text; of several texts, a list, in order."""
        if self.opened.can != "scorer" and not callable(getattr(self.opened, "score", None)):
            also = ", or open it with score='source'" if can_score_sources(self.id) else ""
            raise ModelError(f"{self.id} writes text and gives no scores. Ask it with generate(){also}")
        if isinstance(texts, (str, Request)):
            (scored,) = self.opened.score([self._request(texts, 0)])
            answer: Scored = scored
            return answer
        return list(self.opened.score([self._request(text, place) for place, text in enumerate(texts)]))

    @overload
    def generate(self, sources: str) -> Answer: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, sources: Iterable[str]) -> list[Answer]: ...
    def generate(self, sources: str | Iterable[str]) -> Answer | list[Answer]:
        """What the model writes for a source; for several, a list, in order."""
        if self.opened.can != "generator":
            raise ModelError(f"{self.id} scores text and writes none. Ask it with score()")
        asked = [sources] if isinstance(sources, str) else [_text(one, place) for place, one in enumerate(sources)]
        found = [Answer(one) if isinstance(one, str) else one for one in self.opened.generate(asked)]
        return found[0] if isinstance(sources, str) else found

    def _request(self, text: Any, place: int) -> Request:
        if not isinstance(text, Request):
            return Request(_text(text, place))
        if text.source is not None and self.options.get("score") != "source":
            raise ModelError(
                f"{self.id} reads no sources. They are for encoder–decoders that are opened with score=source"
            )
        return text

    def __repr__(self) -> str:
        return f"<Model {self.id}: {'scores' if self.opened.can == 'scorer' else 'writes'} text>"


def model_of(given: object, tokenizer: object = None, options: Mapping[str, str] | None = None) -> Model:
    """The model that is named, loaded, or opened already."""
    if isinstance(given, (Model, Opened)):
        if tokenizer is not None or options:
            raise InputError("the model is opened already: give its options where it is opened")
        return given if isinstance(given, Model) else Model(given)
    if isinstance(given, (str, Path)):
        if tokenizer is not None:
            raise InputError(f"{str(given)!r} brings its tokenizer along: tokenizer= is for a model that is loaded")
        return Model(open_model(str(given), options))
    if "torch" in sys.modules and isinstance(given, sys.modules["torch"].nn.Module):
        return Model(open_loaded(given, tokenizer, options))
    if hasattr(given, "id") and (hasattr(given, "score") or hasattr(given, "generate")):
        return Model(Opened(given))  # of a class of the user's own
    raise InputError(f"{_shown(given)} is no model. Give {KINDS}")


def _text(text: Any, place: int) -> str:
    if not isinstance(text, str):
        raise InputError(f"text {place} is no text but {_shown(text)}")
    return text


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) < 60 else type(value).__name__} (a {type(value).__name__})"
