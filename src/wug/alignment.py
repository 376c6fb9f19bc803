"""Aligns the tokens of an unknown tokenizer with a text.

Published surprisals come as token lists without offsets: words in lower case, `<unk>` for unknown words, `##` and `Ġ`,
Moses' `@-@`, punctuation left out. Dynamic programming over all tokens of a sentence finds the spans, so that an
unknown word is placed by the known ones on both sides of it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from wug.errors import InputError
from wug.requests import Scored

UNKNOWN = ("<unk>", "[UNK]", "<UNK>", "<unk/>")
STARTS = ("<s>", "[CLS]", "<bos>", "<BOS>", "<sos>", "<eos>", "<|endoftext|>", "<|begin_of_text|>")
ENDS = ("<eos>", "<EOS>", "</s>", "<|endoftext|>", "[SEP]", "<|end_of_text|>")
SPACE_MARKS = "Ġ▁ "
"""Characters for the space before a word."""

# Costs of steps; only their order matters. Leaving out a visible character must cost more than
# giving it to an unknown word ("audition." is one word to a tokenizer that does not know it).
_DROPPED = 20
_INSIDE_A_WORD = 5
_AT_PUNCTUATION = 1
_OTHER_FORM = 1
_FAR = 10**9

_MARKS_BEFORE = re.compile("^(##|Ġ|▁|Ċ)+")
_MARKS_AFTER = ("@@", "</w>")
_TREEBANK = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
    "--": "-",
    "---": "-",
}
_QUOTES = dict.fromkeys("‘’‚‛`´′", "'") | dict.fromkeys("“”„‟«»″", '"')


@dataclass(frozen=True, slots=True)
class _Folded:
    """A text in lower case without accents, typographic dashes and quotes."""

    letters: str
    places: tuple[int, ...]
    """For each folded character, its index in the text; then the text's length."""


def align(
    text: str,
    tokens: Sequence[str],
    *,
    unknown: Collection[str] = UNKNOWN,
    ends: Collection[str] = ENDS,
    starts: Collection[str] = STARTS,
) -> list[tuple[int, int]]:
    """The span of each token in `text`, as (start, end).

    Case, accents and the style of dashes and quotes do not matter. An unknown token is a word or a part of one.
    Punctuation may be left out, though not only at the end; letters and digits may not. InputError quotes the token
    that does not fit. A start token gets (0, 0), an end token the text's length twice, and a token without visible
    characters (a lone `▁`) the position of the next visible character.
    """
    first, last = 0, len(tokens)
    while first < last and tokens[first] in starts:
        first += 1
    while last > first and tokens[last - 1] in ends:
        last -= 1
    folded = _fold(text)
    inner = _place(text, folded, tokens[first:last], unknown, first)
    return [(0, 0)] * first + inner + [(len(text), len(text))] * (len(tokens) - last)


def uncovered_characters(text: str, places: Sequence[tuple[int, int]]) -> list[int]:
    """The visible characters of `text` in no token; combining accents belong to their letter."""
    covered = {position for start, end in places for position in range(start, end)}
    return [
        position
        for position, letter in enumerate(text)
        if position not in covered and not letter.isspace() and unicodedata.category(letter) != "Mn"
    ]


def first_texts(scored: Scored) -> list[str | None]:
    """The characters of each token that no earlier token covers: None for a further part of a character."""
    texts: list[str | None] = []
    reached = 0
    for place, (start, end) in enumerate(zip(scored.starts, scored.ends, strict=True)):
        covered = scored.text[start:end]
        name = covered if scored.token_names is None else scored.token_names[place]
        # A special token (`<unk>`, `</s>`) is shown by its own name.
        part = name == covered and start < end <= reached
        texts.append(None if part else scored.text[max(start, reached) : end] if name == covered else name)
        reached = max(reached, end)
    return texts


