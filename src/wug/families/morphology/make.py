"""Making wug tests: pronounceable English nonce words, and the forms that they could have."""

from __future__ import annotations

import csv
import gzip
import io
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from wug.errors import InputError
from wug.families.morphology.item import REGULAR
from wug.files import read_lines

FREQUENT_WORDS = 10_000
"""Words at the beginning of the word list from which a new word differs in two letters or more, unless it is to rhyme
with irregular verbs, whose neighbour it then is."""
COLUMNS = ("lemma", "form", "type", "task", "language", "ending", "neighbourhood")

ONSETS = (
    *"b d f g h j l m n p r s t v w y z bl br cl cr dr fl fr gl gr pl pr sl sm sn sp st sw tr tw".split(),
    *"sh ch th shr thr scr spl spr str sk squ".split(),
)
VOWELS = ("a", "e", "i", "o", "u", "ee", "oo", "oa", "ai", "ou")
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "sibilant": ("sh", "ch", "ss", "x", "zz"),
    "voiceless": ("p", "k", "ff", "th", "mp", "sk", "lk", "nk"),
    "alveolar": ("t", "d", "nt", "nd", "lt", "ld", "st", "ft"),
    "voiced": ("b", "g", "m", "n", "l", "rb", "rm", "rn", "lm", "rg"),
}
"""Final consonants by the class that chooses the ending."""
AFTER_DIGRAPHS: Mapping[str, tuple[str, ...]] = {
    "ee": ("p", "t", "k", "d", "m", "n", "l", "ch"),
    "oo": ("p", "t", "k", "d", "m", "n", "l", "th", "ch"),
    "oa": ("p", "t", "k", "d", "m", "n", "l", "th", "ch"),
    "ai": ("t", "d", "n", "l", "m"),
    "ou": ("t", "d", "n", "l", "ch"),
}
"""Consonants that English has after long vowels and diphthongs: /aʊ/ is followed by coronals only."""
NEIGHBOURHOODS: Mapping[str, tuple[str, str]] = {
    "ing": ("ing", "ung"),
    "ink": ("ink", "ank"),
    "eep": ("eep", "ept"),
    "eed": ("eed", "ed"),
    "end": ("end", "ent"),
    "ind": ("ind", "ound"),
    "ell": ("ell", "old"),
    "ear": ("ear", "ore"),
}
"""Rimes of irregular verbs, and those of their past tense."""
RIME_CLASSES = {"ink": "voiceless", "eep": "voiceless", "eed": "alveolar", "end": "alveolar", "ind": "alveolar"}
VOWEL_CHANGES = {
    "a": "o",
    "e": "o",
    "i": "a",
    "o": "e",
    "u": "a",
    "ee": "e",
    "oo": "o",
    "oa": "e",
    "ai": "e",
    "ou": "i",
}
"""A change of the vowel where no irregular verb is near."""


@dataclass(frozen=True, slots=True)
class NonceWord:
    """A new word with what is known of its sounds."""

    stem: str
    onset: str
    vowel: str
    coda: str
    ending: str
    neighbourhood: str = "none"

    @property
    def changed(self) -> str:
        """The word with the vowel of an irregular past tense."""
        if self.neighbourhood != "none":
            return self.onset + NEIGHBOURHOODS[self.neighbourhood][1]
        return self.onset + VOWEL_CHANGES[self.vowel] + self.coda


def suffixed(stem: str, suffix: str) -> str:
    """A stem with its suffix, the final consonant doubled where English spelling does: wug, wugged."""
    doubles = suffix[:1] in "aeiouy" and re.search(r"(^|[^aeiou]|qu)[aeiou][bdgmnprtl]$", stem)
    return f"{stem}{stem[-1] if doubles else ''}{suffix}"


def _s_forms(word: NonceWord) -> dict[str, str]:
    sibilant = word.ending == "sibilant"
    return {REGULAR: word.stem + ("es" if sibilant else "s"), "allomorph": word.stem + ("s" if sibilant else "es")}


FORMS: Mapping[str, Callable[[NonceWord], dict[str, str]]] = {
    "plural": lambda word: {**_s_forms(word), "zero": word.stem, "en": suffixed(word.stem, "en")},
    "past": lambda word: {
        REGULAR: suffixed(word.stem, "ed"),
        "vowel_change": word.changed,
        "zero": word.stem,
        **({"en": suffixed(word.stem, "en")} if word.ending == "alveolar" else {"t": f"{word.stem}t"}),
    },
    "third_person": lambda word: {**_s_forms(word), "zero": word.stem, "past": suffixed(word.stem, "ed")},
    "possessive": lambda word: {
        REGULAR: f"{word.stem}'s",
        "plural": _s_forms(word)[REGULAR],
        "zero": word.stem,
        "plural_possessive": f"{_s_forms(word)[REGULAR]}'",
    },
    "adjective": lambda word: {
        REGULAR: suffixed(word.stem, "y"),
        "ness": word.stem + "ness",
        "zero": word.stem,
        "ment": word.stem + "ment",
    },
    "agentive": lambda word: {
        REGULAR: suffixed(word.stem, "er"),
        "past": suffixed(word.stem, "ed"),
        "zero": word.stem,
        "ness": word.stem + "ness",
    },
}
"""The candidate forms of each task by type; the regular one is expected."""


