"""What a number depends on, in one line that travels with it."""

from __future__ import annotations

from collections.abc import Mapping

from wug import __version__
from wug.types import Generator, Scorer, Signature, Suite


def signature(suite: Suite, model: Scorer | Generator) -> Signature:
    """The signature of a suite's result for a model."""
    return sign(suite.name, suite.checksum, suite.options, model.id, model.options)


def sign(
    suite: str, checksum: str, suite_options: Mapping[str, str], model: str, model_options: Mapping[str, str]
) -> Signature:
    """The signature made of its parts; the model's number format stands beside the model."""
    options = dict(model_options)
    dtype = options.pop("dtype", None)
    fields = [
        ("wug", __version__),
        ("suite", f"{suite}@{checksum}"),
        ("model", f"{model},{dtype}" if dtype else model),
        *sorted(options.items()),
        *suite_options.items(),
    ]
    return Signature(tuple((key, _plain(value)) for key, value in fields))


def _plain(value: str) -> str:
    """The value without the characters that separate fields."""
    return value.replace("|", "/").replace("\n", " ")
