"""Safe conversion of OpenNMT-py checkpoints to CTranslate2.

Weights, options and vocabularies are read from a checkpoint as plain data. Only these are written to a new checkpoint,
and only that one is given to CTranslate2's converter.
"""

from __future__ import annotations

import importlib
import tempfile
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import ModelError, needs_extra
from wug.models.weights.fingerprints import content, obtain_conversion
from wug.models.weights.unpickling import Inert, read

CHECKPOINT = (
    *("torch.int64", "torch.int32", "torch.uint8", "torch.float32", "torch.float16"),
    "argparse.Namespace",
    # Versions 1 and 2 keep their vocabularies in torchtext's fields.
    "functools.partial",
    *(
        f"torchtext.{legacy}{name}"
        for legacy in ("", "legacy.")
        for name in (
            "data.field.Field", "data.field.RawField", "data.pipeline.Pipeline", "data.utils._split_tokenizer",
            "vocab.Vocab", "vocab._default_unk_index",
        )
    ),
    "onmt.inputters.text_dataset.TextMultiField",
    "onmt.inputters.text_dataset._feature_tokenize",
    "onmt.inputters.inputter._feature_tokenize",
    "onmt.inputters.inputter.AlignField",
    "onmt.inputters.inputter.make_src",
    "onmt.inputters.inputter.make_tgt",
)  # fmt: skip
"""Names that an OpenNMT-py checkpoint may contain."""


@dataclass(frozen=True, slots=True)
class OpenNmtCheckpoint:
    """The content of a checkpoint, as plain data."""

    path: Path
    weights: Mapping[str, Any]
    generator: Mapping[str, Any]
    options: Mapping[str, Any]
    source: list[str]
    """The source vocabulary, by number."""
    target: list[str]


def converted(path: Path) -> Path:
    """The CTranslate2 folder of a checkpoint, converted if necessary."""

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            _convert(read_checkpoint(path), Path(scratch, "plain.pt"), folder)

    try:
        return obtain_conversion(content(path)[:16], make)
    except RuntimeError as error:  # raised by PyTorch for a full disk
        raise ModelError(f"{path}: the converted model cannot be kept. Is the disk full?") from error


def read_checkpoint(path: Path) -> OpenNmtCheckpoint:
    """Read a checkpoint; an error if it contains anything else."""
    match read(path, CHECKPOINT, what="an OpenNMT-py checkpoint"):
        case {"model": dict(model), "generator": dict(generator), "vocab": vocabularies, "opt": Inert() as options}:
            pass
        case dict(root):
            keys = ", ".join(sorted(map(str, root))[:8])
            raise ModelError(
                f"{path}: not an OpenNMT-py checkpoint: it needs model, generator, vocab and opt, and has {keys}"
            )
        case _:
            raise ModelError(f"{path}: not an OpenNMT-py checkpoint: it holds no dictionary")
    return OpenNmtCheckpoint(
        path,
        _tensors(model),
        _tensors(generator),
        {str(key): value for key, value in (options.state or {}).items() if _is_plain(value)},
        _words(path, vocabularies, "src"),
        _words(path, vocabularies, "tgt"),
    )


def _tensors(entries: Mapping[Any, Any]) -> dict[str, Any]:
    import torch

    return {str(name): value for name, value in entries.items() if isinstance(value, torch.Tensor)}


def _words(path: Path, vocabularies: object, side: str) -> list[str]:
    fields: object
    match vocabularies:
        case dict():
            fields = vocabularies.get(side)
        case list():  # version 0: pairs of a side and its vocabulary
            fields = [pair for pair in vocabularies if isinstance(pair, tuple) and pair[:1] == (side,)]
        case _:
            fields = None
    if isinstance(fields, Inert) and isinstance(fields.state, dict):
        fields = fields.state.get("fields")
    if isinstance(fields, list) and fields and all(isinstance(word, str) for word in fields):
        return list(fields)
    if not isinstance(fields, list) or not fields:
        raise ModelError(f"{path}: no {side} vocabulary that wug can read in this checkpoint")
    if len(fields) > 1:
        raise ModelError(f"{path}: it has word features ({side}), which wug does not support")
    vocabulary = fields[0][-1] if isinstance(fields[0], tuple) else None
    for attribute in ("vocab", "itos"):
        if isinstance(vocabulary, Inert) and isinstance(vocabulary.state, dict):
            vocabulary = vocabulary.state.get(attribute, vocabulary)
    if not isinstance(vocabulary, list) or not all(isinstance(word, str) for word in vocabulary):
        raise ModelError(f"{path}: no {side} vocabulary that wug can read in this checkpoint")
    return vocabulary


def _is_plain(value: object) -> bool:
    elements = value if isinstance(value, list) else [value]
    return all(element is None or isinstance(element, str | int | float) for element in elements)


def _convert(checkpoint: OpenNmtCheckpoint, plain_path: Path, folder: Path) -> None:
    """Write a CTranslate2 folder, through a checkpoint with plain data only."""
    with needs_extra("converting an OpenNMT-py checkpoint", "ctranslate,hf"):
        import torch

        converters: Any = importlib.import_module("ctranslate2.converters")
    torch.save(
        {
            "model": checkpoint.weights,
            "generator": checkpoint.generator,
            "vocab": {"src": checkpoint.source, "tgt": checkpoint.target},
            "opt": Namespace(**checkpoint.options),
        },
        plain_path,
    )
    try:
        with torch.serialization.safe_globals([Namespace]):
            converters.OpenNMTPyConverter(str(plain_path)).convert(str(folder))
    except KeyError as error:
        raise ModelError(f"{checkpoint.path}: the checkpoint lacks the weights {error}") from None
    except (ValueError, AttributeError, TypeError, RuntimeError, NotImplementedError) as error:
        types = [str(checkpoint.options.get(key, "?")) for key in ("encoder_type", "decoder_type")]
        reason = "; ".join(line.strip("- ") for line in str(error).splitlines() if line.strip())[:300]
        raise ModelError(
            f"{checkpoint.path}: CTranslate2 cannot run this model ({'/'.join(types)}): {reason}. "
            'Run other kinds of models with OpenNMT itself: command:"onmt_translate -model … -src {source} '
            '-output {output}"'
        ) from None
