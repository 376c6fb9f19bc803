"""The types that every part of wug speaks: questions, answers, judgements and results."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from wug.errors import InputError, ModelError

LN2 = math.log(2)
WHOLE_TEXT = ("<text>",)
"""`Scored.pieces` of a text that has one log-probability as a whole, and none for its tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What the program needs to know about a backend before it opens one of its models (`TRAITS` of its module)."""

    returns: Literal["scores", "text"] = "scores"
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
    """The class of transformers that loads its models; models loaded by the user are accepted where it is set."""
    uses_device: bool = False
    """Runs on a GPU if there is one, with the options `device` and `dtype`."""
    shares_device: bool = False
    """Several models can share a GPU, one process each."""
    sees_right_context: bool = False
    """Words to the right of a token change its probability."""
    prompts: str = ""
    """The backend of the models that it prompts, whose name may precede theirs: `prompt:causal:gpt2`."""
    windows: bool = False
    """Texts longer than the context window are read in windows (`Reading`)."""
    to_score: str = ""
    """What to do so that a model of its that generates text scores it, as a sentence."""
    to_generate: str = ""
    """What to do so that a model of its that scores text generates it, as a sentence."""


@dataclass(frozen=True, slots=True)
class ScoringProtocol:
    """The conventions by which another program or community computes a number, as options of suites and models."""

    meaning: str
    suite_options: Mapping[str, str] = field(default_factory=dict)
    """For the families that have them; a family without the first of them cannot follow the protocol."""
    model_options: Mapping[str, str] = field(default_factory=dict)
    """For the backends that have them; a backend that has none of them cannot follow the protocol."""
    noted: Mapping[str, str] = field(default_factory=dict)
    """Further fields of the signature."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A place in a running text, for a model that carries its state from text to text."""

    number: int
    """Requests in a row with the same number are alternatives at this place: each is read from the same state."""
    line: str | None = None
    """What stands at this place in the text that goes with the suite, and is gone on from; None without such a text."""
    before: tuple[str, ...] = ()
    """Lines of that text between the turn before and this one."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a running text is read word by word, and what is wanted beside the log-probabilities.

    A backend that cannot tell something leaves it out of its answer.
    """

    distribution: bool = False
    """Whether to tell the entropy of the distribution that each token comes from, and the token's rank in it."""
    boundary: bool = False
    """Whether to give the log-probabilities with the end of each word counted with that word, too."""
    window: int | None = None
    """Tokens that are read at a time, of a text that is longer; None: as many as the model can take."""
    stride: int | None = None
    """Tokens by which a window goes on; None: half of it."""
    window_bos: bool = True
    """Whether a window that begins within the text gets a BOS token, as the text itself does."""

    @property
    def has_windows(self) -> bool:
        """Whether anything but the default is wanted of windows."""
        return self.window is not None or self.stride is not None or not self.window_bos


@dataclass(frozen=True, slots=True)
class Request:
    """A question to a scorer: how probable is this text, or only the characters `span` of it?"""

    text: str
    span: tuple[int, int] | None = None
    """Only the log-probabilities of these characters are needed; a masked model masks just them."""
    turn: Turn | None = field(default=None, compare=False)
    """Where it stands in a running text: of no account, and so no part of the question, without a carried state."""
    reading: Reading | None = None
    """What is wanted beside the log-probabilities; without it, a text past the model's context is refused."""
    source: str | None = None
    """What an encoder–decoder that scores answers (`score=source`) reads before it; None: what its options say."""


@dataclass(frozen=True, slots=True)
class Source:
    """A question to a generator of which the suite knows how long a right answer can be.

    A longer answer is wrong whatever follows, so a model may stop there: an answer of more than `max_words + 1` words
    is cut to `max_words + 1` (of which the last is whole), and says so. A suite that asks like this says by what rule
    in its options, and so in the signature.
    """

    text: str
    max_words: int
    """Words, between white space, that a right answer has at most."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a scored text."""

    text: str
    start: int
    """Where its first visible character stands in the text."""
    end: int
    logprob: float | None
    """Natural logarithm; None where the model cannot give one."""

    @property
    def surprisal(self) -> float | None:
        """Bits, or None where the model cannot give any."""
        return None if self.logprob is None else -self.logprob / LN2


