"""Reads tables of scores: two per pair, one per sentence, those of the labels of a question, or published columns."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError
from wug.families.commands import ScoredTable
from wug.families.named_columns import COLUMN_OPTIONS, NamedColumns
from wug.families.pairs import questions
from wug.families.pairs.outcomes import ACCURACY, CORRELATIONS, HumanCorrelations
from wug.families.pairs.pair import Pair, is_identical, notices_of_copies
from wug.families.pairs.scoring import TARGET_OF_FILE
from wug.files import checksum_of, head, read_lines
from wug.files import repeated as find_repeated
from wug.formatting import finite_or_none, first_items, plural
from wug.options import Option, read
from wug.outcomes import Metric, Notice, Outcome, SuiteOutput
from wug.problems import refuse_errors
from wug.record_tables import Record, as_number, plain, read_table, stem

TABLE_OPTIONS = (
    Option("good_score", str, None, "column with the score of the good sentence"),
    Option("bad_score", str, None, "column with the score of the bad sentence"),
    Option("lower_is_better", bool, False, "whether scores are surprisals or perplexities"),
    Option("score", str, None, "column with the score, in a table with one sentence per row"),
    Option("condition", str, None, "column that tells good sentences from bad ones"),
    Option("good", str, "good", "value of that column for good sentences"),
    Option("bad", str, "bad", "value of that column for bad sentences"),
    Option(
        "good_first", str, (), "two columns: scores of the labels 1 and 2, the good sentence shown first", many=True
    ),
    Option("bad_first", str, (), "two columns: the same with the bad sentence shown first", many=True),
    Option("yes", str, (), "two columns: scores of Yes for the good and the bad sentence", many=True),
    Option("no", str, (), "two columns: scores of No for the good and the bad sentence", many=True),
    Option("answer", str, None, "column with a generated answer about the sentence of a row, judged by condition"),
    Option("labels", str, ("Yes", "No"), "the answers that are right for good and for bad sentences", many=True),
    Option("margin", str, None, "column with a margin, to be correlated with human"),
    Option("human", str, (), "column with people's preference, or two with ratings of good and bad", many=True),
    Option("model", str, None, "column with the name of the model: one result per value"),
    *COLUMN_OPTIONS,
)
SENTENCE_COLUMNS = (
    ("sentence_good", "sentence_bad"),
    ("good_sentence", "bad_sentence"),
    ("sentence_grammatical", "sentence_ungrammatical"),
    ("Good Sentence", "Bad Sentence"),
)
"""Names of the columns with the sentences of a pair."""
_BERT_SYNTAX = re.compile(r"(True|False)\t(\d+)\t([^\t]+)\t([^\t]+)\t([^\t]+)\t([^\t]+)\t(.*)")
"""A line of the results of Goldberg (2019): verdict, attractors, good, score, bad, score, text."""


def score_table(path: Path, options: Mapping[str, str]) -> Iterator[tuple[ScoredTable, str, list[SuiteOutput]]]:
    """A suite, the name of the model and its outcomes, for each model in a table that is read with TABLE_OPTIONS."""
    values = read(TABLE_OPTIONS, options, "score pairs")
    if not options and any(map(_BERT_SYNTAX.fullmatch, head(path).splitlines()[:20])):
        shape, pairs, notices = "wide", *_read_bert_syntax(path)
    else:
        shape, pairs, notices = _read_pairs(path, values)
    signed_options = {name: value for name, value in options.items() if name != "model"}
    models: dict[str, list[ScoredPair]] = {}
    for scored in pairs:
        models.setdefault(scored.model, []).append(scored)
    for model, of_model in models.items():
        checksum = checksum_of(f"{scored.pair.item}\t{scored.pair.good}\t{scored.pair.bad}" for scored in of_model)
        metrics = SHAPES[shape].metrics
        correlated = CORRELATIONS if any(scored.pair.human is not None for scored in of_model) else ()
        signed = {"target": TARGET_OF_FILE, **signed_options}
        meta = {"format": f"scores ({shape})", "pairs": len(of_model)}
        suite = ScoredTable(stem(path), "pairs", checksum, signed, (*metrics, *correlated), len(of_model), meta)
        yield suite, model or stem(path), [*judge_pairs(of_model, shape), *map(Notice, notices)]


def _read_pairs(path: Path, values: Mapping[str, Any]) -> tuple[str, list[ScoredPair], list[str]]:
    """The shape of a table, its pairs and warnings."""
    columns = NamedColumns.of(path, read_table(path), values)
    shape = _shape_of(columns, values)
    names = _score_columns(shape, values)
    human = tuple(values["human"])
    if len(human) > 2 or (shape == "long" and len(human) > 1):
        raise InputError("human takes one column, or two for good and bad in a table with one pair per row")
    if shape == "margin" and not human:
        raise InputError("margin is only correlated with human judgements: add human=COLUMN")
    columns.require(*names, *human, *filter(None, [values["model"]]))
    if shape == "answers":
        pairs = _answers(columns, values)
    else:
        pairs = _long_pairs(columns, values) if shape == "long" else _row_pairs(columns, names, values)
    refuse_errors(columns.problems, path)
    if values["lower_is_better"]:
        pairs = [scored._replace(scores=tuple(-score for score in scored.scores)) for scored in pairs]
    models = {plain(record.fields.get("model")) for record in columns.records if values["model"] is None}
    if len(models) > 1:
        fix = "judged together: add -S model=model for one result each"
        columns.notices.append(f"the column model has {len(models)} values, {fix}")
    return shape, pairs, columns.notices


def _shape_of(columns: NamedColumns, values: Mapping[str, Any]) -> str:
    shapes = [shape for shape, (names, *_) in SHAPES.items() if any(values[name] for name in names)]
    if shapes[:1] == ["answers"] and values["score"] is None:
        return "answers"  # which has a condition, too
    if len(shapes) > 1:
        options = " and ".join(SHAPES[shape].columns[0] for shape in shapes[:2])
        raise InputError(f"{options} describe different tables: name the columns of one", file=columns.path)
    if shapes:
        return shapes[0]
    if {"good_score", "bad_score"} <= set(columns.header):
        return "wide"
    if {"item", "condition", "score"} <= set(columns.header):
        return "long"
    fix = "-S good_score=COLUMN -S bad_score=COLUMN, or -S score=COLUMN -S condition=COLUMN with one sentence per row"
    raise InputError(f"no column with scores is named ({first_items(columns.header)}): add {fix}", file=columns.path)


def _score_columns(shape: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns with scores; an error if there are more or fewer than the shape has."""
    if shape in ("presentations", "yes_no"):
        for name in SHAPES[shape].columns:
            if len(values[name]) != 2:
                one, other = SHAPES[shape].columns
                raise InputError(f"{name} takes two columns: write {one}=COLUMN,COLUMN and {other}=COLUMN,COLUMN")
        first, second = (values[name] for name in SHAPES[shape].columns)
        return (*first, *second)
    return tuple(values[name] or name for name in SHAPES[shape].columns)


