"""Conformance tests for plugins: a backend or a family that passes them works everywhere in wug.

Both functions raise an AssertionError that says what is wrong, so they can be called from any test runner.

Example:
    >>> from wug.testing import check_backend, check_family
    >>> check_backend("oracle", "pcfgset", texts=["copy A1 B2"])
"""

from __future__ import annotations

import ast
import io
import json
import math
import pickle
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from inspect import signature
from pathlib import Path
from typing import Any

from wug import registry
from wug.errors import WugError
from wug.evaluation.checking import check_file
from wug.evaluation.handle import ModelHandle
from wug.evaluation.models import identify_model, model_spec, open_model
from wug.evaluation.request import RunRequest
from wug.evaluation.service import execute
from wug.evaluation.suites import builtin_suites, recognised_family
from wug.files import head
from wug.identity import ModelId
from wug.interfaces import Backend, Family, Suite
from wug.outcomes import Metric, Outcome, Result
from wug.requests import LN2, ModelAttributes, Request, Scored, Source, Token, text_of
from wug.results.queries import rows_of
from wug.results.store import Store
from wug.views.family_views import computed_parts, items_of, parts_of

TEXTS = ("The wug sleeps.", "Two wugs sleep, and one sings.", "wug")
UNKNOWN_OPTION = "no_such_option"
MAX_DIFFERENCE_NATS = 1e-4
"""Maximum difference between a text scored alone and in a batch."""


def check_backend(
    backend: str, name: str, options: Mapping[str, str] | None = None, texts: Sequence[str] = TEXTS
) -> None:
    """Check that a backend keeps its promises with one of its models.

    Args:
        backend: The name of the backend.
        name: One of its models, without the backend.
        options: Options of the model, as for `-M`.
        texts: Texts that the model can score, or sources that it can generate from.

    Raises:
        AssertionError: If a promise is broken; the message says which.
    """
    declared = registry.backend(backend)
    _check_interface(declared)
    spec = model_spec(f"{backend}:{name}", options)
    _require(
        spec.name == name or spec.revision, f"{backend}: the name {name!r} was read as {spec.name!r}: verbatim_names?"
    )
    try:
        open_model(replace(spec, options={**spec.options, UNKNOWN_OPTION: "1"}))
    except WugError as error:
        _require(
            UNKNOWN_OPTION in str(error), f"{backend}: the message about an unknown option does not name it: {error}"
        )
    else:
        raise AssertionError(f"{backend}: an option that it does not have ({UNKNOWN_OPTION}) is not refused")
    model = declared.load(spec)
    _require(ModelId.parse(model.id).backend == backend, f"{backend}: the id {model.id!r} must begin with {backend}/")
    _require_texts(model.options, f"{model.id}: options")
    _require(isinstance(model.chunk, int) and model.chunk > 0, f"{model.id}: chunk must be a positive int")
    identity = (model.id, dict(model.options))
    again = open_model(pickle.loads(pickle.dumps(spec)))
    _require((again.id, dict(again.options)) == identity, f"{model.id}: opened again, it is {again.id}")
    if (identified := identify_model(spec)) is not None:
        identity_of_files = (identified.id, dict(identified.options))
        _require(identity_of_files == identity, f"identify() says {identity_of_files}, and the loaded model {identity}")
    scores = callable(getattr(model, "score", None))
    _require(scores or callable(getattr(model, "generate", None)), f"{model.id}: needs score() or generate()")
    _require(
        again.returns == ("scores" if scores else "text"), f"{model.id}: identify() says it returns {again.returns}"
    )
    if scores:
        _check_scores(model, [Request(text) for text in texts])
    else:
        _check_outputs(model, texts)


def check_family(
    family: str,
    example: Path,
    options: Mapping[str, str] | None = None,
    broken: Path | None = None,
    optional: Sequence[str] = (),
) -> None:
    """Check that a family keeps its promises with an example of its files.

    Args:
        family: The name of the family.
        example: A file or folder without errors.
        options: Options of its suites, as for `-S`.
        broken: A file that the family must refuse; an empty file of the example's name if it is None.
        optional: Metrics that the example has no results for, as names with `*`.

    Raises:
        AssertionError: If a promise is broken; the message says which.
    """
    declared = registry.family(family)
    _check_interface(declared)
    recognised = recognised_family(example).name
    _require(recognised == family, f"{family}: {example} is read as {recognised}")
    for other in builtin_suites().values():
        if other.parent.name != family:
            _require(
                not declared.recognises(other, head(other)), f"{family}: recognises {other} of {other.parent.name}"
            )
    errors = [str(problem) for problem in check_file(example, family, options) if problem.level == "error"]
    _require(not errors, f"{family}: check() finds errors in {example}: {'; '.join(errors)}")
    chosen = dict(options or {})
    suites = declared.read(example, chosen)
    _require(bool(suites), f"{family}: read() returns no suite for {example}")
    missing = {metric.name for suite in suites for metric in suite.metrics if metric.derived is None}
    for suite, same in zip(suites, declared.read(example, chosen), strict=True):
        _check_suite(family, suite, same)
        missing -= _check_results(suite)
    unexplained = sorted(name for name in missing if not any(fnmatchcase(name, pattern) for pattern in optional))
    _require(not unexplained, f"{family}: no result for these of its metrics: {', '.join(unexplained)}")
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / example.name
        empty.touch()
        _check_refusal(declared, broken or empty)


