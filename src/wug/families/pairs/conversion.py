"""From one format of minimal pairs to another, where nothing is lost on the way."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from wug.errors import InputError, SuiteError, UnknownName
from wug.families.pairs import formats, oddities
from wug.families.pairs.formats import write
from wug.families.pairs.pair import Pair, Target, place
from wug.families.pairs.settings import OPTIONS
from wug.files import write_text
from wug.options import names, refuse_unknown

_BY_ENDING = {".jsonl": "blimp", ".txt": "true-false", ".gold": "linzen", ".text": "linzen"}
_TABLES = (".tsv", ".tab", ".csv")
_ENDINGS = {
    "blimp": (".jsonl",),
    "linzen": (".text", ".gold", ".eval"),
    "sentence": (*_TABLES, ".txt"),
    "word": (*_TABLES, ".txt"),
    "true-false": (".txt", ".tsv"),
    "marvin-linzen": (".tsv", ".txt"),
}
"""How the names of files in each format may end."""


def convert(source: Path, target: Path, options: Mapping[str, str]) -> list[str]:
    """Write the pairs of `source` to `target`; what the user should know about it.

    The format is `options["to"]`, or goes by the ending of the new file: `.jsonl` BLiMP, `.txt` True/False rows,
    `.text` line-aligned, `.tsv`, `.tab` and `.csv` a table, word-focused where the old file names its targets. What was
    written is read again and must be the same pairs; if it is not, nothing is kept.
    """
    refuse_unknown(options, [*names(OPTIONS), "to"], "pairs")
    parsed = formats.parse(source, {key: value for key, value in options.items() if key != "to"})
    faults = [problem for problem in parsed.problems if problem.level == "error"]
    if faults:
        raise SuiteError(oddities.capped(faults), file=source)
    name = options.get("to") or _by_ending(target, parsed.pairs)
    texts = _texts(name, target, parsed.pairs, source)
    extra = sorted({group for pair in parsed.pairs for group in pair.groups if group not in formats.KNOWN_GROUPS})
    _must_lose_nothing(name, texts, parsed.pairs, extra, target)
    for path, text in texts.items():
        write_text(path, text)
    files = ", ".join(str(path) for path in texts)
    notices = [f"{len(parsed.pairs)} pairs, from {parsed.format} to {name}: {files}"]
    if extra:
        notices.append(f"read it with -S groups={','.join(extra)}")
    return notices


def _by_ending(target: Path, pairs: Sequence[Pair]) -> str:
    ending = target.suffix.lower()
    if ending in _BY_ENDING:
        return _BY_ENDING[ending]
    if ending not in _TABLES:
        known = ", ".join([*_TABLES, *_BY_ENDING])
        raise InputError(f"pairs are not written as {ending or 'a file without a suffix'}: use {known}", file=target)
    return "word" if pairs and all(pair.target is not None for pair in pairs) else "sentence"


def _texts(name: str, target: Path, pairs: Sequence[Pair], source: Path) -> dict[Path, str]:
    """What each new file will hold."""
    if name == "original":
        raise InputError(
            "the original format has columns (freq, punct, len_context, …) that cannot be made up from another. "
            "Write word or sentence instead",
            file=target,
        )
    if name != "linzen" and name not in write.WRITERS:
        raise UnknownName("format of minimal pairs", name, [*write.WRITERS, "linzen"])
    if target.suffix.lower() not in _ENDINGS[name]:
        raise InputError(
            f"the format {name} is written to a file that ends in {', '.join(_ENDINGS[name])}", file=target
        )
    try:
        if name == "linzen":
            return {target.with_suffix(f".{ending}"): text for ending, text in write.linzen(pairs).items()}
        text = write.WRITERS[name](pairs)
        return {target: write.with_commas(text) if target.suffix.lower() == ".csv" else text}
    except InputError as error:
        raise InputError(error.message, file=source, place=error.place) from None


def _must_lose_nothing(
    name: str, texts: Mapping[Path, str], pairs: Sequence[Pair], extra: Sequence[str], target: Path
) -> None:
    """Read what will be written and compare."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in texts.items():
            write_text(Path(folder) / path.name, text)
        first = Path(folder) / next(iter(texts)).name
        again = formats.parse(first, {"format": name, "groups": ",".join(extra)} if extra else {"format": name})
    if len(again.pairs) != len(pairs):
        raise InputError(f"the format {name} cannot hold these pairs: {len(again.pairs)} of {len(pairs)} survive")
    for before, after in zip(pairs, again.pairs, strict=True):
        if lost := _lost(before, after):
            raise InputError(
                f"the format {name} would lose {lost} of item {before.item}.{_remedy(name, lost)}", file=target
            )


def _lost(before: Pair, after: Pair) -> str | None:
    """What is not the same in two pairs."""
    if before.context != after.context:
        return "the context"
    if (before.good, before.bad) != (after.good, after.bad):
        return "the sentences"
    if dict(before.groups) != dict(after.groups):
        changed = {key for key in {*before.groups, *after.groups} if before.groups.get(key) != after.groups.get(key)}
        return " and ".join(f"{key} {before.groups.get(key, 'none')!r}" for key in sorted(changed - {"pattern_type"}))
    if before.item != after.item:
        return "the name"
    here: Target | None = place(before)
    return None if here == place(after) else "the target word"


def _remedy(name: str, lost: str) -> str:
    if name == "true-false" and lost.startswith("pattern"):
        return " True/False rows have their pattern in the name of the file: call it PATTERN.txt"
    return " Use blimp (.jsonl) or a table (.tsv), which can hold it"
