"""Encoder–decoder models of Hugging Face, by folder or hub name: `seq2seq:t5-small`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from wug.errors import ModelError
from wug.files import user_path
from wug.models import _weights
from wug.models._fingerprint import fingerprint, folder_of
from wug.models._given_source import END, SOURCE, SourceScorer
from wug.models._hub import prefetch as prefetch
from wug.models._loading import Loading, signed
from wug.models._options import ADAPTER, BATCH, BEAMS, DEVICE, DTYPE, MAX_LENGTH, QUANTIZE, TRUST
from wug.models._spec import Identity, ModelSpec
from wug.models._tokens import no_panic
from wug.models._weights import Loaded
from wug.models.decoding import outputs
from wug.models.decoding.generation import Decoder
from wug.models.decoding.outputs import Decoded
from wug.models.seq2seq import conversion, scoring
from wug.models.seq2seq.facts import Facts, HubWords, Words
from wug.models.seq2seq.spans import SpanScorer
from wug.models.seq2seq.translator import Translator
from wug.options import Option
from wug.types import Answer, Source, Traits

TRAITS = Traits(
    returns="text",
    on_hub=True,
    architectures=("ForConditionalGeneration", "MTModel", "ForSeq2SeqLM"),
    auto_class="AutoModelForSeq2SeqLM",
    uses_device=True,
    windows=True,
    to_score="Open it with score=source",
    to_generate="Open it without score=source",
)
"""Or scores, with the option score."""
ENGINES = ("auto", "ctranslate", "transformers")
OPTIONS = (
    BEAMS,
    MAX_LENGTH,
    Option("prefix", str, "", "text to put before every source, such as 'translate English to German: '"),
    DTYPE,
    DEVICE,
    BATCH,
    Option("engine", ENGINES, "auto", "what writes; auto: CTranslate2 on a CPU, where it writes the same answers"),
    scoring.SCORE,
    SOURCE,
    END,
    QUANTIZE,
    ADAPTER,
    TRUST,
)
TRIED = 20
"""Sources with which the tokenizer is tried."""
ACCELERATORS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""What a Linux machine has where PyTorch may find something faster than a CPU."""

log = logging.getLogger("wug")


class Plain:
    """The model as transformers has it, loaded when it is first needed."""

    def __init__(self, spec: ModelSpec, expected: str | None = None) -> None:
        self._spec, self._expected = spec, expected

    @cached_property
    def loaded(self) -> Loaded:
        """The model with its tokenizer."""
        found = _weights.load(self._spec, "AutoModelForSeq2SeqLM", Loading.of(self._spec.read(OPTIONS)))
        if self._expected not in (None, found.fingerprint):
            raise ModelError(f"{self._spec}: its files changed while it was in use. Give the command again")
        return found

    @cached_property
    def facts(self) -> Facts:
        """Its marks and limits."""
        return Facts.of(self.loaded)

    @cached_property
    def decoder(self) -> Decoder:
        """The engine of transformers."""
        _ = self.facts  # which refuses a model without marks, and are taken before the decoder changes the settings
        options = self._spec.read(OPTIONS)
        return Decoder(self.loaded.model, beams=options["beams"], batch_tokens=options["batch"])

    def decode(self, sequences: Sequence[Sequence[int]], limits: Sequence[int]) -> list[Decoded]:
        """Decode sequences with PyTorch, each up to its limit of tokens."""
        return self.decoder.decode(sequences, limits)


