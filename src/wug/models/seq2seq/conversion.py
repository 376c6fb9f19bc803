"""Encoder–decoders of transformers in CTranslate2's format, with all that is needed to run and to check them.

Beside the weights stand the facts about the model, its tokenizer where that can be used without transformers, and
what the plain way makes of some probes. Whenever the conversion is loaded it is asked the same probes, so that it is
checked on each machine without the seconds that PyTorch needs to start.
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
from typing import Any

from wug.errors import ModelError, first_line
from wug.files import checksum
from wug.models._weights import Loaded
from wug.models.decoding import conversion_cache
from wug.models.decoding.generation import Decoder
from wug.models.decoding.outputs import Decoded
from wug.models.seq2seq.facts import Facts, SavedWords
from wug.models.seq2seq.translator import Fallback, Translator, tokens

FORM = "2"
"""Of the conversions; raised when they are made differently."""
PROBES = (1, 3, 7, 12, 20, 40)
"""Lengths of the probes, in tokens."""
WRITTEN = 24
"""Tokens that are written for each probe."""
GAP = 5e-3
"""Nats by which the log-probabilities of so many tokens may differ: a few units of float32 for each."""
CLEAR = 1e-3
"""Nats between the two best tokens above which no rounding chooses: only such probes tell anything."""
PAD = "<pad>"
FAULTS = (ValueError, KeyError, AttributeError, TypeError, NotImplementedError, IndexError, RuntimeError)


class Unfit(ModelError):
    """A model that CTranslate2 does not run, or not as transformers does; `unexpected` where it should."""

    def __init__(self, message: str, *, unexpected: bool = False) -> None:
        super().__init__(message)
        self.unexpected = unexpected


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted model in its folder."""

    folder: Path
    facts: Facts
    words: SavedWords | None
    probes: Sequence[Mapping[str, Any]]

    def opened(self, fallback: Fallback, batch_tokens: int | None = None) -> Translator:
        """The model, ready to decode; refused if its answers to the probes are not those of transformers."""
        try:
            translator = Translator(self.folder, self.facts, fallback, batch_tokens=batch_tokens)
        except (RuntimeError, ValueError) as error:
            raise Unfit(f"it cannot be loaded: {first_line(error)}", unexpected=True) from error
        if fault := self._fault(translator):
            raise Unfit(fault, unexpected=True)
        return translator

    def _fault(self, translator: Translator) -> str | None:
        sources = [probe["source"] for probe in self.probes]
        if not sources:
            return "no probe tells what it should write"
        most = len(self.probes[0]["forced"])
        for probe, result in zip(self.probes, translator.translate(sources, most, most), strict=True):
            gap = abs(result.scores[0] - probe["logprob"])
            translator.near_tie_nats = max(translator.near_tie_nats, 10 * gap)
            if tokens(result) != probe["forced"] or not gap < GAP:
                return f"its answer to a probe is not the plain one (log-probability {gap:.2g} nats apart)"
        for probe, written in zip(self.probes, translator.decode(sources, [most] * len(sources)), strict=True):
            free = Decoded(tuple(probe["free"]["tokens"]), probe["free"]["ended"])
            if not written.near_tie and written != free:
                return "its answer to a probe ends elsewhere than the plain one"
        return None


def find(fingerprint: str) -> Conversion | None:
    """The conversion of a model that was made before; None where there is none, or a damaged one."""
    folder = conversion_cache.find(_name(fingerprint))
    return None if folder is None else _read(folder)


def obtain(loaded: Loaded, facts: Facts, decoder: Callable[[], Decoder]) -> Conversion:
    """The conversion of a model, made now where it was not before; Unfit where CTranslate2 cannot take it."""
    facts = _without_pad(facts, loaded.model)

    def make(folder: Path) -> None:
        try:
            _convert(loaded.model, facts, folder)
        except FAULTS as error:
            raise Unfit(f"it is not converted: {first_line(error)}") from error
        about = {"facts": asdict(facts), "probes": _probes(facts, decoder())}
        (folder / "wug.json").write_text(json.dumps(about), encoding="utf-8")
        if words := SavedWords.of(loaded.tokenizer):
            words.backend.save(str(folder / "tokenizer.json"))

    try:
        return _read(conversion_cache.obtain(_name(loaded.fingerprint), make))
    except Unfit:
        raise
    except ModelError as error:
        raise Unfit(str(error), unexpected=True) from None


def available() -> bool:
    """Whether CTranslate2 is installed."""
    try:
        importlib.import_module("ctranslate2")
    except ImportError:
        return False
    return True


