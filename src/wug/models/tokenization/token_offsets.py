"""The spans of tokens that a server or a file gives as texts.

Some tokens have the space before a word, some do not, and a token that is only a part of a character comes as U+FFFD,
as an empty text, as `<0xC3>`, or as the letters that GPT-2 has for bytes. White space therefore does not matter, and a
part of a character counts where that character begins. Tokens that fit in two ways, or in none, are an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

from wug.alignment import BYTE_LETTERS, align, first_visible, is_unknown, uncovered_characters
from wug.errors import InputError
from wug.requests import Span

PART = "\N{REPLACEMENT CHARACTER}"
"""Represents bytes that are not a whole character."""
BYTE = re.compile("<0x[0-9A-F]{2}>")
"""A byte as SentencePiece names it."""


def token_spans(text: str, tokens: Sequence[str], offsets: Sequence[int] | None = None) -> list[Span]:
    """The span of each token in `text`, from its first visible character on.

    Spans follow from the tokens' texts, and from `offsets` if these are not enough (`<unk>`, parts of characters) and
    agree with all tokens whose text is known. InputError if a visible character belongs to no token.
    """
    exact = exact_spans(text, tokens, offsets)
    if exact is not None:
        return exact
    if any(token and _is_part(token) for token in tokens):
        raise InputError(f"the tokens {_token_text(tokens)} fit {text[:80]!r} in no way, or in several")
    spans = align(text, tokens, starts=(), ends=())
    if missing := uncovered_characters(text, spans):
        raise InputError(f"no token is left for {text[missing[0] :][:30]!r} in {text[:80]!r}")
    return spans


def exact_spans(text: str, tokens: Sequence[str], offsets: Sequence[int] | None = None) -> list[Span] | None:
    """The spans of tokens that make up the text; None if they do not, or in more than one way."""
    has_parts = any(map(_is_part, tokens))
    if has_parts and offsets is not None and (by_offsets := _by_offsets(text, tokens, offsets)) is not None:
        return by_offsets
    for spaces in (True, False):
        if (spans := _by_texts(text, tokens, spaces=spaces)) is not None:
            return spans
    for reading in (_gpt2_bytes, _sentencepiece_bytes):
        if (spans := _by_bytes(text, tokens, reading)) is not None:
            return spans
    return None if offsets is None or has_parts else _by_offsets(text, tokens, offsets)


def spans_of_suffix(text: str, tokens: Sequence[str]) -> list[Span] | None:
    """The spans of tokens that make up the end of `text`; None if they do not, or begin with a part of a character."""
    if tokens and _is_part(tokens[0]):
        return None
    letters, indices = _letters(text, spaces=False)
    words = [_squeezed(token) for token in tokens]
    if not letters.endswith("".join(words)):
        return None
    return _spans(text, indices, _running(words, len(letters) - sum(map(len, words))))


def _by_texts(text: str, tokens: Sequence[str], *, spaces: bool) -> list[Span] | None:
    """The spans by the tokens' texts, or None; without `spaces`, white space is ignored."""
    letters, indices = _letters(text, spaces=spaces)
    words = list(tokens) if spaces else [_squeezed(token) for token in tokens]
    if "".join(words) == letters:
        return _spans(text, indices, _running(words, 0))
    pieces = [(index, piece) for index, word in enumerate(words) for piece in _pieces(word, empty=not tokens[index])]
    characters = [piece for _, piece in pieces]
    if None not in characters:
        return None
    forwards = _walk(letters, characters)
    # Backwards, unknown pieces take as little as possible from the other side: only if both agree is it unique.
    backwards = _walk(letters[::-1], [piece and piece[::-1] for piece in reversed(characters)])
    if forwards is None or backwards is None:
        return None
    size = len(letters)
    if forwards != [(size - end, size - start) for start, end in reversed(backwards)]:
        return None
    ranges: dict[int, Span] = {}
    sharing = Counter(span for piece, span in zip(characters, forwards, strict=True) if piece is None)
    for (token, piece), (start, end) in zip(pieces, forwards, strict=True):
        if piece is None and sharing[start, end] > len(_bytes(letters[start:end])):
            return None  # more parts than bytes: one of the empty tokens is not a part of a character
        if piece is None and any(map(str.isspace, text[indices[start] : indices[end - 1]])):
            return None  # parts of characters of two words: which token belongs to which?
        ranges[token] = (ranges.get(token, (start, end))[0], end)
    return _spans(text, indices, [ranges[index] for index in range(len(tokens))])


