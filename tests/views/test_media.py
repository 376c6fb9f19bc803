"""A result in every medium: the same numbers in the same units, the same headline, order and warnings.

What is expected is worked out here, from the estimates alone, by other means than those of the program.
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import pytest
from rich.console import Console
from starlette.testclient import TestClient

import sample_results
from case_selection import share
from command_line import wug
from fake_models import FakeGenerator, FakeScorer, word_scores
from html_helpers import classed, elements, words
from wug import formatting, stats
from wug.evaluation.evaluate import build_result
from wug.families import choices, cogs, pcfgset
from wug.families.pairs.outcomes import CORRELATIONS, HumanCorrelations
from wug.families.pcfgset.language import answer
from wug.families.pcfgset.overgeneralisation import score_exceptions
from wug.outcomes import Estimate, Metric, Outcome, Result, Signature
from wug.results.average import averages
from wug.results.comparison import ComparisonSettings, compare
from wug.results.contrasts import RunComparison
from wug.results.queries import table_of
from wug.results.store import Store
from wug.rows import Rows
from wug.tables import render_table
from wug.views import comparison as comparisons
from wug.views import terminal
from wug.views.family_views import computed_parts, items_of, parts_of, sampled_groups
from wug.views.parts import (
    CardsPart,
    CountsPart,
    EstimatesPart,
    FactsPart,
    Figure,
    ItemsView,
    TablePart,
    TextPart,
    ViewPart,
)
from wug.views.report import ReportedResult, render
from wug.views.result_tables import estimate_table
from wug.web.app import create_app
from wug.web.pages.results import ESTIMATES_PER_PAGE
from wug.web.site import Site

pytestmark = pytest.mark.slow

ODD = (0.0, 1.0, 0.5, 0.9999, -0.0)
"""Values at the limits of a proportion, and near them."""
WARNINGS = ("2 of 20 answers are empty", "item 3 has a word that the model does not know")
OTHER = "other/model@2"


class Line(NamedTuple):
    """A row of numbers, as a reader sees it."""

    metric: str
    group: str
    value: str
    interval: str
    n: int | None


# What is expected.


def printed(value: float, *, share: bool) -> str:
    """A share in per cent to a tenth; anything else to four figures, and all before its point."""
    if not math.isfinite(value):
        return "–"
    exact = Decimal(value) * (100 if share else 1)
    places = 1 if share else max(0, 3 - exact.adjusted()) if exact else 0
    rounded = round(exact, places)
    text = f"{abs(rounded):.{places}f}"
    if not share and "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"−{text}" if rounded < 0 else text


def expected(result: Result, estimate: Estimate) -> Line:
    """A row as every medium should have it."""
    unit = result.metric(estimate.metric).unit
    share = unit == "share"
    low, high, method = estimate.low, estimate.high, estimate.method or ""
    if low is None or high is None:
        interval = "no interval" if method.startswith("none:") else ""
    elif "sd" in method.split():
        interval = f"± {printed((high - low) / 2, share=share)}"
    else:
        interval = f"[{printed(low, share=share)}, {printed(high, share=share)}]"
    value = printed(estimate.value, share=share) + ("%" if share and math.isfinite(estimate.value) else "")
    value += " bits" * (unit == "bits")
    return Line(named(estimate.metric), estimate.group, value, interval, estimate.n)


def every_line(result: Result) -> list[Line]:
    return [expected(result, estimate) for estimate in result.estimates]


def first_look(result: Result) -> list[Line]:
    """The numbers over all items that are for a first look."""
    wanted = {named(metric.name) for metric in result.metrics if metric.headline}
    return [line for line in every_line(result) if line.group == "all" and line.metric in wanted]


def second_look(result: Result) -> list[Line]:
    first = first_look(result)
    return [line for line in every_line(result) if line.group == "all" and line not in first]


def headline(result: Result) -> Line:
    """The headline number of a result: that of the first metric that it declares as a headline."""
    found = {line.metric: line for line in first_look(result)}
    return next(found[named(metric.name)] for metric in result.metrics if named(metric.name) in found)


def named(metric: str) -> str:
    return metric.replace("_", " ")


# Results of every family.


def units() -> Result:
    """A family without its own view: a metric of every unit, with intervals of every kind and without."""
    metrics = (
        Metric("second_share", headline=False, meaning="a share for a second look"),
        Metric("share", meaning="a share of items"),
        Metric("bits", "bits", "lower", meaning="surprisal"),
        Metric("nats", "nats", "lower"),
        Metric("tokens", "tokens", "neither"),
        Metric("count", "count", "neither"),
        Metric("distance", "distance", "lower"),
        Metric("score", "score", meaning="on a scale of its own"),
        Metric("undetermined", "score"),
    )
    found = [
        Estimate("bits", "all", 12345.678, 5, 9876.54321, 14814.8, "t"),
        Estimate("second_share", "all", 0.9999, 5, 0.5656, 1.0, "wilson"),
        Estimate("share", "all", 0.5, 4, 0.25, 0.75, "wilson"),
        Estimate("nats", "all", -3.25, 5, -9.70555, 0.04, "t"),
        Estimate("tokens", "all", 0.0004, 5, method="none: only 1 of 5 values differ from 0"),
        Estimate("count", "all", 7.0, 3, 5.5, 8.5, "sd"),
        Estimate("distance", "all", 4.08, 5),
        Estimate("score", "all", 0.9999, 5, 0.99985, 1.0, "hall"),
        Estimate("undetermined", "all", math.nan, 0),
    ]
    found += [Estimate("share", f"depth={10 - place}", value, 9, 0.0, 1.0, "wilson") for place, value in enumerate(ODD)]
    for metric in ("bits", "score"):
        found += [Estimate(metric, f"depth={10 - place}", value, 9) for place, value in enumerate(ODD)]
    found += [Estimate("share", f"kind={name}", 0.25, 4) for name in ("zeta", "alpha")]
    found += [Estimate("share", "depth=11", 0.9, 3, 0.6, 1.2, "population sd of shares")]
    outcomes = [Outcome(str(n), "share", n < 2, {"kind": "zeta"}, {"sentence": f"wug {n}"}) for n in range(4)]
    return Result(
        "units", "made-up", sample_results.MODEL, "complete", Signature.read("wug:0|suite:units@4"), 5, tuple(found),
        WARNINGS, tuple(outcomes), meta={"about": "units"}, metrics=metrics,
    )  # fmt: skip


def epochs(folder: Path) -> Result:
    """A log of epochs: its peak is a share, the epoch of the peak is none."""
    lines = [
        f"Epoch {epoch}\nAdapted - Sequence Accuracy: {exception}\nOriginal - Sequence Accuracy: {rules}\n"
        for epoch, (rules, exception) in enumerate([(0.25, 0.0), (0.5, 0.125), (0.4, 0.9999)], 1)
    ]
    path = folder / "ratio=0.1_run=1.txt"
    path.write_text("".join(lines), encoding="utf-8")
    found = score_exceptions(path)
    return build_result(found.suite, sample_results.MODEL, "wug:0|suite:epochs", found.rows)


def runs(folder: Path) -> Result:
    """The mean of two runs of a test, with the deviation between them."""

    def answered(wrong: Sequence[str], model: str) -> Result:
        lines = ["copy A1 B2", "repeat A1 B2", "append repeat A1 B2 , C3 D4"]
        for name, texts in (("test.src", lines), ("test.tgt", [answer(line) for line in lines])):
            (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        [suite] = pcfgset.read(folder, {})
        stand_in = FakeGenerator(lambda line: "Z1" if line in wrong else answer(line))
        return build_result(suite, model, f"wug:0|suite:test|model:{model}", suite.run(stand_in))

    [mean] = averages([answered(["copy A1 B2"], "a"), answered(["copy A1 B2", "repeat A1 B2"], "b")])
    return mean


def types(folder: Path) -> Result:
    """COGS with its types in the order of the file, which is neither that of the paper nor of the alphabet."""
    dog = "dog ( x _ 1 ) AND sleep . agent ( x _ 2 , x _ 1 )"
    names = [
        "subj_to_obj_common",
        "cp_recursion",
        "a_new_type",
        "only_seen_as_unacc_subj_as_unerg_subj",
        "pp_recursion",
    ]
    gold, given = folder / "gen.tsv", folder / "answers.txt"
    gold.write_text("".join(f"A dog slept .\t{dog}\t{name}\n" for name in names), encoding="utf-8")
    forms = [dog, f"{dog} (", dog.replace("agent", "theme"), dog, "cat ( x _ 1 )"]
    given.write_text("".join(f"{form}\n" for form in forms), encoding="utf-8")
    (system,) = cogs.score(gold, [given])
    return build_result(system.suite, sample_results.MODEL, "wug:0|suite:gen", system.rows())


def people() -> Result:
    """Pairs that people judged as well."""
    rows = [
        replace(row, detail={**row.detail, "human": 1.5 + place % 5})
        for place, row in enumerate(sample_results.pairs(items=12).outcomes)
    ]
    agreement = HumanCorrelations()
    for row in rows:
        agreement.add(row)
    found = [row for row in agreement.rows() if isinstance(row, Estimate)]
    return replace(
        sample_results.pairs(items=12),
        outcomes=tuple(rows),
        estimates=(*stats.estimates(rows), *found),
        metrics=(Metric("accuracy", meaning="the grammatical sentence has the higher log-probability"), *CORRELATIONS),
    )


def chosen(folder: Path) -> Result:
    """Choices among two and three options: one right, one wrong, one tie, one that is not judged."""
    path = folder / "choices.jsonl"
    rows = [("a", "b"), ("c", "a"), ("a", "d", "b"), ("e", "a")]
    path.write_text(
        "".join(
            json.dumps({"context": "Ann saw", "options": options, "answer": 1, "type": str(len(options))}) + "\n"
            for options in rows
        ),
        encoding="utf-8",
    )
    [suite] = choices.read(path, {})
    model = FakeScorer(word_scores({"a": -1.5, "b": -2.25, "c": -3.0, "d": -1.5, "e": None}))
    return build_result(suite, sample_results.MODEL, "wug:0|suite:choices", suite.run(model))


MADE: dict[str, Callable[[Path], Result]] = {
    "syntaxgym": lambda folder: sample_results.syntaxgym(),
    "pairs": lambda folder: sample_results.pairs(items=24),
    "words": lambda folder: sample_results.words(),
    "choices": chosen,
    "people": lambda folder: people(),
    "plain": lambda folder: sample_results.plain(),
    "localism": lambda folder: sample_results.localism(),
    "substitutivity": lambda folder: sample_results.substitutivity(),
    "overgeneralisation": lambda folder: sample_results.overgeneralisation(),
    "epochs": epochs,
    "runs": runs,
    "cogs": lambda folder: sample_results.cogs(),
    "types": types,
    "units": lambda folder: units(),
}
COMPARED = [name for name in MADE if name not in ("epochs", "runs")]
"""Those that have judgements, which a comparison needs."""


@dataclass(frozen=True)
class Kept:
    """The results, and a site over the store that they are kept in."""

    results: Mapping[str, Result]
    runs: Mapping[str, int]
    """The run of each result, which has it alone; the next one is another model's."""
    site: Site
    client: TestClient

    @property
    def store(self) -> Store:
        return self.site.store

    def page(self, address: str) -> Element:
        found = self.client.get(address)
        assert found.status_code == 200, found.text
        return elements(found.text)

    def comparison(self, name: str) -> RunComparison:
        return compare(self.store, [[self.runs[name]], [self.runs[name] + 1]], ComparisonSettings())


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("media")
    results: dict[str, Result] = {}
    for name, make in MADE.items():
        (folder / name).mkdir()
        found = make(folder / name)
        results[name] = replace(found, suite=name, warnings=WARNINGS)
    site = Site(store=Store(folder / "wug.db"), cache=folder / "answers.db")
    numbers = {}
    for name, result in results.items():
        numbers[name] = sample_results.keep(site.store, result)
        sample_results.keep(site.store, replace(result, model=OTHER))
    client = TestClient(
        create_app(site), base_url="http://127.0.0.1", headers={"authorization": f"Bearer {site.access_token}"}
    )
    return Kept(results, numbers, site, client)


