"""Published data for parity tests: found among fetched sets first, and asked for in a line where it is absent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import reference
from wug import data
from wug.data.catalogue import File
from wug.files import read_bytes


def test_files_of_the_reference_folder_have_names_in_the_catalogue() -> None:
    assert reference.set_name("pairs/blimp") == "blimp"
    assert (
        reference.set_name("pairs/linzen_filtered/subj_agr_filtered.gold.gz")
        == "linzen-filtered/subj_agr_filtered.gold"
    )
    assert reference.set_name("pcfgset/model_predictions/lstms2s/localism") == "pcfgset-predictions/lstms2s/localism"
    assert reference.set_name("pcfgset/expected.tsv") is None
    assert reference.set_name("../catalogue/samples") is None


@pytest.mark.parametrize("folder", reference.SETS)
def test_a_file_of_the_catalogue_has_the_bytes_of_its_copy_in_the_reference_folder(folder: str, tmp_path: Path) -> None:
    here = reference.FOLDER / folder
    if not here.is_dir():
        reference.reference(folder)
        pytest.skip("the set was fetched: there is no copy to compare with")
    compared = 0
    for path in sorted(path for path in here.rglob("*") if path.is_file()):
        name = reference.set_name(path.relative_to(reference.FOLDER).as_posix())
        if name is None or reference.SETS[folder].partition("/")[0] != name.partition("/")[0]:
            continue
        files: tuple[File, ...] = data.find(name).files
        copy = tmp_path / "copy"
        copy.write_bytes(read_bytes(path))
        assert files[0].checksum_of(copy) == files[0].checksum, name
        compared += 1
    assert compared > 0


def test_a_fetched_set_is_found_before_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "FETCHED", str(tmp_path))
    monkeypatch.setattr(reference, "FOLDER", tmp_path / "none")
    file = data.find("blimp/causative").files[0]
    place = tmp_path / "blimp" / data.find("blimp").set.commit[:12] / file.name
    place.parent.mkdir(parents=True)
    place.write_bytes(b"?" * (file.size or 0))
    monkeypatch.setattr(File, "matches", lambda self, path: True)  # its content is made up
    assert reference.reference("pairs/blimp/causative.jsonl.gz") == place


def test_what_is_absent_is_reported_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "FETCHED", str(tmp_path))
    monkeypatch.setattr(reference, "FOLDER", tmp_path / "none")
    monkeypatch.setattr(reference, "absent", Counter())
    monkeypatch.delenv("CI", raising=False)
    for relative in ("pairs/blimp", "cogs/gen.tsv.gz", "pcfgset/expected.tsv"):
        with pytest.raises(pytest.skip.Exception) as skipped:
            reference.reference(relative)
        where = ("tests/test_x.py", 1, f"Skipped: {skipped.value}")
        reference.noticed(pytest.TestReport("x", ("", 1, ""), {}, "skipped", where, "call"))
    assert reference.summary() == (
        "3 tests skipped for want of published data: wug data get blimp cogs --accept · "
        "WUG_REFERENCE_DATA=FOLDER with pcfgset/expected.tsv"
    )
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="wug data get blimp --accept"):
        reference.reference("pairs/blimp")
