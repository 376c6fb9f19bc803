"""From what a user writes to a model or to suites: paths, built-in names, kinds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from wug import data, registry
from wug.errors import InputError, ModelError, UnknownName, suggestion
from wug.files import existing, head, require_text, shortened, user_path
from wug.models._spec import ModelSpec, parse
from wug.types import Answer, Generator, Problem, Request, Scored, Scorer, Suite

SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".tab", ".txt", ".src", ".gz")
"""What a file with material is called; the rest of a folder is passed over."""
ARCHITECTURES = {
    "ForCausalLM": "causal",
    "LMHeadModel": "causal",
    "ForMaskedLM": "masked",
    "ForConditionalGeneration": "seq2seq",
    "MTModel": "seq2seq",
    "ForSeq2SeqLM": "seq2seq",
    "WordLSTM": "lstm",
    "AttentionLSTM": "attention_lstm",
}
"""How the names of architectures end, and the kinds of model that they are."""

BUILTIN_MODELS = {"syntaxgym": "wug-causal", "pairs": "wug-causal", "pcfgset": "wug-pcfg", "cogs": "wug-cogs"}
"""Who is asked where the user names no model, by the family of the suite."""


@dataclass(frozen=True, slots=True)
class OpenedScorer:
    """A scorer, and how the user asked for it."""

    model: Scorer
    given: Mapping[str, str]
    """The options that the user gave: answers are kept under all of them, also those said to change nothing."""

    @property
    def id(self) -> str:
        """Kind, name and fingerprint."""
        return self.model.id

    @property
    def options(self) -> Mapping[str, str]:
        """Every option that changes an answer."""
        return self.model.options

    @property
    def chunk(self) -> int:
        """How many requests it likes at a time."""
        return self.model.chunk

    @property
    def ordered(self) -> bool:
        """Whether an answer depends on the requests before it."""
        return self.model.ordered

    def score(self, requests: Sequence[Request]) -> list[Scored]:
        """One answer for each request, in order."""
        return self.model.score(requests)


@dataclass(frozen=True, slots=True)
class OpenedGenerator:
    """A generator, and how the user asked for it."""

    model: Generator
    given: Mapping[str, str]
    """The options that the user gave."""

    @property
    def id(self) -> str:
        """Kind, name and fingerprint."""
        return self.model.id

    @property
    def options(self) -> Mapping[str, str]:
        """Every option that changes an answer."""
        return self.model.options

    @property
    def chunk(self) -> int:
        """How many sources it likes at a time."""
        return self.model.chunk

    def generate(self, sources: Sequence[str]) -> Sequence[Answer | str]:
        """One answer for each source, in order."""
        return self.model.generate(sources)


def assets() -> Path:
    """The folder of built-in material."""
    return Path(str(files("wug") / "assets"))


def builtin_suites() -> dict[str, Path]:
    """Built-in suites by name, each a file or a folder within that of its family."""
    within = sorted((assets() / "suites").glob("*/*"))
    return {path.name.partition(".")[0]: path for path in within if path.is_dir() or path.suffix in SUFFIXES}


def builtin_models() -> dict[str, Path]:
    """The folders of built-in models by name."""
    return {path.parent.name: path.parent for path in sorted((assets() / "models").glob("*/config.json"))}


def builtin_model_for(suite: Suite) -> str:
    """The built-in model that fits a suite, or an error where the suite is of a family that has none."""
    name = BUILTIN_MODELS.get(suite.kind)
    if name not in builtin_models():
        raise InputError(f"no built-in model fits the suite {suite.name}: name one with --model, such as causal:gpt2")
    return name


def open_suites(text: str, options: Mapping[str, str] | None = None, kind: str | None = None) -> list[Suite]:
    """The suites of a file, a folder, or a built-in name (a family's name gives all of its) or one of the catalogue."""
    suites: list[Suite] = []
    for path in locate(text, kind):
        family = family_of(path, kind)
        module = registry.find("families", family)
        known: Mapping[str, str] = module.OPTIONS
        suites += module.read(path, {key: value for key, value in (options or {}).items() if key in known})
    return suites


def require_packages(suites: Iterable[Suite]) -> None:
    """MissingExtra where judging will need a package that is not there: better now than after the model was asked."""
    for family in dict.fromkeys(suite.kind for suite in suites):
        module = registry.find("families", family)
        if "require_packages" in vars(module):
            module.require_packages()


def check_options(options: Mapping[str, str], families: set[str]) -> None:
    """Refuse a scoring option that none of the families knows."""
    known = {key for family in families for key in registry.find("families", family).OPTIONS}
    for key in options:
        if key not in known:
            raise UnknownName(f"option of {', '.join(sorted(families))} suites", key, known)


def locate(text: str, kind: str | None = None) -> list[Path]:
    """The files or folders that a user's word for a suite stands for."""
    path = user_path(text)
    if path.exists():
        return _within(path, kind)
    builtin = builtin_suites()
    if text in builtin:
        return [builtin[text]]
    if family := [found for found in builtin.values() if found.parent.name == text]:
        return family
    if (published := data.suite_paths(text)) is not None:
        return [file for place in published for file in _within(place, kind)]
    if "/" in text or path.suffix in SUFFIXES:
        near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"no such file or folder.{suggestion(path.name, near) if near else ''}", file=text)
    raise UnknownName("suite", shortened(text), [*builtin, *registry.names("families"), *data.names()])


