"""Pickles that would build more, or deeper, than anything that PyTorch saves: refused before they are built."""

from __future__ import annotations

import io
import pickle
import zipfile
from pathlib import Path

import pytest

from wug.errors import ModelError
from wug.models.weights.pickle_limits import MAX_DEPTH, Extent, check_instructions, check_values
from wug.models.weights.unpickling import MAX_PICKLE_BYTES, TENSORS, read


def doubled(times: int) -> bytes:
    """Instructions for a tuple of twice the tuple before, so many times over; it is left on the stack."""
    made = b")q\x00"
    for number in range(times):
        made += b"h%ch%c\x86q%c" % (number, number, number + 1)
    return made


def archive(path: Path, data: bytes, **more: bytes) -> Path:
    """A .pt file with this description of what it holds."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a/data.pkl", data)
        for name, content in more.items():
            made.writestr(f"a/{name}", content)
    return path


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"\x80\x02" + doubled(30) + b".", "more than 10,000,000 values"),
        (b"\x80\x02}" + doubled(30) + b"K\x01s.", "more than 10,000,000 values"),  # as a key, which is hashed
        (b"\x80\x02" + b"(" * 100_000 + b"t" * 100_000 + b".", "more than 200 deep"),
        (b"\x80\x02}" + b"(" * 100_000 + b"t" * 100_000 + b"K\x01s.", "more than 200 deep"),
        (b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".", "more than 200 deep"),
        (b"\x80\x02r\x00\x00\x00\x00.", "not there"),
    ],
    ids=["doubled", "doubled key", "deep", "deep key", "deep lists", "nothing on the stack"],
)
def test_what_would_explode_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(ModelError, match=why):
        read(archive(tmp_path / "x.pt", data), TENSORS, what="weights")


def test_lists_that_are_filled_after_they_were_spoken_of_count_in_full() -> None:
    inner: list[object] = []
    outer = inner
    for _ in range(30):
        outer = [outer, outer]
    with pytest.raises(pickle.UnpicklingError, match="more than 10,000,000 values"):
        check_values(outer)


def test_a_value_that_contains_itself_is_no_fault() -> None:
    pipes: list[object] = []
    pipes.append(pipes)  # as torchtext's pipelines do
    check_values({"pipes": pipes})


@pytest.mark.parametrize("protocol", range(6))
def test_usual_pickles_pass(protocol: int) -> None:
    nested: object = 1
    for _ in range(MAX_DEPTH - 5):
        nested = [nested]
    value = {"words": [f"w{n}" for n in range(2000)], ("a", 1): {1, 2}, "nested": nested, "b": b"x" * 300, "f": 0.5}
    file = io.BytesIO(b"before" + pickle.dumps(value, protocol))
    file.seek(6)
    check_instructions(file)
    assert file.tell() == 6
    check_values(value)


def test_a_dictionary_filled_entry_by_entry_is_not_deep() -> None:
    data = b"\x80\x02}" + b"".join(b"M%c%cNs" % (n % 256, n // 256) for n in range(5000)) + b"."
    check_instructions(io.BytesIO(data))
    assert len(pickle.loads(data)) == 5000


def test_an_extent_says_how_many_values_and_how_deep() -> None:
    assert Extent() == (1, 0)


def test_archives_that_unpack_to_far_more_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path / "x.pt", b"\x80\x02N" + b"N0" * (MAX_PICKLE_BYTES // 2) + b".")
    with pytest.raises(ModelError, match=f"may have {MAX_PICKLE_BYTES:,}"):
        read(path, TENSORS, what="weights")
    monkeypatch.setenv("WUG_MAX_BYTES", "1000000")
    with pytest.raises(ModelError, match=r"the bound is 1,000,000.*WUG_MAX_BYTES"):
        read(archive(path, b"\x80\x02N.", other=bytes(2_000_000)), TENSORS, what="weights")
    with pytest.raises(ModelError, match="byteorder has 100 bytes"):
        read(archive(path, b"\x80\x02N.", byteorder=bytes(100)), TENSORS, what="weights")
