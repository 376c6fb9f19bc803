"""Reading suites: what loads, what is refused with which words, and what is odd."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from case_selection import examples
from wug import files
from wug.errors import FormulaError, InputError, SuiteError, UnknownName, WugError
from wug.evaluation.checking import check_file
from wug.families import syntaxgym
from wug.families.syntaxgym.lint import lint
from wug.families.syntaxgym.suite import SyntaxGymSuite
from wug.interfaces import Suite
from wug.outcomes import Derivation, Metric, effect_metrics


def sentence(name: str, *contents: str) -> dict[str, Any]:
    regions = [{"region_number": n, "content": content} for n, content in enumerate(contents, start=1)]
    return {"condition_name": name, "regions": regions}


SUITE: dict[str, Any] = {
    "meta": {"name": "agreement"},
    "region_meta": {"1": "subject", "2": "verb"},
    "predictions": ["(2;%match%) < (2;%mismatch%)"],
    "items": [
        {
            "item_number": 1,
            "conditions": [sentence("match", "The wug", "runs"), sentence("mismatch", "The wug", "run")],
        },
        {"item_number": 2, "conditions": [sentence("mismatch", "A dax", "sing"), sentence("match", "A dax", "sings")]},
    ],
}


@pytest.fixture
def suite() -> dict[str, Any]:
    return copy.deepcopy(SUITE)


def load(document: object, folder: Path, **options: str) -> SyntaxGymSuite:
    path = folder / "suite.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return syntaxgym.read(path, options)[0]


def faults(document: object, folder: Path) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(document, folder)
    if isinstance(caught.value, SuiteError):
        return [str(problem) for problem in caught.value.problems]
    return [f"{caught.value.place}: {caught.value.message}" if caught.value.place else caught.value.message]


def warnings(document: object, folder: Path) -> list[str]:
    return warnings_of(load(document, folder))


def warnings_of(suite: SyntaxGymSuite) -> list[str]:
    return [*suite.notices, *map(str, lint(suite))]


def checked(document: object, folder: Path, **options: str) -> list[str]:
    path = folder / "suite.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return [str(problem) for problem in check_file(path, "syntaxgym", options)]


# What loads


def test_a_suite_knows_its_parts(suite: dict[str, Any], tmp_path: Path) -> None:
    loaded = load(suite, tmp_path)
    assert isinstance(loaded, Suite)
    assert (loaded.name, loaded.kind, loaded.needs, len(loaded)) == ("agreement", "syntaxgym", "scores", 2)
    assert loaded.regions == {1: "subject", 2: "verb"}
    assert loaded.options == {"join": "space", "eos": "none", "metric": "sum", "unit": "bits"}
    assert loaded.metrics == [
        Metric("all_predictions", headline=False, meaning="every prediction holds"),
        Metric("prediction_0", meaning="region 2 (verb) is less surprising in match than in mismatch"),
        *effect_metrics(
            "effect_0",
            Derivation("prediction_0", "margin"),
            "difference in bits, positive where region 2 (verb) is less surprising in match than in mismatch",
        ),
    ]
    assert not warnings_of(loaded)


def test_each_distinct_sentence_is_asked_once(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["items"].append({"item_number": 3, "conditions": copy.deepcopy(suite["items"][0]["conditions"])})
    asked = [request.text for request in load(suite, tmp_path).requests()]
    assert asked == ["The wug runs", "The wug run", "A dax sing", "A dax sings"]


@pytest.mark.parametrize(
    "prediction",
    [
        "(2;%match%) < (2;%mismatch%)",
        {"type": "formula", "formula": "(2;%match%) < (2;%mismatch%)"},
        {"formula": "(verb;%match%) < (verb;%mismatch%)"},
        {"relation": "lessthan", "region_number": 2, "l_operand": "match", "r_operand": "mismatch"},
    ],
)
def test_a_prediction_may_have_any_of_its_three_shapes(
    prediction: object, suite: dict[str, Any], tmp_path: Path
) -> None:
    suite["predictions"] = [prediction]
    loaded = load(suite, tmp_path)
    assert loaded.predictions[0].formula.canonical() == "(2;%match%) < (2;%mismatch%)"
    assert loaded.predictions[0].raw == prediction


def test_the_older_relations_are_greaterthan_lessthan_and_equal(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["predictions"] = [
        {"relation": relation, "region_number": 1, "l_operand": "match", "r_operand": "mismatch"}
        for relation in ("greaterthan", "lessthan", "equal")
    ]
    loaded = load(suite, tmp_path)
    assert [prediction.formula.source.split()[1] for prediction in loaded.predictions] == [">", "<", "="]


def test_a_gzipped_suite_is_the_same_suite(suite: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "suite.json.gz"
    path.write_bytes(gzip.compress(json.dumps(suite).encode()))
    assert syntaxgym.recognises(path, files.head(path))
    assert syntaxgym.read(path, {})[0] == load(suite, tmp_path)


def test_regions_are_trimmed_and_empty_ones_skipped(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["region_meta"]["3"] = "end"
    suite["items"] = [{"item_number": 1, "conditions": [sentence("match", " The wug", "", "runs ")]}]
    suite["predictions"] = []
    assert load(suite, tmp_path).requests()[0].text == "The wug runs"


def test_detokenized_text_has_no_space_before_punctuation(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["region_meta"]["3"] = "end"
    suite["items"] = [{"item_number": 1, "conditions": [sentence("match", "The wug", ", too,", "runs .")]}]
    suite["predictions"] = []
    assert load(suite, tmp_path).requests()[0].text == "The wug , too, runs ."
    assert load(suite, tmp_path, join="detokenized").requests()[0].text == "The wug, too, runs ."


def test_the_circuit_comes_from_the_name_or_a_tag(suite: dict[str, Any], tmp_path: Path) -> None:
    def circuit(name: str, *tags: str) -> str | None:
        suite["meta"] = {"name": name, "tags": list(tags)}
        return load(suite, tmp_path).circuit

    assert circuit("npi_orc_any") == "Licensing"
    assert circuit("fgd-embed3") == "Long-Distance Dependencies"
    assert circuit("center_embed") == "Center Embedding"
    assert circuit("mine") is None
    assert circuit("mine", "english", "Gross syntactic state") == "Gross Syntactic State"
    assert circuit("mine", "filler-gap") == "Long-Distance Dependencies"
    assert circuit("mine", "npz_obj") == "Garden-Path Effects"


def test_meta_is_for_pages_and_the_comment_stays_in_the_file(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["meta"] |= {"tags": ["x"], "author": "A. Author", "reference": "", "comment": "secret", "model": 3}
    meta = load(suite, tmp_path).meta
    assert meta["regions"] == {"1": "subject", "2": "verb"}
    assert meta["formulas"][0]["english"] == "region 2 (verb) is less surprising in match than in mismatch"
    assert (meta["tags"], meta["author"], meta["metric"], meta["phenomenon"]) == (["x"], "A. Author", ["sum"], None)
    assert "reference" not in meta
    assert "secret" not in json.dumps(dict(meta))


def test_meta_says_which_regions_and_conditions_a_formula_speaks_of(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["predictions"] = [{"type": "formula", "formula": "(verb;%match%) < (*;%mismatch%) + (verb;%match%)"}]
    (formula,) = load(suite, tmp_path).meta["formulas"]
    assert formula["regions"] == [[2, "match"], ["*", "mismatch"]]


def test_the_checksum_depends_on_sentences_and_predictions_not_on_notation(
    suite: dict[str, Any], tmp_path: Path
) -> None:
    plain = load(suite, tmp_path).checksum
    suite["predictions"] = ["[(2;%match%)<(2;%mismatch%)]"]
    suite["items"][0]["conditions"][0]["regions"][0]["content"] = " The wug "
    assert load(suite, tmp_path).checksum == plain
    suite["predictions"] = ["(2;%match%) <= (2;%mismatch%)"]
    changed = load(suite, tmp_path).checksum
    assert changed != plain
    suite["items"][0]["conditions"][0]["regions"][0]["content"] = "The wugs"
    assert load(suite, tmp_path).checksum not in (plain, changed)


def test_the_first_items_are_a_suite_whose_options_say_so(suite: dict[str, Any], tmp_path: Path) -> None:
    loaded = load(suite, tmp_path)
    assert len(loaded.sample(1)) == 1
    assert loaded.sample(1).options["limit"] == "1"
    assert loaded.sample(2) == loaded


# Options


def test_metrics_come_from_the_suite_or_the_option_sum_first(suite: dict[str, Any], tmp_path: Path) -> None:
    assert load(suite, tmp_path).region_metrics == ("sum",)
    suite["meta"]["metric"] = ["mean", "sum", "max"]
    assert load(suite, tmp_path).region_metrics == ("sum", "mean", "max")
    suite["meta"]["metric"] = ["min", "max"]
    assert load(suite, tmp_path).region_metrics == ("min", "max")
    suite["meta"]["metric"] = "all"
    assert load(suite, tmp_path).region_metrics == ("sum", "mean", "median", "range", "max", "min")
    assert load(suite, tmp_path, metric="median").region_metrics == ("median",)
    assert load(suite, tmp_path, metric="max, sum").region_metrics == ("sum", "max")


def test_an_unknown_option_or_value_is_named(suite: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'join'"):
        load(suite, tmp_path, jion="space")
    with pytest.raises(InputError, match="join=spaces: use one of space, detokenized"):
        load(suite, tmp_path, join="spaces")
    with pytest.raises(InputError, match=r"metric=mena: use one of .*Did you mean 'mean'"):
        load(suite, tmp_path, metric="mena")


# What is refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty"),
        (" \n", "the file is empty"),
        ('{"meta": {"name": "x" "y"}}', "line 1, column 23: not valid JSON"),
        ('{\n "meta": {]\n}', "line 2, column 11: not valid JSON"),
        ('{"meta": 1} {"meta": 2}', "line 1, column 13: not valid JSON: extra data"),
        ("[1, 2]", "not a SyntaxGym suite: a suite is an object with 'meta'"),
        ("5", "but this is a single value"),
        ("{}", "an object with nothing in it"),
        ('{"a": 1, "b": 2}', "an object with 'a', 'b'"),
        ("[" * 100_000, "nested too deeply"),
        ('{"meta": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"meta": {"name": "x", "name": "y"}}', "an object has a repeated key, 'name'"),
        ('{"meta": {"name": "x", "version": NaN}}', "meta, version: nan is not a JSON value"),
    ],
)
def test_a_file_that_is_no_suite_says_so_with_its_place(text: str, words: str, tmp_path: Path) -> None:
    assert words in "\n".join(faults(text, tmp_path))


def test_bad_json_on_one_long_line_quotes_only_its_surroundings(tmp_path: Path) -> None:
    text = '{"meta": "' + "x" * 1_000_000 + '" oops}'
    message = "\n".join(faults(text, tmp_path))
    assert "line 1, column 1000013" in message
    assert len(message) < 400
    assert "oops" in message


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    path.write_bytes(b'{"meta":\n {"name": "caf\xe9"}}')
    with pytest.raises(InputError, match="line 2: not UTF-8"):
        syntaxgym.read(path, {})


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        (("meta",), "x", "meta: must be an object, not the text 'x'"),
        (("meta",), {}, "meta: 'name' is missing"),
        (("meta", "name"), 5, "meta, name: must be text, not the number 5"),
        (("meta", "name"), " ", "meta, name: is empty: give the suite a name"),
        (("meta", "metric"), "summ", "meta, metric: unknown metric 'summ'. Did you mean 'sum'?"),
        (("meta", "metric"), 3, "meta, metric: must be a metric's name or a list of them, not the number 3"),
        (("meta", "metric"), [], "meta, metric: must be a metric's name or a list of them, not a list"),
        (("meta", "tags"), "agreement", "meta, tags: must be a list of texts"),
        (("meta", "author"), ["A", "B"], "meta, author: must be text, not a list"),
        (("region_meta",), ["subject", "verb"], "region_meta: must be an object of numbers and names, not a list"),
        (("region_meta",), {}, "region_meta: must be an object of numbers and names, not empty"),
        (("region_meta",), {"1": "a", "3": "b"}, "numbered from 1 without gaps, not 1, 3"),
        (("region_meta",), {"0": "a", "1": "b"}, "numbered from 1 without gaps, not 0, 1"),
        (("region_meta",), {"1": "a", "two": "b"}, "a region's number must be a whole number from 1, not 'two'"),
        (("region_meta",), {"1": "a", "01": "b"}, "a region's number must be a whole number from 1, not '01'"),
        (("region_meta", "1"), None, "region_meta, 1: a region's name must be text, not null"),
        (("predictions",), None, "predictions: must be a list, not null"),
        (("predictions", 0), 5, "prediction 1: must be a formula, not the number 5"),
        (("predictions", 0), {"type": "regex", "formula": "x"}, "prediction 1: type must be 'formula'"),
        (("predictions", 0), {"type": "formula"}, "prediction 1: 'formula' is missing"),
        (("predictions", 0), {"relation": "greatertan"}, "unknown relation 'greatertan'. Did you mean 'greaterthan'?"),
        (("predictions", 0), {"relation": "equal", "l_operand": "match"}, "prediction 1: 'r_operand' is missing"),
        (("items",), {}, "items: must be a list, not an object"),
        (("items",), [], "items: the list is empty"),
        (("items", 0), "x", "items, entry 1: must be an object with item_number and conditions"),
        (("items", 0, "item_number"), 1.5, "items, entry 1: item_number must be a whole number, not the number 1.5"),
        (("items", 0, "item_number"), True, "items, entry 1: item_number must be a whole number, not true"),
        (("items", 1, "item_number"), 1, "item 1: another item has the same number"),
        (("items", 0, "conditions"), [], "item 1: conditions must be a nonempty list"),
        (("items", 0, "conditions", 0), 3, "item 1, entry 1 of conditions: must be an object"),
        (("items", 0, "conditions", 0, "condition_name"), "", "condition_name must be text"),
        (("items", 0, "conditions", 0, "condition_name"), "a;b", "cannot contain % or ;"),
        (("items", 0, "conditions", 0, "condition_name"), "mismatch", "item 1: condition 'mismatch' is repeated"),
        (("items", 0, "conditions", 0, "regions"), "x", "item 1, condition match: regions must be a list"),
        (("items", 0, "conditions", 0, "regions"), [], "item 1, condition match: region 1 is missing"),
        (
            ("items", 0, "conditions", 0, "regions", 1),
            0,
            "item 1, condition match, entry 2 of regions: must be an object",
        ),
        (("items", 0, "conditions", 0, "regions", 1, "region_number"), "2", "region_number must be a whole number"),
        (
            ("items", 0, "conditions", 0, "regions", 1, "region_number"),
            7,
            "condition match, region 7: is not in region_meta",
        ),
        (("items", 0, "conditions", 0, "regions", 1, "region_number"), 1, "condition match, region 1: is repeated"),
        (("items", 0, "conditions", 0, "regions", 1, "content"), None, "match, region 2: content must be text"),
        (
            ("items", 0, "conditions", 0, "regions", 1, "content"),
            ["runs"],
            'content must be text ("" for none), not a list',
        ),
        (("items", 0, "conditions", 0, "regions", 1, "content"), "\ud800", "a lone surrogate"),
        (("items", 0, "conditions", 0, "regions", 1, "content"), "swi\0ms", "content has a NUL"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(
    where: tuple[Any, ...], value: object, words: str, suite: dict[str, Any], tmp_path: Path
) -> None:
    holder: Any = suite
    for key in where[:-1]:
        holder = holder[key]
    holder[where[-1]] = value
    assert words in "\n".join(faults(suite, tmp_path))


@pytest.mark.parametrize("key", ["meta", "region_meta", "predictions", "items"])
def test_each_missing_part_is_one_fault_and_not_many(key: str, suite: dict[str, Any], tmp_path: Path) -> None:
    del suite[key]
    found = faults(suite, tmp_path)
    assert len(found) == 1
    assert f"{key!r} is missing" in found[0]


def test_all_faults_are_listed_at_once(suite: dict[str, Any], tmp_path: Path) -> None:
    del suite["meta"]["name"]
    suite["items"][0]["conditions"][0]["regions"][0]["content"] = 1
    suite["items"][1]["item_number"] = None
    suite["predictions"].append("1 <")
    assert len(faults(suite, tmp_path)) == 4


def test_more_than_twenty_faults_are_counted(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["items"] = [{"item_number": None}] * 5000
    found = faults(suite, tmp_path)
    assert len(found) == 21
    assert found[-1] == "4,980 more; `wug check` lists the first 100"


def test_a_sentence_without_text_is_a_fault(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["items"][0]["conditions"][0] = sentence("match", "", " ")
    assert faults(suite, tmp_path) == ["item 1, condition match: the sentence has no text"]


def test_an_item_without_a_condition_that_a_prediction_needs_is_a_fault(suite: dict[str, Any], tmp_path: Path) -> None:
    del suite["items"][1]["conditions"][0]
    assert faults(suite, tmp_path) == ["item 2: condition 'mismatch' is missing, which prediction 1 needs"]


def test_a_lone_faulty_prediction_has_its_caret(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["predictions"] = ["(2;%match%) < (2;%mismatch%)", "(2;%mach%) < (2;%mismatch%)"]
    with pytest.raises(FormulaError) as caught:
        load(suite, tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / 'suite.json'}, prediction 2: unknown condition 'mach'. Did you mean 'match'?\n"
        "    (2;%mach%) < (2;%mismatch%)\n"
        "       ^^^^^^"
    )


def test_an_empty_region_in_a_prediction_is_reported_with_what_follows(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["items"][0]["conditions"][0] = sentence("match", "The wug runs", "")
    place = "item 1, condition match, region 2: is empty, so prediction 1"
    assert checked(suite, tmp_path) == [f"{place} is not judged there (the option empty=zero counts it as 0 bits)"]
    assert checked(suite, tmp_path, empty="zero") == [f"{place} takes it as 0 bits"]
    fix = "Fill it in, or exclude such items (empty=exclude)"
    assert checked(suite, tmp_path, empty="refuse") == [f"{place} has no value. {fix}"]
    suite["meta"]["metric"] = ["sum", "mean"]
    fix = "Use the metric sum, which is 0 there, or exclude such items (empty=exclude)"
    assert checked(suite, tmp_path, empty="zero") == [f"{place} has no value by mean. {fix}"]


def test_warnings_of_a_sample_are_about_its_items(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["items"][1]["conditions"][0]["regions"][1]["content"] += " "
    whole = load(suite, tmp_path)
    assert len(warnings_of(whole)) == 1
    assert whole.sample(1).items[0].number == 1
    assert not warnings_of(whole.sample(1))


# What is odd


def test_stray_spaces_are_one_warning_however_many(suite: dict[str, Any], tmp_path: Path) -> None:
    for item in suite["items"]:
        for condition in item["conditions"]:
            condition["regions"][1]["content"] += " "
    assert warnings(suite, tmp_path) == [
        "4 regions have spaces around their text, which are trimmed; first item 1, condition match, region 2"
    ]


def test_two_conditions_with_the_same_sentence_are_a_warning_that_says_what_follows(
    suite: dict[str, Any], tmp_path: Path
) -> None:
    suite["items"][1]["conditions"][0] = sentence("mismatch", "A dax", "sings")
    assert warnings(suite, tmp_path) == [
        "item 2: conditions mismatch and match are the same sentence, so prediction 1 is always false there"
    ]


def test_a_region_that_is_empty_in_one_item_only_is_a_warning(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["items"].append(
        {"item_number": "3b", "conditions": [sentence("match", "", "x"), sentence("mismatch", "a", "x")]}
    )
    assert warnings(suite, tmp_path) == ["item 3b, condition match: region 1 is empty, but not in the other items"]


def test_a_region_that_is_empty_throughout_a_condition_is_a_design(suite: dict[str, Any], tmp_path: Path) -> None:
    for item in suite["items"]:
        item["conditions"].append(sentence("bare", "", "runs" + str(item["item_number"])))
    assert warnings(suite, tmp_path) == []


def test_other_oddities_are_warnings(suite: dict[str, Any], tmp_path: Path) -> None:
    suite["items"][0]["conditions"].append(sentence("extra", "The\nwug", "ran"))
    suite["items"][1]["conditions"][0]["regions"].reverse()
    assert warnings(suite, tmp_path) == [
        "item 2, condition mismatch: the regions are not in order; they are read by their numbers",
        "item 1, condition extra, region 1: contains a line break or a tab, which the model will see",
        "condition extra is in 1 of 2 items",
    ]


def test_check_gives_faults_and_oddities_without_raising(suite: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    suite["items"][0]["conditions"][0]["regions"][0]["content"] = " The wug"
    path.write_text(json.dumps(suite), encoding="utf-8")
    assert [problem.level for problem in check_file(path, "syntaxgym")] == ["warning"]
    path.write_text("{", encoding="utf-8")
    problem = check_file(path, "syntaxgym")[0]
    assert (problem.level, problem.place) == ("error", "line 1, column 2")


def test_recognises_json_and_tables_with_the_columns_of_a_suite(tmp_path: Path) -> None:
    assert syntaxgym.recognises(Path("x.json"), '{"meta": {')
    assert syntaxgym.recognises(Path("X.JSON.GZ"), '{"items": [')
    assert not syntaxgym.recognises(Path("config.json"), '{"layers": 2}')
    assert syntaxgym.recognises(Path("x.csv"), "item_number,condition_name,region_number,content\n1,a,1,x")
    assert syntaxgym.recognises(Path("x.tsv"), "item_number\tcondition_name\tregion_number\tcontent\toovs\n")
    assert not syntaxgym.recognises(Path("x.csv"), "item,sentence\n")
    assert not syntaxgym.recognises(Path("x.jsonl"), "{")
    assert not syntaxgym.recognises(Path("x.txt"), "")
    (tmp_path / "folder.json").mkdir()
    assert not syntaxgym.recognises(tmp_path / "folder.json", "")


# Whatever comes


_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.sampled_from(["", "1", "match", "%;"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["1", "2", "name", "formula", "content", "conditions"]), inner, max_size=2),
    ),
    max_leaves=3,
)


def _spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        found += _spots(value[key], (*path, key))
    return found


@given(st.lists(st.tuples(st.sampled_from(_spots(SUITE)), _VALUES), min_size=1, max_size=3))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(200))
def test_a_suite_with_anything_anywhere_loads_or_is_refused_in_words(
    tmp_path: Path, changes: list[tuple[tuple[Any, ...], Any]]
) -> None:
    document: Any = copy.deepcopy(SUITE)
    for where, value in changes:
        holder = document
        try:
            for key in where[:-1]:
                holder = holder[key]
            holder[where[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert isinstance(check_file(path, "syntaxgym"), list)
    try:
        syntaxgym.read(path, {})
    except WugError as error:
        message = str(error)
        assert "suite.json" in message
