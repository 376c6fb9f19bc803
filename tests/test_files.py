"""Reading and writing files that are not as they should be."""

from __future__ import annotations

import errno
import gzip
import lzma
import os
import random
import tracemalloc
from pathlib import Path

import pytest

from wug import files
from wug.errors import InputError, caret


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_file_that_unpacks_to_more_than_the_bound_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: object
) -> None:
    assert callable(pack)
    path = tmp_path / "bomb.gz"
    path.write_bytes(pack(bytes(3_000_000)))
    assert path.stat().st_size < 10_000
    monkeypatch.setenv("WUG_MAX_BYTES", "2000000")
    with pytest.raises(InputError, match=r"bomb.gz: unpacks to more than 2,000,000 bytes.*WUG_MAX_BYTES="):
        files.read_bytes(path)
    monkeypatch.setenv("WUG_MAX_BYTES", "3000000")
    assert len(files.read_bytes(path)) == 3_000_000
    assert files.read_bytes(path, 5) == bytes(5)


def test_plain_files_have_no_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WUG_MAX_BYTES", "10")
    (tmp_path / "long.txt").write_text("x" * 100)
    assert files.read_text(tmp_path / "long.txt") == "x" * 100


def test_an_endless_device_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WUG_MAX_BYTES", "100000")
    with pytest.raises(InputError, match="more than 100,000 bytes"):
        files.read_bytes(Path("/dev/zero"))


@pytest.mark.parametrize("value", ["9" * 5000, "many", "-1", "1e9"])
def test_the_bound_is_a_number(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("WUG_MAX_BYTES", value)
    with pytest.raises(InputError, match=r"write a number of bytes, such as WUG_MAX_BYTES=\d+") as caught:
        files.max_unpacked_bytes()
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\0b", "a path cannot contain a NUL"),
        ("n" * 300, "File name too long"),
        ("~nobody-of-this-name/x", "the home folder of user 'nobody-of-this-name' is unknown"),
        ("\udcff.json", "not UTF-8 text. Rename"),
    ],
)
def test_names_that_no_file_can_have(text: str, why: str) -> None:
    assert files.existing(text) is None
    with pytest.raises(InputError, match=why):
        files.user_path(text)


def test_utf_16_is_called_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes("good\tbad\n".encode("utf-16"))
    with pytest.raises(InputError, match=r"UTF-16 text, .* not UTF-8\. Save the file as UTF-8"):
        files.read_text(tmp_path / "x.tsv")


def test_lone_surrogates_are_written_by_their_number_and_have_a_checksum(tmp_path: Path) -> None:
    files.write_text(tmp_path / "x", '"a\ud800"')
    assert (tmp_path / "x").read_text() == r'"a\ud800"'
    assert files.checksum("a\udcff") != files.checksum("a\udcfe")


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    path.write_text("old")

    def full(self: Path, target: object) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"page.html: cannot be written: No space left on device"):
        files.write_text(path, "new")
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    assert path.read_text() == "old"


def test_a_device_is_written_to_and_not_replaced() -> None:
    files.write_text(Path("/dev/null"), "x")
    assert not Path("/dev/null").is_file()
    with pytest.raises(InputError, match="No space left on device"):
        files.write_text(Path("/dev/full"), "x")


def test_of_a_long_text_only_what_is_around_the_fault_is_shown() -> None:
    assert caret("a b", 2, 3) == "    a b\n      ^"
    shown = caret("(" * 100_000 + "!" + ")" * 100_000, 100_000, 100_001)
    text, mark = shown.split("\n")
    assert len(text) < 700
    assert text[mark.index("^")] == "!"
    assert mark.count("^") == 1
    text, mark = caret("x" * 5000, 10, 5000).split("\n")
    assert mark.index("^") == 14
    assert len(mark) <= len(text)
    text, mark = caret("x" * 5000, 5000, 5001).split("\n")
    assert mark.index("^") == len(text)


def test_a_control_character_does_not_move_the_caret() -> None:
    assert caret("a\x1bb", 2, 3) == "    a b\n      ^"


def test_a_compressed_file_is_held_in_memory_once(tmp_path: Path) -> None:
    size = 24 * 1024**2
    (tmp_path / "noise.gz").write_bytes(gzip.compress(random.Random(1).randbytes(size), 1))
    tracemalloc.start()
    try:
        assert len(files.read_bytes(tmp_path / "noise.gz")) == size
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.7 * size  # what is read, some room to grow, a piece


def test_repeated_names_stand_once_each_as_first_met() -> None:
    assert files.repeated(["b", "a", "c", "a", "b", "a"]) == ["b", "a"]
    assert files.repeated(map(str, range(200_000))) == []
