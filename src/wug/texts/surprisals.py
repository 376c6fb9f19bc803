"""The surprisal of every word of some texts, in a table."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from wug import registry
from wug.errors import InputError, ModelError, UnknownName
from wug.formatting import plural
from wug.identity import ModelId
from wug.options import names as option_names
from wug.requests import Request, Span, TextScoring
from wug.tables import ColumnType, Table
from wug.texts import rows
from wug.texts.rows import Columns, TokenScores
from wug.texts.text import Context, Text, sentences, texts_of

if TYPE_CHECKING:
    from wug.evaluation.cache import Cache
    from wug.evaluation.cached_model import Progress
    from wug.evaluation.handle import ModelHandle

Unit: TypeAlias = Literal["word", "token", "sentence", "regions"]
WordRule: TypeAlias = Literal["space", "tokenizer", "given"]

UNITS: tuple[Unit, ...] = get_args(Unit)
WORDS: tuple[WordRule, ...] = get_args(WordRule)
CONTEXTS: tuple[Context, ...] = get_args(Context)

MAX_GROUP_TEXTS, MAX_GROUP_CHARACTERS = 4096, 1 << 22
"""Texts are scored in groups, which bounds the memory."""
KINDS: dict[str, ColumnType] = {
    **dict.fromkeys(
        ("text_id", "sentence_id", "word_id", "token_id", "region_id", "start", "end", "rank", "tokens", "words"), int
    ),
    **dict.fromkeys(("surprisal", "surprisal_boundary", "entropy"), float),
    "unknown": bool,
    **dict.fromkeys(("model", "word", "token", "sentence", "region"), str),
}

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True, kw_only=True)
class SurprisalOptions:
    """How texts are split and scored; `wug.surprisal` documents the fields."""

    unit: Unit = "word"
    words: WordRule = "space"
    context: Context | None = None
    boundary: bool = False
    entropy: bool = True
    window: int | None = None
    stride: int | None = None
    window_bos: bool = True

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("unit", self.unit, UNITS),
            ("words", self.words, WORDS),
            ("context", self.context, (None, *CONTEXTS)),
        ):
            if value not in allowed:
                raise UnknownName(name, str(value), [option for option in allowed if option is not None])
        for name, number in (("window", self.window), ("stride", self.stride)):
            if number is not None and number < 1:
                raise InputError(f"{name}={number}: write a number of tokens, 1 or more")

    @property
    def scoring(self) -> TextScoring:
        """What a model is to return for each text."""
        return TextScoring(self.entropy, self.boundary, self.window, self.stride, self.window_bos)


def surprisal(
    texts: object,
    models: object,
    unit: Unit = "word",
    *,
    column: str | None = None,
    sources: Iterable[str] | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
    **more: Any,
) -> Table:
    """A table of surprisals in bits, one row per word (or token, sentence, region) of each text and model.

    `more` are fields of SurprisalOptions. `wug.surprisal` documents the arguments.
    """
    options = SurprisalOptions(unit=unit, **more)
    listed = models if isinstance(models, (list, tuple, Iterator)) else [models]
    models_by_label = _by_label([_open_scorer(model) for model in listed])
    prepared: Iterable[Text] = _with_sources(_input_texts(texts, options, column), sources)
    if len(models_by_label) > 1:
        prepared = list(prepared)
    columns = _Columns(options)
    for index, label in enumerate(list(models_by_label)):
        counted = _Counted(progress, index, index + len(models_by_label))
        # Released before the next one is loaded, where the models come from an iterator.
        _score(iter(prepared), models_by_label.pop(label), options, columns, label, cache, counted)
    return columns.table()


def _score(
    texts: Iterator[Text],
    model: ModelHandle,
    options: SurprisalOptions,
    columns: _Columns,
    label: str,
    cache: Cache | None,
    counted: _Counted,
) -> None:
    from wug.evaluation.cached_model import CachedModel

    context = options.context or ("sentence" if model.training_context == "sentence" else "text")
    counts, notices = Counter[str](), Counter[str]()
    for group in _groups(texts, together=model.ordered):
        if any(text.source is not None for text in group) and not registry.reads_sources(model):
            raise ModelError(f"{model.id} does not take sources. They are for encoder–decoders with -M score=source")
        words_by_text = _words(group, model, options)
        whole = [sentences(text.text) if text.sentences is None else text.sentences for text in group]
        stretches = whole if context == "sentence" else [((0, len(text.text)),) for text in group]
        requests = [
            Request(text.text[a:b], scoring=options.scoring, source=text.source)
            for text, spans in zip(group, stretches, strict=True)
            for a, b in spans
        ]
        answers = iter(CachedModel(model, cache, counted).score(requests))
        for text, words, sentence_spans, spans in zip(group, words_by_text, whole, stretches, strict=True):
            scored = [(start, next(answers)) for start, _ in spans]
            for _, answer in scored:
                if options.boundary and answer.logprobs_with_word_end is None:
                    raise ModelError(f"{model.id} does not return the probability that a word ends: leave boundary out")
                notices.update(answer.notices)
                counts["silent"] += options.entropy and answer.entropies is None
            scores = TokenScores.of(scored)
            counts["texts"] += 1
            counts["answers"] += len(scored)
            counts["split"] += len(scored) > 1
            counts["tokenless"] += rows.tokenless(text.text, scores, words)
            columns.add(label, counts["texts"], text, scores, words, sentence_spans)
        counted.finish_group()
    for warning in _warnings(model, options, context, counts, notices):
        log.warning("%s", warning)


def _warnings(
    model: ModelHandle,
    options: SurprisalOptions,
    context: Context,
    counts: Mapping[str, int],
    notices: Mapping[str, int],
) -> Iterator[str]:
    """Warnings about the rows of a model."""
    if options.context is None and context == "sentence" and counts["split"]:
        yield (
            f"{model.id} was trained on single sentences: the context of each word is its own sentence. Set context to "
            "'text' for the whole text before it"
        )
    if options.scoring.has_windows and not registry.traits(ModelId.parse(model.id).backend).windows:
        yield f"window and stride do not apply to {model.id}, which reads each text in one pass"
    for notice, count in notices.items():
        yield f"{model.id}: {count:,} of {counts['answers']:,} answers {notice}"
    if counts["tokenless"]:
        words = plural(counts["tokenless"], "word")
        yield f"{model.id}: {words} without a surprisal, as no token begins there"
    if counts["silent"]:
        yield f"{model.id} returns neither entropy nor rank: these columns are empty"
    if counts["texts"] and registry.sees_right_context(model):
        yield f"{model.id} sees the words on both sides: these are surprisals given the whole text"


def _by_label(models: Sequence[ModelHandle]) -> dict[str, ModelHandle]:
    """The models by id, each once; options distinguish models of one id."""
    if not models:
        raise InputError("there is no model: name one, such as causal:gpt2")
    distinct = {(model.id, *sorted(model.options.items())): model for model in models}.values()
    by_label: dict[str, ModelHandle] = {}
    for model in distinct:
        others = [other.options for other in distinct if other.id == model.id]
        differing = [f"{k}={v}" for k, v in model.options.items() if any(options.get(k) != v for options in others)]
        by_label[f"{model.id}?{'&'.join(differing)}" if differing else model.id] = model
    return by_label


def _words(texts: Sequence[Text], model: ModelHandle, options: SurprisalOptions) -> list[Sequence[Span]]:
    if options.words == "tokenizer":
        divided = model.words([text.text for text in texts])
        if divided is None:
            raise ModelError(f"{model.id} has no rule that divides text into words: use words=space, or pass them")
        return divided
    return [
        [match.span() for match in re.finditer(r"\S+", text.text)] if text.words is None else text.words
        for text in texts
    ]


def _input_texts(texts: object, options: SurprisalOptions, column: str | None) -> Iterator[Text]:
    """The texts, read from files if they are paths."""
    listed = texts if isinstance(texts, (list, tuple)) else [texts]
    paths = [item for item in listed if isinstance(item, Path)]
    if len(paths) < len(listed):
        paths = []  # a Path among texts is refused below
    if column is not None and not paths:
        raise InputError("column names a column of a file: give the file as Path(…)")
    if paths:
        from wug.texts.files import read_texts

        read = ((path, read_texts(path, column=column, words=options.words == "given")) for path in paths)
        texts = [
            replace(text, columns={**({"file": str(path)} if len(paths) > 1 else {}), **text.columns})
            for path, file_texts in read
            for text in file_texts
        ]
    for number, text in enumerate(texts_of(texts), 1):
        if text.words is None and (options.words == "given" or options.unit == "regions"):
            what = "regions" if options.unit == "regions" else "given words"
            raise InputError(
                f"{what} are lists of strings, and this is a string: {text.text[:60]!r}", place=f"text {number}"
            )
        yield text


def _with_sources(texts: Iterator[Text], sources: Iterable[str] | None) -> Iterator[Text]:
    if sources is None:
        yield from texts
        return
    if isinstance(sources, str) or not isinstance(sources, Iterable):
        raise InputError("sources must be a list of str, one per text; the model's option source is one for all texts")
    remaining = iter(sources)
    count = 0
    for count, text in enumerate(texts, 1):
        source = next(remaining, None)
        if not isinstance(source, str):
            rest = count + sum(1 for _ in texts)
            error = f"{rest:,} texts and {count - 1:,} sources" if source is None else f"source {count} is not a str"
            raise InputError(f"{error}. Give one source per text, as a str")
        yield replace(text, source=source)
    if next(remaining, None) is not None:
        raise InputError(f"{count:,} texts and more sources. Give one source per text")


def _groups(texts: Iterator[Text], *, together: bool) -> Iterator[list[Text]]:
    """Texts that are scored together: all of them if outputs depend on each other."""
    group: list[Text] = []
    size = 0
    for text in texts:
        group.append(text)
        size += len(text.text)
        if not together and (len(group) == MAX_GROUP_TEXTS or size >= MAX_GROUP_CHARACTERS):
            yield group
            group, size = [], 0
    if group:
        yield group


def _open_scorer(model: Any) -> ModelHandle:
    """An open model; one that cannot score is refused."""
    from wug.evaluation.handle import ModelHandle
    from wug.evaluation.models import open_model

    if isinstance(model, str):
        model = open_model(model)
    handle: ModelHandle = model if isinstance(model, ModelHandle) else ModelHandle.from_loaded(model)
    if handle.returns != "scores":
        remedy = registry.traits(ModelId.parse(handle.id).backend).to_score
        what = f"{handle.id} can only generate text, and surprisals need a model that scores it. {remedy}"
        raise ModelError(what.rstrip())
    return handle


def can_score_sources(model: str) -> bool:
    """Whether a model that generates text can also score it, when it is opened with `score=source`."""
    return "score" in option_names(registry.backend_of(ModelId.parse(model)).OPTIONS)


class _Counted:
    """Progress over all groups and models, assuming that each model has as many requests as this one."""

    def __init__(self, progress: Progress | None, index: int, models: int) -> None:
        self._progress, self._index, self._models = progress, index, models
        self._before = self._total = 0

    def __call__(self, done: int, total: int) -> None:
        self._total = self._before + total
        if self._progress is not None:
            self._progress(self._index * self._total + self._before + done, self._models * self._total)

    def finish_group(self) -> None:
        """Add the requests of the group to those done before."""
        self._before = self._total


class _Columns:
    def __init__(self, options: SurprisalOptions) -> None:
        self._unit = options.unit
        missing = [] if options.boundary else ["surprisal_boundary"]
        self._dropped = {*missing, *([] if options.entropy else ["entropy", "rank"])}
        self._columns: dict[str, list[Any]] = {}
        self._file_columns: dict[str, list[Any]] = {}
        """The other columns of the texts' files."""
        self.add("", 0, Text(""), TokenScores.of([]), (), ())  # a table without rows has the columns, too

    def add(
        self,
        model: str,
        number: int,
        text: Text,
        scores: TokenScores,
        words: Sequence[Span],
        sentences: Sequence[Span],
    ) -> None:
        """Add the rows of a text."""
        match self._unit:
            case "token":
                columns = rows.token_columns(text.text, scores, words, sentences)
            case "sentence":
                columns = rows.sentence_columns(text.text, scores, words, sentences)
            case unit:
                name = "region" if unit == "regions" else "word"
                columns = rows.span_columns(name, text.text, scores, words, sentences)
        before, count = len(self._columns.get("start", ())), len(columns["start"])
        added: Columns = {"model": [model] * count, "text_id": [number] * count, **columns}
        for name in [name for name in added if name not in self._dropped]:
            self._columns.setdefault(name, []).extend(added[name])
        for name in text.columns:
            self._file_columns.setdefault(name, [None] * before)
        for name, column in self._file_columns.items():
            column.extend([text.columns.get(name)] * count)

    def table(self) -> Table:
        """The table; a column of a file that has the name of one of ours becomes `given_NAME`."""
        file_columns = {
            f"given_{name}" if name in self._columns else name: values for name, values in self._file_columns.items()
        }
        kinds = {name: KINDS[name] for name in self._columns if name in KINDS}
        units = {name: "bits" for name, kind in kinds.items() if kind is float}
        return Table({**self._columns, **file_columns}, kinds, units=units)