def _row_pairs(columns: NamedColumns, names: Sequence[str], values: Mapping[str, Any]) -> list[ScoredPair]:
    """The pairs of a table with one pair per row."""
    texts = next((both for both in SENTENCE_COLUMNS if set(both) <= set(columns.header)), ())
    pairs = []
    groups = columns.groups_by_row(*([values["model"]] if values["model"] else []))
    for (item, record), row_groups in zip(columns.items(), groups, strict=True):
        good, bad = (plain(record.fields.get(name)) for name in texts) if texts else ("", "")
        human = _human(columns, record, values["human"])
        scores = tuple(columns.number(record, name, finite=False) for name in names)
        pairs.append(ScoredPair(Pair(item, good, bad, row_groups, human=human), scores, _model(record, values)))
    repeated = find_repeated((scored.model, scored.pair.item) for scored in pairs)
    if repeated and values["item"]:
        fix = "name columns that identify a pair, or model=COLUMN if there are several models"
        raise InputError(f"item {repeated[0][1]!r} occurs in several rows: {fix}", file=columns.path)
    if not repeated and columns.item:
        return pairs
    # Named by their rows among those of their model: models in one file are compared by item.
    rows: defaultdict[str, count[int]] = defaultdict(lambda: count(1))
    return [scored._replace(pair=scored.pair._replace(item=str(next(rows[scored.model])))) for scored in pairs]


