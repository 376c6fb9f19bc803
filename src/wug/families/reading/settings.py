"""Options of the analysis of reading times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, get_args

from wug.errors import InputError
from wug.options import Option, OptionType, read
from wug.texts.text import Context

Sigma: TypeAlias = Literal["train", "train-ml", "test-sd"]

SPLITS = ("contiguous", "cut", "random", "none")
BY = "by:"
EXCLUSIONS = ("punctuation", "first", "last", "unknown", "zero")
MODEL_COLUMNS = ("surprisal", "surprisal_boundary", "entropy")
NO_CLUSTER = "none"
MIN_CLUSTERS = 10
DEFAULT_SPILLOVER = 2
KEYS = ("word", "text", "position", "sentence", "subject")


def _option(type: OptionType, default: object, help: str, least: int | None = None, *, many: bool = False) -> Any:
    """A field of the settings that is an option."""
    return field(default=default, metadata={"type": type, "help": help, "least": least, "many": many})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSettings:
    """How reading times are analysed; the fields are the options."""

    measure: tuple[str, ...] = _option(str, (), "columns with the dependent variables, such as gaze_rt", many=True)
    baseline: str = _option(str, "length + log_frequency", "terms of the baseline: a + b, a:b, a*b, a@1; 1 for none")
    predictors: str | None = _option(str, None, "terms that the target model adds; by default those of `use`")
    use: str = _option(str, "surprisal", "what the model gives: surprisal, surprisal_boundary or entropy, joined by +")
    spillover: int | None = _option(int, None, "earlier words to add  [default: 2 with text and position, else 0]", 0)
    word: str | None = _option(str, None, "column with the words")
    text: str | None = _option(str, None, "column that identifies the text")
    position: str | None = _option(str, None, "column with the position of the word in its text")
    sentence: str | None = _option(str, None, "column that identifies the sentence")
    subject: str | None = _option(str, None, "column that identifies the participant")
    where: tuple[str, ...] = _option(str, "", "conditions on rows, such as `freq > 0`  (several are separated by ;)")
    exclude: tuple[str, ...] = _option(
        EXCLUSIONS, (), "words to leave out: punctuation, first, last, unknown, zero", many=True
    )
    split: str | None = _option(
        str, None, "contiguous, cut, random, none or by:COLUMN  [default: by text, else contiguous]"
    )
    folds: int = _option(int, 10, "number of folds", 2)
    sigma: Sigma = _option(get_args(Sigma), "train", "SD of the residuals in the likelihood")  # noqa: RUF009
    complete: str = _option(
        ("used", "all"), "used", "columns that must have a value: those in use, or every numeric one"
    )
    order: str = _option(("given", "text"), "given", "order of the rows for contiguous and cut folds")
    frequency: str | None = _option(str, None, "source of log_frequency (Zipf values), such as wordfreq:en")
    transform: str = _option(("none", "log"), "none", "transformation of the measure")
    scale: bool = _option(bool, False, "standardise every term with the mean and SD of the training fold")
    aggregate: bool = _option(bool, False, "average over participants first")
    shift: int = _option(int, 0, "shift the measure by this many words; 1 for item means of Natural Stories")
    cluster: str | None = _option(
        str, None, "column of units for intervals, or none  [default: the texts, if 10 or more]"
    )
    permutations: int = _option(int, 999, "sign flips for the p-value", 1)
    seed: int = _option(int, 0, "random seed", 0)
    lags: bool = _option(bool, False, "also fit each of the words t+2 to t-3 alone")
    context: Context | None = _option(  # noqa: RUF009
        get_args(Context), None, "context of a word for the model  [default: as in `wug surprisal`]"
    )
    allow_missing: bool = _option(bool, False, "accept that more than half of the rows lack a value")

    @property
    def spillover_words(self) -> int:
        """Earlier words whose terms are added."""
        if self.spillover is not None:
            return self.spillover
        return DEFAULT_SPILLOVER if self.text is not None and self.position is not None else 0

    @property
    def split_by(self) -> str | None:
        """The column whose values are kept together in folds, if the user names one."""
        return self.split.removeprefix(BY) if self.split is not None and self.split.startswith(BY) else None

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


OPTIONS = tuple(Option(item.name, default=item.default, **item.metadata) for item in fields(ReadingSettings))


def settings(options: Mapping[str, str], measure: Sequence[str] = (), where: Sequence[str] = ()) -> ReadingSettings:
    """Settings from text options; measures and conditions may be given as lists, too."""
    values = read(OPTIONS, options, "reading")
    values["measure"] = tuple(measure) or values["measure"]
    parts = where or values["where"].split(";")
    values["where"] = tuple(part.strip() for part in parts if part.strip())
    chosen = ReadingSettings(**values)
    if chosen.split not in (None, *SPLITS) and chosen.split_by is None:
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
