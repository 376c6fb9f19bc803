"""A comparison of models as text: for the terminal, and in the formats that other programs and papers read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from wug.labels import short_names
from wug.views.markup import code, latex_table, markdown, markdown_table
from wug.views.numbers import interval_text, number, signed_text, spaced, value_text
from wug.views.table import delimited, finite
from wug.views.terminal import common_signature, print_signature

if TYPE_CHECKING:
    from wug.results.comparison import Comparison, Contrast, Disagreement, Side, Spread
    from wug.types import Signature

COLUMNS = (
    *("suite", "kind", "check", "first", "second", "runs_first", "runs_second", "n", "items", "unit"),
    *("value_first", "value_second", "difference", "low", "high", "interval_method", "p", "p_holm", "test"),
    *("both", "only_first", "only_second", "neither", "disagreeing", "sd_first", "sd_second", "verdict", "signatures"),
)
ALIGN = "llrrrrcrrll"
"""Of the columns of a table for people."""
AS_SUCH = ("overgeneralisation", "memorisation")
"""Checks of which neither more nor less is better."""
SHOWN = 100
"""Characters of a detail that a terminal shows."""
WIDE = 130
"""Columns of a terminal below which a table would be cut: each contrast is a block instead."""


def rows(comparison: Comparison) -> list[tuple[Any, ...]]:
    """One row for each contrast, in the order of COLUMNS; shares as shares, p-values in full."""
    return [
        (
            *(c.suite, c.kind, c.check, c.first.name, c.second.name),
            *(",".join(map(str, c.first.runs)), ",".join(map(str, c.second.runs))),
            *(c.n, c.items, "share" if c.share else "number", c.value_first, c.value_second, c.difference),
            *(c.low, c.high, c.interval_method, c.p, c.p_holm, c.method),
            *(c.both, c.only_first, c.only_second, c.neither, c.disagreeing),
            *(_deviation(c.spread_first), _deviation(c.spread_second), verdict(c), " ; ".join(map(str, c.signatures))),
        )
        for c in comparison.contrasts
    ]


def as_json(comparison: Comparison) -> str:
    """An object with the sides, the contrasts and the warnings."""
    shown = {
        "sides": [asdict(side) for side in comparison.sides],
        "difference": "second minus first",
        "confidence": 0.95,
        "correction": "holm",
        "tests": comparison.tests,
        "seed": comparison.seed,
        "contrasts": [
            {**asdict(contrast), "first": contrast.first.label, "second": contrast.second.label}
            | {"signatures": [str(signature) for signature in contrast.signatures], "verdict": verdict(contrast)}
            for contrast in comparison.contrasts
        ],
        "warnings": list(comparison.warnings),
    }
    return json.dumps(finite(shown), ensure_ascii=False, indent=2, allow_nan=False)


def as_csv(comparison: Comparison) -> str:
    """The contrasts, comma-separated."""
    return delimited(COLUMNS, rows(comparison), ",")


def as_tsv(comparison: Comparison) -> str:
    """The contrasts, tab-separated."""
    return delimited(COLUMNS, rows(comparison), "\t")


def as_markdown(comparison: Comparison) -> str:
    """A table in Markdown for each pair of sides, with what its columns mean."""
    made: list[str] = []
    for first, second, contrasts in couples(comparison):
        made.append(", ".join(f"**{side.label}** = {markdown(side.name)}" for side in (first, second)))
        made.append(markdown_table(head(first.label, second.label), map(line, contrasts), ALIGN))
    made += [f"*{markdown(note)}*" for note in notes(comparison)]
    made += [f"warning: {markdown(warning)}" for warning in warnings(comparison)]
    return "\n\n".join([*made, *(code(str(signature)) for signature in signatures(comparison))])


def as_latex(comparison: Comparison) -> str:
    """A booktabs table for each pair of sides, notes and signatures as comments."""
    tables = []
    for first, second, contrasts in couples(comparison):
        marks = dict.fromkeys(str(mark) for contrast in contrasts for mark in contrast.signatures)
        about = [f"{side.label} = {side.name}" for side in (first, second)]
        said = [*about, *notes(comparison), *(f"warning: {text}" for text in warnings(comparison)), *marks]
        tables.append(latex_table(head(first.label, second.label), map(line, contrasts), ALIGN, said))
    return "\n\n".join(tables)


FORMATS: Mapping[str, Callable[[Comparison], str]] = {
    "json": as_json,
    "csv": as_csv,
    "tsv": as_tsv,
    "md": as_markdown,
    "latex": as_latex,
}


def show(comparison: Comparison, console: Console) -> None:
    """Print a comparison for a person: a table for each pair of sides, what it means, the items that differ."""
    names = side_names(comparison)
    for first, second, contrasts in couples(comparison):
        for side in (first, second):
            run = "" if len(side.runs) > 1 or side.name.endswith(f"(run {side.runs[0]})") else f"  run {side.runs[0]}"
            console.print(Text.assemble((f"{side.label} ", "bold"), f"{names[side.label]}{run}"))
        if console.width < WIDE:
            for contrast in contrasts:
                console.print(_block(contrast))
        else:
            console.print(_table(first.label, second.label, contrasts))
        console.print()
        for contrast in contrasts:
            for text in _more(contrast):
                console.print(Text(text, style="dim"))
    for note in notes(comparison):
        console.print(Text(note, style="dim"))
    for warning in warnings(comparison):
        console.print(Text(f"warning: {warning}", style="yellow"))
    print_signature(common_signature(signatures(comparison)), console)


def side_names(comparison: Comparison) -> dict[str, str]:
    """What the sides are called, by their labels: their models as short as they can be."""
    short = short_names(model for side in comparison.sides for model in side.models)
    return {side.label: _shortened(side, short) for side in comparison.sides}


def _shortened(side: Side, short: Mapping[str, str]) -> str:
    """The name of a side with its model's short one in it; one of several models stays as it is."""
    models = set(side.models)
    return side.name.replace(side.models[0], short[side.models[0]]) if len(models) == 1 else side.name


