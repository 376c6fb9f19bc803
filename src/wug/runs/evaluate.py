"""Asking a model everything that some suites want to know, and concluding from the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from wug import stats
from wug.errors import ModelError, WugError
from wug.runs.cache import Cache, RememberedGenerator, RememberedScorer
from wug.runs.signature import signature
from wug.types import Estimate, Generator, Notice, Outcome, Result, Row, Scorer, Status, Suite

Progress = Callable[[int, int], None]
"""Told how many of how many questions are answered."""


@dataclass(frozen=True, slots=True)
class Asker:
    """A model behind the cache."""

    model: RememberedScorer | RememberedGenerator
    can: str
    """`scorer` or `generator`."""


def ask_through(model: Any, cache: Cache | None = None, progress: Progress | None = None) -> Asker:
    """The model behind the cache; `progress` is told of every chunk."""
    tell = progress or (lambda done, total: None)
    if callable(getattr(model, "score", None)):
        scorer: Scorer = model
        return Asker(RememberedScorer(scorer, cache, tell), "scorer")
    generator: Generator = model
    return Asker(RememberedGenerator(generator, cache, tell), "generator")


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
    mark = str(signature(suite, asker.model))
    rows: list[Row] = []
    status: Status = "complete"
    try:
        rows.extend(suite.run(asker.model))
    except WugError as error:
        rows.append(Notice(f"failed: {error}"))
        status = "failed"
    return conclude(suite, asker.model.id, mark, rows, status, method)


def conclude(
    suite: Suite,
    model: str,
    mark: str,
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
    return Result(
        suite=suite.name,
        kind=suite.kind,
        model=model,
        status=status,
        signature=mark,
        n=len({outcome.item for outcome in outcomes}) or len(suite),
        estimates=(*stats.estimates(outcomes, method), *given),
        warnings=tuple(text if times == 1 else f"{text} ({times} times)" for text, times in notices.items()),
        outcomes=tuple(outcomes),
        descriptions=dict(suite.descriptions),
        meta=dict(suite.meta),
    )


_VERB = {"scorer": "score", "generator": "generate"}
