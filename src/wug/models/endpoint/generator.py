"""A completions server that is asked for text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wug.errors import InputError, ModelError
from wug.files import checksum
from wug.models._spec import ModelSpec
from wug.models.decoding import outputs
from wug.models.endpoint.answers import read_text
from wug.models.endpoint.server import Server, noted
from wug.models.prompt import ANSWER, prompting
from wug.types import Answer


class EndpointGenerator:
    """A server that continues prompts."""

    __slots__ = ("_bound", "_server", "_stop", "_template", "chunk", "id", "options")

    def __init__(self, server: Server, spec: ModelSpec, options: Mapping[str, Any]) -> None:
        self._template, self._stop = prompting(options)
        self._bound: int | None = options["max_length"]
        self._server = server
        self.id = f"endpoint/{server.model}@{checksum(server.identity)}"
        self.options = {
            "mode": "generate",
            "template": self._template.before + self._template.gap + ANSWER + self._template.after,
            "stop": self._stop,
            "max_length": str(self._bound or "auto"),
            **({"examples": checksum(self._template.examples)} if self._template.examples else {}),
            **noted(spec),
        }
        self.chunk = 4 * server.threads

    def generate(self, sources: Sequence[str]) -> list[Answer]:
        """One answer for each source, in order."""
        return outputs.map_distinct(sources, self._ask)

    def _ask(self, sources: list[str]) -> list[Answer]:
        prompts = [self._template.prompt(source) for source in sources]
        answers = self._server.ask_all(prompts, [self._settings(source) for source in sources])
        return [self._read(source, answer) for source, answer in zip(sources, answers, strict=True)]

    def _settings(self, source: str) -> dict[str, Any]:
        # How many tokens a source has is not known here: half as many as letters are enough for most.
        longest = outputs.token_limit(len(source) // 2, self._bound)
        return {"temperature": 0.0, "max_tokens": longest, "stop": [self._stop]}

    def _read(self, source: str, answer: Any) -> Answer:
        try:
            text, ended = read_text(answer)
        except InputError as error:
            raise ModelError(
                f"{self._server.client.address}: the answer to {source[:80]!r} cannot be used: {error.message}"
            ) from None
        before, stopped, _ = text.partition(self._stop)
        return outputs.make_answer(before.strip(), ended=ended or bool(stopped))
