"""How the answers of a particular server are read: which tokens are the text's, and which value belongs to which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wug.alignment import STARTS
from wug.errors import InputError
from wug.models._places import Span, places, suffix
from wug.models.endpoint.answers import Echo, read_echo
from wug.types import Scored


@dataclass(frozen=True, slots=True)
class TextTokens:
    """The tokens of an echo that are the text's own: those from `first` up to `last`."""

    spans: list[Span]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found out about a server."""

    settings: Mapping[str, Any]
    """How it is asked for the log-probabilities of a prompt."""
    bos: str = ""
    """The start token that is sent before every text."""
    shown: bool = False
    """Whether a start token stands first among its tokens."""
    hidden: int | None = None
    """How many tokens before the text it leaves out; None where it does not say how many there are."""
    shifted: bool = False
    """Whether each value stands in the place before its token's."""
    unsaid: bool = False
    """Whether it does not say how likely first tokens are, though a start token comes before them."""
    openings: Mapping[str, float] | None = None
    """Log-probabilities of first tokens, where the server leaves them out of its answers, but has them."""

    @property
    def is_led(self) -> bool:
        """Whether a start token comes before every text."""
        return self.shown or self.hidden == 1

    def tokens_of(self, text: str, echo: Echo) -> TextTokens:
        """Which tokens are the text's, and where they stand; InputError where that is not certain."""
        first = 1 if self.shown else 0
        if self.hidden is not None and echo.counted is not None:
            extra = len(echo.tokens) + self.hidden - echo.counted
            if not 0 <= extra <= int(echo.may_continue):
                raise InputError(f"it has {len(echo.tokens)} tokens where it counts {echo.counted}")
            return _ending(text, echo, first, extra)
        return tokens_by_text(text, echo, first)

    def scored(self, text: str, found: Any) -> Scored:
        """The text with its tokens' places and log-probabilities, of a server's answer to it."""
        echo = read_echo(found)
        tokens = self.tokens_of(text, echo)
        values = (None, *echo.logprobs[:-1]) if self.shifted else echo.logprobs
        logprobs = list(values[tokens.first : tokens.last])
        if not self.is_led and logprobs:
            logprobs[0] = None  # nothing comes before it
        elif not self.shown and logprobs and logprobs[0] is None and self.openings is not None:
            logprobs[0] = self._opening(echo.tokens[tokens.first])
        for place, value in enumerate(logprobs):
            if value is None and (place > 0 or self.shown):
                raise InputError(
                    f"it has no log-probability for token {tokens.first + place + 1} of {len(echo.tokens)}"
                )
        return Scored(text, tuple(a for a, _ in tokens.spans), tuple(b for _, b in tokens.spans), tuple(logprobs))

    def _opening(self, token: str | None) -> float:
        value = None if token is None or self.openings is None else self.openings.get(token)
        if value is None:
            raise InputError(
                f"it leaves out how likely the first token is, and {token!r} is not among those that it names after "
                "the start mark (a token that is a part of a character cannot be named)"
            )
        return value


def tokens_by_text(text: str, echo: Echo, first: int) -> TextTokens:
    """The text's own tokens where the server does not count them: those that are the text to its last character."""
    fits: list[TextTokens] = []
    faults: list[InputError] = []
    for extra in (0, 1) if echo.may_continue else (0,):
        try:
            fits.append(_ending(text, echo, first, extra))
        except InputError as fault:
            faults.append(fault)
    if not fits:
        raise faults[0]
    if len(fits) == 1:
        return fits[0]
    # Both fit: the last token shows nothing. It is white space at the end of the text, a part of the text's last
    # character, or an end mark that the server wrote.
    tokens = [token or "" for token in echo.tokens[first:]]
    if "".join(tokens[:-1]) == text or ("".join(tokens) != text and text == text.rstrip() and tokens[-1].isspace()):
        return fits[1]
    if "".join(tokens) == text:
        return fits[0]
    if echo.offsets is None:
        raise InputError(f"it does not tell whether its last token, {tokens[-1]!r}, belongs to the text")
    return fits[0] if echo.offsets[-1] - echo.offsets[first] < len(text) else fits[1]


def begins_with_bos(text: str, echo: Echo) -> bool:
    """Whether a start token stands first: a token without log-probability that is no part of the text."""
    if len(echo.tokens) < 2 or echo.logprobs[0] is not None:
        return False
    first, rest = echo.tokens[0], [token for token in echo.tokens[1:] if token is not None]
    if first is None:
        found = suffix(text, rest) or []
        return bool(found) and found[0][0] == _start(text)
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
    """The tokens from `first` on without the last `extra`, as the text's own; InputError where they are not."""
    last = len(echo.tokens) - extra
    known = [token for token in echo.tokens[first:last] if token is not None]
    offsets = None if echo.offsets is None else echo.offsets[first:last]
    if len(known) == last - first:
        return TextTokens(places(text, known, offsets), first, last)
    found = suffix(text, known)
    if found is None:
        raise InputError("its first token has no text, and the others do not make up the end of the text")
    before = text[: found[0][0]] if found else text
    return TextTokens([(_start(text), max(_start(text), len(before.rstrip()))), *found], first, last)


def _start(text: str) -> int:
    """Where the first visible character stands."""
    return len(text) - len(text.lstrip())
