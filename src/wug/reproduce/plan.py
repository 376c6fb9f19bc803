"""The steps of a recipe: make data, train networks, test models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wug.errors import InputError
from wug.reproduce.recipe import Material, Recipe, RecipeNetwork, RecipeTest, materials_in

StepKind = Literal["data", "make", "train", "test"]
"""What a step does; `data` is a missing published set, which only the user can fetch."""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A command, and the file that it writes."""

    kind: StepKind
    name: str
    command: tuple[str, ...]
    output: Path
    """The file or folder that it writes, which exists if and only if the step is done."""
    needs: tuple[str, ...] = ()
    minutes: float = 0.0

    @property
    def done(self) -> bool:
        """Whether its output exists."""
        return self.kind != "data" and self.output.exists()


@dataclass(frozen=True, slots=True)
class RecipeCell:
    """The step that computes a row's value for one network and one seed."""

    test: RecipeTest
    network: RecipeNetwork
    seed: int | None
    """None for a network that is not trained."""
    step: str | None
    """None if only the paper has a value."""


@dataclass(frozen=True, slots=True)
class ReproductionPlan:
    """All steps in a possible order, and the cells of each row and network: one, or one per seed."""

    recipe: Recipe
    folder: Path
    steps: tuple[PlanStep, ...]
    rows: tuple[tuple[RecipeCell, ...], ...]

    @property
    def store(self) -> Path:
        """The run store."""
        return self.folder / "runs"

    @property
    def missing_sets(self) -> list[PlanStep]:
        """The published sets, or parts, that are missing."""
        return [step for step in self.steps if step.kind == "data"]

    def step(self, name: str) -> PlanStep:
        """The step of a name."""
        return next(step for step in self.steps if step.name == name)


