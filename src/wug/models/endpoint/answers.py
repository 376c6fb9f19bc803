"""Requests to a completions server, and its responses: the tokens of a prompt with their log-probabilities, or a text.

There are two formats for a prompt. `logprobs` has `tokens`, `token_logprobs` and perhaps `text_offset`, as OpenAI once
defined them and vLLM, SGLang and llama-cpp-python return them; the last token may be one that the server wrote.
`prompt_logprobs` of vLLM has an object for each token of the prompt but the first, by token number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from wug.alignment import STARTS
from wug.errors import InputError
from wug.models.tokenization.token_offsets import spans_of_suffix, token_spans
from wug.requests import Scored, Span
from wug.scores import logprob_of

MAX_LOGPROB = 1e-3
"""How far above 0 rounding may put a log-probability."""
VLLM_MINUS_INFINITY = -9999.0
"""What vLLM writes for the logarithm of 0."""
Output = TypeVar("Output")


@dataclass(frozen=True, slots=True)
class Echo:
    """The tokens of a prompt in a response, perhaps with one more that the server wrote."""

    tokens: tuple[str | None, ...]
    """None if a token is not named: the first one of `prompt_logprobs`."""
    logprobs: tuple[float | None, ...]
    offsets: tuple[int, ...] | None = None
    counted: int | None = None
    """Number of tokens of the prompt, by the server's count."""
    may_continue: bool = False
    """Whether the last token may be one that the server wrote."""


@dataclass(frozen=True, slots=True)
class Next:
    """The token that a server writes after a prompt."""

    text: str
    logprob: float
    likeliest: Mapping[str, float]
    """Log-probabilities of the likeliest tokens at its position, in the server's order."""


@dataclass(frozen=True, slots=True)
class ServerRequest(Generic[Output]):
    """A request to a server, and what its response says about some texts."""

    path: str
    body: Mapping[str, Any]
    text: str
    """What error messages quote."""
    positions: Sequence[int]
    """Positions of the texts in a list."""
    read: Callable[[Any], Sequence[Output]]
    """The outputs at these positions, from the response; InputError if it cannot be used."""


def in_order(responses: Iterable[tuple[Sequence[int], Sequence[Output]]], count: int) -> list[Output]:
    """The outputs at all positions, in order."""
    by_position: dict[int, Output] = {}
    for positions, outputs in responses:
        by_position.update(zip(positions, outputs, strict=True))
    return [by_position[position] for position in range(count)]


def read_echo(response: object) -> Echo:
    """The tokens of the prompt in a response; InputError if it has none."""
    choice = _choice(response)
    match choice.get("logprobs"):
        case {"tokens": list(tokens), "token_logprobs": list(values), **fields}:
            echo = _from_lists(tokens, values, fields.get("text_offset"))
            return replace(echo, counted=read_count(response), may_continue=True)
    entries = choice.get("prompt_logprobs", response.get("prompt_logprobs") if isinstance(response, dict) else None)
    if isinstance(entries, list):
        return replace(_from_entries(entries), counted=read_count(response))
    raise InputError("it has no log-probabilities of tokens")


def read_next(response: object) -> Next | None:
    """The one token that a server wrote; None if it ended the text instead."""
    choice = _choice(response)
    match choice.get("logprobs"):
        case {"tokens": [str(token), *_], "token_logprobs": [value, *_], **fields}:
            logprob = _logprob(value)
            if logprob is None:
                raise InputError("it has no log-probability for the token that it wrote")
            text = choice.get("text")
            match fields.get("top_logprobs"):
                case [dict(first), *_]:
                    parsed = {name: _logprob(number) for name, number in first.items()}
                    likeliest = {name: number for name, number in parsed.items() if number is not None}
                case _:
                    likeliest = {}
            return Next(text if isinstance(text, str) and text else token, logprob, likeliest)
        case {"tokens": [], "token_logprobs": []}:
            return None
    raise InputError("it has no log-probability for the token that it wrote")


def read_count(response: object) -> int | None:
    """Number of tokens of the prompt, by the server's count; None if it gives none."""
    match response:
        case {"usage": {"prompt_tokens": int(count)}} if not isinstance(count, bool) and 0 <= count < 10**9:
            return count
    return None


def read_text(response: object) -> tuple[str, bool]:
    """The text that a server wrote, and whether it is complete."""
    choice = _choice(response)
    text = choice.get("text")
    if not isinstance(text, str):
        raise InputError("it has no text")
    return text, choice.get("finish_reason") != "length"


