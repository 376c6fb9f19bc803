"""Builds the signatures of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wug import __version__
from wug.files import checksum as digest
from wug.types import Generator, Request, Scorer, Signature, Source, Suite, text_of


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
    turn = "" if request.turn is None else f"{request.turn.number}\0{request.turn.line}\0{request.turn.before}"
    return f"{request.text}\0{request.span}\0{turn}"