def _by_bytes(text: str, tokens: Sequence[str], reading: Callable[[str], bytes | None]) -> list[Span] | None:
    """The spans of tokens that are a text's bytes, or None; some tokenizers put a space before the text."""
    raw = [piece for token in tokens if (piece := reading(token)) is not None]
    joined, text_bytes = b"".join(raw), _bytes(text)
    if len(raw) < len(tokens) or joined not in (text_bytes, b" " + text_bytes):
        return None
    owners = [0] * (len(joined) - len(text_bytes))
    owners += [index for index, letter in enumerate(text) for _ in _bytes(letter)]
    spans, start = [], 0
    for piece in raw:
        end = start + len(piece)
        first = first_visible(text, owners[start] if start < len(owners) else len(text))
        spans.append((first, max(first, owners[end - 1] + 1 if piece else first)))
        start = end
    return spans


def _bytes(text: str) -> bytes:
    """The text in UTF-8; half a character, which a file may have as an escape, is as long as a whole one."""
    return text.encode("utf-8", "surrogatepass")


def _gpt2_bytes(token: str) -> bytes | None:
    """The bytes of a token in the letters that byte-level BPE has for them."""
    return bytes(BYTE_LETTERS[letter] for letter in token) if all(map(BYTE_LETTERS.__contains__, token)) else None


def _sentencepiece_bytes(token: str) -> bytes | None:
    """The bytes of a token in which `▁` is a space, or which names a byte."""
    return bytes([int(token[3:5], 16)]) if BYTE.fullmatch(token) else _bytes(token.replace("▁", " "))


def _by_offsets(text: str, tokens: Sequence[str], offsets: Sequence[int]) -> list[Span] | None:
    """The spans by the server's offsets, or None if they contradict the tokens."""
    if not offsets or len(offsets) != len(tokens):
        return None
    bounds = [offset - offsets[0] for offset in offsets] + [len(text)]
    if any(a > b for a, b in pairwise(bounds)):
        return None
    spans: list[Span] = []
    previous_start: int | None = None
    for token, (start, end) in zip(tokens, pairwise(bounds), strict=True):
        # A part of a character is not all of it: such a server counts parts as characters.
        alone = start < end and _is_part(token) and previous_start != start
        if alone or not _may_be(token, text[start:end]):
            return None
        previous_start = start
        first = first_visible(text, start)
        spans.append((first, max(first, end)))
    return spans


def _may_be(token: str, characters: str) -> bool:
    if not token:
        return not characters.strip() or not characters.isascii()
    if _is_part(token):
        return not characters or not characters.isascii()
    return bool(characters.strip()) if is_unknown(token) else _squeezed(characters) == _squeezed(token)


def _walk(letters: str, pieces: Sequence[str | None]) -> list[Span] | None:
    """The leftmost spans of the pieces; unknown ones (None) are one or more characters beyond ASCII."""
    spans: list[Span] = []
    position, waiting = 0, 0
    for piece in pieces:
        if piece is None or (waiting and not piece):
            waiting += 1
            continue
        start = position
        if waiting:
            start = letters.find(piece, position + 1)
            if start < 0 or not _beyond_ascii(letters[position:start]):
                return None
            spans += [(position, start)] * waiting
            waiting = 0
        elif not letters.startswith(piece, position):
            return None
        position = start + len(piece)
        spans.append((start, position))
    if waiting:
        if not _beyond_ascii(letters[position:]):
            return None
        spans += [(position, len(letters))] * waiting
        position = len(letters)
    return spans if position == len(letters) else None


def _is_part(token: str) -> bool:
    return not token or PART in token or BYTE.fullmatch(token) is not None


def _pieces(word: str, *, empty: bool) -> list[str | None]:
    """The pieces of a token; one that is `empty` may be a part of a character, unlike white space."""
    if empty or BYTE.fullmatch(word):
        return [None]
    parts = re.findall(f"{PART}+|[^{PART}]+", word) or [""]
    return [None if part.startswith(PART) else part for part in parts]


def _beyond_ascii(letters: str) -> bool:
    return bool(letters) and all(letter > "\x7f" for letter in letters)


def _letters(text: str, *, spaces: bool) -> tuple[str, list[int]]:
    """The characters, with or without white space, and their indices, followed by the text's length."""
    indices = [index for index, letter in enumerate(text) if spaces or not letter.isspace()]
    return "".join(text[index] for index in indices), [*indices, len(text)]


def _squeezed(token: str) -> str:
    return "".join(token.split())


def _running(words: Sequence[str], start: int) -> list[Span]:
    ranges = []
    for word in words:
        ranges.append((start, start + len(word)))
        start += len(word)
    return ranges


def _spans(text: str, indices: Sequence[int], ranges: Sequence[Span]) -> list[Span]:
    """Ranges of characters as ranges of the text, each from its first visible character on."""
    spans = []
    for start, end in ranges:
        first = first_visible(text, indices[start])
        spans.append((first, max(first, indices[end - 1] + 1 if end > start else first)))
    return spans


def _token_text(tokens: Sequence[str]) -> str:
    return repr(list(tokens[:12]))[:-1] + (", …]" if len(tokens) > 12 else "]")
