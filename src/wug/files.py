"""Reading and writing files: compressed or not, any line ending, with the location of every error."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
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
ASSETS = Path(__file__).parent / "assets"
"""The folder of data files that come with wug."""
HEAD_BYTES = 64 * 1024
MAX_UNPACKED_BYTES = 256 * 1024**2
"""Maximum size of an unpacked file, unless the user sets another; corpora reach two thirds of it."""
MIN_UNPACKED_LIMIT, MAX_RATIO = 16 * 1024**2, 100
"""Bytes that any compressed file may unpack to, and the maximum ratio to its size if that is more."""
MAX_BYTES_ENV = "WUG_MAX_BYTES"
"""The environment variable that sets another maximum."""
MAX_LINE_BYTES = 64 * 1024**2
"""Maximum length of a line in a file that is read line by line."""
_PIECE = 4 * 1024**2
_BINARY = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive or an office document",
    b"SQLite format 3": "a SQLite database",
}
"""First bytes of files that are not text."""


def read_bytes(path: Path, limit: int | None = None) -> bytes:
    """The bytes of a file, decompressed if it is gzip or xz; only the first `limit`, if given.

    A compressed file is refused if it unpacks to more than `max_unpacked_bytes()`, or to more than a hundred times its
    size, a ratio that real text does not reach.
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
        raise InputError(f"damaged compressed file ({error}). Download or copy it again", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    except ValueError as error:  # a NUL in the name
        raise InputError(f"not a valid file name ({error})", file=path) from None


def user_path(text: str | Path) -> Path:
    """The path that a user wrote, with `~` expanded; InputError if it is not a valid path."""
    try:
        str(text).encode()
    except UnicodeEncodeError:  # surrogates, which Python uses for bytes that are not UTF-8
        raise InputError("a name that is not UTF-8 text. Rename the file or folder", file=text) from None
    if "\0" in str(text):
        raise InputError("a path cannot contain a NUL character", file=text)
    try:
        path = Path(text).expanduser()
        path.exists()
    except RuntimeError:
        user = Path(text).parts[0]
        raise InputError(f"the home folder of user {user[1:]!r} is unknown. Write the full path", file=text) from None
    except OSError as error:
        raise InputError(f"not a valid path: {error.strerror or error}", file=shortened(str(text))) from None
    return path


def existing(text: str | Path) -> Path | None:
    """The path that a user wrote, if it exists; None otherwise, also for an invalid path."""
    try:
        path = user_path(text)
    except InputError:
        return None
    return path if path.exists() else None


def refuse_ambiguous(name: str, others: Iterable[tuple[str, str]]) -> None:
    """InputError if a file or folder is called like something else, unless the name is written as a path.

    `others` are the other meanings of the name, each with an unambiguous way to write it.
    """
    path = existing(name)
    if path is None or name.startswith((".", "~")) or Path(name).is_absolute():
        return
    kind = "folder" if path.is_dir() else "file"
    for other, written in others:
        raise InputError(f"{name} is ambiguous: write ./{name} for the {kind} here, or {written} for {other}")


def shortened(text: str, most: int = 200) -> str:
    """The text, with its middle left out if it is too long for an error message."""
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


def max_unpacked_bytes() -> int:
    """Maximum size of an unpacked file: from the environment, or MAX_UNPACKED_BYTES."""
    given = os.environ.get(MAX_BYTES_ENV, "")
    if not given:
        return MAX_UNPACKED_BYTES
    if not (given.isascii() and given.isdigit() and len(given) < 19):
        raise InputError(
            f"{MAX_BYTES_ENV}={shortened(given)!r}: write a number of bytes, such as {MAX_BYTES_ENV}={4 * 1024**3}"
        )
    return int(given)


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded as UTF-8: JSON may have lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_surrogates(text: str, place: str | None = None) -> str:
    """The text, or an InputError if it has a lone surrogate: no tokenizer and no file can represent one."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        near = text[max(0, error.start - 30) : error.end + 30]
        raise InputError(f"{near!r} contains a lone surrogate, which is not a character", place=place) from None
    return text


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, compressed or not, without a byte-order mark; line endings are kept."""
    data = read_bytes(path)
    if kind := next((name for magic, name in _BINARY.items() if data.startswith(magic)), None):
        raise InputError(f"{kind}, not text", file=path)
    if encoding := _wide(data):
        raise InputError(f"{encoding}, as some Windows programs write it, not UTF-8. Save the file as UTF-8", file=path)
    if (nul := data.find(0)) >= 0:
        line = data[:nul].count(b"\n") + 1
        raise InputError("contains a NUL byte, so it is a binary or damaged file", file=path, place=f"line {line}")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"not UTF-8 text (byte 0x{data[error.start]:02x}). Save the file as UTF-8", file=path, place=f"line {line}"
        ) from None


def read_lines(path: Path) -> list[str]:
    """The lines of a text file without line endings (LF or CRLF); a last empty line is dropped."""
    lines = read_text(path).replace("\r\n", "\n").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return lines


