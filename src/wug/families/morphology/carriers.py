"""Carrier sentences: how a model is shown a new word and asked for a form of it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from wug.errors import InputError, SuiteError
from wug.families.morphology.item import WugItem
from wug.files import ASSETS, read_lines, read_text
from wug.problems import Problem

LEMMA, FORM = "{lemma}", "{form}"
GAP = "___"

GENERIC = ("The word is {lemma}. Its form is {form}.",)
DEFAULT_LANGUAGE = "eng"


@cache
def _languages() -> Mapping[str, Any]:
    """The built-in carriers by language and task, and a neutral carrier and an instruction for each language."""
    return tomllib.loads(read_text(ASSETS / "morphology" / "carriers.toml"))


def carriers_of(item: WugItem, sentences: Sequence[str] = ()) -> tuple[str, ...]:
    """The carriers of an item: its own, those of the user, or the built-in ones for its task and language."""
    builtin = _languages().get(item.language, {"tasks": {}})["tasks"].get(item.task)
    return item.carriers or tuple(sentences) or tuple(builtin or GENERIC)


def neutral_carrier(language: str) -> str:
    """A sentence without the lemma, whose scores are subtracted with `prior`."""
    return str(_languages().get(language, _languages()[DEFAULT_LANGUAGE])["neutral"])


def fill(carrier: str, lemma: str, form: str, *, space: bool = True) -> tuple[str, int, int]:
    """The carrier with its words, and the start and the end of the form in it."""
    before, _, after = carrier.partition(FORM)
    before = before.replace(LEMMA, lemma)
    if not space:
        before = before.rstrip()
    return f"{before}{form}{after}", len(before), len(before) + len(form)


def question(carrier: str, item: WugItem) -> str:
    """What a model that writes is asked: an instruction, and the carrier with a gap."""
    instruction = _languages().get(item.language, _languages()[DEFAULT_LANGUAGE])["instruction"]
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
