"""Recipes: TOML files that describe how to recompute a paper's table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
from typing import Any

from wug.errors import InputError, suggestion
from wug.files import ASSETS, parse_toml, read_text

RECIPES = ASSETS / "recipes"
ARGUMENT_FIELDS = {"parts", "unpacked", "make", "small", "train", "score", "options", "profile", "curves", "secondary"}
"""Fields of recipes that are written as one string of words."""


@dataclass(frozen=True, slots=True)
class Material:
    """Training and test data: made by `wug make`, or a published set."""

    name: str
    make: tuple[str, ...] = ()
    """The arguments of `wug make`, without seed and output; `{name}` is another material."""
    small: tuple[str, ...] = ()
    data: str = ""
    parts: tuple[str, ...] = ()
    """The parts of the set; empty for all."""
    unpacked: tuple[str, ...] = ()
    """Files from an archive of the set that users have to unpack: wug does not use the password."""


@dataclass(frozen=True, slots=True)
class RecipeNetwork:
    """A row's model: trained, existing, known by released predictions, or only in the paper."""

    name: str
    title: str
    train: tuple[str, ...] = ()
    """The arguments of `wug train`, without material, seed and folder."""
    small: tuple[str, ...] = ()
    """The arguments in a miniature; additional arguments of `wug run` for an existing model."""
    minutes: float = 0.0
    """Duration of a training on one H200, three in parallel."""
    model: str = ""
    score: tuple[str, ...] = ()
    """The arguments of `wug score` for released predictions; several columns are averaged."""

    @property
    def is_computed(self) -> bool:
        """Whether we compute values for it; if not, the table has only the published ones."""
        return bool(self.train or self.model or self.score)

    def __post_init__(self) -> None:
        if sum(map(bool, (self.train, self.model, self.score))) > 1:
            raise TypeError(f"network {self.name!r} has more than one of train, model and score")


@dataclass(frozen=True, slots=True)
class PublishedValue:
    """A value in the paper."""

    value: float
    sd: float | None = None


@dataclass(frozen=True, slots=True)
class RecipeTest:
    """A row of the table, with a cell for every network in `published`."""

    row: str
    metric: str
    published: Mapping[str, PublishedValue | None]
    """By network; None if the paper has no value."""
    train_on: str = ""
    """The training data, as in `{substitutivity}/primitive`; empty for an existing model."""
    train: Mapping[str, str] = field(default_factory=dict)
    """Additional training arguments by network; not in a miniature."""
    suite: str = ""
    """The test: a file or folder of a material, or a suite by its name."""
    group: str = "all"
    by: str = ""
    """A group field, such as `type`: each of its values has another row, without a published value."""
    source: str = ""
    options: tuple[str, ...] = ()
    profile: tuple[str, ...] = ()
    """Arguments of a training that tests the model after epochs; the row is then the highest value."""
    small: tuple[str, ...] = ()
    curves: tuple[str, ...] = ()
    """Numeric group fields, such as `depth` (or `epoch` with a profile), by which the page draws the metric."""
    secondary: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """A paper's table."""

    name: str
    title: str
    seeds: tuple[int, ...]
    materials: Mapping[str, Material]
    networks: Mapping[str, RecipeNetwork]
    tests: tuple[RecipeTest, ...]
    note: str = ""
    reference: str = ""

    @property
    def rows(self) -> list[str]:
        """The names of the rows."""
        return list(dict.fromkeys(test.row for test in self.tests))


def names() -> list[str]:
    """The recipes that come with wug."""
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def read(name: str) -> Recipe:
    """A recipe by its name, or from a file."""
    path = RECIPES / f"{name}.toml" if name in names() else Path(name)
    if path.suffix != ".toml":
        raise InputError(f"no recipe {name!r}.{suggestion(name, names())}")
    return parse(read_text(path), path.stem, path)


def parse(text: str, name: str, file: Path) -> Recipe:
    """The recipe in a TOML text; InputError if it is invalid."""
    data = parse_toml(text, file)
    try:
        materials = {key: Material(name=key, **_frozen(value)) for key, value in data.pop("materials", {}).items()}
        networks = {key: RecipeNetwork(name=key, **_frozen(value)) for key, value in data.pop("networks").items()}
        for material in materials.values():
            _require_known((*material.make, *material.small), materials, file, f"material {material.name!r}")
        for network in networks.values():
            _require_known(network.score, materials, file, f"network {network.name!r}")
        tests = tuple(_test(row, networks, materials, file) for row in data.pop("tests"))
        _require_one_training(tests, file)
        return Recipe(name=name, materials=materials, networks=networks, tests=tests, **_frozen(data))
    except KeyError as error:
        raise InputError(f"has no {error.args[0]!r}", file=file) from None
    except (TypeError, AttributeError) as error:
        raise InputError(f"cannot be read as a recipe: {error}", file=file) from None


def _test(
    row: dict[str, Any], networks: Mapping[str, RecipeNetwork], materials: Mapping[str, Material], file: Path
) -> RecipeTest:
    cells = {network: _published(cell) for network, cell in row.pop("published").items()}
    if not isinstance(arguments := row.pop("train", {}), dict):
        raise TypeError('train of a test is by network, as in { lstm = "--steps 9000" }')
    test = RecipeTest(published=cells, train=arguments, **_frozen(row))
    for network in (*cells, *test.train):
        definition = networks.get(network)
        problem = ""
        if definition is None:
            problem = f"unknown network {network!r}.{suggestion(network, networks)}"
        elif definition.train and not test.train_on:
            problem = f"network {network!r} is to be trained: say on what, with train_on"
        elif definition.model and not test.suite:
            problem = f"network {network!r} is to be tested: say with what, with suite"
        elif test.small and not test.profile:
            problem = "small: only a test with a profile has a separate training"
        if problem:
            raise InputError(problem, file=file, place=f"test {test.row!r}")
    _require_known((test.train_on, test.suite, *test.profile), materials, file, f"test {test.row!r}")
    return test


def _require_one_training(tests: Iterable[RecipeTest], file: Path) -> None:
    first_tests: dict[str, RecipeTest] = {}
    for test in tests:
        first = first_tests.setdefault(test.train_on, test)
        if test.train != first.train:
            problem = f"is asked of the model that {first.row!r} trains, with another train: give both the same"
            raise InputError(problem, file=file, place=f"test {test.row!r}")


def _require_known(texts: Iterable[str], materials: Mapping[str, Material], file: Path, place: str) -> None:
    for name in (name for text in texts for name in materials_in(text)):
        if name not in materials:
            raise InputError(f"unknown material {name!r}.{suggestion(name, materials)}", file=file, place=place)


def materials_in(text: str) -> list[str]:
    """The names in braces in a text."""
    return [name for _, name, _, _ in Formatter().parse(text) if name]


def _published(cell: Any) -> PublishedValue | None:
    """`0.92`, `[0.92, 0.01]` with its standard deviation, or `[]` for none."""
    values = cell if isinstance(cell, list) else [cell]
    return PublishedValue(*map(float, values)) if values else None


def _frozen(data: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples; strings of arguments as words."""
    words = {key: value.split() if key in ARGUMENT_FIELDS else value for key, value in data.items()}
    return {key: tuple(value) if isinstance(value, list) else value for key, value in words.items()}
