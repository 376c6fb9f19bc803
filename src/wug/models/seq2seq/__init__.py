"""Encoder–decoder models of Hugging Face, by folder or name on the Hugging Face Hub: `seq2seq:t5-small`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import ModelError
from wug.files import user_path
from wug.models.decoding import outputs
from wug.models.decoding.outputs import Decoded
from wug.models.decoding.teacher_forcing import END, SOURCE, SourceScorer, refuse_unused
from wug.models.huggingface import loading
from wug.models.huggingface.hub import prefetch as prefetch
from wug.models.huggingface.hub import revisions as revisions
from wug.models.huggingface.in_memory import open_loaded as open_in_memory
from wug.models.huggingface.loading import HubModel
from wug.models.seq2seq import conversion, scoring
from wug.models.seq2seq.config import DecodingConfig, HubTokenizer, Seq2SeqTokenizer
from wug.models.seq2seq.conversion import Translator
from wug.models.seq2seq.scoring import SpanScorer
from wug.models.spec import BATCH, BEAMS, MAX_LENGTH, WEIGHTS, Identity, Loading, ModelSpec, signature_options
from wug.models.tokenization.tokens import tokenizer_errors
from wug.models.weights.fingerprints import fingerprint, folder_of
from wug.models.weights.fingerprints import snapshot as snapshot
from wug.options import Option
from wug.requests import Answer, Source
from wug.traits import BackendTraits

if TYPE_CHECKING:
    from wug.models.decoding.generation import Decoder

TRAITS = BackendTraits(
    returns="text",
    on_hub=True,
    architectures=("ForConditionalGeneration", "MTModel", "ForSeq2SeqLM"),
    auto_class="AutoModelForSeq2SeqLM",
    uses_device=True,
    right_context_options={"score": "spans"},
    source_options={"score": "source"},
    windows=True,
    to_score="Open it with score=source",
    to_generate="Open it without score=source",
)
"""With the option score it returns scores."""
ENGINES = ("auto", "ctranslate", "transformers")
OPTIONS = (
    BEAMS,
    MAX_LENGTH,
    Option("prefix", str, "", "text to put before every source, such as 'translate English to German: '"),
    BATCH,
    Option("engine", ENGINES, "auto", "what generates; auto: CTranslate2 on a CPU, if it gives the same outputs"),
    scoring.SCORE,
    SOURCE,
    END,
    *WEIGHTS,
)
TOKENIZER_PROBES = 20
"""Sources with which the tokenizer is checked."""
ACCELERATORS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""Device files of a Linux machine on which PyTorch may find something faster than a CPU."""

log = logging.getLogger("wug")


class TorchModel:
    """The model in transformers, loaded when it is first needed."""

    def __init__(self, spec: ModelSpec, fingerprint: str | None = None) -> None:
        self._spec, self._fingerprint = spec, fingerprint

    @cached_property
    def loaded(self) -> HubModel:
        """The model with its tokenizer."""
        loaded = loading.load(self._spec, "AutoModelForSeq2SeqLM", Loading.of(self._spec.read(OPTIONS)))
        if self._fingerprint not in (None, loaded.fingerprint):
            raise ModelError(f"{self._spec}: its files changed while it was in use. Run the command again")
        return loaded

    @cached_property
    def config(self) -> DecodingConfig:
        """Special tokens and limits."""
        return DecodingConfig.of(self.loaded)

    @cached_property
    def decoder(self) -> Decoder:
        """Decoding with PyTorch."""
        from wug.models.decoding.generation import Decoder

        _ = self.config  # which refuses a model without special tokens, before the decoder changes its settings
        options = self._spec.read(OPTIONS)
        return Decoder(self.loaded.model, beams=options["beams"], batch_tokens=options["batch"])

    def decode(self, sequences: Sequence[Sequence[int]], limits: Sequence[int]) -> list[Decoded]:
        """Decode sequences with PyTorch, each up to its limit of tokens."""
        return self.decoder.decode(sequences, limits)


