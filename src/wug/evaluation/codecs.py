"""Cache keys of requests and cache values of outputs, for scores and for generated text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, replace
from hashlib import blake2b
from itertools import compress, pairwise
from typing import Any

import numpy as np

from wug.evaluation.cache import KEY_BYTES
from wug.requests import Answer, Request, Scored, Source, text_of
from wug.scores import PlainRequests, Scores, TokenExtras, texts_of

OFFSET_TYPES = ("<u1", "<u2", "<u4")
"""Integer types of token offsets; a block of outputs uses the narrowest that fits."""
DOUBLE, EXTRAS = 4, 8
"""Flags in the first byte of a value: float64 log-probabilities, and JSON after the tokens."""


class ScoreCodec:
    """Log-probabilities of tokens: a flag byte, then start, end and log-probability of each token.

    Log-probabilities are stored as float32 if that is exact, as for outputs computed in float32.
    """

    def keys(self, requests: Sequence[Request]) -> bytes:
        """The digests of everything in each request that can change its output, `KEY_BYTES` each."""
        if isinstance(requests, PlainRequests):
            return _digests(f"{text}\0" for text in requests.texts)
        return _digests(map(_content, requests))

    def sort_key(self, request: Request) -> str:
        """The text with what is read before it, so that shared beginnings are neighbours."""
        text = request.text if request.chat is None else f"{_chat(request)}\0{request.text}"
        return text if request.span is None else f"{text}\0{request.span[0]}:{request.span[1]}"

    def encode(self, outputs: Sequence[Scored]) -> list[bytes]:
        """The values of scores."""
        scores = Scores.of(outputs)
        widest = int(scores.ends.max(initial=0))
        width = next(code for code, kind in enumerate(OFFSET_TYPES) if widest <= np.iinfo(kind).max)
        with np.errstate(over="ignore"):
            exact = np.array_equal(scores.logprobs.astype("<f4").astype(np.float64), scores.logprobs, equal_nan=True)
        flag = width | (0 if exact else DOUBLE)
        tokens = np.empty(len(scores.starts), _dtype(flag))
        tokens["start"], tokens["end"], tokens["logprob"] = scores.starts, scores.ends, scores.logprobs
        data, size = tokens.tobytes(), tokens.itemsize
        bounds: list[int] = (scores.offsets * size).tolist()
        head = bytes([flag])
        values = [head + data[low:high] for low, high in pairwise(bounds)]
        for position in {*scores.token_names, *scores.notices, *scores.extras}:
            extras = [source.get(position) for source in (scores.token_names, scores.notices, scores.extras)]
            length = (len(values[position]) - 1).to_bytes(4, "little")
            body = values[position][1:]
            values[position] = bytes([flag | EXTRAS]) + length + body + json.dumps(extras).encode()
        return values

    def decode(self, requests: Sequence[Request], values: Sequence[bytes]) -> Scores:
        """The scores, in columns."""
        if not values:
            return Scores.of([])
        flags = np.fromiter((value[0] for value in values), np.uint8, len(values))
        parts = [_tokens(flag, list(compress(values, flags == flag))) for flag in np.unique(flags).tolist()]
        joined = Scores.join(parts)
        if len(parts) > 1:
            joined = joined.take(np.argsort(np.argsort(flags, kind="stable")))
        return replace(joined, texts=texts_of(requests))


class TextCodec:
    """Generated text: a flag byte, then the text, after JSON with its warnings if there are any."""

    def __init__(self, *, bounded: bool) -> None:
        self._bounded = bounded
        """Whether the model stops at the length bound of a source."""

    def keys(self, requests: Sequence[str | Source]) -> bytes:
        """The digests of the sources, and of the length bounds for models that stop at them."""
        bounds = (f"\0{one.max_words}" if self._bounded and isinstance(one, Source) else "" for one in requests)
        return _digests(f"{text_of(one)}{bound}" for one, bound in zip(requests, bounds, strict=True))

    def sort_key(self, request: str | Source) -> str:
        """The source."""
        return text_of(request)

    def encode(self, outputs: Sequence[Answer | str]) -> list[bytes]:
        """The values of texts."""
        return [_packed_text(Answer(one) if isinstance(one, str) else one) for one in outputs]

    def decode(self, requests: Sequence[str | Source], values: Sequence[bytes]) -> list[Answer]:
        """The texts."""
        return list(map(_unpacked_text, values))


def _digests(texts: Iterable[str]) -> bytes:
    found = (blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest() for text in texts)
    return np.fromiter(found, f"S{KEY_BYTES}").tobytes()


def _content(request: Request) -> str:
    """Everything in a request that can change its output, as text."""
    span = "" if request.span is None else f"{request.span[0]}:{request.span[1]}"
    scoring = "" if request.scoring is None else "\0" + ":".join(map(str, astuple(request.scoring)))
    source = "" if request.source is None else f"\0\0{request.source}"
    chat = "" if request.chat is None else f"\0\0\0{_chat(request)}"
    written = f"\0\0\0\0{request.generate}" if request.generate else ""
    separate = "" if request.separate_word_start is None else f"\0\0\0\0\0{request.separate_word_start}"
    return f"{request.text}\0{span}{scoring}{source}{chat}{written}{separate}"


def _chat(request: Request) -> str:
    chat = request.conversation
    return "" if chat is None else json.dumps(astuple(chat), ensure_ascii=False)


def _dtype(flag: int) -> np.dtype[Any]:
    offset, logprob = OFFSET_TYPES[flag & 3], "<f8" if flag & DOUBLE else "<f4"
    return np.dtype([("start", offset), ("end", offset), ("logprob", logprob)])


def _tokens(flag: int, values: Sequence[bytes]) -> Scores:
    """The scores of values with the same flag, without texts."""
    extras: list[tuple[Any, ...]] = []
    if flag & EXTRAS:
        ends = [5 + int.from_bytes(value[1:5], "little") for value in values]
        bodies = [value[5:end] for value, end in zip(values, ends, strict=True)]
        extras = [json.loads(value[end:]) for value, end in zip(values, ends, strict=True)]
    else:
        bodies = [value[1:] for value in values]
    dtype = _dtype(flag)
    tokens = np.frombuffer(b"".join(bodies), dtype)
    offsets = np.zeros(len(bodies) + 1, np.int64)
    np.cumsum([len(body) // dtype.itemsize for body in bodies], out=offsets[1:])
    columns = (tokens["start"].astype(np.int32), tokens["end"].astype(np.int32), tokens["logprob"].astype(np.float64))
    token_names, warnings, token_extras = (
        {at: one[part] for at, one in enumerate(extras) if one[part] is not None} for part in range(3)
    )
    return Scores(
        [""] * len(bodies),
        offsets,
        *columns,
        {at: tuple(names) for at, names in token_names.items()},
        {at: tuple(texts) for at, texts in warnings.items()},
        {at: TokenExtras(*(None if one is None else tuple(one) for one in more)) for at, more in token_extras.items()},
    )


def _packed_text(answer: Answer) -> bytes:
    text = answer.text.encode("utf-8", "surrogatepass")
    if not answer.notices:
        return b"\0" + text
    notices = json.dumps(answer.notices).encode()
    return bytes([EXTRAS]) + len(notices).to_bytes(4, "little") + notices + text


def _unpacked_text(value: bytes) -> Answer:
    if not value[0] & EXTRAS:
        return Answer(value[1:].decode("utf-8", "surrogatepass"))
    end = 5 + int.from_bytes(value[1:5], "little")
    return Answer(value[end:].decode("utf-8", "surrogatepass"), tuple(json.loads(value[5:end])))