class Seq2SeqModel:
    """An encoder–decoder that turns sources into answers."""

    bounded = True
    """It stops where a suite says that a right answer cannot be longer (`Source`)."""
    __slots__ = ("_bound", "_decoder", "_dropped", "_facts", "_prefix", "_tried", "_words", "chunk", "id", "options")

    def __init__(
        self, name: str, facts: Facts, words: Words, decoder: Decoder | Translator, spec: ModelSpec, dtype: str
    ) -> None:
        self.id = f"seq2seq/{name}"
        self._facts, self._words, self._decoder = facts, words, decoder
        self._dropped = set(facts.dropped)
        options = spec.read(OPTIONS)
        self._prefix: str = options["prefix"]
        self._bound: int | None = options["max_length"]
        self._tried = False
        self.options = _signed(options, dtype)
        self.chunk = decoder.chunk

    def generate(self, sources: Sequence[str | Source]) -> list[Answer]:
        """One answer for each source, in order; empty for a source that is longer than the model can take."""
        return outputs.map_distinct(sources, self._ask)

    @no_panic()
    def _ask(self, sources: list[str | Source]) -> list[Answer]:
        texts = [source if isinstance(source, str) else source.text for source in sources]
        self._try_tokenizer(texts)
        sequences = self._words.read([self._prefix + text for text in texts])
        for text, tokens in zip(texts, sequences, strict=True):
            if not tokens:
                raise ModelError(f"{self.id}: its tokenizer makes no tokens of the source {text!r}")
            if max(tokens) >= self._facts.vocabulary:
                raise ModelError(
                    f"{self.id}: the tokenizer gives token {max(tokens):,} for the source {text!r}, and the model has "
                    f"{self._facts.vocabulary:,}. The tokenizer is probably that of another model"
                )
        limit = self._facts.source_limit or sys.maxsize
        most = {n: source.most for n, source in enumerate(sources) if isinstance(source, Source)}
        asked = {n: tokens for n, tokens in enumerate(sequences) if len(tokens) <= limit}
        answers = self._written(asked, most)
        return [answers.get(n) or outputs.source_too_long(limit) for n in range(len(sources))]

    def _written(self, asked: Mapping[int, list[int]], most: Mapping[int, int]) -> dict[int, Answer]:
        """The answers to sources by their places.

        How many words so many tokens are is known when they are written: where an answer need not become long, it is
        begun with about a token a word, and once more with four times as many if that was not enough.
        """
        answers: dict[int, Answer] = {}
        longest = {n: self._longest(len(tokens)) for n, tokens in asked.items()}
        bounds = {n: min(longest[n], _power_of_two(most[n] + 3)) if n in most else longest[n] for n in asked}
        while bounds:
            written = self._decoder.decode([asked[n] for n in bounds], list(bounds.values()))
            again: dict[int, int] = {}
            for n, found in zip(bounds, written, strict=True):
                text, known = self._text(found.tokens), self._facts.unknown not in asked[n]
                if found.ended or bounds[n] == longest[n] or len(text.split()) > most[n] + 1:
                    answer = outputs.make_answer(text, ended=found.ended, known=known, near_tie=found.near_tie)
                    answers[n] = outputs.truncate(answer, most.get(n))
                else:
                    again[n] = min(longest[n], 4 * bounds[n])
            bounds = again
        return answers

    def _longest(self, source: int) -> int:
        bound = outputs.token_limit(source, self._bound)
        return bound if self._facts.answer_limit is None else min(bound, self._facts.answer_limit - 1)

    def _text(self, tokens: Sequence[int]) -> str:
        return self._words.write([token for token in tokens if token not in self._dropped]).strip()

    def _try_tokenizer(self, sources: Sequence[str]) -> None:
        """Warn, once, where text does not survive the tokenizer: no answer could then be right to the letter."""
        if self._tried:
            return
        self._tried = True
        for source in sources[:TRIED]:
            tokens = self._words.read_answer(source)
            back = self._text(tokens)
            if self._facts.unknown not in tokens and back.split() != source.split():
                log.warning("%s: the tokenizer gives %r back as %r, so answers may differ too", self.id, source, back)
                return


def identify(spec: ModelSpec) -> Identity | None:
    """What the model will be, told from its files; None where only loading tells."""
    options = spec.read(OPTIONS)
    scoring.refuse_idle(options)
    folder = folder_of(spec, options)
    if folder is None:
        return None
    if options["score"] != "no":
        return Identity(f"seq2seq/{folder.name}", scoring.signed(options, options["dtype"]), "scores")
    return Identity(f"seq2seq/{folder.name}", _signed(options, options["dtype"]), "text", bounded=True)


def load(spec: ModelSpec) -> Seq2SeqModel | SourceScorer | SpanScorer:
    """The model that `spec` names, checked and ready; with the option score, as a scorer."""
    engine = spec.read(OPTIONS)["engine"]
    plain = Plain(spec)
    if _scores(spec):
        return _scoring(plain, spec)
    if engine != "transformers":
        try:
            return _translated(spec, plain)
        except conversion.Unfit as error:
            if engine == "ctranslate":
                raise ModelError(f"{spec}: engine=ctranslate cannot be had: {error}") from None
            if error.unexpected:
                log.warning("%s runs on PyTorch, which is slower than CTranslate2: %s", spec, error)
    return _on_pytorch(plain, spec)


