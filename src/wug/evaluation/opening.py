"""From what a user writes to a model or to suites: paths, built-in names, kinds."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.resources import files
from importlib.util import find_spec
from inspect import signature
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from wug import data, registry
from wug.errors import InputError, MissingExtra, ModelError, NotFetched, SuiteError, UnknownName, nearest, suggestion
from wug.evaluation.ambiguity import Meaning, refuse_ambiguous
from wug.evaluation.folders import SUFFIXES, contents, not_recognised
from wug.evaluation.handle import ModelHandle
from wug.evaluation.published import published
from wug.files import existing, head, shortened, user_path
from wug.models import Identity, ModelSpec, WatchedModel, adopt, backend_for, parse, read_config
from wug.options import names, refuse_unknown
from wug.types import Problem, Suite

UNREAD = 5
"""Files of a folder that are not read and are named in a warning each; others are counted."""
BUILTIN = "wug_"
"""What stands before a family's name where its built-in suites are meant."""

log = logging.getLogger("wug")

Identify: TypeAlias = Callable[[ModelSpec], Identity | None]
"""What a backend may offer: a model's identity from its files, or None where only loading tells."""


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
    name: str | None = registry.offered("families", suite.kind, "BUILTIN_MODEL")
    if name is not None and not builtin_models():
        raise MissingExtra(f"{name}, the built-in model that fits {suite.name},", "models")
    if name is None or name not in builtin_models():
        raise InputError(f"no built-in model fits the suite {suite.name}: name a model, such as causal:gpt2")
    return name


@dataclass(frozen=True, slots=True)
class Located:
    """What a user's word for suites stands for."""

    places: Sequence[data.Place]
    unread: Mapping[Path, str] = field(default_factory=dict)
    """Files of a folder that look like test data and are not read, with the reason."""
    ignored: Mapping[Path, str] = field(default_factory=dict)
    """Its other files that are not read."""


def open_suites(
    texts: str | Iterable[str],
    options: Mapping[str, str] | None = None,
    kind: str | None = None,
    defaults: Mapping[str, str] | None = None,
) -> list[Suite]:
    """The suites of files, folders, built-in names (`wug_cogs` gives all of a family's) or names of the catalogue.

    Each gets the options that its family has. An option that no family has is refused before anything is read.
    `defaults` are options of a protocol: a family without the first of them cannot follow it.
    """
    given = options or {}
    words = [located(text, kind, given) for text in ([texts] if isinstance(texts, str) else texts)]
    places = [place for one in words for place in one.places]
    families = [family_of(place.path, kind or _trusted(place), given) for place in places]
    refuse_unknown_options(places, kind, given)
    for one in words:
        _tell_unread(one)
    found: list[tuple[Suite, data.Place]] = []
    for place, family in zip(places, families, strict=True):
        _require_rules(defaults or {}, family, place)
        read = read_place(replace(place, options={**place.options, **(defaults or {})}), family, given)
        for file, items in counts(place, read).items():
            log.info("%s: %s item%s", file, f"{items:,}", "s" * (items != 1))
        found += ((suite, place) for suite in read)
    # Several suites of a set keep their own names.
    named = Counter(place.name for _, place in found)
    return [
        published(suite, place.record, place.name if named[place.name] == 1 else None) if place.record else suite
        for suite, place in found
    ]


def _require_rules(defaults: Mapping[str, str], family: str, place: data.Place) -> None:
    """InputError for a family without the first option of a protocol."""
    known = names(registry.find("families", family).OPTIONS)
    if defaults and next(iter(defaults)) not in known:
        raise InputError(f"the protocol has no rules for suites of the family {family}", file=place.path)


def _trusted(place: data.Place) -> str | None:
    """The family that a folder's contents or the catalogue tell; None where the content of the file does."""
    return place.family if place.family in registry.names("families") else None


def read_place(place: data.Place, family: str, options: Mapping[str, str]) -> list[Suite]:
    """The suites of a file or a folder, which its family reads with the options that it has."""
    module = registry.find("families", family)
    given = {**place.options, **options}
    suites: list[Suite] = module.read(
        place.path, {name: given[name] for name in names(module.OPTIONS) if name in given}
    )
    return suites


def counts(place: data.Place, suites: Iterable[Suite]) -> dict[str, int]:
    """The number of items by file, or by suite where a family makes several suites of a folder."""
    every = list(suites)
    found: dict[str, int] = {}
    for suite in every:
        alone = {"" if len(every) == 1 else suite.name: len(suite)}
        sources: Mapping[str, int] = getattr(suite, "sources", None) or alone
        found |= {str(place.path / file) if place.path.is_dir() else str(place.path): n for file, n in sources.items()}
    return found


