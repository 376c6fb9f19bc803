"""Opens suites by path, built-in name or published name."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from wug import data, registry
from wug.errors import InputError, NotFetched, UnknownName, nearest, suggestion
from wug.evaluation.annotated_suite import AnnotatedSuite
from wug.evaluation.folders import DATA_SUFFIXES, ResolvedSuites, contents, not_recognised
from wug.files import ASSETS, head, refuse_ambiguous, shortened, user_path
from wug.formatting import plural
from wug.interfaces import Family, Suite, SuiteAttributes
from wug.options import names, refuse_unknown

MAX_LISTED_UNREAD_FILES = 5
"""Unread files of a folder that are listed in warnings; the others are counted."""
BUILTIN_PREFIX = "wug_"
"""Prefix of a family's name for its built-in suites."""

log = logging.getLogger("wug")


def builtin_suites() -> dict[str, Path]:
    """Built-in suites by name, each a file or folder in the folder of its family."""
    within = sorted((ASSETS / "suites").glob("*/*"))
    return {path.name.partition(".")[0]: path for path in within if path.is_dir() or path.suffix in DATA_SUFFIXES}


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
    places = [place for resolution in resolved for place in resolution.locations]
    families = [recognised_family(place.path, family or known_family(place), chosen_options) for place in places]
    refuse_unknown_options(places, family, chosen_options)
    for resolution in resolved:
        _warn_unread(resolution)
    suites: list[tuple[Suite, data.DataLocation]] = []
    for place, reader in zip(places, families, strict=True):
        if defaults and next(iter(defaults)) not in names(reader.OPTIONS):
            raise InputError(f"the protocol has no rules for suites of the family {reader.name}", file=place.path)
        read = read_location(replace(place, options={**place.options, **(defaults or {})}), reader, chosen_options)
        for file, items in counts(place, read).items():
            log.info("%s: %s", file, plural(items, "item"))
        suites += ((suite, place) for suite in read)
    # Several suites of a set keep their own names.
    times = Counter(place.name for _, place in suites)
    return [
        AnnotatedSuite(suite, place.record, place.name if times[place.name] == 1 else None) if place.record else suite
        for suite, place in suites
    ]


def known_family(place: data.DataLocation) -> str | None:
    """The family of a file in a folder or in the catalogue; None if its content has to identify it."""
    return place.family if place.family in registry.names("families") else None


def read_location(place: data.DataLocation, family: Family, options: Mapping[str, str]) -> list[Suite]:
    """Read the suites of a file or folder with those options that its family has."""
    chosen_options, known_options = {**place.options, **options}, names(family.OPTIONS)
    return family.read(place.path, {name: chosen_options[name] for name in known_options if name in chosen_options})


def counts(place: data.DataLocation, suites: Iterable[Suite]) -> dict[str, int]:
    """The number of items by file, or by suite if a folder contains several suites."""
    every = list(suites)
    items_by_file: dict[str, int] = {}
    for suite in every:
        alone = {"" if len(every) == 1 else suite.name: len(suite)}
        sources = SuiteAttributes.of(suite).sources or alone
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
    return [place.path for place in find_suites(text).locations]


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
        locations: list[data.DataLocation] = []
        for place in places:
            traits = registry.family_traits(place.family)
            if traits.one_suite_per_set:  # it is read as a whole: its content may not identify the family
                locations.append(place)
                continue
            own = place.family if traits.reads_folders else None
            locations += _expand_folder(place, family or own, options).locations
        return ResolvedSuites(locations)
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


def _expand_folder(place: data.DataLocation, family: str | None, options: Mapping[str, str] | None) -> ResolvedSuites:
    """A file, or the files of a folder that families read."""
    whole = family is not None and registry.family_traits(family).reads_folders
    if whole or not place.path.is_dir():
        return ResolvedSuites([place])
    return contents(place, family, {**place.options, **(options or {})})


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


def refuse_unknown_options(places: Iterable[data.DataLocation], family: str | None, options: Mapping[str, str]) -> None:
    """UnknownOption for an option that no family of these files has."""
    options_by_family: dict[str, list[str]] = {}
    for place in places:
        with suppress(InputError):  # a file of no family, reported when it is read
            reader = recognised_family(place.path, family or known_family(place), options)
            options_by_family[reader.name] = names(reader.OPTIONS)
    if options_by_family:
        refuse_unknown(options, dict.fromkeys(chain(*options_by_family.values())), ", ".join(sorted(options_by_family)))
