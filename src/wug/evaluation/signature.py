"""What a number depends on, in one line that travels with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wug import __version__
from wug.files import checksum as digest
from wug.types import Generator, Request, Scorer, Signature, Source, Suite, text_of


def signature(
    suite: Suite, model: Scorer | Generator, questions: Sequence[Request] | Sequence[str | Source] | None = None
) -> Signature:
    """The signature of a suite's result for a model; `questions` are the suite's, where they are known already."""
    options = dict(model.options)
    if getattr(model, "ordered", False):
        # A checksum of a suite is the same in any order of its items; these answers are not.
        asked = suite.requests() if questions is None else questions
        options["read"] = digest(*(_asked(request) for request in asked))
    return build_signature(suite.name, suite.checksum, suite.options, model.id, options)


def build_signature(
    suite: str, checksum: str, suite_options: Mapping[str, str], model: str, model_options: Mapping[str, str]
) -> Signature:
    """The signature made of its parts, no field twice; the model's number format stands beside the model.

    An option of the model that has the name of another field is called `model_NAME`.
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


def _asked(request: Request | Source | str) -> str:
    """All that an answer in a row of others can depend on."""
    if not isinstance(request, Request):
        return text_of(request)
    turn = "" if request.turn is None else f"{request.turn.number}\0{request.turn.line}\0{request.turn.before}"
    return f"{request.text}\0{request.span}\0{turn}"
