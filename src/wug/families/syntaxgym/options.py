"""The scoring options of the family, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wug.errors import InputError, UnknownName
from wug.families.syntaxgym.measures import METRICS
from wug.families.syntaxgym.parts import Empty, Eos, Join
from wug.families.syntaxgym.table_files import ALL_COLUMNS, Selection
from wug.files import repeated
from wug.options import Option, read

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
        "what becomes of an item with no token in a region that a prediction compares: it is excluded and counted, "
        "the region counts as 0 bits (as in SyntaxGym), or the suite is refused",
    ),
    Option("eos", ("none", "last_region"), "none", "where an end-of-sentence token counts: in no region, or the last"),
    Option("regions", str, (), "of a wide table: the columns that are regions, in this order", many=True),
    Option("ignore", str, (), "of a wide table: columns that are no regions", many=True),
    Option(
        "metric",
        (*METRICS, "all"),
        None,
        "how the surprisals of a region's tokens become one number; by default as the suite says",
        many=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Choices:
    """What the options say."""

    join: Join = "space"
    eos: Eos = "none"
    empty: Empty = "exclude"
    metrics: tuple[str, ...] | None = None
    """None: as the suite says."""
    columns: Selection = ALL_COLUMNS


def choices(options: Mapping[str, str]) -> Choices:
    """The options as they were given, or an error that names the one at fault."""
    values = read(OPTIONS, options, "syntaxgym")
    chosen = metrics(values["metric"]) if values["metric"] else None
    columns = Selection(values["regions"], values["ignore"])
    if twice := repeated(columns.regions):
        raise InputError(f"regions={options['regions']} names {twice[0]!r} twice")
    if columns.regions and columns.ignore:
        raise InputError("give either regions or ignore: all columns but the regions are ignored")
    return Choices(values["join"], values["eos"], values["empty"], chosen, columns)


def metrics(names: Sequence[str]) -> tuple[str, ...]:
    """The metrics asked for, the primary one first: `sum` where it is among them, else the first."""
    for name in names:
        if name != "all" and name not in METRICS:
            raise UnknownName("metric", name, [*METRICS, "all"])
    chosen = list(METRICS) if "all" in names else list(dict.fromkeys(names))
    return tuple(sorted(chosen, key=lambda name: name != "sum"))
