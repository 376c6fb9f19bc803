"""Greedy decoding with CTranslate2 on a CPU, and the conversion of models of transformers.

CTranslate2 computes what PyTorch computes up to the rounding of float32, so it writes the same tokens except where two
are equally probable within that rounding. Such near ties are counted. A conversion contains the weights, the decoding
configuration, the tokenizer if it can be used without transformers, and the outputs of PyTorch for some probes. It is
checked with these probes whenever it is loaded, without the seconds that PyTorch takes to import.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wug.errors import ModelError, first_line
from wug.files import checksum
from wug.models.decoding.outputs import NEAR_TIE_NATS, Decoded, trim_at_end
from wug.models.hardware import threads
from wug.models.huggingface.loading import HubModel
from wug.models.seq2seq.config import DecodingConfig, SavedTokenizer
from wug.models.weights.fingerprints import find_conversion, obtain_conversion

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

    from wug.models.decoding.generation import Decoder

CONVERSION_VERSION = "3"
"""Raised when conversions are made differently."""
PROBE_LENGTHS = (1, 3, 7, 12, 20, 40)
PROBE_ANSWER_TOKENS = 24
MAX_GAP_NATS = 5e-3
"""Nats by which the log-probability of a probe's answer may differ: a few units of float32 per token."""
MIN_MARGIN_NATS = 1e-3
"""Nats between the two best tokens that rounding cannot bridge: only such probes are used."""
PAD = "<pad>"
CONVERSION_ERRORS = (ValueError, KeyError, AttributeError, TypeError, NotImplementedError, IndexError, RuntimeError)

CERTAIN_LOGPROB = -0.69
"""Log-probability of an answer above which it has no near tie: each token was more probable than one half."""
BATCH_TOKENS = 4096
MAX_LOGITS = 1 << 25
"""Logits kept in memory at a time."""

Fallback = Callable[[Sequence[Sequence[int]], Sequence[int]], list[Decoded]]
"""Decodes sequences, each up to its own number of tokens."""


class NotConvertible(ModelError):
    """A model that CTranslate2 does not run, or not as transformers does; `unexpected` if it should."""

    def __init__(self, message: str, *, unexpected: bool = False) -> None:
        super().__init__(message)
        self.unexpected = unexpected


