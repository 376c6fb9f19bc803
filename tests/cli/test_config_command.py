"""`wug.toml`: defaults of options, with their source; and JSON lines on stderr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wug as api
from command_line import wug

PAIRS = "sentence_good,sentence_bad\nThe cat sleeps.,The cat sleep.\nThe dogs bark.,The dogs barks.\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    for name in ("WUG_MODEL", "WUG_STORE", "WUG_CACHE", "WUG_FORMAT", "WUG_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pairs.csv").write_text(PAIRS, encoding="utf-8")
    return tmp_path


def configured(text: str, path: str = "wug.toml") -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def values() -> dict[str, tuple[str, str]]:
    return {row["key"]: (row["value"], row["source"]) for row in json.loads(wug("config", "--format", "json").out)}


def test_each_value_has_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    configured('device = "cuda:1"\nformat = "md"\n', "user/wug/wug.toml")
    configured('device = "cpu"\nstore = "runs"\n')
    monkeypatch.setenv("WUG_CACHE", "mine.db")
    found = values()
    assert found["device"] == ("cpu", "wug.toml")
    assert found["store"] == ("runs", "wug.toml")
    assert found["cache"] == ("mine.db", "environment (WUG_CACHE)")
    assert found["format"][0] == "md"
    assert found["format"][1].endswith("wug.toml")
    assert found["model"] == ("a built-in model", "default")


def test_a_file_sets_options_and_the_environment_and_the_command_line_precede(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured('model = "wug-lstm"\nstore = "runs"\ncache = "answers.db"\nformat = "csv"\ndevice = "cpu"\n')
    said = wug("run", "pairs.csv")
    assert ",lstm/wug-lstm@" in said.out
    assert "using the configured model (wug config): wug-lstm" in said.err
    assert (folder / "runs" / "index.sqlite").exists()
    assert (folder / "answers.db").exists()
    monkeypatch.setenv("WUG_MODEL", "wug-causal")
    assert ",causal/wug-causal@" in wug("run", "pairs.csv").out
    monkeypatch.setenv("WUG_FORMAT", "json")
    [result] = json.loads(wug("run", "pairs.csv", "--model", "wug-lstm").out)
    assert result["model"].startswith("lstm/wug-lstm@")
    assert "wug-lstm" in wug("runs", "list").out  # which takes the store from the file as well


def test_paths_are_relative_to_the_file(folder: Path) -> None:
    configured('store = "runs"\n', "user/wug/wug.toml")
    assert values()["store"][0] == str(folder / "user" / "wug" / "runs")


def test_labels_name_models_in_tables() -> None:
    configured('store = "runs"\nmodel = "wug-lstm"\n[labels]\nwug-lstm = "LSTM"\nother = "not here"\n')
    wug("run", "pairs.csv", "--no-cache")
    assert "LSTM" in wug("export", "--wide").out
    assert "mine" in wug("export", "--wide", "--label", "wug-lstm=mine").out


def test_python_returns_the_same_defaults(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert api.config() == api.Config(models=None, device=None, store=None, cache=None, labels={})
    configured('model = "my models/a"\nstore = "runs"\ndevice = "cpu"\n[labels]\nwug-lstm = "LSTM"\nother = "x"\n')
    found = api.config()
    assert (found.models, found.device, found.store, found.cache) == (["my models/a"], "cpu", Path("runs"), None)
    configured('model = ["wug-lstm", "wug-causal"]\nstore = "runs"\n[labels]\nwug-lstm = "LSTM"\nother = "x"\n')
    found = api.config()
    results = api.run("pairs.csv", found.models, store=found.store)
    assert found.labels_for(results) == {"wug-lstm": "LSTM"}
    assert "LSTM" in results.to_latex(wide=True, labels=found.labels_for(results))
    assert api.open_store().path.resolve() == folder / "runs"
    monkeypatch.setenv("WUG_MODEL", "wug-causal wug-lstm")
    assert api.config().models == ["wug-causal", "wug-lstm"]
    configured("modl = 3")
    with pytest.raises(api.WugError, match="Did you mean 'model'"):
        api.config()


def test_a_folder_may_be_called_like_a_variable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = folder / "WUG_MODEL"
    inside.mkdir()
    monkeypatch.chdir(inside)
    configured('model = ["wug-lstm", "wug-causal"]\n')
    assert api.config().models == ["wug-lstm", "wug-causal"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('modl = "x"', "wug.toml: unknown key 'modl'. Did you mean 'model'?"),
        ("model = 3", "wug.toml: model is a name or a list of names, not 3"),
        ('format = "xml"', "wug.toml: format is one of csv"),
        ("model =", "wug.toml: not TOML"),
        ("labels = 3", "wug.toml: labels is a table of names by model, not 3"),
    ],
)
def test_a_wrong_file_is_an_error_with_its_place(text: str, message: str) -> None:
    configured(text)
    said = wug("list", "suites")
    assert (said.code, said.err.startswith(f"error: {message}")) == (1, True)
    assert wug("--help").code == 0


def test_stderr_can_be_json_lines(folder: Path) -> None:
    said = wug("run", "pairs.csv", "--model", "wug-causal", "--no-save", "--no-cache", "--log-format", "json")
    lines = [json.loads(line) for line in said.err.splitlines()]
    assert {"level", "message"} <= lines[0].keys()
    assert lines[-1]["event"] == "finished"
    assert lines[-1]["models_done"] == 1
    assert said.out.startswith("pairs  2 items")


@pytest.mark.parametrize("arguments", [("run", "no_such_suite"), ("run", "pairs.csv", "--no-such-option")])
def test_errors_are_json_lines_too(arguments: tuple[str, ...]) -> None:
    said = wug("--log-format", "json", *arguments)
    [line] = [json.loads(line) for line in said.err.splitlines()]
    assert line["level"] == "error"
    assert said.code in (1, 2)
