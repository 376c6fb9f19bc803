"""Line-based formats: True/False rows (CLAMS), Marvin–Linzen tables, line-aligned files, and alternating sentences."""

from __future__ import annotations

import re
from pathlib import Path

from wug.errors import InputError
from wug.families.pairs.formats.tables import PairLabels
from wug.families.pairs.pair import GroupPool, Pair, ParsedPairs, split_punctuation, with_forms, without_eos
from wug.files import head as head_of
from wug.files import read_lines
from wug.problems import Problem, ProblemList
from wug.record_tables import stem

ORDERS = ("good-bad", "bad-good")
_MARK = re.compile(r"(True|False)\t\S")
_LANGUAGE = re.compile(r"(?:^|/)([a-z]{2})_evalset(?:/|__)")
_NAME = re.compile(r"[A-Za-z][\w-]*")
_SAMPLE_HEADER = ("test case", "grammatical", "ungrammatical")
_SHORT_GOLD = re.compile(r"\d{1,9}\t[^\t]+\t[^\t]+\t(\d{1,9}|-999)")
_LONG_GOLD = re.compile(r"[^\t]*![^\t]*\t\d{1,9}\t\d{1,9}\t\d{1,9}\t([^\t]*\t){7}[^\t]*")
_UNCOUNTED = "-999"
"""The number of attractors in the files of Lakretz et al., who do not count them."""


def recognises_marks(path: Path, head: str) -> bool:
    """Whether every line is `True` or `False` and a sentence."""
    lines = _whole_lines(head)
    return bool(lines) and all(_MARK.match(line) and line.count("\t") == 1 for line in lines)


def parse_marks(path: Path, labels: PairLabels) -> ParsedPairs:
    """The pairs of True/False rows: each False row with the last True row above it. The pattern is the file's name."""
    pairs: list[Pair] = []
    problems = ProblemList()
    language = _LANGUAGE.search(path.absolute().as_posix())
    groups = GroupPool().of({"pattern": stem(path), "language": language[1] if language else ""})
    good: str | None = None
    unpaired: int | None = None
    for number, line in _numbered(path):
        label, tab, text = line.partition("\t")
        sentence = without_eos(text)
        if label not in ("True", "False") or not tab or not sentence:
            problems.error(f"line {number}", f"{line[:60]!r} is not True or False, a tab, and a sentence")
        elif label == "True":
            problems += _without_false(unpaired)
            good, unpaired = sentence, number
        elif good is None:
            problems.error(f"line {number}", "a False row with no True row above it")
        else:
            pairs.append(Pair(str(len(pairs) + 1), good, sentence, groups))
            unpaired = None
    problems += _without_false(unpaired)
    return ParsedPairs("true-false", pairs, problems)


def recognises_cases(path: Path, head: str) -> bool:
    """Whether the lines are test case, condition, and two or three sentences; or have the sample's header."""
    lines = [line.split("\t") for line in _whole_lines(head)]
    if lines and tuple(lines[0]) == _SAMPLE_HEADER:
        return True
    return bool(lines) and all(_is_case(fields) for fields in lines)


def parse_cases(path: Path, labels: PairLabels) -> ParsedPairs:
    """The pairs of a Marvin–Linzen table; a row with two wrong sentences is two pairs, numbered by `contrast`."""
    pairs: list[Pair] = []
    problems = ProblemList()
    pool = GroupPool()
    sample = False
    for number, line in _numbered(path):
        fields = line.split("\t")
        if tuple(fields) == _SAMPLE_HEADER:
            sample = True
            continue
        if sample and len(fields) == 3:
            pattern, _, rest = fields[0].partition("--")
            fields = [pattern, rest.partition("--")[0], *fields[1:]]
        if len(fields) not in (4, 5) or not all(field.strip() for field in (fields[0], *fields[2:])):
            message = f"{len(fields)} fields, not test case, condition, a sentence and one or two wrong ones"
            problems.error(f"line {number}", message)
            continue
        pattern, condition, good, *wrong = fields
        for contrast, bad in enumerate(wrong, 1):
            groups = {"pattern": pattern, "condition": condition, "contrast": str(contrast) if len(wrong) > 1 else ""}
            pairs.append(Pair(str(len(pairs) + 1), without_eos(good), without_eos(bad), pool.of(groups)))
    return ParsedPairs("marvin-linzen", pairs, problems)


def parse_alternating(path: Path, labels: PairLabels) -> ParsedPairs:
    """The pairs of a file with one sentence per line, good and bad in turn. The paradigm is the file's name.

    Zorro begins with the bad sentence, a file of CLiMP with the good one: the catalogue or the user says which.
    """
    if labels.lines is None:
        raise InputError(
            "one sentence per line: nothing in the file tells which is the good one. If they alternate, add "
            "-S lines=good-bad or -S lines=bad-good",
            file=path,
        )
    lines: list[tuple[int, str]] = []
    problems = ProblemList()
    for number, line in enumerate(read_lines(path), 1):
        if "\t" in line.strip():
            problems.error(f"line {number}", "a tab in a line that should be a sentence")
        if line.strip() and not (line.strip() == ",0" and not lines):  # the header in a copy of CLiMP
            lines.append((number, line.strip()))
    if len(lines) % 2:
        problems.error("", f"{len(lines)} sentences, an odd number, cannot be paired")
    groups = GroupPool().of({"phenomenon": stem(path).rpartition("-")[0], "paradigm": stem(path)})
    pairs: list[Pair] = []
    for (above, first), (below, second) in zip(lines[::2], lines[1::2], strict=False):
        if below != above + 1:
            problems.error(f"line {above + 1}", "an empty line between the two sentences of a pair")
        good, bad = (first, second) if labels.lines == "good-bad" else (second, first)
        pairs.append(Pair(str(len(pairs) + 1), good, bad, groups))
    return ParsedPairs("lines", pairs, problems)


