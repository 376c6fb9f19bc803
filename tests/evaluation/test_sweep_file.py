"""Sweep files: what they may say, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from wug.errors import InputError
from wug.evaluation.sweep_file import KEYS, SweepFile, read

WHOLE = """
name = "over training"
models = ["causal:org/pythia-seed{seed}@step*", "causal:other-{seed}"]
suites = ["blimp", "suites/"]
seeds = [1, 2]
limit = 10
interval = "clopper-pearson"
tags = ["agreement"]

[model]
dtype = "bfloat16"
nodes = 4096

[suite]
target = "word"
mask_target = false
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "sweep.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_says_models_suites_options_and_seeds(tmp_path: Path) -> None:
    assert read(written(tmp_path, WHOLE)) == SweepFile(
        models=(
            "causal:org/pythia-seed1@step*",
            "causal:org/pythia-seed2@step*",
            "causal:other-1",
            "causal:other-2",
        ),
        suites=("blimp", "suites/"),
        name="over training",
        seeds=(1, 2),
        model={"dtype": "bfloat16", "nodes": "4096"},
        suite={"target": "word", "mask_target": "no"},
        limit=10,
        interval="clopper-pearson",
        tags=("agreement",),
    )


def test_seeds_are_an_option_of_models_that_draw_by_chance(tmp_path: Path) -> None:
    path = written(tmp_path, 'models = ["oracle:pcfgset?error=0.1"]\nsuites = ["s"]\nseeds = [3, 4]\n')
    assert read(path).models == ("oracle:pcfgset?error=0.1&seed=3", "oracle:pcfgset?error=0.1&seed=4")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models = [", "not TOML"),
        (f"models = {'[' * 100_000}{']' * 100_000}", "nested too deeply"),
        ('suites = ["s"]', r"models is missing. Write models = \["),
        ('models = ["causal:x"]', "suites is missing"),
        ('models = ["causal:x"]\nsuites = ["s"]\nsead = [1]', "unknown key 'sead'. Did you mean 'seeds'?"),
        ('models = "causal:x"\nsuites = ["s"]', "models is a list of texts, not 'causal:x'"),
        ('models = ["causal:x"]\nsuites = ["s"]\nlimit = 0', "limit is a whole number, not 0"),
        ('models = ["causal:x"]\nsuites = ["s"]\ninterval = "wald"', "interval is wilson or clopper-pearson"),
        ('models = ["causal:x"]\nsuites = ["s"]\nseeds = [1]', "has no option seed"),
        ('models = ["causal:x-{seed}"]\nsuites = ["s"]', "seeds is missing"),
        ('models = ["causal:x"]\nsuites = ["s"]\nmodel = {dtype = ["a"]}', "model is a table of options"),
        ('model = ["causal:x"]\nsuites = ["s"]', "is a table of options, not .*List models under `models`"),
    ],
)
def test_an_invalid_file_is_refused_with_a_fix(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert "sweep.toml" in str(caught.value)


def test_every_key_is_in_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    for key in KEYS:
        assert f"| `{key.name}` | {key.values} | {key.help} |" in page
