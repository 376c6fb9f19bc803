"""Options of the analysis of reading times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from wug.errors import InputError
from wug.options import Option, read

Sigma: TypeAlias = Literal["train", "train-ml", "test-sd"]
Context: TypeAlias = Literal["text", "sentence"]

SPLITS = ("contiguous", "cut", "random", "none")
BY = "by:"
EXCLUSIONS = ("punctuation", "first", "last", "unknown", "zero")
MODEL_COLUMNS = ("surprisal", "surprisal_boundary", "entropy")
NO_CLUSTER = "none"
MIN_CLUSTERS = 10
DEFAULT_SPILLOVER = 2
KEYS = ("word", "text", "position", "sentence", "subject")

OPTIONS = (
    Option("measure", str, (), "columns with the dependent variables, such as gaze_rt", many=True),
    Option("baseline", str, "length + log_frequency", "terms of the baseline: a + b, a:b, a*b, a@1; 1 for none"),
    Option("predictors", str, None, "terms that the target model adds; by default those of `use`"),
    Option("use", str, "surprisal", "what the model gives: surprisal, surprisal_boundary or entropy, joined by +"),
    Option("spillover", int, None, "earlier words to add  [default: 2 with text and position, else 0]", 0),
    Option("word", str, None, "column with the words"),
    Option("text", str, None, "column that identifies the text"),
    Option("position", str, None, "column with the position of the word in its text"),
    Option("sentence", str, None, "column that identifies the sentence"),
    Option("subject", str, None, "column that identifies the participant"),
    Option("where", str, "", "conditions on rows, such as `freq > 0`  (several are separated by ;)"),
    Option("exclude", EXCLUSIONS, (), "words to leave out: punctuation, first, last, unknown, zero", many=True),
    Option("split", str, None, "contiguous, cut, random, none or by:COLUMN  [default: by text, else contiguous]"),
    Option("folds", int, 10, "number of folds", 2),
    Option("sigma", ("train", "train-ml", "test-sd"), "train", "SD of the residuals in the likelihood"),
    Option("complete", ("used", "all"), "used", "columns that must have a value: those in use, or every numeric one"),
    Option("order", ("given", "text"), "given", "order of the rows for contiguous and cut folds"),
    Option("frequency", str, None, "source of log_frequency (Zipf values), such as wordfreq:en"),
    Option("transform", ("none", "log"), "none", "transformation of the measure"),
    Option("scale", bool, False, "standardise every term with the mean and SD of the training fold"),
    Option("aggregate", bool, False, "average over participants first"),
    Option("shift", int, 0, "shift the measure by this many words; 1 for item means of Natural Stories"),
    Option("cluster", str, None, "column of units for intervals, or none  [default: the texts, if 10 or more]"),
    Option("permutations", int, 999, "sign flips for the p-value", 1),
    Option("seed", int, 0, "random seed", 0),
    Option("lags", bool, False, "also fit each of the words t+2 to t-3 alone"),
    Option("context", ("text", "sentence"), None, "context of a word for the model  [default: as in `wug surprisal`]"),
    Option("allow_missing", bool, False, "accept that more than half of the rows lack a value"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSettings:
    """How reading times are analysed; `OPTIONS` describes the fields."""

    measure: tuple[str, ...]
    baseline: str
    predictors: str | None
    use: str
    spillover: int | None
    word: str | None
    text: str | None
    position: str | None
    sentence: str | None
    subject: str | None
    where: tuple[str, ...]
    exclude: tuple[str, ...]
    split: str | None
    folds: int
    sigma: Sigma
    complete: str
    order: str
    frequency: str | None
    transform: str
    scale: bool
    aggregate: bool
    shift: int
    cluster: str | None
    permutations: int
    seed: int
    lags: bool
    context: Context | None
    allow_missing: bool

    @property
    def spillover_words(self) -> int:
        """Earlier words whose terms are added."""
        if self.spillover is not None:
            return self.spillover
        return DEFAULT_SPILLOVER if self.text is not None and self.position is not None else 0

    def signature(self) -> dict[str, str]:
        """Every setting that can change a number."""
        values: dict[str, Any] = {name: getattr(self, name) for name in (*KEYS, "context", "shift")}
        return {
            "measure": "+".join(self.measure),
            "spillover": str(self.spillover_words),
            **{name: str(value) for name, value in values.items() if value},
            "where": " & ".join(self.where).replace("|", "¦") or "all",
            "exclude": "+".join(self.exclude) or "none",
            "folds": "1" if self.split == "none" else str(self.folds),
            **{name: getattr(self, name) for name in ("order", "sigma", "complete", "transform")},
            "scale": "yes" if self.scale else "no",
            "aggregate": "mean, zeros included" if self.aggregate else "no",
            "permutations": f"{self.permutations},seed={self.seed}",
        }


def settings(options: Mapping[str, str], measure: Sequence[str] = (), where: Sequence[str] = ()) -> ReadingSettings:
    """Settings from text options; measures and conditions may be given as lists, too."""
    values = read(OPTIONS, options, "reading")
    values["measure"] = tuple(measure) or values["measure"]
    parts = where or values["where"].split(";")
    values["where"] = tuple(part.strip() for part in parts if part.strip())
    chosen = ReadingSettings(**values)
    if chosen.split is not None and chosen.split not in SPLITS and not chosen.split.startswith(BY):
        raise InputError(f"split={chosen.split}: use one of {', '.join(SPLITS)}, or by:COLUMN")
    if not chosen.measure:
        raise InputError("no measure given. Name the column with the reading times: --measure COLUMN")
    refuse_unknown_use(chosen.use)
    return chosen


def refuse_unknown_use(use: str) -> None:
    """InputError for something that a model does not give."""
    for name in re.split(r"\s*\+\s*", use.strip()):
        if name not in MODEL_COLUMNS:
            raise InputError(f"use={name}: use {', '.join(MODEL_COLUMNS)}, or several joined by +")
