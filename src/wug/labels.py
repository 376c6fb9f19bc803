"""Models, results and suites in brief: short names, a line for a prompt, a table for a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from wug import registry
from wug.formatting import interval_text, spaced, value_text
from wug.identity import ModelId

if TYPE_CHECKING:
    from wug.types import Estimate, Result, Suite

MOST = 200
"""Rows that a notebook shows."""
COLUMNS = ("suite", "model", "check", "value", "95 % interval", "n")


def short_names(models: Iterable[str]) -> dict[str, str]:
    """What each model can be called among these: as little of its identity as no other has.

    Of `causal/EleutherAI/pythia-70m@607a30d` that is `pythia-70m`; where others are called so, the owner, the kind or
    the first letters of the fingerprint come with it, whichever is first to tell them apart; at last all of it.
    """
    found = list(dict.fromkeys(models))
    marks = [ModelId.parse(model).fingerprint for model in found]
    length = next((n for n in range(4, 12) if len({mark[:n] for mark in marks}) == len(set(marks))), 12)
    names = {model: _names(model, length) for model in found}
    level = dict.fromkeys(found, 0)
    while True:
        chosen = {model: names[model][level[model]] for model in found}
        counts = Counter(chosen.values())
        again = [model for model in found if counts[chosen[model]] > 1 and level[model] + 1 < len(names[model])]
        if not again:
            return chosen
        for model in again:
            level[model] += 1


def _names(model: str, length: int) -> list[str]:
    """What a model could be called, the shortest first, its identity last; `length` is that of a fingerprint."""
    parsed = ModelId.parse(model)
    kind, name, mark = parsed.kind, parsed.name, parsed.fingerprint
    if registry.traits(kind).shows_kind:
        name = f"{kind}:{name}"
    short = name.rstrip("/").rsplit("/", 1)[-1] or name
    marked = [f"{short}@{mark[:length]}", f"{name}@{mark[:length]}", f"{kind}/{name}@{mark[:length]}"] if mark else []
    return list(dict.fromkeys([short, name, *([f"{kind}/{name}"] if kind else []), *marked, model]))


def line(result: Result, names: Mapping[str, str] | None = None) -> str:
    """The suite, the model, called as among `names`, and the estimate that stands for the result."""
    told = "" if result.headline is None else f" · {' '.join(filter(None, _cells(result, result.headline)))}"
    state = "" if result.status == "complete" else f" · {result.status}"
    model = (names or short_names([result.model]))[result.model]
    return f"{result.suite} · {model}{told} · {_counted(result.n, 'item')}{state}"


def of_suite(suite: Suite) -> str:
    """The suite in short: its name, its family, how many items it has."""
    return f"<Suite {suite.name} · {suite.kind} · {_counted(len(suite), 'item')}>"


def html(results: Sequence[Result]) -> str:
    """A table of the estimates for a first look, with their intervals, and what the reader should know."""
    rows = [(result, estimate) for result in results for estimate in result.headlines]
    names = short_names(result.model for result in results)
    body = "".join(f"<tr>{''.join(_html_cells(*row, names))}</tr>" for row in rows[:MOST])
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    left = f"<p>and {len(rows) - MOST:,} more</p>" if len(rows) > MOST else ""
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{left}{''.join(_remarks(results, names))}"
    )


def _remarks(results: Sequence[Result], names: Mapping[str, str]) -> Iterator[str]:
    """What is not as it should be, and the warnings, folded."""
    for result in results:
        if result.status != "complete":
            yield f"<p><b>{escape(result.suite)} · {escape(names[result.model])}: {result.status}</b></p>"
    warnings = [f"{result.suite} · {names[result.model]}: {text}" for result in results for text in result.warnings]
    if warnings:
        listed = "".join(f"<li>{escape(text)}</li>" for text in dict.fromkeys(warnings[:MOST]))
        yield f"<details><summary>{_counted(len(warnings), 'warning')}</summary><ul>{listed}</ul></details>"


def _html_cells(result: Result, estimate: Estimate, names: Mapping[str, str]) -> Iterator[str]:
    name, value, interval = _cells(result, estimate)
    told = ((result.suite, ""), (names[result.model], result.model), (name, result.check(estimate.check).meaning))
    yield from (
        f'<td style="text-align:left" title="{escape(more, quote=True)}">{escape(word)}</td>' for word, more in told
    )
    yield from (f'<td style="text-align:right">{escape(text)}</td>' for text in (value, interval, f"{estimate.n:,}"))


def _cells(result: Result, estimate: Estimate) -> tuple[str, str, str]:
    """Check, value and interval, as every medium has them."""
    share = result.check(estimate.check).unit == "share"
    return (
        estimate.check.replace("_", " "),
        spaced(value_text(estimate.value, share=share)),
        interval_text(estimate.low, estimate.high, estimate.method, share=share),
    )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
