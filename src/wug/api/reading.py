"""`wug.reading`: reading times predicted from columns, tables of surprisals and models, on the same rows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from wug.api.models import AnyModel, Setting, as_text, models_of
from wug.api.results import Results
from wug.arguments import members, public, public_with
from wug.errors import InputError, UnknownName
from wug.evaluation.cache import Cache
from wug.evaluation.cached_model import CachedModel
from wug.evaluation.evaluate import build_result, build_signature
from wug.evaluation.handle import ModelHandle
from wug.evaluation.service import opened_cache
from wug.families.reading import milliseconds, suite_of, view
from wug.families.reading.analysis import MeasureFit, analyse, lag_effects
from wug.families.reading.design import PredictorSet
from wug.families.reading.rscript import write_r
from wug.families.reading.settings import KEYS, OPTIONS, ReadingSettings, refuse_unknown_use, settings
from wug.families.reading.suite import FitOutcomes, ReadingSuite, dropped_text, result_rows
from wug.families.reading.surprisals import predict, read_surprisals
from wug.families.reading.terms import parse, written
from wug.files import user_path
from wug.formatting import number
from wug.identity import Group
from wug.labels import short_names
from wug.outcomes import Estimate, Result
from wug.results.queries import rows_of
from wug.tables import Table, Tabulated

if TYPE_CHECKING:
    import altair

log = logging.getLogger("wug")
PlotKind: TypeAlias = Literal["delta_ll", "slopes", "lags", "calibration", "perplexity"]
FLAGS = {
    f"--{option.name.replace('_', '-')}": f"{option.name}={'True' if option.type is bool else '…'}"
    for option in OPTIONS
} | {"--surprisals": "surprisals=…", "--allow-mismatch": "allow_mismatch=True"}
"""Flags of `wug reading` as Python writes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingRequest:
    """One analysis: which table, which predictors, and how."""

    table: object
    """A path, a `wug.Table` or a data frame."""
    settings: ReadingSettings
    predictors: Sequence[str] = ()
    """Terms of target models, as `TERMS` or `NAME=TERMS`."""
    models: Sequence[ModelHandle] = ()
    uses: Sequence[str] = ("surprisal",)
    """Columns of each model that make up its target models."""
    surprisals: str | Path | Table | None = None
    allow_mismatch: bool = False
    cache: Cache | None = None
    progress: Callable[[int, int], None] | None = None


