"""A generating model, its decoder, and the decoding methods that are compared with transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wug.models import seq2seq
from wug.models.decoding.cuda_graph import CudaGraphDecoder
from wug.models.decoding.outputs import Decoded, TokenRules, trim_at_end
from wug.models.spec import ModelSpec


def opened(folder: Path) -> tuple[seq2seq.Seq2SeqModel, Any, CudaGraphDecoder]:
    """The plain model, the decoder in it, and a way of writing in few shapes."""
    model = seq2seq.load(ModelSpec("seq2seq", str(folder), options={"device": "cpu", "engine": "transformers"}))
    assert isinstance(model, seq2seq.Seq2SeqModel)
    decoder: Any = model.decoder
    rules = TokenRules.of(decoder.model.generation_config)
    assert rules is not None
    return model, decoder, CudaGraphDecoder(decoder.model, rules, decoder._pad)


def alone(decoder: Any, sequence: Sequence[int], bound: int) -> Decoded:
    """What generate() of transformers writes for one sequence that is asked by itself."""
    return trim_at_end(decoder._generate([sequence], bound)["sequences"][0].tolist(), decoder._ends)
