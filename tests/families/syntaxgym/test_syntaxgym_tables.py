"""Suites in tables: wide and long ones, the lines above them, how they are interpreted, and every kind of error."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from command_line import wug
from wug.errors import InputError
from wug.evaluation.checking import check_file
from wug.families import syntaxgym
from wug.families.syntaxgym.suite import SyntaxGymSuite
from wug.families.syntaxgym.tables import read_head
from wug.families.syntaxgym.write import head_lines, to_csv, to_json
from wug.problems import ProblemList

WIDE = (
    "item,condition,subj,verb,end\n1,sg,The boy,swims,.\n1,pl,The boys,swim,.\n2,sg,A dog,barks,.\n2,pl,Dogs,bark,.\n"
)
HEAD = "# name: number\n# prediction: (verb;%sg%) < (2;%pl%)\n# prediction: (3;%sg%) = (3;%pl%)\n# tags: a, b\n"


def written(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def read(folder: Path, text: str, name: str = "table.csv") -> SyntaxGymSuite:
    return syntaxgym.read(written(folder, text, name), {})[0]


def rows(suite: SyntaxGymSuite) -> dict[tuple[Any, str], list[str]]:
    return {(item.number, c.name): [r.content for r in c.regions] for item in suite.items for c in item.conditions}


def faults(folder: Path, text: str) -> list[str]:
    return [str(problem) for problem in check_file(written(folder, text), "syntaxgym") if problem.level == "error"]


def test_a_wide_table_is_a_suite(tmp_path: Path) -> None:
    suite = read(tmp_path, WIDE)
    assert (suite.name, suite.regions) == ("table", {1: "subj", 2: "verb", 3: "end"})
    assert rows(suite) == {
        (1, "sg"): ["The boy", "swims", "."],
        (1, "pl"): ["The boys", "swim", "."],
        (2, "sg"): ["A dog", "barks", "."],
        (2, "pl"): ["Dogs", "bark", "."],
    }
    expected = (
        "read as a wide table: 2 conditions × 2 items, regions subj, verb, end; 0 predictions; first sentence: "
        "The boy swims ."
    )
    assert suite.understood == expected
    assert syntaxgym.read_back(suite) == [expected]


def test_lines_above_a_table_hold_its_name_predictions_and_meta(tmp_path: Path) -> None:
    suite = read(tmp_path, HEAD + "# made by hand\n\n" + WIDE)
    assert (suite.name, suite.tags) == ("number", ["a", "b"])
    assert [p.formula.canonical() for p in suite.predictions] == [
        "(2;%sg%) < (2;%pl%)",
        "(3;%sg%) = (3;%pl%)",
    ]
    assert suite.understood is not None
    assert "; 2 predictions; " in suite.understood


def test_a_spreadsheets_commas_and_quotes_around_such_a_line_do_not_matter(tmp_path: Path) -> None:
    saved = (
        "# name: number,,,,\n"
        '"# prediction: (verb;%sg%) < (2;%pl%)",,,,\n'
        "# prediction: (3;%sg%) = (3;%pl%),,,,\r\n"
        '"# tags: a, b",,,,\n'
    )
    assert read(tmp_path, saved + WIDE) == read(tmp_path, HEAD + WIDE)


@pytest.mark.parametrize("delimiter", ["\t", ";"])
def test_tabs_and_semicolons_part_columns_too(tmp_path: Path, delimiter: str) -> None:
    table = HEAD + WIDE.replace(",", delimiter)
    assert read(tmp_path, table) == read(tmp_path, HEAD + WIDE)


def test_a_byte_order_mark_and_old_line_ends_are_read(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeff" + HEAD + WIDE) == read(tmp_path, HEAD + WIDE)
    assert read(tmp_path, (HEAD + WIDE).replace("\n", "\r")) == read(tmp_path, HEAD + WIDE)
    assert read(tmp_path, (HEAD + WIDE).replace("\n", "\r\n")) == read(tmp_path, HEAD + WIDE)


def test_an_empty_item_cell_repeats_the_one_above_and_empty_rows_are_ignored(tmp_path: Path) -> None:
    merged = "Item,Condition,a,a,\n1,x,one,two,\n,y,three,four,\n,,,,\nlast,x,five,six,\n"
    suite = read(tmp_path, merged)
    assert suite.regions == {1: "a", 2: "a"}
    assert rows(suite) == {(1, "x"): ["one", "two"], (1, "y"): ["three", "four"], ("last", "x"): ["five", "six"]}


def test_a_wide_table_is_recognised_and_others_are_not() -> None:
    table = Path("x.csv")
    assert syntaxgym.recognises(table, WIDE)
    assert syntaxgym.recognises(table, HEAD + WIDE)
    assert syntaxgym.recognises(Path("x.tsv"), "ITEM\tcond\tnoun\n")
    assert not syntaxgym.recognises(table, "item,condition\n1,a\n"), "no region"
    assert not syntaxgym.recognises(table, "item_number,condition_name,region_number\n"), "a long table without content"
    assert not syntaxgym.recognises(table, "item,sentence,good\n")
    assert not syntaxgym.recognises(table, "# name: nothing below\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,condition,a\n,x,one\n", "line 2: has no item, and there is none above"),
        ("item,condition,a\n1,,one\n", "line 2: has no condition"),
        ("item,condition,a\n1,x,one\n1,x,two\n", "line 3: item 1 has the condition 'x' twice"),
        ("item,condition,a\n1,x,one,two\n", "line 2: has 4 fields, but the header has 3"),
        ("item,condition,a,\n1,x,one,two\n", "line 1: column 4 has no name: name it, or -S ignore=4"),
        ("item,condition,item_id,a\n1,x,1,one\n", "line 1: column 'item' is repeated"),
        ('item,condition,a\n1,x,"one\n', "line 2: unexpected end of data. A field that begins with a "
         'quotation mark must be quoted as a whole, with the marks inside it doubled: "She said ""hello"" ."'),
        ("# name: a\n# name: b\nitem,condition,a\n1,x,one\n", "line 2: name is repeated"),
        ("# prediction:\nitem,condition,a\n1,x,one\n", "line 1: prediction is empty. Write a value after the colon, "
         "or remove the line"),
        ("# predicton: 1 < 2\nitem,condition,a\n1,x,one\n", "line 1: 'predicton' is not a field of a table. "
         "Did you mean 'prediction'?"),
        ('# tags: ["a"\nitem,condition,a\n1,x,one\n', "line 1: tags must be names separated by commas, not '[\"a\"'"),
        ("# name: x\n# tags: y\n", "line 3: not a SyntaxGym suite: there is no table below the "
         "lines that begin with #"),
        ("# name: x\nitem,condition,a\n1,x,one\n1,x\n", "line 4: has 2 fields, but the header has 3"),
        ("# name: x", "line 2: not a SyntaxGym suite: there is no table below the lines that begin with #"),
        ("item,condition,a\n", "items: the list is empty"),
    ],
)  # fmt: skip
def test_a_fault_of_a_table_has_its_line(tmp_path: Path, text: str, said: str) -> None:
    assert said in faults(tmp_path, text)


def test_a_faulty_prediction_above_a_table_has_its_caret(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, "# prediction: (verb;%sg%) < (2;%pll%)\n" + WIDE)
    assert "prediction 1: unknown condition 'pll'. Did you mean 'pl'?" in str(error.value)
    assert "^^^^^" in str(error.value)


def test_an_unknown_field_above_a_table_is_passed_over_with_a_warning(tmp_path: Path) -> None:
    suite = read(tmp_path, "# licence: CC0\n# see https://example.org: good\n" + WIDE)
    assert suite.notices == (
        "line 1: 'licence' is ignored: the fields of a table are prediction, name, author, reference, description, "
        "comment, metric, tags",
    )


def test_a_suite_goes_to_csv_and_back_without_loss(tmp_path: Path) -> None:
    document = to_json(read(tmp_path, HEAD + WIDE))
    assert document["predictions"][0] == {"type": "formula", "formula": "(verb;%sg%) < (2;%pl%)"}
    source = written(tmp_path, json.dumps(document), "suite.json")
    for ending in ("csv", "tsv"):
        table, back = tmp_path / f"suite.{ending}", tmp_path / "back.json"
        assert syntaxgym.convert(source, table, {}) == []
        syntaxgym.convert(table, back, {})
        assert json.loads(back.read_text()) == document


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(
    meta=st.fixed_dictionaries({"name": texts.filter(str.strip)}, optional={"author": texts, "description": texts}),
    tags=st.lists(texts, max_size=3),
    formulas=st.lists(texts.map(lambda text: text + "x"), max_size=3),
    delimiter=st.sampled_from([",", "\t"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_above_a_table_comes_back(
    tmp_path: Path, meta: dict[str, str], tags: list[str], formulas: list[str], delimiter: str
) -> None:
    given = {**meta, "tags": tags}
    suite = read(tmp_path, WIDE)
    written_ = to_csv(suite, delimiter, head_lines(given, formulas))
    found = ProblemList()
    head = read_head(written_, found)
    assert found.errors == []
    assert (head.meta, head.predictions) == (given, formulas)


def test_the_command_line_reads_a_wide_table_and_says_how(tmp_path: Path) -> None:
    path = written(tmp_path, "# prediction: (verb;%sg%) < (verb;%pl%)\n" + WIDE)
    how = (
        "read as a wide table: 2 conditions × 2 items, regions subj, verb, end; 1 prediction; first sentence: "
        "The boy swims ."
    )
    checked = wug("check", path)
    assert checked.out.splitlines()[:2] == [f"{path}: good (2 items)", f"  {how}"]
    ran = wug("run", path, "--model", "wug-causal", "--format", "json", "--no-save", "--no-cache")
    assert [(e["metric"], e["n"]) for e in ran.results[0]["estimates"]][:1] == [("prediction_0", 2)]
    assert f"table: {how}" in ran.err
    converted = wug("convert", path, tmp_path / "out.json")
    assert f"note: {how}" in converted.err


# Columns that are not regions

NUMBERS = "n,item,condition,subj,verb,freq\n0,1,sg,The boy,swims,12\n1,1,pl,The boys,swim,1.5e-3\n"


def contents(suite: SyntaxGymSuite) -> list[str]:
    return [condition.layout().text for item in suite.items for condition in item.conditions]


def test_a_column_of_numbers_is_refused_with_the_choice(tmp_path: Path) -> None:
    assert faults(tmp_path, NUMBERS) == [
        "line 1: the columns n, freq have only numbers. Are they regions? Leave them out with -S ignore=n,freq, or "
        "name all regions with -S regions=n,subj,verb,freq"
    ]


@pytest.mark.parametrize(
    ("options", "regions", "first"),
    [
        ({"ignore": "n,freq"}, ["subj", "verb"], "The boy swims"),
        ({"regions": "subj, verb"}, ["subj", "verb"], "The boy swims"),
        ({"regions": "verb,subj"}, ["verb", "subj"], "swims The boy"),
        ({"regions": "subj,verb,freq"}, ["subj", "verb", "freq"], "The boy swims 12"),
    ],
)
def test_the_user_says_which_columns_are_regions(
    tmp_path: Path, options: dict[str, str], regions: list[str], first: str
) -> None:
    (suite,) = syntaxgym.read(written(tmp_path, NUMBERS), options)
    assert list(suite.regions.values()) == regions
    assert contents(suite)[0] == first
    assert suite.understood is not None
    assert suite.understood.endswith(f"first sentence: {first}")
    left_out = [name for name in ("n", "freq") if name not in regions]
    assert f"regions {', '.join(regions)} (left out: {', '.join(left_out)})" in suite.understood


def test_a_column_without_a_name_is_left_out_by_its_number(tmp_path: Path) -> None:
    text = ",item,condition,subj,verb\n0,1,sg,The boy,swims\n1,1,pl,The boys,swim\n"
    assert faults(tmp_path, text) == ["line 1: column 1 has no name: name it, or -S ignore=1"]
    (suite,) = syntaxgym.read(written(tmp_path, text), {"ignore": "1"})
    assert contents(suite) == ["The boy swims", "The boys swim"]


def test_a_region_may_have_numbers_in_some_rows(tmp_path: Path) -> None:
    suite = read(tmp_path, "item,condition,subj,verb\n1,a,1999,was\n1,b,The year,was\n")
    assert contents(suite) == ["1999 was", "The year was"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ignore": "frq"}, "line 1: no column 'frq' that could be a region. Did you mean 'freq'?"),
        ({"regions": "subj,item"}, "line 1: no column 'item' that could be a region. There is: n, subj, verb, freq"),
        ({"regions": "subj,subj"}, "regions=subj,subj names 'subj' twice"),
        ({"regions": "subj", "ignore": "freq"}, "give either regions or ignore"),
    ],
)
def test_regions_that_the_table_does_not_have_are_refused(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        syntaxgym.read(written(tmp_path, NUMBERS), options)


def test_only_a_wide_table_takes_regions_from_its_columns(tmp_path: Path) -> None:
    for path in (
        written(tmp_path, json.dumps(to_json(read(tmp_path, WIDE))), "suite.json"),
        written(tmp_path, to_csv(read(tmp_path, WIDE)), "long.csv"),
    ):
        with pytest.raises(InputError, match="regions and ignore are for wide tables"):
            syntaxgym.read(path, {"ignore": "freq"})
