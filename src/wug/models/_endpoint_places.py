"""Where a server's tokens stand in the text that it was asked about.

A server gives tokens as texts. Some write them without the space before a word, some with it, and a token that is
only a part of a character comes as U+FFFD. White space therefore does not matter, and tokens that are whole
characters only together all count where these begin. Nothing is guessed: tokens that fit in two ways, or in
none, are an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from wug.errors import InputError
from wug.judges.alignment import align, is_unknown

PART = "\N{REPLACEMENT CHARACTER}"
"""What stands for bytes that are no whole character."""
BYTE = re.compile("<0x[0-9A-F]{2}>")
"""A byte as SentencePiece names it."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of a token: visible characters, or some that are not known."""

    token: int
    text: str | None


def places(text: str, tokens: Sequence[str], offsets: Sequence[int] | None = None) -> list[Span]:
    """The characters of `text` that each token stands for, from its first visible one on.

    The tokens' own texts tell. Where they do not (`<unk>`, parts of characters that fit in several ways), the
    server's `offsets` do, as far as they agree with all tokens whose text is known. InputError where nothing fits.
    """
    found = _by_texts(text, tokens, spaces=True) or _by_texts(text, tokens, spaces=False)
    if found is None and offsets is not None:
        found = _by_offsets(text, tokens, offsets)
    if found is not None:
        return found
    if any(PART in token or BYTE.fullmatch(token) for token in tokens):
        raise InputError(f"the tokens {_shown(tokens)} fit {text[:80]!r} in no way, or in several")
    return align(text, tokens, starts=(), ends=())


def suffix(text: str, tokens: Sequence[str]) -> list[Span] | None:
    """The places of tokens that stand at the end of `text`, where what comes before is not known; None if none do."""
    letters, spots = _letters(text, spaces=False)
    words = [_squeezed(token) for token in tokens]
    if not letters.endswith("".join(words)):
        return None
    return _spans(text, spots, _running(words, len(letters) - sum(map(len, words))))


def _by_texts(text: str, tokens: Sequence[str], *, spaces: bool) -> list[Span] | None:
    """The places by the tokens' texts, or None; without `spaces`, white space is left out on both sides."""
    letters, spots = _letters(text, spaces=spaces)
    words = list(tokens) if spaces else [_squeezed(token) for token in tokens]
    if "".join(words) == letters:
        return _spans(text, spots, _running(words, 0))
    pieces = [piece for place, word in enumerate(words) for piece in _pieces(place, word)]
    if all(piece.text is not None for piece in pieces):
        return None
    forwards = _walk(letters, pieces)
    # The other way round, what is not known takes as little as possible from the other side: only where both
    # ways agree is there one way.
    turned = [_Piece(piece.token, piece.text and piece.text[::-1]) for piece in reversed(pieces)]
    backwards = _walk(letters[::-1], turned)
    if forwards is None or backwards is None:
        return None
    size = len(letters)
    if forwards != [(size - end, size - start) for start, end in reversed(backwards)]:
        return None
    ranges: dict[int, Span] = {}
    for piece, (start, end) in zip(pieces, forwards, strict=True):
        if piece.text is None and any(map(str.isspace, text[spots[start] : spots[end - 1]])):
            return None  # parts of characters of two words: which token belongs to which?
        ranges[piece.token] = (ranges.get(piece.token, (start, end))[0], end)
    return _spans(text, spots, [ranges[place] for place in range(len(tokens))])


def _by_offsets(text: str, tokens: Sequence[str], offsets: Sequence[int]) -> list[Span] | None:
    """The places that the server gives, or None where they contradict the tokens."""
    if not offsets or len(offsets) != len(tokens):
        return None
    bounds = [offset - offsets[0] for offset in offsets] + [len(text)]
    if any(a > b for a, b in pairwise(bounds)):
        return None
    spans: list[Span] = []
    for token, (start, end) in zip(tokens, pairwise(bounds), strict=True):
        if not _may_be(token, text[start:end]):
            return None
        first = _first_visible(text, start)
        spans.append((first, max(first, end)))
    return spans


def _may_be(token: str, part: str) -> bool:
    """Whether a token may stand for a part of the text."""
    if PART in token or BYTE.fullmatch(token):
        return not part or not part.isascii()
    return bool(part.strip()) if is_unknown(token) else _squeezed(part) == _squeezed(token)


def _walk(letters: str, pieces: Sequence[_Piece]) -> list[Span] | None:
    """The leftmost places of the pieces; those of unknown ones are characters beyond ASCII, one or more."""
    spans: list[Span] = []
    place, waiting = 0, 0
    for piece in pieces:
        if piece.text is None or (waiting and not piece.text):
            waiting += 1
            continue
        start = place
        if waiting:
            start = letters.find(piece.text, place + 1)
            if start < 0 or not _beyond_ascii(letters[place:start]):
                return None
            spans += [(place, start)] * waiting
            waiting = 0
        elif not letters.startswith(piece.text, place):
            return None
        place = start + len(piece.text)
        spans.append((start, place))
    if waiting:
        if not _beyond_ascii(letters[place:]):
            return None
        spans += [(place, len(letters))] * waiting
        place = len(letters)
    return spans if place == len(letters) else None


def _pieces(place: int, word: str) -> list[_Piece]:
    if BYTE.fullmatch(word):
        return [_Piece(place, None)]
    parts = re.findall(f"{PART}+|[^{PART}]+", word) or [""]
    return [_Piece(place, None if part.startswith(PART) else part) for part in parts]


def _beyond_ascii(letters: str) -> bool:
    return bool(letters) and all(letter > "\x7f" for letter in letters)


def _letters(text: str, *, spaces: bool) -> tuple[str, list[int]]:
    """The characters, with white space or without, and where each stands; the text's length behind the last."""
    spots = [place for place, letter in enumerate(text) if spaces or not letter.isspace()]
    return "".join(text[place] for place in spots), [*spots, len(text)]


def _squeezed(token: str) -> str:
    return "".join(token.split())


def _running(words: Sequence[str], start: int) -> list[Span]:
    """The ranges of words that follow one another."""
    ranges = []
    for word in words:
        ranges.append((start, start + len(word)))
        start += len(word)
    return ranges


def _spans(text: str, spots: Sequence[int], ranges: Sequence[Span]) -> list[Span]:
    """Ranges of characters as ranges of the text, each from its first visible character on."""
    spans = []
    for start, end in ranges:
        first = _first_visible(text, spots[start])
        spans.append((first, max(first, spots[end - 1] + 1 if end > start else first)))
    return spans


def _first_visible(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _shown(tokens: Sequence[str]) -> str:
    return repr(list(tokens[:12]))[:-1] + (", …]" if len(tokens) > 12 else "]")
