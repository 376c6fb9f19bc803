"""What was fetched is compared with the catalogue before it is read; what was altered is not taken for the original."""

from __future__ import annotations

import io
import os
import shlex
import tarfile
from pathlib import Path

import pytest

import fake_datasets
from command_line import refused, wug
from fake_datasets import CONTENT, Mirror
from wug import data
from wug.data import catalogue
from wug.errors import DataError
from wug.evaluation.suites import open_suites
from wug.outcomes import DATASET_KEY

OTHER = b'{"sentence_good": "The wug sleep.", "sentence_bad": "The wug sleeps."}\n' * 3
"""As long as the published file."""


def altered(path: Path) -> Path:
    """A file with another content of the same size."""
    assert len(OTHER) == path.stat().st_size
    path.write_bytes(OTHER)
    return path


@pytest.mark.parametrize("name", ["wugs/binding", "wugs", "wugs/*.jsonl"])
def test_an_altered_file_is_not_run_under_the_name_of_its_set(mirror: Mirror, name: str) -> None:
    folder = data.get("wugs")
    assert open_suites(name)
    path = altered(folder / "binding.jsonl")
    with pytest.raises(DataError) as error:
        open_suites(name)
    first, place, remedy = str(error.value).splitlines()
    assert first == f"{name}: changed since it was fetched, so it is no longer the published version:"
    assert place == f"    {path}"
    assert remedy.startswith(f"Fetch it again: wug data get {shlex.quote(name)}. ")
    data.get("wugs")
    assert open_suites(name)


def test_a_command_that_names_an_altered_set_fails_with_the_command_that_mends_it(mirror: Mirror) -> None:
    altered(data.get("guarded", accept=True))
    assert not data.fetched("guarded")
    assert "not fetched: wug data get guarded --accept" in wug("data", "show", "guarded").out
    refused(wug("run", "guarded", "--model", "wug-causal"), "wug data get guarded --accept")


def test_an_altered_file_named_by_its_path_is_run_without_the_citation(
    mirror: Mirror, caplog: pytest.LogCaptureFixture
) -> None:
    path = data.get("wugs/binding")
    (cited,) = open_suites(str(path))
    assert cited.meta[DATASET_KEY]["set"] == "wugs"
    assert data.origin(path) is not None
    altered(path)
    (own,) = open_suites(str(path))
    assert DATASET_KEY not in own.meta
    assert data.origin(path) is None
    assert f"{path}: changed since it was fetched. Results do not cite wugs" in caplog.text


def test_a_file_added_to_the_folder_of_a_set_is_not_run_under_its_name(mirror: Mirror) -> None:
    folder = data.get("wugs/more")
    (folder / "mine.tsv").write_bytes(b"x\ty\tz\n")
    with pytest.raises(DataError, match=r"wugs/more: the folder has files that are not part of the set.*\n.*mine\.tsv"):
        data.run_locations("wugs/more")
    place = data.location_of(folder)
    assert place is not None
    assert place.record is None
    place = data.location_of(folder / "mine.tsv")
    assert place is None


def test_a_path_from_the_current_folder_is_known_too(
    mirror: Mirror, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data.get("wugs")
    monkeypatch.chdir(data_folder.parent)
    monkeypatch.setenv("WUG_DATA", data_folder.name)
    place = data.location_of(Path("sets/wugs") / fake_datasets.COMMIT[:12])
    assert place is not None
    assert place.record is not None


def test_an_altered_file_with_the_old_times_is_not_run(mirror: Mirror) -> None:
    path = data.get("wugs/binding")
    open_suites("wugs/binding")
    before = path.stat()
    altered(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataError, match="changed since it was fetched"):
        open_suites("wugs/binding")


@pytest.fixture
def packed(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> str:
    """A set that is an archive with one file."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        info = tarfile.TarInfo("binding.jsonl")
        info.size = len(CONTENT["data/binding.jsonl"])
        tar.addfile(info, io.BytesIO(CONTENT["data/binding.jsonl"]))
    monkeypatch.setitem(CONTENT, "data/all.tar", content.getvalue())
    listed = fake_datasets.TEXT.replace(
        "[sets.guarded]",
        f"""[sets.packed]
title = "Packed wugs"
family = "pairs"
languages = ["en"]
items = "3 pairs"
licence = "MIT"
cite = ["berko1958"]
repository = "github.com/nobody/packed"
commit = "{fake_datasets.COMMIT}"
files = '''
{fake_datasets.line("data/all.tar")}
'''

[sets.guarded]""",
    )
    monkeypatch.setattr(catalogue, "_text", lambda: listed)
    catalogue.catalogue.cache_clear()
    data.get("packed")
    return "packed"


def test_an_altered_file_of_an_unpacked_archive_is_not_run(packed: str) -> None:
    (suite,) = open_suites(packed)
    assert suite.meta[DATASET_KEY]["set"] == "packed"
    folder = data.path(packed).with_name("all.tar.unpacked")
    altered(folder / "binding.jsonl")
    with pytest.raises(DataError, match=r"all\.tar\.unpacked: changed since it was unpacked\. Delete the folder"):
        open_suites(packed)
    (own,) = open_suites(str(folder / "binding.jsonl"))
    assert DATASET_KEY not in own.meta


def test_a_file_added_to_an_unpacked_archive_is_not_run(packed: str) -> None:
    open_suites(packed)
    folder = data.path(packed).with_name("all.tar.unpacked")
    (folder / "mine.jsonl").write_bytes(OTHER)
    with pytest.raises(DataError, match="changed since it was unpacked"):
        open_suites(packed)


def test_a_set_in_a_folder_that_may_only_be_read_is_checked_each_time(mirror: Mirror, data_folder: Path) -> None:
    data.get("wugs")
    everything = [data_folder, *data_folder.rglob("*")]
    for path in everything:
        path.chmod(0o555)
    assert open_suites("wugs/binding")
    for path in everything:
        path.chmod(0o755)
