"""Tokens of texts, with their character offsets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np

from wug.alignment import first_visible
from wug.arrays import Floats, Ints, Mask
from wug.errors import ModelError, first_line
from wug.models.tokenization.ragged import Ragged, flatten
from wug.models.tokenization.word_cache import Word, WordTokenCache, tokenizes_words_separately
from wug.requests import Request, Span, Token
from wug.scores import Scores, TokenExtras, texts_of

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

DROPPED = "lack characters that the tokenizer drops"

Key = TypeVar("Key", bound=Hashable)


class Unknown(NamedTuple):
    """The token of unknown words; no id if there is none, or if it has another meaning too."""

    id: int | None
    name: str


@contextmanager
def tokenizer_errors() -> Iterator[None]:
    """Turn a panic of the tokenizers library, which `except Exception` does not catch, into a ModelError."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"the tokenizer fails on a text: {first_line(error)}") from None


@dataclass(frozen=True, slots=True)
class TokenizedTexts:
    """The tokens of some texts, whole or up to the end of a span."""

    ids: Ragged
    starts: Ints
    """For each token, its first visible character."""
    ends: Ints
    token_names: Mapping[int, tuple[str, ...]]
    """The tokens' names, for texts in which they differ from the characters."""
    notices: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """As `Scored.notices`."""

    @classmethod
    def of(cls, texts: Sequence[str], ids: Ragged, offsets: Iterable[Sequence[Span]], unknown: Unknown) -> Self:
        """From the tokens and offsets of each text; white space before a token does not count."""
        starts: list[list[int]] = []
        ends: list[list[int]] = []
        token_names: dict[int, tuple[str, ...]] = {}
        for index, (text, spans, token_ids) in enumerate(zip(texts, offsets, ids.split(), strict=True)):
            starts.append([first_visible(text, a) for a, _ in spans])
            ends.append([max(a, b) for a, (_, b) in zip(starts[-1], spans, strict=True)])
            if unknown.id is not None and unknown.id in token_ids:
                tokens = zip(token_ids, starts[-1], ends[-1], strict=True)
                token_names[index] = tuple(unknown.name if i == unknown.id else text[a:b] for i, a, b in tokens)
        count = len(ids.flat)
        return cls(ids, flatten(starts, count), flatten(ends, count), token_names)

    def keep(self, selected: Mask) -> TokenizedTexts:
        """Some of the tokens."""
        counts = np.append(0, np.cumsum(selected))
        bounds = np.append(0, np.cumsum(self.ids.lengths))
        token_names = {
            n: tuple(compress(names, selected[bounds[n] : bounds[n + 1]].tolist()))
            for n, names in self.token_names.items()
        }
        ids = Ragged(self.ids.flat[selected], np.diff(counts[bounds]))
        return TokenizedTexts(ids, self.starts[selected], self.ends[selected], token_names, self.notices)

    def scores(self, texts: Sequence[str], columns: Floats, with_word_end: Floats | None = None) -> Scores:
        """The outputs, from one value per token in each column: log-probabilities, perhaps entropies and ranks.

        NaN is for none. `with_word_end` has the log-probabilities with the end of each word counted with that word.
        """
        bounds = np.append(0, np.cumsum(self.ids.lengths))
        optional_columns = dict(zip(("entropies", "ranks"), columns[1:], strict=False))
        if with_word_end is not None:
            optional_columns["logprobs_with_word_end"] = with_word_end
        # A slice of a tuple is a tuple: the columns of each text are cut out in one step.
        lists = {name: _or_none(values, int if name == "ranks" else float) for name, values in optional_columns.items()}
        extras = {
            index: TokenExtras(**{name: values[start:end] for name, values in lists.items()})
            for index, (start, end) in enumerate(pairwise(bounds.tolist()) if lists else ())
        }
        starts, ends = self.starts.astype(np.int32), self.ends.astype(np.int32)
        return Scores(texts, bounds, starts, ends, columns[0], self.token_names, self.notices, extras)


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """The special tokens before and after a text: `[CLS]` … `[SEP]`."""

    before: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, backend: Tokenizer) -> SpecialTokens:
        """As the tokenizer adds them."""
        encoded = backend.encode("a", add_special_tokens=True)
        text_tokens = [index for index, special in enumerate(encoded.special_tokens_mask) if not special]
        if not text_tokens:
            return cls(tuple(encoded.ids), ())
        return cls(tuple(encoded.ids[: text_tokens[0]]), tuple(encoded.ids[text_tokens[-1] + 1 :]))

    def add_to(self, texts: Ragged) -> Ragged:
        """The texts with the special tokens."""
        sides = np.stack([texts.starts, texts.starts + texts.lengths], axis=1)
        positions = np.repeat(sides, [len(self.before), len(self.after)], axis=1).ravel()
        special = np.tile(np.array(self.before + self.after, dtype=np.int64), len(texts))
        return Ragged(np.insert(texts.flat, positions, special), texts.lengths + len(self.before) + len(self.after))


