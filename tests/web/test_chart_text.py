"""The text in charts: no two labels overlap, and none is cut off, in any chart of any family at any usual width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import every_page
import reading_tables
import sample_results
import wug
from browsing import Served
from case_selection import WHOLE
from timeouts import PATIENCE
from wug import stats
from wug.outcomes import Estimate, Outcome, Result, Signature

pytestmark = pytest.mark.slow

WIDTHS = (1440, 1024, 390)
LONG = ("subject determiner", "subject noun", "that", "distractor determiner", "rest of relative clause", "verb")
FAULTS = """() => {
  const corners = (text) => {
    const { x, y, width, height } = text.getBBox(), to = text.getScreenCTM();
    // A box has room above and below its letters.
    return [[x, y + 2], [x + width, y + 2], [x + width, y + height - 3], [x, y + height - 3]].map(
      ([a, b]) => [to.a * a + to.c * b + to.e, to.b * a + to.d * b + to.f]);
  };
  const apart = (one, other) => [one, other].some((box) => [0, 1].some((side) => {
    const [[ax, ay], [bx, by]] = [box[side], box[side + 1]], [nx, ny] = [ay - by, bx - ax];
    const span = (points) => points.map(([x, y]) => x * nx + y * ny);
    const [a, b] = [span(one), span(other)];
    return Math.max(...a) <= Math.min(...b) || Math.max(...b) <= Math.min(...a);
  }));
  const found = [];
  for (const picture of document.querySelectorAll(".plot svg.marks, .plot > svg")) {
    const room = picture.getBoundingClientRect();
    const texts = [...picture.querySelectorAll("text")].filter((text) =>
      text.textContent.trim() && getComputedStyle(text).opacity !== "0" && text.getBoundingClientRect().width > 0);
    const boxes = texts.map(corners);
    boxes.forEach((box, place) => {
      const xs = box.map(([x]) => x), ys = box.map(([, y]) => y);
      if (Math.min(...xs) < room.left - 2 || Math.max(...xs) > room.right + 2 ||
          Math.min(...ys) < room.top - 2 || Math.max(...ys) > room.bottom + 2 ||
          Math.max(...xs) > innerWidth) found.push(["cut", texts[place].textContent]);
      for (let other = 0; other < place; other += 1)
        if (!apart(box, boxes[other])) found.push(["overlap", texts[other].textContent, texts[place].textContent]);
    });
  }
  return found;
}"""


def long_regions(regions: int = 9) -> Result:
    """A suite whose regions have long names."""
    made = sample_results.syntaxgym(f"long_{regions}")
    outcomes = []
    for number in range(1, 8):
        sentences = {
            name: {
                "regions": [
                    {"number": region, "content": f"considerably {region}", "value": 3.0 + place + region % 5 + number}
                    for region in range(1, regions + 1)
                ]
            }
            for place, name in enumerate(("no_the", "the_no", "the_the"))
        }
        outcomes.append(Outcome(str(number), "all_predictions", True, {}, {"conditions": sentences}))
    names = {str(region): LONG[region % len(LONG)] for region in range(1, regions + 1)}
    return Result(
        made.suite, "syntaxgym", made.model, "complete", Signature.read("wug:0"), 7, made.estimates, (),
        tuple(outcomes), {"regions": names, "metric": ["sum"], "formulas": made.meta["formulas"]}, made.metrics,
    )  # fmt: skip


def choices() -> Result:
    """Choices among three options, in groups with long names."""
    outcomes = [
        Outcome(str(number), "accuracy", number % 3 > 0, {"relation": f"a relation between objects {number % 4}"}, {})
        for number in range(40)
    ]
    estimates = (*stats.estimates(outcomes), Estimate("chance", "all", 1 / 3, 40))
    return Result(
        "places",
        "choices",
        sample_results.MODEL,
        "complete",
        Signature.read("wug:0"),
        40,
        estimates,
        (),
        tuple(outcomes),
    )


def by_depth() -> Result:
    """Localism with curves, and functions by name."""
    outcomes = [
        Outcome(str(number), metric, number % 5 != 0, {"depth": str(number % 9), "function": "swap_first_last"}, {})
        for number in range(180)
        for metric in ("consistency", "original_accuracy", "unrolled_accuracy")
    ]
    return Result(
        "localism", "pcfgset", sample_results.MODEL, "complete", Signature.read("wug:0"), 180,
        tuple(stats.estimates(outcomes)), (), tuple(outcomes),
    )  # fmt: skip


def commands() -> Result:
    """SCAN by every field that its page draws."""
    outcomes = [
        Outcome(str(number), "accuracy", number % 4 != 0, {
            "primitive": ("walk", "look", "run", "jump", "turn left", "turn right")[number % 6],
            "template": ("verb", "turn opposite direction", "verb around direction")[number % 3],
            "seen": ("the command with another primitive", "each part alone")[number % 2],
            "words": str(1 + number % 9),
        })
        for number in range(180)
    ]  # fmt: skip
    return replace(
        by_depth(), suite="scan_jump", kind="scan", estimates=tuple(stats.estimates(outcomes)), outcomes=tuple(outcomes)
    )


def new_words() -> Result:
    """Word formation by ending."""
    made = choices()
    endings = ("voiced", "voiceless", "alveolar, with an inserted vowel")
    outcomes = [replace(one, groups={"ending": endings[place % 3]}) for place, one in enumerate(made.outcomes)]
    estimates = (*stats.estimates(outcomes), Estimate("chance", "all", 1 / 4, 40))
    return replace(made, suite="wug_past", kind="morphology", estimates=estimates, outcomes=tuple(outcomes))


def reading_times(folder: Path) -> Sequence[Result]:
    """Two measures with two predictors."""
    rows = [{**row, "first_pass_duration_of_the_region": row["rt"] + 40} for row in reading_tables.stories(4, 30)]
    return wug.reading(
        reading_tables.write(folder / "times.csv", rows),
        ["rt", "first_pass_duration_of_the_region"],
        "length",
        ["surp", "surp + log_frequency"],
        text="story", position="position", word="word",
    ).results  # fmt: skip


EXTRA = (long_regions(), long_regions(24), choices(), by_depth(), commands(), new_words())


@pytest.fixture(scope="module")
def addresses(everything: Served, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The pages with charts."""
    store = everything.site.store
    extra = (*EXTRA, *reading_times(tmp_path_factory.mktemp("times")))
    first = len(store.reader.overview()) + 1
    sample_results.keep(store, *extra)
    own = [f"/result/{number}" for number in range(first, first + len(extra))]
    return [
        *(f"/result/{number}" for number in every_page.RESULTS),
        *own,
        *(f"{own[0]}?item=2", "/run/1", "/compare?run=1&run=2", "/suite?name=reflexives", "/sweeps/1"),
    ]


def addresses_at(width: int, addresses: Sequence[str]) -> Sequence[str]:
    """By day, every page at the smallest width and at one other."""
    return addresses if WHOLE or width == min(WIDTHS) else addresses[WIDTHS.index(width) :: 2]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_text_of_a_chart_overlaps_or_is_cut(
    chromium: Any, everything: Served, addresses: list[str], width: int
) -> None:
    context = chromium.new_context(base_url=everything.address, viewport={"width": width, "height": 900})
    context.set_default_timeout(1000 * PATIENCE)
    everything.let_in(context)
    page = context.new_page()
    found = {}
    for address in addresses_at(width, addresses):
        every_page.visit(page, address)
        if faults := page.evaluate(FAULTS):
            found[address] = faults
    context.close()
    assert found == {}
