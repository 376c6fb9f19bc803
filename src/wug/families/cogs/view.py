"""Views of COGS results: matches by type as the paper groups them, kinds of error, gold form and prediction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from wug.families.answer_views import answer
from wug.families.cogs.logical_form import DIALECTS, ERRORS, RULES, Dialect, TermPair, difference
from wug.families.cogs.syntax import SYNTAX_DIALECTS
from wug.formatting import FormattedEstimate, format_estimate, number, percent, spaced_name
from wug.outcomes import Outcome, Result
from wug.rows import Filter, OutcomeRow, Rows
from wug.stats import wilson
from wug.views import charts
from wug.views import parts as page
from wug.views.grouped import dots, interval_note, overall_parts, point
from wug.views.text_display import Piece, Pieces, mark_differences, shorten_text, single_piece

PRIMARY = "exact_match"
CHART_METRICS = (PRIMARY, "semantic_match")
COLUMNS = (*CHART_METRICS, "order_invariant_match", "well_formed", "terms_f1", "edit_distance")
OTHER_TYPES = "other types"
TOTALS = {"all": "all lines", "kind=lexical": "lexical types", "kind=structural": "structural types"}


class LineType(NamedTuple):
    """A type of line, with its section in the paper."""

    title: str = ""
    section: str = ""
    kind: str = ""
    """`lexical` or `structural`; empty if unknown."""


def parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """Metrics, types, errors."""
    types = line_types(result)
    yield from overall_parts(result)
    yield from filter(None, (type_figure(result, types), type_table(result, types)))
    if rows.tally(PRIMARY)["false"] and result.meta.get("dialect") not in SYNTAX_DIALECTS:
        errors, broken = partial(_outcomes, rows, "errors"), partial(_outcomes, rows, "violations")
        yield page.DeferredPart("errors", "Errors in wrong lines", lambda: error_figure(errors()))
        title = "Errors type by type"
        yield page.DeferredPart("types-by-error", title, lambda: error_table(errors(), types), figure=False)
        yield page.DeferredPart("rules", "Broken rules", lambda: broken_rules(broken()), figure=False)
    if about := {key: result.meta[key] for key in ("edition", "dialect") if result.meta.get(key)}:
        yield page.FactsPart(about)


def items(result: Result, rows: Rows) -> page.ItemsView:
    """Every line with its gold form and the prediction; wrong lines by type."""
    wrong = page.ItemSample(
        "Wrong lines",
        PRIMARY,
        verb="wrong",
        group=lambda outcome: str(outcome.groups.get("type", "")),
        titles={name: kind.title for name, kind in line_types(result).items()},
        note="Gold form and prediction, term by term; differences are marked.",
    )
    metrics = [estimate.metric for estimate in result.estimates if estimate.group == "all"]
    metric = PRIMARY if PRIMARY in metrics else next(iter(metrics), PRIMARY)
    if result.meta.get("dialect") in SYNTAX_DIALECTS:
        return page.ItemsView(metric, answer, (wrong,), size=15, noun="line", texts=("sentence",))
    dialect = next((known for known in DIALECTS if known == result.meta.get("dialect")), DIALECTS[0])
    return page.ItemsView(metric, partial(line, dialect=dialect), (wrong,), size=15, noun="line", texts=("sentence",))


def example(result: Result, rows: Rows) -> page.LinesPart | None:
    """The first line: its sentence and logical form, with the prediction if that differs."""
    for row in rows.each(Filter(PRIMARY), limit=1):
        detail = row.outcome.detail
        gold, predicted = str(detail.get("gold", "")), str(detail.get("prediction", ""))
        right, wrong = mark_differences(gold, predicted) if predicted else (single_piece(shorten_text(gold)), ())
        sentence = single_piece(shorten_text(str(detail.get("sentence", ""))))
        lines = [page.LabelledText("sentence", sentence), page.LabelledText("gold", right)]
        return page.LinesPart((*lines, *([page.LabelledText("prediction", wrong, "del")] if wrong else [])))
    return None


def _outcomes(rows: Rows, key: str) -> list[Outcome]:
    return [row.outcome for row in rows.each(Filter(PRIMARY), keys=(key,))]


def line_types(result: Result) -> dict[str, LineType]:
    """The types in a result: lexical, structural (each in the order of the paper), others."""
    known = {str(given.get("type")): given for given in result.meta.get("types") or () if isinstance(given, Mapping)}
    there = dict.fromkeys(
        e.group.removeprefix("type=") for e in result.estimates if e.metric == PRIMARY and e.group.startswith("type=")
    )
    known_types = [
        (name, LineType(*(str(given.get(key) or "") for key in LineType._fields)))
        for name, given in known.items()
        if name in there
    ]
    ordered = dict(sorted(known_types, key=lambda item: item[1].kind == "structural"))
    return ordered | {name: LineType("", OTHER_TYPES if known_types else "") for name in there if name not in ordered}


def type_table(result: Result, types: Mapping[str, LineType]) -> page.TablePart | None:
    """Every type under its heading, after the totals; None if there is only one type."""
    cells: dict[str, dict[str, FormattedEstimate]] = {}
    for e in result.estimates:
        if e.metric in COLUMNS:
            cells.setdefault(e.group, {})[e.metric] = format_estimate(result, e)
    columns = tuple(metric for metric in COLUMNS if any(metric in row for row in cells.values()))
    if len(types) < 2 or not columns:
        return None
    totals = {**TOTALS, "macro=types": "mean of the types"}
    groups: dict[str, list[page.TablePartRow]] = {}
    for name, kind in types.items():
        head = page.TableCell(name, remark=kind.title, about=Filter(PRIMARY, value="false", group=("type", name)))
        heading = ": ".join(part for part in (kind.kind.capitalize(), kind.section) if part)
        groups.setdefault(heading, []).append(_row(head, cells.get(f"type={name}", {}), columns))
    first = tuple(_row(page.TableCell(name), cells[group], columns) for group, name in totals.items() if group in cells)
    heads = (
        page.TableColumn("type"),
        page.TableColumn("n", numeric=True),
        *(page.TableColumn(spaced_name(c), numeric=c != columns[0]) for c in columns),
    )
    rows = (("", first), *((heading, tuple(rows_of_type)) for heading, rows_of_type in groups.items()))
    return page.TablePart("types", "Type by type", heads, rows, style="types")


def type_figure(result: Result, types: Mapping[str, LineType]) -> page.Figure | None:
    """Exact and semantic matches by type, in the order of the paper."""
    series = [metric for metric in CHART_METRICS if any(e.metric == metric for e in result.estimates)]
    published = any(kind.kind for kind in types.values())
    places = {group: (name, "all types" if published else "") for group, name in TOTALS.items()}
    places |= {f"type={name}": (short(name), kind.section) for name, kind in types.items()}
    rows = {(e.group, e.metric): e for e in result.estimates if e.metric in series}
    points: list[charts.Point] = []
    for group, (name, heading) in places.items():
        for metric in series:
            if (estimate := rows.get((group, metric))) is not None:
                of = spaced_name(metric) if len(series) > 1 else ""
                dot = point(format_estimate(result, estimate), name=name, series=of, group=heading)
                points.append(dot._replace(about=group if "=" in group else ""))
    if len(types) < 2 or not points:
        return None
    note = interval_note(result, PRIMARY)
    numbered = any(kind.section[:1].isdigit() for kind in types.values())
    authors = "Kim and Linzen (2020)" if numbered else "Li et al. (2023)"
    series_are = "match" if len(series) > 1 else ""
    return dots(
        "types",
        "Matches by type",
        points,
        note=f"{note} Types as {authors} group them." if published else note,
        value="share of lines",
        row="type",
        series=series_are,
    )


def short(name: str) -> str:
    """A type's name for an axis: `subj → obj common`."""
    label = name.removeprefix("only_seen_as_").replace("_to_", " → ", 1)
    if "→" not in label:
        label = label.replace("_as_", " → ", 1)
    return spaced_name(label)