def require_offsets(hf: PreTrainedTokenizerBase) -> None:
    """Refuse a tokenizer that does not tell where its tokens are."""
    if not hf.is_fast:
        raise ModelError(
            f"the tokenizer {type(hf).__name__} gives no character offsets, and scores need them. "
            "Convert it to a tokenizer.json (transformers: `convert_slow_tokenizer`) next to the model"
        )


class OffsetTokenizer:
    """Wraps a Hugging Face tokenizer: token ids and character offsets, no special tokens."""

    def __init__(self, hf: PreTrainedTokenizerBase) -> None:
        require_offsets(hf)
        self.hf = hf
        self._backend = hf.backend_tokenizer
        self._backend.no_truncation()
        self._backend.no_padding()
        shared = hf.unk_token_id in (hf.bos_token_id, hf.eos_token_id)
        self._unknown = Unknown(None if shared else hf.unk_token_id, hf.unk_token)
        self._drops = _dropping(self._backend)
        self._words = WordTokenCache(self._tokens_of) if tokenizes_words_separately(self._backend) else None

    @tokenizer_errors()
    def __call__(self, requests: Sequence[Request], *, cut: bool = True) -> TokenizedTexts:
        """The tokens of each request's text, up to the end of its span if `cut`."""
        texts = texts_of(requests)
        tokens = self._by_words(texts) or self._by_offsets(texts)
        return cut_off(tokens, requests) if cut else tokens

    def _by_words(self, texts: Sequence[str]) -> TokenizedTexts | None:
        columns = None if self._words is None or not texts else self._words(texts)
        return None if columns is None else TokenizedTexts(*columns, {})

    def _tokens_of(self, words: list[str]) -> list[Word] | None:
        tokens = self._by_offsets(words)
        if tokens.token_names or tokens.notices:
            return None
        bounds = np.append(0, np.cumsum(tokens.ids.lengths)).tolist()
        columns = [column.tolist() for column in (tokens.ids.flat, tokens.starts, tokens.ends)]
        return [Word(*(column[a:b] for column in columns)) for a, b in pairwise(bounds)]

    def _by_offsets(self, texts: Sequence[str]) -> TokenizedTexts:
        encoded = self._backend.encode_batch(list(texts), add_special_tokens=False)
        ids = Ragged.of([encoding.ids for encoding in encoded])
        tokens = TokenizedTexts.of(texts, ids, (encoding.offsets for encoding in encoded), self._unknown)
        if self._drops is not None:
            pairs = enumerate(zip(texts, encoded, strict=True))
            notices = {index: (DROPPED,) for index, (text, encoding) in pairs if self._drops(text, encoding.offsets)}
            tokens = replace(tokens, notices=notices)
        return tokens


def _dropping(backend: Tokenizer) -> Callable[[str, Sequence[tuple[int, int]]], bool] | None:
    """A function that tells whether a tokenizer drops characters of a text; None if it never does.

    BPE without an unknown token drops what its vocabulary lacks.
    """
    config = json.loads(backend.to_str())
    model = config["model"]
    if model["type"] != "BPE" or model.get("unk_token") is not None or model.get("byte_fallback"):
        return None
    if '"ByteLevel"' not in json.dumps([config["normalizer"], config["pre_tokenizer"]]):
        return _skips_letters
    from transformers.convert_slow_tokenizer import bytes_to_unicode

    known_bytes = bytes(byte for byte, name in bytes_to_unicode().items() if backend.token_to_id(name) is not None)
    if len(known_bytes) == 256:
        return None
    return lambda text, _: bool(text.encode("utf-8", "surrogatepass").translate(None, known_bytes))


