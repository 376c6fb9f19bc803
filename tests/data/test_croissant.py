"""Croissant: required fields, checksums, columns; the context of the specification."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

import pytest

from command_line import refused, wug
from reference import reference
from wug.data import folder
from wug.data.catalogue import find
from wug.data.croissant import _columns, context, croissant


def test_the_description_of_blimp_has_what_the_valid_example_has(tmp_path: Path) -> None:
    example = json.loads(reference("exchange/croissant/blimp_two_files.json").read_text())
    said = wug("data", "croissant", "blimp", "-o", tmp_path / "croissant.json")
    assert said.code == 0, said.err
    assert "wug data get blimp" in said.err
    found = json.loads((tmp_path / "croissant.json").read_text())
    same = ("@context", "@type", "conformsTo", "name", "license", "url", "version", "creator", "inLanguage")
    assert {key: found[key] for key in same} == {key: example[key] for key in same}
    files = {one["@id"]: one for one in found["distribution"]}
    assert len(files) == 67
    for one in example["distribution"]:
        assert files[one["@id"]] == one
    assert "recordSet" not in found


def test_record_sets_have_the_columns_of_the_files_that_are_here(tmp_path: Path) -> None:
    chosen = find("blimp/causative")
    [file] = chosen.files
    path = folder.folder_of(chosen.set) / file.name
    path.parent.mkdir(parents=True)
    row = json.dumps({"sentence_good": "a", "pairID": 0, "one_prefix_method": False}) + "\n"
    path.write_text((row * (file.size or 0))[: file.size])
    document, warnings = croissant("blimp/causative")
    assert warnings == []
    [records] = document["recordSet"]
    assert [(one["name"], one["dataType"]) for one in records["field"]] == [
        ("sentence_good", "sc:Text"),
        ("pairID", "sc:Integer"),
        ("one_prefix_method", "sc:Boolean"),
    ]
    assert records["field"][0]["source"] == {
        "fileObject": {"@id": "data/causative.jsonl"},
        "extract": {"column": "sentence_good"},
    }


def test_a_file_that_is_known_by_its_git_hash_only_must_be_fetched() -> None:
    refused(wug("data", "croissant", "ewok"), "only its Git hash is known", "wug data get ewok")


@pytest.mark.parametrize("name", ["multiblimp"])
def test_a_set_without_a_licence_says_so(name: str) -> None:
    document, warnings = croissant(name)
    assert document["license"] == "unknown"
    assert "usageInfo" in document
    assert any("licence" in text for text in warnings)


def test_the_context_is_the_one_of_the_specification() -> None:
    assert json.loads(reference("exchange/croissant/blimp_two_files.json").read_text())["@context"] == context()


def test_a_path_with_a_space_has_an_address_and_an_identifier_without_one() -> None:
    document, _ = croissant("sap")
    [file] = [one for one in document["distribution"] if one["name"] == "Items for all subsets.xlsx"]
    assert file["@id"] == "Items_for_all_subsets.xlsx"
    assert file["contentUrl"].endswith("/Items%20for%20all%20subsets.xlsx")


@pytest.mark.parametrize(
    ("first", "columns"),
    [
        ("A rose was helped by a dog .\trose ( x _ 1 ) ; * dog ( x _ 6 )\tin_distribution", {}),
        (
            "word\tfrequency\tno of items",
            {"word": "sc:Text", "frequency": "sc:Float", "no of items": "sc:Integer"},
        ),
    ],
)
def test_a_table_without_a_header_has_no_columns(first: str, columns: dict[str, str]) -> None:
    assert _columns(f"{first}\nthe\t2.5\t3\n", "train.tsv") == columns


def test_columns_and_tables_have_identifiers_of_their_own_without_white_space(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = find("jblimp")
    tables = [file for file in chosen.files if file.name.endswith((".csv", ".tsv", ".jsonl"))]
    assert len({PurePosixPath(file.path).stem for file in tables}) < len(tables)
    monkeypatch.setattr("wug.data.croissant.missing", lambda selection: [])
    monkeypatch.setattr("wug.data.croissant.head", lambda path: '{"no of items": 3}\n{"no of items": 4}\n')
    sets = croissant("jblimp")[0]["recordSet"]
    ids = [one["@id"] for one in sets] + [field["@id"] for one in sets for field in one["field"]]
    assert len(set(ids)) == len(ids)
    assert any(one.endswith("/no_of_items") for one in ids)
    assert not any(" " in one for one in ids)


@pytest.mark.parametrize("separator", ["\u2028", "\u0085", "\x0b"])
def test_a_line_of_json_ends_at_a_line_feed_only(separator: str) -> None:
    row = json.dumps({"sentence_good": f"a{separator}b"}, ensure_ascii=False)
    assert _columns(f"{row}\n{row}\n", "a.jsonl") == {"sentence_good": "sc:Text"}