@dataclass(frozen=True, slots=True)
class Scored:
    """A scored text, its tokens kept as columns: a large run holds millions of them.

    A token counts where its first visible character stands, so "Ġswims" belongs to "swims".
    A token without characters of its own (an end-of-sentence mark) has `start == end == len(text)`.
    """

    text: str
    starts: tuple[int, ...]
    """Ascending."""
    ends: tuple[int, ...]
    logprobs: tuple[float | None, ...]
    pieces: tuple[str, ...] | None = None
    """The tokens' own names, where they differ from the text they stand for (`<unk>`, `<eos>`)."""
    notices: tuple[str, ...] = ()
    """What the model has to say about this answer, as `Answer.notices`."""
    entropies: tuple[float | None, ...] | None = None
    """Nats, of the distribution that each token comes from; None where that was not asked or is not known."""
    ranks: tuple[int | None, ...] | None = None
    """Of each token among all of the vocabulary by probability: 1 is the most probable, and equals share the best."""
    logprobs_with_word_end: tuple[float | None, ...] | None = None
    """Log-probabilities with the end of each word counted with that word; None where that was not asked."""

    @classmethod
    def of(cls, text: str, tokens: Sequence[Token]) -> Scored:
        """The same, from tokens."""
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
        """Which tokens count in the characters `start:end`; without `end`, marks after the text too."""
        try:
            if start > 0 or (end is not None and end < len(self.text)):
                self.require_tokens()
            first = bisect_left(self.starts, start)
            return slice(first, len(self.starts) if end is None else bisect_left(self.starts, end))
        except TypeError:
            raise InputError(f"characters {start!r} to {end!r}: write two whole numbers") from None

    def require_tokens(self) -> None:
        """ModelError if the text has only one log-probability as a whole."""
        if self.pieces == WHOLE_TEXT:
            raise ModelError(
                f"the model returned one log-probability for all of {self.text[:60]!r}, and this test needs those of "
                "its tokens. Return one (start, end, logprob) per token"
            )

    def logprob(self, start: int = 0, end: int | None = None) -> float:
        """Natural log-probability of the characters `start:end`; a token without one counts as 0."""
        return math.fsum(p for p in self.logprobs[self.slice(start, end)] if p is not None)

    def surprisal(self, start: int = 0, end: int | None = None) -> float:
        """Bits of surprisal of the characters `start:end`; a token without any counts as 0."""
        return -self.logprob(start, end) / LN2 + 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a generator wrote for a source."""

    text: str
    notices: tuple[str, ...] = ()
    """What the model has to say about it: the rest of a sentence that begins "3 of 20 answers …".

    They are kept with the answer and stand, counted, in every result that is made of it.
    """


Value: TypeAlias = bool | float | None


Unit: TypeAlias = Literal["share", "bits", "nats", "tokens", "count", "distance", "score"]
"""What a number is: a share of items, an amount, or a score on a scale of its own (BLEU, F1)."""
Better: TypeAlias = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class Metric:
    """What is judged or measured, said once by the suite: no view guesses it again."""

    name: str
    unit: Unit = "share"
    better: Better = "higher"
    headline: bool = True
    """Whether it is for a first look; the first of a suite's that is stands for the result."""
    meaning: str = ""
    """A plain-English reading."""
    by: str = ""
    """A group field whose values are different quantities, such as measures: they are compared one by one, and have no
    mean."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One judgement on one item. Every table, chart and page is made of these rows."""

    item: str
    metric: str
    value: Value
    """True or False for a judgement, a number for a measurement, None where there is nothing to judge."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """The fields to break results down by, such as `{"pattern": "simple_sing"}`."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Whatever explains the judgement, as JSON-able data. Items with the same `source` were asked the same, and their
    rows are not independent."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value over many items, with its interval."""

    metric: str
    group: str
    """`all`, or `field=value`."""
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    method: str | None = None
    """How the interval was made: `wilson`, `clopper-pearson`, `t`, `hall`, with `, by source` where rows are not
    independent; `none: …` says why there is none."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader of a result should know."""

    text: str


