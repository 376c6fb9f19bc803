"""A model as Python asks it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, overload

from wug.arguments import members, public
from wug.errors import InputError, ModelError
from wug.evaluation import model_patterns
from wug.evaluation.handle import ModelHandle
from wug.evaluation.opening import open_loaded, open_model
from wug.files import refuse_surrogates
from wug.texts.surprisals import can_score_sources
from wug.types import Answer, Generator, Reading, Request, Scored, Scorer

KINDS = "a name such as 'causal:gpt2', a folder, or a loaded model of transformers"


class LoadedModel(Protocol):
    """A model of transformers that is loaded."""

    config: Any

    def eval(self) -> Any:
        """Switch to inference."""


AnyModel: TypeAlias = "str | Path | Model | Scorer | Generator | LoadedModel"
"""What stands for a model: its name or folder, an open one, one of your own class, or a loaded one."""


@members(public)
class Model:
    """A model, ready to be asked; loaded when it is first needed."""

    __slots__ = ("opened",)

    def __init__(self, opened: ModelHandle) -> None:
        if not isinstance(opened, ModelHandle):
            raise InputError("wug.open_model(…) opens a model")
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
        if self.opened.returns != "scores":
            also = ", or open it with score='source'" if can_score_sources(self.id) else ""
            raise ModelError(f"{self.id} writes text and gives no scores. Ask it with generate(){also}")
        if isinstance(texts, (str, Request)):
            (scored,) = self.opened.score([self._request(texts, 0)])
            answer: Scored = scored
            return answer
        return list(self.opened.score([self._request(text, place) for place, text in enumerate(_several(texts))]))

    @overload
    def generate(self, sources: str) -> Answer: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, sources: Iterable[str]) -> list[Answer]: ...
    def generate(self, sources: str | Iterable[str]) -> Answer | list[Answer]:
        """What the model writes for a source; for several, a list, in order."""
        if self.opened.returns != "text":
            raise ModelError(f"{self.id} scores text and writes none. Ask it with score()")
        several = [sources] if isinstance(sources, str) else _several(sources)
        asked = [_text(one, place) for place, one in enumerate(several)]
        found = [Answer(one) if isinstance(one, str) else one for one in self.opened.generate(asked)]
        return found[0] if isinstance(sources, str) else found

    def _request(self, text: Any, place: int) -> Request:
        if not isinstance(text, Request):
            return Request(_text(text, place))
        _text(text.text, place)
        if text.span is not None and not _is_span(text.span, len(text.text)):
            raise InputError(
                f"span={text.span!r}: write the first character and the one behind the last, within the "
                f"{len(text.text):,} of the text",
                place=f"texts[{place}]",
            )
        if text.reading is not None and not isinstance(text.reading, Reading):
            raise InputError(f"reading={text.reading!r}: write wug.types.Reading(…)", place=f"texts[{place}]")
        if text.source is not None and self.options.get("score") != "source":
            raise ModelError(
                f"{self.id} reads no sources. They are for encoder–decoders that are opened with score=source"
            )
        return text

    def __repr__(self) -> str:
        return f"<Model {self.id}: {'scores' if self.opened.returns == 'scores' else 'writes'} text>"


def models_of(given: Any) -> list[Model]:
    """The models that are named, loaded or opened already, one or several; patterns and lists stand for several."""
    several = given if isinstance(given, (list, tuple)) or _is_lazy(given) else [given]
    named = ([str(one)] if isinstance(one, (str, Path)) else one for one in several)
    every = (model_patterns.expand(one) if isinstance(one, list) else [one] for one in named)
    models = [model_of(one.text if isinstance(one, model_patterns.Named) else one) for some in every for one in some]
    if not models:
        raise InputError(f"there is no model. Give {KINDS}, or a list of them")
    return models


def model_of(given: object, tokenizer: object = None, options: Mapping[str, str] | None = None) -> Model:
    """The model that is named, loaded, or opened already."""
    if isinstance(tokenizer, Mapping):
        raise InputError("the second argument is the tokenizer: write options={…}, or each option as a keyword")
    if isinstance(given, (Model, ModelHandle)):
        if tokenizer is not None or options:
            raise InputError("the model is opened already: give its options where it is opened")
        return given if isinstance(given, Model) else Model(given)
    if isinstance(given, (str, Path)):
        if tokenizer is not None:
            raise InputError(f"{str(given)!r} brings its tokenizer along: tokenizer= is for a model that is loaded")
        if model_patterns.is_pattern(str(given)):
            raise InputError(f"{str(given)!r} stands for several models: wug.run and wug.surprisal take such names")
        if isinstance(given, Path) and not given.expanduser().exists():
            raise InputError("no such folder", file=given)
        return Model(open_model(str(given), options))
    if "torch" in sys.modules and isinstance(given, sys.modules["torch"].nn.Module):
        if tokenizer is not None and not hasattr(tokenizer, "get_vocab"):
            raise InputError(
                f"tokenizer={_shown(tokenizer)}: give one of transformers, AutoTokenizer.from_pretrained(…)"
            )
        return Model(open_loaded(given, tokenizer, options))
    if hasattr(given, "id") and (hasattr(given, "score") or hasattr(given, "generate")):
        return Model(ModelHandle.around(given))  # of a class of the user's own
    raise InputError(f"{_shown(given)} is not a model. Give {KINDS}")


def _is_lazy(given: object) -> bool:
    """Whether models come one after the other, from a generator or a column."""
    named = isinstance(given, (str, Path, Mapping)) or hasattr(given, "score") or hasattr(given, "forward")
    return isinstance(given, Iterable) and not named


def _several(texts: Any) -> Iterable[Any]:
    if isinstance(texts, (bytes, Mapping)) or not isinstance(texts, Iterable):
        raise InputError(f"texts must be str or a list of str, not {type(texts).__name__}")
    return texts


def _is_span(span: Any, length: int) -> bool:
    is_pair = isinstance(span, (tuple, list)) and len(span) == 2 and all(isinstance(place, int) for place in span)
    return is_pair and 0 <= span[0] <= span[1] <= length


def _text(text: Any, place: int) -> str:
    if not isinstance(text, str):
        raise InputError(f"texts[{place}] must be str, not {type(text).__name__}")
    return refuse_surrogates(text, f"texts[{place}]")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"a {type(value).__name__}"
