"""The location of published data for parity tests; tests that need missing data are skipped.

It is looked for among the sets that `wug data get` brought here, then in the folder of WUG_REFERENCE_DATA, or else in
`shared/data` next to the repository. At its end a test run says in a line what was skipped, and how to get it.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from wug import data
from wug.errors import NotFetched, UnknownName

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("WUG_REFERENCE_DATA", ROOT.parent / "shared" / "data"))
SETS = {
    "cogs": "cogs",
    "pairs/blimp": "blimp",
    "pairs/gulordava_en": "gulordava-en",
    "pairs/gulordava_eval_output_en": "gulordava-results/evaluation_output/English",
    "pairs/linzen_filtered": "linzen-filtered",
    "pcfgset": "pcfgset",
    "pcfgset/model_predictions": "pcfgset-predictions",
    "syntaxgym/reference_cases": "syntaxgym-core-examples",
    "syntaxgym/suites_square_brackets": "syntaxgym",
}
"""Folders of the reference data, and what the catalogue calls their files."""
FETCHED = os.environ.get(data.FOLDER)
"""The folder of fetched sets as the run began: some tests have another."""

MARK = "published data is not here: "
absent: Counter[str] = Counter()
"""What tests were skipped for: names of the catalogue, or files that it does not have, and how many tests."""


def reference(relative: str = ".") -> Path:
    """The path of a published file or folder, or a skipped test; with CI=true an absent file is a failure."""
    name = set_name(relative)
    found = fetched(name) if name else None
    path = found or FOLDER / relative
    if path.exists():
        return path
    wanted = (name or relative).removesuffix(".gz")
    reason = f"{MARK}{wanted} ({_remedy([wanted])})"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def set_name(relative: str) -> str | None:
    """What the catalogue calls a file or folder of the reference data; None where it does not have it."""
    above = [folder for folder in SETS if relative == folder or relative.startswith(f"{folder}/")]
    if not above:
        return None
    folder = max(above, key=len)
    name = f"{SETS[folder]}{relative.removeprefix(folder).removesuffix('.gz')}"
    return name if data.is_known(name) else None


def fetched(name: str) -> Path | None:
    """Where a set or a part of one lies that was fetched; None where it was not."""
    with pytest.MonkeyPatch.context() as patch:
        if FETCHED is None:
            patch.delenv(data.FOLDER, raising=False)
        else:
            patch.setenv(data.FOLDER, FETCHED)
        try:
            return data.path(name)
        except (NotFetched, UnknownName):
            return None


def noticed(report: pytest.TestReport) -> None:
    """Count a test that was skipped because its data is not here; in parallel runs only reports come together."""
    if report.skipped and isinstance(report.longrepr, tuple):
        _, mark, reason = str(report.longrepr[2]).partition(MARK)
        if mark:
            absent[reason.partition(" (")[0]] += 1


def summary() -> str | None:
    """What was skipped and how to get it, in a line; None where nothing was."""
    if not absent:
        return None
    tests = absent.total()
    return f"{tests} test{'s' * (tests != 1)} skipped for want of published data: {_remedy(sorted(absent))}"


def _remedy(names: list[str]) -> str:
    sets = dict.fromkeys(name.partition("/")[0] for name in names if data.is_known(name))
    others = [name for name in names if not data.is_known(name)]
    folder = f"WUG_REFERENCE_DATA=FOLDER with {', '.join(others[:4])}{', …' * (len(others) > 4)}"
    commands = [f"wug data get {' '.join(sets)} --accept"] if sets else []
    return " · ".join([*commands, *([folder] if others else [])])
