"""A wug test item: a new word, the forms that it could have, and what people make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wug.outcomes import Outcome, Result
from wug.problems import Problem
from wug.samples import Sample, choice_sample, plain_sample

REGULAR = "regular"


class Form(NamedTuple):
    """A form that the new word could have."""

    text: str
    """As a model reads it: spelling, or IPA without spaces."""
    symbols: str
    """As its file writes it, with spaces between the symbols of IPA."""
    rating: float | None = None
    """What people make of it, on the scale of its file: a rating, a proportion, or the number who gave this form."""
    type: str = ""
    """`regular`, or what else the file calls it; empty where it says nothing."""
    place: str = ""


@dataclass(frozen=True, slots=True)
class WugItem:
    """A new word and its forms."""

    item: str
    lemma: str
    symbols: str
    tag: str
    """The morphological features as the file writes them, such as `V;PST;1;SG`."""
    task: str
    """The requested form, such as `past`; empty where it is not known."""
    language: str
    """ISO 639-3 code; empty where it is not known."""
    forms: tuple[Form, ...]
    groups: Mapping[str, str] = field(default_factory=dict)
    expected: int | None = None
    """The place of the correct form, where people were not asked."""
    carriers: tuple[str, ...] = ()
    """Its own sentences, with `{form}` in them; the carriers of task and language where there are none."""
    weight: float = 1.0
    in_island: bool | None = None
    """Whether the regular form is in an island of reliability; None where that is not known."""

    @property
    def ratings(self) -> tuple[float | None, ...]:
        """What people make of each form."""
        return tuple(form.rating for form in self.forms)

    @property
    def rated(self) -> bool:
        """Whether people judged all of its forms."""
        return bool(self.forms) and all(form.rating is not None for form in self.forms)

    @property
    def is_sentence(self) -> bool:
        """Whether its forms are whole sentences."""
        return self.carriers == ("{form}",)

    @property
    def regular(self) -> int | None:
        """The place of the only regular form; None if there is none, or several."""
        indices = [index for index, form in enumerate(self.forms) if form.type == REGULAR]
        return indices[0] if len(indices) == 1 and len(self.forms) > 1 else None

    def best(self, count: int) -> list[str]:
        """The forms that people rate highest, or give most often; equal ones in the order of the file."""
        known = [form for form in self.forms if form.rating is not None]
        ranked = sorted(known, key=lambda form: -(form.rating or 0.0))
        if not ranked and self.expected is not None:
            ranked = [self.forms[self.expected]]
        return list(dict.fromkeys(form.text for form in ranked))[:count]


@dataclass(frozen=True, slots=True)
class ParsedForms:
    """The items of a file, and its problems."""

    format: str
    items: Sequence[WugItem]
    problems: Sequence[Problem] = ()
    answers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The answer of each person to each lemma, where the file has them."""


def to_sample(outcome: Outcome, result: Result) -> Sample:
    """A new word in its carrier sentence, with its forms."""
    detail = outcome.detail
    forms, target = tuple(map(str, detail.get("forms") or ())), detail.get("target")
    if not isinstance(target, int) or not 0 < target <= len(forms):
        return plain_sample(outcome, result)
    carrier = str(detail.get("carrier") or "")
    fields = {"lemma": detail.get("lemma"), "forms": list(forms), "carrier": carrier}
    scores = tuple(detail.get("scores") or ())
    return choice_sample(forms, target - 1, outcome.value, context=carrier, scores=scores, fields=fields)


def plain_g(text: str) -> str:
    """The text with the IPA letter ɡ (U+0261) as ASCII g, which published files mix."""
    return text.replace("ɡ", "g")


def joined(symbols: str) -> str:
    """Symbols separated by spaces, as one word."""
    return "".join(symbols.split())
