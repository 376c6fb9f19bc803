"""A completions server that scores texts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from wug.errors import InputError, ModelError
from wug.files import checksum
from wug.models._places import Span
from wug.models._spec import ModelSpec
from wug.models.endpoint.calibration import calibrate
from wug.models.endpoint.reading import Reading
from wug.models.endpoint.server import Server, noted
from wug.types import Request, Scored


class EndpointScorer:
    """A server that scores texts."""

    __slots__ = ("_reading", "_server", "chunk", "id", "options", "ordered")

    def __init__(self, server: Server, spec: ModelSpec) -> None:
        self._server = server
        bos = spec.options.get("bos", "")
        exact = spec.options.get("dtype", "float32").lower() in ("float32", "fp32", "f32", "float")
        self._reading = calibrate(server, bos, exact=exact)
        self.id = f"endpoint/{server.model}@{checksum(server.identity)}"
        self.options = {"bos": bos or _leads(self._reading), **noted(spec)}
        if self._reading.unsaid:
            self.options["first_word"] = "unscored"
        self.chunk = 16 * server.threads
        self.ordered = False

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order, in natural logarithms."""
        texts = list(dict.fromkeys(request.text for request in requests if request.text))
        prompts = [self._reading.bos + text for text in texts]
        answers = self._server.ask_all(prompts, [self._reading.settings] * len(texts))
        scored = {"": Scored("", (), (), ())}
        scored |= {text: self._read(text, answer) for text, answer in zip(texts, answers, strict=True)}
        return [_cut(scored[request.text], request.span) for request in requests]

    def _read(self, text: str, answer: Any) -> Scored:
        try:
            return self._reading.scored(text, answer)
        except InputError as error:
            raise ModelError(
                f"{self._server.client.address}: the answer about {text[:80]!r} cannot be used: {error.message}"
            ) from None


def _leads(reading: Reading) -> str:
    """Whether a start mark comes before every text, as the server does it."""
    if reading.is_led:
        return "yes"
    return "unsaid" if reading.hidden is None else "no"


def _cut(scored: Scored, span: Span | None) -> Scored:
    """Without the tokens after the span: nothing asks for them."""
    if span is None:
        return scored
    here = slice(0, bisect_left(scored.starts, span[1]))
    return Scored(scored.text, scored.starts[here], scored.ends[here], scored.logprobs[here])
