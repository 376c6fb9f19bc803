"""Shared types: requests, outputs, outcomes, results."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

from wug.errors import InputError, ModelError
from wug.identity import OVERALL

Returns: TypeAlias = Literal["scores", "text"]
"""What a model returns, and what a suite needs: log-probabilities of tokens, or generated text."""

LN2 = math.log(2)
WHOLE_TEXT = ("<text>",)
"""`Scored.pieces` of a text that has one log-probability as a whole, and none for its tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
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
    shows_kind: bool = False
    """Short names keep the kind, because they would be ambiguous without it: `oracle:pcfgset` is not a suite."""
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
    wraps_functions: bool = False
    """Its module has `wrap(function, name, version, returns)`, which `wug.open_model` calls for a Python function."""
    prompts: str = ""
    """The backend of the models that it prompts, whose name may precede theirs: `prompt:causal:gpt2`."""
    windows: bool = False
    """Texts longer than the context window are read in windows (`Reading`)."""
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
    oracle_symbols: tuple[str, ...] = tuple(f"{letter}{number}" for letter in "ABCDE" for number in range(1, 4))
    """Symbols of wrong outputs of the backend `oracle`."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A position in a running text, for a model that carries its state between texts."""

    number: int
    """Consecutive requests with the same number are alternatives: each starts from the same state."""
    line: str | None = None
    """The suite's text at this position, from which the state continues; None if the suite has no text."""
    before: tuple[str, ...] = ()
    """Lines of that text between the previous turn and this one."""


@dataclass(frozen=True, slots=True)
class TextReading:
    """How a running text is read, and which columns are computed in addition to log-probabilities.

    A backend that cannot compute a column leaves it out.
    """

    distribution: bool = False
    """Whether to compute the entropy of each token's distribution, and the token's rank in it."""
    boundary: bool = False
    """Whether to compute also log-probabilities in which the end of each word counts with that word."""
    window: int | None = None
    """Tokens per window, for texts longer than that; None for the model's context."""
    stride: int | None = None
    """Stride in tokens; None for half a window."""
    window_bos: bool = True
    """Whether every window begins with a BOS token, or only the first."""

    @property
    def has_windows(self) -> bool:
        """Whether any window setting differs from its default."""
        return self.window is not None or self.stride is not None or not self.window_bos


Messages: TypeAlias = Sequence[tuple[str, str]]
"""The turns of a chat: role (`system`, `user`, `assistant`) and text."""


@dataclass(frozen=True, slots=True)
class Chat:
    """What a model reads before a text: the turns of a chat, as its chat template renders them, or a plain text."""

    messages: tuple[tuple[str, str], ...]
    """Role (`system`, `user`, `assistant`) and text of each turn."""
    template: str | None = None
    """A template (Jinja) in place of the tokenizer's own."""
    plain: bool = False
    """Whether the messages are read as plain text, one after the other, without a template."""
    answers: bool = False
    """Whether the text follows the generation prompt, as an answer does, or is in an open assistant turn."""
    wrapper: str = ""
    """The checksum of what the template puts around texts, so that outputs are cached by it."""


@dataclass(frozen=True, slots=True)
class ChatWrapper:
    """What a chat template puts around texts."""

    checksum: str = ""
    notices: tuple[str, ...] = ()
    """What the reader of a result should know about the template."""


class ChatFormat(Protocol):
    """How a model reads something before a text, known before its weights are loaded."""

    def has_template(self, template: str | None) -> bool:
        """Whether it can render a chat, with the given template or its own."""

    def refuses_system(self, template: str | None) -> str | None:
        """Why system turns cannot be rendered; None if they can."""

    def wrapper(self, chat: Chat) -> ChatWrapper:
        """What surrounds the texts of a chat like this one; ModelError if it cannot be rendered."""

    def check(self, requests: Sequence[Request]) -> None:
        """Refuse requests that the template would change, with a ModelError."""