def _long_pairs(columns: NamedColumns, values: Mapping[str, Any]) -> list[ScoredPair]:
    """The pairs of a table with one sentence per row; without one row of each condition, they are not judged."""
    score, condition = _score_columns("long", values)
    sides = (values["good"], values["bad"])
    if not columns.item:
        raise InputError("item=COLUMN must say which rows make a pair", file=columns.path)
    rows_by_item: dict[tuple[str, str], dict[str, list[Record]]] = {}
    groups_of_rows: list[tuple[tuple[str, str], Mapping[str, str]]] = []
    others = 0
    for (item, record), row_groups in zip(columns.items(), columns.groups_by_row(condition), strict=True):
        side = plain(record.fields.get(condition))
        if side not in sides:
            others += 1
            continue
        key = (_model(record, values), item)
        rows_by_item.setdefault(key, {}).setdefault(side, []).append(record)
        groups_of_rows.append((key, row_groups))
    if not rows_by_item:
        raise InputError(f"no row has {condition}={sides[0]} or {condition}={sides[1]}", file=columns.path)
    if others:
        columns.notices.append(f"{plural(others, 'row')} with another {condition} left out")
    pairs, groups = [], columns.groups_by_item(groups_of_rows)
    for (model, item), rows in rows_by_item.items():
        wrong = [
            f"{len(rows.get(side, ()))} rows with {condition}={side}" for side in sides if len(rows.get(side, ())) != 1
        ]
        records = [row for side in sides for row in rows.get(side, ())]
        scores = tuple(columns.number(record, score, finite=False) for record in records)
        human = [_human(columns, record, values["human"]) for record in records]
        known = [value for value in human if value is not None]
        preference = known[0] - known[1] if len(known) == len(human) == 2 else None
        pair = Pair(item, "", "", groups[model, item], human=preference)
        pairs.append(ScoredPair(pair, scores, model, " and ".join(wrong)))
    return pairs


def _answers(columns: NamedColumns, values: Mapping[str, Any]) -> list[ScoredPair]:
    """Sentences with the answers about them: scores of the right and the wrong label, NaN for neither."""
    condition, sides, labels = (
        values["condition"] or "condition",
        (values["good"], values["bad"]),
        values["labels"],
    )
    columns.require(condition)
    if len(labels) != 2 or labels[0] == labels[1]:
        raise InputError("labels takes two different labels, for good and bad sentences, such as labels=Yes,No")
    scored = []
    for row, (record, groups) in enumerate(zip(columns.records, columns.groups_by_row(), strict=True), 1):
        side = plain(record.fields.get(condition))
        if side not in sides:
            message = f"{condition} is {side!r}, not {sides[0]!r} or {sides[1]!r}: add good=VALUE and bad=VALUE"
            columns.problems.error(record.place, message)
            continue
        answer = questions.parse_answer(plain(record.fields.get(values["answer"])), labels)
        right = labels[sides.index(side)]
        scores = (math.nan, math.nan) if answer is None else (float(answer == right), float(answer != right))
        scored.append(ScoredPair(Pair(str(row), "", "", groups), scores, _model(record, values)))
    return scored


def _model(record: Record, values: Mapping[str, Any]) -> str:
    return plain(record.fields.get(values["model"])) if values["model"] else ""


