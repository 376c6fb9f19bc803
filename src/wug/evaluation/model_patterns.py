"""Patterns and lists of models, expanded to names.

`causal:runs/*/checkpoint-*` matches folders, `causal:EleutherAI/pythia-70m@step*` revisions on the Hugging Face Hub,
and `@models.txt` is a file with one model per line. `*` matches anything, `[…]` one of some characters; `?` begins
options.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from wug import registry
from wug.errors import InputError, UnknownName
from wug.files import existing, read_lines, shortened, user_path


class ExpandedModel(NamedTuple):
    """The name of one model."""

    text: str
    commit: str | None = None
    """The current commit of a revision on the Hugging Face Hub."""


def is_pattern(text: str) -> bool:
    """Whether a text is a pattern or a list of models."""
    backend, name, _ = _split_name(text)
    return text.startswith("@") or (not registry.traits(backend).verbatim_names and _has_wildcards(name))


def expand(texts: Iterable[str]) -> list[ExpandedModel]:
    """The models of names, patterns and lists, in order, each once."""
    return list({named.text: named for text in texts for named in _expanded(text)}.values())


def natural(text: str) -> list[tuple[int, int, str]]:
    """A sort key that puts step2 before step10."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]


def _expanded(text: str) -> Iterator[ExpandedModel]:
    if text.startswith("@"):
        for line in _listed(user_path(text[1:])):
            yield from _expanded(line)
    elif not is_pattern(text):
        yield ExpandedModel(text)
    else:
        backend, name, options = _split_name(text)
        before = f"{backend}:" if backend else ""
        folders = [ExpandedModel(f"{before}{path}{options}") for path in _paths(backend, name)]
        yield from folders or _revisions(text)


def _listed(path: Path) -> Iterator[str]:
    """The lines of a list of models, without empty lines and comments (`#`)."""
    if not path.is_file():
        raise InputError("no such list of models. @FILE names a text file with one model per line", file=path)
    count = 0
    for number, line in enumerate(read_lines(path), 1):
        text = re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()
        if text.startswith("@"):
            raise InputError("a list cannot contain another list", file=path, place=f"line {number}")
        if text:
            count += 1
            yield text
    if not count:
        raise InputError("the list contains no model", file=path)


def _paths(backend: str, name: str) -> list[str]:
    """The models among the matching files and folders, in natural order."""
    pattern = str(Path(name).expanduser()) if name.startswith("~") else name
    fitting = sorted(glob.glob(pattern), key=natural)  # noqa: PTH207 (names as they are written, no hidden ones)
    models = [path for path in fitting if _is_model(backend, Path(path))]
    if fitting and not models:
        raise InputError(
            f"{len(fitting)} files or folders match, such as {fitting[0]}, but none is a model. The folder of a model "
            "contains a config.json",
            file=shortened(name),
        )
    return models


def _is_model(backend: str, path: Path) -> bool:
    if (path / "config.json").is_file():
        return True
    if backend:
        return not registry.traits(backend).on_hub
    return registry.backend_with(lambda traits: path.suffix in traits.suffixes) is not None


def _revisions(text: str) -> Iterator[ExpandedModel]:
    """The matching revisions of a model on the Hugging Face Hub, in natural order."""
    backend, name, options = _split_name(text)
    repository, at, pattern = name.rpartition("@")
    if not at or _has_wildcards(repository) or repository.count("/") > 1 or repository.startswith((".", "/", "~")):
        prefix, colon, _ = name.partition(":")
        if not backend and colon and prefix.isidentifier() and len(prefix) > 1:  # a single letter is a drive
            raise UnknownName("kind of model", prefix, registry.names("models"))
        raise InputError(f"no file or folder matches the model {shortened(text)!r}")
    hooks = {declared.name: declared.revisions for declared in registry.backends() if declared.revisions is not None}
    commits = hooks.get(backend, next(iter(hooks.values())))(repository)
    fitting = sorted((revision for revision in commits if fnmatchcase(revision, pattern)), key=natural)
    if not fitting:
        listed = ", ".join(sorted(commits, key=natural)[:8]) + (", …" if len(commits) > 8 else "")
        raise InputError(f"no revision of {repository} matches {pattern!r}. Revisions: {listed or 'none'}")
    before = text.removesuffix(f"{name}{options}")
    for revision in fitting:
        yield ExpandedModel(f"{before}{repository}@{revision}{options}", commits[revision])


def _split_name(text: str) -> tuple[str, str, str]:
    """Backend, name and options of a model; the backend is empty if none is named."""
    backend, colon, name = text.partition(":")
    if not colon or backend not in registry.names("models"):
        backend, name = "", text
    name, mark, options = (name, "", "") if registry.traits(backend).verbatim_names else name.partition("?")
    return backend, name, mark + options


def _has_wildcards(name: str) -> bool:
    return ("*" in name or re.search(r"\[.+\]", name) is not None) and existing(name) is None
