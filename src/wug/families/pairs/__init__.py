"""Minimal pairs: does the model prefer the grammatical sentence, or word?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from wug.errors import InputError
from wug.families.pairs import formats
from wug.families.pairs.conversion import convert as convert
from wug.families.pairs.formats import files_in as files_in
from wug.families.pairs.formats.lines import companion
from wug.families.pairs.formats.original import score_columns
from wug.families.pairs.formats.standard import without_phenomenon
from wug.families.pairs.outcomes import ACCURACY, CHANCE, LANGUAGE, MACRO_ACCURACY, with_people
from wug.families.pairs.outcomes import from_sample as from_sample
from wug.families.pairs.outcomes import to_sample as to_sample
from wug.families.pairs.pair import Pair, ParsedPairs, distinct_groups, lint, target_of, without_eos
from wug.families.pairs.questions import presented
from wug.families.pairs.scoring import OPTIONS as OPTIONS
from wug.families.pairs.scoring import TARGET_OF_FILE, PairsSettings
from wug.families.pairs.suite import PairsSuite
from wug.files import checksum_of, read_lines, shortened
from wug.interfaces import Suite
from wug.outcomes import SuiteOutput
from wug.problems import Problem, ProblemList, refuse_errors
from wug.record_tables import stem
from wug.traits import FamilyTraits

PHENOMENA = {
    **dict.fromkeys(("anaphor*", "*reflexive*", "*npi*", "binding*"), "Licensing"),
    **dict.fromkeys(("*agreement*", "*agrmt*", "subj_rel*", "obj_rel*", "sent_comp*", "prep_*"), "Agreement"),
    **dict.fromkeys(("vp_coord*", "long_vp_coord*", "coord_*", "simple_sing", "simple_plur"), "Agreement"),
    **dict.fromkeys(("filler_gap*", "island*"), "Long-Distance Dependencies"),
    **dict.fromkeys(("argument_structure", "s_selection", "control_raising"), "Argument Structure"),
    **dict.fromkeys(("irregular*",), "Irregular Forms"),
    **dict.fromkeys(("tense_*",), "Tense"),
    **{name: name.title() for name in ("ellipsis", "quantifiers")},
}
"""Phenomena of BLiMP and patterns of Marvin and Linzen (2018), by the circuits of Hu et al. (2020) where they fit."""
TRAITS = FamilyTraits(
    builtin_model="wug-causal",
    breakdown=("language", "phenomenon", "term", "type", "pattern", "paradigm", "condition"),
    across_suites="language",
    chance_levels={ACCURACY: CHANCE, MACRO_ACCURACY: CHANCE},
    phenomena=PHENOMENA,
    identifying_options=("good", "form", "lines"),
    leading_suffix=".text",
    column_hint="-S good=COLUMN -S bad=COLUMN for minimal pairs",
    text_hint="For files with one sentence per line, good and bad in turn, add -S lines=good-bad, or bad-good",
    one_suite_per_set=True,
    sample_options=2,
)


class PublishedScores(NamedTuple):
    """The pairs of a file, and the judgements on its columns of log-probabilities."""

    suite: PairsSuite
    columns: Mapping[str, Sequence[SuiteOutput]]


def recognises(path: Path, head: str) -> bool:
    """Whether a file or folder is in a format of minimal pairs."""
    return formats.format_of(path, head) is not None


def read(path: Path, options: Mapping[str, str]) -> list[Suite]:
    """The suite of a file or folder, in a list; SuiteError with all errors of the file."""
    settings, *others = PairsSettings.each(options)
    parsed = formats.parse(path, options)
    refuse_errors(parsed.problems, path)
    if not parsed.pairs:
        raise InputError("the file has no pairs", file=path)
    notices = _notices(parsed, settings)
    if settings.unigrams is not None and settings.unigrams.unit == "word" and "slor_words" not in options:
        sentences = (sentence for pair in parsed.pairs for sentence in (pair.good, pair.bad))
        unigrams, notice = settings.unigrams.fitted(sentences)
        settings = replace(settings, unigrams=unigrams)
        notices += [] if notice is None else [notice]
    name = path.resolve().name if path.is_dir() else stem(path)
    checksum = _checksum(parsed.pairs)
    judged, people = with_people(parsed.pairs, options)
    notices += () if people is None else people.notices
    pairs, lines = tuple(judged), tuple[str, ...]()
    if settings.target == "word":
        pairs = tuple(_with_targets(path, judged))
        aligned = _running_text(path, pairs)
        pairs, lines = (pairs, ()) if aligned is None or isinstance(aligned, Problem) else aligned
    suite = PairsSuite(
        name,
        pairs,
        checksum,
        tuple(notices),
        settings=settings,
        format=parsed.format,
        lines=lines,
        sources=parsed.counts,
        people=people,
    )
    suite = suite.without(options.get("exclude"), path, lambda pair: (pair.item, pair.groups))
    return [presented(suite, each.presentation) for each in (settings, *others)]


def read_published(path: Path, columns: Sequence[str] | None = None) -> PublishedScores:
    """The pairs of a file in the original format, with the judgements on `columns`, or on all that the format lacks."""
    pairs, scored = score_columns(path, columns)
    settings = PairsSettings(target=TARGET_OF_FILE)
    suite = PairsSuite(stem(path), pairs, _checksum(pairs), settings=settings, format="original")
    return PublishedScores(suite, scored)


def check(path: Path, options: Mapping[str, str]) -> list[Problem]:
    """All errors and warnings about a file or folder."""
    chosen = dict(options)
    PairsSettings.each(chosen)
    parsed = formats.parse(path, chosen)
    problems = ProblemList.of(parsed.problems, lint(parsed.pairs))
    if not parsed.pairs and not problems:
        problems.error("", "the file has no pairs")
    try:
        with_people(parsed.pairs, chosen if parsed.pairs else {})
    except InputError as error:
        problems.error("people", str(error))
    aligned = _running_text(path, parsed.pairs)
    problems += [aligned] if isinstance(aligned, Problem) else []
    return problems


def read_back(suite: PairsSuite) -> list[str]:
    """How a file was read: the first pair, and the column `context` if there is one."""
    good, bad = (repr(shortened(sentence)) for sentence in (suite.items[0].good, suite.items[0].bad))
    how = f"read as {suite.format}; first pair: {good} (good), {bad} (bad)"
    return [how, *([suite.understood] if suite.understood else [])]


def _with_targets(path: Path, pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with their target words; InputError if none has one."""
    targeted = [pair if pair.target is not None else pair._replace(target=target_of(pair)) for pair in pairs]
    if all(pair.target is None for pair in targeted):
        raise InputError(
            "target=word needs pairs that differ in one place, and none of these do "
            f"({pairs[0].good!r}, {pairs[0].bad!r}). Use target=sentence",
            file=path,
        )
    return targeted


