"""A comparison as people and programs read it."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from run_factory import keep, outcomes, result
from wug.outcomes import Better, Metric
from wug.results.comparison import ComparisonSettings, compare
from wug.results.contrasts import RunComparison
from wug.results.store import Store
from wug.tables import render_table
from wug.views import comparison as report
from wug.views.comparison_charts import chart, figures
from wug.views.report import ReportedResult, render

A, B = "causal/a@1", "causal/b@2"
EVIL = "<img src=x onerror=alert(1)>|{{ 7 * 7 }} `$x_%\\"


@pytest.fixture
def found(tmp_path: Path) -> RunComparison:
    """B has all 30 right, of which A has 10; on the second suite they differ in numbers."""
    keep_both(tmp_path, "words")
    return compare(Store(tmp_path / "wug.db"), [[1], [2]], ComparisonSettings(items=2))


def keep_both(folder: Path, suite: str) -> None:
    for model, right in ((A, 10), (B, 30)):
        keep(
            folder / "wug.db",
            result(suite, model, outcomes({"accuracy": [True] * right + [False] * (30 - right)}, margin=right)),
            result("forms", model, outcomes({"f1": [right / 40, 0.25, 0.125]})),
        )


def shown(found: RunComparison, width: int = 160) -> str:
    out = io.StringIO()
    report.show(found, Console(file=out, width=width))
    return out.getvalue()


def test_the_table_says_who_is_better_by_how_much_and_how_surely(found: RunComparison) -> None:
    text = shown(found)
    row = next(line for line in text.splitlines() if line.startswith("words"))
    for part in ("30", "33.3%", "100.0%", "+66.7 pp", "B better", "<0.0001"):
        assert part in row
    assert "Tests: McNemar (score) with tango intervals (1); " in text
    assert "B − A" in text
    assert "adjusted for all 2 tests shown" in text
    numbers = next(line for line in text.splitlines() if line.startswith("forms"))
    assert "no difference shown" in numbers


def test_a_narrow_terminal_loses_nothing(found: RunComparison) -> None:
    text = shown(found, width=80)
    for part in ("words · accuracy", "A 33.3%   B 100.0%   B − A +66.7 pp", "B better", "McNemar (score) with tango"):
        assert part in text
    assert "…" not in text.split("\nwug:0|")[0]  # which the common signature may have


def test_the_items_that_differ_are_listed_with_what_explains_them(found: RunComparison) -> None:
    text = shown(found)
    assert "both right 10 · only A 0 · only B 20 · neither 0" in text
    assert "20 items differ; 2 of them" in text
    assert "  11  only B right\n      sentence: sentence 11\n      A  margin: 10\n      B  margin: 30\n" in text


def test_lower_p_is_never_shown_as_0() -> None:
    assert [report.p_text(p) for p in (1.0, 0.049, 0.0012, 0.00001)] == ["1.000", "0.049", "0.0012", "<0.0001"]


def test_json_has_every_number(found: RunComparison) -> None:
    data = json.loads(render_table(report.table(found), "json"))
    first = data["contrasts"][0]
    assert (first["first"], first["second"], first["only_second"], first["verdict"]) == ("A", "B", 20, "B better")
    assert first["p"] == pytest.approx(math.erfc(math.sqrt(20 / 2)))  # (20 - 0)² / 20 = 20 is chi-squared
    assert len(first["signatures"]) == 2
    assert [side["name"] for side in data["sides"]] == [A, B]


@pytest.mark.parametrize(("form", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_tables_for_programs_have_one_row_per_contrast(found: RunComparison, form: str, delimiter: str) -> None:
    rows = list(csv.DictReader(io.StringIO(render_table(report.table(found), form)), delimiter=delimiter))
    assert [(row["suite"], row["n"], row["unit"]) for row in rows] == [
        ("words", "30", "share"),
        ("forms", "3", "number"),
    ]
    assert float(rows[0]["difference"]) == pytest.approx(2 / 3)
    assert rows[0]["signatures"].startswith("wug:0|suite:words@1f3a|model:causal/a@1")


def test_latex_is_a_booktabs_table_with_everything_escaped(tmp_path: Path) -> None:
    keep_both(tmp_path, EVIL)
    text = render_table(report.table(compare(Store(tmp_path / "wug.db"), [[1], [2]])), "latex")
    body = [line for line in text.splitlines() if not line.startswith("%")]
    assert body[:3] == [
        r"\begin{tabular}{llrrrrcrrl}",
        r"\toprule",
        r"suite & metric & n & A & B & B $-$ A & 95\% interval & p & p (Holm) & verdict \\",
    ]
    expected = (
        r"\textless{}img src=x onerror=alert(1)\textgreater{}\textbar{}\{\{ 7 * 7 \}\} "
        r"\char96{}\$x\_\%\textbackslash{} & accuracy & 30 & 33.3\% & 100.0\% & +66.7 pp &"
    )
    assert body[4].startswith(expected)
    assert body[-2:] == [r"\bottomrule", r"\end{tabular}"]


def test_markdown_shows_names_as_they_are(tmp_path: Path) -> None:
    keep_both(tmp_path, EVIL)
    text = render_table(report.table(compare(Store(tmp_path / "wug.db"), [[1], [2]])), "markdown")
    row = next(line for line in text.splitlines() if "accuracy" in line)
    assert row.startswith(r"| &lt;img src=x onerror=alert(1)>\|{{ 7 \* 7 }} \`$x\_%\\ | accuracy | 30 |")


def test_charts_have_a_panel_for_shares_and_one_for_each_number(found: RunComparison) -> None:
    titles = [figure.title for figure in figures(found)]
    assert titles == ["Differences in percent correct", "Differences in f1"]
    spec = chart(found).to_dict()
    assert "b − a on the items that both have, with 95% intervals." in spec["title"]["subtitle"]
    assert "words · n = 30" in spec["title"]["subtitle"]
    axis = spec["vconcat"][0]["layer"][1]["encoding"]["x"]["title"]
    assert axis == "difference (percentage points)"


def test_the_report_shows_the_comparison_with_names_as_text(tmp_path: Path) -> None:
    keep_both(tmp_path, EVIL)
    store = Store(tmp_path / "wug.db")
    reports = [ReportedResult(one, run=number) for number in (1, 2) for one in store.results(number)]
    page = render(reports, compare(store, [[1], [2]], ComparisonSettings(items=3)))
    assert '<details class="suite comparison" id="comparison"' in page
    assert "<strong>B better</strong>" in page
    assert "only B right" in page
    assert "<img src=x" not in page
    assert '<details class="suite comparison" id="comparison"' not in render(reports)


def test_a_difference_that_holm_does_not_leave_is_called_so_beside_its_interval(found: RunComparison) -> None:
    one = replace(found.contrasts[0], p=0.03, p_holm=0.06, low=0.01, high=0.4)
    text = shown(replace(found, contrasts=(one, found.contrasts[1])))
    assert report.verdict(one) == "only unadjusted"
    assert '"Only unadjusted": p < 0.05 for this test alone, but not after adjustment for all tests.' in text
    assert "p < 0.05 exactly where the interval excludes 0" in " ".join(text.split())
    assert "Only unadjusted" not in shown(found)


def test_a_sentence_on_top_says_which_model_is_better(found: RunComparison) -> None:
    start = "b is better than a on 1 of 2 tests; 1 shows no difference"
    verdict = f"{start} (p < 0.05 after Holm's correction for 2 tests)."
    assert report.summary(found) == [verdict]
    assert shown(found).startswith(verdict)
    for form in ("markdown", "latex", "html"):
        assert start in render_table(report.table(found), form)
    equal = replace(found, contrasts=(found.contrasts[1],))
    assert report.summary(equal)[0].startswith("No difference between b and a is shown by 1 test")


@pytest.mark.parametrize(
    ("better", "verdict", "summary"),
    [
        ("lower", "A better", "a is better than b on 1 of 1 test (p < 0.05)."),
        ("neither", "B higher", "b is higher than a on 1 of 1 test (p < 0.05)."),
    ],
)
def test_a_proportion_is_better_only_in_the_direction_of_its_metric(
    tmp_path: Path, better: Better, verdict: str, summary: str
) -> None:
    """B has 30 of 30 invalid outputs, A has 10."""
    for model, invalid in ((A, 10), (B, 30)):
        rows = outcomes({"invalid": [True] * invalid + [False] * (30 - invalid)})
        keep(tmp_path / "wug.db", result("words", model, rows, metrics=(Metric("invalid", better=better),)))
    found = compare(Store(tmp_path / "wug.db"), [[1], [2]])
    assert report.verdict(found.contrasts[0]) == verdict
    assert report.summary(found) == [summary]


def test_metrics_pooled_over_both_directions_are_not_called_better(tmp_path: Path) -> None:
    metrics = (Metric("correct"), Metric("invalid", better="lower"))
    for model, right in ((A, 10), (B, 30)):
        column = [True] * right + [False] * (30 - right)
        rows = outcomes({"correct": column, "invalid": column})
        keep(tmp_path / "wug.db", result("words", model, rows, metrics=metrics))
    found = compare(Store(tmp_path / "wug.db"), [[1], [2]], ComparisonSettings(pool=True))
    assert [report.verdict(one) for one in found.contrasts] == ["B better", "A better", "B higher"]
