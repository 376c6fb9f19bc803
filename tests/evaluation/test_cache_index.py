"""The index of the output cache finds exactly the keys that were written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from wug.evaluation.cache import KEY_BYTES, Cache

MODEL = b"m" * 16
TAIL = b"t" * (KEY_BYTES - 4)


def key(number: int, tail: bytes = TAIL) -> bytes:
    return number.to_bytes(4, "little") + tail


def write(cache: Cache, keys: Sequence[bytes]) -> None:
    cache.write(MODEL, "fake", [(one, b"output of " + one) for one in keys])


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "answers.db")


def test_keys_that_differ_only_in_their_first_bytes_are_distinguished(cache: Cache) -> None:
    keys = [key(number) for number in (5, 3, 8, 3)]
    write(cache, keys)
    assert cache.read(MODEL, b"".join(keys)) == [b"output of " + one for one in keys]
    requested = [key(4), key(8), key(9), key(3, b"a" * 8), key(3, b"z" * 8)]
    assert cache.read(MODEL, b"".join(requested)) == [None, b"output of " + key(8), None, None, None]
    missing, distinct = cache.missing(MODEL, b"".join([*requested, key(9)]))
    assert (sorted(missing.tolist()), distinct) == ([0, 2, 3, 4], 5)


def test_keys_that_were_released_are_found_again(cache: Cache) -> None:
    write(cache, [key(1), key(2)])
    assert cache.read(MODEL, key(1)) == [b"output of " + key(1)]
    cache.release(MODEL)
    write(cache, [key(3)])
    assert cache.read(MODEL, key(2) + key(3)) == [b"output of " + key(2), b"output of " + key(3)]
