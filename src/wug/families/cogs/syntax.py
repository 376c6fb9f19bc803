"""Syntax-COGS (Yao and Koller 2022): sentences of COGS with trees, part-of-speech tags, or answers as targets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from wug.errors import InputError
from wug.families.cogs.read import SPLITS, GoldLine, meta_of
from wug.families.predictions import content_lines
from wug.families.suite import GenerationSuite, warn_if_empty
from wug.files import checksum, head
from wug.formatting import plural
from wug.outcomes import Estimate, Metric, Outcome, SuiteOutput
from wug.problems import Problem
from wug.record_tables import stem
from wug.requests import Source

SyntaxDialect: TypeAlias = Literal["tree", "tags", "answers"]
SYNTAX_DIALECTS: tuple[SyntaxDialect, ...] = get_args(SyntaxDialect)
Brackets: TypeAlias = Counter[tuple[str, int, int]]
"""The phrases of a tree: label, first word, and the word after the last."""
TAGS = frozenset({"AUX", "BY", "C", "Det", "INF", "N", "P", "V"})
_COLUMNS: Mapping[SyntaxDialect, tuple[int, ...]] = {"tree": (3,), "tags": (3,), "answers": (4, 5)}
_LAYOUTS: Mapping[SyntaxDialect, str] = {
    "tree": "sentence, tree and type",
    "tags": "sentence, tags and type",
    "answers": "sentence, question, answer and type",
}


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SyntaxSuite(GenerationSuite[GoldLine]):
    """A file of Syntax-COGS."""

    dialect: SyntaxDialect
    kind = "cogs"
    metrics = (
        Metric("exact_match", meaning="the output has the tokens of the target"),
        Metric("bracket_f1", "score", meaning="the F1 of labelled phrases, counted over all lines together"),
        Metric("tag_accuracy", "score", meaning="the proportion of right tags, in the longer of the two"),
        Metric("well_formed", meaning="the output is a tree"),
        Metric("bracket_f1_macro", "score", headline=False, meaning="the F1 of labelled phrases, mean over lines"),
    )

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show with the outcomes."""
        return {"dialect": self.dialect, **meta_of(self.items)}

    def requests(self) -> list[str | Source]:
        """The sources, in the order of the file."""
        return [line.sentence for line in self.items]

    def score(self, outputs: Sequence[str]) -> Iterator[SuiteOutput]:
        """Compare each output with its target: as a whole, and phrase by phrase or tag by tag."""
        yield from warn_if_empty(outputs)
        counts: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for line, output in zip(self.items, outputs, strict=True):
            item, groups, output = str(line.number), line.groups, " ".join(output.split())
            detail = {"source": line.sentence, "target": line.form, "answer": output}
            yield Outcome(item, "exact_match", output == line.form, groups, detail)
            if self.dialect == "tags":
                tags, target = output.split(), line.form.split()
                same = sum(one == other for one, other in zip(tags, target, strict=False))
                yield Outcome(item, "tag_accuracy", same / max(len(tags), len(target)), groups)
            elif self.dialect == "tree":
                predicted, right = brackets(output), brackets(line.form) or Counter()
                yield Outcome(item, "well_formed", predicted is not None, groups)
                predicted = predicted or Counter()
                overlap = (predicted & right).total(), predicted.total(), right.total()
                yield Outcome(item, "bracket_f1_macro", _f1([overlap]), groups)
                for group in ("all", *(f"{name}={value}" for name, value in groups.items())):
                    counts[group].append(overlap)
        for group, overlaps in counts.items():
            yield Estimate("bracket_f1", group, _f1(overlaps), len(overlaps))

    def strata(self) -> list[tuple[str, ...]]:
        """The type of a line."""
        return [(line.type,) for line in self.items]


