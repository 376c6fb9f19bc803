"""Recipes: what a paper's table is made of, as a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import Any

from wug.errors import InputError, suggestion
from wug.files import parse_toml, read_text


@dataclass(frozen=True, slots=True)
class Material:
    """What models are trained on and tested with: made by `wug make`, or a published set."""

    name: str
    make: tuple[str, ...] = ()
    """The arguments of `wug make`, without seed and output; `{name}` stands for another material."""
    small: tuple[str, ...] = ()
    """Those that take their place in a miniature."""
    data: str = ""
    """Or the name of a published set."""
    parts: tuple[str, ...] = ()
    """The parts of the set that are wanted; all of it where none is named."""


@dataclass(frozen=True, slots=True)
class Network:
    """A row's model: trained on a material, one that is there, released scores, or one that the paper alone has."""

    name: str
    title: str
    train: tuple[str, ...] = ()
    """The arguments of `wug train`, without material, seed and folder."""
    small: tuple[str, ...] = ()
    """Those that take their place in a miniature; of a model that is there, more arguments of `wug run`."""
    minutes: float = 0.0
    """That a training takes on one H200, three side by side."""
    model: str = ""
    """Or a model by its name."""
    score: tuple[str, ...] = ()
    """Or the arguments of `wug score` that judge what a paper's model gave; of several columns comes the mean."""

    @property
    def asked(self) -> bool:
        """Whether there is anything to find out about it: else it stands in the table with the paper's cells alone."""
        return bool(self.train or self.model or self.score)

    def __post_init__(self) -> None:
        if sum(map(bool, (self.train, self.model, self.score))) > 1:
            raise TypeError(f"network {self.name!r} has more than one of train, model and score")


@dataclass(frozen=True, slots=True)
class Published:
    """A cell of the paper."""

    value: float
    sd: float | None = None


@dataclass(frozen=True, slots=True)
class Test:
    """A row of the table for every network that has a published cell, or is to have one of ours alone."""

    row: str
    check: str
    published: Mapping[str, Published | None]
    """By network; None where the paper has no such cell."""
    train_on: str = ""
    """What the network is trained on, as in `{substitutivity}/primitive`; empty for a network that is there."""
    train: Mapping[str, str] = field(default_factory=dict)
    """More arguments of that training, by network, after the network's own; not in a miniature."""
    suite: str = ""
    """The test: a file or folder of a material, or a suite by its name."""
    group: str = "all"
    by: str = ""
    """A field of groups, such as `type`: each of its values has a row of its own below, without a published cell."""
    source: str = ""
    """Where in the paper the cells stand."""
    options: tuple[str, ...] = ()
    """More arguments of `wug run`."""
    profile: tuple[str, ...] = ()
    """Arguments of the training that tests the model after epochs; the row is then the highest value of all tests."""
    small: tuple[str, ...] = ()
    """More arguments of such a training in a miniature."""
    curves: tuple[str, ...] = ()
    """Fields of groups with numbers, such as `depth`: the page draws the check along each; `epoch` with a profile."""
    beside: tuple[str, ...] = ()
    """Further checks that are drawn along them."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """A paper's table."""

    name: str
    title: str
    seeds: tuple[int, ...]
    materials: Mapping[str, Material]
    networks: Mapping[str, Network]
    tests: tuple[Test, ...]
    note: str = ""
    reference: str = ""
    rows: tuple[str, ...] = field(init=False)
    """The names of the table's rows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(dict.fromkeys(test.row for test in self.tests)))


def names() -> list[str]:
    """The recipes that come with wug."""
    folder = resources.files("wug") / "assets" / "recipes"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def read(name: str) -> Recipe:
    """A recipe by its name, or from a file."""
    if name in names():
        entry = resources.files("wug") / "assets" / "recipes" / f"{name}.toml"
        return parse(entry.read_text(encoding="utf-8"), name, Path(f"{name}.toml"))
    path = Path(name)
    if path.suffix != ".toml":
        raise InputError(f"no recipe {name!r}.{suggestion(name, names())}")
    return parse(read_text(path), path.stem, path)


def parse(text: str, name: str, file: Path) -> Recipe:
    """The recipe that a TOML text describes; an InputError that says what in it is wrong."""
    data = parse_toml(text, file)
    try:
        materials = {key: Material(name=key, **_frozen(value)) for key, value in data.pop("materials", {}).items()}
        networks = {key: Network(name=key, **_frozen(value)) for key, value in data.pop("networks").items()}
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


def _test(row: dict[str, Any], networks: Mapping[str, Network], materials: Mapping[str, Material], file: Path) -> Test:
    cells = {network: _published(cell) for network, cell in row.pop("published").items()}
    if not isinstance(longer := row.pop("train", {}), dict):
        raise TypeError('train of a test is by network, as in { lstm = "--steps 9000" }')
    test = Test(published=cells, train=longer, **_frozen(row))
    for network in (*cells, *test.train):
        if network not in networks:
            what = f"unknown network {network!r}.{suggestion(network, networks)}"
            raise InputError(what, file=file, place=f"test {test.row!r}")
        if networks[network].train and not test.train_on:
            what = f"network {network!r} is to be trained: say on what, with train_on"
            raise InputError(what, file=file, place=f"test {test.row!r}")
        if networks[network].model and not test.suite:
            what = f"network {network!r} is to be tested: say with what, with suite"
            raise InputError(what, file=file, place=f"test {test.row!r}")
    if test.small and not test.profile:
        what = "small: only a test with a profile has a training of its own"
        raise InputError(what, file=file, place=f"test {test.row!r}")
    _require_known((test.train_on, test.suite, *test.profile), materials, file, f"test {test.row!r}")
    return test


def _require_one_training(tests: Iterable[Test], file: Path) -> None:
    """An error where tests that share a training want it otherwise."""
    wanted: dict[str, Test] = {}
    for test in tests:
        first = wanted.setdefault(test.train_on, test)
        if test.train != first.train:
            what = f"is asked of the model that {first.row!r} trains, with another train: give both the same"
            raise InputError(what, file=file, place=f"test {test.row!r}")


def _require_known(texts: Iterable[str], materials: Mapping[str, Material], file: Path, place: str) -> None:
    """An error where a text names a material that there is not."""
    for name in (name for text in texts for name in materials_in(text)):
        if name not in materials:
            raise InputError(f"unknown material {name!r}.{suggestion(name, materials)}", file=file, place=place)


def materials_in(text: str) -> list[str]:
    """The materials that a text names in braces."""
    return [name for _, name, _, _ in Formatter().parse(text) if name]


def _published(cell: Any) -> Published | None:
    """`0.92`, `[0.92, 0.01]` with its standard deviation, or `[]` for none."""
    values = cell if isinstance(cell, list) else [cell]
    return Published(*map(float, values)) if values else None


def _frozen(data: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples; a string of arguments as its words."""
    spoken = {"parts", "make", "small", "train", "score", "options", "profile", "curves", "beside"}
    return {
        key: tuple(value.split()) if key in spoken else tuple(value) if isinstance(value, list) else value
        for key, value in data.items()
    }
