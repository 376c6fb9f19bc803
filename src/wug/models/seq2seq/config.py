"""Special tokens, limits and tokenizers of an encoder–decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from wug.errors import ModelError
from wug.models.decoding import outputs
from wug.models.huggingface.loading import HubModel

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

PROBE = "a"


@dataclass(frozen=True, slots=True)
class DecodingConfig:
    """What decoding needs to know about a model, as plain data."""

    start: int
    """The token before the first of an answer."""
    ends: list[int]
    forced: int | None
    """The first token of every answer, such as a language."""
    banned: list[list[int]]
    """Token sequences that are never written."""
    begins: list[int]
    """Tokens that are never written first."""
    unknown: int | None
    dropped: list[int]
    """Tokens that are invisible in an answer."""
    source_limit: int | None
    """Maximum source length in tokens; None if positions are relative."""
    answer_limit: int | None
    vocabulary: int
    """Tokens that can be written."""
    millions: float
    """Parameters."""

    @classmethod
    def of(cls, loaded: HubModel) -> DecodingConfig:
        """The configuration of a loaded model; an error if it does not say how an answer begins and ends."""
        model, settings = loaded.model, loaded.model.generation_config
        start = outputs.start_token(settings)
        if start is None:
            raise ModelError(
                f"seq2seq:{loaded.name}: nothing says with which token an answer begins. "
                "Put decoder_start_token_id into its generation_config.json"
            )
        if settings.eos_token_id is None:
            raise ModelError(
                f"seq2seq:{loaded.name}: nothing says with which token an answer ends. Put eos_token_id there likewise"
            )
        unknown = outputs.unknown_token(loaded.tokenizer)
        return cls(
            start=int(start),
            ends=outputs.end_tokens(settings),
            forced=settings.forced_bos_token_id,
            banned=outputs.forbidden_sequences(settings),
            begins=list(settings.begin_suppress_tokens or []),
            unknown=unknown,
            # An unknown word stays visible: without it a wrong answer could look correct.
            dropped=sorted(set(loaded.tokenizer.all_special_ids) - {unknown}),
            source_limit=_max_positions(model.config, "encoder"),
            answer_limit=_max_positions(model.config, "decoder"),
            vocabulary=model.get_output_embeddings().weight.shape[0],
            millions=sum(parameter.numel() for parameter in model.parameters()) / 1e6,
        )


def _max_positions(config: PretrainedConfig, side: str) -> int | None:
    side_config = getattr(config, side, config)  # an EncoderDecoderModel has two configurations
    names = ("max_position_embeddings", f"max_{side}_position_embeddings")
    limits = (getattr(side_config, name, None) for name in names)
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)


@dataclass(frozen=True, slots=True)
class HubTokenizer:
    """The tokenizer of transformers."""

    tokenizer: PreTrainedTokenizerBase

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sources."""
        ids: list[list[int]] = self.tokenizer(list(texts))["input_ids"]
        return ids

    def encode_answer(self, text: str) -> list[int]:
        """The tokens of a text as an answer."""
        ids: list[int] = self.tokenizer(text_target=text)["input_ids"]
        return ids

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        # Cleaning up would remove the space before a comma, which is a word in some languages.
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text


@dataclass(frozen=True, slots=True)
class SavedTokenizer:
    """The Rust tokenizer inside that of transformers, without the seconds that transformers takes to import."""

    backend: Tokenizer

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase) -> SavedTokenizer | None:
        """The inner tokenizer; None if its class changes how text is encoded or decoded."""
        from tokenizers import Tokenizer
        from transformers import PreTrainedTokenizerFast

        methods = ("__call__", "_encode_plus", "decode", "_decode", "_switch_to_target_mode")
        kind = type(tokenizer)
        if any(getattr(kind, name, None) is not getattr(PreTrainedTokenizerFast, name, None) for name in methods):
            return None
        if tokenizer.split_special_tokens:
            return None
        backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        backend.no_truncation()
        backend.no_padding()
        return cls(backend)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sources."""
        return [encoding.ids for encoding in self.backend.encode_batch(list(texts))]

    def encode_answer(self, text: str) -> list[int]:
        """The tokens of a text as an answer."""
        return self.encode([text])[0]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        text: str = self.backend.decode(list(tokens), skip_special_tokens=False)
        return text


Seq2SeqTokenizer: TypeAlias = HubTokenizer | SavedTokenizer


@dataclass(frozen=True, slots=True)
class Seq2SeqSpecialTokens:
    """The special tokens around sources and answers."""

    before: Sequence[int]
    """Before a source."""
    after: Sequence[int]
    lead: Sequence[int]
    """Before the first token of an answer: the start token, and what answers always begin with."""

    @classmethod
    def of(cls, tokenizer: PreTrainedTokenizerBase, config: DecodingConfig) -> Seq2SeqSpecialTokens:
        """The special tokens of a tokenizer and of the generation settings.

        As in training, an answer begins with the tokens that the tokenizer adds (BART's `<s>`, a language), but a
        forced token of the settings replaces them, as in generation.
        """
        plain = tokenizer(PROBE, add_special_tokens=False)["input_ids"]
        before, after = _surrounding(tokenizer(PROBE)["input_ids"], plain)
        forced = _answer_start(tokenizer) if config.forced is None else [config.forced]
        # A start token that is a language already is not repeated.
        lead = [config.start, *(forced if list(forced) != [config.start] else [])]
        return cls(before, after, lead)


def _answer_start(tokenizer: PreTrainedTokenizerBase) -> Sequence[int]:
    try:
        complete = tokenizer(text_target=PROBE)["input_ids"]
        plain = tokenizer(text_target=PROBE, add_special_tokens=False)["input_ids"]
    except (KeyError, ValueError, TypeError, AttributeError) as error:  # a multilingual one without a language
        raise ModelError(
            f"the tokenizer {type(tokenizer).__name__} does not say how an answer begins ({error}). Put the token of "
            "its language as forced_bos_token_id into generation_config.json"
        ) from None
    return _surrounding(complete, plain)[0]


def _surrounding(complete: Sequence[int], plain: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    for start in range(len(complete) - len(plain) + 1):
        if list(complete[start : start + len(plain)]) == list(plain):
            return complete[:start], complete[start + len(plain) :]
    return [], []
