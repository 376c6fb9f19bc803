"""Asking a model everything that some suites want to know, and concluding from the answers."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from wug import stats
from wug.errors import ModelError, WugError
from wug.runs.cache import Cache
from wug.runs.opening import Opened
from wug.runs.progress import Report
from wug.runs.remembered import Progress, RememberedGenerator, RememberedScorer
from wug.runs.signature import signature
from wug.runs.store import Store, run_key
from wug.runs.waiting import Waiting
from wug.scores import Scores, Texts, texts_of
from wug.types import (
    Answer,
    Check,
    Estimate,
    Notice,
    Outcome,
    Request,
    Result,
    Row,
    Scored,
    Signature,
    Source,
    Status,
    Suite,
    text_of,
)

EXAMPLE = 80
"""Characters of a question that a notice quotes."""

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Asker:
    """A model behind the cache."""

    model: RememberedScorer | RememberedGenerator
    can: str
    """`scorer` or `generator`."""


class Listened:
    """A model as one suite asks it, with what it has to say about the answers that the suite got."""

    def __init__(self, model: Any) -> None:
        self.id, self.options, self.chunk = model.id, model.options, model.chunk
        self.ordered, self.bounded = getattr(model, "ordered", False), getattr(model, "bounded", False)
        self._model = model
        self._answers = 0
        self._said: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def score(self, requests: Sequence[Request]) -> Sequence[Scored]:
        """One answer for each request, in order."""
        answers: Sequence[Scored] = self._model.score(requests)
        self._hear(texts_of(requests), answers)
        return answers

    def generate(self, sources: Sequence[str | Source]) -> list[Answer]:
        """One answer for each source, in order."""
        answers: list[Answer] = self._model.generate(sources)
        self._hear(list(map(text_of, sources)), answers)
        return answers

    def notices(self) -> Iterator[Notice]:
        """What was said, with how many answers it was said about, and one of the questions."""
        for text, times in self._said.items():
            yield Notice(f"{times:,} of {self._answers:,} answers {text} (such as to {self._examples[text]!r})")

    def _hear(self, questions: Sequence[str], answers: Sequence[Scored | Answer]) -> None:
        self._answers += len(answers)
        each = enumerate(answer.notices for answer in answers)
        for place, notices in sorted(answers.notices.items()) if isinstance(answers, Scores) else each:
            for text in notices:
                self._said[text] += 1
                self._examples.setdefault(text, questions[place][:EXAMPLE])


@dataclass(frozen=True, slots=True)
class Task:
    """A suite, what it asks up front, and the signature of what comes of it."""

    suite: Suite
    questions: Sequence[Request] | Sequence[str | Source]
    signature: Signature


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a run found out, and its number in the store; None where it was not to be kept."""

    number: int | None
    results: tuple[Result, ...]


def ask_through(model: Any, cache: Cache | None = None, progress: Progress | None = None) -> Asker:
    """The model behind the cache; `progress` is told of every chunk."""
    tell = progress or (lambda done, total: None)
    whole = model if isinstance(model, Opened) else Opened(model)
    kind = RememberedScorer if whole.can == "scorer" else RememberedGenerator
    return Asker(kind(whole.model, cache, tell, whole.given), whole.can)


def evaluate(suites: Sequence[Suite], asker: Asker, method: stats.Method = "wilson") -> Iterator[Result]:
    """A result for each suite; the questions of many of them are asked together first."""
    yield from judged(prepare(suites, asker), asker, method)


def prepare(suites: Sequence[Suite], asker: Asker) -> list[Task]:
    """What is to be asked, counted; a model that is not loaded yet is, if the cache does not answer it all."""
    tasks = _tasks(suites, asker)
    asker.model.prepare(_questions(tasks))
    return tasks


def judged(tasks: Sequence[Task], asker: Asker, method: stats.Method) -> Iterator[Result]:
    """A result for each task of a model that is prepared."""
    for task in _asked(tasks, asker, counted=True):
        yield _judge(task, asker, method)


def record(
    suites: Sequence[Suite],
    model: Any,
    *,
    command: str,
    store: Store | None = None,
    cache: Cache | None = None,
    interval: stats.Method = "wilson",
    tell: Progress | None = None,
    origin: str | None = None,
    sweep: int | None = None,
) -> Recorded:
    """Ask `model` what `suites` want to know; each result is in the store before the next one is made.

    Its outcomes then stay there, and are read when someone looks; without a store they are in memory.

    A run that breaks off stays in the store as far as it came, and the same run takes it up again. `origin` says who
    asked, where that was no command.
    """
    whole = model if isinstance(model, Opened) else Opened(model)
    report = Report(tell)
    asker = ask_through(whole, cache, report.answered)
    tasks = prepare(suites, asker)  # a model that cannot be loaded leaves no run behind
    results: list[Result] = []
    try:
        if store is None:
            results += judged(tasks, asker, interval)
            return Recorded(None, tuple(results))
        key = _key(tasks, whole, interval)
        with store.writing(key, whole.id, command, origin=origin, sweep=sweep, **named(whole)) as (number, add):
            report.begin(store, number, len(tasks), asker.model.done, asker.model.questions)
            for task in _asked(tasks, asker, counted=True):
                with closing(Waiting()) as waiting:
                    results.append(add(_judge(task, asker, interval, waiting.add), waiting))
                report.judged()
        return Recorded(number, tuple(results))
    finally:
        if cache is not None and cache.damaged:
            log.warning("%s answers in the cache were damaged, and asked anew", f"{cache.damaged:,}")


