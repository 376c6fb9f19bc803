"""The scoring options of the family, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wug.errors import InputError, UnknownName
from wug.families.syntaxgym.measures import METRICS
from wug.families.syntaxgym.parts import Eos, Join

OPTIONS: Mapping[str, str] = {
    "join": "how regions become a sentence: space (default; a space before every region) or detokenized "
    "(none before . , ! ? ; : ' ) ])",
    "eos": "where an end-of-sentence token counts: none (default; in no region) or last_region",
    "metric": f"how the surprisals of a region's tokens become one number, instead of what the suite says: "
    f"{', '.join(METRICS)}, several joined by commas, or all",
}


@dataclass(frozen=True, slots=True)
class Choices:
    """What the options say."""

    join: Join = "space"
    eos: Eos = "none"
    metrics: tuple[str, ...] | None = None
    """None: as the suite says."""


def choices(options: Mapping[str, str]) -> Choices:
    """The options as they were given, or an error that names the one at fault."""
    for key in options:
        if key not in OPTIONS:
            raise UnknownName("option of syntaxgym suites", key, OPTIONS)
    join: Join = "space" if _one_of(options, "join", ("space", "detokenized")) == "space" else "detokenized"
    eos: Eos = "none" if _one_of(options, "eos", ("none", "last_region")) == "none" else "last_region"
    given = options.get("metric")
    return Choices(join, eos, None if given is None else metrics([part.strip() for part in given.split(",")]))


def metrics(names: list[str]) -> tuple[str, ...]:
    """The metrics asked for, the primary one first: `sum` where it is among them, else the first."""
    for name in names:
        if name != "all" and name not in METRICS:
            raise UnknownName("metric", name, [*METRICS, "all"])
    chosen = list(METRICS) if "all" in names else list(dict.fromkeys(names))
    return tuple(sorted(chosen, key=lambda name: name != "sum"))


def _one_of(options: Mapping[str, str], key: str, values: tuple[str, ...]) -> str:
    given = options.get(key, values[0])
    if given not in values:
        raise InputError(f"option {key}={given!r} is none of: {', '.join(values)}")
    return given
