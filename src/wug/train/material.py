"""The data and the model of each kind of `wug train`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wug.errors import InputError
from wug.train.checkpoint import TrainingFolder
from wug.train.options import NETWORK_OPTIONS, Training

if TYPE_CHECKING:
    from wug.train.corpus import Ids, TokenRows
    from wug.train.steps import TrainingTask

END, UNKNOWN = "<eos>", "<unk>"
"""Special tokens of a word-level LSTM."""
SIZES = ("layers", "embedding_size", "ffn_size", "dropout")


def material_of(training: Training, notify: Callable[[str], None]) -> TextMaterial | ExampleMaterial:
    """The data and the model of a training."""
    return ExampleMaterial(training) if training.kind == "seq2seq" else TextMaterial(training, notify)


class TextMaterial:
    """Texts for a causal or a masked language model, or for a word-level LSTM."""

    def __init__(self, training: Training, notify: Callable[[str], None]) -> None:
        from wug.train.corpus import corpus_checksum

        self._training, self._size = training, training.size
        self._notify = notify
        if training.kind != "lstm":
            self._size.require_pairs()
        checksum = corpus_checksum(training.texts)
        names = ("words", "lowercase") if training.kind == "lstm" else ("heads",)
        values = training.values(("kind", "unit", "vocab", "context_length", *SIZES, *names))
        self.settings: dict[str, Any] = {**values, "text": checksum}
        """What the loss depends on, besides the schedule, with the name of the backend as `kind`."""
        files = ", ".join(path.name for path in training.texts)
        self.description = f"{files} ({checksum}), {training.unit}s in rows of {training.context_length} tokens"

    def task(self, device: str) -> TrainingTask:
        """The new model with its rows of tokens."""
        bfloat16 = self._training.precision_on(device) == "bfloat16"
        return (
            self._word_lstm(device, bfloat16) if self._training.kind == "lstm" else self._transformer(device, bfloat16)
        )

    def _transformer(self, device: str, bfloat16: bool) -> TrainingTask:
        from wug.train.corpus import cached_tokenizer, encode
        from wug.train.text_models import CausalTask, MaskedTask
        from wug.train.vocabulary import causal_tokenizer, encode_all, masked_tokenizer

        training, is_causal = self._training, self._training.kind == "causal"

        def make_tokenizer() -> Any:
            self._notify(f"training a tokenizer with {training.vocab:,} tokens")
            return (causal_tokenizer if is_causal else masked_tokenizer)(self._units, training.vocab)

        tokenizer = cached_tokenizer(training.output, make_tokenizer)
        bos = tokenizer.bos_token_id if is_causal else tokenizer.cls_token_id
        end = None if is_causal else tokenizer.sep_token_id
        rows = self._rows(lambda: encode(self._units, lambda texts: encode_all(tokenizer, texts), bos, end), bos)
        make_task = CausalTask if is_causal else MaskedTask
        return make_task(tokenizer, self._size, rows=rows, device=device, bfloat16=bfloat16)

    def _word_lstm(self, device: str, bfloat16: bool) -> TrainingTask:
        from wug.models.tokenization.words import read_words, write_words
        from wug.train.corpus import encode
        from wug.train.text_models import LSTMTask
        from wug.train.vocabulary import frequent_words, word_ids

        training = self._training
        mode, lowercase = training.words, training.lowercase
        path = training.output / "training" / "vocab.txt"
        if TrainingFolder(training.output).begun and path.exists():
            names, _ = read_words(path)
        else:
            self._notify(f"choosing {training.vocab:,} words")
            special = (END, UNKNOWN)
            names = frequent_words(self._units, mode, size=training.vocab, lowercase=lowercase, special=special)
            write_words(path, names)
        bos = names.index(END)

        def ids_of(texts: list[str]) -> Any:
            return word_ids(texts, mode, names, UNKNOWN, lowercase=lowercase)

        rows = self._rows(lambda: encode(self._units, ids_of, bos), bos)
        material: dict[str, Any] = {"rows": rows, "device": device, "bfloat16": bfloat16}
        return LSTMTask(names, self._size, words=mode, lowercase=lowercase, **material)

    @cached_property
    def _units(self) -> list[str]:
        """Sentences or paragraphs, read when they are first needed."""
        from wug.train.corpus import read_units

        self._notify(f"reading {', '.join(map(str, self._training.texts))}")
        return read_units(self._training.texts, self._training.unit, self._training.seed)

    def _rows(self, make: Callable[[], Ids], bos: int) -> TokenRows:
        """Rows of the token ids that `make` returns, if they are not cached."""
        from wug.train.corpus import TokenRows, cached_ids

        length, ids = self._training.context_length, cached_ids(self._training.output, make)
        if len(ids) <= length + 1:
            raise InputError(
                f"{len(ids):,} tokens of text are not enough for a row of {length}: use more text, or a smaller "
                "--context-length"
            )
        return TokenRows(ids, bos, length, self._training.batch_size, self._training.seed, self._training.unit)


class ExampleMaterial:
    """Pairs of source and target for a T5, or for an LSTM with attention."""

    def __init__(self, training: Training) -> None:
        from wug.train.examples import MAX_BUCKETS, read_examples
        from wug.train.seq2seq import query_share

        self._training, self._size = training, training.size
        self._examples = read_examples(training.source)
        checksum = self._examples.checksum
        self.settings: dict[str, Any] = {"examples": checksum, "parts": MAX_BUCKETS, **training.values(SIZES)}
        if training.network == "lstm":
            self.settings["kind"] = "attention_lstm"
        else:
            self.settings |= {"kind": "seq2seq", "heads": training.heads, "query_share": query_share(self._size)}
        self.settings |= training.changed(("share_layers", *NETWORK_OPTIONS["lstm"]))
        self.description = f"{training.source.name} ({checksum}), {len(self._examples.sources):,} examples"

    def task(self, device: str) -> TrainingTask:
        """The new model with tables of examples."""
        from wug.train.seq2seq import AttentionLSTMTask, T5Task

        training = self._training
        batches: dict[str, Any] = {"batch": training.batch_size, "seed": training.seed, "device": device}
        if training.network == "t5":
            return T5Task(self._examples, self._size, **batches)
        return AttentionLSTMTask(self._examples, self._size, **training.values(NETWORK_OPTIONS["lstm"]), **batches)
