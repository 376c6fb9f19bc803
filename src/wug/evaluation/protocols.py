"""Protocols: the conventions by which another program or community computes a number, as bundles of options."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from wug import registry
from wug.errors import InputError, ModelError, UnknownName
from wug.evaluation.request import RunRequest
from wug.models import ModelSpec
from wug.types import ScoringProtocol

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


def protocols() -> dict[str, ScoringProtocol]:
    """All protocols by name, including those of families."""
    own = registry.attributes("families", "PROTOCOLS")
    return {**PROTOCOLS, **{name: found for each in own.values() for name, found in each.items()}}


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
    families = registry.attributes("families", "PROTOCOLS").items()
    reader = next((family for family, own in families if request.protocol in own), None)
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
