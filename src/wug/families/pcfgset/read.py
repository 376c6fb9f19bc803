"""The suite that a test's files make, and everything that is wrong with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wug.errors import InputError
from wug.families.pcfgset.language import UNARY
from wug.families.pcfgset.layout import Found, stem
from wug.families.pcfgset.lines import Line, read_pair, repeated, target_beside, wrong_targets
from wug.families.pcfgset.localism import localism_suite
from wug.families.pcfgset.overgeneralisation import overgeneralisation_suite, read_exceptions
from wug.families.pcfgset.plain import plain_suite
from wug.families.pcfgset.substitutivity import read_twins, substitutivity_suite
from wug.families.pcfgset.unrolled import read_unrolled
from wug.types import Problem, Suite

_KEPT = {"remove_first": 1, "remove_second": 0}


def suite_of(found: Found) -> tuple[Suite, list[Problem]]:
    """The suite, with the faults and oddities of its files; without faults it can be run."""
    source = found.files[0]
    if found.test == "localism":
        samples, problems = read_unrolled(source)
        return localism_suite(found.name, samples, _notices(problems)), problems
    if found.test == "substitutivity":
        pairs, problems = read_twins(source)
        problems += _wrong_as_warning([pair.line for pair in pairs], source)
        return substitutivity_suite(found.name, pairs, _notices(problems)), problems
    if found.test == "overgeneralisation":
        items, problems = read_exceptions(source)
        return overgeneralisation_suite(found.name, items, _notices(problems)), problems
    lines, problems = _plain_lines(found)
    problems += _wrong_as_warning(lines, source)
    return plain_suite(found.name, lines, _notices(problems), test=found.test), problems


def problems_of(found: Found) -> list[Problem]:
    """Every fault and oddity of a test's files, targets that are not the meaning of their source included."""
    source = found.files[0]
    try:
        if found.test == "localism":
            samples, problems = read_unrolled(source)
            for sample in samples:
                right = " ".join(sample.expression.meaning())
                if right != sample.target:
                    message = f"the target is {sample.target}, and the source means {right}"
                    problems.append(Problem("error", f"{source.name}, sample {sample.item}", message))
            return problems
        if found.test == "substitutivity":
            pairs, problems = read_twins(source)
            return problems + wrong_targets([pair.line for pair in pairs], target_beside(source))
        if found.test == "overgeneralisation":
            items, problems = read_exceptions(source)
            original = source.with_name(source.name.replace("_exception.src", "_original.src"))
            return problems + wrong_targets([item.line for item in items], target_beside(original))
        problems = []
        for path in found.files:
            lines, faults = read_pair(path)
            problems += faults + wrong_targets(lines, target_beside(path)) + repeated(lines, path)
        return problems
    except InputError as fault:
        place = ", ".join(part for part in (Path(fault.file or source).name, fault.place) if part)
        return [Problem("error", place, fault.message)]


def _plain_lines(found: Found) -> tuple[list[Line], list[Problem]]:
    lines: list[Line] = []
    problems: list[Problem] = []
    for path in found.files:
        some, faults = read_pair(path)
        problems += faults
        if found.test == "per_function":
            function = stem(path).partition("_")[2]
            some = [replace(line, item=f"{function}/{line.number}") for line in some]
        lines += some
    return (_grown(lines) if found.test == "increasing_length" else lines), problems


def _grown(lines: Sequence[Line]) -> list[Line]:
    """The lines grouped by the number of symbols in the string that grows.

    With `append` and `prepend` either argument may grow, and while it is short the other may be
    longer. The lengths run through the same cycle for every function, so the place of the line
    says which is meant.
    """
    sizes = [len(string) for line in lines if line.expression.outermost in UNARY for string in line.expression.strings]
    first, span = (min(sizes), max(sizes) - min(sizes) + 1) if sizes else (0, 1)
    seen: defaultdict[str, int] = defaultdict(int)
    grown = []
    for line in lines:
        function, strings = line.groups["function"], [len(string) for string in line.expression.strings]
        due = first + seen[function] % span
        seen[function] += 1
        if function in _KEPT and len(strings) == 2:
            size = strings[_KEPT[function]]
        else:
            size = due if due in strings else max(strings)
        grown.append(replace(line, groups={"function": function, "length": str(size)}))
    return grown


def _wrong_as_warning(lines: Sequence[Line], source: Path) -> list[Problem]:
    """One warning where targets are not the meanings of their sources: answers are judged by the targets."""
    wrong = wrong_targets(lines, target_beside(source))
    if not wrong:
        return []
    message = f"{len(wrong):,} of {len(lines):,} targets are not what their sources mean, the first of them here"
    return [Problem("warning", wrong[0].place, message)]


def _notices(problems: Sequence[Problem]) -> tuple[str, ...]:
    return tuple(str(problem) for problem in problems if problem.level == "warning")
