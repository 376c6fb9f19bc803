"""The notebook of the documentation runs from its first cell to its last, without a network."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from command_line import run_python

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "first_look.ipynb"
EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=None, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def executed(folder: Path) -> list[dict[str, Any]]:
    """The code cells with what they gave; in a separate process, since nbclient leaves sockets open."""
    target = folder / "executed.ipynb"
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    output = run_python("-c", EXECUTE, NOTEBOOK, target, cwd=folder, env={"PYTHONPATH": path})
    assert output.code == 0, output.err
    cells = json.loads(target.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def test_the_notebook_runs(tmp_path: Path) -> None:
    cells = executed(tmp_path)
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "display_data"}  # nothing on stderr
    kinds = [set(output["data"]) for output in outputs]
    assert sum("image/svg+xml" in some for some in kinds) == 4
    tables = [output for output in outputs if "<table" in "".join(output["data"].get("text/html", ""))]
    assert len(tables) == 5  # words, the suite, both models, failures, the comparison


def test_the_stored_notebook_shows_what_it_gives() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert text.count('"image/svg+xml"') == 4
    assert "http" not in text.replace("http://www.w3.org/", "")  # nothing is fetched from anywhere
    assert str(ROOT) not in text