def brackets(tree: str) -> Brackets | None:
    """The phrases of a bracketed tree, without its part-of-speech tags, as evalb counts them; None if it is not one."""
    phrases: Brackets = Counter()
    open_nodes: list[tuple[str, int]] = []
    tokens, words, tags = tree.split(), 0, set[int]()
    for place, token in enumerate(tokens):
        if token == "(":
            label = tokens[place + 1] if place + 1 < len(tokens) else ")"
            if label in "()" or (not open_nodes and place):
                return None
            open_nodes.append((label, words))
        elif token == ")":
            if not open_nodes or open_nodes[-1][1] == words:
                return None
            label, start = open_nodes.pop()
            if words - start == 1 and start not in tags:
                tags.add(start)
            else:
                phrases[label, start, words] += 1
        elif not open_nodes:
            return None
        elif tokens[place - 1] != "(":
            words += 1
    return phrases if tokens and not open_nodes else None


def recognise_syntax(text: str) -> SyntaxDialect | None:
    """The dialect of the beginning of a file; None if it is not one of Syntax-COGS."""
    lines = text.replace("\r\n", "\n").split("\n")
    rows = [line.split("\t") for line in lines[: min(20, max(1, len(lines) - 1))]]
    return next((dialect for dialect in SYNTAX_DIALECTS if not any(_error(row, dialect) for row in rows)), None)


def syntax_dialect(path: Path, dialect_name: str | None) -> SyntaxDialect | None:
    """The dialect of a file, if it is one of Syntax-COGS: the given one, or that of its content."""
    if dialect_name is not None:
        return next((dialect for dialect in SYNTAX_DIALECTS if dialect == dialect_name), None)
    return recognise_syntax(head(path))


def syntax_problems(path: Path, dialect: SyntaxDialect) -> Iterator[Problem]:
    """Every error of a file."""
    for number, text in enumerate(content_lines(path), 1):
        if error := _error(text.split("\t"), dialect):
            yield Problem("error", f"line {number}", error)


def read_syntax(path: Path, dialect: SyntaxDialect) -> SyntaxSuite:
    """The suite of a file; InputError at the first line that cannot be read."""
    for problem in syntax_problems(path, dialect):
        raise InputError(problem.message, file=path, place=problem.place)
    texts = content_lines(path)
    lines = []
    for number, text in enumerate(texts, 1):
        *source, target, kind = text.split("\t")[: 4 if dialect == "answers" else 3]
        lines.append(GoldLine(number, " ".join(source), " ".join(target.split()), kind))
    name = stem(path)
    name = f"cogs-{dialect}-{name}" if name in SPLITS else name
    return SyntaxSuite(name, tuple(lines), checksum("\n".join(texts)), settings={"dialect": dialect}, dialect=dialect)


def _error(row: list[str], dialect: SyntaxDialect) -> str:
    """What is wrong with a line; empty if nothing is."""
    if len(row) not in _COLUMNS[dialect]:
        counts = " or ".join(map(str, _COLUMNS[dialect]))
        return f"{plural(len(row), 'column')}, not {counts} ({_LAYOUTS[dialect]}, separated by tabs)"
    if not all(cell.strip() for cell in row):
        return "a column is empty"
    if " " in row[3 if dialect == "answers" else 2]:
        return "the type has a space"
    words = row[0].split()
    words = words[:-1] if words[-1] == "." else words  # the full stop has no tag, and is not in the tree
    target = row[1].split()
    if dialect == "tree":
        if brackets(row[1]) is None:
            return "not a tree: every bracket needs a label and a word"
        leaves = [b for a, b in pairwise(target) if a != "(" and b not in "()"]
        return "" if leaves == words else "the words of the tree are not those of the sentence"
    if dialect == "tags":
        if unknown := next((tag for tag in target if tag not in TAGS), None):
            return f"{unknown!r} is not a tag. There is: {', '.join(sorted(TAGS))}"
        return "" if len(target) == len(words) else f"{len(target)} tags for {len(words)} words"
    return "" if row[1].split()[-1] == "?" else "the question does not end in '?'"


def _f1(overlaps: Sequence[tuple[int, int, int]]) -> float:
    """F1 of common, predicted and gold phrases; 1 if there are none at all."""
    common, predicted, gold = (sum(column) for column in zip(*overlaps, strict=True))
    return 2 * common / (predicted + gold) if predicted + gold else 1.0