def _name(fingerprint: str) -> str:
    """Of its folder: the model, and the programs on which the conversion and the plain answers depend."""
    versions = []
    for package in ("ctranslate2", "transformers", "tokenizers"):
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(package)
    return f"{fingerprint}-{checksum(FORM, *versions)}"


def _read(folder: Path) -> Conversion:
    about = json.loads((folder / "wug.json").read_text(encoding="utf-8"))
    words = None
    if (saved := folder / "tokenizer.json").is_file():
        from tokenizers import Tokenizer

        words = SavedWords(Tokenizer.from_file(str(saved)))
    return Conversion(folder, Facts(**about["facts"]), words, about["probes"])


class _Numbers:
    """Stands in for a tokenizer: CTranslate2 is to know tokens by their numbers, whatever text they are.

    Two tokens may have the same text, and numbers may be left out in a vocabulary; so a real one could shift them.
    """

    special_tokens_map: Mapping[str, Any] = {}
    num_madeup_words = 0

    def __init__(self, facts: Facts, pad: int | None) -> None:
        self._names = [str(number) for number in range(facts.vocabulary)]
        if pad == facts.vocabulary - 1:
            self._names[pad] = PAD  # as Marian models have it, whose converter takes it out by this name
        self.bos_token = self.pad_token = self._names[facts.start]
        self.eos_token = self._names[facts.ends[0]]
        self.unk_token = self.eos_token if facts.unknown is None else self._names[facts.unknown]

    def get_vocab(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._names)}

    def convert_ids_to_tokens(self, number: int) -> str:
        return self._names[number]


def _without_pad(facts: Facts, model: Any) -> Facts:
    """The facts as far as CTranslate2 can heed them; of Marian models it leaves out the last token, the pad mark."""
    if facts.begins:
        raise Unfit("CTranslate2 has no way to keep tokens from the beginning of an answer")
    if model.config.model_type != "marian":
        return facts
    pad = model.generation_config.pad_token_id
    if pad != facts.vocabulary - 1 or [pad] not in facts.banned:
        raise Unfit("CTranslate2 takes Marian models only if their last token is a pad mark that they never write")
    return replace(facts, banned=[banned for banned in facts.banned if pad not in banned])


def _convert(model: Any, facts: Facts, folder: Path) -> None:
    """Write the weights that are in memory, in float32; what the folder of the model has is not read again."""
    converters: Any = importlib.import_module("ctranslate2.converters")
    names = _Numbers(facts, model.generation_config.pad_token_id)

    class Loaded(converters.TransformersConverter):  # type: ignore[misc]
        def load_model(self, *_: Any, **__: Any) -> Any:
            return model

        def load_tokenizer(self, *_: Any, **__: Any) -> Any:
            return names

    settings = folder.with_name("settings")
    model.config.save_pretrained(settings)
    with _explained(model.config):
        Loaded(str(settings)).convert(str(folder))
    # What generate() takes from the generation settings the converter takes from elsewhere.
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if model.config.model_type != "marian":  # which begins with no token at all
        config["decoder_start_token"] = names.convert_ids_to_tokens(facts.start)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


@contextmanager
def _explained(config: Any) -> Iterator[None]:
    """A configuration that also says, while it is converted, what transformers knows without being told.

    The converter reads these from the file; transformers computes the same whether they are there or not.
    """
    kind = config.model_type
    told = {
        "bart": {"normalize_before": False, "normalize_embedding": True},
        "mbart": {"normalize_before": True, "normalize_embedding": True},
        "pegasus": {"normalize_before": True, "normalize_embedding": False},
        # To the converter this says whether logits are scaled, to transformers something else.
        "t5": {"tie_word_embeddings": getattr(config, "scale_decoder_outputs", config.tie_word_embeddings)},
        "mt5": {"tie_word_embeddings": False},
    }.get(kind, {})
    before = dict(vars(config))
    try:
        vars(config).update(told)
        yield
    finally:
        vars(config).clear()
        vars(config).update(before)


def _probes(facts: Facts, decoder: Decoder) -> list[dict[str, Any]]:
    """What the plain way writes for sequences of random tokens; without those that rounding could decide."""
    most = min(WRITTEN, (facts.answer_limit or math.inf) - 1)
    found = []
    for source in decoder.probes([min(length, facts.source_limit or length) for length in PROBES]):
        trace = decoder.trace(source, int(most))
        if trace.margin >= CLEAR and math.isfinite(trace.logprob):
            (free,) = decoder.decode([source], [int(most)])
            answer = {"tokens": list(free.tokens), "ended": free.ended}
            found.append({"source": source, "forced": trace.tokens, "logprob": trace.logprob, "free": answer})
    return found
