"""Opens suites and models by path, built-in name or published name."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any

from wug import data, registry
from wug.errors import InputError, MissingExtra, ModelError, NotFetched, SuiteError, UnknownName, nearest, suggestion
from wug.evaluation.annotated_suite import AnnotatedSuite
from wug.evaluation.folders import DATA_SUFFIXES, contents, not_recognised
from wug.evaluation.handle import ModelHandle
from wug.files import ASSETS, existing, head, read_object, refuse_ambiguous, shortened, user_path
from wug.formatting import plural
from wug.interfaces import Family, Suite
from wug.models import ModelSpec
from wug.models.huggingface.in_memory import WatchedModel, adopt
from wug.models.huggingface.loading import backend_for
from wug.models.spec import parse
from wug.options import names, refuse_unknown
from wug.problems import Problem

MAX_LISTED_UNREAD_FILES = 5
"""Unread files of a folder that are listed in warnings; the others are counted."""
BUILTIN_PREFIX = "wug_"
"""Prefix of a family's name for its built-in suites."""

log = logging.getLogger("wug")


def builtin_suites() -> dict[str, Path]:
    """Built-in suites by name, each a file or folder in the folder of its family."""
    within = sorted((ASSETS / "suites").glob("*/*"))
    return {path.name.partition(".")[0]: path for path in within if path.is_dir() or path.suffix in DATA_SUFFIXES}


def builtin_models() -> dict[str, Path]:
    """The folders of built-in models by name; empty if wug was installed without them."""
    return {path.parent.name: path.parent for path in sorted(_models_folder().glob("*/config.json"))}


def _models_folder() -> Path:
    """The folder of built-in models: in the tree of wug, or in the package wug-models."""
    package = find_spec("wug_models")
    in_tree = ASSETS / "models"
    if in_tree.is_dir() or package is None or package.origin is None:
        return in_tree
    return Path(package.origin).parent / "models"


def builtin_model_for(suite: Suite) -> str:
    """The built-in model for a suite; InputError if its family has none."""
    name = registry.family_traits(suite.kind).builtin_model
    if name is not None and not builtin_models():
        raise MissingExtra(f"{name}, the built-in model that fits {suite.name},", "models")
    if name is None or name not in builtin_models():
        raise InputError(f"no built-in model fits the suite {suite.name}: name a model, such as causal:gpt2")
    return name


@dataclass(frozen=True, slots=True)
class ResolvedSuites:
    """The files and folders that a name of suites refers to."""

    places: Sequence[data.DataLocation]
    unread: Mapping[Path, str] = field(default_factory=dict)
    """Files of a folder that look like test data but are not read, with the reason."""
    ignored: Mapping[Path, str] = field(default_factory=dict)
    """Other files of the folder that are not read, with the reason."""


def open_suites(
    texts: str | Iterable[str],
    options: Mapping[str, str] | None = None,
    family: str | None = None,
    defaults: Mapping[str, str] | None = None,
) -> list[Suite]:
    """The suites of files, folders, built-in names (`wug_cogs` for all of a family) or published names.

    Each suite gets the options that its family has. An option that no family has is refused before anything is read.
    `defaults` are options of a protocol; a family without the first of them cannot follow it.
    """
    chosen_options = options or {}
    resolved = [find_suites(text, family, chosen_options) for text in ([texts] if isinstance(texts, str) else texts)]
    places = [place for resolution in resolved for place in resolution.places]
    families = [recognised_family(place.path, family or _known_family(place), chosen_options) for place in places]
    refuse_unknown_options(places, family, chosen_options)
    for resolution in resolved:
        _warn_unread(resolution)
    suites: list[tuple[Suite, data.DataLocation]] = []
    for place, reader in zip(places, families, strict=True):
        _require_rules(defaults or {}, reader, place)
        read = read_place(replace(place, options={**place.options, **(defaults or {})}), reader, chosen_options)
        for file, items in counts(place, read).items():
            log.info("%s: %s", file, plural(items, "item"))
        suites += ((suite, place) for suite in read)
    # Several suites of a set keep their own names.
    times = Counter(place.name for _, place in suites)
    return [
        AnnotatedSuite(suite, place.record, place.name if times[place.name] == 1 else None) if place.record else suite
        for suite, place in suites
    ]


