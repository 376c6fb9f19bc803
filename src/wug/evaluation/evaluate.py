"""Evaluating suites on one model: collect requests, compute outputs, judge, summarise, sign."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from wug import __version__, registry, stats
from wug.errors import ModelError, WugError
from wug.evaluation.cached_model import CachedModel, Requests
from wug.evaluation.handle import ModelHandle
from wug.files import checksum as digest
from wug.identity import OVERALL, ModelId
from wug.interfaces import AdaptableSuite, Suite
from wug.outcomes import Estimate, Metric, Notice, Outcome, Result, Signature, Status, SuiteOutput
from wug.requests import LN2, Generator, Request, Scorer, Source, text_of
from wug.results.store import run_key
from wug.scores import PlainRequests

RequestMemo = dict[int, Requests]
"""The requests of suites by the suite's identity, made once for many models."""


class SuiteTask(NamedTuple):
    """A suite, the requests known before the run, and the signature of its result."""

    suite: Suite
    requests: Requests
    signature: Signature


def prepare(suites: Sequence[Suite], model: CachedModel, memo: RequestMemo | None = None) -> list[SuiteTask]:
    """The tasks of a run; counts their requests, and loads the model unless all outputs are cached."""
    tasks = _tasks(suites, model, memo)
    model.prepare(_joined(tasks))
    return tasks


def evaluate(suites: Sequence[Suite], model: CachedModel) -> Iterator[Result]:
    """One result per suite."""
    yield from evaluate_tasks(prepare(suites, model), model)


def evaluate_tasks(
    tasks: Sequence[SuiteTask],
    model: CachedModel,
    interval: stats.Method = "wilson",
    keep: Callable[[Outcome], None] | None = None,
) -> Iterator[Result]:
    """One result per prepared suite; requests of several suites are computed together.

    Outcomes are passed to `keep`, or are in the result without it.
    """
    for group in [[task] for task in tasks] if model.ordered else _groups(tasks, model.group):
        if not model.ordered:
            model.prefetch(_joined(group))
        for task in group:
            yield _judge(task, model, interval, keep)


def run_key_for(
    suites: Sequence[Suite], handle: ModelHandle, interval: stats.Method, memo: RequestMemo | None = None
) -> str:
    """The key that identifies a run of a model: equal for commands that would compute the same."""
    return run_key_for_tasks(_tasks(suites, CachedModel(handle), memo), handle, interval)


def run_key_for_tasks(tasks: Sequence[SuiteTask], handle: ModelHandle, interval: stats.Method) -> str:
    """The key of the run of these tasks."""
    return run_key([task.signature for task in tasks], {"interval": interval, "given": dict(handle.given)})


def _tasks(suites: Sequence[Suite], model: CachedModel, memo: RequestMemo | None) -> list[SuiteTask]:
    """The requests of each suite; a model that cannot serve a suite is refused."""
    memo = {} if memo is None else memo
    tasks = []
    for original in suites:
        suite = original.for_model(model) if isinstance(original, AdaptableSuite) else original
        if suite.needs != model.returns:
            traits = registry.traits(ModelId.parse(model.id).backend)
            fix = traits.to_score if suite.needs == "scores" else traits.to_generate
            raise ModelError(
                f"suite {suite.name} needs a model that can {_VERB[suite.needs]} text, and {model.id} can only "
                f"{_VERB[model.returns]} it{f'. {fix}' if fix else ''}"
            )
        if suite is not original:
            requests = suite.requests()
        else:
            if id(suite) not in memo:
                memo[id(suite)] = suite.requests()
            requests = memo[id(suite)]
        tasks.append(SuiteTask(suite, requests, signature(suite, model, requests)))
    return tasks


def _joined(tasks: Sequence[SuiteTask]) -> Any:
    """The requests of several suites as one sequence; those of a single suite unchanged."""
    requests = [task.requests for task in tasks]
    if len(requests) == 1:
        return requests[0]
    plain = [suite_requests for suite_requests in requests if isinstance(suite_requests, PlainRequests)]
    if len(plain) == len(requests):
        return PlainRequests(chain.from_iterable(suite_requests.texts for suite_requests in plain))
    return list(chain.from_iterable(requests))


def _groups(tasks: Sequence[SuiteTask], size: int) -> Iterator[list[SuiteTask]]:
    """Neighbouring tasks with `size` requests together, so that results appear during a long run."""
    group: list[SuiteTask] = []
    for task in tasks:
        group.append(task)
        if sum(len(member.requests) for member in group) >= size:
            yield group
            group = []
    if group:
        yield group


def _judge(
    task: SuiteTask, model: CachedModel, interval: stats.Method, keep: Callable[[Outcome], None] | None
) -> Result:
    """The result of one suite; an error in it makes a failed result and does not end the run."""
    status: Status = "complete"
    failure = ""

    def rows() -> Iterator[SuiteOutput]:
        nonlocal status, failure
        model.pop_warnings()  # drop those of an earlier suite that failed
        judged, noise = task.suite.run(model), model.noise
        try:
            yield from (
                judged if noise is None else _counting_near_ties(judged, task.suite.metrics, noise, model.options)
            )
        except WugError as error:
            if model.handle.failed:  # every other suite would fail too
                raise
            status, failure = "failed", str(error)
            yield Notice(f"failed: {failure}")
        yield from model.pop_warnings()

    result = build_result(task.suite, model.id, task.signature, rows(), interval, keep)
    return replace(result, status=status, failure=failure)


