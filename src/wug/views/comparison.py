"""A comparison of models as text: in the terminal, and as a table for other programs and papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from wug.formatting import interval_text, metric_label, number, plural, signed_text, value_text
from wug.labels import short_names
from wug.outcomes import Signature
from wug.results.contrasts import Contrast, Disagreement, RunComparison, Side, Spread
from wug.tables import Display, FormattedTable, RowTable
from wug.views.terminal import print_notes

COLUMNS = (
    *("suite", "kind", "metric", "first", "second", "runs_first", "runs_second", "n", "items", "unit"),
    *("value_first", "value_second", "difference", "low", "high", "interval_method", "p", "p_holm", "test"),
    *("both", "only_first", "only_second", "neither", "disagreeing", "sd_first", "sd_second", "verdict", "signatures"),
)
ALIGN = "llrrrrcrrl"
"""Alignment of the columns of `head`."""
MAX_DETAIL_CHARACTERS = 100
"""Characters of a detail that a terminal shows."""
DIFFERING_ITEMS = 20
"""Items that differ, listed per metric in the comparison of a report."""
MIN_TABLE_COLUMNS = 130
"""Width of a terminal in columns; in narrower ones each contrast is a block instead of a table row."""


def row(c: Contrast) -> tuple[object, ...]:
    """A contrast in the order of COLUMNS, with unrounded values."""
    return (
        *(c.suite, c.kind, c.metric, c.first.name, c.second.name),
        *(",".join(map(str, c.first.runs)), ",".join(map(str, c.second.runs))),
        *(c.n, c.items, "share" if c.share else "number", c.value_first, c.value_second, c.difference),
        *(c.low, c.high, c.interval_method, c.p, c.p_holm, c.method),
        *(c.both, c.only_first, c.only_second, c.neither, c.disagreeing),
        *(_deviation(c.spread_first), _deviation(c.spread_second), verdict(c), " ; ".join(map(str, c.signatures))),
    )


def table(comparison: RunComparison) -> RowTable:
    """One row per contrast; for people, one table per pair of sides."""
    tables = []
    for first, second, contrasts in side_pairs(comparison):
        legend = {side.label: side.name for side in (first, second)}
        cells, marks = list(map(line, contrasts)), list(map(str, signatures(contrasts)))
        tables.append(FormattedTable(head(first.label, second.label), cells, ALIGN, legend, marks))
    document = {
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
    display = Display(tables, [*summary(comparison), *notes(comparison)], warnings(comparison))
    return RowTable(COLUMNS, list(map(row, comparison.contrasts)), display=display, document=document)


def show(comparison: RunComparison, console: Console) -> None:
    """Print a comparison: one table per pair of sides, notes, and the items that differ."""
    names = side_names(comparison)
    for sentence in summary(comparison):
        console.print(Text(sentence, style="bold"))
    for first, second, contrasts in side_pairs(comparison):
        for side in (first, second):
            run = "" if len(side.runs) > 1 or side.name.endswith(f"(run {side.runs[0]})") else f"  run {side.runs[0]}"
            console.print(Text.assemble((f"{side.label} ", "bold"), f"{names[side.label]}{run}"))
        if console.width < MIN_TABLE_COLUMNS:
            for contrast in contrasts:
                console.print(_block(contrast))
        else:
            console.print(_table(first.label, second.label, contrasts))
        console.print()
        for contrast in contrasts:
            for text in _disagreement_lines(contrast):
                console.print(Text(text, style="dim"))
    print_notes(console, notes(comparison), warnings(comparison), signatures(comparison.contrasts))


def side_names(comparison: RunComparison) -> dict[str, str]:
    """Names of the sides by label, with short names of their models."""
    model_names = short_names(model for side in comparison.sides for model in side.models)
    names = {}
    for side in comparison.sides:
        model = side.models[0] if len(set(side.models)) == 1 else ""
        names[side.label] = side.name.replace(model, model_names[model]) if model else side.name
    return names


def signatures(contrasts: Iterable[Contrast]) -> list[Signature]:
    """The signatures of all compared results."""
    return list(dict.fromkeys(mark for contrast in contrasts for mark in contrast.signatures))


def side_pairs(comparison: RunComparison) -> Iterator[tuple[Side, Side, list[Contrast]]]:
    """Each pair of sides with its contrasts."""
    for (first, second), contrasts in groupby(comparison.contrasts, key=lambda c: (c.first, c.second)):
        yield first, second, list(contrasts)


def line(contrast: Contrast) -> list[str]:
    """The cells of a contrast under `head`."""
    c = contrast
    return [
        c.suite,
        metric_label(c.metric, c.kind),
        f"{c.n:,}",
        _value(c.value_first, c, c.spread_first),
        _value(c.value_second, c, c.spread_second),
        difference(c),
        interval(c),
        p_text(c.p),
        p_text(c.p_holm),
        verdict(c),
    ]


def verdict(contrast: Contrast) -> str:
    """The significant difference: `B better`, `B higher` (without a better direction), or `no difference shown`.

    `only unadjusted` where p is below 0.05 and the interval excludes 0, but Holm's correction leaves no difference.
    """
    if contrast.significant and contrast.higher is not None:
        better = contrast.better_side
        return f"{contrast.higher.label} higher" if better is None else f"{better.label} better"
    if contrast.p < 0.05:
        return "only unadjusted"
    return "equal" if contrast.disagreeing == 0 else "no difference shown"


def difference(contrast: Contrast) -> str:
    """The difference with its sign: percentage points for proportions."""
    return f"{signed_text(contrast.difference, share=contrast.share)}{' pp' * contrast.share}"


def interval(contrast: Contrast) -> str:
    """The interval in the unit of the difference; a dash if there is none."""
    if contrast.low is None or contrast.high is None:
        return "–"
    return f"[{signed_text(contrast.low, share=contrast.share)}, {signed_text(contrast.high, share=contrast.share)}]"


def p_text(p: float) -> str:
    """A p-value with two or more significant figures; never 0."""
    if p < 0.0001:
        return "<0.0001"
    return f"{p:.4f}" if p < 0.01 or f"{p:.3f}" == "0.050" else f"{p:.3f}"


def summary(comparison: RunComparison) -> list[str]:
    """One sentence per pair of sides: which is better, and on how many tests."""
    names, sentences = side_names(comparison), []
    level = f" after Holm's correction for {comparison.tests} tests" if comparison.tests > 1 else ""
    for first, second, contrasts in side_pairs(comparison):
        a, b, n = names[first.label], names[second.label], len(contrasts)
        significant = [c for c in contrasts if c.significant and c.higher is not None]
        all_directed = all(c.better_side is not None for c in significant)
        winners = [c.better_side if all_directed else c.higher for c in significant]
        won = Counter(side.label for side in winners if side is not None)
        word = "better" if all_directed else "higher"
        both_win = won[first.label] and won[second.label]
        scores = [
            f"{name} is {word}{'' if both_win else f' than {other_name}'} on {won[side.label]}"
            for side, name, other_name in ((second, b, a), (first, a, b))
            if won[side.label]
        ]
        if scores:
            undecided = n - len(significant)
            rest = f"; {undecided} {'shows' if undecided == 1 else 'show'} no difference" if undecided else ""
            sentences.append(f"{' and '.join(scores)} of {plural(n, 'test')}{rest} (p < 0.05{level}).")
        else:
            sentences.append(f"No difference between {b} and {a} is shown by {plural(n, 'test')} (p < 0.05{level}).")
    return sentences


def scope(comparison: RunComparison) -> str:
    """How many suites and items are compared, and which results."""
    from wug.results.comparison import EVERYTHING

    items: dict[str, int] = {}
    for contrast in comparison.contrasts:
        items[contrast.suite] = max(contrast.items, items.get(contrast.suite, 0))
    pooled_count = items.pop(EVERYTHING, None)
    newest_note = ", with the newest result of each" if any(side.newest for side in comparison.sides) else ""
    scope_text = f"{plural(len(items), 'suite')} and {plural(sum(items.values()), 'item')} that both have{newest_note}"
    return f"Compared on {scope_text}{', and on all together' if pooled_count else ''}."


def methods(comparison: RunComparison) -> str:
    """A sentence that names the tests and the interval methods."""
    pairs = Counter((c.method, c.interval_method) for c in comparison.contrasts)
    texts = [f"{test} with {interval} intervals" if interval else test for test, interval in pairs]
    counts = [f" ({n})" if len(pairs) > 1 else "" for n in pairs.values()]
    return f"Tests: {'; '.join(f'{text}{n}' for text, n in zip(texts, counts, strict=True))}."


def notes(comparison: RunComparison) -> list[str]:
    """How to read the table."""
    tests = comparison.tests
    agree = "p < 0.05 exactly where the interval excludes 0"
    if any(contrast.interval_method.endswith("bca") for contrast in comparison.contrasts):
        agree = "near p = 0.05 a BCa interval and the permutation test may disagree"
    sentences = [
        "The difference is the second minus the first on the items that both have.",
        f"The 95% interval and p are for each test alone, unadjusted; {agree}.",
        f"p (Holm) is adjusted for all {tests} tests shown; below 0.05 one side is called better or higher."
        if tests > 1
        else "One test, so p (Holm) is p; below 0.05 one side is called better or higher.",
        '"No difference shown" does not mean that the models are equal: see how wide the interval is.',
    ]
    if any(verdict(contrast) == "only unadjusted" for contrast in comparison.contrasts):
        sentences.append('"Only unadjusted": p < 0.05 for this test alone, but not after adjustment for all tests.')
    sentences.append(methods(comparison))
    if units := {(_cluster_name(c), c.items) for c in comparison.contrasts if c.items < c.n}:
        count = f" ({next(iter(units))[1]:,})" if len(units) == 1 else ""
        names = " or ".join(sorted({name for name, _ in units}))
        sentences.append(f"n counts outcomes; tests and intervals are clustered by {names}{count}.")
    if any(len(side.runs) > 1 and not side.newest for side in comparison.sides):
        sentences.append(
            "Values of several runs are means over runs, ± the standard deviation between them. Interval and p "
            "generalise to new items for these runs, not to new runs."
        )
    return sentences


def _cluster_name(contrast: Contrast) -> str:
    """What outcomes are clustered by: a column that the signatures name, or items."""
    columns = {signature.get("cluster") for signature in contrast.signatures} - {None, "none"}
    return str(*columns) if len(columns) == 1 else "item"


def warnings(comparison: RunComparison) -> list[str]:
    """All warnings, those of contrasts with their names; equal ones once."""
    tests_by_warning: dict[str, list[str]] = {}
    for contrast in comparison.contrasts:
        for warning in contrast.warnings:
            tests_by_warning.setdefault(warning, []).append(name_of_test(contrast))
    contrast_warnings = [
        f"{names[0]}{f' and {len(names) - 1} more' * (len(names) > 1)}: {text}"
        for text, names in tests_by_warning.items()
    ]
    return [*comparison.warnings, *contrast_warnings]


def name_of_test(contrast: Contrast) -> str:
    """Suite and metric."""
    return f"{contrast.suite}, {metric_label(contrast.metric, contrast.kind)}"


def counts(contrast: Contrast) -> str:
    """How many items both sides have right, only one, or neither; empty for numbers."""
    c = contrast
    if c.both is None:
        return ""
    only = f"only {c.first.label} {c.only_first:,} · only {c.second.label} {c.only_second:,}"
    return f"both right {c.both:,} · {only} · neither {c.neither:,}"


def explanations(disagreement: Disagreement, contrast: Contrast) -> Iterator[tuple[str, str]]:
    """Details of a disagreement: shared ones without a label, then those of each side."""
    first, second = disagreement.detail_first, disagreement.detail_second
    shared = {key: value for key, value in first.items() if second.get(key) == value}
    for label, detail in (("", shared), (contrast.first.label, first), (contrast.second.label, second)):
        facts = []
        for key, value in detail.items():
            if isinstance(value, str | int | float) and (not label or key not in shared):
                text = number(value) if isinstance(value, float) else " ".join(str(value).split())
                facts.append(f"{key}: {text[:MAX_DETAIL_CHARACTERS]}{'…' * (len(text) > MAX_DETAIL_CHARACTERS)}")
        if facts:
            yield label, " · ".join(facts)


def head(first: str, second: str) -> list[str]:
    """The headings of a table for people."""
    return ["suite", "metric", "n", first, second, f"{second} − {first}", "95% interval", "p", "p (Holm)", "verdict"]


def _block(contrast: Contrast) -> Text:
    suite, metric, n, first, second, difference, interval, p, p_holm, verdict = line(contrast)
    a, b = contrast.first.label, contrast.second.label
    return Text.assemble(
        (f"{suite} · {metric}", "bold"),
        f"  n = {n}\n  {a} {first}   {b} {second}   {b} − {a} ",
        (difference, "bold"),
        f" {interval}\n  p {p}, p (Holm) {p_holm}: ",
        (verdict, "bold" if contrast.significant else ""),
    )


def _table(first: str, second: str, contrasts: Sequence[Contrast]) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    names = head(first, second)
    for column, name in enumerate(names):
        is_text = column < 2
        table.add_column(
            name, justify="left" if column < 2 or column > 8 else "right", overflow="fold", no_wrap=not is_text
        )
    previous_suite = None
    for contrast in contrasts:
        cells = [escape(text) for text in line(contrast)]
        if contrast.suite == previous_suite:
            cells[0] = ""
        previous_suite = contrast.suite
        cells[5] = f"[bold]{cells[5]}[/]"
        if contrast.significant:
            cells[9] = f"[bold]{cells[9]}[/]"
        table.add_row(*cells)
    return table


def _disagreement_lines(contrast: Contrast) -> Iterator[str]:
    if not contrast.disagreements:
        return
    about = name_of_test(contrast)
    if contrast.both is not None:
        yield f"{about}: {counts(contrast)}"
    listed_count = len(contrast.disagreements)
    order_note = "" if contrast.share else ", those that differ most"
    limit_note = f"; {listed_count} of them{order_note}" if listed_count < contrast.disagreeing else ""
    differing = "1 item differs" if contrast.disagreeing == 1 else f"{contrast.disagreeing:,} items differ"
    yield f"{about}: {differing}{limit_note}"
    for disagreement in contrast.disagreements:
        yield f"  {disagreement.item}  {disagreement_text(disagreement, contrast)}"
        for label, text in explanations(disagreement, contrast):
            yield f"      {label}  {text}" if label else f"      {text}"


def disagreement_text(disagreement: Disagreement, contrast: Contrast) -> str:
    """How an item differs: `only B right`, or both values."""
    a, b = contrast.first.label, contrast.second.label
    if contrast.share and {disagreement.first, disagreement.second} == {0.0, 1.0}:
        return f"only {a if disagreement.first > disagreement.second else b} right"
    if contrast.share:
        return f"{a} {100 * disagreement.first:.0f}%, {b} {100 * disagreement.second:.0f}%"
    return f"{a} {number(disagreement.first)}, {b} {number(disagreement.second)}"


def _value(value: float, contrast: Contrast, spread: Spread | None) -> str:
    text, deviation = value_text(value, share=contrast.share), _deviation(spread)
    if deviation is None:
        return text
    return f"{text} {interval_text(-deviation, deviation, 'sd', share=contrast.share)}"


def _deviation(spread: Spread | None) -> float | None:
    return None if spread is None else spread.deviation