def _require_rules(defaults: Mapping[str, str], family: Family, place: data.DataLocation) -> None:
    """InputError for a family without the first option of a protocol."""
    if defaults and next(iter(defaults)) not in names(family.OPTIONS):
        raise InputError(f"the protocol has no rules for suites of the family {family.name}", file=place.path)


def _known_family(place: data.DataLocation) -> str | None:
    """The family of a file in a folder or in the catalogue; None if its content has to identify it."""
    return place.family if place.family in registry.names("families") else None


def read_place(place: data.DataLocation, family: Family, options: Mapping[str, str]) -> list[Suite]:
    """Read the suites of a file or folder with those options that its family has."""
    chosen_options, known_options = {**place.options, **options}, names(family.OPTIONS)
    return family.read(place.path, {name: chosen_options[name] for name in known_options if name in chosen_options})


def counts(place: data.DataLocation, suites: Iterable[Suite]) -> dict[str, int]:
    """The number of items by file, or by suite if a folder contains several suites."""
    every = list(suites)
    items_by_file: dict[str, int] = {}
    for suite in every:
        alone = {"" if len(every) == 1 else suite.name: len(suite)}
        sources: Mapping[str, int] = getattr(suite, "sources", None) or alone
        items_by_file |= {
            str(place.path / file) if place.path.is_dir() else str(place.path): n for file, n in sources.items()
        }
    return items_by_file


def _warn_unread(resolved: ResolvedSuites) -> None:
    """Warn about unread files; with -v, also list files that are ignored."""
    for number, (file, why) in enumerate(resolved.unread.items()):
        if number < MAX_LISTED_UNREAD_FILES:
            log.warning("%s: not read: %s", file, why)
    if len(resolved.unread) > MAX_LISTED_UNREAD_FILES:
        log.warning(
            "%s more files are not read: `wug check` names them", f"{len(resolved.unread) - MAX_LISTED_UNREAD_FILES:,}"
        )
    for file, why in resolved.ignored.items():
        log.info("%s: left out: %s", file, why)


def suite_paths(text: str) -> list[Path]:
    """The files or folders that a name of suites refers to."""
    return [place.path for place in find_suites(text).places]


def find_suites(text: str, family: str | None = None, options: Mapping[str, str] | None = None) -> ResolvedSuites:
    """Resolve a name of suites: a path, a built-in name or a published name."""
    if not text.strip():
        raise InputError("the name of a suite is empty. Name a file, a folder, or one of `wug list suites`")
    path = user_path(text)
    if path.exists():
        if path.suffix not in DATA_SUFFIXES:  # a suffix marks the name of a file
            refuse_ambiguous(text, _named(text))
        return _expand_folder(data.location_of(path) or data.DataLocation(path), family, options)
    if builtin := _builtin(text):
        return ResolvedSuites([data.DataLocation(path_of_suite) for path_of_suite in builtin])
    try:
        places = data.run_locations(text)
    except NotFetched as error:
        more = f"; built-in suites: {BUILTIN_PREFIX}{text}" if _builtin(BUILTIN_PREFIX + text) else ""
        raise NotFetched(f"{error}{more}") from None
    if places is not None:
        # A set that is one suite is read as a whole: its content may not identify the family.
        whole = (
            [place]
            if data.is_one_suite(place.family)
            else _expand_folder(place, family or _reader(place), options).places
            for place in places
        )
        return ResolvedSuites([place for group in whole for place in group])
    if "/" in text or path.suffix in DATA_SUFFIXES:
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        meant = suggestion(path.name, near) if near else ""
        if path.name in data.names():  # written as on the Hugging Face Hub
            meant = f" The published set is called {path.name}"
        raise InputError(f"no such file or folder.{meant}", file=text)
    groups = (BUILTIN_PREFIX + family for family in registry.names("families"))
    known = [*builtin_suites(), *groups, *data.names()]
    if nearest(text, known) is None:
        raise InputError(
            f"unknown suite {shortened(text)!r}: no file or folder here, no built-in suite (wug list suites) and no "
            "published set (wug data list) has this name"
        )
    raise UnknownName("suite", shortened(text), known)