def recognises_aligned(path: Path, head: str) -> bool:
    """Whether this is one of the line-aligned files, from the content of the `.gold` file."""
    suffix = path.name.removesuffix(".gz").rsplit(".", 1)[-1]
    if not path.is_file() or suffix not in ("text", "gold", "eval"):
        return False
    gold = path if suffix == "gold" else companion(path, "gold")
    if gold is None:
        return False
    return _is_gold((head if gold == path else head_of(gold)).split("\n", 1)[0].rstrip("\r"))


def parse_aligned(path: Path, labels: PairLabels) -> ParsedPairs:
    """The pairs of line-aligned files: sentences in `.text`, forms in `.gold`, positions in `.eval`.

    The set of Linzen et al. (2016) as filtered by Gulordava et al. (2018) has a `.gold` file with four columns, and
    the files that come with their own `.tab` file have one with twelve. Any of the files may be given.
    """
    text, gold = _required_companion(path, "text"), _required_companion(path, "gold")
    sentences, forms = read_lines(text), read_lines(gold)
    if len(sentences) != len(forms):
        raise InputError(f"{len(sentences)} lines, but {gold.name} has {len(forms)}; they must be aligned", file=text)
    problems = ProblemList()
    pool = GroupPool()
    pairs = [
        _aligned_pair(number, sentence, line, pool, problems)
        for number, (sentence, line) in enumerate(zip(sentences, forms, strict=True), 1)
    ]
    positions = companion(path, "eval")
    if positions is not None:
        problems += _eval_problems(read_lines(positions), forms)
    return ParsedPairs("linzen", [pair for pair in pairs if pair is not None], problems)


def companion(path: Path, suffix: str) -> Path | None:
    """The file of the same name with another suffix, gzipped or not, if it exists."""
    candidates = (path.with_name(f"{stem(path)}.{suffix}{packed}") for packed in ("", ".gz"))
    return next((file for file in candidates if file.is_file()), None)


def _required_companion(path: Path, suffix: str) -> Path:
    file = companion(path, suffix)
    if file is None:
        raise InputError(f"needs {stem(path)}.{suffix} in the same folder", file=path)
    return file


def _is_gold(line: str) -> bool:
    return bool(_SHORT_GOLD.fullmatch(line) or _LONG_GOLD.fullmatch(line))


def _aligned_pair(number: int, sentence: str, line: str, pool: GroupPool, problems: ProblemList) -> Pair | None:
    place = f"line {number}"
    if not _is_gold(line):
        problems.error(place, f"the gold line {line[:60]!r} is not position, form, form, attractors")
        return None
    fields = line.split("\t")
    if len(fields) == 4:
        item, length, forms = str(number), int(fields[0]), (fields[1], fields[2])
        groups = {"attractors": fields[3].removeprefix(_UNCOUNTED)}
    else:
        side, construction, *_ = fields[0].split("!")
        feature = "sing" if "Number=Sing" in fields[5] else "plur" if "Number=Plur" in fields[5] else ""
        kind = "original" if fields[2] == "0" else "nonce"
        groups = {"pattern": f"{side}__{construction}", "type": kind, "number": feature}
        item, length, forms = f"{groups['pattern']}/{fields[1]}/{fields[2]}", int(fields[3]), (fields[6], fields[7])
    words = without_eos(sentence).split()
    if length >= len(words):
        problems.error(place, f"the target is word {length}, but the sentence has {len(words)}")
        return None
    word = split_punctuation(words[length], forms)[1]
    if len(fields) == 4 and word != forms[0]:
        what = "in another case" if word.lower() == forms[0].lower() else "which is another word"
        problems.warn(place, f"the form is {forms[0]!r}, and the text has {word!r}, {what}; the form is used")
    return with_forms(item, words, length, forms, pool.of(groups))


def _eval_problems(positions: list[str], forms: list[str]) -> list[Problem]:
    """Errors where the positions in the `.eval` file are not those in the `.gold` file."""
    if len(positions) != len(forms):
        return [Problem("error", "", f"the .eval file has {len(positions)} lines, and the .gold file {len(forms)}")]
    problems = ProblemList()
    for number, (position, line) in enumerate(zip(positions, forms, strict=True), 1):
        fields = line.split("\t")
        expected = fields[0] if len(fields) == 4 else fields[3] if len(fields) == 12 else position.strip()
        if position.strip() != expected:
            problems.error(f"line {number}", f"the .eval file says {position!r}, the .gold file {expected!r}")
    return problems


def _is_case(fields: list[str]) -> bool:
    if len(fields) not in (4, 5) or not _NAME.fullmatch(fields[0]) or not _NAME.fullmatch(fields[1]):
        return False
    first, *others = ([*field.split()] for field in fields[2:])
    return len(first) > 1 and all(len(set(first) & set(other)) * 2 >= len(set(first)) for other in others)


def _whole_lines(head: str) -> list[str]:
    lines = head.replace("\r\n", "\n").split("\n")
    return [line for line in (lines[:-1] if len(lines) > 1 else lines) if line.strip()]


def _numbered(path: Path) -> list[tuple[int, str]]:
    lines = [(number, line) for number, line in enumerate(read_lines(path), 1) if line.strip()]
    if not lines:
        raise InputError("the file is empty", file=path)
    return lines


def _without_false(number: int | None) -> list[Problem]:
    return [] if number is None else [Problem("error", f"line {number}", "a True row with no False row below it")]