def key_of(suites: Sequence[Suite], model: Opened, interval: stats.Method) -> str:
    """What makes two commands the same run of a model."""
    return _key(_tasks(suites, ask_through(model)), model, interval)


def named(model: Opened) -> dict[str, str | None]:
    """What the user called a model, as the store keeps it."""
    spec = model.spec
    return {} if spec is None else {"specification": str(spec), "revision": spec.revision}


def _key(tasks: Sequence[Task], model: Opened, interval: stats.Method) -> str:
    return run_key([task.signature for task in tasks], {"interval": interval, "given": dict(model.given)})


def _tasks(suites: Sequence[Suite], asker: Asker) -> list[Task]:
    """What is to be asked; a model that cannot answer a suite's kind of question is refused."""
    tasks = []
    for suite in suites:
        if suite.needs != asker.can:
            raise ModelError(
                f"suite {suite.name} needs a model that can {_VERB[suite.needs]} text, and {asker.model.id} can only "
                f"{_VERB[asker.can]} it"
            )
        questions = suite.requests()
        tasks.append(Task(suite, questions, signature(suite, asker.model, questions)))
    return tasks


def _questions(tasks: Sequence[Task]) -> Sequence[Any]:
    """What the suites ask up front; a single one may make its questions when they are looked at."""
    asked = [task.questions for task in tasks]
    plain = [questions for questions in asked if isinstance(questions, Texts)]
    if len(asked) == 1:
        return asked[0]
    if len(plain) == len(asked):
        return Texts(list(chain.from_iterable(questions.texts for questions in plain)))
    return list(chain.from_iterable(asked))


def _asked(tasks: Sequence[Task], asker: Asker, *, counted: bool = False) -> Iterator[Task]:
    """The tasks, each once what it asks up front is answered; those that are worth it are asked together."""
    if asker.model.ordered:
        yield from tasks
        return
    for some in _groups(tasks, asker.model.group):
        asker.model.obtain(_questions(some), counted=counted)
        yield from some


def _groups(tasks: Sequence[Task], size: int) -> Iterator[list[Task]]:
    """Neighbours with so many questions together, or the last ones: results come while a long run goes on."""
    group: list[Task] = []
    for task in tasks:
        group.append(task)
        if sum(len(one.questions) for one in group) >= size:
            yield group
            group = []
    if group:
        yield group


def _judge(task: Task, asker: Asker, method: stats.Method, keep: Callable[[Outcome], None] | None = None) -> Result:
    """The result of one suite; a fault in it is a failed result, not the end of the run."""
    judging = _Judging(task, asker)
    result = conclude(task.suite, asker.model.id, task.signature, judging.rows(), method, keep)
    return replace(result, status=judging.status)


class _Judging:
    """The rows of a suite as they come, and how that ended."""

    def __init__(self, task: Task, asker: Asker) -> None:
        self._task, self._asker = task, asker
        self.status: Status = "complete"

    def rows(self) -> Iterator[Row]:
        """What the suite says, then what the model said about its answers."""
        model = Listened(self._asker.model)
        try:
            yield from self._task.suite.run(model)
        except WugError as error:
            if self._asker.model.failed:  # no suite will fare better
                raise
            yield Notice(f"failed: {error}")
            self.status = "failed"
        yield from model.notices()


def conclude(
    suite: Suite,
    model: str,
    signature: Signature | str,
    rows: Iterable[Row],
    method: stats.Method = "wilson",
    keep: Callable[[Outcome], None] | None = None,
) -> Result:
    """A result made of a suite's rows; its outcomes are handed to `keep`, or are in the result without it."""
    outcomes: list[Outcome] = []
    collected = stats.Collected()
    hand = keep or outcomes.append
    given: list[Estimate] = []
    notices: Counter[str] = Counter()
    for row in rows:
        match row:
            case Outcome():
                hand(row)
                collected.add(row)
            case Estimate():
                given.append(row)
            case Notice():
                notices[row.text] += 1
    checks: tuple[Check, ...] = tuple(getattr(suite, "checks", ()))  # a plugin of before has descriptions
    units = {check.name: check.unit for check in checks}
    estimates = (*_ordered(collected.estimates(method), given), *(stats.remade(one, method) for one in given))
    return Result(
        suite=suite.name,
        kind=suite.kind,
        model=model,
        status="complete",
        signature=Signature.read(signature) if isinstance(signature, str) else signature,
        n=collected.items if collected else len(suite) if given else 0,
        estimates=tuple(stats.within(one, units[one.check]) if one.check in units else one for one in estimates),
        warnings=tuple(text if times == 1 else f"{text} ({times} times)" for text, times in notices.items()),
        outcomes=tuple(outcomes),
        descriptions={check.name: check.meaning for check in checks} or dict(getattr(suite, "descriptions", {})),
        meta=dict(suite.meta),
        checks=checks,
    )


def _ordered(found: Sequence[Estimate], given: Sequence[Estimate]) -> list[Estimate]:
    """The estimates check by check, groups in the order in which the suite itself gives those of its other checks."""
    checks = list(dict.fromkeys(one.check for one in found))
    groups = list(dict.fromkeys(["all", *(one.group for one in given)]))
    rank = {group: place for place, group in enumerate(groups)}
    return sorted(found, key=lambda one: (checks.index(one.check), rank.get(one.group, len(rank))))


_VERB = {"scorer": "score", "generator": "generate"}
