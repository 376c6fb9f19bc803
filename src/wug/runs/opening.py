"""From what a user writes to a model or to suites: paths, built-in names, kinds."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.util import find_spec
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias

from wug import data, registry
from wug.errors import InputError, MissingExtra, ModelError, NotFetched, UnknownName, nearest, suggestion
from wug.files import existing, head, require_text, shortened, user_path
from wug.models import Identity, ModelSpec, parse
from wug.options import names, refuse_unknown
from wug.runs.deferred import DeferredGenerator, defer
from wug.runs.meanings import Meaning, refuse_ambiguous
from wug.runs.published import published
from wug.types import Problem, Suite

SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".tab", ".txt", ".src", ".gz")
"""What a file with material is called; the rest of a folder is passed over."""
NAMES_PAIRS = frozenset({"good", "form", "lines"})
"""Options that only a file of pairs can need: what its grammatical side is."""
BUILTIN = "wug_"
"""What stands before a family's name where its built-in suites are meant."""
BUILTIN_MODELS = {
    "syntaxgym": "wug-causal",
    "pairs": "wug-causal",
    "choices": "wug-causal",
    "pcfgset": "wug-pcfg",
    "cogs": "wug-cogs",
}
"""Who is asked where the user names no model, by the family of the suite."""

Identify: TypeAlias = Callable[[ModelSpec], Identity | None]
"""What a backend may offer: what a model is, told from its files, or None where only loading tells."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A model, and how the user asked for it; it can do what the model can."""

    model: Any
    """A Scorer or a Generator."""
    spec: ModelSpec | None = None
    """As the user named it, with all options that were given: answers are kept under all of them, also under those
    that are said to change nothing."""

    @property
    def given(self) -> Mapping[str, str]:
        """The options that the user gave."""
        return {} if self.spec is None else self.spec.options

    @property
    def can(self) -> Literal["scorer", "generator"]:
        """What kind of question it answers."""
        if isinstance(self.model, DeferredGenerator):  # any other name would load it
            return "generator"
        return "scorer" if callable(getattr(self.model, "score", None)) else "generator"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def assets() -> Path:
    """The folder of built-in material."""
    return Path(str(files("wug") / "assets"))


def builtin_suites() -> dict[str, Path]:
    """Built-in suites by name, each a file or a folder within that of its family."""
    within = sorted((assets() / "suites").glob("*/*"))
    return {path.name.partition(".")[0]: path for path in within if path.is_dir() or path.suffix in SUFFIXES}


def builtin_models() -> dict[str, Path]:
    """The folders of built-in models by name; none where wug was installed without them."""
    return {path.parent.name: path.parent for path in sorted(_models_folder().glob("*/config.json"))}


def _models_folder() -> Path:
    """Where the built-in models are: in the tree of wug, or in the package wug-models."""
    package = find_spec("wug_models")
    in_tree = assets() / "models"
    if in_tree.is_dir() or package is None or package.origin is None:
        return in_tree
    return Path(package.origin).parent / "models"


def builtin_model_for(suite: Suite) -> str:
    """The built-in model that fits a suite, or an error where the suite is of a family that has none."""
    name = BUILTIN_MODELS.get(suite.kind)
    if name is not None and not builtin_models():
        raise MissingExtra(f"{name}, the built-in model that fits {suite.name},", "models")
    if name not in builtin_models():
        raise InputError(f"no built-in model fits the suite {suite.name}: name one with --model, such as causal:gpt2")
    return name


def open_suites(
    texts: str | Iterable[str], options: Mapping[str, str] | None = None, kind: str | None = None
) -> list[Suite]:
    """The suites of files, folders, built-in names (`wug_cogs` gives all of a family's) or names of the catalogue.

    Each is told the options that its family has; one that no family of them has is refused before anything is read.
    """
    given = options or {}
    places = [place for text in ([texts] if isinstance(texts, str) else texts) for place in _located(text, kind)]
    # Files of pairs may be such that only the catalogue tells what they are.
    families = [
        "pairs" if place.family == "pairs" and not kind else family_of(place.path, kind, given) for place in places
    ]
    known = {family: names(registry.find("families", family).OPTIONS) for family in families}
    refuse_unknown(given, dict.fromkeys(chain(*known.values())), ", ".join(sorted(known)))
    suites: list[Suite] = []
    for place, family in zip(places, families, strict=True):
        own = {name: value for name, value in {**place.options, **given}.items() if name in known[family]}
        read: list[Suite] = registry.find("families", family).read(place.path, own)
        suites += (published(suite, place.record, place.name) for suite in read) if place.record else read
    return suites


