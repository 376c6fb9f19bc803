"""CTranslate2 models by folder, and OpenNMT-py checkpoints: `ctranslate:folder`, `ctranslate:model_step_9000.pt`."""

from __future__ import annotations

import importlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wug import registry
from wug.errors import InputError, ModelError, needs_extra
from wug.files import checksum, read_bytes, read_lines, read_object, read_text, shortened, user_path
from wug.models.ctranslate import opennmt as _opennmt
from wug.models.decoding import outputs
from wug.models.spec import BATCH, BEAMS, DEVICE, DTYPE, MAX_LENGTH, ModelSpec
from wug.models.weights.fingerprints import content, fingerprint, unchanged
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
                self._tokens.join(_without_end(answers[n], self._end)),
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
            folder = _opennmt.converted(path)
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


def _without_end(tokens: list[str], end: str) -> list[str]:
    return tokens[:-1] if tokens[-1:] == [end] else tokens
