"""Asking a model everything that some suites want to know, and concluding from the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from wug import stats
from wug.errors import ModelError, WugError
from wug.runs.cache import Cache
from wug.runs.opening import OpenedGenerator, OpenedScorer, opened
from wug.runs.remembered import Progress, RememberedGenerator, RememberedScorer
from wug.runs.signature import signature
from wug.types import Answer, Check, Estimate, Notice, Outcome, Request, Result, Row, Scored, Signature, Status, Suite

EXAMPLE = 80
"""Characters of a question that a notice quotes."""


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
        self.ordered = getattr(model, "ordered", False)
        self._model = model
        self._answers = 0
        self._said: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order."""
        answers: list[Scored] = self._model.score(requests)
        self._hear([request.text for request in requests], answers)
        return answers

    def generate(self, sources: Sequence[str]) -> list[Answer]:
        """One answer for each source, in order."""
        answers: list[Answer] = self._model.generate(sources)
        self._hear(sources, answers)
        return answers

    def notices(self) -> Iterator[Notice]:
        """What was said, with how many answers it was said about, and one of the questions."""
        for text, times in self._said.items():
            yield Notice(f"{times:,} of {self._answers:,} answers {text} (such as to {self._examples[text]!r})")

    def _hear(self, questions: Sequence[str], answers: Sequence[Scored | Answer]) -> None:
        self._answers += len(answers)
        for question, answer in zip(questions, answers, strict=True):
            for text in answer.notices:
                self._said[text] += 1
                self._examples.setdefault(text, question[:EXAMPLE])


def ask_through(model: Any, cache: Cache | None = None, progress: Progress | None = None) -> Asker:
    """The model behind the cache; `progress` is told of every chunk."""
    tell = progress or (lambda done, total: None)
    whole = model if isinstance(model, OpenedScorer | OpenedGenerator) else opened(model, {})
    if isinstance(whole, OpenedScorer):
        return Asker(RememberedScorer(whole.model, cache, tell, whole.given), "scorer")
    return Asker(RememberedGenerator(whole.model, cache, tell, whole.given), "generator")


def evaluate(suites: Sequence[Suite], asker: Asker, method: stats.Method = "wilson") -> Iterator[Result]:
    """A result for each suite; the questions of all of them are asked together first."""
    require(suites, asker)
    questions: list[Any] = list(chain.from_iterable(suite.requests() for suite in suites))
    if isinstance(asker.model, RememberedGenerator):
        asker.model.generate(questions)
    elif not asker.model.ordered:
        asker.model.score(questions)
    for suite in suites:
        yield judge(suite, asker, method)


def require(suites: Sequence[Suite], asker: Asker) -> None:
    """Refuse a model that cannot answer a suite's kind of question."""
    for suite in suites:
        if suite.needs != asker.can:
            raise ModelError(
                f"suite {suite.name} needs a model that can {_VERB[suite.needs]} text, and {asker.model.id} can only "
                f"{_VERB[asker.can]} it"
            )


def judge(suite: Suite, asker: Asker, method: stats.Method = "wilson") -> Result:
    """The result of one suite; a fault in it is a failed result, not the end of the run."""
    mark = signature(suite, asker.model)
    rows: list[Row] = []
    status: Status = "complete"
    model = Listened(asker.model)
    try:
        rows.extend(suite.run(model))
    except WugError as error:
        rows.append(Notice(f"failed: {error}"))
        status = "failed"
    rows.extend(model.notices())
    return conclude(suite, asker.model.id, mark, rows, status, method)


def conclude(
    suite: Suite,
    model: str,
    mark: Signature | str,
    rows: Iterable[Row],
    status: Status = "complete",
    method: stats.Method = "wilson",
) -> Result:
    """A result made of a suite's rows."""
    outcomes: list[Outcome] = []
    given: list[Estimate] = []
    notices: Counter[str] = Counter()
    for row in rows:
        match row:
            case Outcome():
                outcomes.append(row)
            case Estimate():
                given.append(row)
            case Notice():
                notices[row.text] += 1
    checks: tuple[Check, ...] = tuple(getattr(suite, "checks", ()))  # a plugin of before has descriptions
    return Result(
        suite=suite.name,
        kind=suite.kind,
        model=model,
        status=status,
        signature=Signature.read(mark) if isinstance(mark, str) else mark,
        n=len({outcome.item for outcome in outcomes}) or len(suite),
        estimates=(*stats.estimates(outcomes, method), *(stats.remade(estimate, method) for estimate in given)),
        warnings=tuple(text if times == 1 else f"{text} ({times} times)" for text, times in notices.items()),
        outcomes=tuple(outcomes),
        descriptions={check.name: check.meaning for check in checks} or dict(getattr(suite, "descriptions", {})),
        meta=dict(suite.meta),
        checks=checks,
    )


_VERB = {"scorer": "score", "generator": "generate"}