def _row(head: page.TableCell, estimates: Mapping[str, FormattedEstimate], columns: Sequence[str]) -> page.TablePartRow:
    n = next(iter(estimates.values())).n if estimates else 0
    first = page.TableCell(estimate=estimates[columns[0]]) if columns[0] in estimates else page.TableCell("–")
    rest = (page.TableCell(estimates[metric].text if metric in estimates else "–") for metric in columns[1:])
    return page.TablePartRow((head, page.TableCell(f"{n:,}"), first, *rest))


LABELS = {
    "ill-formed": "ill-formed",
    "index": "wrong index",
    "role": "wrong role",
    "name": "wrong name",
    "definiteness": "wrong definiteness",
    "missing": "missing conjunct",
    "extra": "extra conjunct",
    "order": "order only",
}
UNREADABLE = "unreadable"


def label(error: str) -> str:
    """The short label of a kind of error."""
    return LABELS.get(error, error)


def errors_of(outcome: Outcome) -> list[str]:
    """The kinds of error that a line has."""
    return [str(error) for error in outcome.detail.get("errors") or ()]


def error_figure(outcomes: Sequence[Outcome]) -> page.Figure | None:
    """The share of wrong lines with each kind of error; None if no line has kinds."""
    wrong = [kinds for outcome in outcomes if outcome.value is False and (kinds := errors_of(outcome))]
    if not wrong:
        return None
    counts = Counter(error for errors in wrong for error in dict.fromkeys(errors))
    points = []
    for error in _in_order(counts):
        interval, n = wilson(counts[error], len(wrong)), len(wrong)
        points.append(charts.Point(label(error), counts[error] / n, interval.low, interval.high, counts[error]))
    figure = dots(
        "errors",
        "Errors in wrong lines",
        points,
        note=(
            f"The share of {len(wrong):,} wrong lines with each kind of error, with 95% intervals. A line may have "
            "several kinds; ill-formed and order only exclude the others."
        ),
        value="share of wrong lines",
        row="error",
    )
    meant = {label(error): text for error, text in ERRORS.items()}
    rows = tuple((*row, meant.get(row[0], "")) for row in figure.rows)
    columns = (*figure.columns[:-1], "lines", "which means")
    return replace(figure, columns=columns, rows=rows)


