"""The run service: every evaluation, from the command line, from Python or from the site, goes through `execute`."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from wug import options, registry
from wug.errors import InputError, ModelError, UnknownName, nearest
from wug.evaluation import executors
from wug.evaluation.annotated_suite import AnnotatedSuite, with_metrics
from wug.evaluation.cache import Cache
from wug.evaluation.handle import ModelHandle
from wug.evaluation.model_patterns import Named, expand, is_pattern
from wug.evaluation.opening import builtin_model_for, model_spec, open_suites
from wug.evaluation.recorder import Recorder
from wug.evaluation.request import Listener, ModelTask, Plan, RunReport, RunRequest
from wug.models import ModelSpec
from wug.results.store import Store
from wug.types import PROPORTION_METHODS, ScoringProtocol, Suite, phenomenon_of

PROTOCOLS: Mapping[str, ScoringProtocol] = {
    "wug": ScoringProtocol("wug's own rules, also for files that declare another protocol"),
    "lm-eval": ScoringProtocol(
        "lm-evaluation-harness 0.4: a space before each option, BOS for an empty context, ties won by the first",
        suite_options={"ties": "first", "join": "always", "leading_space": "yes", "tokens": "rest"},
        model_options={"bos": "lm-eval"},
        signature_fields={"protocol": "lm-eval-0.4"},
    ),
    "minicons": ScoringProtocol(
        "sequence_score of minicons by default: mean log-probability per token, special tokens of the tokenizer",
        suite_options={"ties": "error", "normalise": "token"},
        model_options={"bos": "tokenizer", "pll": "original"},
        signature_fields={"protocol": "minicons-0.3"},
    ),
}
"""The conventions by which another program or community computes a number, as bundles of options."""

log = logging.getLogger("wug")


def execute(request: RunRequest, listen: Listener | None = None) -> RunReport:
    """Evaluate the models of a request on its suites.

    A model that fails is in the report, and the others continue; the error of a single model is raised.

    Args:
        request: What to evaluate, and where results go.
        listen: Called with a `RunEvent` as the work proceeds.

    Returns:
        The results by model, and the models that failed.

    Raises:
        WugError: If a name, file or option is wrong, before any model is loaded, or if the only model fails.
    """
    return execute_plan(resolve(request), request, listen)


def execute_plan(plan: Plan, request: RunRequest, listen: Listener | None = None) -> RunReport:
    """Evaluate a resolved request."""
    with opened_store(request.store) as store, opened_cache(request.cache) as cache:
        recorder = Recorder(plan, store, cache, listen)
        executors.choose(request.executor, request.workers, plan).run(recorder)
        return recorder.finish()


def resolve(request: RunRequest) -> Plan:
    """Find the suites and models of a request; errors in names and options are raised here."""
    for name, number in (("limit", request.limit), ("workers", request.workers)):
        if number is not None and number < 1:
            raise InputError(f"{name}={number}: write a whole number, 1 or more")
    if request.interval not in PROPORTION_METHODS:
        raise UnknownName("interval method", str(request.interval), PROPORTION_METHODS)
    request, suites = following_protocol(request)
    suites = with_metrics(suites, request.metrics)
    if request.models is None:
        return _plan_for_builtin_models(request, suites)
    names_by_argument = [_names(model) for model in request.models]
    models = [model for group in names_by_argument for model in group]
    specs = [_spec(target.text, request) if isinstance(target, Named) else target for target in models]
    written = [str(model) for model in request.models if isinstance(model, (str, Path))]
    pattern = any(map(is_pattern, written))
    if pattern and len(written) < len(request.models):
        raise InputError("patterns cannot be mixed with model objects in one list: evaluate these separately")
    return Plan(
        tasks=tuple(ModelTask(model, tuple(suites)) for model in specs),
        command=request.command,
        interval=request.interval,
        sweep=request.sweep or (" ".join(written) if pattern else None),
        scope=tuple(written),
        commits={
            (spec.name, spec.revision or ""): target.commit
            for target, spec in zip(models, specs, strict=True)
            if isinstance(target, Named) and isinstance(spec, ModelSpec) and target.commit is not None
        },
        origin=request.origin,
    )


def resolve_suites(request: RunRequest) -> list[Suite]:
    """The suites of a request, in order, each once, sampled to its limit."""
    by_content: dict[tuple[object, ...], Suite] = {}
    for is_name, arguments in groupby(request.suites, key=lambda argument: isinstance(argument, (str, Path))):
        group = list(arguments)
        opened = _opened(list(map(str, group)), request) if is_name else group
        for suite in opened:
            if not isinstance(suite, Suite):
                lacks = [name for name in vars(Suite) if name[0] != "_" and not hasattr(suite, name)]
                why = f": it has no {lacks[0]}" if hasattr(suite, "run") and lacks else ""
                fix = "Pass a name, a path, or wug.read_suite(…), which takes dictionaries and data frames"
                raise InputError(f"{type(suite).__name__} is not a suite{why}. {fix}")
            if not is_name and (request.suite_options or request.family is not None):
                what = f"options ({', '.join(request.suite_options)})" if request.suite_options else "kind"
                raise InputError(f"{suite.name} is already open: give its {what} when you open it")
            key = (suite.name, suite.checksum, *sorted(suite.options.items()))
            if by_content.setdefault(key, suite) is not suite:
                log.warning("%s is listed twice with the same content; it is evaluated once", suite.name)
    if not by_content:
        raise InputError("there is no suite: pass a name, a path, or a list of them")
    chosen = tagged(by_content.values(), request.tags) if request.tags else list(by_content.values())
    return [suite if request.limit is None else suite.sample(request.limit) for suite in chosen]


def _opened(texts: list[str], request: RunRequest) -> list[Suite]:
    defaults = {} if request.protocol is None else protocol(request.protocol).suite_options
    return open_suites(texts, request.suite_options, request.family, defaults)


def tags_of(suite: Suite) -> list[str]:
    """The tags in a suite's file, then its phenomenon: `agreement`, `long-distance-dependencies`."""
    phenomenon = phenomenon_of(suite.meta).lower().replace(" ", "-")
    tags = list(suite.meta.get("tags") or ())
    return tags if _spelt([phenomenon]) <= {"", *_spelt(tags)} else [*tags, phenomenon]