def _check_interface(declared: Family | Backend) -> None:
    """Check the types of what a module declares, and the numbers of parameters of its functions."""
    name, module = declared.name, declared.module
    _require(bool(declared.title), f"{name}: the module needs a docstring, for `wug list`")
    for attribute in declared.REQUIRED:
        _require(hasattr(module, attribute), f"{name}: {attribute} is missing")
    traits, expected = getattr(module, "TRAITS", declared.TRAITS), type(declared.TRAITS)
    _require(isinstance(traits, expected), f"{name}: TRAITS must be {expected.__name__}")
    for field in fields(declared):
        if (parameters := _parameters(str(field.type))) and (function := getattr(module, field.name, None)) is not None:
            try:
                signature(function).bind(*parameters)
            except TypeError as error:
                what = f"{name}: {field.name} must be a function of {', '.join(parameters)}"
                raise AssertionError(f"{what}: {error}") from None


def _parameters(annotation: str) -> list[str]:
    """The types of the parameters in `Callable[[A, B], C]`, or none."""
    lists = (node for node in ast.walk(ast.parse(annotation)) if isinstance(node, ast.List))
    return [ast.unparse(parameter) for types in lists for parameter in types.elts]


def _check_scores(model: Any, requests: Sequence[Request]) -> None:
    together = list(model.score(requests))
    _require(len(together) == len(requests), f"{model.id}: {len(together)} outputs for {len(requests)} requests")
    _require(list(model.score([])) == [], f"{model.id}: score([]) must be empty")
    for request, scored in zip(requests, together, strict=True):
        where = f"{model.id}, {request.text!r}"
        _require(scored.text == request.text, f"{where}: the output is for {scored.text!r}: keep the order")
        _require(list(scored.starts) == sorted(scored.starts), f"{where}: starts must ascend: {scored.starts}")
        spans = list(zip(scored.starts, scored.ends, strict=True))
        inside = all(0 <= start <= end <= len(request.text) for start, end in spans)
        _require(inside, f"{where}: tokens outside of the text: {spans}")
        _require(len(scored.logprobs) == len(spans), f"{where}: one log-probability per token, or None")
        finite = all(value is None or (math.isfinite(value) and value <= 1e-6) for value in scored.logprobs)
        _require(finite, f"{where}: log-probabilities must be finite and at most 0, or None: {scored.logprobs}")
    if ModelAttributes.of(model).ordered:
        return
    for request, scored in zip(requests, together, strict=True):
        (alone,) = model.score([request])
        difference = abs(alone.logprob() - scored.logprob())
        same = alone.starts == scored.starts and difference <= MAX_DIFFERENCE_NATS
        _require(same, f"{model.id}, {request.text!r}: scored alone it differs by {difference:g} nats")


def _check_outputs(model: Any, sources: Sequence[str]) -> None:
    together = [text_of(output) for output in model.generate(list(sources))]
    _require(len(together) == len(sources), f"{model.id}: {len(together)} outputs for {len(sources)} sources")
    _require(list(model.generate([])) == [], f"{model.id}: generate([]) must be empty")
    for source, output in zip(sources, together, strict=True):
        (alone,) = (text_of(answer) for answer in model.generate([source]))
        _require(alone == output, f"{model.id}, {source!r}: alone it gives {alone!r}, among others {output!r}")


