"""Making wug tests: pronounceable nonce words, and the forms that they could have."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from wug.errors import InputError, needs_extra
from wug.files import ASSETS, read_lines, read_text

FREQUENT_WORDS = 10_000
"""Words at the beginning of the word list from which a new word differs in two letters or more, unless it is to rhyme
with irregular verbs, whose neighbour it then is."""
LETTERS = "abcdefghijklmnopqrstuvwxyzäöü"
MAX_DRAWS = 20_000


class NonceWord(NamedTuple):
    """A new word with its candidate forms by type."""

    lemma: str
    forms: Mapping[str, str]
    groups: Mapping[str, str]


@cache
def languages() -> Mapping[str, Any]:
    """Sounds and forms by language (ISO 639-3)."""
    return tomllib.loads(read_text(ASSETS / "morphology" / "new_words.toml"))


def tasks() -> list[str]:
    """The forms that can be asked for in some language."""
    return list(dict.fromkeys(task for language in languages().values() for task in language["tasks"]))


def make(task: str, items: int, seed: int, lexicon: Path | None = None, language: str = "eng") -> list[dict[str, str]]:
    """The rows of a wug test: one per candidate form, with the classes of endings in equal numbers."""
    if task not in languages()[language]["tasks"]:
        available_tasks = ", ".join(languages()[language]["tasks"])
        raise InputError(f"no new words for {task} in the language {language}. There are: {available_tasks}")
    words = [*word_list(language), *([] if lexicon is None else (line.strip().lower() for line in read_lines(lexicon)))]
    known, frequent = frozenset(words), frozenset(words[:FREQUENT_WORDS])
    draw, kinds, lemmas = random.Random(f"{task} {seed}"), _kinds(language, task), set[str]()
    rows: list[dict[str, str]] = []
    for number in range(items):
        ending, rhyme = kinds[number % len(kinds)]
        for _ in range(MAX_DRAWS):
            word = _candidate(language, task, ending, rhyme, draw)
            if word is not None and word.lemma not in lemmas and _is_new(word, known, frequent, rhymes=bool(rhyme)):
                break
        else:
            kind = f"{ending}, {rhyme or 'none'}"
            raise InputError(f"no more new words of the kind {kind} for {task}: ask for fewer items")
        lemmas.add(word.lemma)
        forms = list(word.forms.items())
        draw.shuffle(forms)  # the order of the forms must tell nothing
        rows += ({"lemma": word.lemma, "form": form, "type": type, **word.groups} for type, form in forms)
    return rows


def _kinds(language: str, task: str) -> list[tuple[str, str]]:
    """Classes of endings, and rimes or nothing, in turn: half of the verbs of some tasks rhyme with irregular ones."""
    settings, rhymes = languages()[language]["tasks"][task], languages()[language].get("rhymes", {})
    endings = settings["endings"].split()
    if not settings.get("rhyming"):
        return [(ending, "") for ending in endings]
    pairs = zip(endings * len(rhymes), [*rhymes] * len(endings), strict=True)
    return [kind for ending, rhyme in pairs for kind in ((ending, ""), (rhymes[rhyme][1], rhyme))]


def _is_new(word: NonceWord, known: frozenset[str], frequent: frozenset[str], *, rhymes: bool) -> bool:
    """Whether a word is far enough from known words, and its forms are new and different."""
    lemma, forms = word.lemma.lower(), {form.lower() for form in word.forms.values()}
    near = not rhymes and (lemma in frequent or not frequent.isdisjoint(_single_edits(lemma)))
    return not near and len(forms) == len(word.forms) and known.isdisjoint((lemma, *forms))


def _candidate(language: str, task: str, ending: str, rhyme: str, draw: random.Random) -> NonceWord | None:
    """A word of this kind; None for one that the language could not have."""
    sounds = languages()[language]
    default = {"vowels": sounds["vowels"], "codas": ending, "lemma": "{word}", "task": task}
    settings = default | sounds["tasks"][task] | sounds["tasks"][task].get(ending, {})
    onset = draw.choice(sounds["onsets"].split())
    if rhyme:
        if len(onset) == 1:
            return None
        root, changed = onset + rhyme, onset + sounds["rhymes"][rhyme][0]
    else:
        vowel, coda = draw.choice(settings["vowels"].split()), draw.choice(sounds["codas"][settings["codas"]].split())
        after = {vowel: codas.split() for vowels, codas in sounds["after"].items() for vowel in vowels.split()}
        if coda not in after.get(vowel, (coda,)):
            return None
        if len(onset) > 1 and onset[-1] == coda[0]:  # no plilm, thrurm or smom
            return None
        if len(vowel) == 1:
            coda = sounds.get("after_short", {}).get(coda, coda)
        root, changed = onset + vowel + coda, onset + sounds["changes"][vowel] + coda
        if any((vowel + coda).endswith(rime) for rime in sounds["rhymes"]):
            return None
    if re.search(sounds["excluded"], root):
        return None
    spellings = {"word": root, "Word": root.capitalize(), "base": before_vowel(root, language)}
    spellings |= {"changed": changed, "changed_base": before_vowel(changed, language)}
    lemma = settings["lemma"].format(**spellings)
    forms = {type: form.format(**spellings, lemma=lemma) for type, form in settings["forms"].items()}
    groups = {"task": settings["task"], "language": language, "ending": ending, "neighbourhood": rhyme or "none"}
    return NonceWord(lemma, forms, groups)


def before_vowel(root: str, language: str) -> str:
    """A root as it is spelled before a vowel: English wug, wugg-; Dutch praam, pram-."""
    for pattern, replacement in languages()[language].get("before_vowels", ()):
        if re.search(pattern, root):
            return re.sub(pattern, replacement, root)
    return root


def word_list(language: str) -> list[str]:
    """Known words, the most frequent first: a list of English words of 2 to 10 letters, or the words of wordfreq."""
    if "wordfreq" not in languages()[language]:
        return read_text(ASSETS / "morphology" / "english_words.txt.gz").split()
    with needs_extra(f"the word list of the language {language}", "frequency"):
        import wordfreq
    return list(wordfreq.iter_wordlist(languages()[language]["wordfreq"]))


def _single_edits(word: str) -> Iterator[str]:
    for position in range(len(word) + 1):
        before, after = word[:position], word[position:]
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in LETTERS)
        yield from (before + letter + after for letter in LETTERS)
