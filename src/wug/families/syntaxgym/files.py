"""Suite files: scoring options, and reading JSON or a table as plain data."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError, UnknownName, caret
from wug.families.suite import EXCLUDE
from wug.families.syntaxgym.measures import REGION_METRICS
from wug.families.syntaxgym.parts import Empty, Eos, Join
from wug.families.syntaxgym.tables import ONLY_WIDE, load_table
from wug.files import read_text, repeated
from wug.options import Option, read
from wug.problems import ProblemList
from wug.record_tables import suffix_of

OPTIONS = (
    Option(
        "join",
        ("space", "detokenized"),
        "space",
        "how regions become a sentence: a space before every region, or none before . , ! ? ; : ' ) ]",
    ),
    Option(
        "empty",
        ("exclude", "zero", "refuse"),
        "exclude",
        "if a region that a prediction compares has no token: exclude the item and count it, count the region as "
        "0 bits (as in SyntaxGym), or refuse the suite",
    ),
    Option("eos", ("none", "last_region"), "none", "where an EOS token counts: in no region, or the last"),
    EXCLUDE,
    Option("regions", str, (), "columns of a wide table that are regions, in this order", many=True),
    Option("ignore", str, (), "columns of a wide table that are not regions", many=True),
    Option(
        "metric",
        (*REGION_METRICS, "all"),
        None,
        "how the surprisals of a region's tokens become one number (default: as the suite says)",
        many=True,
    ),
)


class SuiteOptions(NamedTuple):
    """The scoring options, parsed."""

    join: Join = "space"
    eos: Eos = "none"
    empty: Empty = "exclude"
    region_metrics: tuple[str, ...] | None = None
    """None for those of the suite."""
    regions: tuple[str, ...] = ()
    """The columns of a wide table that are regions; empty for all except the item, the condition and `ignore`."""
    ignore: tuple[str, ...] = ()


def choices(options: Mapping[str, str]) -> SuiteOptions:
    """Parse the options, or raise an error that names the wrong one."""
    values = read(OPTIONS, options, "syntaxgym")
    chosen = region_metrics(values["metric"]) if values["metric"] else None
    if twice := repeated(values["regions"]):
        raise InputError(f"regions={options['regions']} names {twice[0]!r} twice")
    if values["regions"] and values["ignore"]:
        raise InputError("give either regions or ignore: all columns except the regions are ignored")
    return SuiteOptions(values["join"], values["eos"], values["empty"], chosen, values["regions"], values["ignore"])


def region_metrics(names: Sequence[str]) -> tuple[str, ...]:
    """The region metrics, the primary one first: `sum` if it is among them, else the first."""
    for name in names:
        if name != "all" and name not in REGION_METRICS:
            raise UnknownName("metric", name, [*REGION_METRICS, "all"])
    chosen = list(REGION_METRICS) if "all" in names else list(dict.fromkeys(names))
    return tuple(sorted(chosen, key=lambda name: name != "sum"))


FIELDS = ("meta", "region_meta", "predictions", "items")
"""The fields of a suite's JSON object; any of them identifies one."""


def is_table(path: Path) -> bool:
    """Whether the file is a table, by its name."""
    return suffix_of(path) in (".csv", ".tsv")


def load(path: Path, problems: ProblemList, options: SuiteOptions) -> tuple[dict[str, Any], str | None]:
    """The suite in a file in its JSON form, and how a table was read; errors go to `problems`."""
    if is_table(path):
        return load_table(path, problems, options.regions, options.ignore)
    if options.regions or options.ignore:
        raise InputError(ONLY_WIDE, file=path)
    return _load_json(path, problems), None


def _load_json(path: Path, problems: ProblemList) -> dict[str, Any]:
    text = read_text(path)
    if not text.strip():
        raise InputError("the file is empty", file=path)

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        if len(content) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = repeated(keys)[0]
            problems.error("", f"an object has a repeated key, {twice!r}; its keys are {', '.join(keys[:8])}")
        return content

    try:
        document = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        start = max(0, error.pos - 40, text.rfind("\n", 0, error.pos) + 1)
        line = text[start : start + 80].split("\n", 1)[0]
        raise InputError(
            f"not valid JSON: {error.msg[0].lower()}{error.msg[1:]}\n"
            f"{caret(line, error.pos - start, error.pos - start + 1)}",
            file=path,
            place=f"line {error.lineno}, column {error.colno}",
        ) from None
    except RecursionError:
        raise InputError("nested too deeply to be a suite", file=path) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"not valid JSON: {error}", file=path) from None
    if not isinstance(document, dict) or not document.keys() & set(FIELDS):
        what = "a list" if isinstance(document, list) else "a single value"
        if isinstance(document, dict):
            what = f"an object with {', '.join(map(repr, list(document)[:6])) or 'nothing in it'}"
        raise InputError(
            "not a SyntaxGym suite: a suite is an object with 'meta', 'region_meta', 'predictions' and 'items', "
            f"but this is {what}",
            file=path,
        )
    # NaN and Infinity are not JSON; only results may have them, as other programs write them.
    waiting: list[tuple[str, Any]] = [("", document)] if "NaN" in text or "Infinity" in text else []
    while waiting:
        where, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend((f"{where}, {key}", inner) for key, inner in value.items() if key != "metric_value")
        elif isinstance(value, list):
            waiting.extend((f"{where}, entry {index}", inner) for index, inner in enumerate(value, start=1))
        elif isinstance(value, float) and not math.isfinite(value):
            problems.error(where.removeprefix(", "), f"{value} is not a JSON value")
    return document
