"""Prompts that present minimal pairs: published ones by name, and others as text."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError, UnknownName
from wug.files import checksum, shortened

FIELDS = {"forced_choice": {"a", "b"}, "yes_no": {"sentence"}, "preamble": {"sentence"}}
"""The fields that a prompt of each method must have."""
LABELS = {"forced_choice": ("A", "B"), "yes_no": ("Yes", "No")}
"""The labels of prompts that a user writes."""
DEFAULTS = {
    "forced_choice": ("ide-2025-ab-1", "hu-frank-2024"),
    "yes_no": ("ide-2025-yn-1", "hu-levy-2023-yesno-complex"),
    "preamble": ("ide-2025-preamble-1", "ide-2025-preamble-1"),
}
"""The prompts of each method without the option, in a chat and as plain text."""
_FIELD = re.compile(r"\{(\w*)\}")


class PairPrompt(NamedTuple):
    """A prompt with fields for sentences."""

    name: str
    """Empty for a text of the user."""
    text: str
    labels: tuple[str, ...] = ()
    join: str = ""
    """What is between the prompt and a label, without a chat template."""
    system: str = ""
    plain_end: str = ""
    """What ends the prompt without a chat template."""
    kind: str = ""

    @property
    def signature(self) -> str:
        """Its name, or the checksum of its text."""
        return self.name or checksum(self.text)

    def fits(self, method: str) -> bool:
        """Whether its fields are those of a method."""
        return self.kind == method or (not self.kind and set(_FIELD.findall(self.text)) == FIELDS.get(method))

    def fill(self, **sentences: str) -> str:
        """The text with sentences in place of fields."""
        return _FIELD.sub(lambda match: sentences[match[1]], self.text)


@functools.cache
def published() -> Mapping[str, PairPrompt]:
    """The published prompts by name."""
    entries = tomllib.loads(Path(__file__).with_name("prompts.toml").read_text(encoding="utf-8"))
    return {
        name: PairPrompt(
            name,
            entry["prompt"],
            tuple(entry.get("labels", ())),
            entry.get("join", " "),
            entry.get("system", ""),
            entry.get("plain_end", ""),
            entry["kind"],
        )
        for name, entry in entries.items()
    }


def read_prompt(written: str) -> PairPrompt:
    """The prompt that a user names or writes."""
    if written in published():
        return published()[written]
    text = written.replace("\\n", "\n")
    fields = _FIELD.findall(text)
    if not fields and not re.search(r"\s", written):
        raise UnknownName("prompt", written, list(published()))
    if set(fields) not in FIELDS.values():
        unknown = sorted(set(fields) - {"a", "b", "sentence"})
        wrong = f"has the unknown field {{{unknown[0]}}}" if unknown else "lacks a field"
        raise InputError(
            f"prompt {shortened(text)!r} {wrong}. Write {{a}} and {{b}} for the two sentences of a forced choice, or "
            "{sentence} for one sentence"
        )
    bare = text.rstrip(" ")  # a space at the end belongs to the label: most tokenizers join it to the next word
    return PairPrompt("", bare, join="" if bare.endswith("\n") else " ")


def check_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse labels that are not two different ones."""
    if len(labels) != 2:
        raise InputError(f"labels={','.join(labels)}: write two labels, separated by a comma")
    first, second = labels
    if first == second:
        raise InputError(f"labels={first},{second}: the labels are the same")
    if first.startswith(second) or second.startswith(first):
        raise InputError(f"labels={first},{second}: one label is the beginning of the other, so answers are ambiguous")
    return labels