@pytest.fixture(params=share(MADE, 2))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["memory", "store"])
def result(request: pytest.FixtureRequest, kept: Kept, name: str) -> Result:
    """A result as it was made, and as the store gives it back."""
    if request.param == "memory":
        return kept.results[name]
    [found] = kept.store.results(kept.runs[name])
    return found


def test_the_store_gives_a_result_back_as_it_was(kept: Kept, name: str) -> None:
    made = kept.results[name]
    [found] = kept.store.results(kept.runs[name])
    assert repr(found.estimates) == repr(made.estimates)  # where nan is like nan
    assert (found.metrics, found.headline, found.warnings) == (made.metrics, made.headline, made.warnings)
    assert _terminal([found]) == _terminal([made])


# Text.


def test_json_has_every_number_in_full(result: Result) -> None:
    [found] = json.loads(render_table(estimate_table([result]), "json"))
    _full(result, found["estimates"])
    assert found["warnings"] == list(WARNINGS)


@pytest.mark.parametrize(("form", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_tables_for_programs_have_every_number_in_full(result: Result, form: str, delimiter: str) -> None:
    text = render_table(estimate_table([result], form), form)
    rows = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
    if form == "tsv" and result.kind == "syntaxgym":  # SyntaxGym's own table, of judgements
        judged = [one for one in result.outcomes if one.metric.startswith("prediction_")]
        assert [row["result"] for row in rows] == [str(one.value) for one in judged]
        return
    _full(result, rows)


def test_markdown_prints_every_number(result: Result) -> None:
    assert _markdown(render_table(estimate_table([result]), "markdown")) == every_line(result)


def test_latex_prints_every_number(result: Result) -> None:
    assert _latex(render_table(estimate_table([result]), "latex")) == every_line(result)


def test_the_terminal_prints_the_numbers_for_a_first_look_with_their_groups(result: Result) -> None:
    text = _terminal([result])
    lines = list(_terminal_lines(text))
    assert [line._replace(n=None) for line in first_look(result)] == [line for line in lines if line.group == "all"]
    groups = [line for line in lines if line.group != "all"]
    assert set(groups) <= set(every_line(result))
    assert groups == _in_number_order(result, groups)
    for warning in WARNINGS:
        assert f"warning: {warning}" in text


def test_the_terminal_prints_every_group_of_the_first_check_on_request(result: Result) -> None:
    lines = list(_terminal_lines(_terminal([result], by=["all"])))
    first = first_look(result)[0].metric
    wanted = [line for line in every_line(result) if line.metric == first and "=" in line.group]
    fields = Counter(line.group.partition("=")[0] for line in wanted)
    found = {line for line in lines if line.group != "all"}
    assert {line for line in wanted if fields[line.group.partition("=")[0]] > 1} <= found


def test_the_terminal_prints_the_same_of_many_results(result: Result) -> None:
    text = _terminal([replace(result, suite=f"suite-{place}") for place in range(4)]).replace(" ! ", "   ")
    found = [re.split(r" {2,}", line.strip()) for line in text.splitlines() if re.search(r"\S {2,}.*\d$", line)]
    lines = [_cells(cells[1:] if cells[0].startswith("suite-") else cells) for cells in found]
    assert lines == first_look(result) * 4
    for warning in WARNINGS:
        assert text.count(warning) == 4


# The report.


def test_the_report_has_the_same_numbers(result: Result) -> None:
    page = elements(render([ReportedResult(result)]))
    [overview] = classed(page, "table", "metrics")
    rows = [cells for row in overview.iter("tr") if (cells := [words(cell) for cell in row.iter("td")])]
    assert [Line(metric, "all", *_pair(value, interval), int(n)) for n, metric, value, interval in rows] == first_look(
        result
    )
    _whole(page, result)
    [grid] = classed(page, "table", "grid")
    [(n, value, interval, metric)] = [found for row in grid.iter("tr") if (found := [words(c) for c in row.iter("td")])]
    assert Line(metric, "all", *_pair(value, interval), headline(result).n) == headline(result)
    assert int(n.replace(",", "")) == result.n
    [values] = classed(page, "span", "values")
    assert words(values) == headline(result).value
    assert _warnings(page) == list(WARNINGS)


@pytest.fixture
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without charts, which take longer than all else."""
    monkeypatch.setattr("wug.views.vega.can_draw", lambda: False)


@pytest.mark.usefixtures("_undrawn")
def test_the_report_on_two_models_has_the_same_headlines(kept: Kept, name: str) -> None:
    result = kept.results[name]
    page = elements(render([ReportedResult(result), ReportedResult(replace(result, model=OTHER))]))
    [grid] = classed(page, "table", "grid")
    cells = [cell for cell in grid.iter("td") if "num" not in cell.attrib.get("class", "")]
    told = " ".join(filter(None, (headline(result).metric, headline(result).value, headline(result).interval)))
    assert [words(cell) for cell in cells] == [headline(result).value] * 2
    assert [plain(next(cell.iter("a")).attrib["title"].partition(", n = ")[0].strip()) for cell in cells] == [told] * 2


def test_charts_have_their_groups_in_the_order_of_their_numbers(kept: Kept) -> None:
    result = kept.results["units"]
    page = elements(render([ReportedResult(result)]))
    for found in (page, kept.page(f"/result/{_place(kept, 'units')}")):
        [rows] = [rows for head, rows in _tables(found) if head[:2] == ["depth", "share"]]
        lines = [line for line in every_line(result) if line.metric == "share" and line.group.startswith("depth=")]
        assert [Line("share", f"depth={row[0]}", *_pair(row[1], row[2]), int(row[3])) for row in rows] == (
            _in_number_order(result, lines)
        )


# The site.


def test_the_page_of_a_result_has_the_same_numbers(kept: Kept, name: str) -> None:
    result = kept.results[name]
    page = kept.page(f"/result/{_place(kept, name)}")
    [first] = classed(page, "div", "headline")
    line = headline(result)
    [value] = first.iter("strong")
    [about] = first.iter("span")
    assert plain(words(value)) == line.value
    assert words(about) == " · ".join([line.metric, *([line.interval] if line.interval else []), f"n = {line.n}"])
    _whole(page, result, line)
    assert _warnings(page) == list(WARNINGS)


def test_the_page_of_numbers_has_all_of_them(kept: Kept, name: str) -> None:
    rows: list[list[str]] = []
    for number in range(1, 2 + (len(kept.results[name].estimates) - 1) // ESTIMATES_PER_PAGE):
        page = kept.page(f"/result/{_place(kept, name)}/numbers?page={number}")
        rows += [[words(cell) for cell in row] for row in page.iter("tr")][1:]
    found = [Line(metric, group, *_pair(value, interval), _count(n)) for metric, group, value, interval, n in rows]
    assert found == every_line(kept.results[name])


def test_the_page_of_a_run_has_its_headlines(kept: Kept, name: str) -> None:
    page = kept.page(f"/run/{kept.runs[name]}")
    [results] = classed(page, "table", "numbers")
    [_, [suite, _, _, metric, value, interval]] = [[words(cell) for cell in row] for row in results.iter("tr")]
    line = headline(kept.results[name])
    assert (suite, metric, *_pair(value, interval)) == (name, line.metric, line.value, line.interval)
    assert _warnings(page) == list(WARNINGS)


def test_the_first_page_has_the_headline_of_every_result(kept: Kept, name: str) -> None:
    """The unit is stated once, above all cells; interval and n are shown on hover."""
    address = f"/result/{_place(kept, name)}"
    [link] = [link for link in kept.page("/").iter("a") if link.get("href") == address]
    line = headline(kept.results[name])
    assert plain(words(link)).removesuffix("!").removesuffix(".0") == plain(line.value).removesuffix(
        "%"
    ).strip().removesuffix(".0")
    interval, _, n = str(link.get("title")).partition("\n")[0].rpartition(" n ")
    assert (plain(interval).strip(), _count(n)) == (line.interval, line.n)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_the_site_gives_every_number_in_full(kept: Kept, name: str, form: str) -> None:
    text = kept.client.get(f"/result/{_place(kept, name)}.{form}").text
    rows = json.loads(text) if form == "json" else list(csv.DictReader(io.StringIO(text)))
    _full(kept.results[name], rows)


def test_parts_and_items_are_the_same_in_memory_and_over_a_store(kept: Kept, name: str) -> None:
    result = kept.results[name]
    place = _place(kept, name)
    over, _ = kept.site.reader.result(place)
    stored, memory = kept.site.reader.rows(place), table_of(result.outcomes)
    assert (over.metrics, over.headline, over.warnings) == (result.metrics, result.headline, result.warnings)
    assert repr(_described(over, stored)) == repr(_described(result, memory))  # where nan is like nan
    assert _sampled(items_of(over, stored), stored) == _sampled(items_of(result, memory), memory)


# The command line.


@pytest.mark.parametrize("form", ["json", "csv", "markdown", "latex"])
def test_export_writes_the_same_numbers(kept: Kept, name: str, form: str) -> None:
    said = wug("export", kept.runs[name], "--what", "estimates", "--to", form, "--store", kept.store.path)
    assert said.code == 0, said.err
    if form == "markdown":
        assert _markdown(said.out) == every_line(kept.results[name])
    elif form == "latex":
        assert _latex(said.out) == every_line(kept.results[name])
    else:
        _full(
            kept.results[name], json.loads(said.out) if form == "json" else list(csv.DictReader(io.StringIO(said.out)))
        )


def test_show_prints_the_same_numbers(kept: Kept, name: str) -> None:
    said = wug("show", kept.runs[name], "--format", "json", "--store", kept.store.path)
    [found] = said.results
    _full(kept.results[name], found["estimates"])
    assert found["warnings"] == list(WARNINGS)


# A comparison.


@pytest.mark.parametrize("name", COMPARED)
def test_a_comparison_has_the_values_of_the_results(kept: Kept, name: str) -> None:
    result = kept.results[name]
    lines = {line.metric: line for line in first_look(result)}
    found = kept.comparison(name)
    assert [named(one.metric) for one in found.contrasts] == [metric for metric in lines if _judged(result, metric)]
    for contrast in found.contrasts:
        assert contrast.share == (result.metric(contrast.metric).unit == "share")
        suite, metric, n, first, second, difference, *_ = comparisons.line(contrast)
        line = lines[named(contrast.metric)]
        assert metric == formatting.metric_label(contrast.metric, contrast.kind)
        assert (suite, first, second, _count(n)) == (name, line.value, line.value, line.n)
        assert difference == ("0.0 pp" if contrast.share else "0")


@pytest.mark.usefixtures("_undrawn")
@pytest.mark.parametrize("name", COMPARED)
def test_a_comparison_is_the_same_in_every_medium(kept: Kept, name: str) -> None:
    found = kept.comparison(name)
    run = kept.runs[name]
    wanted = [list(comparisons.line(contrast)) for contrast in found.contrasts]
    tables = {
        "markdown": [
            row for row in _markdown_cells(render_table(comparisons.table(found), "markdown")) if row[0] == name
        ],
        "latex": [row for row in _latex_cells(render_table(comparisons.table(found), "latex")) if row[0] == name],
        "report": _contrasts(elements(render([ReportedResult(kept.results[name])], found))),
        "site": _contrasts(kept.page(f"/compare?run={run}&run={run + 1}")),
    }
    for medium, rows in tables.items():
        assert rows == wanted, medium
    values = [(one.value_first, one.value_second, one.low, one.high) for one in found.contrasts]
    [*records] = json.loads(render_table(comparisons.table(found), "json"))["contrasts"]
    keys = ("value_first", "value_second", "low", "high")
    assert [tuple(record[key] for key in keys) for record in records] == values
    read = csv.DictReader(io.StringIO(render_table(comparisons.table(found), "csv")))
    assert [tuple(float(row[key]) if row[key] else None for key in keys) for row in read] == values


# How each medium is read.


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def _pair(value: str, interval: str) -> tuple[str, str]:
    """A value and its interval, a dash in a table being none."""
    return plain(value), "" if interval == "–" else plain(interval)


def _count(text: str) -> int:
    return int(text.replace(",", ""))


def _full(result: Result, rows: Iterable[Mapping[str, Any]]) -> None:
    """That rows have every estimate as it is, to the last digit, in the order of the result."""

    def number(value: object) -> float | None:
        return None if value in (None, "", "nan") else float(str(value))

    found = [
        (r["metric"], r["group"], number(r["value"]), number(r["low"]), number(r["high"]), int(r["n"])) for r in rows
    ]
    assert found == [
        (e.metric, e.group, e.value if math.isfinite(e.value) else None, e.low, e.high, e.n) for e in result.estimates
    ]


def _markdown_cells(text: str) -> list[list[str]]:
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [[html.unescape(re.sub(r"\\(.)", r"\1", cell)).strip() for cell in row] for row in rows]


def _latex_cells(text: str) -> list[list[str]]:
    signs = {"$-$": "−", r"$\pm$": "±", "--": "–", r"\textless{}": "<", "{}": ""}
    rows = []
    for line in text.splitlines():
        if line.endswith(r"\\") and not line.startswith("%"):
            for tex, sign in signs.items():
                line = line.replace(tex, sign)
            rows.append([re.sub(r"\\([%&_#$])", r"\1", cell) for cell in line.removesuffix(r" \\").split(" & ")])
    return rows


def _markdown(text: str) -> list[Line]:
    head, *rows = _markdown_cells(text)
    assert head == ["suite", "metric", "group", "value", "95% interval", "n"]
    return [
        Line(named(metric), group, *_pair(value, interval), int(n)) for *_, metric, group, value, interval, n in rows
    ]


def _latex(text: str) -> list[Line]:
    _, *rows = _latex_cells(text)
    return [
        Line(named(metric), group, *_pair(value, interval), int(n)) for _, metric, group, value, interval, n in rows
    ]


def _terminal(results: Sequence[Result], by: Sequence[str] | None = None) -> str:
    out = io.StringIO()
    terminal.show(results, Console(file=out, width=300), by)
    return out.getvalue()


INTERVAL = re.compile(r"\[.*\]|± .*|no interval")


def _terminal_lines(text: str) -> Iterator[Line]:
    """The rows of one result: its checks, and their groups further in."""
    metric = ""
    for line in text.splitlines()[1:]:
        if not line.startswith("  ") or line.strip().startswith(("warning:", "more metrics", "also by")):
            continue
        cells = re.split(r" {2,}", line.strip())
        interval = cells.pop() if INTERVAL.fullmatch(cells[-1]) else ""
        if line.startswith("    "):
            yield Line(metric, cells[0], cells[-1], interval, _count(cells[1].removeprefix("n = ")))
        else:
            metric = cells[0]
            yield Line(metric, "all", cells[-1], interval, None)


def _cells(cells: Sequence[str]) -> Line:
    """A row of the table of many results."""
    metric, value, *interval, n = cells
    [between] = interval or [""]
    return Line(metric, "all", value, between, _count(n))


def _in_number_order(result: Result, lines: Sequence[Line]) -> list[Line]:
    """Lines check by check, field by field, the groups of a field by their numbers where they are such."""
    metrics = list(dict.fromkeys(named(estimate.metric) for estimate in result.estimates))

    def key(line: Line) -> tuple[int, int, float]:
        field, _, value = line.group.partition("=")
        fields = list(
            dict.fromkeys(e.group.partition("=")[0] for e in result.estimates if named(e.metric) == line.metric)
        )
        return metrics.index(line.metric), fields.index(field), float(value) if value.isdecimal() else -1

    return sorted(lines, key=key)


def _whole(page: Element, result: Result, *above: Line) -> None:
    """That a page has the numbers over all items, those for a first look in front, and no other ones."""
    tables = [
        [words(cell, "small") for cell in row] for one in classed(page, "table", "estimates") for row in one.iter("tr")
    ]
    rows = [Line(c, "all", *_pair(v, i), _count(n)) for c, v, i, n in (row for row in tables if row[0] != "metric")]
    cards = [_card(one) for one in classed(page, "article", "card")]
    wanted = [*first_look(result), *second_look(result)]
    for found in (rows, cards):
        assert found == [line for line in wanted if line in found]
    assert set(first_look(result)) <= {*rows, *cards, *above}


def _card(card: Element) -> Line:
    """A prediction with its score."""
    [score] = classed(card, "p", "score")
    [value], [about] = score.iter("strong"), [one for one in score if one.tag == "span" and not one.get("class")]
    *interval, n = words(about).split(" · ")
    [title] = [one for level in ("h3", "h4") for one in classed(card, level, "minor")]
    name = words(title).lower()
    [between] = interval or [""]
    return Line(name, "all", plain(words(value)), between, _count(plain(n).removeprefix("n = ")))


def _tables(page: Element) -> Iterator[tuple[list[str], list[list[str]]]]:
    """The head and the rows of every table."""
    for one in page.iter("table"):
        head, *rows = [[words(cell) for cell in row] for row in one.iter("tr")]
        yield head, rows


def _warnings(page: Element) -> list[str]:
    return [words(one) for notice in classed(page, "div", "notice") for one in notice.iter("li")]


def _contrasts(page: Element) -> list[list[str]]:
    """The rows of a comparison."""
    [found] = classed(page, "table", "compared")
    rows = [list(row) for row in found.iter("tr")][1:]
    return [[words(cell) for cell in row] for row in rows]


def _place(kept: Kept, name: str) -> int:
    """The number of a result in the store."""
    [found] = kept.site.reader.overview([kept.runs[name]])
    return found.id


def _judged(result: Result, metric: str) -> bool:
    return any(named(one.metric) == metric and one.value is not None for one in result.outcomes)


def _described(result: Result, rows: Rows) -> list[object]:
    """Every part of a view, with its words and numbers."""
    return [_part(part) for part in computed_parts(parts_of(result, rows))]


def _part(part: ViewPart) -> object:
    if isinstance(part, Figure):
        return part.id, part.title, part.note, part.columns, part.rows, part.items
    assert isinstance(part, TextPart | EstimatesPart | CountsPart | TablePart | CardsPart | FactsPart), part
    return part


def _sampled(items: ItemsView, rows: Rows) -> list[object]:
    return [
        (sample.title, [(b.name, b.title, b.count, b.total, b.remainder, [item for _, item in b.items]) for b in found])
        for sample in items.samples
        for found in [sampled_groups(items, sample, rows, 50)]
    ]