def signatures(comparison: Comparison) -> list[Signature]:
    """Of all results that were compared."""
    return list(dict.fromkeys(mark for contrast in comparison.contrasts for mark in contrast.signatures))


def couples(comparison: Comparison) -> Iterator[tuple[Any, Any, list[Contrast]]]:
    """Each pair of sides with its contrasts."""
    for (first, second), found in groupby(comparison.contrasts, key=lambda c: (c.first, c.second)):
        yield first, second, list(found)


def line(contrast: Contrast) -> list[str]:
    """The cells of a contrast under `head`."""
    c = contrast
    return [
        c.suite,
        c.check.replace("_", " "),
        f"{c.n:,}",
        _value(c.value_first, c, c.spread_first),
        _value(c.value_second, c, c.spread_second),
        difference(c),
        interval(c),
        p_text(c.p),
        p_text(c.p_holm),
        verdict(c),
        test(c),
    ]


def verdict(contrast: Contrast) -> str:
    """Who is ahead, where that is more than chance: `B better`, `B higher` (of numbers), or `no difference shown`.

    `only unadjusted` where p is below 0.05 and the interval excludes 0, but Holm's correction leaves no difference.
    """
    if contrast.significant and contrast.higher is not None:
        better = contrast.share and contrast.check not in AS_SUCH
        return f"{contrast.higher.label} {'better' if better else 'higher'}"
    if contrast.p < 0.05:
        return "only unadjusted"
    return "equal" if contrast.disagreeing == 0 else "no difference shown"


def difference(contrast: Contrast) -> str:
    """With its sign: percentage points for shares, plain for numbers."""
    return f"{signed_text(contrast.difference, share=contrast.share)}{' pp' * contrast.share}"


def interval(contrast: Contrast) -> str:
    """In the unit of the difference; a dash without one."""
    if contrast.low is None or contrast.high is None:
        return "–"
    return f"[{signed_text(contrast.low, share=contrast.share)}, {signed_text(contrast.high, share=contrast.share)}]"


def p_text(p: float) -> str:
    """A p-value to two figures that mean something; never 0."""
    if p < 0.0001:
        return "<0.0001"
    return f"{p:.4f}" if p < 0.01 else f"{p:.3f}"


def test(contrast: Contrast) -> str:
    """The test and the interval, with the number of items where they are not the outcomes."""
    name = f"{contrast.method}; {contrast.interval_method}" if contrast.interval_method else contrast.method
    return name if contrast.items == contrast.n else f"{name}; {contrast.items:,} items"


def notes(comparison: Comparison) -> list[str]:
    """What a reader must know to read the table."""
    tests = comparison.tests
    agree = "p < 0.05 exactly where the interval excludes 0"
    if any(contrast.interval_method.endswith("bca") for contrast in comparison.contrasts):
        agree = "near p = 0.05 a BCa interval and the permutation test may disagree"
    said = [
        "The difference is the second minus the first on the items that both have.",
        f"The 95 % interval and p are for each test alone, unadjusted; {agree}.",
        f"p (Holm) is adjusted for all {tests} tests shown; below 0.05 one side is called better or higher."
        if tests > 1
        else "One test, so p (Holm) is p; below 0.05 one side is called better or higher.",
        '"No difference shown" does not mean that the models are equal: see how wide the interval is.',
    ]
    if any(verdict(contrast) == "only unadjusted" for contrast in comparison.contrasts):
        said.append('"Only unadjusted": p < 0.05 for this test alone, but not after adjustment for all tests.')
    if any(len(side.runs) > 1 for side in comparison.sides):
        said.append(
            "Values of several runs are means over runs, ± the standard deviation between them. Interval and p speak "
            "of new items for these very runs, not of new runs."
        )
    return said