@members(public)
class Reading(Tabulated):
    """Reading times and their target models: estimates, words, coefficients, figures.

    Examples:
        >>> reading = wug.reading("times.csv", "rt", "length", "bits")
        >>> figure = reading.plot("delta_ll")
    """

    __slots__ = ("_fits", "_sets", "_suite", "results")

    def __init__(
        self,
        suite: ReadingSuite,
        sets: Sequence[PredictorSet],
        fits: Sequence[Sequence[MeasureFit]],
        results: Sequence[Result],
    ) -> None:
        self._suite, self._sets, self._fits = suite, sets, fits
        self.results = Results(results)
        """One result per predictor set, as in the run store."""

    def __repr__(self) -> str:
        rows = list(self.summary(short_names(result.model for result in self.results)))[1:]
        text = "; ".join(
            f"{measure} by {predictors}: ΔLL {delta} {interval}, p {p}, n {n}"
            for measure, predictors, delta, interval, p, n, *_ in rows
        )
        return f"<Reading of {self._suite.name} · {text}>"

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def _repr_html_(self) -> str:
        return self.results._repr_html_()

    @property
    def estimates(self) -> Table:
        """One row per estimate, with `p` for `delta_ll`."""
        rows = []
        for result, target in zip(self.results, self._sets, strict=True):
            p = {e.group: e.value for e in result.estimates if e.metric == "p"}
            for e in result.estimates:
                if e.metric != "p":
                    keys = (result.suite, Group.parse(e.group).value or None, written(target.terms), result.model)
                    p_value = p.get(e.group) if e.metric == "delta_ll" else None
                    rows.append((*keys, e.metric, e.group, e.value, e.n, e.low, e.high, e.method, p_value))
        return _table("suite measure predictors model metric group value n low high method p", rows)

    def _as_table(self) -> Table:
        return self.estimates

    @property
    def words(self) -> Table:
        """One row per word, measure and predictor set: keys, y, fold, log-likelihoods in nats."""
        settings, table = self._suite.prepared.settings, self._suite.prepared.table
        keys = [column for name in KEYS if (column := getattr(settings, name)) is not None]
        rows = []
        for target, fit in self._target_fits():
            arrays = (fit.rows, fit.y, fit.folds + 1, fit.baseline.loglik, fit.target.loglik, fit.delta)
            for row, *values in zip(*(array.tolist() for array in arrays), strict=True):
                key_values = (table.columns[name][row] for name in keys)
                rows.append((row + 1, *key_values, fit.measure, target.label, *values))
        return _table(["row", *keys, *"measure model y fold ll_baseline ll_target delta_ll".split()], rows)

    @property
    def coefficients(self) -> Table:
        """One row per term of each target model and each baseline, fitted on all rows."""
        rows = []
        for target, fit in self._target_fits():
            models = (("baseline", fit.controls, fit.baseline), ("target", fit.terms, fit.target))
            for regression, terms, model in models:
                for index, name in enumerate(["(Intercept)", *map(str, terms)]):
                    rows.append((fit.measure, target.label, regression, name, *model.coefficients.test(index)))
        return _table("measure model regression term estimate se t p low high", rows)

    @property
    def lags(self) -> Table:
        """One row per predictor and word from t+2 to t-3, each alone with the baseline."""
        rows = []
        for target, fit in self._target_fits():
            for lag in fit.lags or lag_effects(self._suite.prepared, target, fit.measure):
                slope, keys = lag.slope, (fit.measure, target.label, lag.term, lag.word)
                rows.append((*keys, lag.delta_ll, slope.value, slope.low, slope.high, slope.t, lag.n))
        return _table("measure model term word delta_ll slope low high t n", rows)

    def plot(self, kind: PlotKind = "delta_ll") -> altair.LayerChart:
        """A figure: ΔLL with intervals, slopes or ΔLL by lag, calibration, or ΔLL against perplexity.

        "slopes", "lags" and "calibration" show the first predictor set.
        """
        from wug.views import vega

        if kind not in get_args(PlotKind):
            raise UnknownName("kind of plot", str(kind), get_args(PlotKind))
        result = self.results[0]
        figures = {figure.id: figure for figure in view.slope_figures(result)}
        if kind == "delta_ll":
            figure = view.delta_figure(self.results)
        elif kind == "perplexity":
            figure = view.perplexity_figure(self.results)
        elif kind == "calibration":
            figure = view.calibration_figure(result, rows_of(result), self._suite.prepared.settings.measure[0])
        else:
            figure = (figures.get("lag-delta-ll") if kind == "lags" else None) or figures.get("slopes")
        if figure is None:
            needs = {"lags": "lags=True or spillover", "slopes": "spillover", "perplexity": "two models"}
            raise InputError(f"plot {kind!r} needs {needs.get(kind, 'more rows')}")
        return vega.styled_chart(figure.chart)

    def to_r(self, folder: str | Path) -> list[Path]:
        """Write the data and an R script with `lm`, `lmer` and `gam` for the same rows and folds; their paths."""
        return write_r(user_path(folder), self._suite.prepared, self._sets, self._fits)

    def effects(
        self, surprisals: Table | Results | Result, conditions: Sequence[str], region: int, human: Table | None = None
    ) -> Table:
        """Predict the effect of one condition against another at a region, in the unit of the measure.

        Args:
            surprisals: Results on a SyntaxGym suite, or a table with the columns item, condition, region and
                surprisal (bits).
            conditions: Two conditions: the effect is that of the first against the second.
            region: The number of the region.
            human: Reading times of people for the same items: item, condition, region and rt.

        Returns:
            One row per measure and predictor set, and one for people: effect, 95% interval, number of items.
        """
        if len(conditions) != 2:
            raise InputError(f"conditions={conditions!r}: write two names")
        pair = (str(conditions[0]), str(conditions[1]))
        regions = milliseconds.by_region(_region_rows(surprisals))
        effects = [
            (target.label, fit.measure, milliseconds.predicted_effect(fit, regions, pair, region, str(target.terms[0])))
            for target, fit in self._target_fits()
        ]
        if human is not None:
            columns = (human["item"], human["condition"], human["region"], human["rt"])
            reading_times = [(str(i), str(c), int(r), float(v)) for i, c, r, v in zip(*columns, strict=True)]
            effects.append(("people", "rt", milliseconds.measured_effect(reading_times, pair, region)))
        rows = [(label, name, e.region, e.ms, e.low, e.high, e.items, e.bits) for label, name, e in effects]
        return _table("source measure region effect low high items bits", rows)

    def summary(self, names: Mapping[str, str]) -> Iterator[Sequence[str]]:
        """The cells of a table for a terminal; `names` are short names of the models."""
        yield "measure", "predictors", "ΔLL", "95% interval", "p", "n", "partial R²", "slope at t, t-1, …"
        for result, fits in zip(self.results, self._fits, strict=True):
            for fit in fits:
                by_metric, cells = view.delta_cells(result, fit.measure)
                yield (fit.measure, names[result.model], *cells, f"{fit.partial_r2:.2f}%", _slopes(fit, by_metric))

    def lag_summary(self, names: Mapping[str, str]) -> Iterator[Sequence[str]]:
        """The cells of a table of each word alone; none if that was not fitted."""
        if any(fit.lags for _, fit in self._target_fits()):
            yield "measure", "predictors", "term", "word alone", "ΔLL", "slope", "t", "n"
        for target, fit in self._target_fits():
            for lag in fit.lags:
                yield (
                    *(fit.measure, names[target.label], lag.term, lag.word),
                    *(number(lag.delta_ll), number(lag.slope.value), f"{lag.slope.t:.1f}", f"{lag.n:,}"),
                )

    def _target_fits(self) -> Iterator[tuple[PredictorSet, MeasureFit]]:
        return ((target, fit) for target, fits in zip(self._sets, self._fits, strict=True) for fit in fits)