@dataclass(frozen=True, slots=True)
class Request:
    """A text whose tokens a scorer assigns log-probabilities to, or only those in the characters `span`.

    Examples:
        >>> request = wug.Request("The keys are here.", span=(9, 12))
        >>> wug.open_model("wug-causal").score(request).surprisal(9, 12) > 0
        True
    """

    text: str
    span: tuple[int, int] | None = None
    """Only the log-probabilities of these characters are needed; a masked model masks just them."""
    turn: Turn | None = field(default=None, compare=False)
    """Its position in a running text; ignored, and not part of equality, unless the model carries a state."""
    reading: TextReading | None = None
    """Further columns and windows; without it, a text longer than the model's context is refused."""
    source: str | None = None
    """The source for an encoder–decoder that scores outputs (`score=source`); None for that of its options."""
    chat: Chat | Messages | None = None
    """What is read before the text, and not scored: the turns of a chat. The output is of the text alone."""
    generate: int = 0
    """Tokens to generate greedily after the text, at most. The output is one token, named by what was generated."""
    separate_word_start: int | None = None
    """Only the word from this character on is scored, and it is tokenized apart from its context, token by token."""

    @property
    def conversation(self) -> Chat | None:
        """The chat before the text, if any."""
        chat = self.chat
        return chat if chat is None or isinstance(chat, Chat) else Chat(tuple(map(_turn, chat)))


def _turn(message: object) -> tuple[str, str]:
    match message:
        case (str(role), str(text)):
            return role, text
    raise InputError(f"chat: {message!r} is not a turn. Write (role, text), such as ('user', 'Write one sentence.')")


@dataclass(frozen=True, slots=True)
class Source:
    """The input of a generator, with the maximum length of a correct output.

    A longer output is wrong whatever follows, so a model may stop there: an output of more than `max_words + 1` words
    is cut to `max_words + 1` (the last of them complete), with a notice. A suite that sends such sources records the
    rule in its options, and so in the signature.
    """

    text: str
    max_words: int
    """Maximum number of words, separated by white space, of a correct output."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a scored text.

    Examples:
        >>> wug.open_model("wug-causal").score("The keys").tokens[0].start
        0
    """

    text: str
    start: int
    """The index of its first visible character in the text."""
    end: int
    logprob: float | None
    """Natural logarithm; None if the model does not give one."""

    @property
    def surprisal(self) -> float | None:
        """Bits; None if the model gives no log-probability."""
        return None if self.logprob is None else -self.logprob / LN2


@dataclass(frozen=True, slots=True)
class Scored:
    """A scored text with its tokens as columns, since a large run holds millions of them.

    A token belongs to the position of its first visible character, so "Ġswims" belongs to "swims". A token without
    characters (an EOS token) has `start == end == len(text)`.

    Examples:
        >>> scored = wug.open_model("wug-causal").score("The keys are here.")
        >>> scored.surprisal() > scored.surprisal(9, 12) > 0
        True
    """

    text: str
    starts: tuple[int, ...]
    """Ascending."""
    ends: tuple[int, ...]
    logprobs: tuple[float | None, ...]
    pieces: tuple[str, ...] | None = None
    """The names of the tokens, if they differ from their characters (`<unk>`, `<eos>`)."""
    notices: tuple[str, ...] = ()
    """Notices of the model about this output, as in `Answer.notices`."""
    entropies: tuple[float | None, ...] | None = None
    """The entropy of each token's distribution, in nats; None if it was not requested or is not known."""
    ranks: tuple[int | None, ...] | None = None
    """The rank of each token in the vocabulary by probability, from 1; equal probabilities share the best rank."""
    logprobs_with_word_end: tuple[float | None, ...] | None = None
    """Log-probabilities in which the end of each word counts with that word; None if not requested."""

    @classmethod
    def of(cls, text: str, tokens: Sequence[Token]) -> Scored:
        """Build the columns from tokens."""
        pieces = tuple(token.text for token in tokens)
        same = all(piece == text[t.start : t.end] for piece, t in zip(pieces, tokens, strict=True))
        return cls(
            text,
            tuple(t.start for t in tokens),
            tuple(t.end for t in tokens),
            tuple(t.logprob for t in tokens),
            None if same else pieces,
        )

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens as objects."""
        pieces = self.pieces or tuple(self.text[a:b] for a, b in zip(self.starts, self.ends, strict=True))
        return tuple(map(Token, pieces, self.starts, self.ends, self.logprobs))

    def slice(self, start: int = 0, end: int | None = None) -> slice:
        """The tokens in the characters `start:end`; without `end`, also tokens after the text."""
        try:
            if start > 0 or (end is not None and end < len(self.text)):
                self.require_tokens()
            first = bisect_left(self.starts, start)
            return slice(first, len(self.starts) if end is None else bisect_left(self.starts, end))
        except TypeError:
            raise InputError(f"characters {start!r} to {end!r}: write two whole numbers") from None

    def require_tokens(self) -> None:
        """Raise ModelError if there is only one log-probability for the whole text."""
        if self.pieces == WHOLE_TEXT:
            raise ModelError(
                f"the model returned one log-probability for all of {self.text[:60]!r}, and this test needs those of "
                "its tokens. Return one (start, end, logprob) per token"
            )

    def logprob(self, start: int = 0, end: int | None = None) -> float:
        """Natural log-probability of the characters `start:end`; a token without one counts as 0."""
        return math.fsum(p for p in self.logprobs[self.slice(start, end)] if p is not None)

    def surprisal(self, start: int = 0, end: int | None = None) -> float:
        """Surprisal of the characters `start:end` in bits; a token without log-probability counts as 0."""
        return -self.logprob(start, end) / LN2 + 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The output of a generator for a source.

    Examples:
        >>> wug.open_model("wug-pcfg").generate("reverse A1 B2").text
        'B2 A1'
    """

    text: str
    notices: tuple[str, ...] = ()
    """Predicates of the sentence "3 of 20 outputs …", such as "were cut at 64 tokens".

    They are cached with the output and are counted in every result.
    """