class Seq2SeqModel:
    """An encoder–decoder that generates answers to sources."""

    bounded = True
    """It stops when an answer is longer than any correct one (`Source`)."""

    def __init__(
        self, name: str, config: DecodingConfig, tokenizer: Seq2SeqTokenizer, decoder: Decoder | Translator,
        spec: ModelSpec, dtype: str,
    ) -> None:  # fmt: skip
        self.id = f"seq2seq/{name}"
        self._config = config
        self.tokenizer, self.decoder = tokenizer, decoder
        self._dropped = set(config.dropped)
        options = spec.read(OPTIONS)
        self._prefix: str = options["prefix"]
        self._max_length: int | None = options["max_length"]
        self._tokenizer_checked = False
        self.options = _signature(options, dtype)
        self.chunk = decoder.chunk

    def generate(self, sources: Sequence[str | Source]) -> list[Answer]:
        """One answer per source, in order; empty for a source that exceeds the model's limit."""
        return outputs.map_distinct(sources, self._generate)

    @tokenizer_errors()
    def _generate(self, sources: list[str | Source]) -> list[Answer]:
        texts = [source if isinstance(source, str) else source.text for source in sources]
        self._check_tokenizer(texts)
        sequences = self.tokenizer.encode([self._prefix + text for text in texts])
        for text, tokens in zip(texts, sequences, strict=True):
            if not tokens:
                raise ModelError(f"{self.id}: its tokenizer makes no tokens of the source {text!r}")
            if max(tokens) >= self._config.vocabulary:
                raise ModelError(
                    f"{self.id}: the tokenizer gives token {max(tokens):,} for the source {text!r}, and the model has "
                    f"{self._config.vocabulary:,}. The tokenizer is probably that of another model"
                )
        limit = self._config.source_limit or sys.maxsize
        max_words = {n: source.max_words for n, source in enumerate(sources) if isinstance(source, Source)}
        fitting = {n: tokens for n, tokens in enumerate(sequences) if len(tokens) <= limit}
        answers = self._decode(fitting, max_words)
        return [answers.get(n) or outputs.source_too_long(limit) for n in range(len(sources))]

    def _decode(self, sources: Mapping[int, list[int]], max_words: Mapping[int, int]) -> dict[int, Answer]:
        """The answers to sources, by their indices.

        How many words a number of tokens makes is known only when they are written. If an answer need not become long,
        it is first decoded with about one token per word, then with four times as many if that was not enough.
        """
        answers: dict[int, Answer] = {}
        longest = {n: self._token_limit(len(tokens)) for n, tokens in sources.items()}
        limits = {
            # The next power of two, so that answers of many lengths share few kinds of batches.
            n: min(longest[n], 1 << (max_words[n] + 2).bit_length()) if n in max_words else longest[n]
            for n in sources
        }
        while limits:
            decoded = self.decoder.decode([sources[n] for n in limits], list(limits.values()))
            retry_limits: dict[int, int] = {}
            for n, output in zip(limits, decoded, strict=True):
                text, known = self.text_of(output.tokens), self._config.unknown not in sources[n]
                if output.ended or limits[n] == longest[n] or len(text.split()) > max_words[n] + 1:
                    answer = outputs.make_answer(text, ended=output.ended, source_known=known, near_tie=output.near_tie)
                    answers[n] = outputs.truncate(answer, max_words.get(n))
                else:
                    retry_limits[n] = min(longest[n], 4 * limits[n])
            limits = retry_limits
        return answers

    def _token_limit(self, source_tokens: int) -> int:
        limit = outputs.token_limit(source_tokens, self._max_length)
        return limit if self._config.answer_limit is None else min(limit, self._config.answer_limit - 1)

    def text_of(self, tokens: Sequence[int]) -> str:
        """The text of tokens, without special tokens."""
        return self.tokenizer.decode([token for token in tokens if token not in self._dropped]).strip()

    def _check_tokenizer(self, sources: Sequence[str]) -> None:
        """Warn, once, if text does not survive the tokenizer: no answer could then be exactly right."""
        if self._tokenizer_checked:
            return
        self._tokenizer_checked = True
        for source in sources[:TOKENIZER_PROBES]:
            tokens = self.tokenizer.encode_answer(source)
            decoded = self.text_of(tokens)
            if self._config.unknown not in tokens and decoded.split() != source.split():
                log.warning("%s: the tokenizer turns %r into %r, so answers may differ too", self.id, source, decoded)
                return


def identify(spec: ModelSpec) -> Identity | None:
    """The model's identity, from its files; None if only loading tells."""
    options = spec.read(OPTIONS)
    refuse_unused(options, scoring.UNUSED)
    folder = folder_of(spec, options)
    if folder is None:
        return None
    if options["score"] != "no":
        return Identity(f"seq2seq/{folder.name}", scoring.signature(options, options["dtype"]), "scores")
    return Identity(f"seq2seq/{folder.name}", _signature(options, options["dtype"]), "text", bounded=True)


