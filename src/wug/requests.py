"""What models receive and return: requests, chats, scored texts and generated text."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from wug.errors import InputError, ModelError
from wug.traits import Returns

LN2 = math.log(2)
WHOLE_TEXT = ("<text>",)
"""`Scored.token_names` of a text that has one log-probability as a whole, and none for its tokens."""


@dataclass(frozen=True, slots=True)
class TextPosition:
    """A position in a running text, for a model that carries its state between texts."""

    number: int
    """Consecutive requests with the same number are alternatives: each starts from the same state."""
    line: str | None = None
    """The suite's text at this position, from which the state continues; None if the suite has no text."""
    before: tuple[str, ...] = ()
    """Lines of that text between the previous position and this one."""


@dataclass(frozen=True, slots=True)
class TextScoring:
    """How a text is scored: which columns in addition to log-probabilities, and the windows of a long text.

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


Span: TypeAlias = tuple[int, int]
"""Characters of a text: the first, and the one after the last."""
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
    position: TextPosition | None = field(default=None, compare=False)
    """Its position in a running text; ignored, and not part of equality, unless the model carries a state."""
    scoring: TextScoring | None = None
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
    token_names: tuple[str, ...] | None = None
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
        names = tuple(token.text for token in tokens)
        same = all(name == text[t.start : t.end] for name, t in zip(names, tokens, strict=True))
        return cls(
            text,
            tuple(t.start for t in tokens),
            tuple(t.end for t in tokens),
            tuple(t.logprob for t in tokens),
            None if same else names,
        )

    @property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens as objects."""
        names = self.token_names or tuple(self.text[a:b] for a, b in zip(self.starts, self.ends, strict=True))
        return tuple(map(Token, names, self.starts, self.ends, self.logprobs))

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
        if self.token_names == WHOLE_TEXT:
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


def text_of(words: Answer | Source | Request | str) -> str:
    """The text of an output or a request, which may be plain text."""
    return words if isinstance(words, str) else words.text


class IdentifiedModel(Protocol):
    """What every model has: its identity, its options and its chunk size."""

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


class EvaluatedModel(IdentifiedModel, Protocol):
    """A model as the evaluation passes it to a suite."""

    @property
    def returns(self) -> Returns:
        """Whether it scores texts or generates them."""


@dataclass(frozen=True, slots=True)
class ModelAttributes:
    """What a model may have besides `score` or `generate`; the defaults are those of a model without the attribute."""

    ordered: bool = False
    """Whether an output depends on earlier requests; such outputs are not cached."""
    cacheable: bool = True
    """Whether outputs may be cached: its identity changes whenever the model does."""
    bounded: bool = False
    """Whether a generator stops at `Source.max_words`."""
    scores_separate_words: bool = False
    """Whether it scores words that are tokenized apart from their context (`Request.separate_word_start`)."""
    training_context: str | None = None
    """`sentence` for a model trained on single sentences; None if unknown."""
    noise: float | None = None
    """How far rounding moves the log-probability of a sentence, in nats; None if negligible."""
    chat: ChatFormat | None = None
    """How it reads something before a text; None for a model that cannot."""
    likeliest: Callable[[str, int, int], list[Token]] | None = None
    """The most probable tokens at a position of a text, by text, position and count."""
    words: Callable[[Sequence[str]], Iterable[Sequence[tuple[int, int]]]] | None = None
    """The spans of words in texts by the tokenizer's rule."""
    stream: Callable[[Sequence[Any]], Iterable[tuple[Sequence[int], Sequence[Any]]]] | None = None
    """Positions and outputs as soon as they are known, in any order; each is stored at once (servers)."""

    @classmethod
    def of(cls, model: object) -> ModelAttributes:
        """The attributes of a model."""
        return cls(**{name: getattr(model, name) for name in cls.__slots__ if hasattr(model, name)})
