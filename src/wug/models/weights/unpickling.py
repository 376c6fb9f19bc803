"""Safe reading of files that PyTorch saved: no code in them is run.

A pickle is a program that names functions and calls them. `torch.load` gets an unpickler that knows only what describes
tensors, and the names on the caller's list, for which it has inert placeholders. The option `weights_only` of
`torch.load` would not do: it refuses whole modules in the layout before PyTorch 1.6, such as the published LSTMs.
"""

from __future__ import annotations

import pickle
import reprlib
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Self

from wug.errors import InputError, ModelError, WugError, first_line, needs_extra
from wug.files import MAX_BYTES_ENV, max_unpacked_bytes

if TYPE_CHECKING:
    import torch

MAGIC = b"l\xfc\x9cF\xf9 j\xa8P\x19."
"""The end of the pickled number 0x1950a86a20f9469cfc6c, with which the layout before PyTorch 1.6 begins."""

MAX_INTEGER_BITS = 1024


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
    """A dictionary of any class: keeps its entries only."""

    __slots__ = ()

    def __init__(self, *args: object) -> None:
        super().__init__(*(content for content in args[-1:] if isinstance(content, dict | list)))

    def __setstate__(self, state: object) -> None:
        """Drop attributes, such as the `_metadata` of a state dict."""


class NestedTuple(tuple[Any, ...]):
    """A tuple of tuples. It has no hash: to compute that of a few hundred bytes can take forever."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]


def read(path: Path, allowed: Collection[str], *, what: str) -> Any:
    """The content of a file of `torch.save`: plain data, tensors, and placeholders for the names in `allowed`.

    `what` says what the file should be, for error messages.
    """
    with needs_extra(f"reading {what}", "hf"):
        import torch
    classes = _tensor_names() | {name: type(name, (Inert,), {"__slots__": (), "stands_for": name}) for name in allowed}

    class Unpickler(pickle._Unpickler):  # in Python: a file cannot make that in C reserve memory
        dispatch = _dispatch()

        def find_class(self, module: str, name: str) -> Any:
            full = f"{module}.{name}"
            if full not in classes:
                raise ModelError(
                    f"{path}: refused, because it asks for {full!r}, which is not part of {what}. Nothing in the file "
                    "was run. If you trust its origin, load it where it was made, save only the weights with "
                    "torch.save(model.state_dict(), 'weights.pt'), and give that file"
                )
            return classes[full]

    def load(file: BinaryIO, **settings: Any) -> Any:
        return Unpickler(file, **settings).load()

    module = SimpleNamespace(__name__="restricted", Unpickler=Unpickler, load=load)
    settings = {"encoding": "utf-8", "errors": "replace"}  # what Python 2 wrote has bytes for text
    try:
        _require_layout(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about the source code of modules, which is not used
            return torch.load(path, map_location="cpu", pickle_module=module, weights_only=False, **settings)
    except WugError:
        raise
    except FileNotFoundError:
        raise InputError("no such file", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from None
    except Exception as error:  # whatever a damaged file leads to
        raise ModelError(
            f"{path}: damaged or incomplete ({first_line(error, 200)}). Download or copy it again, and compare the "
            "sizes"
        ) from error


def _dispatch() -> dict[int, Callable[[Any], None]]:
    """The instructions of pickles: tuples of tuples have no hash, and integers have few enough digits to be printed."""
    instructions = dict(pickle._Unpickler.dispatch)

    def load_tuple(unpickler: Any, load: Callable[[Any], None]) -> None:
        load(unpickler)
        if any(isinstance(element, tuple) for element in unpickler.stack[-1]):
            unpickler.stack[-1] = NestedTuple(unpickler.stack[-1])

    def load_integer(unpickler: Any, load: Callable[[Any], None]) -> None:
        load(unpickler)
        bits = unpickler.stack[-1].bit_length()
        if bits > MAX_INTEGER_BITS:
            raise pickle.UnpicklingError(f"an integer of {bits:,} bits")

    for (code,) in (pickle.INT, pickle.LONG, pickle.LONG1, pickle.LONG4):
        instructions[code] = partial(load_integer, load=instructions[code])
    for (code,) in (pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
        instructions[code] = partial(load_tuple, load=instructions[code])
    return instructions


def _tensor_names() -> dict[str, Any]:
    def called(make: Callable[..., Any]) -> type:
        """A class without state whose objects are what `make` returns, so that a file cannot change a function."""
        return type("Called", (), {"__slots__": (), "__new__": lambda cls, *args: make(*args)})

    parameter = called(lambda data, *_: data)
    return {
        "collections.OrderedDict": InertDict,
        "torch._utils._rebuild_tensor": called(_tensor),
        "torch._utils._rebuild_tensor_v2": called(_tensor),
        "torch._utils._rebuild_parameter": parameter,
        "torch.nn.parameter.Parameter": parameter,
        "collections.defaultdict": InertDict,
        "collections.Counter": InertDict,
        "__builtin__.set": called(set),  # in every module since PyTorch 1.6
        "builtins.set": called(set),
    }


def _tensor(storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_: object) -> torch.Tensor:
    """A tensor within its storage, which PyTorch would extend."""
    import torch

    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    count, available = torch.Size(size).numel(), len(storage)
    if min((offset, *size, *stride)) < 0 or count > available or (count and last >= available):
        raise pickle.UnpicklingError(f"a tensor of size {reprlib.repr(size)} does not fit its {available:,} numbers")
    return torch._utils._rebuild_tensor(storage, offset, size, stride)


def _require_layout(path: Path) -> None:
    """Refuse what `torch.load` would read in another way, and archives that unpack to far more than their size."""
    import torch

    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(b"PK\x03\x04"):
        if "constants.pkl" in torch._C.PyTorchFileReader(str(path)).get_all_records():
            raise ModelError(f"{path}: a TorchScript program, which is not run. Give a file that torch.save wrote")
        with zipfile.ZipFile(path) as archive:
            total = sum(entry.file_size for entry in archive.infolist())
        limit = max(max_unpacked_bytes(), path.stat().st_size)
        if total > limit:
            raise ModelError(
                f"{path}: refused, because it unpacks to {total:,} bytes, and the bound is {limit:,}. If it is what it "
                f"should be, set a higher one: {MAX_BYTES_ENV}={2 * total}"
            )
    elif MAGIC not in start or tarfile.is_tarfile(path):
        raise ModelError(f"{path}: not a file that PyTorch saved: {_description(start)}")


def _description(start: bytes) -> str:
    if not start:
        return "it is empty. Download or copy it again"
    if start.startswith(b"\x1f\x8b"):
        return "it is gzipped. Unpack it first"
    if all(32 <= byte < 127 or byte in b"\t\r\n" for byte in start):
        return f"it is text that begins with {start[:40].decode()!r}. The download may have gone wrong"
    return f"it begins with the bytes {start[:8].hex(' ')}. Give a file that torch.save wrote, or a .safetensors file"
