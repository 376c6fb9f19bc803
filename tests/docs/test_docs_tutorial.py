"""The tutorial, word by word, by someone who has nothing but Python: both wheels are installed as the page says.

It fetches torch and more from the package index, so it runs only where WUG_TEST_BARE=yes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from doc_blocks import ROOT, blocks, commands
from doc_run import WIDTH, alike
from patience import PATIENCE

TUTORIAL = ROOT / "docs" / "tutorial.md"
END = "=== command {number} ended with "


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """wug and wug-models, built from the tree."""
    folder = tmp_path_factory.mktemp("dist")
    for project in (ROOT, ROOT / "packages" / "wug-models"):
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=project, check=True, timeout=PATIENCE)
    return sorted(folder.glob("*.whl"))


@pytest.mark.skipif(os.environ.get("WUG_TEST_BARE") != "yes", reason="takes minutes and gigabytes: WUG_TEST_BARE=yes")
def test_the_tutorial_does_what_it_says_in_a_bare_environment(wheels: list[Path], tmp_path: Path) -> None:
    given = []
    folder = tmp_path / "tutorial"
    folder.mkdir()
    for block in blocks(TUTORIAL):
        if block.title:
            (folder / block.title).write_text(block.body + "\n", encoding="utf-8")
        elif block.language == "console":
            given += commands(block)
    assert given[0].text.startswith("python -m venv")
    script = "".join(f'{command.text}\necho "{END.format(number=n)}$?"\n' for n, command in enumerate(given))
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=_bare(wheels, tmp_path),
        capture_output=True, text=True, timeout=30 * PATIENCE, check=False,
    )  # fmt: skip
    rest = done.stdout
    for number, command in enumerate(given):
        said, _, rest = rest.partition(END.format(number=number))
        code, _, rest = rest.partition("\n")
        assert code == "0", f"{command.text}\n{said}\n{done.stderr[-5000:]}"
        if any(line.strip() for line in command.shown):
            assert alike(said, "\n".join(command.shown)), f"{command.text}\n{said}"
    assert (folder / "npi.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (folder / "npi.html").stat().st_size > 100_000
    assert str(ROOT) not in (folder / "env" / "bin" / "wug").read_text(encoding="utf-8")


def _bare(wheels: list[Path], folder: Path) -> dict[str, str]:
    """Variables of someone who has Python and a package index; the names of the wheels stand for these very files."""
    own = folder / "own.txt"
    own.write_text("".join("{}=={}\n".format(*wheel.name.split("-")[:2]) for wheel in wheels), encoding="utf-8")
    home = folder / "home"
    home.mkdir()
    pip = {key: value for key, value in os.environ.items() if key.startswith("PIP_") or key.endswith("_proxy")}
    paths = f"{Path(sys.base_prefix) / 'bin'}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin"
    return {
        **pip,
        "PATH": paths,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "COLUMNS": WIDTH,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PIP_FIND_LINKS": " ".join(filter(None, [str(wheels[0].parent), os.environ.get("PIP_FIND_LINKS")])),
        "PIP_CONSTRAINT": f"{ROOT / 'constraints.txt'} {own}",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_QUIET": "1",
    }
