"""How pairs are scored, as the user asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from wug.errors import InputError, UnknownName
from wug.families.pairs.unigrams import SPLITTINGS, Unigrams, read_unigrams
from wug.files import user_path

OPTIONS: Mapping[str, str] = {
    "target": "what is scored: the whole sentence (default) or the target word",
    "normalise": "divide a score by its number of tokens, words or characters (default: none)",
    "slor": "score by SLOR: a file of words and their counts, for the unigram model",
    "slor_words": "what parts the words of slor: spaces or punctuation (default: where the file lacks fewer of them)",
    "print_word_probs": "keep the log-probability of every word: yes or no (default)",
    "mask_target": "with target=word, ask about the target alone (default) or score the sentence and look it up: no",
    "single_piece_only": "with target=word, leave out pairs whose target is several tokens: yes or no (default)",
    "format": "original, word, sentence, blimp, true-false, marvin-linzen or linzen (default: by content)",
    "good": "column with the grammatical sentence, in a table of no known format",
    "bad": "column with the ungrammatical sentence",
    "sentence": "column with the sentence, where forms are given apart",
    "form": "column with the grammatical form",
    "form_alt": "column with the ungrammatical form",
    "len_prefix": "column with the number of words before the form",
    "pattern": "column that names the pattern",
    "item": "column that names the pair",
    "groups": "columns to break results down by, with commas between them",
}

TARGETS = ("sentence", "word")
GIVEN = "given"
"""The target where scores were made elsewhere: what they are of, their file does not say."""
NORMALISED = ("none", "token", "word", "character")
_YES, _NO = ("yes", "true", "1", "on"), ("no", "false", "0", "off")


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
    for key in options:
        if key not in OPTIONS:
            raise UnknownName("option of pairs suites", key, OPTIONS)
    unigrams = read_unigrams(user_path(options["slor"])) if options.get("slor") else None
    if "slor_words" in options:
        if unigrams is None:
            raise InputError("slor_words is about slor: add slor=FILE")
        unigrams = replace(unigrams, words=_one_of("slor_words", options["slor_words"], tuple(SPLITTINGS)))
    chosen = Settings(
        _one_of("target", options.get("target", "sentence"), TARGETS),
        _one_of("normalise", options.get("normalise", "none"), NORMALISED),
        unigrams,
        _yes("print_word_probs", options.get("print_word_probs", "no")),
        _yes("mask_target", options.get("mask_target", "yes")),
        _yes("single_piece_only", options.get("single_piece_only", "no")),
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


def _one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise UnknownName(f"value of {option}", value, known)
    return value


def _yes(option: str, value: str) -> bool:
    if value.lower() in (*_YES, *_NO):
        return value.lower() in _YES
    raise InputError(f"{option} is yes or no, not {value!r}")
