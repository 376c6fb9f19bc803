"""Value types for compound names: a model's id, its name on the Hugging Face Hub, and an estimate's group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

IMPORTED = "imported"
"""The kind of models whose results another program computed, of suites that belong to no family, and the first field of
their signatures."""
OVERALL = "all"
"""The group of an estimate over all outcomes."""
MACRO = "macro"
"""The field of averages over groups."""


@dataclass(frozen=True, slots=True)
class ModelId:
    """The identity of a model in results: `backend/name@fingerprint`, such as `causal/gpt2@607a30d`.

    Example:
        >>> ModelId.parse("causal/EleutherAI/pythia-70m@607a30d")
        ModelId(backend='causal', name='EleutherAI/pythia-70m', fingerprint='607a30d')
    """

    backend: str
    """Empty for a text without one."""
    name: str
    fingerprint: str = ""
    """Hexadecimal digest of everything that can change an output; empty if the backend has none."""

    @classmethod
    def parse(cls, text: str) -> ModelId:
        """Split the printed form. A text without a backend is all name."""
        backend, slash, rest = text.partition("/")
        if not slash or not rest:
            return cls("", text)
        name, at, fingerprint = rest.rpartition("@")
        return cls(backend, name, fingerprint) if at and name else cls(backend, rest)

    @property
    def path(self) -> str:
        """Name and fingerprint, without the backend."""
        return f"{self.name}@{self.fingerprint}" if self.fingerprint else self.name

    def __str__(self) -> str:
        return f"{self.backend}/{self.path}" if self.backend else self.path


class ModelName(NamedTuple):
    """A model as the Hugging Face Hub would name it."""

    id: ModelId
    developer: str
    name: str
    revision: str
    """The checkpoint; empty for the only one."""

    @property
    def path(self) -> str:
        """Developer and name."""
        return f"{self.developer}/{self.name}"


@dataclass(frozen=True, slots=True)
class Group:
    """The part of the outcomes that an estimate summarises: all of them, or those with `field=value`.

    Example:
        >>> Group.parse("phenomenon=binding"), str(Group("kind", "lexical"))
        (Group(field='phenomenon', value='binding'), 'kind=lexical')
    """

    field: str
    """Name of the grouping field, or `all`."""
    value: str = ""

    @classmethod
    def parse(cls, text: str) -> Group:
        """Split the printed form."""
        field, _, value = text.partition("=")
        return cls(field, value)

    @property
    def is_overall(self) -> bool:
        """Whether the estimate covers all outcomes."""
        return self.field == OVERALL and not self.value

    @property
    def has_items(self) -> bool:
        """Whether its outcomes are a part of all: not in an average over groups, whose field is `macro`."""
        return not self.is_overall and self.field != MACRO

    def __str__(self) -> str:
        return self.field if self.is_overall else f"{self.field}={self.value}"
