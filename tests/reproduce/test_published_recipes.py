"""The recipes that judge released scores and built-in models: the paper's own cells, as they are printed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from command_line import refused, wug
from recipes import recipe
from reference import reference
from wug import data
from wug.errors import InputError
from wug.reproduce.plan import Planner, missing_data_message
from wug.reproduce.recipe import parse, read
from wug.reproduce.table import cells, table_rows

pytestmark = pytest.mark.slow

OUTPUT = "pairs/gulordava_eval_output_en"
RESULTS = "gulordava-results/evaluation_output/English"
AT_HAND = ("all_models", "best_model_srnn", "best_model_ngram_lstm")
RECIPE = recipe(
    "Released and asked",
    networks={
        "both": {
            "title": "two columns",
            "score": "pairs --predictions {scored} --column first --column second",
        },
        "first": {"title": "one column", "score": "pairs --predictions {scored} --column first"},
        "paper": {"title": "the paper alone"},
    },
    materials={"scored": {"data": "SET"}},
    tests=[
        {
            "row": "original",
            "metric": "accuracy",
            "group": "type=original",
            "published": {"both": 0.75, "first": 0.5, "paper": 0.9},
        }
    ],
)


def fetch(folder: Path, patched: pytest.MonkeyPatch, sets: dict[str, Path]) -> None:
    """Bring files of the reference data, gzipped or not, to where fetched sets lie."""
    patched.setenv("WUG_DATA", str(folder / "data"))
    for name, path in sets.items():
        copies = folder / "copies" / name.replace("/", "-")
        copies.mkdir(parents=True)
        for file in path.iterdir() if path.is_dir() else [path]:
            content = file.read_bytes()
            unpacked = gzip.decompress(content) if file.suffix == ".gz" else content
            (copies / file.name.removesuffix(".gz")).write_bytes(unpacked)
        data.get(name, accept=True, source=copies)


@pytest.fixture(scope="module")
def gulordava(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], str]:
    """The rows of the table from the files at hand, and what was said about the others."""
    sets = {f"{RESULTS}/{name}.tab": reference(f"{OUTPUT}/{name}.tab.gz") for name in AT_HAND}
    sets["gulordava-en"] = reference("pairs/gulordava_en")
    folder = tmp_path_factory.mktemp("gulordava")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("WUG_CACHE", str(folder / "cache.db"))
        fetch(folder, patched, sets)
        said = wug("reproduce", "gulordava2018", "--folder", folder / "work", "--device", "cpu", "--format", "json")
    assert said.code == 1  # two of the files are not at hand
    return json.loads(said.out), said.err


def test_every_published_cell_comes_out_as_printed_where_its_scores_are_here(
    gulordava: tuple[list[dict[str, Any]], str],
) -> None:
    rows, _ = gulordava
    judged = [row for row in rows if row["published"] is not None and row["value"] is not None]
    assert len(judged) == 7 * 3 + 2 * 2  # five LSTMs, the best sRNN and 5-gram LSTM; their mean and frequency by type
    for row in judged:
        places = 3 if round(row["published"], 3) == row["published"] else 4
        assert f"{row['value']:.{places}f}" == f"{row['published']:.{places}f}", row
    found = {(row["row"], row["network"]): row for row in rows}
    mean = found["original", "LSTM, mean of the five best"]
    # Of 80.49, 82.93, 78.05, 80.49 and 82.93%: 33, 34, 32, 33 and 34 of 41.
    assert (round(mean["value"], 4), round(mean["sd"], 4)) == (0.8098, 0.0204)
    assert (mean["method"], mean["n"], mean["seeds"], len(mean["signatures"])) == ("t over models", 41, [], 5)
    ours = found["nonce", "wug-lstm"]
    assert (ours["published"], ours["n"], ours["pending"]) == (None, 369, False)
    assert "target:word" in ours["signatures"][0]


def test_scores_that_are_not_here_are_named_once_with_the_command(gulordava: tuple[list[dict[str, Any]], str]) -> None:
    rows, said = gulordava
    waiting = {row["network"] for row in rows if row["pending"]}
    assert len(waiting) == 4 + 4
    assert {name.partition(" (")[0] for name in waiting} == {"sRNN", "5-gram LSTM"}
    command = f"wug data get {RESULTS}/all_models_srnn.tab {RESULTS}/all_models_ngram_lstm.tab --accept"
    assert said.count(command) == 1
    assert said.count("not on this machine") == 1


def test_a_dry_run_without_the_data_says_what_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "none"))
    said = wug("reproduce", "warstadt2020", "--folder", tmp_path / "work", "--only", "ellipsis", "--dry-run")
    assert said.code == 0
    assert said.out.splitlines()[0].split() == ["data", "blimp", "missing"]
    assert "3 of 3 steps to run, none of them a training" in said.err
    assert "wug data get blimp\n" in said.err + "\n"
    assert not (tmp_path / "work").exists()


def test_cells_of_blimp_are_those_that_its_authors_released() -> None:
    released = {}
    for line in reference("pairs/blimp_results/models_summary.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["UID"] == "overall":
            released[row["linguistics_term"].replace("_", " ")] = row
    recipe = read("warstadt2020")
    assert set(recipe.rows) == set(released)
    theirs = {"causal": "gpt2", "lstm": "lstm", "txl": "txl", "ngram": "ngram"}
    for test in recipe.tests:
        assert test.published["masked"] is None
        for network, name in theirs.items():
            cell = test.published[network]
            assert cell is not None
            assert cell.value == pytest.approx(released[test.row][name], abs=0.000501), (test.row, network)


def test_a_miniature_of_blimp_asks_some_pairs_of_each_paradigm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch(tmp_path, monkeypatch, {"blimp": reference("pairs/blimp")})
    recipe, work = read("warstadt2020"), tmp_path / "work"
    steps = Planner(recipe, work, small=True).plan([]).steps
    assert [step.command[step.command.index("--model") + 1] for step in steps] == [
        "wug-causal",
        "wug-lstm",
        "wug-masked",
    ]
    assert all(step.command[step.command.index("--limit") + 1] == str(67 * 5) for step in steps)
    assert not any("--limit" in step.command for step in Planner(recipe, work, small=False).plan([]).steps)
    text = tmp_path / "lstm.toml"
    text.write_text(
        '\n'.join([
            'title = "One model"', "seeds = []", "[networks.lstm]", 'title = "LSTM"', 'model = "wug-lstm"',
            'small = "--limit 67"', "[materials.blimp]", 'data = "blimp"', "[[tests]]", 'row = "ellipsis"',
            'suite = "{blimp}"', 'metric = "accuracy"', 'group = "phenomenon=ellipsis"', "published = { lstm = 0.676 }",
        ]),
        encoding="utf-8",
    )  # fmt: skip
    said = wug("reproduce", text, "--small", "--folder", work, "--device", "cpu", "--format", "json")
    (row,) = json.loads(said.out)
    assert (row["n"], row["published"], row["seeds"]) == (2, 0.676, [])  # ellipsis has two paradigms
    assert row["difference"] == pytest.approx(row["value"] - 0.676)


def test_a_paper_s_model_stands_in_the_table_without_a_value_of_ours(tmp_path: Path) -> None:
    recipe = parse(RECIPE.replace("SET", "gulordava-results"), "released", Path("released.toml"))
    both, first, paper = table_rows(Planner(recipe, tmp_path, small=False).plan([]))
    assert [row.pending for row in (both, first, paper)] == [True, True, False]
    assert cells(paper)[:4] == ("original", "the paper alone", "0.900", "")
    assert cells(first)[3] == "not yet"


def test_a_message_about_absent_sets_names_each_once_with_its_licence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WUG_DATA", str(tmp_path))
    plan = Planner(read("gulordava2018"), tmp_path / "work", small=False).plan([], ["nonce"])
    message, command = missing_data_message(plan.missing_sets).splitlines()
    assert message.count("CC-BY-NC-4.0") == 2  # the scores, and the sentences for our own model
    assert command.split()[:3] == ["wug", "data", "get"]
    assert command.split()[-2:] == ["gulordava-en", "--accept"]


def test_only_the_parts_that_a_recipe_names_are_required(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WUG_DATA", str(tmp_path))
    plan = Planner(read("kim2020"), tmp_path / "work", small=False).plan([1], ["gen"])
    assert missing_data_message(plan.missing_sets).splitlines()[1].split() == [
        *("wug", "data", "get", "cogs/train.tsv", "cogs/test.tsv", "cogs/gen.tsv")
    ]
    (folder,) = {step.output.parent for step in plan.missing_sets}
    (trained,) = (step for step in plan.steps if step.name == "lstm-cogs-train.tsv-1")
    assert str(folder / "train.tsv") in trained.command


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ("{scored} --column first\"\n\n[networks.p", "{scores}\"\n\n[networks.p", "unknown material 'scores'"),
        ('title = "the paper alone"', 'title = "the paper alone"\nmodel = "wug-lstm"', "say with what, with suite"),
        ('title = "one column"', 'title = "one column"\nmodel = "wug-lstm"', "more than one of train, model and score"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_recipe_of_released_scores_is_said(wrong: str, right: str, said: str) -> None:
    text = RECIPE.replace("SET", "gulordava-results")
    assert wrong in text
    with pytest.raises(InputError, match=said):
        parse(text.replace(wrong, right, 1), "released", Path("released.toml"))


def test_a_row_that_a_recipe_does_not_have_is_refused() -> None:
    refused(wug("reproduce", "gulordava2018", "--only", "nonsense"), "There are: all pairs; original; nonce")


def test_a_file_that_users_must_unpack_delays_only_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WUG_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(data, "fetched", lambda name: True)
    plan = Planner(read("li2023"), tmp_path / "work", small=True).plan([1], networks=["lstm"])
    (absent,) = plan.missing_sets
    assert missing_data_message(plan.missing_sets).splitlines() == [
        f"not unpacked: {absent.output}",
        "    its archive has a password: wug data show slog",
    ]
    waiting = [step.name for step in plan.steps if absent.name in step.needs]
    assert [step.name for step in plan.steps if step.kind == "test" and step.name not in waiting] == [
        "slog-varfree_LF-test.tsv-lstm-slog-varfree_LF-train.tsv-1"
    ]
    absent.output.parent.mkdir(parents=True)
    absent.output.touch()
    assert not Planner(read("li2023"), tmp_path / "work", small=True).plan([1]).missing_sets