class Planner:
    """Makes the steps of a recipe."""

    def __init__(self, recipe: Recipe, folder: Path, *, small: bool, options: Sequence[str] = ()) -> None:
        self._recipe, self._folder, self._store = recipe, folder, folder / "runs"
        self._small, self._options = small, tuple(options)
        self._steps: dict[str, PlanStep] = {}

    def plan(self, seeds: Iterable[int], only: Sequence[str] = (), networks: Sequence[str] = ()) -> ReproductionPlan:
        """The steps for these seeds, and only for these rows and networks, if given."""
        recipe = self._recipe
        for name in networks:
            if name not in recipe.networks:
                available = "; ".join(recipe.networks)
                raise InputError(f"the recipe {recipe.name} has no network {name!r}. There are: {available}")
        for row in only:
            if row not in recipe.rows:
                raise InputError(f"the recipe {recipe.name} has no row {row!r}. There are: {'; '.join(recipe.rows)}")
        tests = [test for test in recipe.tests if not only or test.row in only]
        seeds, network_names = list(seeds), networks or tuple(recipe.networks)
        # One seed of every row before the next seed, so that the table is complete as early as possible.
        for seed in seeds:
            for network in recipe.networks.values():
                for test in tests:
                    if network.train and network.name in network_names and network.name in test.published:
                        self._test(test, network, seed)
        rows = (
            tuple(self._cells(test, recipe.networks[name], seeds))
            for test in tests
            for name in test.published
            if name in network_names
        )
        cells = tuple(filter(None, rows))
        steps = sorted(self._steps.values(), key=lambda step: step.kind != "data")
        return ReproductionPlan(recipe, self._folder, tuple(steps), cells)

    def _cells(self, test: RecipeTest, network: RecipeNetwork, seeds: Sequence[int]) -> list[RecipeCell]:
        """The cells of a row and a network; one per seed if it is trained."""
        if network.train:
            return [RecipeCell(test, network, seed, self._test(test, network, seed)) for seed in seeds]
        if network.score:
            return [RecipeCell(test, network, None, self._score(network))]
        return [RecipeCell(test, network, None, self._test(test, network, 0) if network.model else None)]

    def _test(self, test: RecipeTest, network: RecipeNetwork, seed: int) -> str:
        suite, needs = self._substitute(test.suite, seed)
        model, options = network.model, test.options
        if self._small and network.model:
            options += network.small
        if network.train:
            trained = self._train(test, network, seed)
            if test.profile:
                return trained  # tests the model after epochs
            model, needs = str(self._steps[trained].output.parent.parent), (*needs, trained)
        name = _name(test.suite, network.name, test.train_on, seed)
        return self._add_test(name, ("run", suite, "--model", model, *options, *self._options), needs)

    def _score(self, network: RecipeNetwork) -> str:
        words = [self._substitute(word, 0) for word in network.score]
        needs = tuple(dict.fromkeys(step for _, steps in words for step in steps))
        return self._add_test(_name("scores", network.name), ("score", *(word for word, _ in words)), needs)

    def _train(self, test: RecipeTest, network: RecipeNetwork, seed: int) -> str:
        source, needs = self._substitute(test.train_on, seed)
        name = _name(network.name, test.train_on, seed)
        folder = self._folder / "models" / name
        extra_arguments = () if self._small else test.train.get(network.name, "").split()
        profile = [self._substitute(word, seed)[0] for word in test.profile] + [*(test.small if self._small else ())]
        words = [*(network.small if self._small else network.train), *extra_arguments, *profile]
        command = (
            *("train", *_without_overridden(words), source),
            *("-o", str(folder), "--seed", str(seed), *self._options),
            *(("--store", str(self._store)) if profile else ()),
        )
        finished = folder / "training" / "finished"
        return self._add(PlanStep("train", name, command, finished, needs, 0.5 if self._small else network.minutes))

    def _substitute(self, text: str, seed: int) -> tuple[str, tuple[str, ...]]:
        """A text with the paths of the materials in it, and the steps that make them."""
        materials = {name: self._material(name, seed) for name in materials_in(text)}
        paths = {name: path for name, (path, _) in materials.items()}
        return text.format(**paths), tuple(step for _, steps in materials.values() for step in steps)

    def _material(self, name: str, seed: int) -> tuple[Path, tuple[str, ...]]:
        material = self._recipe.materials[name]
        if material.data and not (self._small and material.small):
            return self._published(material)
        step = _name(name, seed)
        path = self._folder / "materials" / step
        words = [self._substitute(word, seed) for word in (material.small if self._small else material.make)]
        needs = tuple(step for _, steps in words for step in steps)
        command = ("make", *(word for word, _ in words), "--seed", str(seed), "-o", str(path))
        return path, (self._add(PlanStep("make", step, command, path, needs)),)

    def _published(self, material: Material) -> tuple[Path, tuple[str, ...]]:
        """The path of a published set, and a step for each part that is missing or not unpacked."""
        from wug import data
        from wug.data.folder import local_path

        folder, missing = local_path(material.data), []
        for name in [f"{material.data}/{part}" for part in material.parts] or [material.data]:
            if not data.fetched(name):
                accept = ("--accept",) if data.find(name).set.restriction else ()
                missing.append(self._add(PlanStep("data", name, ("data", "get", name, *accept), local_path(name))))
        for file in material.unpacked:
            if not (folder / file).exists():
                command = ("data", "show", material.data)
                missing.append(self._add(PlanStep("data", f"{material.data}/{file}", command, folder / file)))
        return folder, tuple(missing)

    def _add(self, step: PlanStep) -> str:
        """Add a step, and return its name."""
        return self._steps.setdefault(step.name, step).name

    def _add_test(self, name: str, command: tuple[str, ...], needs: tuple[str, ...]) -> str:
        command += ("--store", str(self._store), "--format", "json")
        return self._add(PlanStep("test", name, command, self._folder / "results" / f"{name}.json", needs))


def missing_data_message(steps: Sequence[PlanStep]) -> str:
    """A message about all missing published sets, with the command that fetches them."""
    from wug import data

    lines = []
    if fetched := [step for step in steps if "get" in step.command]:
        sets = {part.set.name: part.set for part in (data.find(step.name) for step in fetched)}
        titles = (f"{name} ({s.title}, {s.licence or 'no licence named'})" for name, s in sets.items())
        accept = " --accept" if any("--accept" in step.command for step in fetched) else ""
        lines.append(f"not on this machine: {'; '.join(titles)}")
        lines.append(f"    wug data get {' '.join(step.name for step in fetched)}{accept}")
    for step in steps:
        if step not in fetched:
            lines.append(f"not unpacked: {step.output}")
            lines.append(f"    its archive has a password: wug {' '.join(step.command)}")
    return "\n".join(lines)


def _name(*parts: object) -> str:
    return re.sub(r"[^A-Za-z0-9.=_]+", "-", "-".join(str(part) for part in parts if str(part))).strip("-")


def _without_overridden(words: Sequence[str]) -> list[str]:
    """The words of a command in which later options replace earlier ones, except `--suite`."""
    starts = [index for index, word in enumerate(words) if index == 0 or word.startswith("--")]
    groups = [words[start:end] for start, end in zip(starts, [*starts[1:], len(words)], strict=False)]
    last = {group[0]: index for index, group in enumerate(groups)}
    selected = (group for index, group in enumerate(groups) if group[0] == "--suite" or last[group[0]] == index)
    return [word for group in selected for word in group]
