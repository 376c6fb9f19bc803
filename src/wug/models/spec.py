"""How a model is named, `kind:name@revision?key=value&key=value`, and options that backends share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

from wug import registry
from wug.errors import InputError, UnknownName
from wug.files import existing, shortened, user_path
from wug.options import Option, read


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as the user named it."""

    backend: str
    name: str
    revision: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    alias: str | None = field(default=None, compare=False)
    """The name of a built-in model in messages, in place of its folder: `wug-causal`."""

    def __str__(self) -> str:
        return self.alias or f"{self.backend}:{self.name}" + (f"@{self.revision}" if self.revision else "")

    @property
    def shown_name(self) -> str:
        """The name without the backend."""
        return self.name if self.alias is None else self.alias.rpartition(":")[2]

    def read(self, declared: Iterable[Option]) -> dict[str, Any]:
        """The values of all options of the backend; an error for an unknown one."""
        return read(declared, self.options, f"{self.backend} models")


@dataclass(frozen=True, slots=True)
class Identity:
    """What a backend's `identify(spec)` returns: the identity that the model will have when it is loaded."""

    id: str
    options: Mapping[str, str]
    """Every option that changes an output, for the signature and the cache key."""
    returns: Literal["scores", "text"]
    bounded: bool = False
    """Whether a generator may stop when an answer is longer than any correct one (`Source`)."""
    training_context: str | None = None
    """`sentence` for a model trained on single sentences, by the field of config.json."""


def parse(text: str, backends: list[str], options: Mapping[str, str] | None = None) -> ModelSpec:
    """Parse a model's name; `options` (of -M) override those in the name."""
    backend, colon, rest = text.partition(":")
    if not colon or not rest or backend not in backends:
        if colon and rest and backend.isidentifier():
            raise UnknownName("kind of model", backend, backends)
        if not text.strip() or backend in backends:
            raise InputError(f"model {text!r} has no name. Write it as kind:name, such as causal:gpt2")
        raise InputError(
            f"model {shortened(text)!r} has no kind. Write it as kind:name, such as causal:{shortened(text)}; "
            f"kinds: {', '.join(backends)}"
        )
    traits = registry.traits(backend)
    verbatim = traits.verbatim_names
    name, _, query = (rest, "", "") if verbatim else rest.partition("?")
    revision = ""
    if not verbatim and ("\0" in name or name.startswith("~")):
        user_path(name)  # which says what is wrong with it
    if traits.on_hub and not existing(name):
        name, _, revision = name.rpartition("@") if "@" in name else (name, "", "")
    pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=False)
    name_options = dict(pairs)
    if len(name_options) < len(pairs):
        duplicate = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise InputError(f"model {shortened(text)!r}: {duplicate} is given twice")
    return ModelSpec(backend, name, revision or None, {**name_options, **(options or {})})


DTYPES = ("float32", "bfloat16", "float16", "auto")
FLOATS = ("float32", "float64", "bfloat16", "float16")
"""The dtypes of the networks that wug defines."""

DTYPE = Option("dtype", DTYPES, "float32", "dtype of weights and arithmetic; auto: as stored")
DEVICE = Option("device", str, None, "cpu, cuda, cuda:1, mps; default: the best available")
TRUST = Option("trust_remote_code", bool, False, "run the model's own code")
QUANTIZE = Option(
    "quantize", ("no", "int8", "int4"), "no", "quantize the weights of its layers to 8 bits, or to 4 (NF4)"
)
ADAPTER = Option("adapter", Path, None, "the folder of an adapter (peft) for the model")
WEIGHTS = (DTYPE, DEVICE, QUANTIZE, ADAPTER, TRUST)
"""How the weights of a model of Hugging Face are loaded."""
DEVICE_MAP = Option("device_map", ("no", "auto"), "no", "auto: layers on all GPUs, the rest in memory or on disk")
GGUF = Option("gguf", str, None, "the GGUF file in the folder to load; causal:FILE.gguf is the same")
NODES = Option("nodes", int, None, "tokens computed at a time; default: what memory allows", least=1)
EOS = Option("eos", bool, False, "also score the end token after a text")
BEAMS = Option("beams", int, 1, "beam size; 1 is greedy", least=1)
MAX_LENGTH = Option(
    "max_length",
    int,
    None,
    "maximum number of tokens of an output; default: 8 times those of its source, from 128 to 1024",
    least=1,
)
BATCH = Option(
    "batch", int, None, "tokens computed at a time, including room for outputs; default: depends on the device", least=1
)
TEMPLATE = Option(
    "template", str, "{source} ->", r"the prompt, with {source} and perhaps {answer} in it; \n is a line break"
)
EXAMPLES = Option("examples", Path, None, "a file of examples for every prompt, one source<TAB>output per line")
STOP = Option("stop", str, r"\n", "what ends an output, besides the model's end token")

FORMATS = {"int8": "int8", "int4": "nf4"}
"""Names of quantized dtypes in signatures: other programs have other formats of 4 bits."""


@dataclass(frozen=True, slots=True)
class Loading:
    """How the weights of a model are loaded."""

    dtype: str = "float32"
    device: str | None = None
    trust_remote_code: bool = False
    quantize: str = "no"
    adapter: Path | None = None
    device_map: str = "no"
    gguf: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Loading:
        """The loading options of a backend; those that it does not have keep their defaults."""
        loading = cls(**{name: options[name] for name in cls.__slots__ if name in options})
        if loading.device_map != "no" and loading.device not in (None, "auto"):
            raise InputError(
                f"device={loading.device}, device_map={loading.device_map}: a model is on one device or on several. "
                "Leave one of the two out"
            )
        return loading


def signature_options(options: Mapping[str, Any]) -> dict[str, str]:
    """The loading options that change an output, besides the dtype; placement on devices does not."""
    signature: dict[str, str] = {}
    if options.get("quantize", "no") != "no":
        signature["quantize"] = FORMATS[options["quantize"]]
    if options.get("adapter") is not None:
        signature["adapter"] = options["adapter"].resolve().name
    return signature
