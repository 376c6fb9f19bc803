"""From a table to the rows of an analysis: conditions, exclusions, averages, length and frequency of words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import NamedTuple

import numpy as np

from wug.arrays import Floats, Indices, Mask
from wug.errors import InputError, needs_extra
from wug.families.reading.settings import KEYS, MIN_CLUSTERS, NO_CLUSTER, ReadingSettings
from wug.families.reading.table import Keys, WordTable, aggregate, bare, has_punctuation
from wug.families.reading.terms import RegressionTerm, parse, spread
from wug.formatting import number, plural

LENGTH, FREQUENCY = "length", "log_frequency"
"""Columns that are made of the words: characters, and Zipf values."""


class PreparedTable(NamedTuple):
    """A table with its keys, and which of its rows may be used."""

    table: WordTable
    settings: ReadingSettings
    keys: Keys | None
    targets: Mask
    """Rows that meet every condition. Other rows still are earlier words."""
    removed: Mapping[str, int]
    words: Sequence[str] | None
    warnings: tuple[str, ...]
    frequency: str

    @property
    def baseline(self) -> tuple[RegressionTerm, ...]:
        """The terms of the baseline, with those of earlier words."""
        return spread(parse(self.settings.baseline), self.settings.spillover_words, self.settings.position)

    def values_at(self, values: Floats, words_back: int, name: str) -> Floats:
        """The values of earlier words, NaN where there is no such word."""
        if words_back == 0:
            return values
        if self.keys is None:
            raise InputError(f"{name!r} at another word: name the columns --text and --position", file=self.table.file)
        at = self.keys.neighbour(words_back)
        return np.where(at >= 0, values[at], np.nan)

    def order(self, rows: Indices) -> Indices:
        """The rows in the order for folds."""
        if self.settings.order == "given":
            return rows
        if self.keys is None:
            raise InputError("order=text needs the columns --text and --position", file=self.table.file)
        text = self.settings.text
        ranks: Indices | Floats = self.keys.texts
        if text is not None:
            numeric = self.table.is_numeric(text)
            ranks = self.table.numbers(text) if numeric else np.unique(self.table.texts(text), return_inverse=True)[1]
        return rows[np.lexsort((self.keys.positions[rows], ranks[rows]))]

    def split_column(self, rows: Indices) -> str | None:
        """The column by whose values folds are made; None for folds by rows."""
        if self.settings.split is not None:
            return self.settings.split_by
        text = self.settings.text
        return text if text is not None and self._distinct(text, rows) >= self.settings.folds else None

    def _distinct(self, column: str, rows: Indices) -> int:
        return len(np.unique(self.table.codes(column)[rows]))

    def fold_warning(self, rows: Indices) -> str | None:
        """A warning if folds are blocks of rows because there are fewer texts than folds."""
        text, count = self.settings.text, self.settings.folds
        if self.settings.split is not None or text is None or self.split_column(rows) is not None:
            return None
        groups = self._distinct(text, rows)
        fix = f"Use --folds {groups}" if groups > 1 else "Words of the text are in training and test"
        return (
            f"{text!r} has {plural(groups, 'value')}, fewer than {count} folds: folds are blocks of rows, not texts. "
            f"{fix}"
        )

    def units(self, rows: Indices) -> tuple[Sequence[str] | None, str | None]:
        """The cluster of each row, if rows are clustered; and a warning if rows with something in common are not."""
        column = self.settings.cluster or self.settings.text
        if column == NO_CLUSTER:
            return None, None
        if column is not None:
            values = self.table.texts(column)
            labels = [values[row] for row in rows]
            if (clusters := len(set(labels))) >= MIN_CLUSTERS:
                return labels, None
            return None, (
                f"{column!r} has {plural(clusters, 'value')}, too few for an interval between clusters "
                f"({MIN_CLUSTERS} are needed): intervals and p-values treat {self._independent(rows)}, and are too "
                "optimistic"
            )
        if (by := self.split_column(rows)) is None:
            return None, None
        return None, (
            f"folds are by {by!r} ({plural(self._distinct(by, rows), 'value')}), but intervals and p-values treat rows "
            f"as independent: --cluster {by} clusters them"
        )

    def _independent(self, rows: Indices) -> str:
        """What is treated as independent: words, or rows of which a word has several."""
        if self.keys is None or self.settings.subject is None or self.settings.aggregate:
            return "words as independent"
        words = len(set(zip(self.keys.texts[rows].tolist(), self.keys.positions[rows].tolist(), strict=True)))
        return f"rows as independent, though each word has {number(len(rows) / words)}"

    def items(self, rows: Sequence[int]) -> list[str]:
        """The names of rows: text, position and participant, or where each is."""
        subject = None if self.settings.aggregate else self.settings.subject
        names = (self.settings.text, subject, self.settings.position)
        if self.settings.position is None:
            return [self.table.place(row) for row in rows]
        columns = [self.table.columns[name] for name in names if name is not None]
        return ["/".join(str(column[row]).strip() for column in columns) for row in rows]


def prepare(table: WordTable, settings: ReadingSettings) -> PreparedTable:
    """Apply conditions and exclusions, average over participants, and make length and frequency of the words."""
    for measure in settings.measure:
        parts = [part.strip() for part in measure.split(",")]
        has_several_columns = len(parts) > 1 and all(part in table.columns for part in parts)
        repeat = " ".join(f"--measure {part}" for part in parts)
        table.require(measure, "measure", f" Several measures: {repeat}" if has_several_columns else "")
        table.numbers(measure)
    cluster = None if settings.cluster == NO_CLUSTER else settings.cluster
    named = {name: getattr(settings, name) for name in KEYS} | {"cluster": cluster, "split": settings.split_by}
    for name, column in named.items():
        if column is not None:
            table.require(column, f"{name} column")
    used_rows: Mask = np.ones(len(table), bool)
    removed: dict[str, int] = {}
    for condition in settings.where:
        fulfilled = table.fulfils(condition)
        removed[f"where {condition}"] = int(np.count_nonzero(used_rows & ~fulfilled))
        used_rows &= fulfilled
    subject = settings.subject
    if settings.aggregate:
        if settings.position is None:
            raise InputError("averaging over participants needs the columns --text and --position", file=table.file)
        if subject is not None and subject in (settings.cluster, settings.split_by):
            raise InputError(
                f"--aggregate averages over {subject!r}: it cannot be the column of --split or --cluster too",
                file=table.file,
            )
        names = [name for name in (settings.text, settings.position) if name is not None]
        table, used_rows = aggregate(table, used_rows, names, settings.measure)
        if subject is not None:
            table.columns[subject] = [""] * len(table)
        subject = None
    position = settings.position
    keys = None if position is None else Keys.of(table, settings.text, position, subject)
    word = settings.word or ("word" if "word" in table.columns else None)
    # Some published tables write commas as %2C.
    words = [text.replace("%2C", ",") for text in table.texts(word)] if word is not None else None
    warnings = []
    if settings.spillover is None and settings.spillover_words == 0:
        warnings.append("earlier words are not in the model (spillover 0), as --text and --position are not given")
    if settings.shift:
        warnings.append(f"each time counts for the word {settings.shift} further on (--shift)")
    elif {"item", "zone"} < set(table.columns) and {"meanItemRT", "gmeanItemRT"} & set(settings.measure):
        warnings.append("item means of Natural Stories are one word late in all releases: --shift 1 moves them")
    frequency = _make_columns(table, words, settings, warnings)
    for kind in settings.exclude:
        if kind != "zero":
            excluded = _excluded(kind, table, words, keys, settings)
            removed[f"exclude {kind}"] = int(np.count_nonzero(used_rows & excluded))
            used_rows &= ~excluded
    return PreparedTable(table, settings, keys, used_rows, removed, words, tuple(warnings), frequency)


def _excluded(
    kind: str, table: WordTable, words: Sequence[str] | None, keys: Keys | None, settings: ReadingSettings
) -> Mask:
    if kind == "unknown":
        if "unknown" not in table.columns:
            raise InputError("exclude=unknown needs a column 'unknown', or a model that reports it", file=table.file)
        return flagged(table)
    if kind == "punctuation":
        if words is None:
            raise InputError("exclude=punctuation needs the column with the words: --word", file=table.file)
        return np.array([has_punctuation(word) for word in words], bool)
    if keys is None:
        raise InputError(f"exclude={kind} needs the columns --text and --position", file=table.file)
    groups = keys.texts if settings.sentence is None else table.codes(settings.sentence)
    return keys.edges(groups, last=kind == "last")


def flagged(table: WordTable) -> Mask:
    """The rows whose column `unknown` is true."""
    return np.array([str(value).strip().lower() in ("true", "1", "1.0", "yes") for value in table.columns["unknown"]])


def _make_columns(table: WordTable, words: Sequence[str] | None, settings: ReadingSettings, warnings: list[str]) -> str:
    used = {factor.column for term in parse(settings.baseline) for factor in term.factors}
    if words is not None and LENGTH not in table.columns and LENGTH in used:
        table.add(LENGTH, np.array([len(bare(word)) for word in words], np.float64))
    if settings.frequency is None:
        return "column" if FREQUENCY in table.columns else "none"
    source, _, language = settings.frequency.partition(":")
    if source != "wordfreq" or not language:
        raise InputError(f"frequency={settings.frequency}: write wordfreq:LANGUAGE, such as wordfreq:en")
    if words is None:
        raise InputError("frequencies need the column with the words: --word", file=table.file)
    values = _zipf([bare(word) for word in words], language)
    if unknown := int(np.count_nonzero(values == 0)):
        warnings.append(f"{unknown:,} words are unknown to wordfreq and have the Zipf value 0")
    table.add(FREQUENCY, values)
    return f"wordfreq {version('wordfreq')}:{language}"


def _zipf(words: Sequence[str], language: str) -> Floats:
    with needs_extra("word frequencies", "frequency"):
        import wordfreq
    try:
        values = {word: wordfreq.zipf_frequency(word, language) for word in set(words)}
    except LookupError as error:
        known = ", ".join(sorted(wordfreq.available_languages()))
        raise InputError(f"frequency=wordfreq:{language}: {error}. Languages: {known}") from None
    except ImportError as error:  # Chinese, Japanese and Korean need a tokenizer
        raise InputError(f"frequency=wordfreq:{language}: {error}") from None
    return np.array([values[word] for word in words], np.float64)
