"""How weights are to be loaded: number format, where they lie, how few bits they take, what is put on top of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import InputError

FORMATS = {"int8": "int8", "int4": "nf4"}
"""What a signature calls the number formats of quantised weights: other programs have other formats of 4 bits."""


@dataclass(frozen=True, slots=True)
class Loading:
    """What a user wants of the weights of a model."""

    dtype: str = "float32"
    device: str | None = None
    trust_remote_code: bool = False
    quantize: str = "no"
    adapter: Path | None = None
    device_map: str = "no"
    gguf: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Loading:
        """What the options of a backend say; those that it does not have are as if they were not given."""
        found = cls(**{name: options[name] for name in cls.__slots__ if name in options})
        if found.device_map != "no" and found.device not in (None, "auto"):
            raise InputError(
                f"device={found.device}, device_map={found.device_map}: a model is on one device or on several. "
                "Leave one of the two out"
            )
        return found


def signed(options: Mapping[str, Any]) -> dict[str, str]:
    """Those of the options that change answers and are not about the number format of the arithmetic.

    Where a model lies is not among them: layers on several devices compute what they compute on one.
    """
    found: dict[str, str] = {}
    if options.get("quantize", "no") != "no":
        found["quantize"] = FORMATS[options["quantize"]]
    if options.get("adapter") is not None:
        found["adapter"] = options["adapter"].resolve().name
    return found
