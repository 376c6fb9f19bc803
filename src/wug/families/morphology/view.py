"""Wug tests as linguists read them: the sentence, its forms with probabilities as bars, and what people choose."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from wug.families.morphology.metrics import ACCURACY, PREFERENCE, argmax
from wug.formatting import FormattedEstimate, finite_or_none, number, percent, spaced_name
from wug.outcomes import Result
from wug.rows import Filter, OutcomeRow, Rows
from wug.views import parts as page
from wug.views.grouped import group_figures, overall_parts
from wug.views.text_display import Piece

ANSWERED = "exact_match@1"
FORMED = {
    "plural": "plural of new nouns",
    "past": "past tense of new verbs",
    "participle": "past participle of new verbs",
    "third_person": "third person of new verbs",
    "possessive": "possessive of new nouns",
    "agentive": "agent noun of new verbs",
    "adjective": "adjective of new nouns",
}
MAX_FORM_TYPES = 12


def question(result: Result) -> str:
    """The question about a single task; empty for several."""
    tasks = str(result.meta.get("tasks") or "").split(", ")
    formed = {FORMED.get(task) or FORMED.get(task.partition("_")[0], "") for task in tasks}  # plural_feminine
    return f"Does the model form the {formed.pop()}?" if len(formed) == 1 and "" not in formed else ""


def example(result: Result, rows: Rows) -> page.LinesPart | None:
    """The first item with the expected form, and with the form that the model prefers if that is another."""
    for row in rows.each(Filter(_metric(rows)), limit=1):
        detail = row.outcome.detail
        if "answer" in detail:
            return _answer(detail)
        carrier, forms, scores = str(detail.get("carrier") or "{form}"), detail.get("forms"), detail.get("scores")
        if not forms or not scores:
            return None
        target, best = int(detail.get("target") or 0) - 1, scores.index(max(scores))
        lines = [("expected", target, "ins")] if target >= 0 else []
        lines += [("preferred", best, "del")] if best != target else []
        return page.LinesPart(tuple(_carrier_line(label, carrier, str(forms[at]), mark) for label, at, mark in lines))
    return None


def _carrier_line(label: str, carrier: str, form: str, mark: str) -> page.LabelledText:
    before, _, after = carrier.partition("{form}")
    return page.LabelledText(label, (Piece(before), Piece(form, differs=True), Piece(after)), mark)


def parts(result: Result, rows: Rows) -> Iterator[page.ViewPart]:
    """The headline numbers, what kind of form the model prefers, and accuracy by group."""
    yield from overall_parts(result)
    metric = _metric(rows)
    if metric != ANSWERED:
        yield page.DeferredPart("types", "What the model prefers", partial(_types, rows, metric), figure=False)
    yield from group_figures(result, metric)


def items(result: Result, rows: Rows) -> page.ItemsView:
    """Every item with its forms; those that fail by the first group that they belong to."""
    metric = _metric(rows)
    note = "Probabilities are shares among the candidates: the softmax of their scores."
    failing = page.ItemSample(
        "Items that fail", metric, group=lambda outcome: next(iter(outcome.groups.values()), ""), note=note
    )
    return page.ItemsView(metric, _item, (failing,), size=30)


def _metric(rows: Rows) -> str:
    there = set(rows.metrics())
    return next((name for name in (PREFERENCE, ACCURACY, ANSWERED) if name in there), ACCURACY)


def _item(row: OutcomeRow, judgements: Sequence[OutcomeRow]) -> page.ItemView:
    detail = row.outcome.detail
    fails = row.outcome.value is False
    if "answer" in detail:
        return page.ItemView(fails=fails, sentence=str(detail.get("question", "")), parts=(_answer(detail),))
    if not detail.get("scores"):
        note = str(detail.get("why") or "")
        return page.ItemView(note, fails, parts=(page.FactsPart(detail),) if detail else ())
    carrier = str(detail.get("carrier") or "").replace("{form}", "___")
    sentence = "" if carrier == "___" else carrier
    return page.ItemView(str(detail.get("why") or ""), fails, sentence, parts=(_forms(detail),))


def _answer(detail: Mapping[str, Any]) -> page.LinesPart:
    forms = ", ".join(map(str, detail.get("forms", ())))
    lines = [page.LabelledText("answer", (Piece(str(detail["answer"])),))]
    lines.append(page.LabelledText("people, or expected", (Piece(forms),), "ins"))
    outputs = dict.fromkeys(map(str, detail.get("outputs", ())))
    others = (text for text in outputs if text.strip() != detail["answer"])
    lines += [page.LabelledText("output", (Piece(text[:200]),), "mark") for text in others]
    return page.LinesPart(tuple(lines))


def _forms(detail: Mapping[str, Any]) -> page.TablePart:
    scores = [finite_or_none(score) or 0.0 for score in detail["scores"]]
    weights = [math.exp(score - max(scores)) for score in scores]
    shares = [weight / sum(weights) for weight in weights]
    ratings = [finite_or_none(value) for value in detail.get("ratings") or ()]
    types = list(detail.get("types") or [""] * len(scores))
    target = int(detail.get("target") or 0) - 1
    label = "people's choice" if ratings else "expected"
    highest = max((rating for rating in ratings if rating is not None), default=0.0)
    table = []
    for index in sorted(range(len(scores)), key=lambda index: -scores[index]):
        expected = index == target
        cells = [
            page.TableCell(str(detail["forms"][index]), remark=label if expected else ""),
            page.TableCell(spaced_name(str(types[index]))),
            page.TableCell(estimate=_bar(percent(shares[index]), shares[index])),
            page.TableCell(number(scores[index])),
        ]
        if ratings:
            rating = ratings[index]
            bar = None if rating is None else _bar(number(rating), rating / (highest or 1.0))
            cells.append(page.TableCell("–", estimate=bar))
        table.append(page.TablePartRow(tuple(cells), quiet=not expected))
    columns = [
        page.TableColumn("form"),
        page.TableColumn("type"),
        page.TableColumn("probability among the forms"),
        page.TableColumn("score (nats)", numeric=True),
    ]
    columns += [page.TableColumn("people")] if ratings else []
    return page.TablePart("forms", "", tuple(columns), (("", tuple(table)),))


def _bar(text: str, share: float) -> FormattedEstimate:
    value = min(1.0, max(0.0, share))
    return FormattedEstimate("", "", "", "", text, "", 1, share=True, value=value, low=0.0, high=value)


def _types(rows: Rows, metric: str) -> page.TablePart | None:
    counts: Counter[str] = Counter()
    for row in rows.each(Filter(metric), keys=("scores", "types")):
        scores, types = row.outcome.detail.get("scores") or [], row.outcome.detail.get("types") or []
        best = argmax(scores)
        if best is not None and best < len(types) and types[best]:
            counts[str(types[best])] += 1
    total = counts.total()
    if not total:
        return None
    columns = (page.TableColumn("type of form"), page.TableColumn("preferred"), page.TableColumn("items", numeric=True))
    table_rows = (
        page.TablePartRow(
            (
                page.TableCell(spaced_name(type)),
                page.TableCell(estimate=_bar(percent(count / total), count / total)),
                page.TableCell(f"{count:,}"),
            )
        )
        for type, count in counts.most_common(MAX_FORM_TYPES)
    )
    return page.TablePart("types", "What the model prefers", columns, (("", tuple(table_rows)),))
