"""How pairs are scored, as the user asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from wug.errors import InputError
from wug.families.pairs.formats import FORMATS
from wug.families.pairs.formats.alternating import ORDERS
from wug.families.pairs.unigrams import SPLITTINGS, Unigrams, read_unigrams
from wug.options import Option, read

TARGETS = ("sentence", "word")
GIVEN = "given"
"""The target where scores were made elsewhere: what they are of, their file does not say."""
NORMALISED = ("none", "token", "word", "character", "byte")
OPTIONS = (
    Option("target", TARGETS, "sentence", "what is scored: the whole sentence or the target word"),
    Option("normalise", NORMALISED, "none", "divide a score by its number of tokens, words, characters or bytes"),
    Option("slor", Path, None, "score by SLOR: a file of words and their counts, for the unigram model"),
    Option("slor_words", tuple(SPLITTINGS), None, "what parts the words of slor; by default what leaves fewer unknown"),
    Option("print_word_probs", bool, False, "keep the log-probability of every word"),
    Option(
        "mask_target", bool, True, "with target=word, ask about the target alone; no: score the sentence and look it up"
    ),
    Option("single_piece_only", bool, False, "with target=word, leave out pairs whose target is several tokens"),
    Option("format", tuple(FORMATS), None, "of the file; by default what its content is in"),
    Option("good", str, None, "column with the grammatical sentence, in a table of no known format"),
    Option("bad", str, None, "column with the ungrammatical sentence"),
    Option("sentence", str, None, "column with the sentence, where forms are given apart"),
    Option("form", str, None, "column with the grammatical form"),
    Option("form_alt", str, None, "column with the ungrammatical form"),
    Option("len_prefix", str, None, "column with the number of words before the form"),
    Option("pattern", str, None, "column that names the pattern"),
    Option("item", str, None, "column that names the pair"),
    Option("groups", str, (), "columns to break results down by", many=True),
    Option("human", str, None, "column with people's judgements: a number, higher where the good sentence is better"),
    Option("language", str, None, "of the pairs, such as nl, where the file does not say it"),
    Option("lines", ORDERS, None, "in files with a sentence a line, good and bad in turn: which comes first"),
    Option("files", str, (), "of a folder, only files that fit these patterns, such as *island*", many=True),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How pairs are scored."""

    target: str = "sentence"
    normalise: str = "none"
    unigrams: Unigrams | None = None
    word_probs: bool = False
    mask_target: bool = True
    single_piece_only: bool = False

    @property
    def signature(self) -> dict[str, str]:
        """Everything that can change a result."""
        fields = {"target": self.target, "normalise": self.normalise}
        if self.unigrams is not None:
            fields |= {"slor": self.unigrams.checksum, "slor_words": self.unigrams.words}
        if not self.mask_target:
            fields["mask_target"] = "no"
        if self.single_piece_only:
            fields["single_piece_only"] = "yes"
        return fields


def settings(options: Mapping[str, str]) -> Settings:
    """The options, checked."""
    values = read(OPTIONS, options, "pairs")
    unigrams = read_unigrams(values["slor"]) if values["slor"] else None
    if values["slor_words"]:
        if unigrams is None:
            raise InputError("slor_words is about slor: add slor=FILE")
        unigrams = replace(unigrams, words=values["slor_words"])
    chosen = Settings(
        values["target"],
        values["normalise"],
        unigrams,
        values["print_word_probs"],
        values["mask_target"],
        values["single_piece_only"],
    )
    _refuse_contradictions(chosen)
    return chosen


def _refuse_contradictions(chosen: Settings) -> None:
    if chosen.unigrams is not None and chosen.normalise != "none":
        raise InputError("slor is normalised already: leave normalise out")
    if chosen.target == "word" and chosen.unigrams is not None:
        raise InputError("slor is a score of whole sentences: leave it out, or target=word")
    if chosen.target == "word" and chosen.word_probs:
        raise InputError("print_word_probs needs whole sentences: leave it out, or target=word")
    if chosen.target == "sentence" and (chosen.single_piece_only or not chosen.mask_target):
        name = "single_piece_only" if chosen.single_piece_only else "mask_target"
        raise InputError(f"{name} is about the target word: add target=word")