@public_with(FLAGS)
def reading(
    table: object,
    measure: str | Sequence[str],
    baseline: str = "length + log_frequency",
    predictors: str | Sequence[str] | Mapping[str, str] = (),
    models: AnyModel | Iterable[AnyModel] | None = None,
    *,
    surprisals: str | Path | Table | None = None,
    cache: str | Path | None = None,
    **options: Setting,
) -> Reading:
    """Test how well predictors such as surprisal predict reading times.

    Args:
        table: A path (CSV, TSV, JSON Lines, Parquet), a `wug.Table` or a data frame, with one row per word or per
            participant and word.
        measure: The column with the times, or several.
        baseline: The terms of the baseline: `a + b`, `a:b`, `a*b`, `a@1` for the previous word.
        predictors: Terms that target models add: one formula, several, or a dictionary of names and formulas.
        models: Models that give the words' surprisal; they need the options word, text and position.
        surprisals: A table of surprisals, joined by text and position.
        cache: A file that keeps model outputs.
        **options: Options of `wug reading` with underscores, such as word, text, position, spillover, where, split,
            folds, sigma, use, lags. Pass a list if the command line repeats an option.

    Returns:
        Estimates, words, coefficients and figures. Warnings go to the logger `wug`.

    Raises:
        WugError: If a column, a key, a value or a fit cannot be used.

    Examples:
        >>> columns = {"word": "word", "text": "story", "position": "word_n"}
        >>> reading = wug.reading("times.csv", "rt", "length", models="wug-causal", **columns)
        >>> frame = reading.to_pandas()
    """
    formulas = [f"{k}={v}" for k, v in predictors.items()] if isinstance(predictors, Mapping) else _as_tuple(predictors)
    uses, conditions = _as_tuple(options.pop("use", None)), _as_tuple(options.pop("where", None))
    allow_mismatch = bool(options.pop("allow_mismatch", False))
    reading_settings = settings({**as_text(options), "baseline": baseline}, _as_tuple(measure), conditions)
    with opened_cache(None if cache is None else user_path(cache)) as outputs:
        result = run_reading(
            ReadingRequest(
                table=table,
                settings=reading_settings,
                predictors=formulas,
                models=[] if models is None else [model.opened for model in models_of(models)],
                uses=uses or ("surprisal",),
                surprisals=surprisals,
                allow_mismatch=allow_mismatch,
                cache=outputs,
            )
        )
    for text in dict.fromkeys(text for part in result.results for text in part.warnings):
        log.warning("%s", text)
    return result