def _builtin(text: str) -> list[Path]:
    """The built-in suites with a name: one, or all of a family (`wug_cogs`; also `pairs`, if no set has that name)."""
    every = builtin_suites()
    if text in every:
        return [every[text]]
    family = text.removeprefix(BUILTIN_PREFIX)
    if family == text and text in data.names():
        return []
    return [path for path in every.values() if path.parent.name == family]


def _named(text: str) -> Iterator[tuple[str, str]]:
    """What a name means, other than a file or folder here, and how to write it unambiguously."""
    if builtin := _builtin(text):
        several = len(builtin) > 1
        yield f"the built-in suite{'s' * several}", str(builtin[0].parent if several else builtin[0])
    if data.is_known(text):
        yield f"the published set {data.find(text).name}", f'"$(wug data path {text})"'


def recognised_family(path: Path, family: str | None = None, options: Collection[str] = ()) -> Family:
    """The family of a file or folder, by its content, or else by options that only one family has."""
    if family is not None:
        return registry.family(family)
    start, families = head(path), registry.families()
    for reader in families:
        if reader.recognises(path, start):
            return reader
    for reader in families:
        if set(reader.TRAITS.identifying_options) & set(options):
            return reader
    for reader in families:
        if path.name.lower().removesuffix(".gz").endswith(reader.TRAITS.fallback_suffixes):
            return reader  # it reports what the file lacks
    raise not_recognised(path)


def check_file(path: Path, family: str | None = None, options: Mapping[str, str] | None = None) -> list[Problem]:
    """Every error and warning about a file, as read with these options."""
    chosen_options = options or {}
    reader = recognised_family(path, family, chosen_options)
    refuse_unknown(chosen_options, names(reader.OPTIONS), reader.name)
    takes_options = len(signature(reader.check).parameters) > 1
    if chosen_options and not takes_options:
        raise InputError(f"the family {reader.name} checks its files without options: leave out -S")
    try:
        return reader.check(path, chosen_options) if takes_options else reader.check(path)
    except SuiteError as error:
        return list(error.problems)
    except InputError as error:
        return [Problem("error", error.place or "", error.message)]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of checking a file or folder."""

    problems: Sequence[Problem]
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of items by file or suite; empty if there are errors."""
    meaning: Sequence[str] = ()
    """How it was read and what it tests, in English, if its family has `read_back`."""


def check_place(place: data.DataLocation, family: str | None, options: Mapping[str, str]) -> CheckReport:
    """Check a file or folder; without errors, also read it and count its items."""
    chosen_options = {**place.options, **options}
    try:
        reader = recognised_family(place.path, family or _known_family(place), chosen_options)
        known_options = names(reader.OPTIONS)
        own_options = {name: value for name, value in chosen_options.items() if name in known_options}
        problems = check_file(place.path, reader.name, own_options)
        if any(problem.level == "error" for problem in problems):
            return CheckReport(problems)
        suites = read_place(place, reader, options)
    except SuiteError as error:
        return CheckReport(error.problems)
    except InputError as error:
        return CheckReport([Problem("error", "" if error.file is None else error.place or "", error.message)])
    meaning = [line for suite in suites for line in reader.read_back(suite)]
    items_by_file = counts(place, suites)
    within = {file.removeprefix(f"{place.path}/"): items for file, items in items_by_file.items()}
    return CheckReport(problems, within, meaning)