def read_chat(response: object) -> str:
    """The text of an answer in a chat."""
    match _choice(response).get("message"):
        case {"content": str(text)} if text.strip():
            return text
        case {"reasoning_content": str(thought)} | {"reasoning": str(thought)} if thought:
            raise InputError("it only thinks and does not answer: switch reasoning off on the server")
        case {"content": str(text)}:
            return text
        case {"content": None} | {"refusal": str()}:
            return ""
    raise InputError("it has no message")


def read_chat_tokens(response: object) -> Next:
    """The first token of an answer in a chat, with the likeliest ones at its position."""
    match _choice(response).get("logprobs"):
        case {"content": [{"token": str(token), "logprob": value, **fields}, *_]}:
            pass
        case _:
            raise InputError(
                "it has no log-probabilities of the tokens that it writes. Ask for generated answers: -S answer=text"
            )
    match fields.get("top_logprobs"):
        case [*entries]:
            token_entries = (entry for entry in entries if isinstance(entry, dict) and "token" in entry)
            alternatives = [(entry["token"], entry.get("logprob")) for entry in token_entries]
        case _:
            alternatives = []
    likeliest: dict[str, float] = {}
    for name, number in alternatives or [(token, value)]:
        # OpenAI writes -9999 where a token is not among the likeliest.
        logprob = None if number == VLLM_MINUS_INFINITY else _logprob(number)
        if isinstance(name, str) and logprob is not None:
            likeliest[name] = max(logprob, likeliest.get(name, -math.inf))
    logprob = None if value == VLLM_MINUS_INFINITY else _logprob(value)
    return Next(token, logprob or 0.0, likeliest)


def _choice(response: object) -> dict[str, Any]:
    match response:
        case {"choices": [{} as choice]}:
            return dict(choice)
        case {"choices": list(choices)}:
            raise InputError(f"it has {len(choices)} choices instead of one")
    raise InputError("it has no choices")


def _from_lists(tokens: list[Any], values: list[Any], offsets: object) -> Echo:
    if len(tokens) != len(values):
        raise InputError(f"it has {len(tokens)} tokens and {len(values)} log-probabilities")
    for token in tokens:
        if not isinstance(token, str):
            raise InputError(f"it has a token that is not text: {token!r:.60}")
        if token.startswith("token_id:"):
            raise InputError("it has numbers for tokens: start the server without --return-tokens-as-token-ids")
    # SGLang gives -1 for all of them.
    offset_list = offsets if isinstance(offsets, list) and len(offsets) == len(tokens) else []
    are_valid = all(type(offset) is int and offset >= 0 for offset in offset_list)
    return Echo(tuple(tokens), tuple(map(_logprob, values)), tuple(offset_list) if offset_list and are_valid else None)


def _from_entries(entries: list[Any]) -> Echo:
    tokens: list[str | None] = []
    logprobs: list[float | None] = []
    for index, entry in enumerate(entries):
        match entry:
            case None if index == 0:
                tokens.append(None)
                logprobs.append(None)
            case dict() if len(entry) == 1:
                (token_entry,) = entry.values()
                if not isinstance(token_entry, dict) or not isinstance(token_entry.get("decoded_token"), str):
                    raise InputError(f"it has a token without decoded_token: {token_entry!r:.60}")
                tokens.append(token_entry["decoded_token"])
                logprobs.append(_logprob(token_entry.get("logprob")))
            case dict():
                # Only the prompt's own token was requested.
                raise InputError(f"it names {len(entry)} tokens in place {index + 1}, and does not say which is meant")
            case _:
                raise InputError(f"it has {entry!r:.60} for token {index + 1}")
    return Echo(tuple(tokens), tuple(logprobs))


def _logprob(value: object) -> float | None:
    if value == VLLM_MINUS_INFINITY:
        raise InputError(f"it has {value} for a log-probability")
    return logprob_of(value, MAX_LOGPROB)


