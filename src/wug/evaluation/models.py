"""Names of models: opens and parses them, and expands patterns and lists.

`causal:runs/*/checkpoint-*` matches folders, `causal:EleutherAI/pythia-70m@step*` revisions on the Hugging Face Hub,
and `@models.txt` is a file with one model per line. `*` matches anything, `[…]` one of some characters; `?` begins
options. Models that the user has loaded are opened, too.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from wug import registry
from wug.errors import InputError, MissingExtra, ModelError, UnknownName, nearest
from wug.evaluation.handle import ModelHandle
from wug.files import ASSETS, existing, read_lines, read_object, refuse_ambiguous, shortened, user_path
from wug.interfaces import Suite
from wug.models import ModelSpec
from wug.models.spec import parse


class ExpandedModel(NamedTuple):
    """The name of one model."""

    text: str
    commit: str | None = None
    """The current commit of a revision on the Hugging Face Hub."""


def builtin_models() -> dict[str, Path]:
    """The folders of built-in models by name, in wug or in the package wug-models; empty if that is not installed."""
    folder, package = ASSETS / "models", find_spec("wug_models")
    if not folder.is_dir() and package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "models"
    return {path.parent.name: path.parent for path in sorted(folder.glob("*/config.json"))}


def builtin_model_for(suite: Suite) -> str:
    """The built-in model for a suite; InputError if its family has none."""
    name = registry.family_traits(suite.kind).builtin_model
    if name is not None and not builtin_models():
        raise MissingExtra(f"{name}, the built-in model that fits {suite.name},", "models")
    if name is None or name not in builtin_models():
        raise InputError(f"no built-in model fits the suite {suite.name}: name a model, such as causal:gpt2")
    return name


def open_model(named: str | ModelSpec, options: Mapping[str, str] | None = None) -> ModelHandle:
    """Open a model by name: identified by its files and loaded on demand, or loaded now if that is impossible."""
    spec = model_spec(named, options) if isinstance(named, str) else named
    return identify_model(spec) or ModelHandle.from_loaded(registry.backend(spec.backend).load(spec), spec)


def identify_model(spec: ModelSpec) -> ModelHandle | None:
    """The model, identified by its files and not loaded; None if it has to be loaded to identify it."""
    backend = registry.backend(spec.backend)
    spec.read(backend.OPTIONS)
    identity = backend.identify(spec)
    return None if identity is None else ModelHandle(identity, lambda: backend.load(spec), spec)


def model_spec(text: str, options: Mapping[str, str] | None = None, device: str | None = None) -> ModelSpec:
    """Parse a model's name; the backend of a bare folder or .pt file is inferred from its content.

    `device`, or the environment variable WUG_DEVICE, applies to backends that use one; `options` take precedence.
    """
    outer, _, inner = text.partition(":")
    if prompted := registry.traits(outer).prompts if outer in registry.names("models") else "":
        text = f"{outer}:{inner.removeprefix(f'{prompted}:')}"  # `prompt:causal:gpt2` is `prompt:gpt2`
    name, mark, query = text.partition("?")
    builtin = _builtin_folder(name)
    spec = parse(_with_backend(f"{builtin or name}{mark}{query}"), registry.names("models"), options)
    spec = replace(spec, alias=name if builtin else None)
    if not registry.traits(spec.backend).uses_device:
        return spec
    default, device_option = ({"device": name} if name else {} for name in (os.environ.get("WUG_DEVICE"), device))
    return replace(spec, options={**default, **spec.options, **device_option, **(options or {})})


def _builtin_folder(name: str) -> str | None:
    """The folder of a built-in model, after its backend if one is named; None for other models.

    An unknown name that resembles that of a built-in model is refused.
    """
    builtin = builtin_models()
    if name in builtin:
        refuse_ambiguous(name, [("the built-in model", str(builtin[name]))])
        return str(builtin[name])
    if name.startswith("wug-") and not existing(name):
        if not builtin:
            raise MissingExtra(f"{name}, a built-in model,", "models")
        raise UnknownName("built-in model", name, builtin)
    if ":" not in name and not existing(name) and nearest(name, list(builtin)):
        raise UnknownName("model", name, builtin)
    backend, _, bare = name.partition(":")
    is_builtin = backend in registry.names("models") and bare in builtin and not existing(bare)
    return f"{backend}:{builtin[bare]}" if is_builtin else None


def _with_backend(text: str) -> str:
    """The name of a model after its backend, which a folder, the suffix of a file or the name itself identifies."""
    path = existing(text.partition("?")[0])
    if path and (path / "config.json").is_file():
        if (backend := registry.backend_of_config(read_object(path / "config.json"))) is None:
            raise ModelError(f"{path}: its config.json does not say what kind of model it is. Write causal:{path}")
        return f"{backend}:{text}"
    of_file = registry.backend_with(lambda traits: path.suffix in traits.suffixes) if path and path.is_file() else None
    backend = of_file or registry.backend_with(lambda traits: text.startswith(traits.aliases))
    return f"{backend}:{text}" if backend else text


def open_loaded(model: Any, tokenizer: Any = None, options: Mapping[str, str] | None = None) -> ModelHandle:
    """Open a model that the user has loaded; it has the id of its folder if it equals its files."""
    for backend in registry.backends():
        if opened := backend.open_loaded(model, tokenizer, dict(options or {})):
            return ModelHandle.from_loaded(*opened)
    raise ModelError(
        f"{type(model).__name__} is not a language model that wug can evaluate. Load it with AutoModelForCausalLM, "
        "AutoModelForMaskedLM or AutoModelForSeq2SeqLM"
    )


def is_pattern(text: str) -> bool:
    """Whether a text is a pattern or a list of models."""
    backend, name, _ = _split_name(text)
    return text.startswith("@") or (not registry.traits(backend).verbatim_names and _has_wildcards(name))


def expand(texts: Iterable[str]) -> list[ExpandedModel]:
    """The models of names, patterns and lists, in order, each once."""
    return list({named.text: named for text in texts for named in _expanded(text)}.values())


def natural_sort_key(text: str) -> list[tuple[int, int, str]]:
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
    fitting = sorted(glob.glob(pattern), key=natural_sort_key)  # noqa: PTH207 (names as they are written, no hidden ones)
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
    fitting = sorted((revision for revision in commits if fnmatchcase(revision, pattern)), key=natural_sort_key)
    if not fitting:
        listed = ", ".join(sorted(commits, key=natural_sort_key)[:8]) + (", …" if len(commits) > 8 else "")
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
