"""`wug.open_model`, `wug.Model` and `wug.surprisal`, and options as Python writes them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

from wug import registry
from wug.arguments import members, public, require_member
from wug.errors import InputError, ModelError
from wug.evaluation import models as model_names
from wug.evaluation.handle import ModelHandle
from wug.evaluation.service import opened_cache
from wug.files import refuse_surrogates, user_path
from wug.options import refuse_unknown, written
from wug.requests import Answer, Generator, Request, Scored, Scorer, TextScoring
from wug.tables import Table
from wug.texts.surprisals import can_score_sources

if TYPE_CHECKING:
    from wug.texts.surprisals import Unit, WordRule
    from wug.texts.text import Context

DEFAULT_SURPRISAL_MODEL = "wug-causal"
EXPECTED = "a name such as 'causal:gpt2', a folder, a loaded model of transformers, or a function"
Setting: TypeAlias = str | int | float | bool | Path | tuple[str, ...] | list[str] | None
"""The value of an option; None leaves it out."""


class LoadedModel(Protocol):
    """A loaded model of transformers."""

    config: Any

    def eval(self) -> object:
        """Switch to inference."""


class TextScorer(Protocol):
    """An object whose `score` returns log-probabilities of texts."""

    def score(self, texts: list[str], /) -> object:
        """One log-probability per text, or one `(start, end, logprob)` per token."""


class TextGenerator(Protocol):
    """An object whose `generate` returns texts."""

    def generate(self, sources: list[str], /) -> object:
        """One text per source."""


AnyModel: TypeAlias = (
    "str | Path | Model | Scorer | Generator | LoadedModel | TextScorer | TextGenerator | Callable[[list[str]], object]"
)
"""A name or folder, an open model, an object of your class, a loaded model, or a function of texts."""


@members(public)
class Model:
    """A model that scores or generates text; loaded when it is first used.

    Examples:
        >>> wug.open_model("wug-causal").score("The keys").text
        'The keys'
    """

    __slots__ = ("opened",)

    def __init__(self, opened: ModelHandle) -> None:
        if not isinstance(opened, ModelHandle):
            raise InputError("wug.open_model(…) opens a model")
        self.opened = opened
        """The handle that the run service uses."""

    if not TYPE_CHECKING:  # which sees an unknown attribute

        def __getattr__(self, name: str) -> object:
            require_member("a model", name)
            raise AttributeError(f"'Model' object has no attribute {name!r}")

    @property
    def id(self) -> str:
        """Kind, name and fingerprint: `causal/gpt2@607a30d`."""
        return str(self.opened.id)

    @property
    def options(self) -> Mapping[str, str]:
        """Every option that changes an output."""
        return dict(self.opened.options)

    @overload
    def score(self, texts: str | Request) -> Scored: ...  # type: ignore[overload-overlap]
    @overload
    def score(self, texts: Iterable[str | Request]) -> list[Scored]: ...
    def score(self, texts: str | Request | Iterable[str | Request]) -> Scored | list[Scored]:
        """The log-probability of every token of a text; a list for several texts."""
        if self.opened.returns != "scores":
            also = ", or open it with score='source'" if can_score_sources(self.id) else ""
            raise ModelError(f"{self.id} generates text and does not score it. Use generate(){also}")
        text_list = [texts] if isinstance(texts, (str, Request)) else _as_texts(texts)
        outputs = list(self.opened.score([self._request(text, index) for index, text in enumerate(text_list)]))
        return outputs[0] if isinstance(texts, (str, Request)) else outputs

    @overload
    def generate(self, sources: str) -> Answer: ...  # type: ignore[overload-overlap]
    @overload
    def generate(self, sources: Iterable[str]) -> list[Answer]: ...
    def generate(self, sources: str | Iterable[str]) -> Answer | list[Answer]:
        """The output for a source; a list for several sources."""
        if self.opened.returns != "text":
            raise ModelError(f"{self.id} scores text and does not generate it. Use score()")
        source_list = [sources] if isinstance(sources, str) else _as_texts(sources)
        source_texts = [_checked_text(source, index) for index, source in enumerate(source_list)]
        outputs = [
            Answer(output) if isinstance(output, str) else output for output in self.opened.generate(source_texts)
        ]
        return outputs[0] if isinstance(sources, str) else outputs

    def _request(self, text: object, index: int) -> Request:
        if not isinstance(text, Request):
            return Request(_checked_text(text, index))
        _checked_text(text.text, index)
        if text.span is not None and not _is_span(text.span, len(text.text)):
            raise InputError(
                f"span={text.span!r}: write (start, end), within the {len(text.text):,} characters of the text",
                place=f"texts[{index}]",
            )
        if text.scoring is not None and not isinstance(text.scoring, TextScoring):
            raise InputError(f"scoring={text.scoring!r}: write wug.requests.TextScoring(…)", place=f"texts[{index}]")
        if text.source is not None and not registry.reads_sources(self.opened):
            raise ModelError(f"{self.id} does not take sources. They are for encoder–decoders opened with score=source")
        return text

    def __repr__(self) -> str:
        return f"<Model {self.id}: {'scores' if self.opened.returns == 'scores' else 'generates'} text>"


@public
def open_model(
    model: AnyModel,
    tokenizer: Callable[..., object] | None = None,
    *,
    options: Mapping[str, Setting] | None = None,
    **more: Setting,
) -> Model:
    """Open a model by name or folder, one that transformers has loaded, or a function.

    A function takes a list of texts and returns one output per text: a log-probability in nats, or one
    `(start, end, logprob)` per token, with character offsets. With `returns="text"` it takes sources and returns texts.

    Args:
        model: A name such as `causal:gpt2`, a folder, a loaded model, or a function. A loaded model that equals its
            files has the id of its folder.
        tokenizer: The tokenizer of a loaded model.
        options: Options of the model, as a dictionary.
        **more: Options of the model, as keywords, such as `dtype="bfloat16"`. Those of a function are `name`,
            `version` (outputs are cached only with one) and `returns`.

    Returns:
        A model. It is loaded when it is first used.

    Raises:
        WugError: If there is no such model, or an option is unknown.

    Examples:
        >>> model = wug.open_model("wug-causal")
        >>> model.score("The keys to the cabinet are here.").logprob() < 0
        True
        >>> words = wug.open_model(lambda texts: [-len(text.split()) for text in texts], name="words")
        >>> words.score("The keys are here.").logprob()
        -4.0
    """
    return model_of(model, tokenizer, as_text(options, more))


@public
def surprisal(
    texts: str | Path | Iterable[str] | Iterable[Sequence[str]] | Iterable[Path] | None = None,
    model: AnyModel | Iterable[AnyModel] | None = None,
    unit: Unit = "word",
    *,
    text: str | Iterable[str] | None = None,
    words: WordRule = "space",
    context: Context | None = None,
    boundary: bool = False,
    entropy: bool = True,
    window: int | None = None,
    stride: int | None = None,
    window_bos: bool = True,
    column: str | None = None,
    sources: Iterable[str] | None = None,
    cache: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """Compute the surprisal of each word of some texts, in bits.

    Args:
        texts: One text, several, lists of words or regions, or files as `Path`. A str that names a file is refused.
        model: One model or a list; the built-in wug-causal by default. The column `model` has their ids.
        unit: The unit of a row: "word", "token", "sentence" or "regions".
        text: Texts whose characters are scored even if a file has that name.
        words: Words are separated by "space", by the "tokenizer", or "given" as lists.
        context: The context of a word: the "text" before it or only its "sentence". By default the sentence for models
            trained on single sentences, such as the built-in ones, and the text for others.
        boundary: Add the column `surprisal_boundary`, which counts the end of a word with that word.
        entropy: Add the columns `entropy` and `rank`.
        window: Tokens per window, for texts that are longer than the model's context; by default that context.
        stride: Tokens from one window to the next; by default half a window.
        window_bos: Whether each window begins with a BOS token, or only the text (causal models).
        column: The column with the texts, for files that are tables.
        sources: One source per text, for an encoder–decoder opened with score="source".
        cache: A file that caches model outputs, so that the same call is not computed again.
        progress: Called with the numbers of requests done and in total.

    Returns:
        A table with one row per word and model.

    Raises:
        WugError: If a text, a model or an option cannot be used.

    Examples:
        >>> table = wug.surprisal("The keys to the cabinet are here.", "wug-causal")
        >>> table["word"][:2]
        ['The', 'keys']
    """
    from wug import texts as texts_layer

    if (texts is None) == (text is None):
        raise InputError("wug.surprisal() needs texts, or text=…, and not both")
    scored_texts = texts if text is None else _verbatim(text)
    handles = (m.opened for m in models_of(DEFAULT_SURPRISAL_MODEL if model is None else model))
    with opened_cache(None if cache is None else user_path(cache)) as outputs:
        return texts_layer.surprisal(
            scored_texts,
            handles,
            unit,
            words=words,
            context=context,
            boundary=boundary,
            entropy=entropy,
            window=window,
            stride=stride,
            window_bos=window_bos,
            column=column,
            sources=sources,
            cache=outputs,
            progress=progress,
        )


def models_of(models: object) -> list[Model]:
    """One or several models, by name or open; patterns and lists give several."""
    model_list = list(models) if isinstance(models, Iterable) and not _is_one_model(models) else [models]
    open_models: list[Model] = []
    for model in model_list:
        names = [str(model)] if isinstance(model, (str, Path)) else model
        if isinstance(names, list):
            open_models += [model_of(match.text) for match in model_names.expand(names)]
        else:
            open_models.append(model_of(model))
    if not open_models:
        raise InputError(f"there is no model. Give {EXPECTED}, or a list of them")
    return open_models


def model_of(model: object, tokenizer: object = None, options: Mapping[str, str] | None = None) -> Model:
    """A model by name, a loaded one, or an open one."""
    if isinstance(tokenizer, Mapping):
        raise InputError("the second argument is the tokenizer: write options={…}, or each option as a keyword")
    if isinstance(model, (Model, ModelHandle)):
        if tokenizer is not None or options:
            raise InputError("the model is already open: give its options when you open it")
        return model if isinstance(model, Model) else Model(model)
    if isinstance(model, (str, Path)):
        if tokenizer is not None:
            device = isinstance(tokenizer, str) and re.fullmatch(r"cpu|cuda(:\d+)?|mps", tokenizer)
            fix = f"write device={tokenizer!r}" if device else "tokenizer= is for a loaded model"
            raise InputError(f"{str(model)!r} has its own tokenizer: {fix}")
        if model_names.is_pattern(str(model)):
            raise InputError(f"{str(model)!r} is a pattern for several models: wug.run and wug.surprisal take patterns")
        if isinstance(model, Path) and not model.expanduser().exists():
            raise InputError("no such folder", file=model)
        return Model(model_names.open_model(str(model), options))
    if "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
        if tokenizer is not None and not hasattr(tokenizer, "get_vocab"):
            raise InputError(
                f"tokenizer={_short_repr(tokenizer)}: give one of transformers, AutoTokenizer.from_pretrained(…)"
            )
        return Model(model_names.open_loaded(model, tokenizer, options))
    if hasattr(model, "id") and hasattr(model, "options") and not options and is_function(model):
        return Model(ModelHandle.from_loaded(model))  # an object of the user's own class
    if is_function(model):
        if tokenizer is not None:
            raise InputError("tokenizer= is for a loaded model of transformers: a function tokenizes its texts itself")
        backends = (backend for backend in registry.backends() if backend.TRAITS.wraps_functions)
        wrap = next(backend.wrap for backend in backends if backend.wrap is not None)
        refuse_unknown(options or {}, ("name", "version", "returns"), "functions")
        return Model(ModelHandle.from_loaded(wrap(model, **(options or {}))))
    raise InputError(f"{_short_repr(model)} is not a model. Give {EXPECTED}")


def is_function(candidate: object) -> bool:
    """Whether it is a function of texts, or an object with a method that is one."""
    methods = (getattr(candidate, name, None) for name in ("score", "generate"))
    return not isinstance(candidate, type) and (callable(candidate) or any(map(callable, methods)))


def _is_one_model(model: object) -> bool:
    return isinstance(model, (str, Path, Mapping)) or is_function(model) or hasattr(model, "forward")


def _as_texts(texts: object) -> Iterable[object]:
    if isinstance(texts, (bytes, Mapping)) or not isinstance(texts, Iterable):
        raise InputError(f"texts must be str or a list of str, not {type(texts).__name__}")
    return texts


def _verbatim(text: str | Iterable[str]) -> list[object]:
    from wug.texts import Text

    text_list = [text] if isinstance(text, str) else text
    if not isinstance(text_list, Iterable):
        raise InputError(f"text={text!r}: write a str, or a list of them")
    return [Text(refuse_surrogates(item)) if isinstance(item, str) else item for item in text_list]


def _is_span(span: object, length: int) -> bool:
    match span:
        case (int(start), int(end)):
            return 0 <= start <= end <= length
    return False


def _checked_text(text: object, index: int) -> str:
    if not isinstance(text, str):
        raise InputError(f"texts[{index}] must be str, not {type(text).__name__}")
    return refuse_surrogates(text, f"texts[{index}]")


def _short_repr(value: object) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"a {type(value).__name__}"


def as_text(*mappings: Mapping[str, Setting] | None) -> dict[str, str]:
    """Options as the command line writes them; None is left out, and an option that is given twice is refused."""
    settings: dict[str, Setting] = {}
    for mapping in mappings:
        for name, value in (mapping or {}).items():
            if not isinstance(name, str) or isinstance(value, Mapping):
                raise InputError(f"option {name!r}: {value!r}: write a name and its value, such as 'dtype': 'bfloat16'")
            if name in settings:
                raise InputError(f"the option {name} is given twice: as a keyword and in options")
            settings[name] = value
    return {
        name: written(tuple(value) if isinstance(value, list) else value)
        for name, value in settings.items()
        if value is not None
    }
