"""A linter for the prose of README, docs, CONTRIBUTING, CHANGELOG and the source: `python tests/prose.py [FILE…]`.

It looks for words of the project's former style, for "one row a word" and "95 %", and on pages for paragraphs whose
sentences have more than 30 words on average. Code, quoted output and generated tables are not prose. In Python files,
docstrings, comments and texts of several words are.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md", "SECURITY.md")]
PAGES += sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name != "reference.md")
PAGES += sorted(page for name in ("src/wug/assets", "packages", "examples") for page in (ROOT / name).rglob("*.md"))
"""Without the Python reference, which is generated from docstrings; with the cards of suites and models."""
SOURCE = ROOT / "src" / "wug"
EXEMPT = {
    *("families/cogs/make/grammar.py", "families/pcfgset/make_commands.py", "families/syntaxgym/tables.py"),
    *("models/huggingface/hub.py", "models/huggingface/loading.py", "models/huggingface/tokenizer_loading.py"),
    *("models/tokenization/chat_templates.py", "models/endpoint/answers.py", "families/pairs/replies.py"),
}
"""Modules with such words as data, in names of options, or in sentences of which a part is inserted."""
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).as_posix() not in EXEMPT]
MODULES += [path for path in sorted((ROOT / "tests").glob("*.py")) if not path.name.startswith(("test_", "prose"))]
"""The source, and helper modules of tests."""
MAX_WORDS_PER_SENTENCE = 30
"""On average, in one paragraph or list item."""
UNIT = (
    "word line row token second minute hour step model page sentence judgement estimate pattern pair question record "
    "cell suite task GPU round letter case item form core text source run week level network character epoch file seed"
).split()
BANNED = {
    r"beside": "next to, with, in addition to",
    r"stands?|stood": "is, appears",
    r"anew": "again",
    r"alike": "the same, equally",
    r"so many": "a number, or that many",
    r"(?:is|are|was|were|be|been) told|whoever|heeded|nought|parted|mend(?:ed)?|dear": "plain words",
    r"(?:comes?|came|goes|go|went) (?:along|on)": "is included; continues",
    r"of (?:its|your|their|our|my|one's|wug's) own": "own, separate, custom",
    r"remed(?:y|ies)": "fix",
    r"faults?": "error",
    r"(?<!there )(?:is|are|was|were) no(?! longer\b)": "is not a",
    r"(?:a short|an earlier|in one|the first) go": "run",
    r"what is asked|ways of asking|asked of whom": "name the actor",
    r"text to text": "sequence-to-sequence",
    r"the hub": "the Hugging Face Hub",
    rf"(?:one|two|three|\d[\d.,]*|an?) (?!(?:of|on|that)\b)[\w-]+ an? (?:{'|'.join(UNIT)})": "per",
    rf"(?:rows|nats|bits|steps|tokens|letters|words|sentences|ms|seconds|minutes) an? (?:{'|'.join(UNIT)})": "per",
}
PERCENT = re.compile(r"\d %")
_BANNED = [(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), advice) for pattern, advice in BANNED.items()]
_GENERATED = re.compile(r"<!-- (?:options|keys|paper|recorded)\b.*?<!-- end -->", re.DOTALL)
_HIDDEN = re.compile(r"^ *(`{3,})[^`\n]*\n.*?^ *\1 *$|<!--.*?-->", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]*`|\]\([^)\s]*\)|https?://\S+")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|et al|vs|cf|Dr|p)\.")


def problems(page: Path) -> Iterator[str]:
    """One line per problem: page, line number, what was found and what to write instead."""
    text = page.read_text(encoding="utf-8")
    for hidden in (_GENERATED, _HIDDEN):
        text = hidden.sub(lambda found: "\n" * found[0].count("\n"), text)
    name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page.name
    for number, line in enumerate(text.split("\n"), 1):
        yield from (f"{name}:{number}: {problem}" for problem in line_problems(line))
    for number, paragraph in paragraphs(text):
        if (mean := words_per_sentence(paragraph)) > MAX_WORDS_PER_SENTENCE:
            yield f"{name}:{number}: {mean:.0f} words per sentence: {paragraph[:50]}…"


def source_problems(path: Path) -> Iterator[str]:
    """The same for the docstrings, comments and other texts of a Python file."""
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
    for number, line in sorted(texts_in(path)):
        yield from (f"{name}:{number}: {problem}" for problem in line_problems(line))


def texts_in(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of docstrings, comments and texts of several words, with their numbers."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield from enumerate(node.value.split("\n"), node.lineno)


def line_problems(line: str) -> Iterator[str]:
    """What a line has of the former style, and what to write instead."""
    plain = _INLINE.sub("`code`", line)
    for pattern, advice in _BANNED:
        for found in pattern.finditer(plain):
            yield f"{found[0]!r}: {advice}"
    if PERCENT.search(plain):
        yield "write 95%, not 95 %"


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs and list items, with the number of their first line; tables and headings are left out."""
    lines: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if lines and (not line.strip() or re.match(r"\s*([-*>|#]|\d+\.) ?", line)):
            yield number - len(lines), " ".join(lines)
            lines = []
        if line.strip() and not line.lstrip().startswith(("|", "#")):
            lines.append(line.strip())


def words_per_sentence(paragraph: str) -> float:
    """The mean number of words of its sentences."""
    plain = _ABBREVIATION.sub("abbreviation", _INLINE.sub(" code ", paragraph))
    sentences = [found for found in re.split(r"(?<=[.!?:])[\])\"*_]*\s+", plain) if re.search(r"\w", found)]
    return len(re.findall(r"[\w'’-]+", plain)) / max(1, len(sentences))


if __name__ == "__main__":
    files = [Path(name).resolve() for name in sys.argv[1:]] or [*PAGES, *MODULES]
    found = [one for file in files for one in (source_problems if file.suffix == ".py" else problems)(file)]
    print("\n".join(found))
    sys.exit(bool(found))