def _skips_letters(text: str, offsets: Sequence[tuple[int, int]]) -> bool:
    last = 0
    for start, end in [*offsets, (len(text), len(text))]:
        if any(map(str.isalnum, text[last:start])):
            return True
        last = max(last, end)
    return False


@tokenizer_errors()
def word_spans(backend: Tokenizer, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """The spans of the words of each text, by the pre-tokenizer if it splits, else by white space."""
    if not splits_words(backend):
        return blank_spans(texts)
    spans: list[list[tuple[int, int]]] = []
    for text, encoding in zip(texts, backend.encode_batch(list(texts), add_special_tokens=False), strict=True):
        span_by_word: dict[object, tuple[int, int]] = {}
        for index, (word, (start, end)) in enumerate(zip(encoding.word_ids, encoding.offsets, strict=True)):
            name = (index,) if word is None else word  # a special token written in the text is a separate word
            low, high = span_by_word.get(name, (start, end))
            span_by_word[name] = (min(low, start), max(high, end))
        trimmed = ((first_visible(text, low), high) for low, high in span_by_word.values())
        spans.append([(low, low + len(text[low:high].rstrip())) for low, high in trimmed if text[low:high].strip()])
    return spans


def blank_spans(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """The spans of the words of each text, split at white space."""
    return [[match.span() for match in re.finditer(r"\S+", text)] for text in texts]


def splits_words(backend: Tokenizer) -> bool:
    """Whether the pre-tokenizer splits a text into words."""
    words = backend.encode("a b c", add_special_tokens=False).word_ids
    return len(set(words)) == len({"a", "b", "c"})


def word_ends(backend: Tokenizer, texts: Sequence[str], tokens: TokenizedTexts) -> Ints:
    """For each token, the number, in its text, of the first token after its word.

    Words are those of the pre-tokenizer: for BERT a run of letters or one punctuation mark, for RoBERTa a match of
    GPT-2's pattern. If it does not split, words are split at white space.
    """
    if splits_words(backend):
        encoded = backend.encode_batch(list(texts), add_special_tokens=False)
        numbers = ([-1 if word is None else word for word in encoding.word_ids] for encoding in encoded)
        words = flatten(numbers, len(tokens.ids.flat))
    else:
        words = _by_white_space(texts, tokens)
    of_text = np.repeat(np.arange(len(texts)), tokens.ids.lengths)
    opens = np.ones(len(words), dtype=bool)
    # A token without a word (-1) is a word by itself.
    opens[1:] = (words[1:] != words[:-1]) | (of_text[1:] != of_text[:-1]) | (words[1:] < 0)
    ends = np.append(np.flatnonzero(opens)[1:], len(words))[np.cumsum(opens) - 1]
    numbers_of_ends: Ints = ends - np.repeat(tokens.ids.starts, tokens.ids.lengths)
    return numbers_of_ends


def _by_white_space(texts: Sequence[str], tokens: TokenizedTexts) -> Ints:
    """For each token, the number of the word of its first visible character."""
    words = []
    for text in texts:
        opens = [not letter.isspace() and before.isspace() for before, letter in pairwise(f" {text}")]
        words.append(np.append(np.cumsum(opens), sum(opens) + 1))
    sizes = np.array([len(column) for column in words], dtype=np.int64)
    first = np.repeat(np.cumsum(sizes) - sizes, tokens.ids.lengths)
    word_numbers: Ints = np.concatenate([*words, np.zeros(0, dtype=np.int64)])[first + tokens.starts]
    return word_numbers


def cut_off(tokens: TokenizedTexts, requests: Sequence[Request]) -> TokenizedTexts:
    """The tokens up to the end of each request's span; white space at the end of a text belongs to a span to there."""
    if all(request.span is None for request in requests):
        return tokens
    ends = [len(request.text) if request.span is None else request.span[1] for request in requests]
    limits = [end + (end == len(request.text)) for end, request in zip(ends, requests, strict=True)]
    return tokens.keep(tokens.starts < np.repeat(np.array(limits), tokens.ids.lengths))


def score_by(
    key: Callable[[Request], Key], requests: Sequence[Request], score: Callable[[Sequence[Request], Key], Scores]
) -> Scores:
    """The outputs of `score`, which takes requests with the same key."""
    keys = list(map(key, requests))
    blocks: list[Scores] = []
    order: list[int] = []
    for group_key in dict.fromkeys(keys):
        indices = [index for index, request_key in enumerate(keys) if request_key == group_key]
        group = requests if len(indices) == len(keys) else [requests[index] for index in indices]
        blocks.append(score(group, group_key))
        order += indices
    return blocks[0] if len(blocks) == 1 else Scores.join(blocks).take(np.argsort(order))


def _or_none(values: Floats, kind: Callable[[float], float]) -> tuple[Any, ...]:
    return tuple(None if value != value else kind(value) for value in values.tolist())


def likeliest(logits: torch.Tensor, tokenizer: PreTrainedTokenizerBase, start: int, count: int) -> list[Token]:
    """The `count` most probable tokens by some logits, the most probable first; they begin at `start`.

    A token is written as in a text, with its space; a part of a character is written by its name.
    """
    import torch

    values, ids = torch.log_softmax(logits.float(), dim=-1).topk(min(count, logits.shape[-1]))
    texts = [_token_text(tokenizer, index) for index in ids.tolist()]
    return [Token(text, start, start, value) for text, value in zip(texts, values.tolist(), strict=True)]


def _token_text(tokenizer: PreTrainedTokenizerBase, index: int) -> str:
    text: str = tokenizer.decode([index], clean_up_tokenization_spaces=False)
    name: str | None = tokenizer.convert_ids_to_tokens(index)
    return text if text and "\ufffd" not in text else name or f"token {index}"


@dataclass(frozen=True, slots=True)
class SeparateWords:
    """The tokens of words that are tokenized apart from their contexts, as BabyLM's pipeline scores reading times.

    The text before each token is the context with the decoded tokens before it, tokenized again. The token is the first
    one of its decoded text.
    """

    requests: Sequence[Request]
    counts: list[int]
    """The number of tokens of each request."""
    contexts: list[str]
    targets: Ints
    spans: list[Span]
    """Where each token is in the text of its request."""

    @classmethod
    @tokenizer_errors()
    def of(cls, hf: PreTrainedTokenizerBase, requests: Sequence[Request]) -> SeparateWords:
        """From requests that say where their word begins (`Request.separate_word_start`)."""
        encode = hf.backend_tokenizer.encode
        counts, contexts = [], []
        targets, spans = [], []
        for request in requests:
            start = request.separate_word_start or 0
            context, previous = request.text[:start], ""
            word = encode(request.text[start:], add_special_tokens=False)
            for number, (token, (low, high)) in enumerate(zip(word.ids, word.offsets, strict=True)):
                context += previous
                previous = hf.decode([token])
                retokenized = encode(previous, add_special_tokens=False).ids if number else []
                contexts.append(context)
                targets.append(retokenized[0] if retokenized else token)
                spans.append((start + low, start + high))
            counts.append(len(word.ids))
        return cls(requests, counts, contexts, np.array(targets, dtype=np.int64), spans)

    def after(self, contexts: Ragged) -> Ragged:
        """Each token after the tokens of its context."""
        ends = contexts.starts + contexts.lengths
        return Ragged(np.insert(contexts.flat, ends, self.targets), contexts.lengths + 1)

    def scores(self, logprobs: Floats) -> Scores:
        """The outputs, from the log-probability of each token."""
        bounds = np.append(0, np.cumsum(self.counts))
        starts, ends = np.array(self.spans, dtype=np.int32).reshape(-1, 2).T
        return Scores(texts_of(self.requests), bounds, starts, ends, logprobs)
