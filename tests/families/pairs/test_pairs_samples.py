"""Samples of the published sets: recognised, grouped, and judged as a plain loop over their lines judges them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_models import FakeScorer, text_scores
from reference import reference
from wug.families import pairs
from wug.families.pairs.formats import format_of
from wug.families.pairs.suite import PairsSuite
from wug.files import head
from wug.outcomes import Notice, Outcome

Sentences = list[tuple[str, str]]


def score(text: str) -> float:
    """A made-up log-probability that depends on every character and its place."""
    return -sum((ord(character) * (place + 3)) % 17 for place, character in enumerate(text)) / 7


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8-sig").splitlines()


def jsonl(good: str, bad: str) -> Callable[[Path], Sentences]:
    def read(path: Path) -> Sentences:
        return [(row[good].strip(), row[bad].strip()) for row in map(json.loads, lines(path))]

    return read


def table(good: str, bad: str, delimiter: str = ",") -> Callable[[Path], Sentences]:
    def read(path: Path) -> Sentences:
        rows = csv.DictReader(lines(path), delimiter=delimiter)
        return [(row[good].strip(), row[bad].strip()) for row in rows]

    return read


def two_a_row(path: Path) -> Sentences:
    rows = csv.DictReader(lines(path))
    return [(row[f"Grammatical_{n}"].strip(), row[f"Ungrammatical_{n}"].strip()) for row in rows for n in (1, 2)]


def in_turn(good: int) -> Callable[[Path], Sentences]:
    """Lines that alternate, the good one first (0) or second (1); a label before a tab is dropped."""

    def read(path: Path) -> Sentences:
        texts = [line.rpartition("\t")[2].strip() for line in lines(path)]
        return [(texts[n + good], texts[n + 1 - good]) for n in range(0, len(texts), 2)]

    return read


def cases(path: Path) -> Sentences:
    return [(good.strip(), bad.strip()) for _, good, bad in (line.split("\t") for line in lines(path)[1:])]


BLIMP = jsonl("sentence_good", "sentence_bad")
SAMPLES: list[tuple[str, str, Callable[[Path], Sentences], dict[str, int], str | None]] = [
    # pattern of the samples, format, plain reading, groups with their numbers of values in the first file, language
    ("blimp/*.jsonl", "blimp", BLIMP, {"paradigm": 1, "term": 1, "field": 1}, None),
    ("refining-tse-blimp/*.jsonl", "blimp", BLIMP, {"paradigm": 1, "term": 1, "field": 1}, None),
    ("refining-tse-ml/*.jsonl", "labelled", BLIMP, {"paradigm": 1}, None),
    ("sling/*.jsonl", "sling", BLIMP, {"paradigm": 1, "phenomenon": 1, "field": 1}, "zh"),
    ("lindsea-id/*syntax*.jsonl", "lindsea", jsonl("correct", "wrong"), {"phenomenon": 1, "paradigm": 2}, "id"),
    ("lindsea-ta/*syntax*.jsonl", "lindsea", jsonl("correct", "wrong"), {"phenomenon": 1, "paradigm": 1}, "ta"),
    ("malindo-blimp/*-zsm.csv", "malindo", table("good_sentence", "bad_sentence"), {"phenomenon": 7}, "ms"),
    ("malindo-blimp/*-ind.csv", "malindo", table("good_sentence", "bad_sentence"), {"phenomenon": 10}, "id"),
    ("malindo-blimp/*.jsonl", "malindo", jsonl("good_sentence", "bad_sentence"), {"phenomenon": 8}, "ms"),
    (
        *("rublimp/*.csv", "rublimp", table("source_sentence", "target_sentence")),
        *({"paradigm": 1, "phenomenon": 1, "level": 1, "domain": 1}, "ru"),
    ),
    ("turblimp/*base*.csv", "turblimp", table("good_sentence", "bad_sentence", ";"), {"phenomenon": 1}, "tr"),
    ("turblimp/*experimental*.csv", "turblimp", table("good_sentence", "bad_sentence"), {"subtype": 1}, "tr"),
    ("syntaxgym-zh/*Classifier_*.csv", "mandarin-two", two_a_row, {"paradigm": 1, "contrast": 2}, "zh"),
    ("syntaxgym-zh/*tkd.csv", "mandarin-two", two_a_row, {"paradigm": 1, "contrast": 2}, "zh"),
    ("syntaxgym-zh/*MObj*.csv", "mandarin", table("Grammatical", "Ungrammatical"), {"paradigm": 1}, "zh"),
    ("syntaxgym-zh/*VO*.csv", "mandarin", table("Grammatical", "Ungrammatical"), {"paradigm": 1}, "zh"),
    ("marvin-linzen/*.txt", "marvin-linzen", cases, {"pattern": 10, "condition": 28}, None),
    *(
        (f"clams-{code}/*.txt", "true-false", in_turn(0), {"pattern": 1}, code)
        for code in ("de", "en", "fr", "he", "ru")
    ),
]


def judged(path: Path, **options: str) -> tuple[PairsSuite, list[Outcome], list[str]]:
    (suite,) = pairs.read(path, options)
    assert isinstance(suite, PairsSuite)
    rows = list(suite.run(FakeScorer(text_scores(score))))
    return (
        suite,
        [row for row in rows if isinstance(row, Outcome)],
        [row.text for row in rows if isinstance(row, Notice)],
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample[0])
def test_a_sample_is_judged_as_a_plain_loop_judges_it(
    sample: tuple[str, str, Callable[[Path], Sentences], dict[str, int], str | None],
) -> None:
    pattern, form, plain, groups, language = sample
    files = sorted(reference("../catalogue/samples").glob(pattern))
    assert files
    for path in files:
        assert format_of(path, head(path)) == form
        suite, outcomes, said = judged(path)
        wanted = plain(path)
        assert [(pair.good, pair.bad) for pair in suite.items] == wanted
        assert [row.value for row in outcomes] == [score(good) > score(bad) for good, bad in wanted]
        assert {pair.groups.get("language") for pair in suite.items} == {language}
        identical = sum(good == bad for good, bad in wanted)
        assert sum("identical" in text for text in said) == (identical > 0)
        copies = len(wanted) - len(set(wanted))
        assert sum("cop" in text for text in said) == (copies > 0)
    suite, _, _ = judged(files[0])
    assert {name: len({pair.groups.get(name) for pair in suite.items}) for name in groups} == groups


def test_zorro_is_read_in_the_order_that_is_said() -> None:
    files = sorted(reference("../catalogue/samples").glob("zorro/*.txt"))
    assert files
    for path in files:
        assert format_of(path, head(path)) is None
        for order, good in (("bad-good", 1), ("good-bad", 0)):
            suite, outcomes, _ = judged(path, lines=order)
            wanted = in_turn(good)(path)
            assert [(pair.good, pair.bad) for pair in suite.items] == wanted
            assert [row.value for row in outcomes] == [score(a) > score(b) for a, b in wanted]


@pytest.mark.parametrize(
    "pattern",
    ["lindsea-id/*semantics*.jsonl", "lindsea-id/*pragmatics*.jsonl", "lm-diagnostics/*.tsv", "aann/*.csv"],
)
def test_what_has_no_pairs_in_it_is_not_taken_for_pairs(pattern: str) -> None:
    files = sorted(reference("../catalogue/samples").glob(pattern))
    assert files
    assert [format_of(path, head(path)) for path in files] == [None] * len(files)
