"""A Python function that scores or generates text: `function:my_module:score`, or any callable in Python.

A scoring function takes a list of texts and returns one output per text: a log-probability in nats, or one
`(start, end, logprob)` per token, with character offsets. A generating function takes sources and returns texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import SupportsFloat

from wug import registry
from wug.alignment import first_visible
from wug.errors import InputError, ModelError, UnknownName
from wug.identity import ModelId
from wug.models.spec import ModelSpec
from wug.options import Option
from wug.requests import WHOLE_TEXT, Answer, Request, Scored, Token
from wug.scores import logprob_of
from wug.traits import BackendTraits

RETURNS = ("scores", "text")
TRAITS = BackendTraits(
    verbatim_names=True,
    wraps_functions=True,
    to_score="A function that returns log-probabilities is opened with -M returns=scores",
    to_generate="A function that returns texts is opened with -M returns=text",
)
OPTIONS = (
    Option("returns", RETURNS, "scores", "what the function returns: log-probabilities or texts"),
    Option("version", str, None, "a version that you choose; outputs are cached only under one"),
)
CHUNK = 256
"""Texts per call."""
TOKENS = "one log-probability (nats), or one (start, end, logprob) per token"


class FunctionModel:
    """What scoring and generating functions share."""

    def __init__(self, function: Callable[[list[str]], object], name: str, version: str | None) -> None:
        for option, text in (("name", name), ("version", version or "1")):
            if not re.fullmatch(r"[^\s|@?]+", text):
                raise InputError(f"{option}={text!r}: write letters without spaces, @, | and ?")
        self._function = function
        self.id = str(ModelId("function", name, version or ""))
        self.options: Mapping[str, str] = {}
        self.chunk = CHUNK
        self.ordered = False
        self.cacheable = version is not None
        """Without a version, nothing tells whether the function has changed."""

    def _call(self, texts: list[str]) -> list[object]:
        if not texts:
            return []
        result = self._function(texts)
        outputs: list[object] | None = None
        if isinstance(result, Iterable) and not isinstance(result, str | bytes | Mapping):
            outputs = list(result)
        if outputs is None or len(outputs) != len(texts):
            kind = type(result).__name__ if outputs is None else f"{len(outputs):,} outputs"
            raise ModelError(f"{self.id} returned {kind} for {len(texts):,} texts: return a list, one output per text")
        return outputs


class ScoringFunction(FunctionModel):
    """A function that returns log-probabilities."""

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One scored text per request, in order."""
        texts = [request.text for request in requests]
        return [self._scored(text, output) for text, output in zip(texts, self._call(texts), strict=True)]

    def _scored(self, text: str, output: object) -> Scored:
        if isinstance(output, Scored):
            output = output.tokens
        if isinstance(output, str | bytes):
            raise ModelError(f"{self.id} returned text for {text[:60]!r}: open it with -M returns=text")
        try:
            logprob = float(output)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            tokens = [self._token(text, token) for token in output] if isinstance(output, Iterable) else None
        else:
            return Scored(text, (0,), (len(text),), (self._logprob(text, logprob),), WHOLE_TEXT)
        if tokens is None or any(first.start > second.start for first, second in pairwise(tokens)):
            problem = type(output).__name__ if tokens is None else "tokens out of order"
            raise ModelError(f"{self.id} returned {problem} for {text[:60]!r}: return {TOKENS}, in order")
        return Scored.of(text, tokens)

    def _token(self, text: str, token: object) -> Token:
        """A token, which counts where its first visible character is."""
        match token:
            case Token():
                start, end = token.start, token.end
                name, logprob = token.text, token.logprob
            case (start, end, logprob) if hasattr(start, "__index__") and hasattr(end, "__index__"):
                name = ""
                start, end = int(start), int(end)
            case _:
                raise ModelError(f"{self.id} returned the token {token!r} for {text[:60]!r}: return {TOKENS}")
        if not 0 <= start <= end <= len(text):
            raise ModelError(f"{self.id}: {token!r} is outside the {len(text):,} characters of {text[:60]!r}")
        start = first_visible(text, start)
        return Token(name or text[start:end], start, max(start, end), self._logprob(text, logprob))

    def _logprob(self, text: str, value: SupportsFloat | None) -> float | None:
        try:
            return logprob_of(None if value is None else float(value), lowest=-math.inf)
        except InputError as error:
            fix = "Negate surprisals, and multiply bits by ln 2"
            raise ModelError(f"{self.id}: {error.message}, for {text[:60]!r}. {fix}") from None


class GeneratingFunction(FunctionModel):
    """A function that returns texts."""

    def generate(self, sources: Sequence[str]) -> list[Answer | str]:
        """One output per source, in order."""
        outputs = self._call(list(sources))
        for source, output in zip(sources, outputs, strict=True):
            if not isinstance(output, str | Answer):
                kind, fix = type(output).__name__, "return text, or open it without -M returns=text"
                raise ModelError(f"{self.id} returned {kind} for {source[:60]!r}: {fix}")
        return outputs  # type: ignore[return-value]


def wrap(
    target: object, name: str | None = None, version: str | None = None, returns: str | None = None
) -> ScoringFunction | GeneratingFunction:
    """The model of a callable, or of an object with a method `score` or `generate` that takes texts."""
    if returns is not None and returns not in RETURNS:
        raise UnknownName("value of returns", returns, RETURNS)
    available = [method for method in ("score", "generate") if callable(getattr(target, method, None))]
    chosen = None if returns is None else {"scores": "score", "text": "generate"}[returns]
    method = chosen or (available[0] if available else "score")
    function = getattr(target, method) if method in available else target
    if not callable(function):
        raise InputError(f"{type(target).__name__} has no method {method}, which takes a list of texts")
    model_name = name or getattr(target, "__name__", None) or type(target).__name__
    kind = ScoringFunction if method == "score" else GeneratingFunction
    return kind(function, model_name.strip("<>"), version)


def load(spec: ModelSpec) -> ScoringFunction | GeneratingFunction:
    """The function of a module that is installed, or in the current folder: `my_module:score`."""
    options = spec.read(OPTIONS)
    return wrap(registry.imported(spec.name), spec.name, options["version"], options["returns"])
