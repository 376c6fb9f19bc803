"""Safe reading of files that PyTorch saved: no code in them is run.

A pickle is a program that names functions and calls them. Here it gets inert placeholders, which keep their arguments
and do nothing; a name that is not on the caller's list is refused. Both layouts are read: the zip archive of today, and
the one before PyTorch 1.6, a series of pickles followed by the numbers.
"""

from __future__ import annotations

import io
import os
import pickle
import reprlib
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np
import numpy.typing as npt

from wug.errors import InputError, ModelError, first_line
from wug.files import MAX_BYTES_ENV, max_unpacked_bytes
from wug.models.weights.pickle_limits import check_instructions, check_values

MAGIC = b"l\xfc\x9cF\xf9 j\xa8P\x19."
"""The end of the pickled number 0x1950a86a20f9469cfc6c, with which the older layout begins."""

MAX_PICKLE_BYTES = 64 * 1024**2
"""Maximum size of data.pkl; most models have some thousand bytes."""

DTYPES: Mapping[str, str] = {
    "torch.DoubleStorage": "<f8",
    "torch.FloatStorage": "<f4",
    "torch.HalfStorage": "<f2",
    "torch.LongStorage": "<i8",
    "torch.IntStorage": "<i4",
    "torch.ShortStorage": "<i2",
    "torch.CharStorage": "|i1",
    "torch.ByteStorage": "|u1",
    "torch.BoolStorage": "|b1",
}

Array = npt.NDArray[Any]


class Inert:
    """A placeholder for a class or function: keeps its arguments and state."""

    __slots__ = ("args", "state")
    stands_for: ClassVar[str] = ""
    args: tuple[Any, ...]
    state: Any

    def __new__(cls, *args: object) -> Self:
        """Keep the arguments."""
        self = super().__new__(cls)
        self.args, self.state = args, None
        return self

    def __setstate__(self, state: object) -> None:
        self.state = state


class InertDict(dict[Any, Any]):
    """A placeholder for a dictionary: keeps its entries only."""

    __slots__ = ()
    stands_for: ClassVar[str] = ""

    def __init__(self, *args: object) -> None:
        super().__init__(*(content for content in args[-1:] if isinstance(content, dict | list)))

    def __setstate__(self, state: object) -> None:
        """Drop attributes, such as the `_metadata` of a state dict."""


class InertSet(set[Any]):
    """A placeholder for a set."""

    __slots__ = ()
    stands_for: ClassVar[str] = ""

    def __setstate__(self, state: object) -> None:
        """Drop attributes."""


TENSORS: Mapping[str, type] = {
    "collections.OrderedDict": InertDict,
    "torch.FloatStorage": Inert,
    "torch.HalfStorage": Inert,
    "torch.LongStorage": Inert,
    "torch._utils._rebuild_tensor": Inert,
    "torch._utils._rebuild_tensor_v2": Inert,
    "torch._utils._rebuild_parameter": Inert,
    "torch.nn.parameter.Parameter": Inert,
}
"""Names in a dictionary of weights."""