def refuse_unknown_options(places: Iterable[data.DataLocation], family: str | None, options: Mapping[str, str]) -> None:
    """UnknownOption for an option that no family of these files has."""
    options_by_family: dict[str, list[str]] = {}
    for place in places:
        with suppress(InputError):  # a file of no family, reported when it is read
            reader = recognised_family(place.path, family or _known_family(place), options)
            options_by_family[reader.name] = names(reader.OPTIONS)
    if options_by_family:
        refuse_unknown(options, dict.fromkeys(chain(*options_by_family.values())), ", ".join(sorted(options_by_family)))


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
    backends = registry.names("models")
    outer, _, inner = text.partition(":")
    if prompted := registry.traits(outer).prompts if outer in backends else "":
        text = f"{outer}:{inner.removeprefix(f'{prompted}:')}"
    name, mark, query = text.partition("?")
    called = None
    if name in (builtin := builtin_models()):
        refuse_ambiguous(name, [("the built-in model", str(builtin[name]))])
        text, called = f"{builtin[name]}{mark}{query}", name
    elif name.startswith("wug-") and not existing(name):
        if not builtin:
            raise MissingExtra(f"{name}, a built-in model,", "models")
        raise UnknownName("built-in model", name, builtin)
    elif ":" not in name and not existing(name) and nearest(name, list(builtin)):
        raise UnknownName("model", name, builtin)
    backend_name, _, bare = name.partition(":")
    if backend_name in backends and bare in builtin and not existing(bare):
        text, called = f"{backend_name}:{builtin[bare]}{mark}{query}", name
    path = existing(text.partition("?")[0])
    if path and (path / "config.json").is_file():
        text = f"{_backend_of_folder(path)}:{text}"
    elif path and path.is_file() and (of_file := registry.backend_with(lambda traits: path.suffix in traits.suffixes)):
        text = f"{of_file}:{text}"
    elif alias := registry.backend_with(lambda traits: text.startswith(traits.aliases)):
        text = f"{alias}:{text}"
    spec = replace(parse(text, backends, options), alias=called)
    if not registry.traits(spec.backend).uses_device:
        return spec
    default, device_option = ({"device": name} if name else {} for name in (os.environ.get("WUG_DEVICE"), device))
    return replace(spec, options={**default, **spec.options, **device_option, **(options or {})})


def _backend_of_folder(folder: Path) -> str:
    if backend := backend_for(read_object(folder / "config.json")):
        return backend
    raise ModelError(f"{folder}: its config.json does not say what kind of model it is. Write causal:{folder}")


def _reader(place: data.DataLocation) -> str | None:
    """The family of a published set, if it reads folders as a whole."""
    return place.family if registry.family_traits(place.family).reads_folders else None


def _expand_folder(place: data.DataLocation, family: str | None, options: Mapping[str, str] | None) -> ResolvedSuites:
    """A file, or the files of a folder that families read."""
    whole = family is not None and registry.family_traits(family).reads_folders
    if whole or not place.path.is_dir():
        return ResolvedSuites([place])
    scanned = contents(place.path, family, {**place.options, **(options or {})})
    places = [replace(place, path=path, family=family) for path, family in scanned.readable]
    return ResolvedSuites(places, scanned.unread, scanned.ignored)


def open_loaded(model: Any, tokenizer: Any = None, options: Mapping[str, str] | None = None) -> ModelHandle:
    """Open a model that the user has loaded; it has the id of its folder if it equals its files."""
    chosen_options = dict(options or {})
    backend_name = _backend_of_object(model)
    backend = registry.backend(backend_name)
    # An unknown option is refused at once.
    ModelSpec(backend_name, type(model).__name__, None, chosen_options).read(backend.OPTIONS)
    adopted = adopt(backend_name, model, tokenizer, chosen_options)
    assert backend.from_loaded is not None
    watched = WatchedModel(backend.from_loaded(adopted.loaded, adopted.spec), model)
    return ModelHandle.from_loaded(watched, adopted.spec if adopted.from_files else None)


def _backend_of_object(model: Any) -> str:
    """The backend for a model object of transformers, by the name of its class."""
    name = type(model).__name__
    encoder_decoder = bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))
    backend = registry.backend_with(
        lambda traits: traits.auto_class is not None and name.endswith(traits.architectures)
    ) or registry.backend_with(lambda traits: encoder_decoder and traits.auto_class == "AutoModelForSeq2SeqLM")
    if backend is None:
        raise ModelError(
            f"{name} is not a language model that wug can evaluate. Load it with AutoModelForCausalLM, "
            "AutoModelForMaskedLM or AutoModelForSeq2SeqLM"
        )
    return backend
