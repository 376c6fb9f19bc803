"""Line-aligned files: `.text` with the sentences, `.gold` with the forms, `.eval` with the places.

The set of Linzen et al. (2016) as filtered by Gulordava et al. (2018), whose `.gold` has four columns, and the
companions of their own `.tab` file, whose `.gold` has twelve.
"""

from __future__ import annotations

import re
from pathlib import Path

from wug.errors import InputError
from wug.families.pairs.pair import GroupPool, Pair, Parsed, parts, with_forms, without_eos
from wug.files import head as head_of
from wug.files import read_lines
from wug.types import Problem

_SHORT = re.compile(r"\d{1,9}\t[^\t]+\t[^\t]+\t(\d{1,9}|-999)")
_LONG = re.compile(r"[^\t]*![^\t]*\t\d{1,9}\t\d{1,9}\t\d{1,9}\t([^\t]*\t){7}[^\t]*")
_UNCOUNTED = "-999"
"""What Lakretz et al. have for the number of attractors, which they do not count."""
_ENDINGS = ("text", "gold", "eval")


def recognises(path: Path, head: str) -> bool:
    """Whether this is one of the line-aligned files, by what is in the `.gold` one."""
    if not path.is_file() or _ending(path) not in _ENDINGS:
        return False
    gold = path if _ending(path) == "gold" else companion(path, "gold")
    if gold is None:
        return False
    line = (head if gold == path else head_of(gold)).split("\n", 1)[0].rstrip("\r")
    return bool(_SHORT.fullmatch(line) or _LONG.fullmatch(line))


def parse(path: Path) -> Parsed:
    """The pairs of line-aligned files, any of which may be named."""
    text, gold = _present(path, "text"), _present(path, "gold")
    sentences, forms = read_lines(text), read_lines(gold)
    if len(sentences) != len(forms):
        raise InputError(f"{len(sentences)} lines, but {gold.name} has {len(forms)}; they must go together", file=text)
    problems: list[Problem] = []
    pool = GroupPool()
    pairs = [
        _pair(number, sentence, line, pool, problems)
        for number, (sentence, line) in enumerate(zip(sentences, forms, strict=True), 1)
    ]
    places = companion(path, "eval")
    if places is not None:
        problems += _eval_problems(read_lines(places), forms)
    return Parsed("linzen", [pair for pair in pairs if pair is not None], problems)


def companion(path: Path, ending: str) -> Path | None:
    """The file beside `path` with another ending, gzipped or not; None where there is none."""
    stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
    found = (path.with_name(f"{stem}.{ending}{packed}") for packed in ("", ".gz"))
    return next((file for file in found if file.is_file()), None)


def _present(path: Path, ending: str) -> Path:
    found = companion(path, ending)
    if found is None:
        stem = path.name.removesuffix(".gz").rsplit(".", 1)[0]
        raise InputError(f"needs {stem}.{ending} beside it", file=path)
    return found


def _pair(number: int, sentence: str, line: str, pool: GroupPool, problems: list[Problem]) -> Pair | None:
    place = f"line {number}"
    if not (_SHORT.fullmatch(line) or _LONG.fullmatch(line)):
        problems.append(Problem("error", place, f"the gold line {line[:60]!r} is not place, form, form, attractors"))
        return None
    fields = line.split("\t")
    length, forms, groups = _gold(fields)
    words = without_eos(sentence).split()
    if length >= len(words):
        problems.append(Problem("error", place, f"the target is word {length}, but the sentence has {len(words)}"))
        return None
    found_word = parts(words[length], forms)[1]
    if len(fields) == 4 and found_word != forms[0]:
        what = "in another case" if found_word.lower() == forms[0].lower() else "which is another word"
        problems.append(
            Problem(
                "warning", place, f"the form is {forms[0]!r}, and the text has {found_word!r}, {what}; the form is used"
            )
        )
    item = str(number) if len(fields) == 4 else f"{groups['pattern']}/{fields[1]}/{fields[2]}"
    return with_forms(item, words, length, forms, pool.of(groups))


def _gold(fields: list[str]) -> tuple[int, tuple[str, str], dict[str, str]]:
    """Place, forms and groups of a gold line."""
    if len(fields) == 4:
        return int(fields[0]), (fields[1], fields[2]), {"attractors": fields[3].removeprefix(_UNCOUNTED)}
    side, construction, *_ = fields[0].split("!")
    number = "sing" if "Number=Sing" in fields[5] else "plur" if "Number=Plur" in fields[5] else ""
    kind = "original" if fields[2] == "0" else "nonce"
    groups = {"pattern": f"{side}__{construction}", "type": kind, "number": number}
    return int(fields[3]), (fields[6], fields[7]), groups


def _eval_problems(places: list[str], forms: list[str]) -> list[Problem]:
    """What is wrong with the `.eval` file: it repeats the places of the `.gold` one."""
    if len(places) != len(forms):
        return [Problem("error", "", f"the .eval file has {len(places)} lines, and the .gold file {len(forms)}")]
    problems: list[Problem] = []
    for number, (place, line) in enumerate(zip(places, forms, strict=True), 1):
        fields = line.split("\t")
        wanted = fields[0] if len(fields) == 4 else fields[3] if len(fields) == 12 else place.strip()
        if place.strip() != wanted:
            message = f"the .eval file says {place!r}, the .gold file {wanted!r}"
            problems.append(Problem("error", f"line {number}", message))
    return problems


def _ending(path: Path) -> str:
    return path.name.removesuffix(".gz").rsplit(".", 1)[-1]