def tagged(suites: Iterable[Suite], wanted: Iterable[str]) -> list[Suite]:
    """The suites with one of the wanted tags; InputError with all tags if there is none.

    Capitals, spaces and hyphens do not matter.
    """
    every, tags = list(suites), list(wanted)
    chosen = [suite for suite in every if _spelt(tags_of(suite)) & _spelt(tags)]
    if not chosen:
        known = sorted({tag for suite in every for tag in tags_of(suite)})
        near = nearest(tags[0], known)
        meant = f" Did you mean {near!r}?" if near else ""
        raise InputError(f"no suite has the tag {' or '.join(tags)}.{meant} Tags: {', '.join(known) or 'none'}")
    return chosen


def _spelt(tags: Iterable[str]) -> set[str]:
    """Tags without capitals, spaces and hyphens."""
    return {"".join(filter(str.isalnum, tag.lower())) for tag in tags}


def opened_store(path: Path | None) -> AbstractContextManager[Store | None]:
    """The store of a path, closed at the end; None without a path."""
    return nullcontext() if path is None else closing(Store(path))


def opened_cache(path: Path | None) -> AbstractContextManager[Cache | None]:
    """The output cache of a path, closed at the end; None without a path."""
    return nullcontext() if path is None else closing(Cache(path))


def _plan_for_builtin_models(request: RunRequest, suites: Sequence[Suite]) -> Plan:
    """The built-in model that fits each suite."""
    fitting: dict[str, list[Suite]] = {}
    for suite in suites:
        fitting.setdefault(builtin_model_for(suite), []).append(suite)
    tasks = tuple(ModelTask(_spec(name, request), tuple(own)) for name, own in fitting.items())
    return Plan(tasks, request.command, request.interval, request.sweep, tuple(fitting), origin=request.origin)


def _names(model: str | Path | ModelSpec | ModelHandle) -> Sequence[Named | ModelSpec | ModelHandle]:
    return expand([str(model)]) if isinstance(model, (str, Path)) else [model]


def _spec(name: str, request: RunRequest) -> ModelSpec:
    """A model with the options of its name and of the request; unknown ones are refused."""
    spec = model_spec(name)
    declared = registry.backend(spec.kind).OPTIONS
    known_options = options.names(declared)
    shared = {key: value for key, value in request.shared_model_options.items() if key in known_options}
    configured = replace(spec, options={**spec.options, **shared, **request.model_options})
    configured.read(declared)
    if request.protocol is not None:
        require_fit(protocol(request.protocol), request.protocol, spec, known_options)
    return configured


def following_protocol(request: RunRequest) -> tuple[RunRequest, list[Suite]]:
    """The request with the options of its protocol, or of the protocol that its suites declare, and its suites."""
    with_options = None if request.protocol is None else with_protocol(request)
    suites = resolve_suites(with_options or request)
    if with_options is None:
        declared = {getattr(suite, "protocol", None) for suite in suites}
        if declared == {None}:
            return request, suites
        if len(declared) > 1:
            raise InputError("suites that follow different protocols: run them separately, or name one with --protocol")
        log.info("scored by the protocol %s, as the suites declare; --protocol wug uses wug's rules", *declared)
        with_options = with_protocol(replace(request, protocol=declared.pop()))
        suites = resolve_suites(with_options)
    assert with_options.protocol is not None
    if signature_fields := protocol(with_options.protocol).signature_fields:
        suites = [AnnotatedSuite(suite, signature_fields=signature_fields) for suite in suites]
    return with_options, suites


def protocols() -> dict[str, ScoringProtocol]:
    """All protocols by name, including those of families."""
    known = dict(PROTOCOLS)
    for family in registry.families():
        known.update(family.TRAITS.protocols)
    return known


def protocol(name: str) -> ScoringProtocol:
    """The protocol with this name; UnknownName with the nearest one."""
    known = protocols()
    if name not in known:
        raise UnknownName("protocol", name, known)
    return known[name]


def with_protocol(request: RunRequest) -> RunRequest:
    """The request with the model options and the family of its protocol; options of the user take precedence."""
    assert request.protocol is not None
    chosen = protocol(request.protocol)
    families = registry.families()
    reader = next((family.name for family in families if request.protocol in family.TRAITS.protocols), None)
    if reader is not None and request.family not in (None, reader):
        raise InputError(f"the protocol {request.protocol} reads files as {reader}: leave out --kind {request.family}")
    return replace(
        request,
        shared_model_options={**chosen.model_options, **request.shared_model_options},
        family=reader or request.family,
    )


def require_fit(chosen: ScoringProtocol, name: str, spec: ModelSpec, known: Collection[str]) -> None:
    """ModelError for a backend that has none of the model options of the protocol."""
    if chosen.model_options and not chosen.model_options.keys() & set(known):
        options = ", ".join(chosen.model_options)
        raise ModelError(f"{spec}: the protocol {name} is for models with the option {options}, and this has none")