def require_packages(suites: Iterable[Suite]) -> None:
    """MissingExtra where judging will need a package that is not there: better now than after the model was asked."""
    for family in dict.fromkeys(suite.kind for suite in suites):
        module = registry.find("families", family)
        if "require_packages" in vars(module):
            module.require_packages()


def locate(text: str, kind: str | None = None) -> list[Path]:
    """The files or folders that a user's word for a suite stands for."""
    return [place.path for place in _located(text, kind)]


def _located(text: str, kind: str | None) -> list[data.Place]:
    """The same, with what is known about each from elsewhere than its content."""
    if not text.strip():
        raise InputError("the name of a suite is empty. Name a file, a folder, or one of `wug list suites`")
    path = user_path(text)
    if path.exists():
        if path.suffix not in SUFFIXES:  # with an ending, a file is meant
            refuse_ambiguous(text, _named(text))
        place = data.known(path) or data.Place(path)
        return [replace(place, path=file) for file in _within(path, kind)]
    if builtin := _builtin(text):
        return [data.Place(found) for found in builtin]
    try:
        places = data.for_a_run(text)
    except NotFetched as error:
        more = f"; built-in suites: {BUILTIN}{text}" if _builtin(BUILTIN + text) else ""
        raise NotFetched(f"{error}{more}") from None
    if places is not None:
        # A folder of pairs is taken as a whole: its content alone may not tell that it is one.
        whole = ((place, [place.path] if place.family == "pairs" else _within(place.path, kind)) for place in places)
        return [replace(place, path=file) for place, files in whole for file in files]
    if "/" in text or path.suffix in SUFFIXES:
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"no such file or folder.{suggestion(path.name, near) if near else ''}", file=text)
    groups = (BUILTIN + family for family in registry.names("families"))
    known = [*builtin_suites(), *groups, *data.names()]
    if nearest(text, known) is None:
        raise InputError(
            f"unknown suite {shortened(text)!r}: no file or folder here, no built-in suite (wug list suites) and no "
            "published set (wug data list) is called so"
        )
    raise UnknownName("suite", shortened(text), known)


def _builtin(text: str) -> list[Path]:
    """The built-in suites of a name: one, or all of a family's (`wug_cogs`; also `pairs`, as no set is called so)."""
    every = builtin_suites()
    if text in every:
        return [every[text]]
    family = text.removeprefix(BUILTIN)
    if family == text and text in data.names():
        return []
    return [found for found in every.values() if found.parent.name == family]


def _named(text: str) -> Iterator[Meaning]:
    """What a word stands for beside a file or folder of that name."""
    if builtin := _builtin(text):
        several = len(builtin) > 1
        yield Meaning(f"the built-in suite{'s' * several}", str(builtin[0].parent if several else builtin[0]))
    if data.knows(text):
        yield Meaning(f"the published set {data.find(text).name}", f'"$(wug data path {text})"')


def family_of(path: Path, kind: str | None = None, options: Collection[str] = ()) -> str:
    """The family that a file or folder belongs to, by its content, or else by options that only one family has."""
    if kind is not None:
        registry.find("families", kind)
        return kind
    start = head(path)
    for name, family in registry.usable("families"):
        if family.recognises(path, start):
            return name
    require_text(path)
    if NAMES_PAIRS & set(options):
        return "pairs"
    kinds = ", ".join(registry.names("families"))
    empty = path.is_file() and path.stat().st_size == 0
    what = "the file is empty" if empty else f"its content is of no family that wug knows ({kinds})"
    remedy = (
        "A table with columns of its own: -S good=COLUMN -S bad=COLUMN. A sentence a line, good and bad in turn: "
        "-S lines=good-bad, or bad-good"
    )
    raise InputError(what if empty else f"{what}. {remedy}", file=path)


def check_file(path: Path, kind: str | None = None, options: Mapping[str, str] | None = None) -> list[Problem]:
    """Every fault and oddity of a file, as it would be read with these options."""
    given = options or {}
    family = family_of(path, kind, given)
    module = registry.find("families", family)
    refuse_unknown(given, names(module.OPTIONS), family)
    takes_options = len(signature(module.check).parameters) > 1
    if given and not takes_options:
        raise InputError(f"the family {family} checks its files without options: leave out -S")
    problems: list[Problem] = module.check(path, given) if takes_options else module.check(path)
    return problems


