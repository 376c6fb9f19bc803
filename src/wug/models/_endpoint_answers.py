"""Reading what a completions server answers: the tokens of a prompt with their log-probabilities, or a text.

Two shapes are known for a prompt. `logprobs` has `tokens`, `token_logprobs` and perhaps `text_offset`, as OpenAI once
defined them and vLLM, SGLang and llama-cpp-python give them; the last token may be one that the server wrote
itself. `prompt_logprobs` of vLLM has an object for each token of the prompt but the first, by token number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from wug.errors import InputError

ABOVE = 1e-3
"""How much more than 0 a log-probability may be, by rounding."""


@dataclass(frozen=True, slots=True)
class Echo:
    """The tokens of a prompt as a server gives them."""

    tokens: tuple[str | None, ...]
    """None where the server does not say what a token is: the first one of `prompt_logprobs`."""
    logprobs: tuple[float | None, ...]
    offsets: tuple[int, ...] | None


def read_echo(found: Any, *, written: int) -> Echo:
    """The tokens of the prompt in a server's answer to it; InputError where it does not have them.

    `written` is how many tokens the server was allowed to write: one that it wrote is cut off.
    """
    choice = _choice(found)
    match choice.get("logprobs"):
        case {"tokens": list(tokens), "token_logprobs": list(values), **more}:
            echo = _from_lists(tokens, values, more.get("text_offset"))
            return _without_written(echo, found, written)
    listed = choice.get("prompt_logprobs", found.get("prompt_logprobs"))
    if isinstance(listed, list):
        return _from_entries(listed)
    raise InputError("it has no log-probabilities of tokens")


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
    return Echo(tuple(tokens), tuple(logprobs), None)


def _without_written(echo: Echo, found: dict[str, Any], written: int) -> Echo:
    """The echo without a token that the server wrote itself: `usage` tells how many are the prompt's."""
    extra = written
    match found.get("usage"):
        case {"prompt_tokens": int(count)} if 0 <= len(echo.tokens) - count <= 1:
            extra = len(echo.tokens) - count
    if not extra:
        return echo
    offsets = None if echo.offsets is None else echo.offsets[:-extra]
    return Echo(echo.tokens[:-extra], echo.logprobs[:-extra], offsets)


def _logprob(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"it has a log-probability that is no number: {value!r:.60}")
    number = float(value) if abs(value) < 1e300 else math.nan
    if not math.isfinite(number) or number > ABOVE:
        raise InputError(f"it has {value!r:.60} for a log-probability")
    return number
