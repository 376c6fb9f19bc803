"""CTranslate2 models by folder, and OpenNMT-py checkpoints: `ctranslate:folder`, `ctranslate:model_step_9000.pt`."""

from __future__ import annotations

import importlib
import json
import logging
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wug import registry
from wug.errors import InputError, ModelError, needs_extra
from wug.files import checksum, read_bytes, read_lines, read_object, read_text, shortened, user_path
from wug.models.decoding import outputs
from wug.models.spec import BATCH, BEAMS, DEVICE, DTYPE, MAX_LENGTH, ModelSpec
from wug.models.weights.fingerprints import content, fingerprint, obtain_conversion, unchanged
from wug.models.weights.unpickling import Inert, read
from wug.options import Option
from wug.requests import Answer
from wug.traits import BackendTraits

TRAITS = BackendTraits(returns="text", uses_device=True)
DTYPES = ("float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "auto")
OPTIONS = (
    Option("tokens", str, "whitespace", "the tokenizer: whitespace (words), or a SentencePiece model file"),
    BEAMS,
    MAX_LENGTH,
    replace(DTYPE, type=DTYPES),
    replace(DEVICE, help="cpu, cuda, cuda:1; default: the best available"),
    replace(BATCH, help="tokens translated at a time; default: depends on the device"),
    Option("threads", int, None, "threads on a CPU; default: CTranslate2's own", least=1),
)
VOCABULARIES = ("source_vocabulary", "shared_vocabulary")
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

log = logging.getLogger("wug")


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenizer."""

    name: str
    """For the signature."""
    split: Callable[[str], list[str]]
    join: Callable[[list[str]], str]


class TranslatorModel:
    """A CTranslate2 model that generates answers to sources."""

    def __init__(self, name: str, folder: Path, translator: Any, options: Mapping[str, Any]) -> None:
        self.id = name
        self._translator = translator
        self._tokens = _tokens(options["tokens"])
        self._beams: int = options["beams"]
        self._bound: int | None = options["max_length"]
        on_gpu = translator.device == "cuda"
        self._batch: int = options["batch"] or (1 << 16 if on_gpu else 1 << 12)
        self._vocabulary = _source_vocabulary(folder)
        config = folder / "config.json"  # older converters write none
        self._end: str = read_object(config).get("eos_token", "</s>") if config.is_file() else "</s>"
        self.options = {
            "dtype": str(translator.compute_type),
            "beams": str(self._beams),
            "max_length": str(self._bound or "auto"),
            "tokens": self._tokens.name,
        }
        self.chunk = 16384 if on_gpu else 512

    def generate(self, sources: Sequence[str]) -> list[Answer]:
        """One answer per source, in order."""
        return outputs.map_distinct(sources, self._generate)

    def _generate(self, sources: list[str]) -> list[Answer]:
        tokenized = [self._tokens.split(source) for source in sources]
        bounds = [outputs.token_limit(len(tokens), self._bound) for tokens in tokenized]
        answers: dict[int, list[str]] = {}
        for bound in sorted(set(bounds)):
            indices = [n for n, limit in enumerate(bounds) if limit == bound]
            answers.update(zip(indices, self._translate([tokenized[n] for n in indices], bound), strict=True))
        return [
            outputs.make_answer(
                self._tokens.join(answers[n][:-1] if answers[n][-1:] == [self._end] else answers[n]),
                ended=len(answers[n]) < bounds[n] or answers[n][-1] == self._end,
                source_known=self._vocabulary is None or self._vocabulary.issuperset(tokens),
            )
            for n, tokens in enumerate(tokenized)
        ]

    def _translate(self, tokenized: list[list[str]], bound: int) -> list[list[str]]:
        """The tokens of the answers with end tokens; batches shrink when memory runs out."""
        while True:
            try:
                results = self._translator.translate_batch(
                    tokenized,
                    beam_size=self._beams,
                    max_batch_size=self._batch,
                    batch_type="tokens",
                    max_input_length=0,  # otherwise long sources are truncated silently
                    max_decoding_length=bound,
                    min_decoding_length=0,  # an empty answer is valid
                    return_end_token=True,
                )
                return [result.hypotheses[0] for result in results]
            except RuntimeError as error:
                if "out of memory" not in str(error) or self._batch < 64:
                    reason = str(error).splitlines()[0][:300]
                    raise ModelError(f"{self.id}: CTranslate2 failed: {reason}") from error
                self._batch //= 2
                log.warning("memory ran out: continuing with %s tokens at a time", f"{self._batch:,}")


def load(spec: ModelSpec) -> TranslatorModel:
    """Load a folder, or convert a checkpoint."""
    options = spec.read(OPTIONS)
    with needs_extra("a ctranslate model", "ctranslate"):
        ctranslate2: Any = importlib.import_module("ctranslate2")
    path = user_path(spec.name)
    if path.is_file():
        digest = content(path)[:12]
        with unchanged(path):
            folder = converted(path)
    elif path.is_dir():
        folder, digest = path, fingerprint(path)
    else:
        raise ModelError(f"{spec}: no such file or folder. Give a CTranslate2 folder or an OpenNMT-py checkpoint (.pt)")
    if not (folder / "model.bin").is_file():
        config = folder / "config.json"
        backend = registry.backend_of_config(read_object(config)) if config.is_file() else None
        hint = "" if backend is None else f". Use {backend}:{spec.shown_name}"
        raise ModelError(f"{spec}: the folder has no model.bin, so it is not a CTranslate2 model{hint}")
    dtype = options["dtype"]
    device, _, number = (options["device"] or "auto").partition(":")
    is_number = number.isascii() and number.isdigit() and len(number) < 4
    if device not in ("auto", "cpu", "cuda") or (number and not is_number):
        raise InputError(f"device={options['device']}: write cpu, cuda or cuda:1")
    try:
        with unchanged(folder):
            translator = ctranslate2.Translator(
                str(folder),
                device=device,
                device_index=int(number or 0),
                compute_type="default" if dtype == "auto" else dtype,
                intra_threads=options["threads"] or 0,
            )
    except (RuntimeError, ValueError) as error:
        raise ModelError(f"{spec}: cannot be loaded: {str(error).splitlines()[0][:300]}") from error
    return TranslatorModel(f"ctranslate/{path.resolve().name}@{digest}", folder, translator, options)


def _tokens(name: str) -> Tokens:
    if name == "whitespace":
        return Tokens("whitespace", str.split, " ".join)
    path = user_path(name)
    if not path.is_file():
        raise InputError(f"option tokens={name!r}: write whitespace, or name a SentencePiece model file")
    with needs_extra("a SentencePiece model", "ctranslate"):
        sentencepiece: Any = importlib.import_module("sentencepiece")
    try:
        pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (OSError, RuntimeError) as error:
        raise InputError(f"not a SentencePiece model: {str(error).splitlines()[0][:200]}", file=path) from None
    return Tokens(
        f"sentencepiece@{checksum(read_bytes(path))}",
        lambda text: [str(piece) for piece in pieces.encode(text, out_type=str)],
        lambda tokens: str(pieces.decode(tokens)),
    )


def _source_vocabulary(folder: Path) -> frozenset[str] | None:
    """The words that a source may have; None if unknown."""
    for name in VOCABULARIES:
        if (path := folder / f"{name}.json").is_file():
            try:
                return frozenset(map(str, json.loads(read_text(path))))
            except (ValueError, RecursionError, TypeError) as error:
                problem = f"not a list in JSON ({shortened(str(error))}). Convert or copy the model again"
                raise InputError(problem, file=path) from None
        if (path := folder / f"{name}.txt").is_file():
            return frozenset(read_lines(path))
    return None


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