def read_back(path: Path, kind: str | None = None, options: Mapping[str, str] | None = None) -> list[str]:
    """What a file without faults asks, in English, where its family can tell."""
    tell = vars(registry.find("families", family_of(path, kind, options or {}))).get("read_back")
    return [] if tell is None else list(tell(path, options or {}))


def open_model(named: str | ModelSpec, options: Mapping[str, str] | None = None) -> Opened:
    """The model that a user names: loaded, or known by its files and loaded when it is first asked."""
    spec = model_spec(named, options) if isinstance(named, str) else named
    return open_unloaded(spec) or Opened(_load(registry.find("models", spec.kind), spec), spec)


def open_unloaded(spec: ModelSpec) -> Opened | None:
    """The model, known by its files and loaded when it is first asked; None where only loading tells what it is."""
    backend = registry.find("models", spec.kind)
    spec.read(backend.OPTIONS)
    identify: Identify | None = vars(backend).get("identify")
    identity = None if identify is None else identify(spec)
    return None if identity is None else Opened(defer(identity, lambda: _load(backend, spec)), spec)


_LOADING = threading.RLock()


def _load(backend: Any, spec: ModelSpec) -> Any:
    """The model, loaded: one at a time, since backends need not bear more."""
    with _LOADING:
        return backend.load(spec)


def model_spec(text: str, options: Mapping[str, str] | None = None, device: str | None = None) -> ModelSpec:
    """Parse a model's name; the kind of a bare folder or .pt file is told by what it is.

    `device`, or else the environment variable WUG_DEVICE, is for backends that use one; `options` come first.
    """
    kinds = registry.names("models")
    name, mark, given = text.partition("?")
    if name in (builtin := builtin_models()):
        refuse_ambiguous(name, [Meaning("the built-in model", str(builtin[name]))])
        text = f"{builtin[name]}{mark}{given}"
    elif name.startswith("wug-") and not existing(name):
        if not builtin:
            raise MissingExtra(f"{name}, a built-in model,", "models")
        raise UnknownName("built-in model", name, builtin)
    elif ":" not in name and not existing(name) and nearest(name, list(builtin)):
        raise UnknownName("model", name, builtin)
    kind, _, bare = name.partition(":")
    if kind in kinds and bare in builtin and not existing(bare):
        text = f"{kind}:{builtin[bare]}{mark}{given}"
    path = existing(text.partition("?")[0])
    if path and (path / "config.json").is_file():
        text = f"{_kind_of(path)}:{text}"
    elif path and path.is_file() and (of_file := registry.backend_with(lambda traits: path.suffix in traits.suffixes)):
        text = f"{of_file}:{text}"
    elif alias := registry.backend_with(lambda traits: text.startswith(traits.aliases)):
        text = f"{alias}:{text}"
    spec = parse(text, kinds, options)
    if not registry.traits(spec.kind).uses_device:
        return spec
    default, wanted = ({"device": name} if name else {} for name in (os.environ.get("WUG_DEVICE"), device))
    return replace(spec, options={**default, **spec.options, **wanted, **(options or {})})


def _kind_of(folder: Path) -> str:
    try:
        config: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{folder / 'config.json'}: cannot be read: {error}") from None
    named = config.get("architectures") if isinstance(config, dict) else None
    for architecture in named if isinstance(named, list) else ():
        if isinstance(architecture, str) and (kind := _backend_for(architecture)):
            return kind
    raise ModelError(f"{folder}: its config.json does not say what kind of model it is. Write causal:{folder}")


def _backend_for(architecture: str) -> str | None:
    """The backend whose models have this architecture."""
    return registry.backend_with(lambda traits: architecture.endswith(traits.architectures))


def _within(path: Path, kind: str | None) -> list[Path]:
    """A file; a folder that a family takes whole; or the files of a folder."""
    if not path.is_dir():
        return [path]
    families = [registry.find("families", kind)] if kind else [module for _, module in registry.usable("families")]
    if any(family.recognises(path, "") for family in families):
        return [path]
    found = [file for file in sorted(path.iterdir()) if file.is_file() and file.suffix in SUFFIXES]
    if not found:
        raise InputError("the folder has no suite in it", file=path)
    return found
