"""Encoder–decoder models of Hugging Face, by folder or hub name: `seq2seq:t5-small`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Any

from wug.errors import ModelError
from wug.models import _asking, _weights
from wug.models._decoding import Decoder, open_weights, unknown_mark
from wug.models._options import BATCH, BEAMS, DEVICE, DTYPE, MAX_LENGTH, TRUST
from wug.models._spec import ModelSpec
from wug.options import Option
from wug.types import Answer

ANSWERS = "text"
OPTIONS = (
    BEAMS,
    MAX_LENGTH,
    Option("prefix", str, "", "text to put before every source, such as 'translate English to German: '"),
    DTYPE,
    DEVICE,
    BATCH,
    TRUST,
)
TRIED = 20
"""Sources with which the tokenizer is tried."""

log = logging.getLogger("wug")


class Seq2SeqModel:
    """An encoder–decoder that turns sources into answers."""

    __slots__ = (
        "_answer_limit", "_bound", "_decoder", "_dropped", "_prefix", "_source_limit", "_tokenizer", "_tried",
        "_unknown", "chunk", "id", "options",
    )  # fmt: skip

    def __init__(self, loaded: _weights.Loaded, spec: ModelSpec) -> None:
        options = spec.read(OPTIONS)
        beams: int = options["beams"]
        self.id = f"seq2seq/{loaded.name}@{loaded.fingerprint}"
        self._tokenizer = loaded.tokenizer
        self._prefix: str = options["prefix"]
        self._bound: int | None = options["max_length"]
        _require_marks(loaded.model, spec)
        self._source_limit, self._answer_limit = _positions(loaded.model.config)
        self._decoder = Decoder(loaded.model, beams=beams, tokens=options["batch"])
        self._unknown = unknown_mark(loaded.tokenizer)
        # An unknown word stays visible: without it a wrong answer could pass for a right one.
        self._dropped = set(loaded.tokenizer.all_special_ids) - {self._unknown}
        self._tried = False
        self.options = {
            "dtype": str(loaded.model.dtype).removeprefix("torch."),
            "beams": str(beams),
            "max_length": str(self._bound or "auto"),
            **({"prefix": self._prefix} if self._prefix else {}),
        }
        self.chunk = self._decoder.chunk

    def generate(self, sources: Sequence[str]) -> list[Answer]:
        """One answer for each source, in order; empty for a source that is longer than the model can take."""
        return _asking.once(sources, self._ask)

    def _ask(self, sources: list[str]) -> list[Answer]:
        self._try_tokenizer(sources)
        sequences: list[list[int]] = self._tokenizer([self._prefix + source for source in sources])["input_ids"]
        for source, tokens in zip(sources, sequences, strict=True):
            if not tokens:
                raise ModelError(f"{self.id}: its tokenizer makes no tokens of the source {source!r}")
        limit = self._source_limit or sys.maxsize
        places = [n for n, tokens in enumerate(sequences) if len(tokens) <= limit]
        written = self._decoder.write(
            [sequences[n] for n in places], [self._longest(len(sequences[n])) for n in places]
        )
        answers = {
            n: _asking.answer(self._text(one.tokens), ended=one.ended, known=self._unknown not in sequences[n])
            for n, one in zip(places, written, strict=True)
        }
        return [answers.get(n) or _asking.too_long(limit) for n in range(len(sources))]

    def _longest(self, source: int) -> int:
        bound = _asking.longest_answer(source, self._bound)
        return bound if self._answer_limit is None else min(bound, self._answer_limit - 1)

    def _text(self, tokens: Sequence[int]) -> str:
        visible = [token for token in tokens if token not in self._dropped]
        # Cleaning up would take the space before a comma, which is a word of its own in some languages.
        text: str = self._tokenizer.decode(visible, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text.strip()

    def _try_tokenizer(self, sources: Sequence[str]) -> None:
        """Warn, once, where text does not survive the tokenizer: no answer could then be right to the letter."""
        if self._tried:
            return
        self._tried = True
        for source in sources[:TRIED]:
            tokens = self._tokenizer(text_target=source)["input_ids"]
            back = self._text(tokens)
            if self._unknown not in tokens and back.split() != source.split():
                log.warning("%s: the tokenizer gives %r back as %r, so answers may differ too", self.id, source, back)
                return


def load(spec: ModelSpec) -> Seq2SeqModel:
    """The model that `spec` names, checked and ready."""
    return Seq2SeqModel(open_weights(spec, "AutoModelForSeq2SeqLM", spec.read(OPTIONS)), spec)


def _require_marks(model: Any, spec: ModelSpec) -> None:
    marks = model.generation_config
    if marks.decoder_start_token_id is None and marks.bos_token_id is None:
        raise ModelError(
            f"{spec}: nothing says with which token an answer begins. "
            "Put decoder_start_token_id into its generation_config.json"
        )
    if marks.eos_token_id is None:
        raise ModelError(f"{spec}: nothing says with which token an answer ends. Put eos_token_id there likewise")


def _positions(config: Any) -> tuple[int | None, int | None]:
    """Tokens that a source and an answer may have; None where positions are relative."""
    limits: list[int | None] = []
    for side in ("encoder", "decoder"):
        own = getattr(config, side, config)  # an EncoderDecoderModel has two configurations
        names = ("max_position_embeddings", f"max_{side}_position_embeddings")
        given = (getattr(own, name, None) for name in names)
        limits.append(next((limit for limit in given if isinstance(limit, int) and limit > 0), None))
    return limits[0], limits[1]
