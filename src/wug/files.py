"""Reading text files as they come: compressed or not, any line end, with the place of every fault."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import tempfile
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from wug.errors import InputError

HEAD = 64 * 1024


def read_bytes(path: Path, limit: int | None = None) -> bytes:
    """The bytes of a file, decompressed if it is gzip or xz; only the first `limit` where given."""
    try:
        with path.open("rb") as raw, _decompressed(raw) as plain:
            return plain.read() if limit is None else plain.read(limit)
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", file=path) from None
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise InputError(f"damaged compressed file ({error})", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, compressed or not, without a byte-order mark; line ends as they are."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"not UTF-8 text (byte 0x{data[error.start]:02x}). Save the file as UTF-8",
            file=path,
            place=f"line {line}",
        ) from None


def read_lines(path: Path) -> list[str]:
    """The lines of a text file without their ends (LF or CRLF), a last empty one dropped."""
    lines = read_text(path).replace("\r\n", "\n").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return lines


def head(path: Path) -> str:
    """The first 64 KiB as text, whatever they are; empty for a folder or a file that cannot be read."""
    if not path.is_file():
        return ""
    try:
        return read_bytes(path, HEAD).decode("utf-8-sig", errors="replace")
    except InputError:
        return ""


def checksum(*parts: bytes | str) -> str:
    """Twelve hexadecimal digits that change when any part does."""
    digest = hashlib.blake2b(digest_size=6)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a file whole or not at all: a reader never sees half of it.

    A private one is readable by its owner alone, and so is the folder where that has to be made.
    """
    try:
        path.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
        # The name is cut, so that one that just fits stays so with what is added.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
                out.write(text)
            if not private:
                umask = os.umask(0)
                os.umask(umask)
                Path(name).chmod(0o666 & ~umask)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None


def _decompressed(raw: BinaryIO) -> BinaryIO:
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    return cast(BinaryIO, lzma.LZMAFile(raw)) if magic == b"\xfd7zXZ\x00" else raw
