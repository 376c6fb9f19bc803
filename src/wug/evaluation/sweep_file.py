"""Sweep files: models, suites and options of a sweep, as TOML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wug import options as declared
from wug import registry, stats
from wug.configuration import ConfigKey, is_text, read_keys
from wug.errors import InputError
from wug.outcomes import PROPORTION_METHODS as METHODS

SEED = "{seed}"
"""The placeholder for seeds in a model's name."""


@dataclass(frozen=True, slots=True)
class SweepFile:
    """The content of a sweep file."""

    models: tuple[str, ...]
    """Names, patterns and lists; a name with `{seed}` is repeated for each seed."""
    suites: tuple[str, ...]
    name: str | None = None
    seeds: tuple[int, ...] = ()
    model: Mapping[str, str] = field(default_factory=dict)
    """Options of the models, as -M."""
    suite: Mapping[str, str] = field(default_factory=dict)
    """Scoring options, as -S."""
    limit: int | None = None
    interval: stats.Method | None = None
    kind: str | None = None
    tags: tuple[str, ...] = ()


def read(path: Path) -> SweepFile:
    """Read a sweep file; InputError describes the first error."""
    data = read_keys(path, KEYS)
    for name in ("models", "suites"):
        if not data.get(name):
            raise InputError(f"{name} is missing. Write {name} = {EXAMPLES[name]}", file=path)
    try:
        models = tuple(_seeded(data["models"], data.get("seeds", ())))
    except InputError as error:
        raise InputError(error.message, file=path) from None
    content: dict[str, Any] = {
        **data,
        **{name: tuple(data.get(name, ())) for name in ("suites", "seeds", "tags")},
        **{name: {k: declared.written(v) for k, v in data.get(name, {}).items()} for name in ("model", "suite")},
        "models": models,
    }
    return SweepFile(**content)


def _seeded(models: Iterable[str], seeds: Iterable[int]) -> Iterable[str]:
    """The models for each seed: in the name, or as the option of a model that samples."""
    for text in models:
        backend = text.partition(":")[0]
        if SEED in text and not seeds:
            raise InputError(f"the model {text} has {SEED} in its name, but seeds is missing. Write seeds = [1, 2, 3]")
        if SEED in text:
            yield from (text.replace(SEED, str(seed)) for seed in seeds)
        elif not seeds:
            yield text
        elif backend in registry.names("models") and "seed" in declared.names(registry.backend(backend).OPTIONS):
            yield from (f"{text}{'&' if '?' in text else '?'}seed={seed}" for seed in seeds)
        else:
            raise InputError(
                f"the model {text} has no option seed. Write {SEED} in its name, as in "
                f"causal:EleutherAI/pythia-70m-seed{SEED}@step*"
            )


def _is_list(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(type(element) is kind for element in value)


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str | int | float | bool) for one in value.values())


EXAMPLES = {"models": '["causal:runs/*/checkpoint-*"]', "suites": '["blimp"]'}
KEYS = (
    ConfigKey("name", "a text", "name of the sweep  [default: that of the file]", is_text),
    ConfigKey("models", "a list of texts", "names, patterns and @lists, as for --model", _is_list(str)),
    ConfigKey("suites", "a list of texts", "files, folders, names", _is_list(str)),
    ConfigKey("seeds", "a list of whole numbers", f"values of {SEED} in a model's name", _is_list(int)),
    ConfigKey(
        "model", "a table of options", "options of the models, as for -M", _is_table, fix=". List models under `models`"
    ),
    ConfigKey(
        "suite", "a table of options", "scoring options, as for -S", _is_table, fix=". List suites under `suites`"
    ),
    ConfigKey(
        "limit", "a whole number", "items per suite, as for --limit", lambda value: type(value) is int and value > 0
    ),
    ConfigKey("interval", " or ".join(METHODS), "method for intervals of proportions", lambda value: value in METHODS),
    ConfigKey("kind", "a text", "the family, as for --kind", is_text),
    ConfigKey("tags", "a list of texts", "only suites with one of these tags, as for --tag", _is_list(str)),
)
