"""People's responses that are joined to pairs, with margins and ceilings worked out by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import wug as package
from command_line import refused, wug
from reference import reference
from wug.errors import InputError
from wug.families import pairs
from wug.families.pairs.suite import PairsSuite
from wug.outcomes import Estimate, Result
from wug.results.queries import table_of
from wug.results.store import Store
from wug.views.family_views import computed_parts, parts_of
from wug.views.parts import Figure

COLUMNS = {"people_item": "pair", "rater": "who", "correct": "right"}
# 1: 3 of 3 agree with the label, 2: 2 of 3, 3: 1 of 3; 9 is not a pair.
ANSWERS = "pair,who,right\n1,x,1\n1,y,1\n1,z,1\n2,x,1\n2,y,1\n2,z,0\n3,x,0\n3,y,0\n3,z,1\n9,x,1\n"
MTURK = (
    "AssignmentStatus,Input.item_1_condition,Input.field_1_1,Input.field_1_2,Answer.Choice1,anonCode\n"
    "Approved,transitiveans2,bad three.,good three.,2. good three.,7\n"
    "Approved,transitiveans1,good one.,bad  one.,1. good one.,7\n"
    "Approved,transitiveans1,good one.,bad  one.,2. bad one.,8\n"
    "Approved,transitiveans1,bad two.,good two.,1. bad two.,7\n"
    "Rejected,transitiveans1,good one.,bad  one.,2. bad one.,9\n"
)
WORDS = ("one", "two", "three", "four")
# The margin of each pair is the logarithm of 10 times the number of its word.
ARPA = "\\data\\\nngram 1=7\n\n\\1-grams:\n-1\t<s>\n-1\t</s>\n-1\tgood\n-1\tbad\n{}\n\\end\\\n"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written(tmp_path / "pairs.jsonl", "".join(pair(f"good {word}.", f"bad {word}.") for word in WORDS))


def pair(good: str, bad: str, **groups: str) -> str:
    return json.dumps({"sentence_good": good, "sentence_bad": bad, **groups}) + "\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def read(suite: Path, people: Path, **options: str) -> PairsSuite:
    [found] = pairs.read(suite, {"people": str(people), **options})
    assert isinstance(found, PairsSuite)
    return found


def margins(suite: PairsSuite) -> list[float | None]:
    return [None if one.human is None else round(one.human, 6) for one in suite.items]


def ceilings(suite: PairsSuite) -> dict[str, float]:
    assert suite.people is not None
    return {row.metric: row.value for row in suite.people.ceilings(suite.items) if isinstance(row, Estimate)}


def test_responses_without_sentences_are_joined_by_item(suite: Path, tmp_path: Path) -> None:
    found = read(suite, written(tmp_path / "answers.csv", ANSWERS), **COLUMNS)
    # 2 · 3/3 - 1, 2 · 2/3 - 1, 2 · 1/3 - 1
    assert margins(found) == [1, pytest.approx(1 / 3, abs=1e-6), pytest.approx(-1 / 3, abs=1e-6), None]
    assert found.notices == (
        "1 of 4 pairs without responses by people",
        "1 of 4 items of people's responses match no pair",
    )


def test_responses_with_sentences_are_joined_by_both_sentences_and_not_by_item(suite: Path, tmp_path: Path) -> None:
    found = read(suite, written(tmp_path / "human_responses.csv", MTURK))
    # one: 1 of 2; three: 1 of 1; of two, the responses name the other sentence as the good one.
    assert margins(found) == [0, None, 1, None]
    assert "1 of 3 items of people's responses match no pair" in found.notices
    assert "1 rejected assignment left out: add -S status=all to keep them" in found.notices
    # one: 1 of 3 with the rejected assignment
    everyone = read(suite, tmp_path / "human_responses.csv", status="all")
    assert margins(everyone)[0] == pytest.approx(-1 / 3, abs=1e-6)


def test_a_table_may_name_items_by_their_sentences(suite: Path, tmp_path: Path) -> None:
    text = "sentence_good,sentence_bad,who,right\ngood two.,bad two.,x,0\ngood two.,bad two.,y,0\nno,yes,x,1\n"
    found = read(suite, written(tmp_path / "answers.csv", text), rater="who", correct="right")
    assert margins(found) == [None, -1, None, None]
    assert found.notices[-1] == "1 of 2 items of people's responses match no pair"


def test_pairs_with_the_same_sentences_have_the_same_responses(tmp_path: Path) -> None:
    twice = written(tmp_path / "pairs.jsonl", pair("good one.", "bad one.") * 2)
    assert margins(read(twice, written(tmp_path / "human_responses.csv", MTURK))) == [0, 0]


def test_pairs_with_one_name_have_the_responses_to_their_sentences(tmp_path: Path) -> None:
    rows = pair("good three.", "bad three.", item="a") + pair("good one.", "bad one.", item="a")
    suite = written(tmp_path / "pairs.jsonl", rows)
    assert margins(read(suite, written(tmp_path / "human_responses.csv", MTURK))) == [1, 0]


def test_ratings_give_the_difference_of_z_scores_over_all_ratings_of_a_rater(suite: Path, tmp_path: Path) -> None:
    # Mean 4, squares 4 + 4 + 0 + 0, sample SD √(8/3); item 9 is not a pair, but x rated it: 4 / √(8/3) = √6.
    rows = "pair,who,type,r\n1,x,yes,6\n1,x,no,2\n9,x,yes,4\n9,x,no,4\n1,c,yes,5\n1,c,no,5\n"
    options = {"people_item": "pair", "rater": "who", "rating": "r", "condition": "type"}
    path = written(tmp_path / "ratings.csv", rows)
    found = read(suite, path, **options, people_good="yes", people_bad="no")
    assert margins(found) == [round(math.sqrt(6), 6), None, None, None]
    assert "1 rater left out of the z scores: all ratings are equal" in found.notices


def test_the_ceiling_of_ratings_is_that_of_the_differences(suite: Path, tmp_path: Path) -> None:
    # x and y differ in their ratings of all sentences, but not in the differences 3, 1 and 5 of the pairs.
    rows = [("x", 1, 4, 1), ("x", 2, 3, 2), ("x", 3, 7, 2), ("y", 1, 6, 3), ("y", 2, 2, 1), ("y", 3, 6, 1)]
    text = "pair,who,type,r\n" + "".join(f"{n},{who},good,{a}\n{n},{who},bad,{b}\n" for who, n, a, b in rows)
    options = {"people_item": "pair", "rater": "who", "rating": "r", "condition": "type", "z_scored": "yes"}
    found = read(suite, written(tmp_path / "ratings.csv", text), **options)
    assert margins(found) == [3, 1, 5, None]
    assert ceilings(found) == {"split_half": pytest.approx(1), "noise_ceiling": pytest.approx(1)}


def test_a_sample_has_the_ceiling_of_its_own_pairs(suite: Path, tmp_path: Path) -> None:
    # x and y agree on all pairs but the second.
    rows = [("x", "1011"), ("y", "1111"), ("z", "1011"), ("w", "1111")]
    text = "pair,who,right\n" + "".join(f"{n},{who},{r}\n" for who, all in rows for n, r in enumerate(all, 1))
    text += "5,x,0\n5,y,0\n5,z,0\n5,w,0\n"
    five = written(tmp_path / "five.jsonl", suite.read_text() + pair("good five.", "bad five."))
    path = written(tmp_path / "answers.csv", text)
    assert ceilings(read(five, path, **COLUMNS))["split_half"] < 1
    assert ceilings(read(five, path, **COLUMNS, exclude="2"))["split_half"] == pytest.approx(1)


def test_the_file_and_how_it_is_read_are_in_the_signature(suite: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "answers.csv", ANSWERS)
    first = read(suite, path, **COLUMNS).options
    assert {name: first[name] for name in COLUMNS} == COLUMNS
    assert read(suite, path, **COLUMNS, method="forced_choice").options["people"] == first["people"]
    assert read(suite, written(path, ANSWERS + "4,x,1\n"), **COLUMNS).options["people"] != first["people"]
    [without] = pairs.read(suite, {})
    assert "people" not in without.options


@pytest.fixture
def model(tmp_path: Path) -> str:
    words = "\n".join(f"-{5 - n}\t{word}." for n, word in enumerate(WORDS[:3], 1))
    text = ARPA.format(words).replace("-1\tbad", "-2\tbad")
    return f"ngram:{written(tmp_path / 'words.arpa', text)}"


def test_python_and_the_command_line_give_the_same(suite: Path, tmp_path: Path, model: str) -> None:
    path = written(tmp_path / "answers.csv", ANSWERS)
    given = [part for name, value in COLUMNS.items() for part in ("-S", f"{name}={value}")]
    said = wug("run", suite, "--model", model, "--people", path, *given, "--no-save", "--format", "json")
    [result] = package.run([suite], models=[model], options={"people": path, **COLUMNS})
    assert "1 of 4 pairs without responses by people" in result.warnings
    assert said.results[0]["signature"] == str(result.signature)
    assert said.values[0] == {(e.metric, e.group): e.value for e in result.estimates}
    assert "people:" in str(result.signature)


def test_a_changed_file_is_another_run_of_a_sweep(suite: Path, tmp_path: Path, model: str) -> None:
    path, store = written(tmp_path / "answers.csv", ANSWERS), tmp_path / "store"
    given = [part for name, value in COLUMNS.items() for part in ("-S", f"{name}={value}")]
    command = ("run", suite, "--model", model, "--people", path, *given, "--store", store, "--sweep", "s")
    assert wug(*command).code == wug(*command).code == 0
    assert len(Store(store).reader.runs()) == 1
    written(path, ANSWERS + "4,x,1\n")
    assert wug(*command).code == 0
    assert len(Store(store).reader.runs()) == 2


def judged(tmp_path: Path, model: str) -> Result:
    """24 pairs in two phenomena, and three people who agree about all but the first."""
    rows = [pair(f"good {WORDS[n % 3]}.", f"bad bad {WORDS[n % 3]}. {n}", phenomenon="ab"[n % 2]) for n in range(24)]
    answers = [f"{n},{who},{int(n % 3 > 0 or who == 'x')}\n" for n in range(1, 25) for who in "xyz"]
    people = written(tmp_path / "answers.csv", "pair,who,right\n" + "".join(answers))
    suite = written(tmp_path / "many.jsonl", "".join(rows))
    [result] = package.run([suite], models=[model], options={"people": people, **COLUMNS})
    return result


def test_the_ceiling_is_a_line_in_the_figure_of_correlations(tmp_path: Path, model: str) -> None:
    result = judged(tmp_path, model)
    parts = list(computed_parts(parts_of(result, table_of(result.outcomes))))
    [figure] = [part for part in parts if isinstance(part, Figure) and part.id == "correlations"]
    assert {row[1:3] for row in figure.rows} == {(name, kind) for name in ("all pairs", "a", "b") for kind in KINDS}
    [ceiling] = [one.value for one in result.estimates if one.metric == "noise_ceiling"]
    layers = figure.chart.to_dict()["layer"]
    lines = [layer["data"]["values"][0] for layer in layers if "values" in layer.get("data", {})]
    assert {"chance": ceiling, "text": f"noise ceiling {ceiling:.4g}"} in lines
    assert f"noise ceiling, {ceiling:.4g}" in figure.note


KINDS = ("Pearson", "Spearman")


@pytest.mark.parametrize(
    ("text", "options", "parts"),
    [
        ("UID,correct,total,acc\np,9,10,0.9\n", {}, ("zhoblimp-summary", "counts per paradigm and no items")),
        ("pair,who,right\nq,x,1\n", COLUMNS, ("no pair matches", "'q'", "'good one.'", "'bad one.'", "item '1'")),
        (MTURK.replace("one", "six").replace("three", "six"), {}, ("'good six.' and 'bad six.'", "'good one.'")),
        (ANSWERS, {}, ("not a known format", "people_item=COLUMN")),
        (ANSWERS, {"correct": "right"}, ("people_item=COLUMN must name",)),
        (ANSWERS, {**COLUMNS, "human": "rating"}, ("either people=FILE or human=COLUMN",)),
    ],
)
def test_a_file_that_cannot_be_joined_is_refused_with_the_reason(
    suite: Path, tmp_path: Path, text: str, options: dict[str, str], parts: tuple[str, ...]
) -> None:
    with pytest.raises(InputError) as error:
        read(suite, written(tmp_path / "answers.csv", text), **options)
    for part in parts:
        assert part in str(error.value)


def test_options_of_responses_need_responses(suite: Path) -> None:
    refused(wug("run", suite, "-S", "rater=who", "--no-save"), "rater is about people's responses: add people=FILE")
    assert "people: none.csv: no such file" in wug("check", suite, "-S", "people=none.csv").out


def test_a_file_without_pairs_is_reported_as_such(tmp_path: Path) -> None:
    path, empty = (
        written(tmp_path / "human_responses.csv", MTURK),
        written(tmp_path / "a.tsv", "pattern\tsent\tsent_alt\n"),
    )
    said = wug("check", empty, "-S", f"people={path}")
    assert "the file has no pairs" in said.out
    assert "Traceback" not in said.err


def test_one_column_may_name_the_items_of_both_files(tmp_path: Path) -> None:
    rows = "pair,sentence_good,sentence_bad\nb,good one.,bad one.\na,good two.,bad two.\n"
    suite, path = written(tmp_path / "pairs.csv", rows), written(tmp_path / "answers.csv", "pair,right\na,1\na,0\n")
    assert margins(read(suite, path, item="pair", correct="right")) == [None, 0]


def test_blimps_responses_join_the_pairs_of_the_published_set() -> None:
    responses = reference("judgements/blimp_people/human_responses_34_paradigms.csv.gz")
    found = read(reference("pairs/blimp"), responses)
    # 34 paradigms with 5 judged pairs each; the reliability is in judgements/expected.tsv.
    assert sum(one is not None for one in margins(found)) == 170
    assert not [text for text in found.notices if "match no pair" in text]
    assert ceilings(found)["split_half"] == pytest.approx(0.707, abs=0.01)


def test_turblimps_ratings_join_its_pairs_by_their_number() -> None:
    found = read(
        reference("judgements/turblimp/base_pairs.csv.gz"), reference("judgements/turblimp/base_judgments.csv.gz")
    )
    said = wug(
        "score",
        "people",
        "--responses",
        reference("judgements/turblimp/base_judgments.csv.gz"),
        "--no-save",
        "--format",
        "json",
    )
    differences = [one.human for one in found.items if one.human is not None]
    assert len(differences) == 96
    assert sum(differences) / 96 == pytest.approx(said.values[0]["rating_difference_z", "all"])
