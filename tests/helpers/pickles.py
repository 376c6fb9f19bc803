"""Files as PyTorch writes them, instruction by instruction: no version of it is needed to make an old one."""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MAGIC = 0x1950A86A20F9469CFC6C
SYSTEM = {"protocol_version": 1001, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}


@dataclass(frozen=True)
class Named:
    """A global: a class or a function, by the name that the pickle has for it."""

    module: str
    name: str


@dataclass(frozen=True)
class Call:
    """A global called with arguments, the result given a state; `new` makes an object of a class without calling it."""

    what: Any
    args: tuple[Any, ...] = ()
    state: Any = None
    new: bool = False


@dataclass(frozen=True)
class Reference:
    """The object of a persistent id."""

    pid: tuple[Any, ...]


class Writer(pickle._Pickler):
    """Writes globals that need not exist."""

    write: Callable[[bytes], object]

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        match obj:
            case Named(module, name):
                self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
            case Call(what, args, state, new):
                self.save(what)
                self.save(args)
                self.write(pickle.NEWOBJ if new else pickle.REDUCE)
                if state is not None:
                    self.save(state)
                    self.write(pickle.BUILD)
            case Reference(pid):
                self.save(pid)
                self.write(pickle.BINPERSID)
            case _:
                super().save(obj, save_persistent_id)  # type: ignore[misc]  # the stubs have just the public names


def dumps(value: Any) -> bytes:
    stream = io.BytesIO()
    Writer(stream, protocol=2).dump(value)
    return stream.getvalue()


def storage(key: str, size: int, kind: str = "FloatStorage", view: Any = None, *, old: bool = True) -> Reference:
    pid = ("storage", Named("torch", kind), key, "cuda:0", size)
    return Reference((*pid, view) if old else pid)


def tensor(stored: Reference, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> Call:
    """A tensor as PyTorch 0.3 describes it."""
    return Call(Named("torch._utils", "_rebuild_tensor"), (stored, offset, size, stride))


def legacy(root: Any, data: Mapping[str, Any], system: Any = SYSTEM, keys: Any = None) -> bytes:
    """The layout before PyTorch 1.6."""
    parts = [dumps(MAGIC), dumps(1001), dumps(system), dumps(root), dumps(sorted(data) if keys is None else keys)]
    for key in sorted(data):
        parts += [struct.pack("<q", len(data[key])), data[key].tobytes()]
    return b"".join(parts)


def archive(root: Any, data: Mapping[str, Any]) -> bytes:
    """The layout since PyTorch 1.6."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("archive/data.pkl", dumps(root))
        file.writestr("archive/byteorder", "little")
        for key, numbers in data.items():
            file.writestr(f"archive/data/{key}", numbers.tobytes())
        file.writestr("archive/version", "3\n")
    return stream.getvalue()
