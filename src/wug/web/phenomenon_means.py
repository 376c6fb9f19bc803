"""Models ranked on a phenomenon: the mean over families of the suites that test it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from wug.formatting import FormattedEstimate, format_estimate, interval_text, percent, plural
from wug.results.records import Summary
from wug.results.sweep_curves import result_of
from wug.stats import mean_of_intervals
from wug.web.result_view import summary_headline
from wug.web.site import build_url

ScoreInterval = tuple[float, float, float]
"""A value with the ends of its interval."""


class PhenomenonMean(NamedTuple):
    """The mean of a model's scores on a phenomenon: over the suites of a family, then over families."""

    value: float
    low: float
    high: float
    families: int
    suites: int

    @property
    def text(self) -> str:
        """Such as `84.7%`."""
        return percent(self.value)

    @property
    def interval(self) -> str:
        """Such as `[79.1, 89.0]`."""
        return interval_text(self.low, self.high, None, share=True)

    @property
    def scope(self) -> str:
        """Such as `2 families, 5 suites`."""
        return f"{plural(self.families, 'family', 'families')}, {plural(self.suites, 'suite')}"


def phenomenon_headline(summary: Summary, phenomenon: str) -> FormattedEstimate | None:
    """The headline of a result, or its part on a phenomenon."""
    part = summary.phenomena.get(phenomenon) if phenomenon else None
    return summary_headline(summary) if part is None else format_estimate(result_of(summary), part)


def phenomenon_mean(results: Iterable[Summary], phenomenon: str) -> PhenomenonMean | None:
    """The mean of results on different suites; None if none has an interval on the phenomenon."""
    families: dict[str, list[ScoreInterval]] = {}
    for summary in results:
        estimate = summary.phenomena.get(phenomenon)
        if summary.status == "complete" and estimate and estimate.low is not None and estimate.high is not None:
            families.setdefault(summary.kind, []).append((estimate.value, estimate.low, estimate.high))
    if not families:
        return None
    mean = mean_of_intervals([mean_of_intervals(scores) for scores in families.values()])
    return PhenomenonMean(*mean, len(families), sum(map(len, families.values())))


def ranking_key(mean: PhenomenonMean | None, most_suites: int) -> tuple[bool, float]:
    """Sorts models that have all suites of a phenomenon first, the best first."""
    return (mean is None or mean.suites < most_suites, -mean.value if mean else 0.0)


class Ranking(NamedTuple):
    """Which model is best on a phenomenon."""

    phenomenon: str
    sentence: str
    compare_url: str
    """The comparison of the two best models on the suites of the phenomenon; empty for a single model."""


def ranking_of(
    phenomenon: str, means: Mapping[str, PhenomenonMean], names: Mapping[str, str], suites: Sequence[str]
) -> Ranking | None:
    """The best of the models that have all suites of a phenomenon; None without models."""
    suite_count = max((mean.suites for mean in means.values()), default=0)
    complete_models = sorted(
        (key for key, mean in means.items() if mean.suites == suite_count), key=lambda key: -means[key].value
    )
    if not complete_models:
        return None
    best = means[complete_models[0]]
    with_suites = f"with {'all' if suite_count >= len(suites) else f'{suite_count} of'} {plural(len(suites), 'suite')}"
    value = f"{best.text} {best.interval} over {plural(best.families, 'family', 'families')}."
    if len(complete_models) == 1:
        sentence = f"{names[complete_models[0]]} is the only model {with_suites}: {value}"
    else:
        runner_up, scope = means[complete_models[1]], f"of {len(complete_models)} models {with_suites}"
        is_tied = runner_up.text == best.text
        leaders = (
            f"{names[complete_models[0]]} and {names[complete_models[1]]} have"
            if is_tied
            else f"{names[complete_models[0]]} has"
        )
        sentence = f"{leaders} the highest mean {scope}: {value}"
        sentence += (
            "" if is_tied else f" Next is {names[complete_models[1]]} with {runner_up.text} {runner_up.interval}."
        )
    sides = tuple(key if key.startswith("sweep:") else f"model:{key}" for key in complete_models[:2])
    query = {"side": sides, "suite": tuple(suites), "pool": "yes"}
    return Ranking(phenomenon, sentence, build_url("/compare", query) if len(complete_models) > 1 else "")