def iterate_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file without their ends, one at a time, for files that memory does not hold."""
    with _reading(path), path.open("rb") as raw, _decompressed(raw) as plain:
        lines = iter(lambda: plain.readline(MAX_LINE_BYTES + 1), b"")
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_LINE_BYTES:
                raise InputError(f"a line of more than {MAX_LINE_BYTES:,} bytes", file=path)
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise InputError("not UTF-8 text. Save the file as UTF-8", file=path, place=f"line {number}") from None


def content_sha256(path: Path) -> str:
    """The SHA-256 of a file's content, decompressed if it is gzip or xz."""
    digest = hashlib.sha256()
    with _reading(path), path.open("rb") as raw, _decompressed(raw) as plain:
        while piece := plain.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def not_json(error: Exception) -> str:
    """Why one line of text is not JSON, with the column."""
    if isinstance(error, RecursionError):
        return "JSON that is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg.removesuffix(' at')} at column {error.colno})"
    return f"not JSON ({shortened(str(error))})"


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON ({shortened(str(error))})", file=path) from None
    if not isinstance(content, dict):
        raise InputError("expected a JSON object", file=path)
    return content


def parse_toml(text: str, path: Path) -> dict[str, Any]:
    """The contents of a TOML file's text."""
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except RecursionError:
        raise InputError("TOML that is nested too deeply", file=path) from None
    except ValueError as error:  # TOMLDecodeError, and numbers of thousands of digits
        raise InputError(f"not TOML: {error}", file=path) from None


def repeated(names: Iterable[Name]) -> list[Name]:
    """The names that occur more than once, in order of appearance."""
    return [name for name, times in Counter(names).items() if times > 1]


def normalise_line_ends(text: str) -> str:
    """The text of a table; CR line endings, which old spreadsheets write, become LF."""
    return text if "\n" in text else text.replace("\r", "\n")


def head(path: Path) -> str:
    """The first 64 KiB as text, with replacement characters; empty for a folder or an unreadable file."""
    if not path.is_file():
        return ""
    try:
        return read_bytes(path, HEAD_BYTES).decode("utf-8-sig", errors="replace")
    except InputError:
        return ""


def require_text(path: Path) -> None:
    """Raise InputError if a file does not begin with UTF-8 text."""
    start = head(path)
    if "\ufffd" in start or "\0" in start:
        read_text(path)


def checksum(*parts: bytes | str) -> str:
    """A checksum of parts: twelve hexadecimal digits."""
    return checksum_of(parts)


def checksum_of(parts: Iterable[bytes | str]) -> str:
    """A checksum of many parts, read one at a time."""
    digest = hashlib.blake2b(digest_size=6)
    for part in parts:
        # Python represents bytes of file names that are not UTF-8 as lone surrogates.
        data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a file atomically, creating its folder; `private` makes both readable only by their owner."""
    with writing(path):
        path.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    # UTF-8 cannot encode lone surrogates; in JSON, the escapes written here are read as surrogates again.
    write_bytes(path, text.encode(errors="backslashreplace"), private=private)


def write_lines(files: Mapping[str, Iterable[object]], folder: Path) -> list[Path]:
    """Write the lines of each file into a folder, each file atomically; returns their paths."""
    paths = []
    for name, lines in files.items():
        path = folder / name
        write_text(path, "".join(f"{line}\n" for line in lines))
        paths.append(path)
    return paths


def write_bytes(path: Path, data: bytes | memoryview, *, private: bool = False) -> None:
    """Write a file atomically: a reader never sees a part of it."""
    write_pieces(path, (data,), private=private)


def write_pieces(path: Path, pieces: Iterable[bytes | memoryview], *, private: bool = False) -> None:
    """Write a file atomically from several pieces."""
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
    """Converts OSError to InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=shortened(str(path))) from None
    except ValueError as error:  # a NUL in the name
        raise InputError(f"not a valid file name ({error})", file=path) from None


def _bound(raw: BinaryIO) -> int:
    if os.environ.get(MAX_BYTES_ENV):
        return max_unpacked_bytes()
    return min(MAX_UNPACKED_BYTES, max(MIN_UNPACKED_LIMIT, MAX_RATIO * os.fstat(raw.fileno()).st_size))


def _read_bounded(plain: BinaryIO, path: Path, most: int) -> bytes:
    """Read everything; InputError if it is more than `most` bytes."""
    found = io.BytesIO()  # getvalue() makes no second copy
    while piece := plain.read(min(_PIECE, most + 1 - found.tell())):
        found.write(piece)
        if found.tell() > most:
            found.close()  # otherwise the traceback keeps it in memory
            raise InputError(
                f"unpacks to more than {most:,} bytes, the maximum. If that is correct, unpack it yourself, or set a "
                f"higher maximum: {MAX_BYTES_ENV}={8 * most}",
                file=path,
            )
    return found.getvalue()


def _wide(data: bytes) -> str:
    """UTF-16 or UTF-32 text, if the data are that; empty otherwise."""
    if data.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32 text"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16 text"
    start = data[:4096]
    # Without a byte-order mark: in UTF-16, every second byte of Latin letters is 0; UTF-8 text has none.
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
