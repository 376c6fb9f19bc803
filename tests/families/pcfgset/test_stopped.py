"""Answers that are stopped where no right one is so long give the verdicts of those that are written to their ends."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import pytest

from evaluating import cached
from wug.evaluation.cache import Cache
from wug.families.pcfgset.files import line_of
from wug.families.pcfgset.language import parse
from wug.families.pcfgset.localism import UnrolledSource, localism_suite
from wug.families.pcfgset.suite import plain_suite
from wug.models.decoding.outputs import truncate
from wug.outcomes import Outcome
from wug.requests import Answer, Source, text_of

SOURCES = (
    "copy A1 B1 C1", "repeat A1 B1", "echo repeat A1 B1", "append A1 , repeat B1 C1",
    "remove_first repeat A1 B1 , C1 D1", "reverse echo append A1 B1 , swap_first_last C1 D1",
)  # fmt: skip


@dataclass
class Rambling:
    """A model whose answers are right, wrong, or very long; two of them may begin the same."""

    seed: int
    bounded: bool
    id: str = "rambling"
    options: Mapping[str, str] = field(default_factory=dict)
    chunk: int = 1000
    asked: list[str | Source] = field(default_factory=list)

    def generate(self, sources: Sequence[Any]) -> list[Answer]:
        self.asked += sources
        return [self._answer(source) for source in sources]

    def _answer(self, source: str | Source) -> Answer:
        draw = random.Random(f"{self.seed} {text_of(source)}")
        right = " ".join(parse(text_of(source)).meaning())
        long = "A1 " * draw.choice((20, 21, 60, 300)) + draw.choice(("B1", "C1"))
        whole = Answer(draw.choice((right, right, "A1 B1", long, long)))
        return truncate(whole, source.max_words if isinstance(source, Source) else None)


def samples() -> list[UnrolledSource]:
    found = [parse(source) for source in SOURCES]
    return [UnrolledSource("", one, " ".join(one.meaning())) for one in found]


def verdicts(suite: Any, model: Rambling) -> list[tuple[str, str, Any, Any]]:
    return [(row.item, row.metric, row.value, dict(row.groups)) for row in suite.run(model) if isinstance(row, Outcome)]


@pytest.mark.parametrize("seed", range(60))
def test_localism_has_the_same_verdicts(seed: int) -> None:
    suite = localism_suite("made", samples())
    stopped, whole = Rambling(seed, bounded=True), Rambling(seed, bounded=False)
    assert verdicts(suite, stopped) == verdicts(suite, whole)
    assert any(isinstance(source, Source) for source in stopped.asked)
    assert all(isinstance(source, str) for source in whole.asked)


def test_two_long_answers_that_differ_at_their_ends_are_distinguished() -> None:
    """Of sixty trials some have both answers stopped: else the test above would say less than it seems to."""
    asked_anew = 0
    for seed in range(60):
        model = Rambling(seed, bounded=True)
        list(localism_suite("made", samples()).run(model))
        wholes = [text_of(source) for source in model.asked if isinstance(source, Source)]
        asked_anew += any(isinstance(source, str) and source in wholes for source in model.asked[-4:])
    assert asked_anew > 5


@pytest.mark.parametrize("seed", range(20))
def test_the_task_has_the_same_verdicts(seed: int) -> None:
    lines = [
        line_of(parse(source), " ".join(parse(source).meaning()), number, str(number))
        for number, source in enumerate(SOURCES)
    ]
    suite = plain_suite("made", lines)
    assert verdicts(suite, Rambling(seed, bounded=True)) == verdicts(suite, Rambling(seed, bounded=False))
    assert dict(suite.options) == {"cut": "2n+16"}


def test_an_answer_is_kept_with_the_bound_that_it_was_given(tmp_path: Any) -> None:
    """Of a model that takes no notice of bounds, the answer is the same with any, and is asked for once."""
    questions: list[str | Source] = [Source("copy A1", 3), Source("copy A1", 9), "copy A1"]
    for bounded, times in ((True, 3), (False, 1)):
        model = Rambling(3, bounded=bounded, id=f"rambling {bounded}")
        with closing(Cache(tmp_path / "answers.db")) as cache:
            first = cached(model, cache, lambda done, total: None).generate(questions)
            again = cached(model, cache, lambda done, total: None).generate(questions)
        assert first == again
        assert len(model.asked) == times
        assert first == [model._answer(source if bounded else text_of(source)) for source in questions]