def _counting_near_ties(
    rows: Iterable[SuiteOutput], metrics: Sequence[Metric], noise: float, options: Mapping[str, str]
) -> Iterator[SuiteOutput]:
    """The rows, and a warning with the number of judgements whose margin is within the rounding noise.

    The margin is the difference of two scores, each with this noise; two standard deviations count as within.
    """
    margins = {
        metric.derived.metric: metric.derived
        for metric in metrics
        if metric.derived is not None and metric.unit == "bits" and not metric.derived.standardised
    }
    limit = 2 * math.sqrt(2) * noise / LN2
    judged = near = 0
    for row in rows:
        yield row
        if isinstance(row, Outcome) and row.metric in margins and isinstance(row.value, bool):
            judged += 1
            near += abs(margins[row.metric].value(row.detail)) <= limit
    if near:
        yield Notice(
            f"{near:,} of {judged:,} judgements are within the rounding noise of {options.get('dtype')}: the score of "
            f"a sentence in another batch differs by {noise / LN2:.2g} bits (root mean square), and their margins are "
            f"at most {limit:.2g}. Use -M dtype=float32 to decide them"
        )


def build_result(
    suite: Suite,
    model: str,
    signature: Signature | str,
    rows: Iterable[SuiteOutput],
    method: stats.Method = "wilson",
    keep: Callable[[Outcome], None] | None = None,
) -> Result:
    """Build a result from a suite's rows; outcomes are passed to `keep`, or kept in the result without it."""
    metrics = tuple(suite.metrics)
    outcomes: list[Outcome] = []
    receive = keep or outcomes.append
    accumulator = stats.EstimateAccumulator(metrics)
    corpus_estimates: list[Estimate] = []
    notices: Counter[str] = Counter()
    measurable = True
    for row in rows:
        match row:
            case Outcome():
                receive(row)
                accumulator.add(row)
            case Estimate():
                corpus_estimates.append(row)
            case Notice():
                notices[row.text] += 1
                measurable = measurable and row.measurable
    means = _ordered(_without_pooled(accumulator.estimates(method), metrics), corpus_estimates)
    recomputed = (stats.with_interval_method(estimate, method) for estimate in corpus_estimates)
    units = {metric.name: metric.unit for metric in metrics}
    return Result(
        suite=suite.name,
        kind=suite.kind,
        model=model,
        status="complete",
        signature=Signature.read(signature) if isinstance(signature, str) else signature,
        n=len(suite) if corpus_estimates and not accumulator else accumulator.items,
        estimates=tuple(stats.clip_to_unit(one, units.get(one.metric)) for one in (*means, *recomputed)),
        warnings=tuple(text if times == 1 else f"{text} ({times} times)" for text, times in notices.items()),
        outcomes=tuple(outcomes),
        meta=dict(suite.meta),
        metrics=metrics,
        measurable=measurable,
    )


def _without_pooled(estimates: Sequence[Estimate], metrics: Iterable[Metric]) -> list[Estimate]:
    """The estimates without the mean over groups that are different quantities (`Metric.split_by`)."""
    fields = {metric.name: f"{metric.split_by}=" for metric in metrics if metric.split_by}
    groups = Counter(
        estimate.metric for estimate in estimates if estimate.group.startswith(fields.get(estimate.metric, " "))
    )
    return [estimate for estimate in estimates if estimate.group != OVERALL or groups[estimate.metric] < 2]


def _ordered(estimates: Sequence[Estimate], first: Sequence[Estimate]) -> list[Estimate]:
    """The estimates by metric, with groups in the order of the suite's own estimates."""
    metrics = list(dict.fromkeys(estimate.metric for estimate in estimates))
    groups = list(dict.fromkeys([OVERALL, *(estimate.group for estimate in first)]))
    rank = {group: position for position, group in enumerate(groups)}
    return sorted(estimates, key=lambda estimate: (metrics.index(estimate.metric), rank.get(estimate.group, len(rank))))


def signature(
    suite: Suite, model: Scorer | Generator, requests: Sequence[Request] | Sequence[str | Source] | None = None
) -> Signature:
    """The signature of a suite's result for a model; `requests` are those of the suite, if already known."""
    options = dict(model.options)
    if getattr(model, "ordered", False):
        # The checksum of a suite does not depend on the order of its items, but these outputs do.
        sent = suite.requests() if requests is None else requests
        options["read"] = digest(*map(_content, sent))
    return build_signature(suite.name, suite.checksum, suite.options, model.id, options)


def build_signature(
    suite: str, checksum: str, suite_options: Mapping[str, str], model: str, model_options: Mapping[str, str]
) -> Signature:
    """Build a signature with unique fields; the dtype follows the model.

    A model option with the name of another field becomes `model_NAME`.
    """
    options = dict(model_options)
    dtype = options.pop("dtype", None)
    first = [
        ("wug", __version__),
        ("suite", f"{suite}@{checksum}"),
        ("model", f"{model},{dtype}" if dtype else model),
    ]
    taken = {*dict(first), *suite_options}
    named = ((f"model_{key}" if key in taken else key, value) for key, value in sorted(options.items()))
    return Signature((*first, *named, *suite_options.items()))


def _content(request: Request | Source | str) -> str:
    """Everything in a request that can change the output of a model that carries a state."""
    if not isinstance(request, Request):
        return text_of(request)
    at = request.position
    position = "" if at is None else f"{at.number}\0{at.line}\0{at.before}"
    return f"{request.text}\0{request.span}\0{position}"


_VERB = {"scores": "score", "text": "generate"}
