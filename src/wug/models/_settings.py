"""Reading the options that several backends share: yes or no, whole numbers, number formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wug.errors import InputError
from wug.files import shortened

DTYPES = ("float32", "bfloat16", "float16", "auto")


def flag(options: Mapping[str, str], name: str) -> bool:
    """Whether an option is yes; no where it is absent."""
    value = options.get(name, "no").lower()
    if value not in ("yes", "no", "true", "false", "1", "0"):
        raise InputError(f"option {name}={value!r}: write yes or no")
    return value in ("yes", "true", "1")


def whole(options: Mapping[str, str], name: str) -> int | None:
    """An option that is a whole number above 0, or None where it is absent."""
    value = options.get(name)
    if value is None:
        return None
    if not value.isascii() or not value.isdigit() or len(value) > 15 or int(value) < 1:
        raise InputError(f"option {name}={shortened(value)!r}: write a whole number above 0")
    return int(value)


def seconds(options: Mapping[str, str], name: str) -> float | None:
    """An option that is a time in seconds above 0, or None where it is absent."""
    text = options.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e7:
        raise InputError(f"option {name}={text!r}: write a number of seconds above 0")
    return value


def choice(options: Mapping[str, str], name: str, known: Sequence[str]) -> str:
    """An option that is one of some words; the first of them where it is absent."""
    value = options.get(name, known[0])
    if value not in known:
        raise InputError(f"option {name}={value!r} is not one of {', '.join(known)}")
    return value
