"""Archives: unpacked once, whole, within their folder and within bounds."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from wug.data.archives import unpacked
from wug.errors import DataError

FILES = {"set/a.csv": b"one", "set/deep/b.csv": b"two"}
Pack = Callable[[Path, dict[str, bytes]], Path]


def zipped(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "set.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return path


def tarred(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "set.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


both = pytest.mark.parametrize("pack", [zipped, tarred])


@both
def test_an_archive_is_unpacked_beside_itself_without_litter(pack: Pack, tmp_path: Path) -> None:
    archive = pack(tmp_path, FILES | {"__MACOSX/set/._a.csv": b"?", "set/.DS_Store": b"?", "set/._a.csv": b"?"})
    folder = unpacked(archive)
    assert folder == tmp_path / f"{archive.name}.unpacked"
    assert contents(folder) == FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([archive.name, folder.name])


@both
def test_it_is_unpacked_once(pack: Pack, tmp_path: Path) -> None:
    archive = pack(tmp_path, FILES)
    folder = unpacked(archive)
    archive.write_bytes(b"no archive any more")
    assert unpacked(archive) == folder


@both
@pytest.mark.parametrize("name", ["../outside.csv", "/outside.csv", "set/../../outside.csv", "..\\outside.csv", "C:/x"])
def test_nothing_is_written_outside_of_the_folder(pack: Pack, name: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    archive = pack(home, FILES | {name: b"?"})
    with pytest.raises(DataError, match="would be written outside of its folder"):
        unpacked(archive)
    assert list(tmp_path.rglob("*.csv")) == []
    assert list(home.iterdir()) == [archive]  # and nothing of it is left


@both
def test_more_than_the_bound_is_not_unpacked(pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = pack(tmp_path, {"a.csv": b"x" * 600, "b.csv": b"y" * 600})
    monkeypatch.setenv("WUG_MAX_BYTES", "1000")
    with pytest.raises(DataError, match="more than 1,000 bytes"):
        unpacked(archive)
    assert list(tmp_path.iterdir()) == [archive]
    monkeypatch.setenv("WUG_MAX_BYTES", "1200")
    assert len(contents(unpacked(archive))) == 2


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(kind: bytes, tmp_path: Path) -> None:
    path = tmp_path / "set.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        info = tarfile.TarInfo("set/link")
        info.type, info.linkname = kind, "/etc/passwd"
        packed.addfile(info)
    with pytest.raises(DataError, match="'set/link' is not a regular file"):
        unpacked(path)


def test_a_link_in_a_zip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "set.zip"
    with zipfile.ZipFile(path, "w") as packed:
        info = zipfile.ZipInfo("set/link")
        info.external_attr = 0o120777 << 16
        packed.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match="'set/link' is not a regular file"):
        unpacked(path)


def test_an_encrypted_archive_is_left_packed(tmp_path: Path) -> None:
    path = zipped(tmp_path, {"a.csv": b"x"})
    content = bytearray(path.read_bytes())
    # The flag is 6 bytes into the local header and 8 into the central one.
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="encrypted against crawlers"):
        unpacked(path)


@both
def test_a_damaged_archive_is_a_message(pack: Pack, tmp_path: Path) -> None:
    archive = pack(tmp_path, {"a.csv": bytes(range(256)) * 40})
    archive.write_bytes(archive.read_bytes()[:60])
    with pytest.raises(DataError, match="a damaged archive"):
        unpacked(archive)
    assert list(tmp_path.iterdir()) == [archive]