def _tell_unread(word: Located) -> None:
    """Warn of files that are not read, and with -v name those that nobody expects to be."""
    for number, (file, why) in enumerate(word.unread.items()):
        if number < UNREAD:
            log.warning("%s: not read: %s", file, why)
    if len(word.unread) > UNREAD:
        log.warning("%s more files are not read: `wug check` names them", f"{len(word.unread) - UNREAD:,}")
    for file, why in word.ignored.items():
        log.info("%s: left out: %s", file, why)


def require_packages(suites: Iterable[Suite]) -> None:
    """MissingExtra where judging will need a package that is not there: better now than after the model was asked."""
    for family in dict.fromkeys(suite.kind for suite in suites):
        module = registry.find("families", family)
        if "require_packages" in vars(module):
            module.require_packages()


def locate(text: str) -> list[Path]:
    """The files or folders that a user's word for suites stands for."""
    return [place.path for place in located(text).places]


def located(text: str, kind: str | None = None, options: Mapping[str, str] | None = None) -> Located:
    """The files or folders that a user's word for suites stands for, with what is known about each."""
    if not text.strip():
        raise InputError("the name of a suite is empty. Name a file, a folder, or one of `wug list suites`")
    path = user_path(text)
    if path.exists():
        if path.suffix not in SUFFIXES:  # with an ending, a file is meant
            refuse_ambiguous(text, _named(text))
        return _within(data.known(path) or data.Place(path), kind, options)
    if builtin := _builtin(text):
        return Located([data.Place(found) for found in builtin])
    try:
        places = data.for_a_run(text)
    except NotFetched as error:
        more = f"; built-in suites: {BUILTIN}{text}" if _builtin(BUILTIN + text) else ""
        raise NotFetched(f"{error}{more}") from None
    if places is not None:
        # Such a folder is read as a whole: its content alone may not tell which family it belongs to.
        whole = (
            place if data.is_one_suite(place.family) else _within(place, kind or _reader(place), options)
            for place in places
        )
        return Located([place for one in whole for place in (one.places if isinstance(one, Located) else [one])])
    if "/" in text or path.suffix in SUFFIXES:
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        meant = suggestion(path.name, near) if near else ""
        if path.name in data.names():  # written as on the Hugging Face Hub
            meant = f" The published set is called {path.name}"
        raise InputError(f"no such file or folder.{meant}", file=text)
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
    for name, identifying in registry.declared("families", "IDENTIFYING_OPTIONS").items():
        if set(identifying) & set(options):
            return name
    for name, suffixes in registry.declared("families", "FALLBACK_SUFFIXES").items():
        if path.name.lower().removesuffix(".gz").endswith(suffixes):
            return name  # whose reader says what this file lacks
    raise not_recognised(path)


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


@dataclass(frozen=True, slots=True)
class Examined:
    """What there is to say about a file or a folder that holds suites."""

    problems: Sequence[Problem]
    counts: Mapping[str, int] = field(default_factory=dict)
    """The number of items, by file or suite; nothing where there are errors."""
    meaning: Sequence[str] = ()
    """How it was read, and what it asks, in English, where its family can tell."""


def examine(place: data.Place, kind: str | None, options: Mapping[str, str]) -> Examined:
    """The problems of a file or a folder, and without errors what was read of it."""
    given = {**place.options, **options}
    try:
        family = family_of(place.path, kind or _trusted(place), given)
        known = names(registry.find("families", family).OPTIONS)
        problems = check_file(place.path, family, {name: given[name] for name in given if name in known})
        if any(problem.level == "error" for problem in problems):
            return Examined(problems)
        suites = read_place(place, family, options)
    except SuiteError as error:
        return Examined(error.problems)
    except InputError as error:
        return Examined([Problem("error", "" if error.file is None else error.place or "", error.message)])
    tell = registry.offered("families", family, "read_back")
    meaning = [line for suite in suites for line in tell(suite)] if tell else []
    found = counts(place, suites)
    within = {file.removeprefix(f"{place.path}/"): items for file, items in found.items()}
    return Examined(problems, within, meaning)


def refuse_unknown_options(places: Iterable[data.Place], kind: str | None, options: Mapping[str, str]) -> None:
    """UnknownOption where no family of some files has an option."""
    known: dict[str, list[str]] = {}
    for place in places:
        with suppress(InputError):  # a file of no family, reported when it is read
            family = family_of(place.path, kind or _trusted(place), options)
            known[family] = names(registry.find("families", family).OPTIONS)
    if known:
        refuse_unknown(options, dict.fromkeys(chain(*known.values())), ", ".join(sorted(known)))


def open_model(named: str | ModelSpec, options: Mapping[str, str] | None = None) -> ModelHandle:
    """The model that a user names: identified by its files and loaded when it is needed, or else loaded now."""
    spec = model_spec(named, options) if isinstance(named, str) else named
    return identify_model(spec) or ModelHandle.around(registry.find("models", spec.kind).load(spec), spec)


