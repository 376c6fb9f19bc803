"""One tokeniser for all models with the same tokenizer, such as checkpoints of a training, with what it tokenised."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from wug.models._tokens import Tokenised, Tokeniser
from wug.types import Request

HELD = 4_000_000
"""Tokens that are held, some 100 MB; of more, those that were asked for last."""
TOKENIZERS = 2
"""Tokenizers that are held."""


class SharedTokeniser:
    """A tokeniser that does not tokenise the same texts twice; several threads may use it."""

    __slots__ = ("_count", "_held", "_lock", "_tokenise")

    def __init__(self, tokenise: Tokeniser) -> None:
        self._tokenise = tokenise
        self._held: OrderedDict[bytes, Tokenised] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    @property
    def hf(self) -> Any:
        """The tokenizer of Hugging Face."""
        return self._tokenise.hf

    def __call__(self, requests: Sequence[Request], *, cut: bool = True) -> Tokenised:
        """The tokens of each request's text, up to the end of its span if `cut`."""
        key = _digest(requests, cut)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
            found = self._held[key] = self._tokenise(requests, cut=cut)
            self._count += len(found.ids.flat)
            while self._count > HELD and len(self._held) > 1:
                self._count -= len(self._held.popitem(last=False)[1].ids.flat)
            return found


def shared_tokeniser(hf: Any) -> SharedTokeniser:
    """The tokeniser of a tokenizer, or of one with the same content that was given before."""
    if not hf.is_fast:
        return SharedTokeniser(Tokeniser(hf))  # which says what is wrong with it
    marks = (type(hf).__name__, hf.unk_token, hf.unk_token_id, hf.bos_token_id, hf.eos_token_id)
    content = hashlib.blake2b(f"{marks}\0{hf.backend_tokenizer.to_str()}".encode(), digest_size=16).digest()
    return _made(_Content(content, hf))


@dataclass(frozen=True, slots=True)
class _Content:
    """A tokenizer, told from others by what is in it."""

    digest: bytes
    hf: Any = field(compare=False)


@lru_cache(maxsize=TOKENIZERS)
def _made(content: _Content) -> SharedTokeniser:
    return SharedTokeniser(Tokeniser(content.hf))


def _digest(requests: Sequence[Request], cut: bool) -> bytes:
    spans = [request.span for request in requests] if cut else None
    text = "\0".join(request.text for request in requests)
    return hashlib.blake2b(f"{spans}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
