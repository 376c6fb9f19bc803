"""The fields of a signature, for suites of every family."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluating import cached
from fake_models import FakeGenerator, FakeScorer, letter_scores
from reference import reference
from wug.evaluation.evaluate import build_signature, evaluate, signature
from wug.evaluation.suites import builtin_suites, open_suites
from wug.families import pairs, pcfgset, syntaxgym
from wug.families.pcfgset.localism import score_trace
from wug.interfaces import Suite
from wug.outcomes import Result, Signature
from wug.results.comparison import ComparisonSettings, compare
from wug.results.store import Store, run_key

FAMILIES = (
    "wug_reflexive",
    "wug_coord",
    "localism",
    "substitutivity",
    "overgeneralisation",
    "task_accuracy",
    "wug_cogs_gen",
)


def fake_model(suite: Suite, name: str = "a") -> FakeScorer | FakeGenerator:
    """A model that the suite can evaluate: longer words are less probable, or the output is the last two words."""
    if suite.needs == "scores":
        return FakeScorer(letter_scores(1 / 7), f"letters/{name}@0")
    return FakeGenerator(lambda source: " ".join(source.split()[-2:]), f"last/{name}@0")


def suite_named(name: str) -> Suite:
    return open_suites(name)[0]


def keep(store: Store, suite: Suite, name: str) -> int:
    """A run of the suite by a fake model."""
    model = fake_model(suite, name)
    (result,) = evaluate([suite], cached(model))
    number = store.begin(run_key([result.signature], {}), model.id, f"wug run {name}")
    store.add(number, result)
    store.finish(number, "complete")
    return number


@pytest.mark.parametrize("name", sorted(builtin_suites()))
def test_a_limit_stands_beside_the_checksum_of_the_whole_and_only_where_it_cuts(name: str) -> None:
    for suite in open_suites(name):
        model: Any = fake_model(suite)
        for items in (len(suite), len(suite) + 1, 100_000):
            assert str(signature(suite.sample(items), model)) == str(signature(suite, model))
        short = suite.sample(3)
        assert (len(short), short.checksum) == (3, suite.checksum)
        # Of suites that have groups, every group gets its share, and the signature tells that way from a plain one.
        way = short.options["limit"].removeprefix("3")
        assert way in ("", " by group")
        assert dict(short.options) == {**suite.options, "limit": f"3{way}"}
        assert short.sample(2).checksum == suite.checksum
        assert short.sample(2).options["limit"] in ("2", "2 by group")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_limited_run_is_compared_with_a_whole_one_item_by_item(name: str, tmp_path: Path) -> None:
    whole = suite_named(name).sample(20)
    store = Store(tmp_path / "store")
    numbers = [keep(store, whole, "whole"), keep(store, whole.sample(7), "some")]
    found = compare(store, [[number] for number in numbers], ComparisonSettings(items=100))
    assert max(contrast.items for contrast in found.contrasts) == 7
    assert all(contrast.difference == 0 and not contrast.disagreements for contrast in found.contrasts)
    told = [warning.replace(" by group", "") for warning in found.warnings]
    assert "different settings, limit – A: 20; B: 7 (every suite)" in told
    assert any("of A left out: the other side does not have them" in w for one in found.contrasts for w in one.warnings)


@pytest.mark.parametrize(
    "model_options", [{"eos": "no", "state": "fresh", "dtype": "float32"}, {"suite": "a", "limit": "3"}]
)
@pytest.mark.parametrize("name", FAMILIES)
def test_no_field_stands_twice(name: str, model_options: dict[str, str]) -> None:
    suite = suite_named(name).sample(5)
    made = build_signature(suite.name, suite.checksum, suite.options, "m", model_options)
    keys = [key for key, _ in made.fields]
    assert len(set(keys)) == len(keys)
    assert {*model_options.values()} <= {value.removeprefix("m,") for _, value in made.fields}


def test_an_option_of_the_model_that_a_suite_has_too_is_called_the_models() -> None:
    suite = suite_named("wug_reflexive")
    fields = dict(build_signature(suite.name, suite.checksum, suite.options, "m", {"eos": "yes"}).fields)
    assert (fields["eos"], fields["model_eos"]) == ("none", "yes")


def backwards_syntaxgym(folder: Path) -> tuple[Suite, Suite]:
    document = json.loads(builtin_suites()["wug_reflexive"].read_text(encoding="utf-8"))
    found = []
    for name in ("one", "two"):
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        found.append(syntaxgym.read(folder / f"{name}.json", {})[0])
        document["items"].reverse()
    return found[0], found[1]


def backwards_pairs(folder: Path) -> tuple[Suite, Suite]:
    rows = [f"p\tthe {noun} laughs\tthe {noun} laugh\t{noun}" for noun in ("guard", "author", "pilot")]
    for name in ("one", "two"):
        text = "\n".join(["pattern\tsent\tsent_alt\titem", *rows])
        (folder / f"{name}.tab").write_text(text, encoding="utf-8")
        rows.reverse()
    return pairs.read(folder / "one.tab", {})[0], pairs.read(folder / "two.tab", {})[0]


def backwards_localism(folder: Path) -> tuple[Suite, Suite]:
    samples = [
        "unrolled\tcopy A1\t*1\nunrolled\techo *1\tA1 A1\noriginal\techo copy A1\tA1 A1\n",
        "unrolled\treverse B2 A1\tA1 B2\noriginal\treverse B2 A1\tA1 B2\n",
        "unrolled\tappend C3 , D4\tC3 D4\noriginal\tappend C3 , D4\tC3 D4\n",
    ]
    for name in ("one", "two"):
        (folder / f"{name}.tsv").write_text("".join(samples), encoding="utf-8")
        samples.reverse()
    return pcfgset.read(folder / "one.tsv", {})[0], pcfgset.read(folder / "two.tsv", {})[0]


@pytest.mark.parametrize("read", [backwards_syntaxgym, backwards_pairs, backwards_localism])
def test_items_that_are_not_called_after_their_place_may_stand_in_any_order(read: Any, tmp_path: Path) -> None:
    one, two = read(tmp_path)
    assert one.checksum == two.checksum
    model: Any = fake_model(one)
    rows = [{(row.item, row.metric): row for row in suite.run(model)} for suite in (one, two)]
    assert rows[0] == rows[1]  # every item has the same content in both
    assert [row.item for row in rows[0].values()] != [row.item for row in rows[1].values()]


def test_pairs_that_are_called_after_their_place_may_not(tmp_path: Path) -> None:
    rows = ["p\tcats sleep\tcats sleeps", "p\tdogs bark\tdogs barks"]
    checksums = set()
    for name, order in (("one", rows), ("two", rows[::-1])):
        (tmp_path / f"{name}.tab").write_text("\n".join(["pattern\tsent\tsent_alt", *order]), encoding="utf-8")
        checksums.add(pairs.read(tmp_path / f"{name}.tab", {})[0].checksum)
    assert len(checksums) == 2


def test_what_a_model_with_a_carried_state_read_is_in_its_signature(tmp_path: Path) -> None:
    one, two = backwards_pairs(tmp_path)
    carrying = FakeScorer(letter_scores(1 / 7), ordered=True)
    marks = [dict(signature(suite, carrying).fields).get("read") for suite in (one, two, one)]
    assert marks[0] == marks[2] != marks[1]
    assert "read" not in dict(signature(one, FakeScorer(letter_scores(1 / 7))).fields)


def test_published_localism_runs_in_orders_of_their_own_are_the_same_suite() -> None:
    folder = reference("pcfgset/model_predictions/lstms2s/localism")
    asked: Any = [score_trace(folder / f"run={n}.txt.gz").suite for n in (1, 2, 3)]
    (tested,) = pcfgset.read(reference("pcfgset/localism/unrolled_test.tsv.gz"), {})
    sources = [{sample.item: sample.source for sample in suite.items} for suite in (*asked, tested)]
    assert {suite.checksum for suite in (*asked, tested)} == {tested.checksum}
    assert sources == [sources[0]] * 4
    assert len(sources[0]) == 9567
    assert len({tuple(found) for found in sources}) > 1  # each in a different order


def test_a_signature_is_fields_in_their_order_and_one_line_of_text() -> None:
    found = Signature((("wug", "1"), ("model", "causal/a|b:c@1"), ("unit", "two\nlines")))
    assert str(found) == "wug:1|model:causal/a|b:c@1|unit:two lines"
    assert (found.get("model"), found.get("limit")) == ("causal/a|b:c@1", None)
    assert found.without("model", "unit") == Signature((("wug", "1"),))
    assert str(Signature()) == ""


@given(st.text(alphabet="ab:|@/, ", max_size=20))
def test_a_signature_that_was_kept_as_text_prints_as_it_was(text: str) -> None:
    assert str(Signature.read(text)) == text


def test_a_result_takes_its_signature_as_text_too() -> None:
    text: Any = "wug:1|suite:a@2"
    made = Result("a", "pairs", "m", "complete", text, 0, ())
    assert made.signature == Signature((("wug", "1"), ("suite", "a@2")))


def test_a_value_may_contain_what_separates_fields() -> None:
    made = build_signature("a|b", "1", {"join": "x|y:z"}, "m", {"path": "p|q"})
    assert made.without("wug").fields == (("suite", "a|b@1"), ("model", "m"), ("path", "p|q"), ("join", "x|y:z"))