def around(loaded: Loaded, spec: ModelSpec) -> Seq2SeqModel | SourceScorer | SpanScorer:
    """The model around weights that are in memory, on PyTorch."""
    plain = Plain(spec)
    plain.loaded = loaded
    return _scoring(plain, spec) if _scores(spec) else _on_pytorch(plain, spec)


def _scores(spec: ModelSpec) -> bool:
    options = spec.read(OPTIONS)
    scoring.refuse_idle(options)
    return bool(options["score"] != "no")


def _scoring(plain: Plain, spec: ModelSpec) -> SourceScorer | SpanScorer:
    return scoring.scorer(plain.loaded, plain.facts, spec, spec.read(OPTIONS))


def _on_pytorch(plain: Plain, spec: ModelSpec) -> Seq2SeqModel:
    loaded = plain.loaded
    name, dtype = f"{loaded.name}@{loaded.fingerprint}", str(loaded.model.dtype).removeprefix("torch.")
    return Seq2SeqModel(name, plain.facts, HubWords(loaded.tokenizer), plain.decoder, spec, dtype)


def _signed(options: Mapping[str, Any], dtype: str) -> dict[str, str]:
    """The options that change an answer.

    Engine, device and batch are not among them: they change an answer only at a near tie, which is counted.
    """
    return {
        "dtype": dtype,
        "beams": str(options["beams"]),
        "max_length": str(options["max_length"] or "auto"),
        **({"prefix": options["prefix"]} if options["prefix"] else {}),
        **signed(options),
    }


def _power_of_two(least: int) -> int:
    """The next one, so that answers of many lengths are written in few kinds of batches."""
    return 1 << (least - 1).bit_length()


def _translated(spec: ModelSpec, plain: Plain) -> Seq2SeqModel:
    """The model on CTranslate2; conversion.Unfit where that cannot be."""
    _require_fit(spec)
    batch = spec.read(OPTIONS)["batch"]
    folder = user_path(spec.name)
    if folder.is_dir() and spec.revision is None and _has_only_cpu(spec):
        mark = fingerprint(folder)
        found = conversion.find(mark)
        if found is not None and found.words is not None:
            translator = found.opened(Plain(spec, mark).decode, batch)
            name = f"{folder.resolve().name}@{mark}"
            return Seq2SeqModel(name, found.facts, found.words, translator, spec, "float32")
    loaded = plain.loaded
    if loaded.model.device.type != "cpu":
        raise conversion.Unfit(f"the model is on {loaded.model.device}, and CTranslate2 is used on a CPU")
    found = conversion.obtain(loaded, plain.facts, lambda: plain.decoder)
    words = found.words or HubWords(loaded.tokenizer)
    name = f"{loaded.name}@{loaded.fingerprint}"
    return Seq2SeqModel(name, plain.facts, words, found.opened(plain.decode, batch), spec, "float32")


def _require_fit(spec: ModelSpec) -> None:
    """Unfit where the options ask for what CTranslate2 does not do as transformers does."""
    options = spec.read(OPTIONS)
    if options["beams"] > 1:
        raise conversion.Unfit("it is used for greedy search alone: leave beams out")
    if options["dtype"] != "float32":
        raise conversion.Unfit("it is used in float32 alone: leave dtype out")
    if options["quantize"] != "no" or options["adapter"] is not None:
        raise conversion.Unfit("it is used for models as they are: leave quantize and adapter out")
    if options["trust_remote_code"]:
        raise conversion.Unfit("it does not know models that bring code along")
    if not conversion.available():
        raise conversion.Unfit("pip install 'wug[ctranslate]'")


def _has_only_cpu(spec: ModelSpec) -> bool:
    """Whether the CPU will be used for certain, told without PyTorch, which takes seconds to start."""
    wanted = spec.read(OPTIONS)["device"]
    none = sys.platform == "linux" and not any(Path(device).exists() for device in ACCELERATORS)
    return wanted == "cpu" or (wanted in (None, "auto") and none)
