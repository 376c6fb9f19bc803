"""A linter for the prose of pages, cards and the source: `python tests/prose.py [FILE…]`; prose.toml has the words.

Code, quoted output and generated tables are not prose. In Python files, docstrings, comments and texts of several words
are; in tests and benchmarks docstrings and comments alone, since other texts are data. On pages, the sentences of a
paragraph have at most 30 words on average.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "RELEASING.md", "SECURITY.md")]
FOLDERS = ("docs", "src/wug/assets", "packages", "examples")
PAGES += [page for name in FOLDERS for page in sorted((ROOT / name).rglob("*.md")) if page.name != "reference.md"]
SOURCE = ROOT / "src" / "wug"
RULES = tomllib.loads((ROOT / "tests" / "prose.toml").read_text(encoding="utf-8"))
EXEMPT = set(RULES["exempt"])
MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).as_posix() not in EXEMPT]
MODULES += [*sorted((ROOT / "tests" / "helpers").glob("*.py")), ROOT / "tests" / "conftest.py"]
TESTS = {path for folder in ("tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")} - set(MODULES)
TESTS -= {ROOT / "tests" / "prose.py", ROOT / "tests" / "docs" / "test_prose.py"}
"""Files in which texts other than docstrings are data."""
MAX_WORDS_PER_SENTENCE = 30
"""On average, in one paragraph or list item."""
BANNED = {pattern.replace("UNIT", "|".join(RULES["units"])): advice for pattern, advice in RULES["banned"].items()}
PERCENT = re.compile(r"(\d|%[.\d]*g) %")
_BANNED = [(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), advice) for pattern, advice in BANNED.items()]
_ANY_BANNED = re.compile(rf"\b(?:{'|'.join(BANNED)})\b", re.IGNORECASE)
_GENERATED = re.compile(r"<!-- (?:options|keys|paper|recorded)\b.*?<!-- end -->", re.DOTALL)
_HIDDEN = re.compile(r"^ *(`{3,})[^`\n]*\n.*?^ *\1 *$|<!--.*?-->", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]*`|\]\([^)\s]*\)|https?://\S+|(?<!\S)--[a-z-]+")
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
    """The lines of docstrings, comments and, outside of tests, texts of several words, with their numbers."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if path in TESTS:
        nodes = (node.value for node in nodes if isinstance(node, ast.Expr))
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield from enumerate(node.value.split("\n"), node.lineno)


def line_problems(line: str) -> Iterator[str]:
    """Problems of a line, each with what to write instead."""
    plain = _INLINE.sub("`code`", line)
    for pattern, advice in _BANNED if _ANY_BANNED.search(plain) else ():
        for found in pattern.finditer(plain):
            yield f"{found[0]!r}: {advice}"
    if PERCENT.search(plain):
        yield "write 95%, not 95 %"


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs and list items, with the number of their first line, without tables and headings."""
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
    files = [Path(name).resolve() for name in sys.argv[1:]] or [*PAGES, *MODULES, *sorted(TESTS)]
    found = [one for file in files for one in (source_problems if file.suffix == ".py" else problems)(file)]
    print("\n".join(found))
    sys.exit(bool(found))
