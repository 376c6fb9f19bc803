"""The output cache: no request is computed twice, and no model gets another's outputs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluating import cached
from fake_models import FakeGenerator, FakeScorer, length_scores, text_scores
from wug.errors import ModelError, StoreError
from wug.evaluation.cache import BLOCK_OUTPUTS, KEY_BYTES, Cache
from wug.evaluation.codecs import ScoreCodec, TextCodec
from wug.requests import Answer, Request, Scored, TextScoring
from wug.scores import PlainRequests


class Trickling(FakeScorer):
    """Returns its outputs one by one, the last one first."""

    def stream(self, requests: Sequence[Request]) -> Iterator[tuple[Sequence[int], Sequence[Scored]]]:
        for position in reversed(range(len(requests))):
            yield [position], self.score([requests[position]])


def interrupted_at(text: str) -> Callable[[str], Scored]:
    """Scores up to this text."""

    def scored(request: str) -> Scored:
        if request == text:
            raise KeyboardInterrupt
        return length_scores(request)

    return scored


def ask(model: FakeScorer, cache: Cache | None, *texts: str) -> list[float]:
    through = cached(model, cache)
    return [scored.logprob() for scored in through.score([Request(text) for text in texts])]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "answers.db")


def test_a_request_is_computed_once(cache: Cache) -> None:
    model = FakeScorer(chunk=2)
    assert ask(model, cache, "bb", "a", "bb") == [-2.0, -1.0, -2.0]
    assert ask(model, cache, "a", "ccc") == [-1.0, -3.0]
    assert model.batches == [["a", "bb"], ["ccc"]]


def test_chunks_are_sorted_and_kept_one_by_one(cache: Cache) -> None:
    model = FakeScorer(chunk=2)
    told: list[tuple[int, int]] = []
    cached(model, cache, lambda done, total: told.append((done, total))).score([Request(text) for text in "edcba"])
    assert model.batches == [["a", "b"], ["c", "d"], ["e"]]
    assert told == [(0, 5), (2, 5), (4, 5), (5, 5), (5, 5)]


def test_outputs_before_a_crash_are_reused_and_chunks_stay_the_same(cache: Cache) -> None:
    with pytest.raises(KeyboardInterrupt):
        ask(FakeScorer(interrupted_at("e"), chunk=2), cache, *"abcdefg")
    resumed, unbroken = FakeScorer(chunk=2), FakeScorer(chunk=2)
    ask(resumed, cache, *"abcdefg")
    ask(unbroken, None, *"abcdefg")
    assert resumed.batches == unbroken.batches[2:]


@pytest.mark.parametrize(
    "other",
    [FakeScorer(id="fake/other@1"), FakeScorer(options={"bos": "no"})],
    ids=["another model", "another option"],
)
def test_no_model_gets_anothers_answers(cache: Cache, other: FakeScorer) -> None:
    ask(FakeScorer(), cache, "a")
    ask(other, cache, "a")
    assert other.batches == [["a"]]


def test_a_span_is_another_question(cache: Cache) -> None:
    model = FakeScorer()
    cached(model, cache).score([Request("abc"), Request("abc", (0, 1))])
    assert sum(map(len, model.batches)) == 2


def test_outputs_that_depend_on_earlier_ones_are_ordered_and_not_cached(cache: Cache) -> None:
    model = FakeScorer(ordered=True)
    for _ in range(2):
        ask(model, cache, "b", "a", "b")
    assert model.batches == [["b", "a", "b"]] * 2


def test_generators_are_remembered_too(cache: Cache) -> None:
    model = FakeGenerator(str.upper)
    for _ in range(2):
        answers = cached(model, cache).generate(["b ", "a", "b "])
        assert [answer.text for answer in answers] == ["B ", "A", "B "]
    assert model.batches == [["a", "b "]]


def test_streamed_outputs_are_stored_one_by_one_and_returned_in_order(cache: Cache) -> None:
    with pytest.raises(KeyboardInterrupt):
        ask(Trickling(interrupted_at("bb")), cache, "a", "bb", "ccc", "dddd", "eeeee")
    model = Trickling()
    assert ask(model, cache, "a", "bb", "ccc", "dddd", "eeeee") == [-1.0, -2.0, -3.0, -4.0, -5.0]
    assert model.batches == [["bb"], ["a"]]


@pytest.mark.parametrize("request_", [Request("a b", separate_word_start=2), Request("a", chat=(("user", "b"),))])
def test_a_model_that_streams_refuses_requests_that_it_cannot_score(request_: Request, cache: Cache) -> None:
    model = Trickling()
    with pytest.raises(ModelError, match=r"fake/scorer@1 cannot (tokenize a word apart|read a chat)"):
        cached(model, cache).score([request_])
    assert not model.batches


def test_outputs_that_came_one_by_one_are_joined_in_blocks(cache: Cache) -> None:
    keys = [number.to_bytes(KEY_BYTES, "big") for number in range(2 * BLOCK_OUTPUTS + 9)]
    for key in keys:
        cache.write(b"model", "model", [(key, key * 2)])
    assert cache.read(b"model", b"".join(keys)) == [key * 2 for key in keys]
    assert cache.path is not None
    with closing(sqlite3.connect(cache.path)) as db:
        assert db.execute("SELECT count(*) FROM blocks").fetchone() == (2 + 9,)


def test_outputs_that_another_process_has_joined_meanwhile_are_not_computed_again(cache: Cache) -> None:
    names = [f"{number}" for number in range(BLOCK_OUTPUTS)]
    through = cached(Trickling(), cache)
    through.score([Request(name) for name in names[1:]])
    other = Cache(cache.path)
    reader = cached(FakeScorer(), other)
    assert reader.missing([Request(name) for name in names]) == 1
    through.score([Request(names[0])])
    assert [one.text for one in reader.score([Request(name) for name in names])] == names
    assert reader.computed == 0
    other.close()


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
def test_scores_come_back_from_the_cache_as_they_were(block: list[Scored]) -> None:
    codec, requests = ScoreCodec(), [Request("")] * len(block)
    assert codec.decode(requests, codec.encode(block)) == block


@given(st.lists(st.builds(Answer, st.text(st.characters(codec=None), max_size=9), notices)))
def test_texts_come_back_from_the_cache_as_they_were(block: list[Answer]) -> None:
    codec, sources = TextCodec(bounded=False), [""] * len(block)
    assert codec.decode(sources, codec.encode(block)) == block


@given(st.lists(st.lists(st.floats(-1e6, 0, width=32), max_size=4), max_size=5), st.integers(1, 70_000))
def test_float32_log_probabilities_are_stored_exactly_in_four_bytes(rows: list[list[float]], end: int) -> None:
    block = [Scored("", tuple(range(len(row))), (end,) * len(row), tuple(row)) for row in rows]
    codec, requests = ScoreCodec(), [Request("")] * len(block)
    values = codec.encode(block)
    assert codec.decode(requests, values) == block
    tokens = sum(map(len, rows))
    width = 1 if not tokens or end < 256 else 2 if end < 65_536 else 4
    assert sum(map(len, values)) == len(rows) + tokens * (4 + 2 * width)


def test_outputs_come_in_the_order_of_the_requests(cache: Cache) -> None:
    names = [f"{'x' * (7 * n % 31)}{n}" for n in range(31)]
    through = cached(FakeScorer(chunk=10), cache)
    for order in (names, names[::-1], names[5:9] * 3, []):
        found = through.score([Request(name) for name in order])
        assert [(one.text, one.logprob()) for one in found] == [(name, -float(len(name))) for name in order]
    assert through.computed == 31


def test_outputs_stored_in_different_formats_come_together(cache: Cache) -> None:
    """A long text needs wider offsets, and a log-probability that float32 does not have needs eight bytes."""

    names = ["a" * 3, "b" * 300, "c" * 70_000, "d"]
    through = cached(FakeScorer(text_scores(lambda text: -len(text) / 3), chunk=1), cache)
    found = through.score([Request(name) for name in names])
    assert [(one.text, one.ends[0], one.logprob()) for one in found] == [(n, len(n), -len(n) / 3) for n in names]


def test_progress_counts_what_is_computed(cache: Cache) -> None:
    told: list[tuple[int, int]] = []
    ask(FakeScorer(), cache, *"ab")
    through = cached(FakeScorer(), cache, lambda done, total: told.append((done, total)))
    for texts in ("abc", "ab"):
        through.score([Request(text) for text in texts])
    assert told == [(0, 1), (1, 1), (1, 1), (1, 1)]


def test_what_another_process_kept_meanwhile_is_not_asked(cache: Cache) -> None:
    first, second = (cached(FakeScorer(), cache) for _ in range(2))
    first.score([Request("a")])
    second.score([Request("b")])
    first.score([Request("b")])
    assert (first.computed, second.computed) == (1, 1)


def test_without_a_cache_nothing_is_asked_twice_either() -> None:
    through = cached(FakeScorer(), None)
    for _ in range(2):
        through.score([Request("a"), Request("b")])
    assert through.computed == 2


@pytest.mark.parametrize("content", ["item\tkey\n1\tA\n", "a text that is as long as the head of a database\n" * 40])
def test_a_file_that_is_no_cache_is_left_as_it_is(content: str, tmp_path: Path) -> None:
    (tmp_path / "keys.tsv").write_text(content, encoding="utf-8")
    with pytest.raises(StoreError, match=r"keys\.tsv is not a cache of wug and is not changed") as caught:
        Cache(tmp_path / "keys.tsv")
    assert "delete" not in str(caught.value).lower()
    assert (tmp_path / "keys.tsv").read_text(encoding="utf-8") == content
    assert [path.name for path in tmp_path.iterdir()] == ["keys.tsv"]


def test_a_database_of_another_program_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE models (name TEXT)")
        db.execute("INSERT INTO models VALUES ('mine')")
        db.commit()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is not a cache of wug"):
        Cache(path)
    assert path.read_bytes() == before


def test_a_bare_text_has_the_key_that_its_request_has() -> None:
    codec = ScoreCodec()
    requests = [
        Request("a b"),
        Request("a b", (0, 1)),
        Request("a b", source="c"),
        Request("a b", scoring=TextScoring()),
        Request("\ud800 é"),
    ]
    keys = codec.keys(requests)
    assert len({keys[at : at + KEY_BYTES] for at in range(0, len(keys), KEY_BYTES)}) == len(requests)
    bare = ["a b", "\ud800 é"]
    assert codec.keys(PlainRequests(bare)) == codec.keys([Request(text) for text in bare])


TEXTS = st.lists(st.text("abc", max_size=2), max_size=12)


@given(TEXTS, TEXTS, st.integers(1, 5))
def test_plain_requests_are_answered_like_others_in_any_order(first: list[str], then: list[str], step: int) -> None:
    """The keys of texts that come in the order in which they were announced are not computed again."""
    plain, lazy = FakeScorer(chunk=2), FakeScorer(chunk=2)
    ours, theirs = cached(plain, None), cached(lazy, None)
    ours.prepare([Request(text) for text in first])
    ours.prefetch([Request(text) for text in first])
    theirs.prepare(PlainRequests(first))
    theirs.prefetch(PlainRequests(first))
    for texts in (first, then, first[::-1], first):
        for at in range(0, len(texts), step):
            some = texts[at : at + step]
            assert theirs.score(PlainRequests(some)) == ours.score([Request(text) for text in some])
    assert lazy.batches == plain.batches
    assert (theirs.done, theirs.total, theirs.computed) == (ours.done, ours.total, ours.computed)
