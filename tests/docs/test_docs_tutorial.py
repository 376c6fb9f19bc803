"""The terminal and Python tutorials, word by word, for someone who has a clone of the repository and Python.

They fetch torch and more from the package index, so they run only if WUG_TEST_BARE=yes. The browser tutorial is in
tests/web/test_tutorial_browser.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doc_blocks import ROOT, Block, blocks, commands
from doc_run import WIDTH, alike
from timeouts import PATIENCE

TERMINAL, PYTHON = (ROOT / "docs" / name for name in ("tutorial.md", "tutorial-python.md"))
END = "=== part {number} ended with "
BARE = pytest.mark.skipif(
    os.environ.get("WUG_TEST_BARE") != "yes", reason="takes minutes and gigabytes: WUG_TEST_BARE=yes"
)


def test_the_tutorial_installs_wug_as_the_install_page_says() -> None:
    first, install = (
        next(b for b in blocks(ROOT / "docs" / name) if b.language == "console")
        for name in ("tutorial.md", "install.md")
    )
    assert first.body == install.body


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository in which wug was installed by the first commands of the tutorial."""
    folder = tmp_path_factory.mktemp("clone")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    install = next(block for block in blocks(TERMINAL) if block.language == "console")
    script = "set -e\n" + "\n".join(command.text for command in commands(install))
    _bash(script, folder)
    return folder


@BARE
def test_the_terminal_tutorial_does_what_it_says(clone: Path) -> None:
    given = []
    for block in blocks(TERMINAL):
        if block.title:
            (clone / block.title).write_text(block.body + "\n", encoding="utf-8")
        elif block.language == "console" and not block.reason:
            given += commands(block)
    script = "".join(f'{command.text}\necho "{END.format(number=n)}$?"\n' for n, command in enumerate(given))
    rest = _bash(f". env/bin/activate\n{script}", clone)
    for number, command in enumerate(given):
        said, _, rest = rest.partition(END.format(number=number))
        code, _, rest = rest.partition("\n")
        assert code == "0", f"{command.text}\n{said}"
        if any(line.strip() for line in command.shown):
            assert alike(said, "\n".join(command.shown)), f"{command.text}\n{said}"
    assert (clone / "npi.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (clone / "npi.html").stat().st_size > 100_000
    assert str(ROOT) not in (clone / "env" / "bin" / "wug").read_text(encoding="utf-8")


@BARE
def test_the_python_tutorial_does_what_it_says(clone: Path) -> None:
    found = blocks(PYTHON)
    code = [block for block in found if block.language == "python"]
    marked = [f'{block.body}\nprint("{END.format(number=n)}0")\n' for n, block in enumerate(code)]
    (clone / "tutorial_steps.py").write_text("\n".join(marked), encoding="utf-8")
    rest = _bash("set -e\n. env/bin/activate\npython tutorial_steps.py", clone)
    for number, block in enumerate(code):
        said, _, rest = rest.partition(END.format(number=number) + "0\n")
        if shown := _output(found, block):
            assert alike(said, shown), f"{block.place}\n{said}"
    assert (clone / "npi.svg").is_file()
    assert (clone / "page.html").is_file()


def _output(found: list[Block], block: Block) -> str:
    after = found[found.index(block) + 1 :][:1]
    return after[0].body if after and after[0].language == "text" and after[0].follows else ""


def _bash(script: str, folder: Path) -> str:
    """What a script prints, for someone who has Python and a package index."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    pip = {key: value for key, value in os.environ.items() if key.startswith("PIP_") or key.endswith("_proxy")}
    paths = f"{Path(sys.base_prefix) / 'bin'}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin"
    environment = {
        **pip,
        "PATH": paths,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "COLUMNS": WIDTH,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PIP_CONSTRAINT": str(ROOT / "constraints.txt"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_QUIET": "1",
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment,
        capture_output=True, text=True, timeout=30 * PATIENCE, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done.stdout
