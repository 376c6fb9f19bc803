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
JUMP_REPEATS, TURN_LEFT_REPEATS = 1_467, 2_189
"""How often the bare command is in the published training sets: a tenth of their lines."""
FILLERS = ("look", "walk", "run")
"""The verbs that training has with `around right`, in the order in which they are added."""
FEW_SHOT_EXAMPLES = tuple(2**power for power in range(11))
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
    every = list(commands())
    files: Files = {}
    for name, (train, test) in SPLITS[plan.split](every, plan):
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


def _simple(every: list[str], plan: ScanPlan) -> Iterator[tuple[str, Parts]]:
    Random(plan.seed).shuffle(every)
    size = round(len(every) * plan.train_percent / 100)
    yield "simple" if plan.train_percent == 80 else f"simple_p{plan.train_percent}", (every[:size], every[size:])


def _length(every: list[str], plan: ScanPlan) -> Iterator[tuple[str, Parts]]:
    yield "length", _split(every, lambda command: len(parse(command).actions) > MAX_TRAINING_ACTIONS)


def _add_primitive(primitive: str, repeats: int, every: list[str], plan: ScanPlan) -> Iterator[tuple[str, Parts]]:
    train, test = _split(every, lambda command: _has(command, [primitive]))
    test.remove(primitive)
    yield f"addprim_{primitive.replace(' ', '_')}", (train + [primitive] * repeats, test)


def _template(every: list[str], plan: ScanPlan) -> Iterator[tuple[str, Parts]]:
    for template in HELD_OUT_TEMPLATES:
        held_out = [template] if template.startswith("jump") else [f"{verb} {template}" for verb in _moves()]
        known = _without_turn(every, template.removeprefix("jump "))
        yield f"template_{template.replace(' ', '_')}", _split(known, lambda command: _has(command, held_out))  # noqa: B023


def _filler(every: list[str], plan: ScanPlan) -> Iterator[tuple[str, Parts]]:
    for count in range(len(FILLERS) + 1):
        yield f"filler_num{count}", _fillers(every, count)


def _few_shot(every: list[str], plan: ScanPlan) -> Iterator[tuple[str, Parts]]:
    (train, test), (more, _) = _fillers(every, 0), _fillers(every, 1)
    new = sorted(set(more) - set(train))
    for count in plan.examples:
        if count > len(new):
            raise InputError(f"{count:,} examples: there are only {len(new):,} commands to choose from")
        for sample in range(1, plan.samples + 1):
            chosen = Random(f"{plan.seed} {count} {sample}").sample(new, count)
            yield f"fewshot_num{count}_rep{sample}", (train + chosen, list(test))


SPLITS: dict[str, Callable[[list[str], ScanPlan], Iterable[tuple[str, Parts]]]] = {
    "simple": _simple,
    "length": _length,
    "addprim-jump": lambda every, plan: _add_primitive("jump", JUMP_REPEATS, every, plan),
    "addprim-turn-left": lambda every, plan: _add_primitive("turn left", TURN_LEFT_REPEATS, every, plan),
    "template": _template,
    "filler": _filler,
    "few-shot": _few_shot,
}
RANDOM = ("simple", "few-shot")


def _fillers(every: list[str], count: int) -> Parts:
    """Commands without `around right` but for some verbs, and all those with `jump around right`."""
    known = _without_turn(every, "around right")
    unknown = [f"{verb} around right" for verb in _moves() if verb not in FILLERS[:count]]
    return _split(known, lambda command: _has(command, unknown))[0], [
        command for command in known if _has(command, ["jump around right"])
    ]


def _moves() -> list[str]:
    return [verb for verb in VERBS if verb != "turn"]


def _without_turn(every: list[str], way: str) -> list[str]:
    """The commands that do not turn that way: they are neither in training nor in the test of a template."""
    return [command for command in every if not _has(command, [f"turn {way}"])]


def _has(command: str, phrases: Iterable[str]) -> bool:
    return any(f" {phrase} " in f" {command} " for phrase in phrases)


def _split(every: list[str], held_out: Callable[[str], bool]) -> Parts:
    return [command for command in every if not held_out(command)], [command for command in every if held_out(command)]