def _slopes(fit: MeasureFit, estimates: Mapping[str, Estimate]) -> str:
    """The slopes of the predictors from the word itself back; with the name of each if there are several."""
    slopes: dict[str, list[str]] = {}
    for term in fit.predictors:
        name = str(term.at(-term.factors[0].lag))
        slopes.setdefault(name, []).append(number(estimates[f"slope:{term}"].value))
    if len(slopes) == 1:
        return ", ".join(*slopes.values())
    return "; ".join(f"{name} {', '.join(values)}" for name, values in slopes.items())


def _as_tuple(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, Iterable) else ()


def run_reading(request: ReadingRequest) -> Reading:
    """Analyse a table."""
    source = request.table
    path = user_path(source) if isinstance(source, (str, Path)) else None
    for use in request.uses:
        refuse_unknown_use(use)
    suite = suite_of(path or source, request.settings)
    sets = [*_column_sets(request.predictors), *_file_sets(suite, request), *_model_sets(suite, request)]
    fits = analyse(suite.prepared, sets)
    results = [_result(suite, target, target_fits) for target, target_fits in zip(sets, fits, strict=True)]
    return Reading(suite, sets, fits, results)


def _column_sets(predictors: Iterable[str]) -> Iterator[PredictorSet]:
    for text in predictors:
        label, equals, terms = text.partition("=")
        yield PredictorSet(label.strip(), parse(terms if equals else text))


def _file_sets(suite: ReadingSuite, request: ReadingRequest) -> Iterator[PredictorSet]:
    for use in request.uses if request.surprisals is not None else ():
        allow = request.allow_mismatch
        for target in read_surprisals(suite.prepared, request.surprisals, use, allow_mismatch=allow):
            yield replace(target, label=_label(target.label, use, request))


def _model_sets(suite: ReadingSuite, request: ReadingRequest) -> Iterator[PredictorSet]:
    for handle in request.models:
        for use in request.uses:
            model = CachedModel(handle, request.cache, request.progress)
            target = predict(suite.prepared, model, use)
            warnings = (*target.warnings, *(notice.text for notice in model.pop_warnings()))
            yield replace(target, label=_label(target.label, use, request), warnings=warnings)


def _label(label: str, use: str, request: ReadingRequest) -> str:
    return f"{label}?use={use}" if len(request.uses) > 1 else label


def _result(suite: ReadingSuite, target: PredictorSet, fits: Sequence[MeasureFit]) -> Result:
    row_counts = ",".join(str(len(fit.rows)) for fit in fits)
    dropped_rows = "; ".join(filter(None, (dropped_text(suite.prepared, fit) for fit in fits)))
    options = {
        **suite.options,
        "predictors": written(target.terms),
        "rows": f"{row_counts} of {len(suite.prepared.table)}",
        "dropped": dropped_rows.replace("|", "¦") or "none",
    }
    signature = build_signature(suite.name, suite.checksum, options, target.label, target.options)
    rows = result_rows(suite.prepared, target, fits)
    result = build_result(suite, target.label, signature, rows, keep=lambda _: None)
    return replace(result, outcomes=FitOutcomes(suite.prepared, fits))


def _region_rows(source: Table | Results | Result) -> Iterator[tuple[Any, Any, Any, Any]]:
    if isinstance(source, Table):
        yield from zip(*(source[name] for name in ("item", "condition", "region", "surprisal")), strict=True)
        return
    for result in [source] if isinstance(source, Result) else source:
        for outcome in result.outcomes:
            for condition, sentence in outcome.detail.get("conditions", {}).items():
                for region in sentence["regions"]:
                    yield outcome.item, condition, region["number"], region["value"]


def _table(names: str | Sequence[str], rows: Sequence[Sequence[Any]]) -> Table:
    return Table.of_tuples(names.split() if isinstance(names, str) else names, rows)
