"""The answer cache: nothing is asked twice, and no model gets another's answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.errors import StoreError
from wug.runs import held, remembered
from wug.runs.cache import Cache
from wug.runs.packing import Answers, pack_answers, pack_scores, unpack_answers, unpack_scores
from wug.runs.remembered import RememberedGenerator, RememberedScorer
from wug.scores import Scores, Texts
from wug.types import Answer, Reading, Request, Scored


class CountingScorer:
    """A scorer that keeps what it was asked."""

    def __init__(self, name: str = "fake", options: Mapping[str, str] | None = None, chunk: int = 2) -> None:
        self.id, self.options, self.chunk, self.ordered = name, options or {}, chunk, False
        self.batches: list[list[str]] = []

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        self.batches.append([request.text for request in requests])
        return [Scored(r.text, (0,), (len(r.text),), (-float(len(r.text)),)) for r in requests]


class Echo:
    """A generator that says its source again."""

    id, chunk = "echo", 10
    options: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.asked: list[str] = []

    def generate(self, sources: Sequence[str]) -> list[str]:
        self.asked += sources
        return [source.upper() for source in sources]


def quiet(done: int, total: int) -> None:
    """Progress for nobody."""


def ask(model: CountingScorer, cache: Cache | None, *texts: str) -> list[float]:
    through = RememberedScorer(model, cache, quiet)
    return [scored.logprob() for scored in through.score([Request(text) for text in texts])]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "answers.db")


def test_a_question_is_asked_once(cache: Cache) -> None:
    model = CountingScorer()
    assert ask(model, cache, "bb", "a", "bb") == [-2.0, -1.0, -2.0]
    assert ask(model, cache, "a", "ccc") == [-1.0, -3.0]
    assert model.batches == [["a", "bb"], ["ccc"]]


def test_chunks_are_sorted_and_kept_one_by_one(cache: Cache) -> None:
    model = CountingScorer(chunk=2)
    told: list[tuple[int, int]] = []
    RememberedScorer(model, cache, lambda done, total: told.append((done, total))).score(
        [Request(text) for text in "edcba"]
    )
    assert model.batches == [["a", "b"], ["c", "d"], ["e"]]
    assert told == [(0, 5), (2, 5), (4, 5), (5, 5)]


def test_what_was_answered_before_a_crash_is_not_asked_again_and_chunks_stay_the_same(cache: Cache) -> None:
    class Dies(CountingScorer):
        def score(self, requests: Sequence[Request]) -> list[Scored]:
            if len(self.batches) == 2:
                raise KeyboardInterrupt
            return super().score(requests)

    with pytest.raises(KeyboardInterrupt):
        ask(Dies(), cache, *"abcdefg")
    resumed, unbroken = CountingScorer(), CountingScorer()
    ask(resumed, cache, *"abcdefg")
    ask(unbroken, None, *"abcdefg")
    assert resumed.batches == unbroken.batches[2:]


@pytest.mark.parametrize(
    "other",
    [CountingScorer("other"), CountingScorer(options={"bos": "no"})],
    ids=["another model", "another option"],
)
def test_no_model_gets_anothers_answers(cache: Cache, other: CountingScorer) -> None:
    ask(CountingScorer(), cache, "a")
    ask(other, cache, "a")
    assert other.batches == [["a"]]


def test_a_span_is_another_question(cache: Cache) -> None:
    model = CountingScorer()
    RememberedScorer(model, cache, quiet).score([Request("abc"), Request("abc", (0, 1))])
    assert sum(map(len, model.batches)) == 2


def test_answers_that_depend_on_those_before_are_asked_in_order_and_not_kept(cache: Cache) -> None:
    model = CountingScorer()
    model.ordered = True
    for _ in range(2):
        ask(model, cache, "b", "a", "b")
    assert model.batches == [["b", "a", "b"]] * 2


def test_generators_are_remembered_too(cache: Cache) -> None:
    model = Echo()
    for _ in range(2):
        answers = RememberedGenerator(model, cache, quiet).generate(["b ", "a", "b "])
        assert [answer.text for answer in answers] == ["B ", "A", "B "]
    assert model.asked == ["a", "b "]


texts = st.text(max_size=20)
numbers = st.floats(-1e6, 0) | st.none() | st.just(float("-inf"))


@st.composite
def scored(draw: st.DrawFn) -> Scored:
    rows = draw(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), numbers, texts)))
    starts, ends, logprobs, pieces = (tuple(row[i] for row in rows) for i in range(4))
    named = pieces if draw(st.booleans()) else None
    return Scored("", starts, ends, logprobs, named, draw(notices))  # type: ignore[arg-type]


notices = st.sampled_from([(), ("were cut off",), ("are short", "were cut off")])


@given(st.lists(scored()))
def test_a_block_of_scores_comes_back_as_it_was(block: list[Scored]) -> None:
    assert unpack_scores(pack_scores(Scores.of(block))) == block


@given(st.lists(st.builds(Answer, st.text(st.characters(codec=None), max_size=9), notices)))
def test_a_block_of_answers_comes_back_as_it_was(block: list[Answer]) -> None:
    assert unpack_answers(pack_answers(Answers(block))) == block


def test_answers_of_many_blocks_come_in_the_order_of_the_questions(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of three, of which only one is held at a time, and answers that come in other orders than they went in."""
    monkeypatch.setattr(remembered, "BLOCK", 3)
    monkeypatch.setattr(held, "HELD", 1)
    names = [f"{'x' * (7 * n % 31)}{n}" for n in range(31)]
    through = RememberedScorer(CountingScorer(chunk=10), cache, quiet)
    for order in (names, names[::-1], names[5:9] * 3, []):
        found = through.score([Request(name) for name in order])
        assert [(one.text, one.logprob()) for one in found] == [(name, -float(len(name))) for name in order]
    assert through.asked == 31


