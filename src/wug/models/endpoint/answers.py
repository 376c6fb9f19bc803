"""Reading what a completions server answers: the tokens of a prompt with their log-probabilities, or a text.

Two shapes are known for a prompt. `logprobs` has `tokens`, `token_logprobs` and perhaps `text_offset`, as OpenAI once
defined them and vLLM, SGLang and llama-cpp-python give them; the last token may be one that the server wrote
itself. `prompt_logprobs` of vLLM has an object for each token of the prompt but the first, by token number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wug.errors import InputError

ABOVE = 1e-3
"""How much more than 0 a log-probability may be, by rounding."""
NOUGHT = -9999.0
"""What vLLM writes for the logarithm of 0, which JSON has no number for."""


@dataclass(frozen=True, slots=True)
class Echo:
    """The tokens of a prompt as a server gives them, perhaps with one more that it wrote itself."""

    tokens: tuple[str | None, ...]
    """None where the server does not say what a token is: the first one of `prompt_logprobs`."""
    logprobs: tuple[float | None, ...]
    offsets: tuple[int, ...] | None = None
    counted: int | None = None
    """How many tokens the prompt has, as the server says."""
    may_continue: bool = False
    """Whether the last token may be one that the server wrote itself."""


@dataclass(frozen=True, slots=True)
class Next:
    """The token that a server writes after a prompt."""

    text: str
    logprob: float
    likeliest: Mapping[str, float]
    """Log-probabilities of the likeliest tokens in its place, as many as were asked for, in the server's order."""


def read_echo(found: Any) -> Echo:
    """The tokens of the prompt in a server's answer to it; InputError where it does not have them."""
    choice = _choice(found)
    match choice.get("logprobs"):
        case {"tokens": list(tokens), "token_logprobs": list(values), **more}:
            echo = _from_lists(tokens, values, more.get("text_offset"))
            return replace(echo, counted=read_count(found), may_continue=True)
    listed = choice.get("prompt_logprobs", found.get("prompt_logprobs"))
    if isinstance(listed, list):
        return replace(_from_entries(listed), counted=read_count(found))
    raise InputError("it has no log-probabilities of tokens")


def read_next(found: Any) -> Next | None:
    """The one token that a server wrote, or None where it ended the text instead."""
    choice = _choice(found)
    match choice.get("logprobs"):
        case {"tokens": [str(token), *_], "token_logprobs": [value, *_], **more}:
            logprob = _logprob(value)
            if logprob is None:
                raise InputError("it has no log-probability for the token that it wrote")
            text = choice.get("text")
            match more.get("top_logprobs"):
                case [dict(first), *_]:
                    likeliest = {name: found for name, value in first.items() if (found := _logprob(value)) is not None}
                case _:
                    likeliest = {}
            return Next(text if isinstance(text, str) and text else token, logprob, likeliest)
        case {"tokens": [], "token_logprobs": []}:
            return None
    raise InputError("it has no log-probability for the token that it wrote")


def read_count(found: Any) -> int | None:
    """How many tokens the prompt has, as the server says; None where it does not."""
    match found:
        case {"usage": {"prompt_tokens": int(count)}} if not isinstance(count, bool) and 0 <= count < 10**9:
            return count
    return None


def read_text(found: Any) -> tuple[str, bool]:
    """The text that a server wrote, and whether it came to an end by itself."""
    choice = _choice(found)
    text = choice.get("text")
    if not isinstance(text, str):
        raise InputError("it has no text")
    return text, choice.get("finish_reason") != "length"


def _choice(found: Any) -> dict[str, Any]:
    match found:
        case {"choices": [{} as choice]}:
            return dict(choice)
        case {"choices": list(choices)}:
            raise InputError(f"it has {len(choices)} choices that are asked for once")
    raise InputError("it has no choices")


def _from_lists(tokens: list[Any], values: list[Any], offsets: Any) -> Echo:
    if len(tokens) != len(values):
        raise InputError(f"it has {len(tokens)} tokens and {len(values)} log-probabilities")
    for token in tokens:
        if not isinstance(token, str):
            raise InputError(f"it has a token that is no text: {token!r:.60}")
        if token.startswith("token_id:"):
            raise InputError("it has numbers for tokens: start the server without --return-tokens-as-token-ids")
    # SGLang gives -1 for all of them: that says nothing.
    told = isinstance(offsets, list) and len(offsets) == len(tokens) and all(type(o) is int and o >= 0 for o in offsets)
    return Echo(tuple(tokens), tuple(map(_logprob, values)), tuple(offsets) if told else None)


def _from_entries(entries: list[Any]) -> Echo:
    tokens: list[str | None] = []
    logprobs: list[float | None] = []
    for place, entry in enumerate(entries):
        match entry:
            case None if place == 0:
                tokens.append(None)
                logprobs.append(None)
            case dict() if len(entry) == 1:
                (only,) = entry.values()
                if not isinstance(only, dict) or not isinstance(only.get("decoded_token"), str):
                    raise InputError(f"it has a token without decoded_token: {only!r:.60}")
                tokens.append(only["decoded_token"])
                logprobs.append(_logprob(only.get("logprob")))
            case dict():
                # Asked for no others than the prompt's own token, a server has no reason to name more.
                raise InputError(f"it names {len(entry)} tokens in place {place + 1}, and does not say which is meant")
            case _:
                raise InputError(f"it has {entry!r:.60} for token {place + 1}")
    return Echo(tuple(tokens), tuple(logprobs))


def _logprob(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"it has a log-probability that is no number: {value!r:.60}")
    number = float(value) if abs(value) < 1e300 else math.nan
    if not math.isfinite(number) or number > ABOVE or number == NOUGHT:
        raise InputError(f"it has {value!r:.60} for a log-probability")
    return min(number, 0.0)