def error_table(outcomes: Sequence[Outcome], types: Mapping[str, LineType]) -> page.TablePart | None:
    """Lines of each type with each kind of error; None if there is only one type or no line has kinds."""
    sizes, wrong = Counter[str](), Counter[str]()
    counts: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        name = str(outcome.groups.get("type", ""))
        sizes[name] += 1
        wrong[name] += outcome.value is False
        counts.setdefault(name, Counter()).update(dict.fromkeys(errors_of(outcome), 1))
    errors = _in_order(sum(counts.values(), Counter()))
    names = [name for name in (*types, *(n for n in counts if n not in types)) if wrong[name]]
    if not errors or len(sizes) < 2:
        return None
    counted = (page.TableColumn(head, numeric=True) for head in ("wrong", *map(label, errors)))
    columns = (page.TableColumn("type"), *counted)
    rows = tuple(
        page.TablePartRow(
            (
                page.TableCell(name, about=Filter(PRIMARY, value="false", group=("type", name))),
                page.TableCell(f"{wrong[name]:,}"),
                *(_cell(counts[name][error], wrong[name]) for error in errors),
            )
        )
        for name in names
    )
    note = "Lines with each kind of error; stronger colours mean a larger share of the wrong lines of the type."
    return page.TablePart("types-by-error", "Errors type by type", columns, (("", rows),), note=note, style="heat")


