"""The tokens of Marian's answers with their places: its tokenizer is written in Python and tells none."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from importlib import import_module
from itertools import accumulate
from typing import Any

from wug.errors import InputError, ModelError
from wug.models._ragged import Ragged, flatten
from wug.models._tokens import Tokenised, cut_off, visible
from wug.types import Request


class MarianTokeniser:
    """Gives what `Tokeniser` gives, from the SentencePiece model of the answers."""

    __slots__ = ("_unknown", "hf")

    def __init__(self, hf: Any) -> None:
        if hf.separate_vocabs:
            raise ModelError("Marian models with two vocabularies, one a language, cannot score; they can write")
        self.hf = hf
        self._unknown: int = hf.unk_token_id

    def __call__(self, requests: Sequence[Request], *, cut: bool = True) -> Tokenised:
        """The tokens of each request's text, up to the end of its span if `cut`."""
        texts = [request.text for request in requests]
        ids: list[list[int]] = self.hf(text_target=texts, add_special_tokens=False)["input_ids"] if texts else []
        starts: list[list[int]] = []
        ends: list[list[int]] = []
        pieces: dict[int, tuple[str, ...]] = {}
        for place, (text, here) in enumerate(zip(texts, ids, strict=True)):
            spans = self._spans(text, here)
            starts.append([visible(text, a) for a, _ in spans])
            ends.append([max(a, b) for a, (_, b) in zip(starts[-1], spans, strict=True)])
            if self._unknown in here:
                named = zip(here, starts[-1], ends[-1], strict=True)
                pieces[place] = tuple(self.hf.unk_token if i == self._unknown else text[a:b] for i, a, b in named)
        found = Ragged.of(ids)
        tokenised = Tokenised(found, flatten(starts, len(found.flat)), flatten(ends, len(found.flat)), pieces)
        return cut_off(tokenised, requests) if cut else tokenised

    def _spans(self, text: str, ids: Sequence[int]) -> list[tuple[int, int]]:
        """Where each token begins and ends.

        SentencePiece tells what its pieces stand for, whatever it does to letters (ligatures, widths); that these are
        the tokens which the tokenizer gave is checked.
        """
        written: Any = import_module("sentencepiece.sentencepiece_pb2")  # has no types
        told = written.SentencePieceText.FromString(self.hf.spm_target.encode(text, out_type="serialized_proto"))
        if [self.hf.encoder.get(piece.piece, self._unknown) for piece in told.pieces] != list(ids):
            raise InputError(
                f"the places of this text's tokens cannot be told: {text!r}. "
                f"Take out marks that Marian's tokenizer has of its own (such as {self.hf.eos_token} or >>de<<)"
            )
        letters = [0, *accumulate(len(letter.encode()) for letter in text)]  # in bytes, as pieces are counted
        return [(bisect_left(letters, piece.begin), bisect_left(letters, piece.end)) for piece in told.pieces]