@dataclass(frozen=True, slots=True)
class TextTokens:
    """The tokens of an echo that belong to the text: from `first` up to `last`."""

    spans: list[Span]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class EchoFormat:
    """How a server returns the log-probabilities of a prompt."""

    settings: Mapping[str, Any]
    bos: str = ""
    """The BOS token that is sent before every text."""
    shows_bos: bool = False
    """Whether its tokens begin with a BOS token."""
    hidden_tokens: int | None = None
    """Number of tokens before the text that it leaves out; None if unknown."""
    shifted: bool = False
    """Whether each value is one position before its token."""
    first_unscored: bool = False
    """Whether first tokens have no value although a BOS token comes before them."""
    openings: Mapping[str, float] | None = None
    """Log-probabilities of first tokens, if the server gives them only separately."""

    @property
    def has_bos(self) -> bool:
        """Whether a BOS token comes before every text."""
        return self.shows_bos or self.hidden_tokens == 1

    def tokens_of(self, text: str, echo: Echo) -> TextTokens:
        """The tokens of the text with their spans; InputError if that is not certain."""
        first = 1 if self.shows_bos else 0
        if self.hidden_tokens is not None and echo.counted is not None:
            extra = len(echo.tokens) + self.hidden_tokens - echo.counted
            if not 0 <= extra <= int(echo.may_continue):
                raise InputError(f"it has {len(echo.tokens)} tokens where it counts {echo.counted}")
            return _ending(text, echo, first, extra)
        return tokens_by_text(text, echo, first)

    def scored(self, text: str, response: object) -> Scored:
        """The output for a text, from a response."""
        echo = read_echo(response)
        tokens = self.tokens_of(text, echo)
        values = (None, *echo.logprobs[:-1]) if self.shifted else echo.logprobs
        logprobs = list(values[tokens.first : tokens.last])
        if not self.has_bos and logprobs:
            logprobs[0] = None  # nothing comes before it
        elif not self.shows_bos and logprobs and logprobs[0] is None and self.openings is not None:
            logprobs[0] = self._opening(echo.tokens[tokens.first])
        for index, value in enumerate(logprobs):
            if value is None and (index > 0 or self.shows_bos):
                raise InputError(
                    f"it has no log-probability for token {tokens.first + index + 1} of {len(echo.tokens)}"
                )
        return Scored(text, tuple(a for a, _ in tokens.spans), tuple(b for _, b in tokens.spans), tuple(logprobs))

    def _opening(self, token: str | None) -> float:
        value = None if token is None or self.openings is None else self.openings.get(token)
        if value is None:
            raise InputError(
                f"it leaves out how likely the first token is, and {token!r} is not among those that it names after "
                "the BOS token (a part of a character has no name)"
            )
        return value


def tokens_by_text(text: str, echo: Echo, first: int) -> TextTokens:
    """The tokens of the text if the server does not count them: those that make up the text."""
    candidates: list[TextTokens] = []
    problems: list[InputError] = []
    for extra in (0, 1) if echo.may_continue else (0,):
        try:
            candidates.append(_ending(text, echo, first, extra))
        except InputError as problem:
            problems.append(problem)
    if not candidates:
        raise problems[0]
    if len(candidates) == 1:
        return candidates[0]
    # Both fit, so the last token is invisible: white space at the end of the text, a part of its last character, or an
    # end token that the server wrote.
    tokens = [token or "" for token in echo.tokens[first:]]
    if "".join(tokens[:-1]) == text or ("".join(tokens) != text and text == text.rstrip() and tokens[-1].isspace()):
        return candidates[1]
    if "".join(tokens) == text:
        return candidates[0]
    if echo.offsets is None:
        raise InputError(f"it does not tell whether its last token, {tokens[-1]!r}, belongs to the text")
    return candidates[0] if echo.offsets[-1] - echo.offsets[first] < len(text) else candidates[1]


def begins_with_bos(text: str, echo: Echo) -> bool:
    """Whether an echo begins with a BOS token: one without log-probability that is not part of the text."""
    if len(echo.tokens) < 2 or echo.logprobs[0] is not None:
        return False
    first, later_tokens = echo.tokens[0], [token for token in echo.tokens[1:] if token is not None]
    if first is None:
        spans = spans_of_suffix(text, later_tokens) or []
        return bool(spans) and spans[0][0] == _start(text)
    if not first or (first in STARTS and not text.startswith(first)):
        return True
    if text.lstrip().startswith(first.strip()):
        return False
    try:
        tokens_by_text(text, echo, 1)
    except InputError:
        return False
    return True


def _ending(text: str, echo: Echo, first: int, extra: int) -> TextTokens:
    """The tokens from `first` on without the last `extra`; InputError if they are not the text."""
    last = len(echo.tokens) - extra
    texts = [token for token in echo.tokens[first:last] if token is not None]
    offsets = None if echo.offsets is None else echo.offsets[first:last]
    if len(texts) == last - first:
        return TextTokens(token_spans(text, texts, offsets), first, last)
    spans = spans_of_suffix(text, texts)
    if spans is None:
        raise InputError("its first token has no text, and the others do not make up the end of the text")
    preceding = text[: spans[0][0]] if spans else text
    return TextTokens([(_start(text), max(_start(text), len(preceding.rstrip()))), *spans], first, last)


def _start(text: str) -> int:
    return len(text) - len(text.lstrip())
