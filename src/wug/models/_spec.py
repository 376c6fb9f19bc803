"""How a model is named: `kind:name@revision?key=value&key=value`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qsl

from wug import registry
from wug.errors import InputError, UnknownName
from wug.files import existing, shortened, user_path
from wug.options import Declared, read


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as the user named it."""

    kind: str
    name: str
    revision: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    alias: str | None = field(default=None, compare=False)
    """How messages call a built-in model, in place of the folder that it is installed in: `wug-causal`."""

    def __str__(self) -> str:
        return self.alias or f"{self.kind}:{self.name}" + (f"@{self.revision}" if self.revision else "")

    @property
    def shown_name(self) -> str:
        """The name without the kind, as a user would write it."""
        return self.name if self.alias is None else self.alias.rpartition(":")[2]

    def read(self, known: Declared) -> dict[str, Any]:
        """The value of every option of the backend, or an error for one that it does not have."""
        return read(known, self.options, f"{self.kind} models")

    def checked(self, known: Declared) -> Mapping[str, str]:
        """The options as they were given, once they are known to be ones of the backend."""
        self.read(known)
        return self.options


@dataclass(frozen=True, slots=True)
class Identity:
    """What a model is, told from its files: a backend that can tell offers `identify(spec)`.

    It must be what the model says of itself once it is loaded. Where only loading tells, there is none.
    """

    id: str
    options: Mapping[str, str]
    """Every option that changes an answer, for the signature and the cache key."""
    answers: Literal["scores", "text"]
    bounded: bool = False
    """Of a generator, whether it may stop where a suite says that a right answer cannot be longer (`Source`)."""
    training_context: str | None = None
    """`sentence` for a scorer that was trained on single sentences, as the field of that name in config.json says."""


def parse(text: str, kinds: list[str], options: Mapping[str, str] | None = None) -> ModelSpec:
    """Read a model's name; `options` (of -M) win over those in the name."""
    kind, colon, rest = text.partition(":")
    if not colon or not rest or kind not in kinds:
        if colon and rest and kind.isidentifier():
            raise UnknownName("kind of model", kind, kinds)
        if not text.strip() or kind in kinds:
            raise InputError(f"model {text!r} has no name. Write it as kind:name, such as causal:gpt2")
        raise InputError(
            f"model {shortened(text)!r} has no kind. Write it as kind:name, such as causal:{shortened(text)}; "
            f"kinds: {', '.join(kinds)}"
        )
    traits = registry.traits(kind)
    verbatim = traits.verbatim_names
    name, _, query = (rest, "", "") if verbatim else rest.partition("?")
    revision = ""
    if not verbatim and ("\0" in name or name.startswith("~")):
        user_path(name)  # which says what is wrong with it
    if traits.on_hub and not existing(name):
        name, _, revision = name.rpartition("@") if "@" in name else (name, "", "")
    written = parse_qsl(query, keep_blank_values=True, strict_parsing=False)
    given = dict(written)
    if len(given) < len(written):
        twice = next(key for key, times in Counter(key for key, _ in written).items() if times > 1)
        raise InputError(f"model {shortened(text)!r}: {twice} is given twice")
    return ModelSpec(kind, name, revision or None, {**given, **(options or {})})
