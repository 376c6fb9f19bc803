"""What there is to know about an encoder–decoder beside its weights, and how it reads and writes text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from wug.errors import ModelError
from wug.models._weights import Loaded
from wug.models.decoding import greedy
from wug.models.decoding.generation import unknown_token


@dataclass(frozen=True, slots=True)
class Facts:
    """Marks and limits of a model, as plain data."""

    start: int
    """The token with which an answer begins, itself no part of it."""
    ends: list[int]
    forced: int | None
    """The token that every answer has first, such as that of a language."""
    banned: list[list[int]]
    """Sequences of tokens that are never written."""
    begins: list[int]
    """Tokens that are never written first."""
    unknown: int | None
    dropped: list[int]
    """Tokens of which nothing is seen in an answer."""
    source_limit: int | None
    """Tokens that a source may have; None where positions are relative."""
    answer_limit: int | None
    vocabulary: int
    """Tokens that can be written."""
    millions: float
    """Parameters."""

    @classmethod
    def of(cls, loaded: Loaded) -> Facts:
        """The facts about a model that was loaded; refused where it does not say how an answer begins and ends."""
        model, settings = loaded.model, loaded.model.generation_config
        start = greedy.start_token(settings)
        if start is None:
            raise ModelError(
                f"seq2seq:{loaded.name}: nothing says with which token an answer begins. "
                "Put decoder_start_token_id into its generation_config.json"
            )
        if settings.eos_token_id is None:
            raise ModelError(
                f"seq2seq:{loaded.name}: nothing says with which token an answer ends. Put eos_token_id there likewise"
            )
        unknown = unknown_token(loaded.tokenizer)
        sources, answers = _positions(model.config)
        return cls(
            start=int(start),
            ends=greedy.end_tokens(settings),
            forced=settings.forced_bos_token_id,
            banned=greedy.forbidden_sequences(settings),
            begins=list(settings.begin_suppress_tokens or []),
            unknown=unknown,
            # An unknown word stays visible: without it a wrong answer could pass for a right one.
            dropped=sorted(set(loaded.tokenizer.all_special_ids) - {unknown}),
            source_limit=sources,
            answer_limit=answers,
            vocabulary=model.get_output_embeddings().weight.shape[0],
            millions=sum(parameter.numel() for parameter in model.parameters()) / 1e6,
        )


class Words(Protocol):
    """How text becomes tokens, and tokens text."""

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sources."""

    def read_answer(self, text: str) -> list[int]:
        """The tokens of a text as an answer."""

    def write(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""


@dataclass(frozen=True, slots=True)
class HubWords:
    """The tokenizer of a model as transformers has it."""

    tokenizer: Any

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sources."""
        found: list[list[int]] = self.tokenizer(list(texts))["input_ids"]
        return found

    def read_answer(self, text: str) -> list[int]:
        """The tokens of a text as an answer."""
        found: list[int] = self.tokenizer(text_target=text)["input_ids"]
        return found

    def write(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        # Cleaning up would take the space before a comma, which is a word of its own in some languages.
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text


@dataclass(frozen=True, slots=True)
class SavedWords:
    """What the tokenizer of transformers is a shell around, without the seconds that transformers takes to start."""

    backend: Any

    @classmethod
    def of(cls, tokenizer: Any) -> SavedWords | None:
        """The inside of a tokenizer; None where the shell has ways of its own with text."""
        from tokenizers import Tokenizer
        from transformers import PreTrainedTokenizerFast

        ways = ("__call__", "_encode_plus", "decode", "_decode", "_switch_to_target_mode")
        kind = type(tokenizer)
        if any(getattr(kind, way, None) is not getattr(PreTrainedTokenizerFast, way, None) for way in ways):
            return None
        if tokenizer.split_special_tokens:
            return None
        backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        backend.no_truncation()
        backend.no_padding()
        return cls(backend)

    def read(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sources."""
        return [encoding.ids for encoding in self.backend.encode_batch(list(texts))]

    def read_answer(self, text: str) -> list[int]:
        """The tokens of a text as an answer."""
        return self.read([text])[0]

    def write(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        text: str = self.backend.decode(list(tokens), skip_special_tokens=False)
        return text


def _positions(config: Any) -> tuple[int | None, int | None]:
    """Tokens that a source and an answer may have; None where positions are relative."""
    limits: list[int | None] = []
    for side in ("encoder", "decoder"):
        part = getattr(config, side, config)  # an EncoderDecoderModel has two configurations
        names = ("max_position_embeddings", f"max_{side}_position_embeddings")
        given = (getattr(part, name, None) for name in names)
        limits.append(next((limit for limit in given if isinstance(limit, int) and limit > 0), None))
    return limits[0], limits[1]
