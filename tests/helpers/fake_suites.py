"""Suites whose requests and outcomes tests choose, and pairs that a tiny model can score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from wug.interfaces import Suite
from wug.outcomes import Outcome
from wug.requests import Request

AGREEMENT_PAIRS = [
    {"sentence_good": "the boy swims .", "sentence_bad": "the boy swim ."},
    {"sentence_good": "the authors swim .", "sentence_bad": "the authors swims ."},
]


@dataclass
class FakeSuite:
    """A suite with the surprisals of some texts, and then those of further texts, as its outcomes."""

    name: str = "words"
    texts: Sequence[str] = ("wug",)
    more: Sequence[str] = ()
    """Texts that are requested after the first outputs."""
    fault: BaseException | None = None
    """Raised in place of the first request."""
    kind: str = "pairs"
    needs: Literal["scores", "text"] = "scores"
    checksum: str = "1f"
    options: dict[str, str] = field(default_factory=dict)
    metrics: tuple[Any, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)
    listings: int = 0
    """How often its requests were listed."""

    def __len__(self) -> int:
        return len(self.texts)

    def sample(self, items: int) -> Suite:
        raise NotImplementedError

    def requests(self) -> list[Request]:
        self.listings += 1
        return [Request(text) for text in self.texts]

    def run(self, model: Any) -> Iterator[Outcome]:
        if self.fault is not None:
            raise self.fault
        first, more = ([Request(text) for text in texts] for texts in (self.texts, self.more))
        for output in (*model.score(first), *model.score(more)):
            yield Outcome(output.text, "surprisal", output.surprisal())