def identify_model(spec: ModelSpec) -> ModelHandle | None:
    """The model, identified by its files and not loaded; None where only loading tells what it is."""
    backend = registry.find("models", spec.kind)
    spec.read(backend.OPTIONS)
    identify: Identify | None = vars(backend).get("identify")
    identity = None if identify is None else identify(spec)
    return None if identity is None else ModelHandle(identity, lambda: backend.load(spec), spec)


def model_spec(text: str, options: Mapping[str, str] | None = None, device: str | None = None) -> ModelSpec:
    """Parse a model's name; the backend of a bare folder or .pt file is inferred from its content.

    `device`, or else the environment variable WUG_DEVICE, is for backends that use one; `options` come first.
    """
    kinds = registry.names("models")
    outer, _, inner = text.partition(":")
    if prompted := registry.traits(outer).prompts if outer in kinds else "":
        text = f"{outer}:{inner.removeprefix(f'{prompted}:')}"
    name, mark, given = text.partition("?")
    called = None
    if name in (builtin := builtin_models()):
        refuse_ambiguous(name, [Meaning("the built-in model", str(builtin[name]))])
        text, called = f"{builtin[name]}{mark}{given}", name
    elif name.startswith("wug-") and not existing(name):
        if not builtin:
            raise MissingExtra(f"{name}, a built-in model,", "models")
        raise UnknownName("built-in model", name, builtin)
    elif ":" not in name and not existing(name) and nearest(name, list(builtin)):
        raise UnknownName("model", name, builtin)
    kind, _, bare = name.partition(":")
    if kind in kinds and bare in builtin and not existing(bare):
        text, called = f"{kind}:{builtin[bare]}{mark}{given}", name
    path = existing(text.partition("?")[0])
    if path and (path / "config.json").is_file():
        text = f"{_kind_of(path)}:{text}"
    elif path and path.is_file() and (of_file := registry.backend_with(lambda traits: path.suffix in traits.suffixes)):
        text = f"{of_file}:{text}"
    elif alias := registry.backend_with(lambda traits: text.startswith(traits.aliases)):
        text = f"{alias}:{text}"
    spec = replace(parse(text, kinds, options), alias=called)
    if not registry.traits(spec.kind).uses_device:
        return spec
    default, wanted = ({"device": name} if name else {} for name in (os.environ.get("WUG_DEVICE"), device))
    return replace(spec, options={**default, **spec.options, **wanted, **(options or {})})


def _kind_of(folder: Path) -> str:
    if kind := backend_for(read_config(folder / "config.json")):
        return kind
    raise ModelError(f"{folder}: its config.json does not say what kind of model it is. Write causal:{folder}")


def _reader(place: data.Place) -> str | None:
    """The family of a published set, if it reads folders as a whole."""
    return place.family if registry.offered("families", place.family, "READS_FOLDERS") else None


def _within(place: data.Place, kind: str | None, options: Mapping[str, str] | None) -> Located:
    """A file as it is; of a folder what families read of it."""
    whole = kind is not None and bool(registry.offered("families", kind, "READS_FOLDERS"))
    if whole or not place.path.is_dir():
        return Located([place])
    made = contents(place.path, kind, {**place.options, **(options or {})})
    return Located([replace(place, path=path, family=family) for path, family in made.found], made.unread, made.ignored)


def open_loaded(model: Any, tokenizer: Any = None, options: Mapping[str, str] | None = None) -> ModelHandle:
    """A loaded model with its tokenizer, known as the same model is that is opened by its name."""
    given = dict(options or {})
    kind = _kind(model)
    backend = registry.find("models", kind)
    ModelSpec(kind, type(model).__name__, None, given).read(backend.OPTIONS)  # an unknown option is refused at once
    adopted = adopt(kind, model, tokenizer, given)
    answering = WatchedModel(backend.around(adopted.loaded, adopted.spec), model)
    return ModelHandle.around(answering, adopted.spec if adopted.from_files else None)


def _kind(model: Any) -> str:
    """The backend for a model object of transformers, by the name of its class."""
    name = type(model).__name__
    encoder_decoder = bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))
    kind = registry.backend_with(
        lambda traits: traits.auto_class is not None and name.endswith(traits.architectures)
    ) or registry.backend_with(lambda traits: encoder_decoder and traits.auto_class == "AutoModelForSeq2SeqLM")
    if kind is None:
        raise ModelError(
            f"{name} is not a language model that wug can evaluate. Load it with AutoModelForCausalLM, "
            "AutoModelForMaskedLM or AutoModelForSeq2SeqLM"
        )
    return kind