_TENSOR = ("torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2")
_PARAMETER = ("torch._utils._rebuild_parameter", "torch.nn.parameter.Parameter")
_READ_ERRORS = (
    pickle.UnpicklingError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What reading a damaged file may raise."""


@dataclass(frozen=True, slots=True)
class Storage:
    """The memory of tensors."""

    key: str
    kind: str
    offset: int
    size: int
    """Numbers, not bytes."""


@dataclass(frozen=True, slots=True)
class Pickled:
    """The content of a file, as plain data and placeholders."""

    path: Path
    root: Any
    data: Mapping[str, bytes]
    """The numbers of each storage."""

    def array(self, value: object) -> Array | None:
        """The array of a tensor or parameter; None if `value` is something else."""
        if isinstance(value, Inert) and value.stands_for in _PARAMETER and value.args:
            value = value.args[0]
        if not isinstance(value, Inert) or value.stands_for not in _TENSOR:
            return None
        match value.args:
            case (Storage() as storage, int(offset), tuple(size), tuple(stride), *_):
                return self._view(storage, offset, size, stride)
        raise _damaged(self.path, "a tensor is not described as PyTorch does it")

    def _view(self, storage: Storage, offset: int, size: tuple[Any, ...], stride: tuple[Any, ...]) -> Array:
        whole = all(isinstance(n, int) and n >= 0 for n in (offset, *size, *stride))
        if not whole or len(size) != len(stride):
            raise _damaged(self.path, f"a tensor of size {reprlib.repr(size)} has strides {reprlib.repr(stride)}")
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if prod(size) > storage.size or (prod(size) and last >= storage.size):
            raise _damaged(
                self.path, f"a tensor of size {reprlib.repr(size)} does not fit its {storage.size:,} numbers"
            )
        numbers = np.frombuffer(self.data[storage.key], dtype=DTYPES[storage.kind])
        numbers = numbers[storage.offset : storage.offset + storage.size]
        steps = [step * numbers.itemsize for step in stride]
        return np.array(np.lib.stride_tricks.as_strided(numbers[offset:], size, steps, writeable=False))


def read(path: Path, allowed: Mapping[str, type], *, what: str) -> Pickled:
    """Read a file of `torch.save`, with a placeholder from `allowed` for each name; `what` is for error messages."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    with file:
        try:
            start = file.read(64)
            file.seek(0)
            if start.startswith(b"PK\x03\x04"):
                return _read_zip(file, path, allowed, what)
            if MAGIC in start:
                return _read_legacy(file, path, allowed, what)
        except _READ_ERRORS as error:
            raise _damaged(path, first_line(error, 200)) from error
    raise ModelError(f"{path}: not a file that PyTorch saved: {_looks(start)}")


class _Recorder(pickle.Unpickler):
    """An unpickler that knows only placeholders, and records storages."""

    def __init__(self, file: BinaryIO, path: Path, allowed: Mapping[str, type], what: str) -> None:
        check_instructions(file)
        super().__init__(file, encoding="utf-8", errors="replace")  # what Python 2 wrote has bytes for text
        self.storages: dict[str, tuple[str, int]] = {}
        """For each storage, its kind and size."""
        self._path, self._allowed, self._what = path, allowed, what
        self._made: dict[str, type] = {}

    def find_class(self, module: str, name: str) -> type:
        """A placeholder, made for this file only."""
        full = f"{module}.{name}"
        if full not in self._allowed:
            raise ModelError(
                f"{self._path}: refused, because it asks for {full!r}, which is not part of {self._what}. Nothing in "
                "the file was run. If you trust its origin, load it where it was made, save only the weights with "
                "torch.save(model.state_dict(), 'weights.pt'), and give that file"
            )
        if full not in self._made:
            self._made[full] = type(name, (self._allowed[full],), {"__slots__": (), "stands_for": full})
        return self._made[full]

    def load(self) -> Any:
        """The content of the pickle."""
        root = super().load()
        check_values(root)
        return root

    def persistent_load(self, pid: object) -> Any:
        """A storage by its key, or the class of a module, which older files store with its source."""
        match pid:
            case ("module", type() as standing, *_):
                return standing
            case ("storage", type() as standing, str(key), _, int(size), *view) if size >= 0:
                kind: str = vars(standing).get("stands_for", "")
                if kind not in DTYPES:
                    raise pickle.UnpicklingError(f"numbers of an unknown kind {kind!r}")
                if self.storages.setdefault(key, (kind, size)) != (kind, size):
                    raise pickle.UnpicklingError(f"storage {key} is described in two ways")
                return _part(key, kind, size, view)
        raise pickle.UnpicklingError("a reference to something that is neither a storage nor a module")


def _part(key: str, kind: str, size: int, view: list[Any]) -> Storage:
    match view:
        case [] | [None]:
            return Storage(key, kind, 0, size)
        case [(str(), int(offset), int(length))] if min(offset, length) >= 0 and offset + length <= size:
            return Storage(key, kind, offset, length)
    raise pickle.UnpicklingError(f"a part of storage {key} that does not exist")


def _read_zip(file: BinaryIO, path: Path, allowed: Mapping[str, type], what: str) -> Pickled:
    with zipfile.ZipFile(file) as archive:
        names = [name for name in archive.namelist() if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(names) != 1:
            raise _damaged(path, "the archive has no data.pkl, so PyTorch did not write it")
        folder = names[0].removesuffix("data.pkl")
        order = f"{folder}byteorder"
        if order in archive.namelist() and _unpacked(archive, order, 16) != b"little":
            raise ModelError(f"{path}: saved on a big-endian machine. Save it again on a usual one")
        recorder = _Recorder(io.BytesIO(_unpacked(archive, names[0], MAX_PICKLE_BYTES)), path, allowed, what)
        root = recorder.load()
        _require_room(archive, path)
        data = {}
        for key, (kind, size) in recorder.storages.items():
            entry = archive.getinfo(f"{folder}data/{key}")
            if entry.file_size != size * np.dtype(DTYPES[kind]).itemsize:
                raise _damaged(
                    path, f"storage {key} has {entry.file_size:,} bytes instead of those of {size:,} numbers"
                )
            data[key] = archive.read(entry)
    return Pickled(path, root, data)


def _unpacked(archive: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    """Read a small file of an archive."""
    size = archive.getinfo(name).file_size
    if size > max_bytes:
        raise zipfile.BadZipFile(f"{name} has {size:,} bytes, and may have {max_bytes:,}")
    return archive.read(name)


def _require_room(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse an archive that unpacks to far more than its size; PyTorch does not compress."""
    total, most = sum(entry.file_size for entry in archive.infolist()), max(max_unpacked_bytes(), path.stat().st_size)
    if total > most:
        raise ModelError(
            f"{path}: refused, because it unpacks to {total:,} bytes, and the bound is {most:,}. If it is what it "
            f"should be, set a higher one: {MAX_BYTES_ENV}={2 * total}"
        )


def _read_legacy(file: BinaryIO, path: Path, allowed: Mapping[str, type], what: str) -> Pickled:
    def plain() -> Any:
        return _Recorder(file, path, {}, what).load()

    plain()  # the magic number
    version, system = plain(), plain()
    if version != 1001:
        raise ModelError(f"{path}: version {reprlib.repr(version)} of PyTorch's older file layout is not known")
    if isinstance(system, dict) and system.get("little_endian") is False:
        raise ModelError(f"{path}: saved on a big-endian machine. Save it again on a usual one")
    recorder = _Recorder(file, path, allowed, what)
    root = recorder.load()
    data = {}
    for key in plain():
        kind, size = recorder.storages[key]
        count = int.from_bytes(_take(file, 8), "little", signed=True)
        if count != size:
            raise _damaged(path, f"storage {key} has {count:,} numbers instead of {size:,}")
        data[key] = _take(file, size * np.dtype(DTYPES[kind]).itemsize)
    if missing := recorder.storages.keys() - data.keys():
        raise _damaged(path, f"storage {min(missing)} is not there")
    return Pickled(path, root, data)


def _take(file: BinaryIO, count: int) -> bytes:
    left = os.fstat(file.fileno()).st_size - file.tell()
    if count > left:
        raise EOFError(f"the file ends {count - left:,} bytes too early")
    return file.read(count)


def _damaged(path: Path, why: str) -> ModelError:
    return ModelError(f"{path}: damaged or incomplete ({why}). Download or copy it again, and compare the sizes")


def _looks(start: bytes) -> str:
    if not start:
        return "it is empty. Download or copy it again"
    if start.startswith(b"\x1f\x8b"):
        return "it is gzipped. Unpack it first"
    if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in start):
        return f"it is text that begins with {start[:40].decode()!r}. The download may have gone wrong"
    return f"it begins with the bytes {start[:8].hex(' ')}. Give a file that torch.save wrote, or a .safetensors file"