Row: TypeAlias = Outcome | Estimate | Notice
"""What a suite yields: judgements; values over a whole corpus that are no mean of them; notices."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault or an oddity of a file, found by reading it."""

    level: Literal["error", "warning"]
    place: str
    """Such as `item 12, condition match_sing, region 3`; empty for the whole file."""
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


@dataclass(frozen=True, slots=True)
class Signature:
    """What a number depends on, as ordered fields; as text, one line that travels with the number."""

    fields: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, text: str) -> Signature:
        """The signature that was kept as text: the only place where one is split.

        A part without a colon is a value that has no name.
        """
        parts = text.split("|") if text else []
        split = [(part, part.partition(":")) for part in parts]
        return cls(tuple((key, value) if key and colon else ("", part) for part, (key, colon, value) in split))

    def __str__(self) -> str:
        return "|".join(f"{key}:{value}" if key else value for key, value in self.fields).replace("\n", " ")

    def get(self, key: str) -> str | None:
        """The value of a field; None where there is no such field."""
        return dict(self.fields).get(key)

    def without(self, *keys: str) -> Signature:
        """The same without some fields: what else a number depends on."""
        return Signature(tuple(pair for pair in self.fields if pair[0] not in keys))


DATA = "data"
"""Where the meta of a result has the record of the published set that it was made of: set, title, licence, terms,
citation, repository and commit."""

Status: TypeAlias = Literal["running", "complete", "partial", "failed", "interrupted"]


@dataclass(frozen=True, slots=True)
class Result:
    """What one suite found out about one model."""

    suite: str
    kind: str
    model: str
    status: Status
    signature: Signature
    """Given as text, it is read."""
    n: int
    """Items judged."""
    estimates: tuple[Estimate, ...]
    warnings: tuple[str, ...] = ()
    outcomes: Sequence[Outcome] = ()
    """A tuple, or, of a result in the run store, a sequence that reads them there when someone looks."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """A plain-English reading of each metric."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    """What a page about the result shows beside the rows: region names, formulas, reference."""
    metrics: tuple[Metric, ...] = ()
    """What each number is, in the order of the suite; told from the values where nobody said it."""

    def __post_init__(self) -> None:
        given: Any = self.signature
        if isinstance(given, str):
            object.__setattr__(self, "signature", Signature.read(given))
        if not self.metrics:
            object.__setattr__(self, "metrics", _told_from_values(self))

    def metric(self, name: str) -> Metric:
        """What a number is; `accuracy:COLUMN` and `prediction_0/mean` are like what stands before the mark."""
        known = {metric.name: metric for metric in self.metrics}
        found = known.get(name) or known.get(re.split("[:/]", name)[0]) or Metric(name)
        return found if found.name == name else replace(found, name=name)

    def __repr__(self) -> str:
        from wug.labels import line

        return f"<Result {line(self)}>"

    def _repr_html_(self) -> str:
        """The estimates for a first look with their intervals, for a notebook."""
        from wug.labels import html

        return html([self])

    @property
    def overall(self) -> list[Estimate]:
        """The estimates over all items; of a metric without one (`Metric.by`), those by group as `metric:value`."""
        fields = {metric.name: f"{metric.by}=" for metric in self.metrics if metric.by}
        for estimate in self.estimates:
            if estimate.group == "all":
                fields.pop(estimate.metric, None)
        found = []
        for estimate in self.estimates:
            field = fields.get(estimate.metric)
            if estimate.group == "all":
                found.append(estimate)
            elif field and estimate.group.startswith(field):
                value = estimate.group.removeprefix(field)
                found.append(replace(estimate, metric=f"{estimate.metric}:{value}", group="all"))
        return found

    @property
    def headlines(self) -> list[Estimate]:
        """The estimates over all items that are for a first look."""
        shown = {metric.name for metric in self.metrics if metric.headline}
        divided = {metric.name for metric in self.metrics if metric.headline and metric.by}
        return [one for one in self.overall if one.metric in shown or one.metric.partition(":")[0] in divided]

    @property
    def headline(self) -> Estimate | None:
        """The estimate that stands for the result; None where it has none over all items."""
        order = [metric.name for metric in self.metrics]
        return min(
            self.headlines,
            key=lambda one: order.index(one.metric if one.metric in order else one.metric.partition(":")[0]),
            default=next(iter(self.overall), None),
        )


def _told_from_values(result: Result) -> tuple[Metric, ...]:
    """Metrics of a suite that declares none, or of a result that was kept before metrics were."""
    judged = {row.metric: isinstance(row.value, bool) for row in result.outcomes if row.value is not None}
    for estimate in result.estimates:
        method = estimate.method or ""
        if method and estimate.metric not in judged:
            judged[estimate.metric] = method.startswith(OF_SHARES) or method.endswith(("of shares", "over columns"))
    names = dict.fromkeys([*(estimate.metric for estimate in result.estimates), *judged])
    first = result.meta.get("headlines") or names
    return tuple(
        Metric(
            name,
            "share" if judged.get(name) else "score",
            headline=name in first,
            meaning=result.descriptions.get(name, ""),
        )
        for name in sorted(names, key=lambda name: name not in first)
    )


OF_SHARES = ("wilson", "clopper-pearson")
"""Beginnings of the methods by which intervals of shares are made."""


def phenomenon_of(meta: Mapping[str, Any]) -> str:
    """The phenomenon that a suite tests, from its metadata or from those of a result; empty if it names none.

    Suites can be selected by it (`--tag`), and overviews are sorted by it.
    """
    return str(meta.get("phenomenon") or "")


def text_of(words: Answer | Source | str) -> str:
    """The text of an answer, however the generator gives it, or of a source, however the suite asks."""
    return words if isinstance(words, str) else words.text


class Model(Protocol):
    """Whoever is asked."""

    @property
    def id(self) -> str:
        """Kind, name and fingerprint: `causal/gpt2@607a30d`."""

    @property
    def options(self) -> Mapping[str, str]:
        """Every option that changes an answer, for the signature and the cache key."""

    @property
    def chunk(self) -> int:
        """How many questions it likes at a time: a few seconds' work, what a kill may lose."""


