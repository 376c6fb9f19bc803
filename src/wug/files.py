"""Reading text files as they come: compressed or not, any line end, with the place of every fault."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import stat
import tempfile
import tomllib
import zlib
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from wug.errors import InputError, nearest

Name = TypeVar("Name", bound=Hashable)
HEAD = 64 * 1024
LARGEST = 256 * 1024**2
"""Bytes that a compressed file may unpack to, where the user sets no other bound: corpora have two thirds of it."""
SMALL, TIMES = 16 * 1024**2, 100
"""Bytes that any compressed file may unpack to; and how many times its own size, where that is more."""
BOUND = "WUG_MAX_BYTES"
"""The environment variable that sets another bound."""
LONGEST_LINE = 64 * 1024**2
"""Bytes of a line in a file that is read line by line."""
_PIECE = 4 * 1024**2
_BINARY = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive or an office document",
    b"SQLite format 3": "a SQLite database",
}
"""How files of other kinds begin."""


def read_bytes(path: Path, limit: int | None = None) -> bytes:
    """The bytes of a file, decompressed if it is gzip or xz; only the first `limit` where given.

    A small compressed file can unpack to more than any memory holds: it is refused beyond `largest()` bytes, and beyond
    a hundred times its own size, which no text of any length comes to.
    """
    with _reading(path), path.open("rb") as raw, _decompressed(raw) as plain:
        if limit is not None:
            return plain.read(limit)
        regular = plain is raw and stat.S_ISREG(os.fstat(raw.fileno()).st_mode)
        return plain.read() if regular else _read_bounded(plain, path, _bound(raw))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """A context in which whatever prevents a file from being read is an InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except IsADirectoryError:
        raise InputError("is a folder, not a file", file=path) from None
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise InputError(f"damaged compressed file ({error})", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    except ValueError as error:  # a NUL in the name
        raise InputError(f"no name that a file can have ({error})", file=path) from None


def user_path(text: str | Path) -> Path:
    """The path that a user wrote, `~` replaced by the home folder; an error where no file can be called so."""
    try:
        str(text).encode()
    except UnicodeEncodeError:  # what Python makes of bytes that are no UTF-8
        raise InputError("a name that is not UTF-8 text. Rename the file or folder", file=text) from None
    if "\0" in str(text):
        raise InputError("a path cannot have a NUL in it", file=text)
    try:
        path = Path(text).expanduser()
        path.exists()
    except RuntimeError:
        user = Path(text).parts[0]
        raise InputError(f"no home folder of a user {user[1:]!r} is known. Write the path in full", file=text) from None
    except OSError as error:
        raise InputError(f"no path that can be used: {error.strerror or error}", file=shortened(str(text))) from None
    return path


def existing(text: str | Path) -> Path | None:
    """The path that a user wrote, if there is something; None also where nothing can be called so."""
    try:
        path = user_path(text)
    except InputError:
        return None
    return path if path.exists() else None


def shortened(text: str, most: int = 200) -> str:
    """The text, its middle left out where it is longer than an error message should be."""
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 2 :]}"


def format_of(path: Path, known: Mapping[str, str]) -> str:
    """The format for the suffix of a file, or an InputError that lists those that exist."""
    suffix = path.suffix.lower()
    if suffix not in known:
        what = f"cannot be written as {suffix}" if suffix else "its name has no suffix"
        near = nearest(suffix, list(known)) if suffix else None
        raise InputError(
            f"{what}: use {' '.join(known).strip()}.{f' Did you mean {near!r}?' if near else ''}", file=path
        )
    return known[suffix]


def refuse_existing(paths: Iterable[Path], *, force: bool) -> None:
    """Raise InputError for the first file that exists, unless `force` allows to overwrite it."""
    for path in paths:
        if path.exists() and not force:
            raise InputError("exists already. Use another name, or --force to overwrite it", file=path)


def largest() -> int:
    """Bytes that a file may unpack to: what the environment says, else LARGEST."""
    given = os.environ.get(BOUND, "")
    if not given:
        return LARGEST
    if not (given.isascii() and given.isdigit() and len(given) < 19):
        raise InputError(f"{BOUND}={shortened(given)!r}: write a number of bytes, such as {BOUND}={4 * 1024**3}")
    return int(given)


def refuse_surrogates(text: str, place: str | None = None) -> str:
    """The text, or an InputError if it has a lone surrogate: no tokenizer and no file can represent one."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        near = text[max(0, error.start - 30) : error.end + 30]
        raise InputError(f"{near!r} contains a lone surrogate, which is not a character", place=place) from None
    return text


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, compressed or not, without a byte-order mark; line ends as they are."""
    data = read_bytes(path)
    if kind := next((name for magic, name in _BINARY.items() if data.startswith(magic)), None):
        raise InputError(f"{kind}, not text", file=path)
    if encoding := _wide(data):
        raise InputError(
            f"{encoding}, as some Windows programs write it, and not UTF-8. Save the file as UTF-8", file=path
        )
    if (nul := data.find(0)) >= 0:
        line = data[:nul].count(b"\n") + 1
        raise InputError(
            "a NUL byte, which text does not have: a binary or damaged file", file=path, place=f"line {line}"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"not UTF-8 text (byte 0x{data[error.start]:02x}). Save the file as UTF-8", file=path, place=f"line {line}"
        ) from None


def read_lines(path: Path) -> list[str]:
    """The lines of a text file without their ends (LF or CRLF), a last empty one dropped."""
    lines = read_text(path).replace("\r\n", "\n").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return lines


