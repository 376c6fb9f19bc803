"""Texts to tokens with the place of each in the text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from wug.errors import ModelError, first_line
from wug.models._ragged import Ints, Ragged, flatten
from wug.models._word_cache import Word, WordTokenCache, tokenizes_words_separately
from wug.types import Request

DROPPED = "lack characters that the tokenizer drops"


@contextmanager
def no_panic() -> Iterator[None]:
    """A ModelError instead of a panic of the tokenizers library, which no `except Exception` catches."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"the tokenizer fails on a text: {first_line(error)}") from None


@dataclass(frozen=True, slots=True)
class Tokenised:
    """The tokens of some texts, each cut off after the span that was asked for, or whole."""

    ids: Ragged
    starts: Ints
    """For each token, where its first visible character stands."""
    ends: Ints
    pieces: Mapping[int, tuple[str, ...]]
    """The tokens' names, for those texts that have unknown words."""
    notices: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """As `Scored.notices`, for those texts that have any."""


class Tokeniser:
    """Wraps a Hugging Face tokenizer: token ids and character offsets, no special tokens."""

    __slots__ = ("_backend", "_bytes", "_drops", "_table", "_unknown", "hf")

    def __init__(self, hf: Any) -> None:
        if not hf.is_fast:
            raise ModelError(
                f"the tokenizer {type(hf).__name__} gives no character offsets, and scores need them. "
                "Convert it to a tokenizer.json (transformers: `convert_slow_tokenizer`) beside the model"
            )
        self.hf = hf
        self._backend = hf.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()
        self._unknown = hf.unk_token_id if hf.unk_token_id not in (hf.bos_token_id, hf.eos_token_id) else None
        self._drops = _dropping(self._backend)
        self._table = WordTokenCache(self._words) if tokenizes_words_separately(self._backend) else None

    @no_panic()
    def __call__(self, requests: Sequence[Request], *, cut: bool = True) -> Tokenised:
        """The tokens of each request's text, up to the end of its span if `cut`; the tokenizer's own threads work."""
        texts = [request.text for request in requests]
        found = self._by_words(texts) or self._by_offsets(texts)
        return cut_off(found, requests) if cut else found

    def _by_words(self, texts: list[str]) -> Tokenised | None:
        """From the words, each of which is tokenised once; None where texts are more than words."""
        found = None if self._table is None or not texts else self._table(texts)
        return None if found is None else Tokenised(*found, {})

    def _words(self, words: list[str]) -> list[Word] | None:
        """The tokens of words that stand alone; None where one has an unknown or dropped part."""
        found = self._by_offsets(words)
        if found.pieces or found.notices:
            return None
        bounds = np.append(0, np.cumsum(found.ids.lengths)).tolist()
        columns = [column.tolist() for column in (found.ids.flat, found.starts, found.ends)]
        return [Word(*(column[a:b] for column in columns)) for a, b in pairwise(bounds)]

    def _by_offsets(self, texts: list[str]) -> Tokenised:
        encoded = self._backend.encode_batch(texts, add_special_tokens=False)
        ids = Ragged.of([encoding.ids for encoding in encoded])
        starts: list[list[int]] = []
        ends: list[list[int]] = []
        pieces: dict[int, tuple[str, ...]] = {}
        for place, (text, encoding) in enumerate(zip(texts, encoded, strict=True)):
            offsets = encoding.offsets
            first = [visible(text, a) for a, _ in offsets]
            starts.append(first)
            ends.append([max(a, b) for a, (_, b) in zip(first, offsets, strict=True)])
            if self._unknown is not None and self._unknown in encoding.ids:
                spans = zip(encoding.ids, first, ends[-1], strict=True)
                pieces[place] = tuple(self.hf.unk_token if i == self._unknown else text[a:b] for i, a, b in spans)
        count = len(ids.flat)
        notices: dict[int, tuple[str, ...]] = {}
        if self._drops is not None:
            each = enumerate(zip(texts, encoded, strict=True))
            notices = {place: (DROPPED,) for place, (text, encoding) in each if self._drops(text, encoding.offsets)}
        return Tokenised(ids, flatten(starts, count), flatten(ends, count), pieces, notices)


def _dropping(backend: Any) -> Callable[[str, Sequence[tuple[int, int]]], bool] | None:
    """Whether a tokenizer drops something of a text, given its offsets; None for one that drops nothing.

    BPE drops what its vocabulary lacks if it has no unknown token.
    """
    described = json.loads(backend.to_str())
    model = described["model"]
    if model["type"] != "BPE" or model.get("unk_token") is not None or model.get("byte_fallback"):
        return None
    if '"ByteLevel"' not in json.dumps([described["normalizer"], described["pre_tokenizer"]]):
        return _leaves_out
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    known = bytes(byte for byte, name in bytes_to_unicode().items() if backend.token_to_id(name) is not None)
    if len(known) == 256:
        return None
    return lambda text, _: bool(text.encode("utf-8", "surrogatepass").translate(None, known))


def _leaves_out(text: str, offsets: Sequence[tuple[int, int]]) -> bool:
    """Whether a letter or digit of a text is in no token."""
    last = 0
    for start, end in [*offsets, (len(text), len(text))]:
        if any(map(str.isalnum, text[last:start])):
            return True
        last = max(last, end)
    return False


@no_panic()
def word_spans(backend: Any, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Where the words of each text begin and end, as the tokenizer's first step parts them, or else white space does.

    White space itself belongs to no word.
    """
    if not splits_words(backend):
        return blank_spans(texts)
    spans: list[list[tuple[int, int]]] = []
    for text, encoding in zip(texts, backend.encode_batch(list(texts), add_special_tokens=False), strict=True):
        here: dict[object, tuple[int, int]] = {}
        for place, (word, (start, end)) in enumerate(zip(encoding.word_ids, encoding.offsets, strict=True)):
            name = (place,) if word is None else word  # a special token written in the text is a word of its own
            low, high = here.get(name, (start, end))
            here[name] = (min(low, start), max(high, end))
        trimmed = ((visible(text, low), high) for low, high in here.values())
        spans.append([(low, low + len(text[low:high].rstrip())) for low, high in trimmed if text[low:high].strip()])
    return spans


def blank_spans(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Where the words of each text begin and end that white space parts."""
    return [[found.span() for found in re.finditer(r"\S+", text)] for text in texts]


def splits_words(backend: Any) -> bool:
    """Whether the tokenizer tells words apart."""
    words = backend.encode("a b c", add_special_tokens=False).word_ids
    return len(set(words)) == len({"a", "b", "c"})


def cut_off(found: Tokenised, requests: Sequence[Request]) -> Tokenised:
    """Without the tokens after each request's span: nothing asks for them."""
    if all(request.span is None for request in requests):
        return found
    limits = [len(r.text) + 1 if r.span is None else r.span[1] for r in requests]
    keep = found.starts < np.repeat(np.array(limits), found.ids.lengths)
    bounds = np.append(0, np.cumsum(keep))[np.append(0, np.cumsum(found.ids.lengths))]
    lengths = np.diff(bounds)
    pieces = {place: names[: int(lengths[place])] for place, names in found.pieces.items()}
    kept = Ragged(found.ids.flat[keep], lengths)
    return Tokenised(kept, found.starts[keep], found.ends[keep], pieces, found.notices)


def visible(text: str, start: int) -> int:
    """Where the first character that is no white space stands, from `start` on.

    A token of white space alone counts with the word after it, as the space before a word does.
    """
    while start < len(text) and text[start].isspace():
        start += 1
    return start