def common_start(first: Sequence[str], second: Sequence[str]) -> int:
    """The number of words with which both sequences begin."""
    return next(
        (at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def is_unknown(token: str, unknown: Collection[str] = UNKNOWN) -> bool:
    """Whether a token is an unknown word, of any class (`UNK-LC-ing`)."""
    return token in unknown or token.startswith(("<unk-", "UNK-"))


def _place(
    text: str, folded: _Folded, tokens: Sequence[str], unknown: Collection[str], offset: int
) -> list[tuple[int, int]]:
    """The cheapest alignment; each step maps the ends of a token to cost, previous end, and start."""
    steps: list[dict[int, tuple[int, int, int]]] = []
    costs = {0: 0}
    for index, token in enumerate(tokens):
        step: dict[int, tuple[int, int, int]] = {}
        for before, cost in costs.items():
            for start, end, more in _token_spans(folded.letters, before, token, unknown):
                if cost + more < step.get(end, (_FAR, 0, 0))[0]:
                    step[end] = (cost + more, before, start)
        if not step:
            furthest = folded.places[max(costs)]
            raise InputError(
                f"token {offset + index + 1}, {token!r}, does not fit the sentence at "
                f"{text[furthest : furthest + 30].lstrip()!r} in {_short(text)!r}"
            )
        steps.append(step)
        costs = {end: entry[0] for end, entry in step.items()}
    finals = {end: cost + (_dropping(folded.letters, end, len(folded.letters))) for end, cost in costs.items()}
    best = min(finals, key=lambda end: (finals[end], end))
    spans = _traced(folded, steps, best)
    missing = uncovered_characters(text, spans)
    # If punctuation is left out only at the end, the last token was probably lost.
    is_cut_off = missing and missing[0] >= max((end for _, end in spans), default=0)
    if finals[best] >= _FAR or is_cut_off:
        rest = text[folded.places[max(costs) if finals[best] >= _FAR else best] :]
        after = f"after the last token, {tokens[-1]!r}, " if tokens else ""
        raise InputError(f"{after}no token is left for {rest.strip()[:30]!r} in {_short(text)!r}")
    return spans


def _traced(folded: _Folded, steps: list[dict[int, tuple[int, int, int]]], end: int) -> list[tuple[int, int]]:
    places = []
    for step in reversed(steps):
        _, before, start = step[end]
        if start == end:
            places.append((folded.places[start], folded.places[start]))
        else:
            # One character may fold to several: the end is after the last of them.
            places.append((folded.places[start], folded.places[end - 1] + 1))
        end = before
    places.reverse()
    return places


def _token_spans(letters: str, before: int, token: str, unknown: Collection[str]) -> Iterator[tuple[int, int, int]]:
    """Every (start, end, cost) of a token after the character `before`."""
    forms = _forms(token)
    start, cost = first_visible(letters, before), 0
    while True:
        if is_unknown(token, unknown):
            for end, more in _unknown_ends(letters, start):
                yield start, end, cost + more + _boundary_cost(letters, start)
        for rank, form in enumerate(forms):
            matched = _match(letters, start, form)
            if matched is not None:
                yield start, matched, cost + rank * _OTHER_FORM
        if start >= len(letters) or letters[start].isalnum():
            return
        start, cost = first_visible(letters, start + 1), cost + _DROPPED


def _unknown_ends(letters: str, start: int) -> Iterator[tuple[int, int]]:
    end = start
    while end < len(letters) and not letters[end].isspace():
        end += 1
        yield end, _boundary_cost(letters, end)


def _boundary_cost(letters: str, position: int) -> int:
    """The cost of an unknown word's boundary: none at a space, little at punctuation, more inside a word."""
    if position == 0 or position >= len(letters) or letters[position].isspace() or letters[position - 1].isspace():
        return 0
    inside = letters[position].isalnum() and letters[position - 1].isalnum()
    return _INSIDE_A_WORD if inside else _AT_PUNCTUATION


def _match(letters: str, start: int, form: str) -> int | None:
    """The end of `form` at `start`, ignoring spaces in the text; None if it is not there."""
    if letters.startswith(form, start):
        return start + len(form)
    place = start
    for letter in form:
        place = first_visible(letters, place)
        if place >= len(letters) or letters[place] != letter:
            return None
        place += 1
    return place


def _dropping(letters: str, start: int, end: int) -> int:
    """The cost of leaving out the characters `start:end`."""
    visible = [letter for letter in letters[start:end] if not letter.isspace()]
    return _FAR if any(map(str.isalnum, visible)) else _DROPPED * len(visible)


def first_visible(text: str, start: int) -> int:
    """The first character from `start` on that is not white space."""
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _forms(token: str) -> list[str]:
    """The folded forms of a token in a text, the likeliest first."""
    bare = _MARKS_BEFORE.sub("", token)
    for mark in _MARKS_AFTER:
        if bare != mark:
            bare = bare.removesuffix(mark)
    moses = bare[1:-1] if len(bare) > 2 and bare[0] == bare[-1] == "@" else bare
    candidates = [bare, token, moses, html.unescape(bare), _TREEBANK.get(bare, bare), _from_bytes(bare)]
    return list(dict.fromkeys("".join(_fold(candidate).letters.split()) for candidate in candidates))


def _from_bytes(token: str) -> str:
    """The text of a byte-level BPE token, if it is whole characters."""
    try:
        return bytes(BYTE_LETTERS[letter] for letter in token).decode()
    except (KeyError, UnicodeDecodeError):
        return token


def _byte_letters() -> dict[str, int]:
    """GPT-2's letters for bytes: printable ones are themselves, the others follow from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


BYTE_LETTERS = _byte_letters()
"""The byte of each letter of byte-level BPE."""


def _fold(text: str) -> _Folded:
    letters: list[str] = []
    places: list[int] = []
    for position, letter in enumerate(text):
        for character in unicodedata.normalize("NFKD", letter.lower()) or letter:
            category = unicodedata.category(character)
            if category == "Mn":
                continue
            plain = "-" if category == "Pd" or character == "−" else _QUOTES.get(character, character)
            letters.append(" " if plain.isspace() else plain)
            places.append(position)
    return _Folded("".join(letters), (*places, len(text)))


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79] + "…"
