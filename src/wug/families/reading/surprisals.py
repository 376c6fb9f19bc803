"""Predictors for the words of a table: from a model, or from a table of surprisals."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wug import registry
from wug.arrays import Indices
from wug.errors import InputError, ModelError
from wug.families.reading.design import PredictorSet
from wug.families.reading.prepare import PreparedTable
from wug.families.reading.settings import MODEL_COLUMNS
from wug.families.reading.table import EXAMPLES, Keys, WordTable, read_words
from wug.families.reading.terms import parse
from wug.requests import Request, Scored, Scorer, Span, TextScoring
from wug.texts import rows as text_rows
from wug.texts.text import joined, sentences

TEXT_KEYS, POSITION_KEYS = ("text_id", "text"), ("word_id", "position")
"""Key columns of a table of surprisals that does not use the names of the reading times; wug's own come first."""


class RunningText(NamedTuple):
    """The words of one text in order."""

    text: str
    spans: tuple[Span, ...]
    sentences: tuple[Span, ...]
    rows: tuple[Indices, ...]
    """The rows of the table that have each word: one per participant."""


def running_texts(prepared: PreparedTable) -> list[RunningText]:
    """The texts of a table, put together from its words."""
    table, keys, settings = prepared.table, prepared.keys, prepared.settings
    if settings.word is None or keys is None:
        raise InputError("a model needs the words in order: name the columns --word, --text and --position")
    words = prepared.words or ()
    marks = None if settings.sentence is None else table.texts(settings.sentence)
    texts = []
    order = np.lexsort((keys.positions, keys.texts))
    for text in np.split(order, np.flatnonzero(np.diff(keys.texts[order])) + 1):
        tokens_by_word = np.split(text, np.flatnonzero(np.diff(keys.positions[text])) + 1)
        for rows in tokens_by_word:
            if len({words[row] for row in rows}) > 1:
                raise table.error("different words have the same text and position", rows, settings.word)
            if not words[rows[0]]:
                raise table.error("a word is empty", rows, settings.word)
        joint, spans = joined([words[rows[0]] for rows in tokens_by_word])
        bounds = sentences(joint) if marks is None else _bounds([marks[rows[0]] for rows in tokens_by_word], spans)
        texts.append(RunningText(joint, spans, bounds, tuple(tokens_by_word)))
    return texts


def predict(prepared: PreparedTable, model: Scorer, use: str) -> PredictorSet:
    """The columns that a model gives for every word, in bits."""
    texts = running_texts(prepared)
    scoring = TextScoring(distribution="entropy" in use, boundary="boundary" in use)
    trained_on = getattr(model, "training_context", None)
    context = prepared.settings.context or ("sentence" if trained_on == "sentence" else "text")
    spans_by_text = [[(0, len(text.text))] if context == "text" else list(text.sentences) for text in texts]
    requests = [
        Request(text.text[start:end], scoring=scoring)
        for text, stretches in zip(texts, spans_by_text, strict=True)
        for start, end in stretches
    ]
    answers = iter(model.score(requests))
    columns = {name: np.full(len(prepared.table), np.nan) for name in MODEL_COLUMNS}
    unknown, tokenless = np.zeros(len(prepared.table), bool), np.zeros(len(prepared.table), bool)
    for text, stretches in zip(texts, spans_by_text, strict=True):
        scored: list[tuple[int, Scored]] = [(start, next(answers)) for start, _ in stretches]
        if scoring.boundary and any(answer.logprobs_with_word_end is None for _, answer in scored):
            raise ModelError(f"{model.id} does not report word boundaries: leave out surprisal_boundary")
        scores = text_rows.TokenScores.of(scored)
        values = text_rows.span_columns("word", text.text, scores, text.spans, text.sentences)
        at = np.concatenate(text.rows)
        word_of_row = np.repeat(np.arange(len(text.rows)), list(map(len, text.rows)))
        for name, column in columns.items():
            column[at] = np.array(values[name], np.float64)[word_of_row]
        unknown[at] = np.array(values["unknown"], bool)[word_of_row]
        tokenless[at] = np.array(values["tokens"], np.intp)[word_of_row] == 0
    warnings = _warnings(prepared, model, context, explicit=prepared.settings.context is not None)
    suspicious = {"no token begins in the word": tokenless, "unknown word": unknown}
    return PredictorSet(model.id, parse(use), columns, suspicious, dict(model.options), tuple(warnings))


def _warnings(prepared: PreparedTable, model: Scorer, context: str, *, explicit: bool) -> Iterator[str]:
    if registry.sees_right_context(model):
        yield f"{model.id} sees the words on both sides: its surprisals are given the whole text, not the words before"
    if context == "sentence" and not explicit:
        yield (
            f"{model.id} was trained on single sentences: the context of a word is its own sentence; --context text "
            "gives it the whole text"
        )
    if prepared.keys is not None:
        texts, positions = prepared.keys.texts, prepared.keys.positions
        order = np.lexsort((positions, texts))
        steps = np.diff(positions[order])[np.diff(texts[order]) == 0]
        if absent := int(np.maximum(steps - 1, 0).sum()):
            yield f"{absent:,} positions are absent from the table: the model does not see these words"