Value: TypeAlias = bool | float | None


Method: TypeAlias = Literal["wilson", "clopper-pearson"]
"""An interval method for proportions."""
PROPORTION_METHODS: tuple[str, ...] = get_args(Method)
Unit: TypeAlias = Literal["share", "bits", "nats", "tokens", "count", "distance", "score"]
"""The unit of a number: a proportion of items, an amount, or a score on another scale (BLEU, F1)."""
Better: TypeAlias = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class Derivation:
    """A number of each item that is computed from the details of its outcome of another metric, and not stored."""

    metric: str
    """The metric whose outcomes have the details."""
    plus: str
    """The detail that is the number, or the minuend."""
    minus: str = ""
    """The detail that is subtracted; empty for none."""
    factor: float = 1.0
    standardised: bool = False
    """Whether the estimate is the mean divided by the standard deviation of items."""

    def value(self, detail: Mapping[str, Any]) -> float:
        """The number of an item; NaN if a detail is missing."""
        value = detail.get(self.plus)
        other = detail.get(self.minus) if self.minus else 0.0
        return math.nan if value is None or other is None else self.factor * (value - other)


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as its suite declares it; views take unit and direction from here.

    Examples:
        >>> wug.run("wug_agreement_pp", limit=4)[0].metrics[0].unit
        'share'
    """

    name: str
    unit: Unit = "share"
    better: Better = "higher"
    headline: bool = True
    """Whether it is shown in summaries; the first headline metric represents the result."""
    meaning: str = ""
    """What it measures, in plain English."""
    derived: Derivation | None = None
    """How its numbers are computed from the outcomes of another metric; None if it has outcomes."""
    by: str = ""
    """A group field whose values are different quantities, such as measures: they are compared one by one, and have no
    mean."""

    def __post_init__(self) -> None:
        derived: Any = self.derived
        if isinstance(derived, Mapping):  # as it was stored
            object.__setattr__(self, "derived", Derivation(**derived))


def effect_metrics(name: str, derived: Derivation, meaning: str, unit: Unit = "bits") -> tuple[Metric, Metric]:
    """A mean effect, and the same divided by the standard deviation of items."""
    spread = f"{name.replace('_', ' ')} divided by the standard deviation of items"
    return (
        Metric(name, unit, headline=False, meaning=meaning, derived=derived),
        Metric(
            f"standardised_{name}", "score", headline=False, meaning=spread, derived=replace(derived, standardised=True)
        ),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """One judgement on one item. Every table, chart and page is made of these rows.

    Examples:
        >>> outcome = wug.run("wug_agreement_pp", limit=4)[0].outcomes[0]
        >>> outcome.metric
        'prediction_0'
    """

    item: str
    metric: str
    value: Value
    """True or False for a judgement, a number for a measurement, None if there is nothing to judge."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """The fields to break results down by, such as `{"pattern": "simple_sing"}`."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """JSON-serializable data that explains the value. Items with the same `source` had the same input, so their rows
    are not independent."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Lower and upper bound."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value over many items, with its interval.

    Examples:
        >>> estimate = wug.run("wug_agreement_pp", limit=4)[0].headlines[-1]
        >>> estimate.n, estimate.low <= estimate.value <= estimate.high
        (4, True)
    """

    metric: str
    group: str
    """`all`, or `field=value`."""
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    method: str | None = None
    """The interval method: `wilson`, `clopper-pearson`, `t`, `hall` or
    `bootstrap-t`, followed by `, by source` if rows are not
    independent; `none: …` gives the reason for no interval."""

    @classmethod
    def of(
        cls, metric: str, group: str, value: float, n: int, interval: Interval | None, method: str | None
    ) -> Estimate:
        """An estimate with an interval, or without one."""
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        return cls(metric, group, value, n, low, high, method)


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning that is shown with the result."""

    text: str