def _check_suite(family: str, suite: Suite, same: Suite) -> None:
    _require(isinstance(suite.name, str) and bool(suite.name), f"{family}: a suite needs a name")
    _require(suite.kind == family, f"{suite.name}: kind is {suite.kind!r}, not {family!r}")
    _require(suite.needs in ("scores", "text"), f"{suite.name}: needs is {suite.needs!r}")
    _require(len(suite) > 0, f"{suite.name}: has no items")
    _require(
        bool(suite.checksum) and suite.checksum == same.checksum, f"{suite.name}: read again, its checksum differs"
    )
    _require_texts(suite.options, f"{suite.name}: options")
    _require_json(suite.meta, f"{suite.name}: meta")
    names = [metric.name for metric in suite.metrics if isinstance(metric, Metric)]
    declared = len(names) == len(suite.metrics) == len(set(names)) > 0
    _require(declared, f"{suite.name}: metrics must be Metric objects with different names")
    requests = list(suite.requests())
    _require(requests == list(same.requests()), f"{suite.name}: read again, its requests differ")
    request_types: tuple[type, ...] = (Request,) if suite.needs == "scores" else (str, Source)
    _require(
        all(isinstance(request, request_types) for request in requests),
        f"{suite.name}: requests do not fit needs={suite.needs!r}",
    )
    sent = pickle.loads(pickle.dumps(suite))
    _require(sent.checksum == suite.checksum, f"{suite.name}: changed on its way to another process")
    smaller: set[Any] = set()
    for items in sorted({1, 2, len(suite) // 2 or 1, len(suite)}):
        sample = suite.sample(items)
        _require(len(sample) <= items, f"{suite.name}: sample({items}) has {len(sample)} items")
        if len(sample) < len(suite):
            _require(dict(sample.options) != dict(suite.options), f"{suite.name}: the options of a sample must say so")
        chosen = set(sample.requests())
        _require(smaller <= chosen, f"{suite.name}: sample({items}) lacks items of a smaller sample")
        smaller = chosen


def _check_results(suite: Suite) -> set[str]:
    """The names of the metrics in a result of the suite."""
    model = _WordLengths() if suite.needs == "scores" else _Echo()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        request = RunRequest(suites=[suite.sample(10)], models=[ModelHandle.from_loaded(model)], store=store)
        report = execute(request)
        _require(not report.failures, f"{suite.name}: {report.failures}")
        (result,) = report.results
        _require(result.status == "complete", f"{suite.name}: {result.status}: {'; '.join(result.warnings)}")
        names = _check_metrics(suite, result)
        _check_outcomes(suite, result.outcomes)
        _check_views(result)
        _check_pages(store)
        return names


def _check_metrics(suite: Suite, result: Result) -> set[str]:
    declared = {metric.name for metric in suite.metrics}
    found = {one.metric for one in result.outcomes} | {one.metric for one in result.estimates}
    names = {metric if metric in declared else metric.partition(":")[0] for metric in found}
    _require(names <= declared, f"{suite.name}: not among its metrics: {', '.join(sorted(names - declared))}")
    return names


def _check_outcomes(suite: Suite, outcomes: Iterable[Outcome]) -> None:
    for row in outcomes:
        _require(row.value is None or isinstance(row.value, (bool, float, int)), f"{suite.name}: value {row.value!r}")
        _require_texts(row.groups, f"{suite.name}, item {row.item}: groups")
        _require_json(row.detail, f"{suite.name}, item {row.item}: detail")


def _check_views(result: Result) -> None:
    from wug.views import report, terminal

    rows = rows_of(result)
    _require(any(True for _ in computed_parts(parts_of(result, rows))), f"{result.kind}: its view has no parts")
    items_of(result, rows)
    out = io.StringIO()
    terminal.show([result], terminal.SafeConsole(file=out, width=120))
    _require(result.suite in out.getvalue(), f"{result.kind}: the terminal does not show the suite")
    _require(
        result.suite in report.render([report.ReportedResult(result)]),
        f"{result.kind}: the report does not show the suite",
    )


def _check_pages(folder: Path) -> None:
    """Request the pages of a store; skipped if the packages for the site are not installed."""
    try:
        from starlette.testclient import TestClient
    except (ImportError, RuntimeError):  # RuntimeError if only httpx is missing
        return
    from wug.web.app import create_app
    from wug.web.site import Site

    with closing(Store(folder)) as store:
        site = Site(store=store, cache=folder.with_name("cache.db"))
        headers = {"authorization": f"Bearer {site.access_token}"}
        client = TestClient(create_app(site), base_url="http://127.0.0.1:8000", headers=headers)
        for address in ("/", "/result/1", "/result/1/items", "/result/1/outcome/0"):
            answer = client.get(address)
            _require(answer.status_code == 200, f"the site's page {address} fails with {answer.status_code}")


def _check_refusal(family: Family, broken: Path) -> None:
    name = family.name
    try:
        problems = check_file(broken, name)
    except WugError:
        problems = []
    else:
        _require(any(problem.level == "error" for problem in problems), f"{name}: check() finds no error in {broken}")
    try:
        family.read(broken, {})
    except WugError:
        return
    raise AssertionError(f"{name}: read() accepts {broken}, which contains no suite")


class _WordLengths:
    """A scorer for which each word is as surprising as it is long, in bits."""

    id, options, chunk, ordered = "testing/word-lengths", dict[str, str](), 10_000, False

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        return [Scored.of(request.text, list(_words(request.text))) for request in requests]


class _Echo:
    id, options, chunk = "testing/echo", dict[str, str](), 10_000

    def generate(self, sources: Sequence[str]) -> list[str]:
        return [text_of(source) for source in sources]


def _words(text: str) -> Iterable[Token]:
    end = 0
    for word in text.split():
        start = text.index(word, end)
        end = start + len(word)
        yield Token(word, start, end, -LN2 * len(word))


def _require(holds: object, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _require_texts(texts_by_key: Mapping[str, str], what: str) -> None:
    texts = all(isinstance(key, str) and isinstance(value, str) for key, value in texts_by_key.items())
    _require(texts, f"{what} must be text: {dict(texts_by_key)}")


def _require_json(content: Mapping[str, Any], what: str) -> None:
    try:
        json.dumps(content)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{what} cannot be stored as JSON: {error}") from None
