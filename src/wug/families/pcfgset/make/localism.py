"""Sources unrolled for the localism test: each function by itself, its inputs the earlier answers."""

from __future__ import annotations

from collections.abc import Iterable

from wug.families.pcfgset.language import Expression, parse


def unroll(source: str) -> list[str]:
    """The lines `label<TAB>source<TAB>target` of one sample.

    The answer to a line whose target is `*2` stands for `*2` in a later source. As in the published
    files, a source without such a placeholder ends in a space.
    """
    expression = parse(source)
    target = " ".join(expression.meaning())
    lines = []
    for number, asked in enumerate(steps(expression), 1):
        answer = target if number == len(expression.steps) else f"*{number}"
        lines.append(f"unrolled\t{asked if '*' in asked else asked + ' '}\t{answer}")
    return [*lines, f"original\t{' '.join(expression.words)}\t{target}"]


def steps(expression: Expression) -> list[str]:
    """The source of each step, with `*1` for the answer to the first."""
    asked = []
    for step in expression.steps:
        parts = [f"*{part + 1}" if isinstance(part, int) else " ".join(part) for part in step.arguments]
        asked.append(f"{step.function} {' , '.join(parts)}")
    return asked


def unrolled(sources: Iterable[str]) -> list[str]:
    """The lines of a localism file; a source of one function has nothing to unroll and is left out."""
    lines: list[str] = []
    for source in sources:
        sample = unroll(source)
        if len(sample) > 2:
            lines += sample
    return lines