def load(spec: ModelSpec) -> Seq2SeqModel | SourceScorer | SpanScorer:
    """Load a model by folder or name on the Hugging Face Hub; with the option score, as a scorer."""
    engine = spec.read(OPTIONS)["engine"]
    model = TorchModel(spec)
    if scorer := _scorer(model, spec):
        return scorer
    if engine != "transformers":
        try:
            return _with_ctranslate2(spec, model)
        except conversion.NotConvertible as error:
            if engine == "ctranslate":
                raise ModelError(f"{spec}: engine=ctranslate is not possible: {error}") from None
            if error.unexpected:
                log.warning("%s runs on PyTorch, which is slower than CTranslate2: %s", spec, error)
    return _with_pytorch(model, spec)


def from_loaded(loaded: HubModel, spec: ModelSpec) -> Seq2SeqModel | SourceScorer | SpanScorer:
    """A model around weights that are in memory, on PyTorch."""
    model = TorchModel(spec)
    model.loaded = loaded
    return _scorer(model, spec) or _with_pytorch(model, spec)


open_loaded = partial(open_in_memory, "seq2seq", from_loaded)


def _scorer(model: TorchModel, spec: ModelSpec) -> SourceScorer | SpanScorer | None:
    options = spec.read(OPTIONS)
    refuse_unused(options, scoring.UNUSED)
    return None if options["score"] == "no" else scoring.make_scorer(model.loaded, model.config, spec, options)


def _with_pytorch(model: TorchModel, spec: ModelSpec) -> Seq2SeqModel:
    loaded = model.loaded
    name, tokenizer = f"{loaded.name}@{loaded.fingerprint}", HubTokenizer(loaded.tokenizer)
    return Seq2SeqModel(name, model.config, tokenizer, model.decoder, spec, loaded.dtype)


def _signature(options: Mapping[str, Any], dtype: str) -> dict[str, str]:
    """The options that change an output; engine, device and batch do so only at near ties, which are counted."""
    return {
        "dtype": dtype,
        "beams": str(options["beams"]),
        "max_length": str(options["max_length"] or "auto"),
        **({"prefix": options["prefix"]} if options["prefix"] else {}),
        **signature_options(options),
    }


def _with_ctranslate2(spec: ModelSpec, model: TorchModel) -> Seq2SeqModel:
    """The model on CTranslate2; NotConvertible if that is not possible."""
    _require_convertible(spec)
    batch = spec.read(OPTIONS)["batch"]
    folder = user_path(spec.name)
    if folder.is_dir() and spec.revision is None and _has_only_cpu(spec):
        digest = fingerprint(folder)
        converted = conversion.find(digest)
        if converted is not None and converted.tokenizer is not None:
            translator = converted.open(TorchModel(spec, digest).decode, batch)
            name = f"{folder.resolve().name}@{digest}"
            return Seq2SeqModel(name, converted.config, converted.tokenizer, translator, spec, "float32")
    loaded = model.loaded
    if loaded.model.device.type != "cpu":
        raise conversion.NotConvertible(f"the model is on {loaded.model.device}, and CTranslate2 is used on a CPU")
    converted = conversion.obtain(loaded, model.config, lambda: model.decoder)
    tokenizer = converted.tokenizer or HubTokenizer(loaded.tokenizer)
    name = f"{loaded.name}@{loaded.fingerprint}"
    return Seq2SeqModel(name, model.config, tokenizer, converted.open(model.decode, batch), spec, "float32")


def _require_convertible(spec: ModelSpec) -> None:
    """NotConvertible if CTranslate2 does not do what the options ask for as transformers does."""
    options = spec.read(OPTIONS)
    if options["beams"] > 1:
        raise conversion.NotConvertible("it is used for greedy search only: leave beams out")
    if options["dtype"] != "float32":
        raise conversion.NotConvertible("it is used in float32 only: leave dtype out")
    if options["quantize"] != "no" or options["adapter"] is not None:
        raise conversion.NotConvertible("it is used for plain models only: leave quantize and adapter out")
    if options["trust_remote_code"]:
        raise conversion.NotConvertible("it does not support models with remote code")
    if not conversion.available():
        raise conversion.NotConvertible("pip install 'wug[ctranslate]'")


def _has_only_cpu(spec: ModelSpec) -> bool:
    """Whether the CPU will be used for certain, without importing PyTorch, which takes seconds."""
    device = spec.read(OPTIONS)["device"]
    has_no_accelerator = sys.platform == "linux" and not any(Path(path).exists() for path in ACCELERATORS)
    return device == "cpu" or (device in (None, "auto") and has_no_accelerator)
