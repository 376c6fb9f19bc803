"""The splits of SCAN: the deterministic ones with the published sets of lines, the random ones by a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

from wug.errors import InputError
from wug.families.scan.language import VERBS, answer, commands, parse
from wug.files import read_lines
from wug.record_tables import stem

Files: TypeAlias = dict[str, list[str]]
Parts: TypeAlias = tuple[list[str], list[str]]

MAX_TRAINING_ACTIONS = 22
ADDED_PRIMITIVES = {"addprim-jump": ("jump", 1_467), "addprim-turn-left": ("turn left", 2_189)}
"""The command, and how often it is in the published training sets alone: a tenth of their lines."""
MOVES = [verb for verb in VERBS if verb != "turn"]
FILLERS = ("look", "walk", "run")
"""The verbs that training has with `around right`, in the order in which they are added."""
FEW_SHOT_EXAMPLES = tuple(2**power for power in range(11))
RANDOM = ("simple", "few-shot")
"""The splits that are drawn by the seed."""
HELD_OUT_TEMPLATES = ("jump around right", "right", "opposite right", "around right")


class ScanPlan(NamedTuple):
    """What to make."""

    split: str
    seed: int = 0
    train_percent: int = 80
    """Proportion of commands to train on, of the split `simple`."""
    examples: Sequence[int] = FEW_SHOT_EXAMPLES
    """Numbers of examples with `around right`, of the split `few-shot`."""
    samples: int = 1


def make(plan: ScanPlan) -> Files:
    """The files of a split, with the published names; the same plan always gives the same files."""
    files: Files = {}
    for name, (train, test) in _splits(plan, list(commands())):
        for part, chosen in (("train", train), ("test", test)):
            Random(f"{plan.seed} {part} {name}").shuffle(chosen)
            files[f"tasks_{part}_{name}.txt"] = [f"IN: {command} OUT: {answer(command)}" for command in chosen]
    return files


def differences(files: Files, folder: Path, *, random: bool) -> Iterator[str]:
    """How made files differ from the files of the same name in a folder or below it, a line per difference.

    Lines are compared as sets with counts. Of random splits only the number of lines is compared.
    """
    published = {f"{stem(path)}.txt": path for path in sorted(folder.rglob("tasks_*.txt*"))}
    known = files.keys() & published.keys()
    if not known:
        raise InputError(f"none of {', '.join(files)} is here", file=folder)
    for name in sorted(known):
        ours, theirs = Counter(files[name]), Counter(map(str.rstrip, read_lines(published[name])))
        if random:
            if ours.total() != theirs.total():
                yield f"{name}: {ours.total():,} lines, {theirs.total():,} in {published[name]}"
            continue
        for lines, where in ((ours - theirs, "here"), (theirs - ours, f"in {published[name]}")):
            if lines:
                yield f"{name}: {lines.total():,} lines only {where}, such as {next(iter(lines))!r:.100}"


def _splits(plan: ScanPlan, every: list[str]) -> Iterator[tuple[str, Parts]]:
    """The splits of a plan by name."""
    match plan.split:
        case "simple":
            Random(plan.seed).shuffle(every)
            size = round(len(every) * plan.train_percent / 100)
            suffix = "" if plan.train_percent == 80 else f"_p{plan.train_percent}"
            yield f"simple{suffix}", (every[:size], every[size:])
        case "length":
            yield "length", _split(every, lambda command: len(parse(command).actions) > MAX_TRAINING_ACTIONS)
        case "addprim-jump" | "addprim-turn-left":
            primitive, repeats = ADDED_PRIMITIVES[plan.split]
            train, test = _split(every, lambda command: _has(command, [primitive]))
            test.remove(primitive)
            yield plan.split.replace("-", "_"), (train + [primitive] * repeats, test)
        case "template":
            for template in HELD_OUT_TEMPLATES:
                held_out = [template] if template.startswith("jump") else [f"{verb} {template}" for verb in MOVES]
                known = _without_turn(every, template.removeprefix("jump "))
                parts = _split(known, lambda command: _has(command, held_out))  # noqa: B023
                yield f"template_{template.replace(' ', '_')}", parts
        case "filler":
            for count in range(len(FILLERS) + 1):
                yield f"filler_num{count}", _fillers(every, count)
        case "few-shot":
            yield from _few_shot(plan, *_fillers(every, 0), _fillers(every, 1)[0])
        case _:
            raise AssertionError(f"no split {plan.split!r}")


def _few_shot(plan: ScanPlan, train: list[str], test: list[str], more: list[str]) -> Iterator[tuple[str, Parts]]:
    new = sorted(set(more) - set(train))
    for count in plan.examples:
        if count > len(new):
            raise InputError(f"{count:,} examples: there are only {len(new):,} commands to choose from")
        for sample in range(1, plan.samples + 1):
            chosen = Random(f"{plan.seed} {count} {sample}").sample(new, count)
            yield f"fewshot_num{count}_rep{sample}", (train + chosen, list(test))


def _fillers(every: list[str], count: int) -> Parts:
    """Commands without `around right` but for some verbs, and all those with `jump around right`."""
    known = _without_turn(every, "around right")
    unknown = [f"{verb} around right" for verb in MOVES if verb not in FILLERS[:count]]
    test = [command for command in known if _has(command, ["jump around right"])]
    return _split(known, lambda command: _has(command, unknown))[0], test


def _without_turn(every: list[str], way: str) -> list[str]:
    """The commands that do not turn that way: they are neither in training nor in the test of a template."""
    return [command for command in every if not _has(command, [f"turn {way}"])]


def _has(command: str, phrases: Iterable[str]) -> bool:
    return any(f" {phrase} " in f" {command} " for phrase in phrases)


def _split(every: list[str], held_out: Callable[[str], bool]) -> Parts:
    return [command for command in every if not held_out(command)], [command for command in every if held_out(command)]