Row: TypeAlias = Outcome | Estimate | Notice
"""What a suite yields: outcomes, values over a corpus that are not means of outcomes, and notices."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An error or a warning about a file."""

    level: Literal["error", "warning"]
    place: str
    """Such as `item 12, condition match_sing, region 3`; empty for the whole file."""
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything that a number depends on, as ordered fields; printed as one line with every result."""

    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, text: str) -> Signature:
        """Parse the printed form. A part without a colon is a value without a name."""
        parts = text.split("|") if text else []
        split = [(part, part.partition(":")) for part in parts]
        return cls(tuple((key, value) if key and colon else ("", part) for part, (key, colon, value) in split))

    def __str__(self) -> str:
        return "|".join(f"{key}:{value}" if key else value for key, value in self.fields).replace("\n", " ")

    def get(self, key: str) -> str | None:
        """The value of a field, or None."""
        return dict(self.fields).get(key)

    def without(self, *keys: str) -> Signature:
        """The signature without some fields."""
        return Signature(tuple(pair for pair in self.fields if pair[0] not in keys))


DATA = "data"
"""The key in `Result.meta` of the record of a published set: set, title, licence, terms, citation, repository and
commit."""

Status: TypeAlias = Literal["running", "complete", "partial", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one model on one suite.

    Examples:
        >>> wug.run("wug_agreement_pp", limit=4)[0].n
        4
    """

    suite: str
    kind: str
    model: str
    status: Status
    signature: Signature
    """Text is parsed."""
    n: int
    """Items judged."""
    estimates: tuple[Estimate, ...]
    warnings: tuple[str, ...] = ()
    outcomes: Sequence[Outcome] = ()
    """A tuple, or, for a result in a store, a sequence that reads them on demand."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Further data for the pages of the result: region names, formulas, reference."""
    metrics: tuple[Metric, ...] = ()
    """The metrics in the order of the suite; inferred from the values if it declares none."""

    def __post_init__(self) -> None:
        signature: Any = self.signature
        if isinstance(signature, str):
            object.__setattr__(self, "signature", Signature.read(signature))
        if not self.metrics:
            object.__setattr__(self, "metrics", _inferred_metrics(self))

    def metric(self, name: str) -> Metric:
        """The metric of a name; `accuracy:COLUMN` and `prediction_0/mean` inherit from the name before `:` or `/`."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        base = re.split("[:/]", name)[0]
        return replace(next((metric for metric in self.metrics if metric.name == base), Metric(name)), name=name)

    def declared_metric(self, name: str) -> Metric | None:
        """The declared metric of a number: `accuracy` for `accuracy:plural` if it is divided (`Metric.by`)."""
        declared = {metric.name: metric for metric in self.metrics}
        base = declared.get(name.partition(":")[0])
        return declared.get(name, base if base is not None and base.by else None)

    def __repr__(self) -> str:
        from wug.labels import result_line

        return f"<Result {result_line(self)}>"

    def _repr_html_(self) -> str:
        """The headline estimates with their intervals, for a notebook."""
        from wug.labels import html

        return html([self])

    @property
    def overall(self) -> list[Estimate]:
        """The estimates over all items; of a metric without one (`Metric.by`), those by group as `metric:value`."""
        fields = {metric.name: f"{metric.by}=" for metric in self.metrics if metric.by}
        for estimate in self.estimates:
            if estimate.group == OVERALL:
                fields.pop(estimate.metric, None)
        estimates = []
        for estimate in self.estimates:
            field = fields.get(estimate.metric)
            if estimate.group == OVERALL:
                estimates.append(estimate)
            elif field and estimate.group.startswith(field):
                value = estimate.group.removeprefix(field)
                estimates.append(replace(estimate, metric=f"{estimate.metric}:{value}", group=OVERALL))
        return estimates

    @property
    def headlines(self) -> list[Estimate]:
        """The headline estimates over all items."""
        return [e for e in self.overall if (declared := self.declared_metric(e.metric)) and declared.headline]

    @property
    def headline(self) -> Estimate | None:
        """The estimate that represents the result; None if it has none over all items."""
        declared = list(self.metrics)
        return min(
            self.headlines,
            key=lambda one: declared.index(self.declared_metric(one.metric) or declared[0]),
            default=next(iter(self.overall), None),
        )


def _inferred_metrics(result: Result) -> tuple[Metric, ...]:
    """The metrics of a result that declares none: proportions where values are judgements, scores otherwise."""
    judged = {row.metric: isinstance(row.value, bool) for row in result.outcomes if row.value is not None}
    for estimate in result.estimates:
        if (method := estimate.method or "") and estimate.metric not in judged:
            judged[estimate.metric] = method.startswith(PROPORTION_METHODS) or method.endswith("of shares")
    names = dict.fromkeys([*(estimate.metric for estimate in result.estimates), *judged])
    return tuple(Metric(name, "share" if judged.get(name) else "score") for name in names)


def phenomenon_of(meta: Mapping[str, Any]) -> str:
    """The phenomenon that a suite tests, from its metadata or a result's; empty if it names none.

    `--tag` selects suites by it, and overviews are sorted by it.
    """
    return str(meta.get("phenomenon") or "")


def text_of(words: Answer | Source | str) -> str:
    """The text of an output or a source, which may be plain text."""
    return words if isinstance(words, str) else words.text


class IdentifiedModel(Protocol):
    """A model."""

    @property
    def id(self) -> str:
        """Kind, name and fingerprint: `causal/gpt2@607a30d`."""

    @property
    def options(self) -> Mapping[str, str]:
        """Every option that changes an output, for the signature and the cache key."""

    @property
    def chunk(self) -> int:
        """Requests per chunk, about a few seconds of work; at most one chunk is lost if the run is killed."""


class Scorer(IdentifiedModel, Protocol):
    """A model that assigns log-probabilities to texts."""

    @property
    def ordered(self) -> bool:
        """Whether an output depends on earlier requests, as with a state carried over a file."""

    def score(self, requests: Sequence[Request]) -> Sequence[Scored]:
        """One output per request, in order; `wug.scores.Scores` holds many as arrays."""


class Generator(IdentifiedModel, Protocol):
    """A model that generates text from a source."""

    def generate(self, sources: Sequence[str]) -> Sequence[Answer | str]:
        """One output per source, in order; plain text is an output without notices.

        A generator with `bounded = True` gets a `Source` if the suite knows the maximum length of a correct output.
        """


@runtime_checkable
class Suite(Protocol):
    """A test suite: sends requests to a model and judges its outputs.

    Examples:
        >>> len(wug.open_suites("wug_agreement_pp")[0].sample(4))
        4
    """

    @property
    def name(self) -> str:
        """The short name that users write."""

    @property
    def kind(self) -> str:
        """The family."""

    @property
    def needs(self) -> Returns:
        """What a model must return."""

    @property
    def checksum(self) -> str:
        """Checksum of everything that can change a result."""

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """Its metrics; the first headline metric represents it."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """Further data for the pages of its results."""

    def __len__(self) -> int:
        """Items."""

    def sample(self, items: int) -> Suite:
        """A sample of `items` items, stratified by group; its options record the size."""

    def requests(self) -> Sequence[Request] | Sequence[str | Source]:
        """The requests (sources, for a generator) known before the run, so that suites can be computed together."""

    def run(self, model: Any) -> Iterator[Row]:
        """Send requests to `model` and yield outcomes."""


class EvaluatedModel(IdentifiedModel, Protocol):
    """A model as the evaluation passes it to a suite."""

    @property
    def returns(self) -> Returns:
        """Whether it scores texts or generates them."""


@runtime_checkable
class AdaptableSuite(Suite, Protocol):
    """A suite that sends different requests to models that score and to models that generate."""

    def for_model(self, model: EvaluatedModel) -> Suite:
        """The suite with the requests for this model."""
