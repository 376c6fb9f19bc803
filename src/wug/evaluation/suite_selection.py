"""The suites of a request: opened, sampled, selected by tags, and scored by a protocol."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from wug import registry
from wug.errors import InputError, ModelError, UnknownName, nearest
from wug.evaluation.annotated_suite import AnnotatedSuite
from wug.evaluation.request import RunRequest
from wug.evaluation.suites import open_suites
from wug.interfaces import Suite, SuiteAttributes
from wug.models import ModelSpec
from wug.outcomes import phenomenon_of
from wug.traits import ScoringProtocol

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
"""The protocols for all families."""

log = logging.getLogger("wug")


def suites_by_protocol(request: RunRequest) -> tuple[RunRequest, list[Suite]]:
    """The request with the options of its protocol, or of the protocol that its suites declare, and its suites."""
    if request.protocol is not None:
        request = _with_protocol(request, request.protocol)
    suites = resolve_suites(request)
    if request.protocol is None:
        declared = {SuiteAttributes.of(suite).protocol for suite in suites}
        if len(declared) > 1:
            raise InputError("suites that follow different protocols: run them separately, or name one with --protocol")
        if (name := declared.pop()) is None:
            return request, suites
        log.info("scored by the protocol %s, as the suites declare; --protocol wug uses wug's rules", name)
        request = _with_protocol(request, name)
        suites = resolve_suites(request)
    assert request.protocol is not None
    if signature_fields := protocol(request.protocol).signature_fields:
        suites = [AnnotatedSuite(suite, signature_fields=signature_fields) for suite in suites]
    return request, suites


def resolve_suites(request: RunRequest) -> list[Suite]:
    """The suites of a request, in order, each once, sampled to its limit."""
    by_content: dict[tuple[object, ...], Suite] = {}
    for suite in _opened_suites(request):
        key = (suite.name, suite.checksum, *sorted(suite.options.items()))
        if by_content.setdefault(key, suite) is not suite:
            log.warning("%s is listed twice with the same content; it is evaluated once", suite.name)
    if not by_content:
        raise InputError("there is no suite: pass a name, a path, or a list of them")
    chosen = tagged(by_content.values(), request.tags) if request.tags else list(by_content.values())
    return [suite if request.limit is None else suite.sample(request.limit) for suite in chosen]


def tagged(suites: Iterable[Suite], wanted: Iterable[str]) -> list[Suite]:
    """The suites with one of the wanted tags; InputError with all tags if there is none.

    Capitals, spaces and hyphens do not matter.
    """
    every, tags = list(suites), list(wanted)
    chosen = [suite for suite in every if _normalised(tags_of(suite)) & _normalised(tags)]
    if not chosen:
        known = sorted({tag for suite in every for tag in tags_of(suite)})
        near = nearest(tags[0], known)
        meant = f" Did you mean {near!r}?" if near else ""
        raise InputError(f"no suite has the tag {' or '.join(tags)}.{meant} Tags: {', '.join(known) or 'none'}")
    return chosen


def tags_of(suite: Suite) -> list[str]:
    """The tags in a suite's file, then its phenomenon: `agreement`, `long-distance-dependencies`."""
    phenomenon = phenomenon_of(suite.meta).lower().replace(" ", "-")
    tags = list(suite.meta.get("tags") or ())
    return tags if _normalised([phenomenon]) <= {"", *_normalised(tags)} else [*tags, phenomenon]


def protocol(name: str) -> ScoringProtocol:
    """The protocol of a name, for all families or of one; UnknownName with the nearest one."""
    known = dict(PROTOCOLS)
    for family in registry.families():
        known |= family.TRAITS.protocols
    if name not in known:
        raise UnknownName("protocol", name, known)
    return known[name]


def _with_protocol(request: RunRequest, name: str) -> RunRequest:
    """The request with the model options and the family of a protocol; options of the user take precedence."""
    model_options = protocol(name).model_options
    reader = next((family.name for family in registry.families() if name in family.TRAITS.protocols), None)
    if reader is not None and request.family not in (None, reader):
        raise InputError(f"the protocol {name} reads files as {reader}: leave out --kind {request.family}")
    return replace(
        request,
        protocol=name,
        shared_model_options={**model_options, **request.shared_model_options},
        family=reader or request.family,
    )


def require_model_options(name: str, spec: ModelSpec, known: Collection[str]) -> None:
    """ModelError for a backend that has none of the model options of a protocol."""
    needed = protocol(name).model_options
    if needed and not needed.keys() & set(known):
        options = ", ".join(needed)
        raise ModelError(f"{spec}: the protocol {name} is for models with the option {options}, and this has none")


def _opened_suites(request: RunRequest) -> Iterator[Suite]:
    """The suites of a request; neighbouring names are opened together."""
    suite_options = {} if request.protocol is None else protocol(request.protocol).suite_options
    for is_name, arguments in groupby(request.suites, key=lambda argument: isinstance(argument, (str, Path))):
        if is_name:
            yield from open_suites(map(str, arguments), request.suite_options, request.family, suite_options)
            continue
        for suite in arguments:
            if not isinstance(suite, Suite):
                raise _not_suite_error(suite)
            if request.suite_options or request.family is not None:
                what = f"options ({', '.join(request.suite_options)})" if request.suite_options else "kind"
                raise InputError(f"{suite.name} is already open: give its {what} when you open it")
            yield suite


def _not_suite_error(suite: object) -> InputError:
    missing = [name for name in vars(Suite) if name[0] != "_" and not hasattr(suite, name)]
    why = f": it has no {missing[0]}" if hasattr(suite, "run") and missing else ""
    fix = "Pass a name, a path, or wug.read_suite(…), which takes dictionaries and data frames"
    return InputError(f"{type(suite).__name__} is not a suite{why}. {fix}")


def _normalised(tags: Iterable[str]) -> set[str]:
    """Tags without capitals, spaces and hyphens."""
    return {"".join(filter(str.isalnum, tag.lower())) for tag in tags}
