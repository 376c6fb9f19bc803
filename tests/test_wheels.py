"""The two wheels: wug without weights, and wug-models with the built-in models and nothing else."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import wug
from wug.evaluation import models

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "packages" / "wug-models"


def built(project: Path, folder: Path) -> Mapping[str, int]:
    """The files of the wheel that a project makes, with their sizes in it; from the tree, without a network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=project, check=True
    )
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        return {entry.filename: entry.compress_size for entry in packed.infolist()}


@pytest.mark.skipif(not (ROOT / "hatch_build.py").is_file(), reason="wheels are built in a clone of the repository")
def test_wug_carries_suites_and_pages_and_no_weights(tmp_path: Path) -> None:
    files = built(ROOT, tmp_path)
    assert {"wug/cli/main.py", "wug/assets/suites/syntaxgym/wug_npi_licensing.json", "wug/py.typed"} <= set(files)
    assert not [name for name in files if name.startswith("wug/assets/models") or name.endswith(".safetensors")]
    assert sum(files.values()) < 4_000_000


@pytest.mark.skipif(not MODELS.is_dir(), reason="wheels are built in a clone of the repository")
def test_wug_models_carries_the_five_models_and_nothing_else(tmp_path: Path) -> None:
    files = [name for name in built(MODELS, tmp_path) if ".dist-info/" not in name]
    folder = ROOT / "src" / "wug" / "assets" / "models"
    wanted = {
        f"wug_models/models/{path.relative_to(folder).as_posix()}" for path in folder.rglob("*") if path.is_file()
    }
    assert {*files} == {"wug_models/__init__.py", *wanted}
    assert len({name.split("/")[2] for name in wanted}) == 5


def test_both_wheels_are_of_one_release_and_wug_asks_for_that_one() -> None:
    text = (MODELS / "wug_models" / "__init__.py").read_text(encoding="utf-8")
    assert f'__version__ = "{wug.__version__}"' in text
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    major, minor = wug.__version__.split(".")[:2]
    lowest = wug.__version__ if ".dev" in wug.__version__ else f"{major}.{minor}"
    assert extras["models"] == [f"wug-models>={lowest},<{major}.{int(minor) + 1}"]
    assert f"\nversion: {wug.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_without_the_models_a_built_in_name_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(models, "ASSETS", tmp_path)
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    assert models.builtin_models() == {}
    with pytest.raises(wug.WugError, match=r"wug-lstm, a built-in model, needs .*pip install 'wug\[models\]'"):
        models.model_spec("wug-lstm")


def test_models_that_are_installed_as_a_package_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "site" / "wug_models"
    (package / "models" / "wug-tiny").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "models" / "wug-tiny" / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(models, "ASSETS", tmp_path)
    assert models.builtin_models() == {"wug-tiny": package / "models" / "wug-tiny"}