def read_surprisals(
    prepared: PreparedTable, source: object, use: str, *, allow_mismatch: bool = False
) -> Iterator[PredictorSet]:
    """Predictor sets of a table of surprisals, one per model in it, joined by text and position.

    Words that differ from those of the reading times are an error, or else missing and counted in a warning.
    """
    table = read_words(source)
    names = list(dict.fromkeys(factor.column for term in parse(use) for factor in term.factors))
    for name in names:
        table.require(name)
    labels = table.texts("model") if "model" in table.columns else [Path(str(source)).name] * len(table)
    for label in dict.fromkeys(labels):
        model_rows = [row for row, value in enumerate(labels) if value == label]
        part = WordTable(
            table.file,
            {name: [values[row] for row in model_rows] for name, values in table.columns.items()},
            [table.place(row) for row in model_rows],
        )
        at = _matched(prepared, part)
        differing = _differing(prepared, part, at, allowed=allow_mismatch)
        at[differing] = -1
        note = f"{len(differing):,} words differ from those of the table of surprisals, and are left out"
        predictors = {name: np.where(at >= 0, part.numbers(name)[at], np.nan) for name in names}
        yield PredictorSet(label, parse(use), predictors, warnings=(note,) if len(differing) else ())


def _matched(prepared: PreparedTable, part: WordTable) -> Indices:
    """The row of the table of surprisals for every row of the reading times; -1 where there is none."""
    settings, times = prepared.settings, prepared.table
    if settings.position is None:
        raise InputError("joining surprisals needs the columns --text and --position", file=times.file)
    position = _key_column(part, settings.position, POSITION_KEYS)
    text = None if settings.text is None else _key_column(part, settings.text, TEXT_KEYS)
    Keys.of(part, text, position, None)  # which refuses keys that are there twice
    theirs = [""] * len(part) if text is None else part.texts(text)
    ours = [""] * len(times) if settings.text is None else times.texts(settings.text)
    if text == TEXT_KEYS[0] and text != settings.text and not set(ours) & set(theirs):
        numbers = {name: str(number) for number, name in enumerate(dict.fromkeys(ours), 1)}
        ours = [numbers[name] for name in ours]
    position_numbers = part.numbers(position).astype(int)
    known = {key: row for row, key in enumerate(zip(theirs, position_numbers.tolist(), strict=True))}
    wanted = zip(ours, times.numbers(settings.position).astype(int).tolist(), strict=True)
    return np.array([known.get(key, -1) for key in wanted], np.intp)


def _key_column(table: WordTable, name: str, others: Sequence[str]) -> str:
    present = next((column for column in (name, *others) if column in table.columns), None)
    if present is None:
        table.require(name, "key column")
    return present or name


def _differing(prepared: PreparedTable, part: WordTable, at: Indices, *, allowed: bool) -> Indices:
    """Rows whose word is another one in the table of surprisals, which is an error unless it is allowed."""
    column = next((name for name in (prepared.settings.word, "word") if name in part.columns), None)
    if prepared.words is None or column is None:
        return np.zeros(0, np.intp)
    words, others, pairs = prepared.words, part.texts(column), list(enumerate(at.tolist()))

    def equal(row: int, other: int) -> bool:
        return _norm(words[row]) == _norm(others[other])

    differing = np.array([row for row, other in pairs if other >= 0 and not equal(row, other)], np.intp)
    if allowed or not len(differing):
        return differing
    examples = "; ".join(f"{words[row]!r} and {others[at[row]]!r}" for row in differing[:EXAMPLES].tolist())
    shifted = ""
    for shift in (1, -1):
        moved = sum(0 <= other + shift < len(others) and equal(row, other + shift) for row, other in pairs)
        if moved > 0.9 * len(at):
            shifted = f" Nearly all agree if positions are moved by {shift:+d}: one table may count from 0."
    raise prepared.table.error(
        f"{len(differing):,} words differ from those of {part.file} ({examples}).{shifted} Correct the keys, or leave "
        "these rows out with --allow-mismatch",
        differing,
        prepared.settings.word,
    )


def _bounds(marks: Sequence[str], spans: Sequence[Span]) -> tuple[Span, ...]:
    """Sentences from the values of a column: words in a row with the same value."""
    sentence_spans: list[Span] = []
    for index, (mark, (start, end)) in enumerate(zip(marks, spans, strict=True)):
        if index and mark == marks[index - 1]:
            sentence_spans[-1] = (sentence_spans[-1][0], end)
        else:
            sentence_spans.append((start, end))
    return tuple(sentence_spans)


def _norm(word: str) -> str:
    return unicodedata.normalize("NFC", word.strip().replace("%2C", ","))
