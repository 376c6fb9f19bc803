"""How pairs are scored: the options, the unigram model, and scores from the log-probabilities of tokens."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wug.arrays import Ints
from wug.errors import InputError
from wug.families import links as linking
from wug.families.pairs.formats import FORMATS
from wug.families.pairs.formats.lines import ORDERS
from wug.families.pairs.outcomes import JOINED_OPTIONS
from wug.families.pairs.presentation import PRESENTATION_OPTIONS, QUESTIONS, Presentation
from wug.families.suite import EXCLUDE
from wug.files import checksum, read_lines
from wug.options import Option, read, written
from wug.requests import Scored, Span
from wug.scores import Scores

TARGET_OF_FILE = "given"
"""The target of scores from a file that does not say what was scored."""
WORD_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "spaces": re.compile(r"\S+"),
    "punctuation": re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]"),
}
"""How SLOR splits sentences: at white space, or also at punctuation marks, which are then words."""
UNITS = ("word", "token")
UNKNOWN = frozenset({"<unk>", "[UNK]", "<UNK>", "unk"})
MAX_COUNT_DIGITS = 18
OPTIONS = (
    Option("target", ("sentence", "word"), "sentence", "score the whole sentence or the target word"),
    Option(
        "normalise",
        ("none", "token", "word", "character", "byte"),
        "none",
        "divide a score by its number of tokens, words, characters or bytes; the same as link",
    ),
    linking.link_option(*linking.LINKS),
    *linking.PARAMETERS,
    Option("unigrams", Path, None, "file of words or tokens and their counts, for normlp, slor and morcela"),
    Option("unigram_unit", UNITS, "word", "whether that file counts words, or tokens of the model"),
    Option("slor", Path, None, "the same as link=slor with this file of unigrams"),
    Option("slor_words", tuple(WORD_PATTERNS), None, "word boundaries; default: the way with fewer unknown words"),
    linking.TIES,
    *PRESENTATION_OPTIONS,
    Option("leading_space", bool, False, "put a space before every sentence, not only after a context"),
    Option("print_word_probs", bool, False, "keep the log-probability of every word"),
    Option("mask_target", bool, True, "with target=word, score only the target; no: score the whole sentence"),
    Option("single_piece_only", bool, False, "with target=word, leave out pairs whose target is several tokens"),
    Option("format", tuple(FORMATS), None, "format of the file; by default inferred from it"),
    Option("good", str, None, "column with the grammatical sentence, in a table of unknown format"),
    Option("bad", str, None, "column with the ungrammatical sentence"),
    Option("sentence", str, None, "column with the sentence, if the forms are in separate columns"),
    Option("form", str, None, "column with the grammatical form"),
    Option("form_alt", str, None, "column with the ungrammatical form"),
    Option("len_prefix", str, None, "column with the number of words before the form"),
    Option("pattern", str, None, "column with the pattern's name"),
    Option("item", str, None, "column with the pair's name"),
    Option("groups", str, (), "columns to break results down by", many=True),
    EXCLUDE,
    Option("human", str, None, "column with people's judgements: higher numbers if the good sentence is better"),
    *JOINED_OPTIONS,
    Option("language", str, None, "language of the pairs, such as nl, if the file does not say it"),
    Option("lines", ORDERS, None, "in files with one sentence per line, good and bad in turn: which comes first"),
    Option("files", str, (), "glob patterns of the files to read in a folder, such as *island*", many=True),
)


class UnigramScore(NamedTuple):
    """The log-probability of a text under the unigram model."""

    logprob: float
    words: int
    unknown: int
    """Words that are not in the list."""


@dataclass(frozen=True, slots=True)
class Unigrams:
    """Word counts."""

    counts: Mapping[str, int]
    total: int
    lower: bool
    """Whether all words of the list are in lower case, so that sentences are lowercased."""
    checksum: str
    words: str = "spaces"
    """The entry of WORD_PATTERNS that splits all sentences."""
    unit: str = "word"

    def logprob(self, text: str, tokens: Sequence[str] = ()) -> UnigramScore:
        """The log-probability of a text as a bag of words, or of its tokens if these are what is counted.

        With add-one smoothing and one type for unknown words.
        """
        units = tokens if self.unit == "token" else WORD_PATTERNS[self.words].findall(text)
        counts = [self.count(unit) for unit in units]
        total = self.total + len(self.counts) + 1
        logprob = math.fsum(math.log((count + 1) / total) for count in counts)
        return UnigramScore(logprob, len(counts), sum(count == 0 for count in counts))

    def count(self, word: str) -> int:
        """The count of a word; 0 if it is not listed."""
        return self.counts.get(word.lower() if self.lower else word, 0)

    def fitted(self, sentences: Iterable[str]) -> tuple[Unigrams, str | None]:
        """The model with the splitting that leaves fewest words unlisted, and a notice if it makes a difference.

        All sentences are split in the same way: otherwise, their scores could not be compared.
        """
        unlisted = dict.fromkeys(WORD_PATTERNS, 0)
        differ = False
        for sentence in sentences:
            split = {name: pattern.findall(sentence) for name, pattern in WORD_PATTERNS.items()}
            differ = differ or split["spaces"] != split["punctuation"]
            for name, words in split.items():
                unlisted[name] += sum(self.count(word) == 0 for word in words)
        best = min(WORD_PATTERNS, key=unlisted.__getitem__)
        counts = " and ".join(f"{count} with {name}" for name, count in unlisted.items())
        notice = f"slor splits all sentences with slor_words={best}: words missing from its list are {counts}"
        return replace(self, words=best), notice if differ else None


def read_unigrams(path: Path) -> Unigrams:
    """Read a file with a word and its count on each line, separated by a tab or space."""
    lines = read_lines(path)
    counts: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        word, _, count = line.replace("\t", " ").strip().rpartition(" ")
        if not word.strip() or not count.isdecimal() or len(count) > MAX_COUNT_DIGITS:
            raise InputError(f"{line[:60]!r} is not a word and its count", file=path, place=f"line {number}")
        counts[word.strip()] = counts.get(word.strip(), 0) + int(count)
    if not counts:
        raise InputError("the list of words is empty", file=path)
    lower = all(word == word.lower() for word in counts)
    return Unigrams(counts, sum(counts.values()), lower, checksum("\n".join(lines)))


@dataclass(frozen=True, slots=True)
class PairsSettings:
    """How pairs are scored."""

    target: str = "sentence"
    links: tuple[str, ...] = ("sum",)
    """Linking functions; the first gives `accuracy`."""
    parameters: linking.LinkParameters = field(default_factory=linking.LinkParameters)
    unigrams: Unigrams | None = None
    word_probs: bool = False
    mask_target: bool = True
    single_piece_only: bool = False
    ties: str = "error"
    """Whether a tie is an error, or won by the first: the grammatical sentence."""
    leading_space: bool = False
    presentation: Presentation = field(default_factory=Presentation)

    @classmethod
    def each(cls, options: Mapping[str, str]) -> list[PairsSettings]:
        """The settings that a user gives as options, for each method."""
        values = read(OPTIONS, options, "pairs")
        unigrams = _unigrams(values)
        available = tuple(
            name
            for name in linking.LINKS
            if not (name in linking.UNIGRAM_LINKS and unigrams is None)
            and not (name == "morcela" and values["morcela_beta"] is None)
        )
        links = linking.chosen_links(("slor",) if values["slor"] else values["link"], values["normalise"], available)
        settings = cls(
            values["target"],
            links,
            linking.parameters_of(values, links),
            unigrams,
            values["print_word_probs"],
            values["mask_target"],
            values["single_piece_only"],
            values["ties"],
            values["leading_space"],
        )
        settings._refuse_contradictions()
        every = [replace(settings, presentation=each) for each in Presentation.each(options, values)]
        for each in every:
            each._refuse_unasked(options)
        return every

    @property
    def signature(self) -> dict[str, str]:
        """Every option that can change a score."""
        fields = {"target": self.target}
        if self.unigrams is not None and self.links == ("slor",) and self.unigrams.unit == "word":
            fields |= {"normalise": "none", "slor": self.unigrams.checksum, "slor_words": self.unigrams.words}
        else:
            fields |= linking.link_signature(self.links, self.parameters)
            if self.unigrams is not None:
                fields |= {"unigrams": self.unigrams.checksum, "unigram_unit": self.unigrams.unit}
                fields |= {"slor_words": self.unigrams.words} if self.unigrams.unit == "word" else {}
        usual = {"mask_target": True, "single_piece_only": False, "ties": "error", "leading_space": False}
        values_by_name = {name: getattr(self, name) for name in usual}
        return fields | {name: written(value) for name, value in values_by_name.items() if value != usual[name]}

    def _refuse_unasked(self, options: Mapping[str, str]) -> None:
        method = self.presentation.method
        if method != "direct" and self.target == "word":
            raise InputError(f"method={method} scores whole sentences: leave out target=word")
        unused = ("link", "normalise", "slor", "ties", "leading_space", "print_word_probs")
        if method in QUESTIONS and (name := next((name for name in unused if name in options), None)):
            raise InputError(f"method={method} compares answers to a question, for which {name} has no meaning")

    def _refuse_contradictions(self) -> None:
        needing = [name for name in self.links if name in linking.UNIGRAM_LINKS]
        if needing and self.unigrams is None:
            raise InputError(f"{needing[0]} needs a unigram model: add unigrams=FILE")
        if self.unigrams is not None and not needing:
            raise InputError("unigrams are for the links normlp, slor and morcela: add link=slor, or leave them out")
        if self.target == "word" and needing:
            raise InputError(f"{needing[0]} is a score of whole sentences: leave it out, or target=word")
        if self.target == "word" and self.word_probs:
            raise InputError("print_word_probs needs whole sentences: leave it out, or target=word")
        if self.target == "sentence" and (self.single_piece_only or not self.mask_target):
            name = "single_piece_only" if self.single_piece_only else "mask_target"
            raise InputError(f"{name} is about the target word: add target=word")


def _unigrams(values: Mapping[str, Any]) -> Unigrams | None:
    if values["slor"] and values["normalise"] != "none":
        raise InputError("slor is normalised already: leave normalise out")
    if values["slor"] and (values["link"] or values["unigrams"]):
        raise InputError("slor=FILE is the same as link=slor with unigrams=FILE: write these instead")
    path, unit = values["unigrams"] or values["slor"], values["unigram_unit"]
    if values["slor_words"] and (path is None or unit == "token"):
        raise InputError("slor_words is about a unigram model of words: add slor=FILE or unigrams=FILE")
    if path is None:
        return None
    unigrams = replace(read_unigrams(path), unit=unit)
    return unigrams if values["slor_words"] is None else replace(unigrams, words=values["slor_words"])


@dataclass(frozen=True, slots=True)
class Measures:
    """The scores of the sentences of pairs, or of their targets: columns with the good and the bad one in turn."""

    logprobs: Sequence[float]
    scores: Sequence[Sequence[float]]
    """By linking function."""
    tokens: Sequence[int]
    missing: Ints
    """Tokens without a log-probability."""
    unknown: Ints
    not_listed: int = 0
    """Words or tokens in all texts that are missing from the unigram model."""


def measure(scores: Scores, spans: Sequence[Span | None], settings: PairsSettings) -> Measures:
    """The scores of all texts, or of the characters of them in spans."""
    first, last = scores.offsets[:-1], scores.offsets[1:]
    if any(span is not None for span in spans):
        full_span = (0, 1 << 30)
        first, last = (scores.before([(span or full_span)[end] for span in spans]) for end in (0, 1))
        last = np.where([span is None for span in spans], scores.offsets[1:], last)
    tokens = last - first
    single = np.flatnonzero(tokens == 1)
    lengths = np.fromiter((len(scores.texts[at]) for at in single.tolist()), np.int64, len(single))
    tokens[single[scores.starts[first[single]] >= lengths]] = 0  # an EOS token only
    unknown = np.zeros(len(tokens), np.int64)
    for at, names in scores.token_names.items():
        start = scores.offsets[at]
        unknown[at] = sum(name in UNKNOWN for name in names[first[at] - start : last[at] - start])
    logprobs, missing = scores.sums(first, last), scores.missing(first, last)
    measures = Measures(logprobs, [logprobs], tokens.tolist(), missing, unknown)
    if settings.links == ("sum",):
        return measures
    sentence = (int(settings.leading_space), None)  # the space before it is not a part of it
    parts = (text[slice(*(span or sentence))] for text, span in zip(scores.texts, spans, strict=True))
    by_token = settings.unigrams is not None and settings.unigrams.unit == "token"
    for at in scores.token_names if by_token or linking.PER_TOKEN.intersection(settings.links) else ():
        scores[at].require_tokens()
    texts, not_listed = list[linking.LinkedText](), 0
    for at, (part, scored) in enumerate(zip(parts, (tokens - missing).tolist(), strict=True)):
        units = _token_texts(scores, at, int(first[at]), int(last[at])) if by_token else ()
        unigram = UnigramScore(0.0, 0, 0) if settings.unigrams is None else settings.unigrams.logprob(part, units)
        texts.append(linking.LinkedText(part, logprobs[at], scored, unigram.logprob, unigram.words))
        not_listed += unigram.unknown
    by_link = [[linking.LINKS[name](text, settings.parameters) for text in texts] for name in settings.links]
    return replace(measures, scores=by_link, not_listed=not_listed)


def _token_texts(scores: Scores, at: int, first: int, last: int) -> list[str]:
    """The tokens from `first` to before `last` as the unigram model counts them: by name, or visible text."""
    start = int(scores.offsets[at])
    if at in scores.token_names:
        return list(scores.token_names[at][first - start : last - start])
    ends = zip(scores.starts[first:last].tolist(), scores.ends[first:last].tolist(), strict=True)
    return [scores.texts[at][a:b] for a, b in ends]


def word_logprobs(scored: Scored) -> list[list[str | float | None]]:
    """Every word of a sentence with its log-probability, then the tokens after it, such as `<eos>`."""
    words: list[list[str | float | None]] = [
        [word.group(), _sum(scored.logprobs[scored.slice(*word.span())])] for word in re.finditer(r"\S+", scored.text)
    ]
    end = scored.slice(len(scored.text))
    for piece, logprob in zip((scored.token_names or ())[end], scored.logprobs[end], strict=False):
        words.append([piece, logprob])
    return words


def _sum(logprobs: Sequence[float | None]) -> float | None:
    known = [value for value in logprobs if value is not None]
    return sum(known) if known else None