def _running_text(path: Path, pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], tuple[str, ...]] | Problem | None:
    """The pairs with their lines in the `.text` file that comes with their file, and these lines.

    The lines are the sentences of the pairs, in order; there may be other lines between them. If they do not match, a
    problem; None if there is no such file.
    """
    text = companion(path, "text") if path.is_file() and all(pair.sentence is not None for pair in pairs) else None
    if text is None:
        return None
    try:
        lines = tuple(read_lines(text))
    except InputError as error:
        return Problem("warning", "", str(error))
    sentences = [" ".join(without_eos(line).split()) for line in lines]
    aligned: list[Pair] = []
    number = -1
    for pair in pairs:
        try:
            number = sentences.index(str(pair.sentence), number + 1)
        except ValueError:
            after = f"after line {number + 1}" if aligned else "in it"
            message = f"{text.name} does not match these pairs: there is no {pair.sentence!r} {after}"
            return Problem("warning", f"pair {pair.item}", message)
        aligned.append(pair._replace(line=number))
    return tuple(aligned), lines


def _notices(parsed: ParsedPairs, settings: PairsSettings) -> list[str]:
    notices = [str(problem) for problem in parsed.problems if problem.level == "warning"]
    if len(notices) > 5:
        notices = [*notices[:5], f"{len(notices) - 5} more warnings about the file: see `wug check`"]
    if settings.target == "word" and parsed.early_differences:
        notices.append(
            f"{parsed.early_differences} pairs differ before the word that shows the error (one_prefix_method is false "
            "in the file): a left-to-right model cannot distinguish them by the target word"
        )
    return notices


def _checksum(pairs: Sequence[Pair]) -> str:
    """The checksum of the pairs, whatever the order of their names.

    The language is left out, since only the catalogue knows it for some sets, and so is a derived phenomenon.
    """
    texts: dict[int, str] = {}
    for groups in distinct_groups(pairs):
        named = without_phenomenon(groups).items()
        texts[id(groups)] = "".join(f"\t{name}={value}" for name, value in named if name != LANGUAGE)

    def line(pair: Pair) -> str:
        where = "" if pair.target is None else "-".join(map(str, pair.target))
        return f"{pair.item}\t{pair.good}\t{pair.bad}\t{where}{texts[id(pair.groups)]}"

    return checksum_of(map(line, sorted(pairs, key=attrgetter("item"))))
