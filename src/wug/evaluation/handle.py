"""A model that is identified by its files and loaded on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from wug import registry
from wug.errors import ModelError
from wug.models import Identity, ModelSpec
from wug.requests import Answer, ChatFormat, ModelAttributes, Request, Scored, Source, Token, text_of
from wug.scores import PlainRequests


class ModelHandle:
    """A model whose identity is known before it is loaded.

    The first request without a cached output loads it. It must then have the identity found before.
    """

    def __init__(self, identity: Identity, load: Callable[[], Any], spec: ModelSpec | None = None) -> None:
        self.id: str = identity.id
        self.options: Mapping[str, str] = identity.options
        """Every option that changes an output, for the signature and the cache key."""
        self.returns: Literal["scores", "text"] = identity.returns
        self.bounded: bool = identity.bounded
        """Whether a generator stops at the maximum length that a suite gives."""
        self.training_context = identity.training_context
        """`sentence` for a model trained on single sentences; None if unknown."""
        self.spec = spec
        """The name and options that the user gave; all of them are part of the cache key."""
        self.failed = False
        """Whether it could not be loaded, or had another identity after loading."""
        self._load = load
        self._model: Any = None
        self._attributes = ModelAttributes()
        self._chat: ChatFormat | None = None

    @classmethod
    def from_loaded(cls, model: Any, spec: ModelSpec | None = None) -> ModelHandle:
        """The handle of a loaded model."""
        returns: Literal["scores", "text"] = "scores" if callable(getattr(model, "score", None)) else "text"
        attributes = ModelAttributes.of(model)
        identity = Identity(model.id, model.options, returns, attributes.bounded, attributes.training_context)
        handle = cls(identity, lambda: model, spec)
        handle._model, handle._attributes = model, attributes
        return handle

    @property
    def given(self) -> Mapping[str, str]:
        """The options that the user gave."""
        return {} if self.spec is None else self.spec.options

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._model is not None

    @property
    def ordered(self) -> bool:
        """Whether an output depends on earlier requests; such a model is loaded at once."""
        return self._attributes.ordered

    @property
    def cacheable(self) -> bool:
        """Whether outputs may be cached: its identity changes whenever the model does."""
        return self._attributes.cacheable

    @property
    def scores_separate_words(self) -> bool:
        """Whether it scores words that are tokenized apart from their context."""
        return self.attributes.scores_separate_words

    @property
    def noise(self) -> float | None:
        """How far rounding moves the log-probability of a sentence, in nats; None if it is not loaded or negligible."""
        return self._attributes.noise

    @property
    def chunk(self) -> int:
        """Requests that take a few seconds."""
        chunk: int = self.model.chunk
        return chunk

    @property
    def model(self) -> Any:
        """The model itself; loaded on first access."""
        if self._model is None:
            self.failed = True
            model = self._load()
            before, after = (self.id, dict(self.options)), (model.id, dict(model.options))
            self._model, self._attributes = model, ModelAttributes.of(model)
            self.id = model.id
            self.options = model.options
            self.failed = before != after
            if self.failed:
                raise ModelError(
                    f"{_described(*before)} became {_described(*after)} when it was loaded: its files changed during "
                    "the run, or do not describe the model. Repeat the command"
                )
        return self._model

    @property
    def attributes(self) -> ModelAttributes:
        """What the model has besides `score` or `generate`; loads it."""
        assert self.model is not None  # which loads it
        return self._attributes

    @property
    def chat(self) -> ChatFormat | None:
        """How it reads something before a text, from its tokenizer alone; None for a model that cannot."""
        if self._chat is None:
            if self._model is not None:
                self._chat = self._attributes.chat
            elif self.spec is not None:
                self._chat = registry.backend(self.spec.backend).chat_format(self.spec)
        return self._chat

    def score(self, requests: Sequence[Request]) -> Sequence[Scored]:
        """One scored text per request, in order."""
        self._require_scorable(requests)
        scored: Sequence[Scored] = self.model.score(requests)
        return scored

    def generate(self, sources: Sequence[str | Source]) -> Sequence[Answer | str]:
        """One output per source, in order."""
        outputs: Sequence[Answer | str] = self.model.generate(sources)
        return outputs

    def stream(self, requests: Sequence[Any]) -> Iterator[tuple[Sequence[int], Sequence[Any]]]:
        """Positions and outputs, as soon as the model has them: a server one by one, other models all together."""
        if self.returns == "text" and not self.bounded:
            requests = list(map(text_of, requests))
        if self.attributes.stream is not None:
            if self.returns == "scores":
                self._require_scorable(requests)
            yield from self.model.stream(requests)
        else:
            yield range(len(requests)), (self.score if self.returns == "scores" else self.generate)(requests)

    def likeliest(self, text: str, position: int, count: int) -> list[Token]:
        """The `count` most probable tokens at a position of a text, the most probable first."""
        if self.attributes.likeliest is None:
            raise ModelError(f"{self.id} does not list its most probable tokens; causal and masked models do")
        tokens: list[Token] = self.model.likeliest(text, position, count)
        return tokens

    def words(self, texts: Sequence[str]) -> list[Sequence[tuple[int, int]]] | None:
        """The spans of words in texts by the tokenizer's rule; None for a model without such a rule."""
        return None if self.attributes.words is None else list(self.model.words(texts))

    def _require_scorable(self, requests: Sequence[Request]) -> None:
        if isinstance(requests, PlainRequests):
            return
        if any(request.chat is not None or request.generate for request in requests) and self.chat is None:
            raise ModelError(f"{self.id} cannot read a chat before a text; causal models and servers can")
        if any(request.separate_word_start is not None for request in requests) and not self.scores_separate_words:
            raise ModelError(f"{self.id} cannot tokenize a word apart from its context; causal and masked models can")


def _described(name: str, options: Mapping[str, str]) -> str:
    return ", ".join([name, *(f"{key}={value}" for key, value in options.items())])
