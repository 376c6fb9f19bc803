"""What a user does every day: looking at the last run, asking for less or more, writing files."""

from __future__ import annotations

import csv
import io
import json
import os
import socket
from pathlib import Path

import pytest

from command_line import refused, wug
from run_factory import keep, outcomes, result
from wug.evaluation.models import builtin_models
from wug.evaluation.suites import builtin_suites
from wug.outcomes import Metric, Outcome, Result
from wug.stats import estimates

SUITE = "wug_reflexive"


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Two runs of a suite with two phenomena, the second without a failure."""
    path = tmp_path / "kept.db"
    for model, values in (("causal/a@1", (True, False, False)), ("causal/b@1", (True, True, True))):
        rows = [
            Outcome(
                str(place),
                "accuracy",
                value,
                {"phenomenon": ("binding", "islands", "islands")[place], "field": ("x", "y", "x")[place]},
                {"good": f"Good {place}.", "bad": f"Bad {place}.", "logprob_good": -2.0, "logprob_bad": -1.0},
            )
            for place, value in enumerate(values)
        ]
        keep(path, result("words", model, rows, metrics=(Metric("accuracy", meaning="it is preferred"),)))
    return path


def test_show_alone_shows_the_last_run(db: Path) -> None:
    assert "causal/b@1" in wug("show", "--store", db).out
    assert wug("show", "last", "--store", db).out == wug("show", "--store", db).out == wug("show", 2, "--store", db).out


def test_a_beginning_of_a_name_stands_for_a_run_in_every_command(db: Path, tmp_path: Path) -> None:
    assert wug("show", "a@", "--store", db).out == wug("show", 1, "--store", db).out
    assert wug("export", "a@", "--store", db).out == wug("export", 1, "--store", db).out
    assert wug("compare", "a@", "last", "--store", db).out == wug("compare", 1, 2, "--store", db).out
    wug("report", "a@", "-o", tmp_path / "page.html", "--store", db)
    assert "causal/a@1" in (tmp_path / "page.html").read_text(encoding="utf-8")
    refused(wug("show", "causal", "--store", db), "matches run 2 (causal/b@1), 1 (causal/a@1)")


def test_list_alone_lists_something_of_everything(db: Path) -> None:
    shown = wug("list", "--store", db).out
    for part in (SUITE, "wug-causal", "causal/b@1", "wug data list"):
        assert part in shown
    found = json.loads(wug("list", "--format", "json", "--store", db).out)
    assert list(found) == ["suites", "models", "runs"]


def test_a_run_is_a_line_of_the_list_however_long_its_command(db: Path) -> None:
    keep(db, result("words", "causal/c@1", outcomes({"accuracy": [True]})), command="wug run " + "x" * 500)
    lines = wug("list", "runs", "--store", db).out.splitlines()
    assert [line.split()[0] for line in lines] == ["run", "3", "2", "1"]
    assert max(map(len, lines)) == 120
    assert lines[1].endswith("x…")


def test_the_list_of_suites_fits_a_screen_and_the_rest_is_there_on_request() -> None:
    lines = wug("list", "suites").out.splitlines()
    assert 24 <= len(lines) <= 40
    assert max(map(len, lines)) <= 120
    names = {line.split()[0] for line in lines if line.startswith("  ")}
    assert names == set(builtin_suites())
    everything = wug("list", "suites", "--all").out
    assert "normalise: divide a score" in everything
    assert "normalise" not in "\n".join(lines)


def test_the_help_of_every_group_says_in_full_what_its_commands_do() -> None:
    for group in ((), ("score",), ("make",), ("train",), ("data",)):
        shown = wug(*group, "--help").out.partition("Commands:")[2]
        assert shown
        assert "..." not in shown


@pytest.mark.parametrize("sides", [("-q", "list", "runs"), ("list", "runs", "-q"), ("list", "-q", "runs")])
def test_quiet_works_on_either_side_of_the_command(sides: tuple[str, ...]) -> None:
    assert wug("list", "runs").err == "no runs yet: wug run SUITE --model MODEL\n"
    assert wug(*sides).err == ""


@pytest.mark.parametrize("sides", [("-v", "run"), ("run", "-v")])
def test_verbose_works_on_either_side_and_tells_where_things_are_kept(sides: tuple[str, ...]) -> None:
    command = (*sides, "task_accuracy", "--model", "oracle:pcfgset", "--limit", 2)
    assert wug(*command).err.splitlines()[0:2] == [
        f"runs are stored in {os.environ['WUG_STORE']}",
        f"model outputs are stored in {os.environ['WUG_CACHE']}",
    ]
    assert "are stored in" not in wug(*(word for word in command if word != "-v")).err


def test_a_flag_behind_a_command_of_a_group_counts_too(tmp_path: Path) -> None:
    (tmp_path / "run.tsv").write_text("source\ttarget\tprediction\ncopy A1\tA1\tA1\n", encoding="utf-8")
    command = ("score", "pcfgset", "--predictions", tmp_path / "run.tsv")
    assert "saved" in wug(*command).err
    assert wug(*command, "-q").err == wug("score", "-q", *command[1:]).err == ""


def test_hints_repeat_the_store_and_the_cache_that_were_given(tmp_path: Path) -> None:
    command = ("run", "task_accuracy", "--model", "oracle:pcfgset", "--limit", 2)
    assert wug(*command).err.splitlines()[-1] == ("run 1 saved · wug show 1 · wug report 1 -o page.html · wug view")
    db, cache = tmp_path / "my runs", tmp_path / "a.db"
    assert wug(*command, "--store", db, "--cache", cache).err.splitlines()[-1] == (
        f"run 1 saved · wug show 1 --store '{db}' · wug report 1 -o page.html --store '{db}' · "
        f"wug view --store '{db}' --cache {cache}"
    )


def test_the_hint_of_a_comparison_repeats_the_store(db: Path) -> None:
    hint = f"the items that differ: wug compare 1 2 --items 10 --store {db}\n"
    assert wug("compare", 1, 2, "--store", db).err == hint


def test_a_store_that_is_named_and_not_there_is_no_new_one(tmp_path: Path) -> None:
    for command in (("list", "runs"), ("show",), ("export", 1), ("report", 1), ("compare", 1, 2)):
        refused(wug(*command, "--store", tmp_path / "typo.db"), "typo.db: no such run store")
    assert not (tmp_path / "typo.db").exists()


def test_the_headline_stands_alone(db: Path) -> None:
    shown = wug("show", 1, "--summary", "--store", db).out.splitlines()
    assert [line.split()[0] for line in shown] == [
        "words",
        "accuracy",
        "wug:0|suite:words@1f3a|model:causal/a@1|unit:bits",
    ]
    (found,) = wug("show", 1, "--summary", "--format", "json", "--store", db).results
    assert [(one["metric"], one["group"]) for one in found["estimates"]] == [("accuracy", "all")]


def test_a_first_look_has_one_breakdown_and_names_the_others(db: Path) -> None:
    shown = wug("show", 1, "--store", db).out
    assert "phenomenon=islands" in shown
    assert "field=" not in shown
    assert "also by field: --by field" in shown


def test_breakdowns_are_shown_on_request(db: Path) -> None:
    shown = wug("show", 1, "--by", "field", "--store", db).out
    assert ("field=x" in shown, "phenomenon=" in shown) == (True, False)
    (found,) = wug("show", 1, "--by", "field", "--format", "json", "--store", db).results
    assert [one["group"] for one in found["estimates"]] == ["all", "field=x", "field=y"]
    every = wug("show", 1, "--by", "all", "--store", db).out
    assert ("field=x" in every, "phenomenon=binding" in every) == (True, True)
    refused(wug("show", 1, "--by", "feild", "--store", db), "unknown field 'feild'. Did you mean 'field'?")
    refused(wug("show", 1, "--by", "field", "--summary", "--store", db), "--summary prints only headlines")


def test_a_run_that_was_made_is_not_lost_for_a_field_that_is_not_there() -> None:
    said = wug("run", "task_accuracy", "--model", "oracle:pcfgset", "--limit", 2, "--by", "phenomenon")
    assert "warning: --by: unknown field 'phenomenon'" in said.err
    assert "accuracy" in said.out


def test_failing_items_are_sentences_alone(db: Path) -> None:
    assert wug("show", 1, "--failing", "--store", db).out.splitlines() == [
        "words  pair 1  accuracy  by −1.00",
        "    grammatical    [+Good+] 1.  −2.00",
        "    ungrammatical  [-Bad-] 1.  −1.00",
        "    difference     −1.00",
        "words  pair 2  accuracy  by −1.00",
        "    grammatical    [+Good+] 2.  −2.00",
        "    ungrammatical  [-Bad-] 2.  −1.00",
        "    difference     −1.00",
    ]


def test_failing_items_come_in_every_format(db: Path) -> None:
    found = json.loads(wug("show", 1, "--failing", "--format", "json", "--store", db).out)
    assert [(one["item"], one["metrics"], one["groups"]["phenomenon"]) for one in found] == [
        ("1", ["accuracy"], "islands"),
        ("2", ["accuracy"], "islands"),
    ]
    assert found[0]["text"][0] == "grammatical    [+Good+] 1.  −2.00"
    rows = list(csv.DictReader(io.StringIO(wug("show", 1, "--failing", "--format", "csv", "--store", db).out)))
    assert [row["item"] for row in rows] == ["1", "2"]
    assert "| words | causal/a@1 | 1 |" in wug("show", 1, "--failing", "--format", "md", "--store", db).out


def test_nothing_that_fails_is_said_so(db: Path) -> None:
    assert wug("show", 2, "--failing", "--store", db).out == "words  no item fails  (3 of causal/b@1)\n"
    assert json.loads(wug("show", 2, "--failing", "--format", "json", "--store", db).out) == []


def test_what_a_plugin_knows_of_an_item_is_no_python(tmp_path: Path) -> None:
    rows = [Outcome("1", "right", False, {}, {"parts": ["a", "b"], "seen": None, "new": True, "of": {"x": [1, 2]}})]
    keep(tmp_path / "kept.db", result("mine", "causal/a@1", rows, kind="theirs"))
    shown = wug("show", "--failing", "--store", tmp_path / "kept.db").out
    assert shown.splitlines()[1:] == ["    parts: a, b", "    new: yes", "    of:", "      x: 1, 2"]


@pytest.mark.parametrize("suffix", [".json", ".csv", ".tsv", ".md", ".tex"])
def test_a_run_is_written_to_a_file_as_its_name_ends(tmp_path: Path, suffix: str) -> None:
    forms = {".json": "json", ".csv": "csv", ".tsv": "tsv", ".md": "md", ".tex": "latex"}
    command = ("run", "task_accuracy", "--model", "oracle:pcfgset", "--limit", 2)
    said = wug(*command, "-o", tmp_path / f"found{suffix}")
    written = (tmp_path / f"found{suffix}").read_text(encoding="utf-8")
    assert written.replace("\r\n", "\n") == wug(*command, "--format", forms[suffix]).out.replace("\r\n", "\n")
    assert "2 items · oracle:pcfgset" in said.out


def test_a_run_is_written_as_a_page(tmp_path: Path) -> None:
    assert wug("run", SUITE, "--limit", 2, "-o", tmp_path / "page.html").code == 0
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "name", "parts"),
    [
        (
            ("run", SUITE),
            "x.docx",
            ["cannot be written as .docx", ".csv .html .htm .json .jsonl .tex .md .parquet .tsv"],
        ),
        (("run", SUITE), "none-such/x.json", ["there is no folder", "none-such"]),
        (("run", SUITE), "x", ["its name has no suffix"]),
        (("export", 1), "x.tvs", ["cannot be written as .tvs", "Did you mean '.tsv'?"]),
        (("export", 1), "none-such/x.csv", ["there is no folder"]),
        (("export", 1, "--chart"), "x.gif", ["cannot be written as .gif", ".svg .png .pdf .html .json"]),
        (("report", 1), "x.pdf", ["cannot be written as .pdf", ".html"]),
        (("report", 1), "none-such/x.html", ["there is no folder"]),
        (("compare", 1, 2), "x.docx", ["cannot be written as .docx"]),
        (("surprisal", os.devnull), "none-such/x.csv", ["there is no folder"]),
        (("make", "coord"), "none-such/x.tab", ["there is no folder"]),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, command: tuple[str, ...], name: str, parts: list[str]
) -> None:
    refused(wug(*command, "-o", tmp_path / name), *parts)
    assert list(tmp_path.glob("none-such")) == []


def test_a_store_a_cache_and_a_conversion_need_a_folder_that_is_there(tmp_path: Path) -> None:
    nowhere = tmp_path / "none-such"
    refused(wug("run", SUITE, "--store", nowhere / "x.db"), "there is no folder", "none-such")
    refused(wug("run", SUITE, "--cache", nowhere / "x.db"), "there is no folder", "none-such")
    refused(wug("convert", builtin_suites()[SUITE], nowhere / "x.csv"), "there is no folder", "none-such")
    assert not nowhere.exists()


def test_an_unknown_suite_is_reported_with_where_names_are_listed() -> None:
    refused(wug("run", "qqqqqqqq"), "unknown suite 'qqqqqqqq'", "wug list suites", "wug data list")


def test_a_format_that_is_requested_goes_into_a_file_of_any_name(db: Path, tmp_path: Path) -> None:
    assert wug("export", 1, "--to", "csv", "-o", tmp_path / "rows.txt", "--store", db).code == 0
    assert (tmp_path / "rows.txt").read_text(encoding="utf-8").startswith("suite,model,item")


def test_a_port_that_is_requested_and_taken_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused(wug("view", "--no-open", "--port", port), f"port {port} cannot be used", "--port; 0 takes a free one")


def test_blimp_is_shown_by_its_twelve_phenomena(tmp_path: Path) -> None:
    rows = [
        Outcome(
            str(n),
            "accuracy",
            True,
            {"field": "syntax", "term": f"t{n}", "paradigm": f"p{n}", "phenomenon": f"h{n % 12}"},
        )
        for n in range(67)
    ]
    kept: Result = result("blimp", "causal/a@1", rows, estimates=tuple(estimates(rows)))
    keep(tmp_path / "kept.db", kept)
    shown = wug("show", "--store", tmp_path / "kept.db").out
    assert [line.split()[0] for line in shown.splitlines() if "=" in line and "n =" in line] == [
        f"phenomenon=h{n}" for n in range(12)
    ]
    assert "also by term, paradigm: --by term" in shown


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("run", "wug_coord", "--limit", 1, "--limit", 2), "--limit"),
        (("surprisal", "-", "--unit", "word", "--unit", "token"), "--unit"),
        (("surprisal", "-", "--format=csv", "-o", "a.csv", "-o", "b.csv"), "-o"),
        (("make", "cogs", "--seed", 1, "-o", "a", "--seed", 2), "--seed"),
        (("export", "--to", "csv", "--to", "json"), "--to"),
    ],
)
def test_an_option_of_one_value_that_is_given_twice_is_refused(arguments: tuple[object, ...], name: str) -> None:
    said = wug(*arguments)
    refused(said, f"{name} is given twice and takes one value")
    assert said.code == 2


def test_a_key_that_is_given_twice_is_refused() -> None:
    twice = "metric is given twice: metric=sum, metric=mean"
    refused(wug("run", "wug_agreement_pp", "-S", "metric=sum", "-S", "metric=mean"), "-S", twice)
    refused(wug("run", "wug_agreement_pp", "--model", "wug-causal?bos=yes&bos=no"), "bos is given twice")


def test_flags_and_repeatable_options_may_be_given_again() -> None:
    said = wug("-q", "list", "suites", "-q", "-q")
    assert said.code == 0, said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--model", "wug-causal", "-M", "bos=xyz"), "error: wug-causal: bos=xyz: the tokenizer has no such token"),
        (("--model", "masked:wug-causal"), "Use causal:wug-causal\n"),
        (("--model", "wug-causal", "--model", "wug-lstm", "--dry-run"), ""),
    ],
)
def test_a_built_in_model_is_called_by_its_name_and_not_by_its_folder(arguments: tuple[str, ...], message: str) -> None:
    said = wug("run", "wug_coord", "--limit", 1, "--no-cache", "--no-save", *arguments)
    assert message in said.err
    assert str(builtin_models()["wug-causal"].parent) not in said.err + said.out


@pytest.mark.parametrize(
    ("arguments", "name", "message"),
    [
        (("surprisal", os.devnull, "--format", "json"), "x.csv", "its suffix means csv, not json"),
        (("surprisal", os.devnull), "x.xlsx", "use .csv .html .htm .json"),
        (("compare", 1, 2, "--format", "json"), "x.csv", "its suffix means csv, not json"),
        (("compare", 1, 2, "--format", "json"), "x.svg", "its suffix means a chart"),
        (("export", 1, "--to", "json"), "x.csv", "its suffix means csv, not json"),
        (("export", 1, "--chart", "--to", "json"), "x.svg", "leave --to out"),
        (("reproduce", "kim2020", "--format", "json"), "x.md", "its suffix means markdown, not json"),
        (("make", "agreement"), "x.csv", "use .tab .tsv .txt"),
        (("report", 1), "x.pdf", "use .html .htm"),
        (("run", "wug_coord"), "x.xlsx", "use .csv"),
    ],
)
def test_a_file_is_what_its_suffix_says_or_is_refused(
    arguments: tuple[object, ...], name: str, message: str, tmp_path: Path
) -> None:
    for model in ("a", "b"):
        keep(Path(os.environ["WUG_STORE"]), result("one", model, outcomes({"accuracy": [True, False]})))
    refused(wug(*arguments, "-o", tmp_path / name), message)
    assert not (tmp_path / name).exists()
