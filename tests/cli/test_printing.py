"""Lines on stderr: their level is said by the caller, whatever the text."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from wug.cli import _common as common
from wug.cli import _printing as printing


@pytest.fixture
def json_lines() -> Iterator[None]:
    handler = printing.LogHandler()
    handler.is_json = True
    logging.getLogger("wug").addHandler(handler)
    yield
    logging.getLogger("wug").removeHandler(handler)


def test_a_level_comes_before_the_text_unless_it_is_info(capsys: pytest.CaptureFixture[str]) -> None:
    printing.print_message("wrote a.csv")
    printing.print_message("--by: no field 'x'", "warning")
    printing.print_message("causal:x: no such model", "failed")
    assert capsys.readouterr().err.splitlines() == [
        "wrote a.csv",
        "warning: --by: no field 'x'",
        "failed: causal:x: no such model",
    ]


@pytest.mark.usefixtures("json_lines")
def test_a_json_line_has_the_level_and_a_failure_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    printing.print_message("warning: is the name of a suite", done=1)
    printing.print_message("causal:x: no such model", "failed")
    assert [json.loads(line) for line in capsys.readouterr().err.splitlines()] == [
        {"level": "info", "message": "warning: is the name of a suite", "done": 1},
        {"level": "error", "message": "causal:x: no such model"},
    ]


@pytest.mark.usefixtures("json_lines")
def test_no_bar_is_drawn_among_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with common.progress_bar("training") as draw:
        assert draw is None