def _human(columns: NamedColumns, record: Record, names: Sequence[str]) -> float | None:
    """People's preference in a row; None where a field is empty."""
    if not names or any(not plain(record.fields.get(name)) for name in names):
        return None
    numbers = [columns.number(record, name) for name in names]
    return numbers[0] if len(numbers) == 1 else numbers[0] - numbers[1]


def _read_bert_syntax(path: Path) -> tuple[list[ScoredPair], list[str]]:
    """The pairs of the results of Goldberg (2019), which have no header."""
    pairs, skipped, others = [], 0, 0
    for number, line in enumerate(read_lines(path), 1):
        match = _BERT_SYNTAX.fullmatch(line)
        if match is None:
            skipped += line.startswith("skipping")
            others += bool(line.strip()) and not line.startswith("skipping")
            continue
        _, attractors, good, good_score, bad, bad_score, text = match.groups()
        scores = as_number(good_score), as_number(bad_score)
        if any(map(math.isnan, scores)):
            raise InputError(f"{good_score!r} and {bad_score!r} are not two scores", file=path, place=f"line {number}")
        both = [text.removeprefix("b")[1:-1].replace("***mask***", form) for form in (good, bad)]
        pairs.append(ScoredPair(Pair(str(number), both[0], both[1], {"attractors": attractors}), scores))
    notices = []
    if skipped:
        notices.append(f"{plural(skipped, 'pair')} skipped in the file")
    if others:
        notices.append(f"{plural(others, 'line')} without a pair left out")
    return pairs, notices


class ScoredPair(NamedTuple):
    """A pair with its scores, in the order of the shape of the table."""

    pair: Pair
    scores: tuple[float, ...]
    model: str = ""
    why: str = ""


class _Shape(NamedTuple):
    columns: tuple[str, ...]
    """The options that name the columns of a table of this shape."""
    metrics: tuple[Metric, ...]
    judge: Callable[[ScoredPair], Iterator[Outcome]]
    margin: Callable[[Sequence[float]], float]


def judge_pairs(pairs: Sequence[ScoredPair], shape: str) -> Iterator[SuiteOutput]:
    """The outcomes of pairs, then correlations and warnings."""
    correlations = HumanCorrelations()
    ties = identical = 0
    mass: list[float] = []
    for scored in pairs:
        if scored.why:
            yield Outcome(scored.pair.item, ACCURACY, None, scored.pair.groups, {"why": scored.why})
            continue
        if scored.pair.human is not None:
            margin = finite_or_none(SHAPES[shape].margin(scored.scores))
            correlations.collect(margin, scored.pair.human, scored.pair.groups)
        same = bool(scored.pair.good) and is_identical(scored.pair)
        identical += same and shape != "margin"
        for outcome in SHAPES[shape].judge(scored):
            if "score_good" in outcome.detail and not same:
                ties += outcome.detail["score_good"] == outcome.detail["score_bad"]
            if outcome.metric == questions.ANSWER_MASS and isinstance(outcome.value, float):
                mass.append(outcome.value)
            yield outcome
    yield from correlations.rows()
    yield from map(Notice, _warnings(pairs, ties, identical, mass))


def _warnings(pairs: Sequence[ScoredPair], ties: int, identical: int, mass: Sequence[float]) -> Iterator[str]:
    if unjudged := [one for one in pairs if one.why]:
        listed = "; ".join(f"{one.pair.item} ({one.why})" for one in unjudged[:5])
        more = f"; and {len(unjudged) - 5} more" if len(unjudged) > 5 else ""
        yield f"{plural(len(unjudged), 'item')} not judged: {listed}{more}"
    if identical:
        yield f"{plural(identical, 'pair')} of identical sentences, counted as failures"
    if ties:
        yield f"{plural(ties, 'comparison')} tied, counted as failures"
    yield from questions.notices_of_mass(mass)
    yield from notices_of_copies([one.pair for one in pairs if one.pair.good])