def warnings(comparison: Comparison) -> list[str]:
    """All of them, those of a contrast with its name; equal ones once."""
    own: dict[str, list[str]] = {}
    for contrast in comparison.contrasts:
        for warning in contrast.warnings:
            own.setdefault(warning, []).append(f"{contrast.suite}, {contrast.check.replace('_', ' ')}")
    several = [f"{names[0]}{f' and {len(names) - 1} more' * (len(names) > 1)}: {text}" for text, names in own.items()]
    return [*comparison.warnings, *several]


def counts(contrast: Contrast) -> str:
    """How many both have right, only one, neither; empty where they are not counted."""
    c = contrast
    if c.both is None:
        return ""
    only = f"only {c.first.label} {c.only_first:,} · only {c.second.label} {c.only_second:,}"
    return f"both right {c.both:,} · {only} · neither {c.neither:,}"


def explanations(one: Disagreement, contrast: Contrast) -> Iterator[tuple[str, str]]:
    """What explains a disagreement, a line each: what both sides share, under no label, then each side's own."""
    shared = {key: value for key, value in one.detail_first.items() if one.detail_second.get(key) == value}
    yield from (("", text) for text in [_explained(shared)] if text)
    for side, detail in ((contrast.first, one.detail_first), (contrast.second, one.detail_second)):
        own = _explained({key: value for key, value in detail.items() if key not in shared})
        if own:
            yield side.label, own


def _explained(detail: Mapping[str, Any]) -> str:
    """The short values of a detail on one line."""
    said = [f"{key}: {_short(value)}" for key, value in detail.items() if isinstance(value, str | int | float)]
    return " · ".join(said)


def _short(value: str | float) -> str:
    if isinstance(value, float):
        return number(value)
    text = " ".join(str(value).split())
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def head(first: str, second: str) -> list[str]:
    """The columns of a table for people."""
    return [
        *("suite", "check", "n", first, second, f"{second} − {first}", "95 % interval", "p", "p (Holm)"),
        *("verdict", "test; interval"),
    ]


def _block(contrast: Contrast) -> Text:
    """A contrast on three lines."""
    suite, check, n, first, second, difference, interval, p, corrected, verdict, test = line(contrast)
    a, b = contrast.first.label, contrast.second.label
    return Text.assemble(
        (f"{suite} · {check}", "bold"),
        f"  n = {n}\n  {a} {first}   {b} {second}   {b} − {a} ",
        (difference, "bold"),
        f" {interval}\n  p {p}, p (Holm) {corrected}: ",
        (verdict, "bold" if contrast.significant else ""),
        f" ({test})",
    )


def _table(first: str, second: str, contrasts: Sequence[Contrast]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    names = head(first, second)
    for place, name in enumerate(names):
        words = place < 2 or place == len(names) - 1
        table.add_column(
            name, justify="left" if place < 2 or place > 8 else "right", overflow="fold", no_wrap=not words
        )
    before = None
    for contrast in contrasts:
        cells = [escape(text) for text in line(contrast)]
        if contrast.suite == before:
            cells[0] = ""
        before = contrast.suite
        cells[5] = f"[bold]{cells[5]}[/]"
        if contrast.significant:
            cells[9] = f"[bold]{cells[9]}[/]"
        table.add_row(*cells)
    return table


def _more(contrast: Contrast) -> Iterator[str]:
    """The counts of right and wrong, and the items that differ, where they are asked for."""
    if not contrast.disagreements:
        return
    about = f"{contrast.suite}, {contrast.check.replace('_', ' ')}"
    if contrast.both is not None:
        yield f"{about}: {counts(contrast)}"
    shown = len(contrast.disagreements)
    most = "" if contrast.share else ", those that differ most"
    some = f"; {shown} of them{most}" if shown < contrast.disagreeing else ""
    yield f"{about}: {contrast.disagreeing:,} items differ{some}"
    for one in contrast.disagreements:
        yield f"  {one.item}  {differing(one, contrast)}"
        for label, text in explanations(one, contrast):
            yield f"      {label}  {text}" if label else f"      {text}"


def differing(one: Disagreement, contrast: Contrast) -> str:
    """How an item differs: `only B right`, or both values."""
    a, b = contrast.first.label, contrast.second.label
    if contrast.share and {one.first, one.second} == {0.0, 1.0}:
        return f"only {a if one.first > one.second else b} right"
    if contrast.share:
        return f"{a} {100 * one.first:.0f} %, {b} {100 * one.second:.0f} %"
    return f"{a} {number(one.first)}, {b} {number(one.second)}"


def _value(value: float, contrast: Contrast, spread: Spread | None) -> str:
    text, deviation = spaced(value_text(value, share=contrast.share)), _deviation(spread)
    if deviation is None:
        return text
    return f"{text} {interval_text(-deviation, deviation, 'sd', share=contrast.share)}"


def _deviation(spread: Spread | None) -> float | None:
    return None if spread is None else spread.deviation