class Translator:
    """A converted model that decodes token sequences; tokens are named by their numbers.

    CTranslate2 takes some sources for empty, such as a lone end mark; those go to `fallback`.
    """

    def __init__(
        self, folder: Path, config: DecodingConfig, fallback: Fallback, *, batch_tokens: int | None = None
    ) -> None:
        ctranslate2: Any = importlib.import_module("ctranslate2")
        self._threads = threads()
        self._model = ctranslate2.Translator(
            str(folder),
            device="cpu",
            compute_type="float32",
            # Batches in parallel: threads that share one wait for each other, the more so on a busy machine.
            inter_threads=self._threads,
            intra_threads=1,
        )
        self._fallback = fallback
        self.near_tie_nats = NEAR_TIE_NATS
        self._batch_tokens = batch_tokens or BATCH_TOKENS
        self._ends = config.ends
        self._vocabulary = config.vocabulary
        self._prefix = None if config.forced is None else [str(config.forced)]
        self._settings: dict[str, Any] = {
            "beam_size": 1,
            "batch_type": "tokens",
            "max_input_length": 0,  # otherwise long sources are truncated silently
            "end_token": [str(token) for token in config.ends],
            "return_end_token": True,
            "suppress_sequences": [[str(token) for token in banned] for banned in config.banned] or None,
            "return_scores": True,
            "length_penalty": 0,  # so that the score is the log-probability
        }
        self.chunk = int(min(4096, max(16, 2e4 / max(config.millions, 1.0))))

    def decode(self, sequences: Sequence[Sequence[int]], limits: Sequence[int]) -> list[Decoded]:
        """Decode each sequence, up to its limit of tokens."""
        outputs: dict[int, Decoded] = {}
        by_length = sorted(range(len(sequences)), key=lambda index: len(sequences[index]))
        for limit in sorted(set(limits)):
            indices = [index for index in by_length if limits[index] == limit]
            outputs |= zip(indices, self._decode([sequences[index] for index in indices], limit), strict=True)
        empty = [index for index in range(len(sequences)) if not (outputs[index].tokens or outputs[index].ended)]
        if empty:
            answers = self._fallback([sequences[index] for index in empty], [limits[index] for index in empty])
            outputs |= zip(empty, answers, strict=True)
        return [outputs[index] for index in range(len(sequences))]

    def _decode(self, sequences: Sequence[Sequence[int]], limit: int) -> list[Decoded]:
        """Decode sequences of ascending length, with near ties marked."""
        results = self.translate(sequences, limit)
        near_ties = self._near_ties(sequences, results)
        answers = (trim_at_end(tokens_of(result), self._ends) for result in results)
        return [replace(answer, near_tie=index in near_ties) for index, answer in enumerate(answers)]

    def _near_ties(self, sequences: Sequence[Sequence[int]], results: Sequence[Any]) -> set[int]:
        """The indices of near ties: uncertain answers are decoded again for their logits."""
        near_ties: set[int] = set()
        remaining = [index for index, result in enumerate(results) if result.scores[0] <= CERTAIN_LOGPROB]
        remaining.sort(key=lambda index: len(tokens_of(results[index])), reverse=True)
        while remaining:
            length = len(tokens_of(results[remaining[0]]))
            rows = max(1, MAX_LOGITS // (self._vocabulary * length))
            batch, remaining = remaining[:rows], remaining[rows:]
            again = self.translate([sequences[index] for index in batch], length, logits=True)
            pairs = zip(batch, again, strict=True)
            near_ties |= {index for index, result in pairs if self._is_near_tie(result, tokens_of(results[index]))}
        return near_ties

    def _is_near_tie(self, result: Any, answer: list[int]) -> bool:
        """Whether two tokens were nearly equally probable somewhere in an answer, or it differs this time."""
        steps = result.logits[0][len(self._prefix or ()) : len(answer)]
        different = tokens_of(result)[: len(answer)] != answer
        return different or any(_margin(np.array(step)) < self.near_tie_nats for step in steps)

    def translate(
        self, sequences: Sequence[Sequence[int]], max_tokens: int, min_tokens: int = 0, *, logits: bool = False
    ) -> list[Any]:
        """CTranslate2's results, each with `min_tokens` to `max_tokens` tokens."""
        source_tokens = sum(map(len, sequences))
        try:
            results: list[Any] = self._model.translate_batch(
                [[str(token) for token in sequence] for sequence in sequences],
                None if self._prefix is None else [self._prefix] * len(sequences),
                max_batch_size=max(1, min(self._batch_tokens, -(-source_tokens // self._threads))),
                max_decoding_length=max_tokens,
                min_decoding_length=min_tokens,  # 0: an empty answer is valid
                return_logits_vocab=logits,
                **self._settings,
            )
        except RuntimeError as error:
            raise ModelError(f"CTranslate2 failed: {first_line(error)}") from error
        return results


def tokens_of(result: Any) -> list[int]:
    """The tokens of a result, with its end token."""
    return [int(token) for token in result.hypotheses[0]]


def _margin(logits: npt.NDArray[np.float32]) -> float:
    return float(np.diff(np.partition(logits, -2)[-2:])[0])


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted model in its folder."""

    folder: Path
    config: DecodingConfig
    tokenizer: SavedTokenizer | None
    probes: Sequence[Mapping[str, Any]]

    def open(self, fallback: Fallback, batch_tokens: int | None = None) -> Translator:
        """Load the model; NotConvertible if its outputs for the probes are not those of transformers."""
        try:
            translator = Translator(self.folder, self.config, fallback, batch_tokens=batch_tokens)
        except (RuntimeError, ValueError) as error:
            raise NotConvertible(f"it cannot be loaded: {first_line(error)}", unexpected=True) from error
        if problem := self._problem(translator):
            raise NotConvertible(problem, unexpected=True)
        return translator

    def _problem(self, translator: Translator) -> str | None:
        sources = [probe["source"] for probe in self.probes]
        if not sources:
            return "it has no probes"
        length = len(self.probes[0]["forced"])
        for probe, result in zip(self.probes, translator.translate(sources, length, length), strict=True):
            gap = abs(result.scores[0] - probe["logprob"])
            translator.near_tie_nats = max(translator.near_tie_nats, 10 * gap)
            if tokens_of(result) != probe["forced"] or not gap < MAX_GAP_NATS:
                return f"its answer to a probe is not PyTorch's (log-probability {gap:.2g} nats apart)"
        for probe, output in zip(self.probes, translator.decode(sources, [length] * len(sources)), strict=True):
            expected = Decoded(tuple(probe["free"]["tokens"]), probe["free"]["ended"])
            if not output.near_tie and output != expected:
                return "its answer to a probe ends elsewhere than PyTorch's"
        return None


def find(fingerprint: str) -> Conversion | None:
    """An existing conversion; None if there is none, or a damaged one."""
    folder = find_conversion(_name(fingerprint))
    return None if folder is None else _read(folder)


def obtain(loaded: HubModel, config: DecodingConfig, decoder: Callable[[], Decoder]) -> Conversion:
    """The conversion of a model, made if there is none; NotConvertible if CTranslate2 does not support the model."""
    config = _without_pad(config, loaded.model)

    def make(folder: Path) -> None:
        try:
            _convert(loaded.model, config, folder)
        except CONVERSION_ERRORS as error:
            raise NotConvertible(f"it is not converted: {first_line(error)}") from error
        metadata = {"config": asdict(config), "probes": _probes(config, decoder())}
        (folder / "wug.json").write_text(json.dumps(metadata), encoding="utf-8")
        if tokenizer := SavedTokenizer.of(loaded.tokenizer):
            tokenizer.backend.save(str(folder / "tokenizer.json"))

    try:
        return _read(obtain_conversion(_name(loaded.fingerprint), make))
    except NotConvertible:
        raise
    except ModelError as error:
        raise NotConvertible(str(error), unexpected=True) from None


def available() -> bool:
    """Whether CTranslate2 is installed."""
    try:
        importlib.import_module("ctranslate2")
    except ImportError:
        return False
    return True


def _name(fingerprint: str) -> str:
    """The folder of a conversion: the model, and the packages that the conversion depends on."""
    versions = []
    for package in ("ctranslate2", "transformers", "tokenizers"):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(package)
    return f"{fingerprint}-{checksum(CONVERSION_VERSION, *versions)}"


def _read(folder: Path) -> Conversion:
    metadata = json.loads((folder / "wug.json").read_text(encoding="utf-8"))
    tokenizer = None
    if (saved := folder / "tokenizer.json").is_file():
        from tokenizers import Tokenizer

        tokenizer = SavedTokenizer(Tokenizer.from_file(str(saved)))
    return Conversion(folder, DecodingConfig(**metadata["config"]), tokenizer, metadata["probes"])


class _TokenNumbers:
    """A tokenizer whose tokens are named by their numbers.

    In a real one two tokens may have the same text, and numbers may be left out, which would shift the others.
    """

    special_tokens_map: Mapping[str, Any] = {}
    num_madeup_words = 0

    def __init__(self, config: DecodingConfig, pad: int | None) -> None:
        self._names = [str(number) for number in range(config.vocabulary)]
        if pad == config.vocabulary - 1:
            self._names[pad] = PAD  # as Marian models have it, whose converter takes it out by this name
        self.bos_token = self.pad_token = self._names[config.start]
        self.eos_token = self._names[config.ends[0]]
        self.unk_token = self.eos_token if config.unknown is None else self._names[config.unknown]

    def get_vocab(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._names)}

    def convert_ids_to_tokens(self, number: int) -> str:
        return self._names[number]


def _without_pad(config: DecodingConfig, model: PreTrainedModel) -> DecodingConfig:
    """The configuration for CTranslate2, which leaves out the last token of Marian models, the padding."""
    if config.begins:
        raise NotConvertible("CTranslate2 cannot ban tokens at the beginning of an answer")
    if model.config.model_type != "marian":
        return config
    pad = model.generation_config.pad_token_id
    if pad != config.vocabulary - 1 or [pad] not in config.banned:
        raise NotConvertible(
            "CTranslate2 takes Marian models only if their last token is a padding token that they never write"
        )
    return replace(config, banned=[banned for banned in config.banned if pad not in banned])


def _convert(model: PreTrainedModel, config: DecodingConfig, folder: Path) -> None:
    """Convert the weights in memory, in float32; the model's folder is not read again."""
    converters: Any = importlib.import_module("ctranslate2.converters")
    names = _TokenNumbers(config, model.generation_config.pad_token_id)

    class Converter(converters.TransformersConverter):  # type: ignore[misc]
        def load_model(self, *_: Any, **__: Any) -> Any:
            return model

        def load_tokenizer(self, *_: Any, **__: Any) -> Any:
            return names

    settings = folder.with_name("settings")
    model.config.save_pretrained(settings)
    with _completed(model.config):
        Converter(str(settings)).convert(str(folder))
    # generate() takes the start token from the generation settings, the converter from elsewhere.
    saved = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if model.config.model_type != "marian":  # which begins with no token at all
        saved["decoder_start_token"] = names.convert_ids_to_tokens(config.start)
    (folder / "config.json").write_text(json.dumps(saved), encoding="utf-8")


@contextmanager
def _completed(config: PretrainedConfig) -> Iterator[None]:
    """Add settings to a configuration, meanwhile, that the converter needs and transformers implies."""
    kind = config.model_type
    implied = {
        "bart": {"normalize_before": False, "normalize_embedding": True},
        "mbart": {"normalize_before": True, "normalize_embedding": True},
        "pegasus": {"normalize_before": True, "normalize_embedding": False},
        # The converter takes this to say whether logits are scaled.
        "t5": {"tie_word_embeddings": getattr(config, "scale_decoder_outputs", config.tie_word_embeddings)},
        "mt5": {"tie_word_embeddings": False},
    }.get(kind, {})
    original = dict(vars(config))
    try:
        vars(config).update(implied)
        yield
    finally:
        vars(config).clear()
        vars(config).update(original)


def _probes(config: DecodingConfig, decoder: Decoder) -> list[dict[str, Any]]:
    """The outputs of PyTorch for random sequences, without those that rounding could change."""
    length = int(min(PROBE_ANSWER_TOKENS, (config.answer_limit or math.inf) - 1))
    probes = []
    for source in decoder.probes([min(tokens, config.source_limit or tokens) for tokens in PROBE_LENGTHS]):
        trace = decoder.trace(source, length)
        if trace.margin >= MIN_MARGIN_NATS and math.isfinite(trace.logprob):
            (free,) = decoder.decode([source], [length])
            answer = {"tokens": list(free.tokens), "ended": free.ended}
            probes.append({"source": source, "forced": trace.tokens, "logprob": trace.logprob, "free": answer})
    return probes