def test_progress_is_told_of_all_different_questions_so_far(cache: Cache) -> None:
    told: list[tuple[int, int]] = []
    ask(CountingScorer(), cache, *"ab")
    through = RememberedScorer(CountingScorer(), cache, lambda done, total: told.append((done, total)))
    for texts in ("abc", "ab"):
        through.score([Request(text) for text in texts])
    assert told == [(2, 3), (3, 3), (3, 3)]


def test_what_another_process_kept_meanwhile_is_not_asked(cache: Cache) -> None:
    first, second = (RememberedScorer(CountingScorer(), cache, quiet) for _ in range(2))
    first.score([Request("a")])
    second.score([Request("b")])
    first.score([Request("b")])
    assert (first.asked, second.asked) == (1, 1)


def test_without_a_cache_nothing_is_asked_twice_either() -> None:
    through = RememberedScorer(CountingScorer(), None, quiet)
    for _ in range(2):
        through.score([Request("a"), Request("b")])
    assert through.asked == 2


def test_a_damaged_cache_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "answers.db").write_bytes(b"no database at all, but long enough to be looked at" * 40)
    with pytest.raises(StoreError, match="may be deleted"):
        Cache(tmp_path / "answers.db")


def test_a_bare_text_has_the_key_that_any_question_is_given() -> None:
    class Silent:
        id, chunk, ordered = "silent", 4, False
        options: Mapping[str, str] = {}

        def score(self, requests: Sequence[Request]) -> list[Scored]:
            return []

    asked = [
        Request("a b"),
        Request("a b", (0, 1)),
        Request("a b", source="c"),
        Request("a b", reading=Reading()),
        Request("\ud800 é"),
    ]
    model = RememberedScorer(Silent(), None, lambda done, total: None)
    quick, plain = model._read(asked), remembered.Remembered._read(model, asked)
    assert quick.keys.tolist() == plain.keys.tolist()
    assert quick.ranks == plain.ranks
    assert len(set(quick.keys.tolist())) == len(asked)


TEXTS = st.lists(st.text("abc", max_size=2), max_size=12)


@given(TEXTS, TEXTS, st.integers(1, 5))
def test_texts_are_answered_like_requests_in_whatever_order_they_are_asked_for(
    first: list[str], then: list[str], step: int
) -> None:
    """The keys of texts that come in the order in which they were announced are not made anew."""
    plain, lazy = CountingScorer(), CountingScorer()
    ours, theirs = RememberedScorer(plain, None, quiet), RememberedScorer(lazy, None, quiet)
    ours.prepare([Request(text) for text in first])
    ours.obtain([Request(text) for text in first], counted=True)
    theirs.prepare(Texts(first))
    theirs.obtain(Texts(first), counted=True)
    for texts in (first, then, first[::-1], first):
        for at in range(0, len(texts), step):
            some = texts[at : at + step]
            assert theirs.score(Texts(some)) == ours.score([Request(text) for text in some])
    assert lazy.batches == plain.batches
    assert (theirs.done, theirs.questions, theirs.asked) == (ours.done, ours.questions, ours.asked)