def family_of(path: Path, kind: str | None = None) -> str:
    """The family that a file or folder belongs to, by its content."""
    if kind is not None:
        registry.find("families", kind)
        return kind
    start = head(path)
    for name, family in registry.usable("families"):
        if family.recognises(path, start):
            return name
    require_text(path)
    kinds = ", ".join(registry.names("families"))
    empty = path.is_file() and path.stat().st_size == 0
    what = "the file is empty" if empty else f"its content is of no family that wug knows ({kinds})"
    remedy = "A table with columns of its own: --kind pairs -S good=COLUMN -S bad=COLUMN"
    raise InputError(what if empty else f"{what}. {remedy}", file=path)


def check_file(path: Path, kind: str | None = None) -> list[Problem]:
    """Every fault and oddity of a file."""
    problems: list[Problem] = registry.find("families", family_of(path, kind)).check(path)
    return problems


def open_model(text: str, options: Mapping[str, str] | None = None) -> OpenedScorer | OpenedGenerator:
    """The model that a user names, loaded."""
    spec = model_spec(text, options)
    return opened(registry.find("models", spec.kind).load(spec), spec.options)


def opened(model: Any, given: Mapping[str, str]) -> OpenedScorer | OpenedGenerator:
    """A model with the options that the user gave for it."""
    if callable(getattr(model, "score", None)):
        return OpenedScorer(model, given)
    return OpenedGenerator(model, given)


def model_spec(text: str, options: Mapping[str, str] | None = None) -> ModelSpec:
    """A model's name taken apart; the kind of a bare folder or .pt file is told by what it is."""
    kinds = registry.names("models")
    name, mark, given = text.partition("?")
    if name in (builtin := builtin_models()) and not existing(name):
        text = f"{builtin[name]}{mark}{given}"
    elif name.startswith("wug-") and not existing(name):
        raise UnknownName("built-in model", name, builtin)
    path = existing(text.partition("?")[0])
    if path and (path / "config.json").is_file():
        text = f"{_kind_of(path)}:{text}"
    elif path and path.is_file() and path.suffix == ".pt":
        text = f"lstm:{text}"
    elif text.startswith("bert_"):  # as evaluate_lm.py spells BERT models
        text = f"masked:{text}"
    return parse(text, kinds, options)


def _kind_of(folder: Path) -> str:
    try:
        config: Any = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{folder / 'config.json'}: cannot be read: {error}") from None
    named = config.get("architectures") if isinstance(config, dict) else None
    for architecture in named if isinstance(named, list) else ():
        for ending, kind in ARCHITECTURES.items():
            if isinstance(architecture, str) and architecture.endswith(ending):
                return kind
    raise ModelError(f"{folder}: its config.json does not say what kind of model it is. Write causal:{folder}")


def _within(path: Path, kind: str | None) -> list[Path]:
    """A file; a folder that a family takes whole; or the files of a folder."""
    if not path.is_dir():
        return [path]
    families = [registry.find("families", kind)] if kind else [module for _, module in registry.usable("families")]
    if any(family.recognises(path, "") for family in families):
        return [path]
    found = [file for file in sorted(path.iterdir()) if file.is_file() and file.suffix in SUFFIXES]
    if not found:
        raise InputError("the folder has no suite in it", file=path)
    return found
