"""Writing suites and results, and reading them back."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wug.errors import InputError
from wug.families import syntaxgym
from wug.families.syntaxgym.commands import read_evaluated
from wug.families.syntaxgym.measures import REGION_METRICS
from wug.families.syntaxgym.suite import SyntaxGymSuite
from wug.families.syntaxgym.write import evaluated_json, json_text, surprisals, to_csv, to_json
from wug.outcomes import Outcome, Result, Signature

SCHEMA = json.loads((Path(syntaxgym.__file__).parent / "schema.json").read_text(encoding="utf-8"))
SUITE: dict[str, Any] = {
    "meta": {"name": "wugs", "metric": "sum", "comment": "kept", "version": {"major": 2}},
    "region_meta": {"1": "subject", "2": "verb"},
    "predictions": ["(2;%a%) < (2;%b%)", {"type": "formula", "formula": "(verb;%a%) > 0", "note": "x"}],
    "items": [
        {
            "item_number": 1,
            "source": "field notes",
            "conditions": [
                {
                    "condition_name": name,
                    "checked": True,
                    "regions": [
                        {"region_number": 1, "content": " The wug", "gloss": "det n"},
                        {"region_number": 2, "content": verb},
                    ],
                }
                for name, verb in (("a", "runs"), ("b", 'run, "now"'))
            ],
        }
    ],
    "license": "CC0",
}


def read(path: Path) -> SyntaxGymSuite:
    return syntaxgym.read(path, {})[0]


def written(document: dict[str, Any], folder: Path) -> SyntaxGymSuite:
    path = folder / "wugs.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return read(path)


def outcomes() -> list[Outcome]:
    def condition(*bits: float) -> dict[str, Any]:
        contents = ["The wug", "runs"]
        return {
            "sentence": "The wug runs",
            "regions": [
                {"number": n, "content": content, "value": value, "values": {"sum": value}, "oovs": oovs}
                for n, (content, value, oovs) in enumerate(zip(contents, bits, [["wug", "x"], []], strict=True), 1)
            ],
        }

    return [
        Outcome("1", "prediction_0", False),
        Outcome("1", "prediction_1", True),
        Outcome("1", "all_predictions", False, {}, {"conditions": {"a": condition(2.5, 3), "b": condition(2.5, 1)}}),
        Outcome("1", "prediction_0/mean", True),
    ]


def test_json_keeps_everything_that_was_in_the_file(tmp_path: Path) -> None:
    assert to_json(written(SUITE, tmp_path)) == SUITE


def test_conversion_to_csv_says_what_it_leaves_out(tmp_path: Path) -> None:
    written(SUITE, tmp_path)
    said = syntaxgym.convert(tmp_path / "wugs.json", tmp_path / "table.csv", {})
    assert said == [
        "a table cannot store these fields of meta: version",
        "a table cannot store these fields of predictions: note",
        "a table cannot store these fields: checked, gloss, license, source",
    ]
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines))
    above = sum(row[0].startswith("#") for row in rows)
    assert above == 5  # name, comment, metric, two predictions
    assert rows[above:][:3] == [
        ["item_number", "condition_name", "region_number", "region_name", "content"],
        ["1", "a", "1", "subject", " The wug"],
        ["1", "a", "2", "verb", "runs"],
    ]


def test_a_table_carries_name_and_predictions_to_json_and_back(tmp_path: Path) -> None:
    original = written(SUITE, tmp_path)
    syntaxgym.convert(tmp_path / "wugs.json", tmp_path / "My.Table.csv", {})
    suite = read(tmp_path / "My.Table.csv")
    assert suite.name == original.name
    assert suite.checksum == original.checksum
    assert [c.regions[1].content for c in suite.items[0].conditions] == ["runs", 'run, "now"']
    said = syntaxgym.convert(tmp_path / "My.Table.csv", tmp_path / "back.json", {})
    assert said == [
        "read as a table with one row per region: 2 conditions × 1 item, regions subject, verb; 2 predictions"
    ]
    assert read(tmp_path / "back.json") == suite


def test_other_columns_of_a_table_come_back(tmp_path: Path) -> None:
    text = "item_number,gloss,condition_name,region_number,content\r\n1,det,a,1,The\r\n1,n,a,2,wug\r\n"
    (tmp_path / "t.csv").write_text(text, encoding="utf-8", newline="")
    suite = read(tmp_path / "t.csv")
    assert suite.items[0].conditions[0].regions[1].extra == {"gloss": "n"}
    assert suite.regions == {1: "", 2: ""}
    (how,) = syntaxgym.convert(tmp_path / "t.csv", tmp_path / "copy" / "t.csv", {})
    assert how == "read as a table with one row per region: 1 condition × 1 item, regions 1, 2; 0 predictions"
    assert read(tmp_path / "copy" / "t.csv") == suite


def test_a_suite_is_written_only_in_known_forms(tmp_path: Path) -> None:
    written(SUITE, tmp_path)
    with pytest.raises(InputError, match="xlsx"):
        syntaxgym.convert(tmp_path / "wugs.json", tmp_path / "wugs.xlsx", {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item_number,condition_name,content\n", "line 1: not a SyntaxGym suite: no column 'region_number'"),
        ("item_number,condition_name,region_number,content,content\n", "line 1: column 'content' is repeated"),
        ("item_number,condition_name,region_number,content\n1,a,1\n", "line 2: has 3 fields, but the header has 4"),
        ("item_number,condition_name,region_number,content\n1,a,x,b\n", "line 2: region_number must be a whole number"),
        ('item_number,condition_name,region_number,content\n1,a,1,"b', "line 2: unexpected end of data"),
        ('item_number,condition_name,region_number,content\n1,a,1,"b"c\n', "line 2: ',' expected after"),
        ("item_number,condition_name,region_number,content\n", "region_meta: must be an object"),
        (
            "item_number,condition_name,region_number,region_name,content\n1,a,1,x,b\n1,c,1,y,d\n",
            "line 3: region 1 is named 'y' here but 'x' before",
        ),
        ("item_number,condition_name,region_number,content\n1,a,1,b\n1,a,1,c\n", "region 1: is repeated"),
        ("item_number,condition_name,region_number,content\n,a,1,b\n", "item_number must be a whole number"),
        ("", "the file is empty"),
    ],
)
def test_a_faulty_table_is_refused_with_its_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read(path)
    assert words in str(caught.value)


def test_a_result_is_an_evaluated_suite_that_can_be_judged_again(tmp_path: Path) -> None:
    suite = written(SUITE, tmp_path)
    result = Result(
        "wugs", "syntaxgym", "m", "complete", Signature.read("wug:1|…"), 1, (), (), tuple(outcomes()), meta=suite.meta
    )
    document = evaluated_json(result)
    assert document["meta"]["signature"] == "wug:1|…"
    assert document["meta"]["model"] == "m"
    region = document["items"][0]["conditions"][0]["regions"][0]
    assert (region["metric_value"], region["oovs"]) == ({"sum": 2.5}, ["wug", "x"])
    jsonschema.validate(document, SCHEMA)
    path = tmp_path / "evaluated.json"
    path.write_text(json_text(document), encoding="utf-8")
    again = [row for row in read_evaluated(path).rows() if isinstance(row, Outcome)]
    assert [(row.item, row.metric, row.value) for row in again] == [
        ("1", "prediction_0", False),  # 3 bits are not less than 1
        ("1", "prediction_1", True),
        ("1", "all_predictions", False),
    ]


def test_the_results_table_has_the_columns_that_users_know() -> None:
    result = Result("wugs", "syntaxgym", "m", "complete", Signature.read(""), 1, (), outcomes=tuple(outcomes()))
    columns, rows = syntaxgym.tsv([result])
    assert columns == ("suite", "prediction_id", "item_number", "result")
    assert rows == [("wugs", "0", "1", False), ("wugs", "1", "1", True)]


def test_the_surprisal_table_has_the_columns_that_users_know() -> None:
    result = Result("wugs", "syntaxgym", "m", "complete", Signature.read(""), 1, (), outcomes=tuple(outcomes()))
    columns, rows = surprisals([result])
    assert columns == ("suite", "item_number", "condition_name", "region_number", "content", "metric_value", "oovs")
    assert rows[:2] == [("wugs", "1", "a", 1, "The wug", 2.5, "wug,x"), ("wugs", "1", "a", 2, "runs", 3.0, "")]


# Round trips

_NAMES = st.text(st.characters(exclude_characters="%;", exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=4)
_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), _TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(_TEXTS, inner, max_size=2)),
    max_leaves=3,
)
_EXTRA = st.dictionaries(st.text("xyz", min_size=1, max_size=3).map("x_".__add__), _JSON, max_size=2)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    count = draw(st.integers(1, 3))
    names = draw(st.lists(_NAMES, min_size=1, max_size=3, unique=True))

    def condition(name: str) -> dict[str, Any]:
        contents = [draw(_TEXTS) for _ in range(count)]
        if not any(content.strip() for content in contents):
            contents[-1] = "wug"
        regions = [{"region_number": n, "content": c, **draw(_EXTRA)} for n, c in enumerate(contents, start=1)]
        return {"condition_name": name, "regions": regions, **draw(_EXTRA)}

    numbers = draw(st.lists(st.integers(-5, 99), min_size=1, max_size=3, unique=True))
    prediction = f"(1;%{names[0]}%) < (*;%{names[-1]}%)"
    return {
        "meta": {"name": "t", **draw(_EXTRA)},
        "region_meta": {str(n): draw(_TEXTS) for n in range(1, count + 1)},
        "predictions": draw(st.lists(st.sampled_from([prediction, {"formula": prediction, "x": 1}]), max_size=2)),
        "items": [
            {"item_number": number, "conditions": [condition(name) for name in names], **draw(_EXTRA)}
            for number in numbers
        ],
        **draw(_EXTRA),
    }


@given(documents())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_written_as_json_reads_back_the_same(tmp_path: Path, document: dict[str, Any]) -> None:
    suite = written(document, tmp_path)
    text = json_text(to_json(suite))
    assert json.loads(text) == document
    (tmp_path / "again.json").write_text(text, encoding="utf-8", newline="")
    assert read(tmp_path / "again.json") == suite


@given(documents())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_written_as_csv_reads_back_but_for_what_a_table_cannot_hold(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    suite = written(document, tmp_path)
    path = tmp_path / "t.csv"
    path.write_text(to_csv(suite), encoding="utf-8", newline="")
    again = read(path)
    assert again.regions == suite.regions
    assert [item.number for item in again.items] == [item.number for item in suite.items]
    for here, there in zip(again.items, suite.items, strict=True):
        assert [(c.name, [r.content for r in c.regions]) for c in here.conditions] == [
            (c.name, [r.content for r in c.regions]) for c in there.conditions
        ]
    path.write_text(to_csv(again), encoding="utf-8", newline="")
    assert read(path) == again


@given(documents())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_loads_satisfies_the_schema(tmp_path: Path, document: dict[str, Any]) -> None:
    jsonschema.validate(to_json(written(document, tmp_path)), SCHEMA)


def test_the_schema_is_a_schema_and_refuses_what_the_reader_refuses() -> None:
    assert SCHEMA["$defs"]["metric"]["enum"] == list(REGION_METRICS)
    assert SCHEMA["properties"]["meta"]["properties"]["metric"]["anyOf"][2]["items"]["enum"] == [*REGION_METRICS, "all"]
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert validator.is_valid(SUITE)
    changes: tuple[dict[str, Any], ...] = (
        {"meta": {}},
        {"meta": {"name": "x", "metric": "summ"}},
        {"region_meta": {"one": "x"}},
        {"predictions": [{"type": "formula"}]},
        {"items": []},
        {"items": [{"item_number": 1, "conditions": [{"condition_name": "a;b", "regions": []}]}]},
    )
    for change in changes:
        assert not validator.is_valid({**SUITE, **change})


def test_a_field_with_half_a_surrogate_pair_is_still_written(tmp_path: Path) -> None:
    suite = written({**SUITE, "license": "\ud800"}, tmp_path)
    assert "\\ud800" in json_text(to_json(suite))