def _judge_wide(scored: ScoredPair) -> Iterator[Outcome]:
    pair, (good, bad) = scored.pair, scored.scores
    texts = {"good": pair.good, "bad": pair.bad} if pair.good else {}
    human = {} if pair.human is None else {"human": pair.human}
    detail = {**texts, "score_good": good, "score_bad": bad, **human}
    yield Outcome(pair.item, ACCURACY, good > bad, pair.groups, detail)


def _judge_presentations(scored: ScoredPair) -> Iterator[Outcome]:
    """Outcomes of both orders; the first label belongs to the sentence shown first."""
    g1, g2, b1, b2 = scored.scores
    reply = questions.LabelReply.of_logprobs
    by_order = {"good_first": (g1, g2), "bad_first": (b2, b1)}
    yield from _with_scores(scored.pair, questions.judge_choice(scored.pair, reply(g1, g2), reply(b1, b2)), by_order)


def _judge_yes_no(scored: ScoredPair) -> Iterator[Outcome]:
    yes_good, yes_bad, no_good, no_bad = scored.scores
    reply = questions.LabelReply.of_logprobs
    judged = questions.judge_yes_no(scored.pair, reply(yes_good, no_good), reply(yes_bad, no_bad))
    yield from _with_scores(scored.pair, judged, {"": (yes_good - no_good, yes_bad - no_bad)})


def _with_scores(pair: Pair, judged: Iterator[Outcome], scores: Mapping[str, tuple[float, float]]) -> Iterator[Outcome]:
    """The outcomes, the accuracy with the scores compared, by order; a table tells nothing about invalid answers."""
    human = {} if pair.human is None else {"human": pair.human}
    for outcome in judged:
        if outcome.metric == ACCURACY:
            good, bad = scores[outcome.groups.get("order", "")]
            details = {key: value for key, value in outcome.detail.items() if not key.startswith("answer")}
            yield replace(outcome, detail={**details, "score_good": good, "score_bad": bad, **human})
        elif outcome.metric != questions.INVALID:
            yield outcome


def _judge_answers(scored: ScoredPair) -> Iterator[Outcome]:
    right, wrong = scored.scores
    yield Outcome(scored.pair.item, ACCURACY, right > wrong, scored.pair.groups)
    yield Outcome(scored.pair.item, "invalid", math.isnan(right), scored.pair.groups)


_WIDE = _Shape(
    ("good_score", "bad_score"),
    (Metric(ACCURACY, meaning="the good sentence has the better score in the file"),),
    _judge_wide,
    lambda scores: scores[0] - scores[1],
)
SHAPES: Mapping[str, _Shape] = {
    "margin": _Shape(("margin",), (), lambda one: iter(()), lambda scores: scores[0]),
    "answers": _Shape(
        ("answer",),
        (
            Metric(ACCURACY, meaning="the answer about a sentence is right; an invalid one is not"),
            Metric("invalid", better="lower", meaning="answers that begin with neither label"),
        ),
        _judge_answers,
        lambda scores: math.nan,
    ),
    "presentations": _Shape(
        ("good_first", "bad_first"),
        tuple(metric for metric in questions.CHOICE_METRICS if metric.name != questions.INVALID),
        _judge_presentations,
        lambda scores: (scores[0] - scores[1] + scores[3] - scores[2]) / 2,
    ),
    "yes_no": _Shape(
        ("yes", "no"),
        tuple(metric for metric in questions.YES_NO_METRICS if metric.name != questions.INVALID),
        _judge_yes_no,
        lambda scores: (scores[0] - scores[2]) - (scores[1] - scores[3]),
    ),
    "long": _WIDE._replace(columns=("score", "condition")),
    "wide": _WIDE,
}
"""How the scores of a pair are judged, by the shape of the table; the first whose columns are named is used."""