def iterate_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends, one at a time, for files that memory does not hold."""
    for number, line in enumerate(_raw_lines(path), 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError("not UTF-8 text. Save the file as UTF-8", file=path, place=f"line {number}") from None


def _raw_lines(path: Path) -> Iterator[bytes]:
    with _reading(path), path.open("rb") as raw, _decompressed(raw) as plain:
        while line := plain.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                raise InputError(f"a line of more than {LONGEST_LINE:,} bytes", file=path)
            yield line


def content_sha256(path: Path) -> str:
    """The SHA-256 of a file's content, decompressed if it is gzip or xz."""
    digest = hashlib.sha256()
    with _reading(path), path.open("rb") as raw, _decompressed(raw) as plain:
        while piece := plain.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """The contents of a TOML file's text."""
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except RecursionError:
        raise InputError("not TOML that can be read: it is nested too deeply", file=path) from None
    except ValueError as error:  # TOMLDecodeError, and numbers of thousands of digits
        raise InputError(f"not TOML: {error}", file=path) from None


def repeated(names: Iterable[Name]) -> list[Name]:
    """The names that are there more than once, each once, as first met."""
    return [name for name, times in Counter(names).items() if times > 1]


def table_text(text: str) -> str:
    """The text of a table; where all its lines end in CR alone, as old spreadsheets write them, with LF instead."""
    return text if "\n" in text else text.replace("\r", "\n")


def head(path: Path) -> str:
    """The first 64 KiB as text, whatever they are; empty for a folder or a file that cannot be read."""
    if not path.is_file():
        return ""
    try:
        return read_bytes(path, HEAD).decode("utf-8-sig", errors="replace")
    except InputError:
        return ""


def require_text(path: Path) -> None:
    """The error that says so, where a file does not begin as UTF-8 text."""
    start = head(path)
    if "\ufffd" in start or "\0" in start:
        read_text(path)


def checksum(*parts: bytes | str) -> str:
    """Twelve hexadecimal digits that change when any part does."""
    return checksum_of(parts)


def checksum_of(parts: Iterable[bytes | str]) -> str:
    """The same of very many parts, which are looked at one after the other."""
    digest = hashlib.blake2b(digest_size=6)
    for part in parts:
        # A file's name may have bytes that are no UTF-8, which Python keeps as lone surrogates.
        data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a file whole or not at all, in a folder that is made where there is none.

    A private one is readable by its owner alone, and so is the folder where that has to be made.
    """
    with writing(path):
        path.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    # Lone surrogates have no UTF-8; in JSON what stands for them here is read as what they were.
    write_bytes(path, text.encode(errors="backslashreplace"), private=private)


def write_lines(files: Mapping[str, Iterable[object]], folder: Path) -> list[Path]:
    """Write the lines of each file into a folder, each file whole or not at all; their paths."""
    paths = []
    for name, lines in files.items():
        path = folder / name
        write_text(path, "".join(f"{line}\n" for line in lines))
        paths.append(path)
    return paths


def write_bytes(path: Path, data: bytes | memoryview, *, private: bool = False) -> None:
    """Write a file whole or not at all: a reader never sees half of it."""
    write_pieces(path, (data,), private=private)


def write_pieces(path: Path, pieces: Iterable[bytes | memoryview], *, private: bool = False) -> None:
    """The same, of a file that comes in pieces."""
    with writing(path):
        if path.exists() and not path.is_file():  # such as /dev/stdout
            with path.open("wb") as out:
                out.writelines(pieces)
            return
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".wug-")
        try:
            with os.fdopen(handle, "wb") as out:
                out.writelines(pieces)
            if not private:
                umask = os.umask(0)
                os.umask(umask)
                Path(name).chmod(0o666 & ~umask)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What the system refuses meanwhile is an InputError about `path`."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=shortened(str(path))) from None
    except ValueError as error:  # a NUL in the name
        raise InputError(f"no name that a file can have ({error})", file=path) from None


def _bound(raw: BinaryIO) -> int:
    if os.environ.get(BOUND):
        return largest()
    return min(LARGEST, max(SMALL, TIMES * os.fstat(raw.fileno()).st_size))


def _read_bounded(plain: BinaryIO, path: Path, most: int) -> bytes:
    """All there is, in pieces, as long as it stays within the bound."""
    found = io.BytesIO()  # gives out what it holds without a second copy
    while piece := plain.read(min(_PIECE, most + 1 - found.tell())):
        found.write(piece)
        if found.tell() > most:
            found.close()  # the error's traceback would hold on to it
            raise InputError(
                f"it unpacks to more than {most:,} bytes, which is the bound. If it is what it should be, unpack it "
                f"yourself, or set a higher one: {BOUND}={8 * most}",
                file=path,
            )
    return found.getvalue()


def _wide(data: bytes) -> str:
    """The name of the encoding with two or four bytes a letter that a text is in; empty where it is in none."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32 text"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16 text"
    start = data[:4096]
    # Without a mark before it: of Latin letters every second byte is 0, and of no UTF-8 text any.
    every_second = any(
        start[at::2].count(0) > 0.4 * len(start) > 2 and not start[1 - at :: 2].count(0) for at in (0, 1)
    )
    return "UTF-16 text" if every_second else ""


def _decompressed(raw: BinaryIO) -> BinaryIO:
    magic = raw.read(6)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    return cast(BinaryIO, lzma.LZMAFile(raw)) if magic == b"\xfd7zXZ\x00" else raw
