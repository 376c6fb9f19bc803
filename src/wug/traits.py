"""What families and backends declare about themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Returns: TypeAlias = Literal["scores", "text"]
"""What a model returns, and what a suite needs: log-probabilities of tokens, or generated text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendTraits:
    """What the program needs to know about a backend before it opens one of its models (`TRAITS` of its module)."""

    returns: Returns = "scores"
    """What its models return by default; options such as `score` or `mode` may change it."""
    verbatim_names: bool = False
    """Model names may contain any character: `?` and `@` start neither options nor a revision."""
    on_hub: bool = False
    """Names may refer to the Hugging Face Hub, with `@revision`."""
    architectures: tuple[str, ...] = ()
    """Endings of the architecture names in `config.json` that identify a folder as a model of this backend."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of single files that are models of this backend."""
    shows_backend: bool = False
    """Short names keep the backend, because they would be ambiguous without it: `oracle:pcfgset` is not a suite."""
    aliases: tuple[str, ...] = ()
    """Prefixes of bare names that belong to this backend, such as `bert_`."""
    auto_class: str | None = None
    """The class of transformers that loads its models; if set, models that the user has loaded are accepted."""
    uses_device: bool = False
    """Runs on a GPU if there is one, with the options `device` and `dtype`."""
    shares_device: bool = False
    """Several models can share a GPU, one process each."""
    sees_right_context: bool = False
    """Words to the right of a token change its probability."""
    right_context_options: Mapping[str, str] = field(default_factory=dict)
    """The options with which they do, if they do not always."""
    source_options: Mapping[str, str] = field(default_factory=dict)
    """The options with which it scores a text as the output for its source."""
    wraps_functions: bool = False
    """Its module has `wrap(function, name, version, returns)`, which `wug.open_model` calls for a Python function."""
    prompts: str = ""
    """The backend of the models that it prompts, whose name may precede theirs: `prompt:causal:gpt2`."""
    windows: bool = False
    """Texts longer than the context window are read in windows (`TextScoring`)."""
    remote: bool = False
    """Its models run on a server, which others may manage."""
    to_score: str = ""
    """How to make a model that generates text score it: one sentence for the error message."""
    to_generate: str = ""
    """How to make a model that scores text generate it: one sentence for the error message."""


@dataclass(frozen=True, slots=True)
class ScoringProtocol:
    """The conventions by which another program or community computes a number, as options of suites and models."""

    meaning: str
    suite_options: Mapping[str, str] = field(default_factory=dict)
    """For the families that have them; a family without the first of them cannot follow the protocol."""
    model_options: Mapping[str, str] = field(default_factory=dict)
    """For the backends that have them; a backend that has none of them cannot follow the protocol."""
    signature_fields: Mapping[str, str] = field(default_factory=dict)
    """Further fields of the signature."""


@dataclass(frozen=True, slots=True)
class FamilyTraits:
    """What the program needs to know about a family of suites (`TRAITS` of its package)."""

    builtin_model: str | None = None
    """The built-in model for its suites if the user names none."""
    breakdown: tuple[str, ...] = ()
    """Group fields by which tables break results down, the first that a result has."""
    summary: str | None = None
    """The metric that summarises the others; by default the headline."""
    across_suites: str | None = None
    """The group field whose means over suites end the summary of many results."""
    chance_levels: Mapping[str, float | str] = field(default_factory=dict)
    """The chance level of metrics, or the name of the metric that has it; charts draw it."""
    phenomena: Mapping[str, str] = field(default_factory=dict)
    """The phenomenon of groups, by patterns of their names, so that models can be ranked across families."""
    metric_label: Callable[[str], str] | None = None
    """The name that people see for a metric, if it is not the metric's own; underscores become spaces."""
    protocols: Mapping[str, ScoringProtocol] = field(default_factory=dict)
    """Protocols by which the family reads and scores files (`--protocol`)."""
    identifying_options: tuple[str, ...] = ()
    """Options that only this family has: with them it reads a file that no family recognises."""
    compared_options: tuple[str, ...] = ()
    """Options in which runs are meant to differ: comparisons do not warn about them."""
    fallback_suffixes: tuple[str, ...] = ()
    """Suffixes of files that it reads if no family recognises their content, so that its reader says what they lack."""
    leading_suffix: str | None = None
    """In a folder, the other files of the same name are read with the file that has this suffix."""
    column_hint: str = ""
    """What to write so that a table with unknown columns is read, for the error message."""
    text_hint: str = ""
    """What to write so that an unknown text file is read, for the error message."""
    one_suite_per_set: bool = False
    """All files of a published set make one suite."""
    reads_folders: bool = False
    """With `--kind`, it reads a folder as a whole."""
    sample_options: int | None = None
    """Imported choices with this many options belong to it (0: any number); None if none do."""
    oracle_symbols: tuple[str, ...] = ()
    """Symbols of wrong outputs of the backend `oracle`; without any, it makes no errors."""
