"""Items that the user leaves out: by name, by group, from a file; counted, and in the signature."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import wug
from wug.errors import InputError, UnknownName
from wug.families.suite import ItemSuite

ITEMS: list[tuple[str, dict[str, str]]] = [
    ("1", {"field": "a"}),
    ("2", {"field": "b"}),
    ("3", {"field": "b"}),
    ("x=y", {}),
]
FILE = Path("suite.csv")


def suite_without(text: str | None, items: Sequence[tuple[str, Mapping[str, str]]] = ITEMS) -> ItemSuite[Any]:
    return ItemSuite("suite", items, "checksum").without(text, FILE, lambda item: item)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("2", (0, 2, 3)),
        ("field=b", (0, 3)),
        ("field=b,1", (3,)),
        ("x=y", (0, 1, 2)),
        ("", (0, 1, 2, 3)),
        (None, (0, 1, 2, 3)),
    ],
)
def test_items_are_excluded_by_name_or_group(text: str | None, places: tuple[int, ...]) -> None:
    suite = suite_without(text)
    assert list(suite.items) == [ITEMS[place] for place in places]
    assert suite.selection == ({"exclude": text} if text else {})


def test_a_file_has_one_item_per_line_and_a_long_list_a_digest(tmp_path: Path) -> None:
    file = tmp_path / "bad.txt"
    file.write_text("1\n\nfield=b\n", encoding="utf-8")
    assert suite_without(f"@{file}").selection == {"exclude": "1,field=b"}
    many: list[tuple[str, dict[str, str]]] = [(f"item {n}", {}) for n in range(40)]
    file.write_text("\n".join(name for name, _ in many[:30]), encoding="utf-8")
    signature = suite_without(f"@{file}", many).selection["exclude"]
    assert signature.startswith("30 items@")


@pytest.mark.parametrize(("text", "meant"), [("field=c", "field=b"), ("4", "")])
def test_an_unknown_item_is_an_error(text: str, meant: str) -> None:
    with pytest.raises(UnknownName, match=f"unknown item to exclude '{text}'") as error:
        suite_without(text)
    assert meant in str(error.value)


def test_leaving_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match="no item is left"):
        suite_without("1,field=b,x=y")


def test_pairs_choices_and_suites_leave_items_out(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("sentence_good,sentence_bad,field\na b,a c,x\nd e,d f,y\n", encoding="utf-8")
    choices = tmp_path / "choices.jsonl"
    rows = [{"item": name, "context": "A", "options": ["b", "c"], "answer": 1} for name in ("one", "two")]
    choices.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    whole = {path: wug.open_suites(path)[0] for path in (str(pairs), str(choices), "wug_reflexive")}
    for (path, suite), rule in zip(whole.items(), ("field=x", "two", "3"), strict=True):
        [left] = wug.open_suites(path, exclude=rule)
        assert len(left) == len(suite) - 1
        assert (left.options["exclude"], left.checksum) == (rule, suite.checksum)
        result = wug.run(left, "wug-causal", limit=1)[0] if len(left) > 1 else wug.run(left, "wug-causal")[0]
        assert f"1 of {len(suite)} items excluded (exclude={rule})" in result.warnings


def test_questions_about_pairs_have_what_is_left_out_in_their_signature(tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("sentence_good,sentence_bad,field\na b,a c,x\nd e,d f,y\n", encoding="utf-8")
    [left] = wug.open_suites(pairs, exclude="field=x", method="forced_choice")
    assert (len(left), left.options["exclude"]) == (1, "field=x")