class Scorer(Model, Protocol):
    """A model that can say how probable a text is."""

    @property
    def ordered(self) -> bool:
        """Whether an answer depends on the requests before it, as with a state carried over a file."""

    def score(self, requests: Sequence[Request]) -> Sequence[Scored]:
        """One answer for each request, in order; many at a time are best given as `wug.scores.Scores`."""


class Generator(Model, Protocol):
    """A model that turns text into text."""

    def generate(self, sources: Sequence[str]) -> Sequence[Answer | str]:
        """One answer for each source, in order; a plain text is an answer without notices.

        One that has a field `bounded`, which is true, is given a `Source` where the suite knows how long a right
        answer can be.
        """


@runtime_checkable
class Suite(Protocol):
    """A set of questions and what is to be made of the answers."""

    @property
    def name(self) -> str:
        """Short, as users call it."""

    @property
    def kind(self) -> str:
        """The family."""

    @property
    def needs(self) -> Literal["scorer", "generator"]:
        """What kind of model can take it."""

    @property
    def checksum(self) -> str:
        """Of everything in it that can change a result."""

    @property
    def options(self) -> Mapping[str, str]:
        """Every scoring option, for the signature."""

    @property
    def metrics(self) -> Sequence[Metric]:
        """What it judges and measures, the metric that stands for it first."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """What pages show beside the rows."""

    def __len__(self) -> int:
        """Items."""

    def sample(self, items: int) -> Suite:
        """The same suite with only so many of its items, every group with its share; its options say so."""

    def requests(self) -> Sequence[Request] | Sequence[str | Source]:
        """What can be asked up front (sources, for a generator); lets a run ask many suites' at once."""

    def run(self, model: Any) -> Iterator[Row]:
        """Ask `model`, judge its answers."""


class EvaluatedModel(Model, Protocol):
    """A model as the evaluation holds it."""

    @property
    def returns(self) -> Literal["scores", "text"]:
        """Whether it scores texts or generates them."""


@runtime_checkable
class AdaptableSuite(Suite, Protocol):
    """A suite for models that score and for models that generate: it makes different requests of them."""

    def for_model(self, model: EvaluatedModel) -> Suite:
        """The suite as it suits a model."""