def broken_rules(outcomes: Sequence[Outcome]) -> page.TablePart | None:
    """Rules of well-formedness, and how many predictions break each; None if none is broken."""
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        rules = (str(violation).partition(":")[0] for violation in outcome.detail.get("violations") or ())
        counts.update(list(dict.fromkeys(rules)))
    if not counts:
        return None
    readings = {UNREADABLE: "a form is built of predicates with arguments in brackets", **RULES}
    rows = tuple(
        page.TablePartRow((page.TableCell(rule, remark=readings.get(rule, "")), page.TableCell(f"{n:,}")))
        for rule, n in counts.most_common()
    )
    title = "Rules of well-formedness that predictions break"
    columns = (page.TableColumn("rule"), page.TableColumn("lines", numeric=True))
    return page.TablePart("rules", title, columns, (("", rows),), folded=True)


def _cell(count: int, wrong: int) -> page.TableCell:
    share = count / wrong
    tip = f"{percent(share)} of the wrong lines" if count else ""
    return page.TableCell(f"{count:,}" if count else "·", shade=page.share_shade(share), tip=tip)


def _in_order(counts: Counter[str]) -> list[str]:
    return [*(error for error in LABELS if counts[error]), *(error for error in counts if error not in LABELS)]


MAX_TERMS = 80
"""Terms of a line that are shown; the rest is counted."""
MAX_CHARACTERS = 20_000
"""Characters of a prediction that are compared, since outputs may be endless."""


def line(row: OutcomeRow, judgements: Sequence[OutcomeRow], *, dialect: Dialect) -> page.ItemView:
    """A line: its sentence, its gold form and, if it is wrong, the difference."""
    outcome = page.carrier(judgements, "gold")
    sentence, gold = (str(outcome.detail.get(key) or "") for key in ("sentence", "gold"))
    if outcome.value is True or "prediction" not in outcome.detail:
        return page.ItemView(sentence=shorten_text(sentence), parts=(page.CodePart(gold),) if gold else ())
    pairs = difference(gold, str(outcome.detail["prediction"])[:MAX_CHARACTERS], dialect)
    facts = _facts(outcome)
    if len(pairs) > MAX_TERMS:
        facts.append(f"{len(pairs) - MAX_TERMS} more terms are not shown")
    columns = (page.TableColumn("gold"), page.TableColumn("prediction"), page.TableColumn("difference"))
    table = page.TablePart("terms", "", columns, (("", tuple(map(_term_row, pairs[:MAX_TERMS]))),), style="terms")
    parts: tuple[page.ViewPart, ...] = (*([page.TextPart(" · ".join(facts))] if facts else []), table)
    return page.ItemView(sentence=shorten_text(sentence), chips=tuple(map(label, errors_of(outcome))), parts=parts)


def _facts(outcome: Outcome) -> list[str]:
    detail = outcome.detail
    facts = []
    if isinstance(detail.get("edit_distance"), int | float):
        facts.append(f"edit distance {number(detail['edit_distance'])}")
    if isinstance(detail.get("terms_f1"), int | float):
        facts.append(f"F1 of terms {number(detail['terms_f1'])}")
    if broken := list(dict.fromkeys(shorten_text(str(rule)) for rule in detail.get("violations") or ())):
        facts.append(f"breaks {', '.join(broken)}")
    return facts


def _term_row(pair: TermPair) -> page.TablePartRow:
    changes = ", ".join(map(label, pair.changes)) or ("different" if pair.gold != pair.prediction else "")
    if pair.gold is None or pair.prediction is None:
        gold, prediction = _whole_term(pair.gold), _whole_term(pair.prediction)
    else:
        gold, prediction = mark_differences(pair.gold, pair.prediction)
    cells = (
        page.TableCell("–", pieces=gold, mark="ins"),
        page.TableCell("–", pieces=prediction),
        page.TableCell(changes),
    )
    return page.TablePartRow(cells, quiet=not changes)


def _whole_term(term: str | None) -> Pieces:
    return () if term is None else (Piece(shorten_text(term), differs=True),)
