"""Carrier sentences: how a model is shown a new word and asked for a form of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wug.errors import InputError, SuiteError
from wug.families.morphology.item import WugItem
from wug.files import read_lines
from wug.types import Problem

LEMMA, FORM = "{lemma}", "{form}"
GAP = "___"

CARRIERS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "eng": {
        "plural": (
            "This is a {lemma}. Now there are two {form}.",
            "Anna has one {lemma}. Tom has three {form}.",
            "I saw a {lemma} in the garden. My brother saw many {form}.",
        ),
        "past": (
            "They like to {lemma}. Yesterday they {form}.",
            "We often {lemma}. Last week we {form}.",
            "I will {lemma} tomorrow. This morning I {form}.",
        ),
        "third_person": (
            "I {lemma} every day. Every day she {form}.",
            "They like to {lemma}. Her brother often {form}.",
            "We want to {lemma}. He always {form}.",
        ),
        "possessive": (
            "The hat belongs to the {lemma}. The hat is the {form}.",
            "The {lemma} has a boat. That boat is the {form}.",
            "We found the tail of a {lemma}. The tail is the {form}.",
        ),
        "adjective": (
            "There is {lemma} all over the dog. The dog is very {form}.",
            "The soup is full of {lemma}. The soup is too {form}.",
            "He has {lemma} on his shoes. His shoes are {form}.",
        ),
        "agentive": (
            "Her job is to {lemma}. She is a good {form}.",
            "They pay him to {lemma}. He is the best {form}.",
            "My uncle can {lemma} all day. He is a famous {form}.",
        ),
        "participle": (
            "They like to {lemma}. They have often {form}.",
            "We want to {lemma}. We have never {form}.",
            "I will {lemma} tomorrow. I have already {form}.",
        ),
    },
    "deu": {
        "plural": (
            "Das ist ein Wort: {lemma}. Hier sind zwei {form}.",
            "Anna sieht nur das Wort {lemma}. Tom sieht drei {form}.",
            "Im Garten ist etwas mit dem Namen {lemma}. Ich sehe viele {form}.",
        ),
        "participle": (
            "Sie wollen {lemma}. Gestern haben sie {form}.",
            "Wir müssen oft {lemma}. Wir haben heute {form}.",
            "Ich werde morgen {lemma}. Ich habe noch nie {form}.",
        ),
    },
    "nld": {
        "past_plural": (
            "Ze willen {lemma}. Gisteren zag ik hoe ze {form}.",
            "We moeten vaak {lemma}. Vorige week was het al laat toen we {form}.",
            "Jullie gaan morgen {lemma}. Het regende toen jullie {form}.",
        ),
    },
}
"""By language and task. German and Dutch are used for judgement files in these languages."""
GENERIC = ("The word is {lemma}. Its form is {form}.",)
"""For a task or a language without carriers."""
NEUTRAL: Mapping[str, str] = {
    "eng": "The word is {form}.",
    "deu": "Das Wort ist {form}.",
    "nld": "Het woord is {form}.",
}
"""Carriers without the lemma, whose scores are subtracted with `prior`."""
INSTRUCTIONS: Mapping[str, str] = {
    "eng": "Fill the gap with the right form of the new word. Answer with one word.",
    "deu": "Ergänze die richtige Form des neuen Wortes. Antworte mit einem Wort.",
    "nld": "Vul de juiste vorm van het nieuwe woord in. Antwoord met één woord.",
}


@dataclass(frozen=True, slots=True)
class FilledCarrier:
    """A carrier with lemma and form in it."""

    text: str
    start: int
    """Where the form begins."""
    end: int
    """Where the form ends."""


def carriers_of(item: WugItem, given: Sequence[str] = ()) -> tuple[str, ...]:
    """The carriers of an item: its own, those of the user, or the built-in ones for its task and language."""
    return item.carriers or tuple(given) or CARRIERS.get(item.language, {}).get(item.task) or GENERIC


def neutral_carrier(language: str) -> str:
    """A sentence that says nothing about the lemma."""
    return NEUTRAL.get(language, NEUTRAL["eng"])


def fill(carrier: str, lemma: str, form: str, *, space: bool = True) -> FilledCarrier:
    """The carrier with its words, and the characters of the form."""
    before, _, after = carrier.partition(FORM)
    before = before.replace(LEMMA, lemma)
    if not space:
        before = before.rstrip()
    return FilledCarrier(f"{before}{form}{after}", len(before), len(before) + len(form))


def question(carrier: str, item: WugItem) -> str:
    """What a model that writes is asked: an instruction, and the carrier with a gap."""
    instruction = INSTRUCTIONS.get(item.language, INSTRUCTIONS["eng"])
    return f"{instruction} {carrier.replace(LEMMA, item.lemma).replace(FORM, GAP)}"


def read_carriers(path: Path) -> tuple[str, ...]:
    """The carriers of a file, one per line; SuiteError with everything that is wrong with them."""
    lines = [(number, line.strip()) for number, line in enumerate(read_lines(path), 1) if line.strip()]
    problems = [Problem("error", f"line {number}", what) for number, line in lines if (what := carrier_error(line))]
    if problems:
        raise SuiteError(problems, file=path)
    if not lines:
        raise InputError("there are no carriers in it", file=path)
    return tuple(line for _, line in lines)


def carrier_error(carrier: str) -> str | None:
    """What is wrong with a carrier; None if it can be used."""
    if carrier.count(LEMMA) != 1 or carrier.count(FORM) != 1:
        return f"a carrier has {LEMMA} once and {FORM} once: {carrier!r}"
    if carrier.index(LEMMA) > carrier.index(FORM):
        return f"{LEMMA} comes before {FORM}, so that the model has read the new word: {carrier!r}"
    if carrier.partition(FORM)[2] not in ("", "."):
        return f"a carrier ends after {FORM}, or with a full stop after it: {carrier!r}"
    if re.search(r"\{lemma\}['’]?\w", carrier):
        return f"{LEMMA} is followed by letters, which could give the ending away: {carrier!r}"
    return None


def revealed_form(carrier: str, item: WugItem) -> str | None:
    """A candidate form that the carrier shows before the gap; None if it shows none."""
    words = set(re.findall(r"[\w'’]+", carrier.partition(FORM)[0].replace(LEMMA, item.lemma)))
    return next((form.text for form in item.forms if form.text != item.lemma and form.text in words), None)
