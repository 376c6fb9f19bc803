"""How predictions are judged, as the user asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wug.errors import InputError, UnknownName

OPTIONS: Mapping[str, str] = {
    "split": "which files of a COGS folder, with commas between them (default: dev,test,gen, those that are there)",
    "dialect": "cogs, slog, recogs or variable_free (default: by the gold forms)",
    "smatch": "also the F1 of terms under the best renaming of indices: yes or no (default)",
    "seed": "of the random starts of smatch (default: 0)",
    "bleu": "also BLEU: yes (default) or no",
    "reference_compat": "the measures as the first public evaluator computes them: yes or no (default)",
}

_YES, _NO = ("yes", "true", "1", "on"), ("no", "false", "0", "off")


@dataclass(frozen=True, slots=True)
class Settings:
    """Which measures, and how."""

    reference_compat: bool = False
    smatch: bool = False
    bleu: bool = True
    seed: int = 0

    @property
    def signature(self) -> dict[str, str]:
        """Everything that can change a result."""
        if self.reference_compat:
            return {"reference_compat": "yes"}
        return {"smatch": f"seed {self.seed}"} if self.smatch else {}


def settings(options: Mapping[str, str]) -> Settings:
    """The options, checked."""
    for key in options:
        if key not in OPTIONS:
            raise UnknownName("option of cogs suites", key, OPTIONS)
    seed = options.get("seed", "0")
    if not seed.removeprefix("-").isdecimal() or len(seed) > 18:
        raise InputError(f"seed is a whole number, not {seed!r}")
    return Settings(
        _yes("reference_compat", options.get("reference_compat", "no")),
        _yes("smatch", options.get("smatch", "no")),
        _yes("bleu", options.get("bleu", "yes")),
        int(seed),
    )


def _yes(option: str, value: str) -> bool:
    if value.lower() in (*_YES, *_NO):
        return value.lower() in _YES
    raise InputError(f"{option} is yes or no, not {value!r}")
