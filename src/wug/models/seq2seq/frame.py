"""The marks that stand around sources and answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wug.errors import ModelError
from wug.models.seq2seq.facts import Facts

PROBE = "a"


@dataclass(frozen=True, slots=True)
class Frame:
    """What a tokenizer puts around texts."""

    before: Sequence[int]
    """Before a source."""
    after: Sequence[int]
    lead: Sequence[int]
    """What a decoder has before the first token of a text: its start mark, and what answers always begin with."""

    @classmethod
    def of(cls, tokenizer: Any, facts: Facts) -> Frame:
        """The marks of a tokenizer, and of the settings for writing.

        As in training, an answer begins with the marks that the tokenizer gives it (BART's `<s>`, a language), but a
        token that the settings force comes in their place, as it does when the model writes.
        """
        inside = tokenizer(PROBE, add_special_tokens=False)["input_ids"]
        before, after = _around(tokenizer(PROBE)["input_ids"], inside)
        forced = _opening(tokenizer) if facts.forced is None else [facts.forced]
        # A start mark that is a language already is not said twice.
        lead = [facts.start, *(forced if list(forced) != [facts.start] else [])]
        return cls(before, after, lead)


def _opening(tokenizer: Any) -> Sequence[int]:
    """What a tokenizer puts before an answer."""
    try:
        whole = tokenizer(text_target=PROBE)["input_ids"]
        inside = tokenizer(text_target=PROBE, add_special_tokens=False)["input_ids"]
    except (KeyError, ValueError, TypeError, AttributeError) as error:  # one of many languages that was told none
        raise ModelError(
            f"the tokenizer {type(tokenizer).__name__} does not say how an answer begins ({error}). Put the token of "
            "its language as forced_bos_token_id into generation_config.json"
        ) from None
    return _around(whole, inside)[0]


def _around(whole: Sequence[int], inside: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """What stands before and after tokens among others."""
    for place in range(len(whole) - len(inside) + 1):
        if list(whole[place : place + len(inside)]) == list(inside):
            return whole[:place], whole[place + len(inside) :]
    return [], []