def make(task: str, items: int, seed: int, lexicon: Path | None = None) -> list[dict[str, str]]:
    """The rows of a wug test: one per candidate form, with the classes of endings in equal numbers."""
    words = [*_word_list(), *([] if lexicon is None else (line.strip().lower() for line in read_lines(lexicon)))]
    known = frozenset(words)
    near = frozenset(spelling for word in words[:FREQUENT_WORDS] for spelling in (word, *_one_away(word)))
    draw = random.Random(f"{task} {seed}")
    kinds = _kinds(task)
    chosen: dict[str, dict[str, str]] = {}
    rows: list[dict[str, str]] = []
    for number in range(items):
        word = _draw(kinds[number % len(kinds)], draw, task, frozenset(chosen), known, near)
        chosen[word.stem] = FORMS[task](word)
        about = {"task": task, "language": "eng", "ending": word.ending, "neighbourhood": word.neighbourhood}
        found = list(chosen[word.stem].items())
        draw.shuffle(found)  # the order of the forms must tell nothing
        rows += ({"lemma": word.stem, "form": form, "type": type, **about} for type, form in found)
    return rows


def as_csv(rows: list[dict[str, str]]) -> str:
    """The rows as a CSV file."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _kinds(task: str) -> list[tuple[str, str]]:
    """Classes of endings and neighbourhoods, in turn: half of the verbs of `past` rhyme with irregular ones."""
    endings = ["voiced", "voiceless", "alveolar" if task == "past" else "sibilant"]
    if task != "past":
        return [(ending, "none") for ending in endings]
    pairs = zip(endings * len(NEIGHBOURHOODS), [*NEIGHBOURHOODS] * len(endings), strict=True)
    return [kind for ending, near in pairs for kind in ((ending, "none"), (RIME_CLASSES.get(near, "voiced"), near))]


def _draw(
    kind: tuple[str, str],
    draw: random.Random,
    task: str,
    taken: frozenset[str],
    known: frozenset[str],
    near: frozenset[str],
) -> NonceWord:
    """A new word of this kind that is far enough from known words."""
    for _ in range(20_000):
        word = _candidate(*kind, draw)
        if word is None:
            continue
        forms = FORMS[task](word)
        if (
            word.stem not in taken
            and (word.neighbourhood != "none" or word.stem not in near)
            and len(set(forms.values())) == len(forms)
            and not known.intersection(forms.values())
        ):
            return word
    raise InputError(f"no more new words of the kind {', '.join(kind)} for {task}: ask for fewer items")


def _candidate(ending: str, neighbourhood: str, draw: random.Random) -> NonceWord | None:
    """A syllable with this ending; None for one that English does not have."""
    onset = draw.choice(ONSETS)
    if neighbourhood != "none":
        rime = NEIGHBOURHOODS[neighbourhood][0]
        if len(onset) == 1:
            return None
        return NonceWord(onset + rime, onset, "", rime, ending, neighbourhood)
    vowel, coda = draw.choice(VOWELS), draw.choice(ENDINGS[ending])
    if coda not in AFTER_DIGRAPHS.get(vowel, (coda,)):
        return None
    if onset == "squ" and vowel not in ("a", "e", "i", "ee", "ai"):
        return None
    if len(onset) > 1 and onset[-1] == coda[0]:  # no plilm, thrurm or smom
        return None
    if len(vowel) == 1:
        coda = {"k": "ck", "ch": "tch", "l": "ll"}.get(coda, coda)
    if any((vowel + coda).endswith(rime) for rime, _ in NEIGHBOURHOODS.values()):
        return None
    return NonceWord(onset + vowel + coda, onset, vowel, coda, ending)


def _word_list() -> list[str]:
    """English words of 2 to 10 letters, the most frequent first."""
    data = (files("wug") / "assets" / "morphology" / "english_words.txt.gz").read_bytes()
    return gzip.decompress(data).decode().split()


def _one_away(word: str) -> Iterator[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in letters)
        yield from (before + letter + after for letter in letters)
