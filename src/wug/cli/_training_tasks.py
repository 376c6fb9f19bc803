"""The data and the model of each kind of `wug train`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from wug.cli import _common as common
from wug.cli._training import device_of, train, unfinished
from wug.errors import InputError
from wug.train.options import LSTM_DEFAULTS, LSTM_ONLY_OPTIONS, NetworkSize, Training

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from wug.train.corpus import Ids, TokenRows
    from wug.train.steps import TrainingTask

END, UNKNOWN = "<eos>", "<unk>"
"""Special tokens of a word-level LSTM."""


TOKEN_MODEL_HELP = """Train a {kind} language model with {architecture}'s architecture on TEXTS.

TEXTS are plain text files with one paragraph per line, also .gz or .xz. The model sees one sentence at a time.

\b
wug train {kind} corpus.txt -o tiny --steps 9 --layers 1 --batch-size 8 --vocab 400     a quick trial
wug train {kind} corpus.txt -o my-model --steps 6000
wug run wug_agreement_pp --model my-model
"""


def token_model(kind: str, training: Training) -> None:
    """Train a causal or a masked language model and its tokenizer."""
    from wug.train.corpus import cached_tokenizer, encode
    from wug.train.text_models import CausalTask, MaskedTask
    from wug.train.vocabulary import causal_tokenizer, encode_all, masked_tokenizer

    is_causal = kind == "causal"
    make_tokenizer = causal_tokenizer if is_causal else masked_tokenizer
    make_task = CausalTask if is_causal else MaskedTask
    corpus, size = _Corpus(training), _network_size(training)
    size.require_pairs()
    settings = {**corpus.settings(kind), "heads": training.heads}
    if not unfinished(training, settings):
        return

    def make() -> PreTrainedTokenizerFast:
        common.say(f"training a tokenizer with {training.vocab:,} tokens")
        return make_tokenizer(corpus.units, training.vocab)

    tokenizer = cached_tokenizer(training.output, make)
    bos, end = (tokenizer.bos_token_id, None) if is_causal else (tokenizer.cls_token_id, tokenizer.sep_token_id)
    rows = corpus.rows(lambda: encode(corpus.units, lambda texts: encode_all(tokenizer, texts), bos, end), bos)
    device = device_of(training)
    bfloat16 = training.precision_on(device) == "bfloat16"
    task = make_task(tokenizer, size, rows=rows, device=device, bfloat16=bfloat16)
    train(task, training, device, settings, corpus.description)


def lstm(training: Training) -> None:
    """Train a word-level LSTM on TEXTS.

    TEXTS are plain text files with one paragraph per line, also .gz or .xz. The vocabulary is the most frequent words;
    other words are <unk>. Each sentence starts after <eos>.

    \b
    wug train lstm corpus.txt -o tiny --steps 9 --layers 1 --batch-size 8 --vocab 400     a quick trial
    wug train lstm corpus.txt -o my-lstm --steps 6000 --vocab 20000
    wug run wug_agreement_pp --model my-lstm
    """
    from wug.models import read_words, write_words
    from wug.train.checkpoint import TrainingFolder
    from wug.train.corpus import encode
    from wug.train.text_models import LSTMTask, WordVocabulary
    from wug.train.vocabulary import frequent_words, word_ids

    corpus, size, lowercase = _Corpus(training), _network_size(training), training.lowercase
    settings = {**corpus.settings("lstm"), "words": training.words, "lowercase": lowercase}
    if not unfinished(training, settings):
        return
    vocabulary = training.output / "training" / "vocab.txt"
    if TrainingFolder(training.output).begun and vocabulary.exists():
        names, _ = read_words(vocabulary)
    else:
        common.say(f"choosing {training.vocab:,} words")
        special = (END, UNKNOWN)
        names = frequent_words(corpus.units, training.words, size=training.vocab, lowercase=lowercase, special=special)
        write_words(vocabulary, names)
    bos = names.index(END)

    def make() -> Ids:
        return encode(
            corpus.units, lambda texts: word_ids(texts, training.words, names, UNKNOWN, lowercase=lowercase), bos
        )

    rows = corpus.rows(make, bos)
    device = device_of(training)
    words, bfloat16 = WordVocabulary(names, training.words, lowercase), training.precision_on(device) == "bfloat16"
    task = LSTMTask(words, size, bos=bos, rows=rows, device=device, bfloat16=bfloat16)
    train(task, training, device, settings, corpus.description)


def seq2seq(training: Training) -> None:
    """Train a sequence-to-sequence model on SOURCE: a PCFG SET, SCAN or COGS folder, or a file of one.

    The vocabulary is the words of the training set. A T5 has relative positions; an LSTM reads the source in both
    directions. Both have as many layers in the encoder as in the decoder.

    \b
    wug train seq2seq my_scan -o tiny --steps 9 --layers 1 --batch-size 8     a quick trial
    wug train seq2seq my_pcfgset -o my-lstm --epochs 6 --network lstm
    wug train seq2seq cogs/train.tsv -o my-cogs --steps 20000 --layers 2
    wug train seq2seq exceptions/ -o profile --epochs 25 --suite exceptions/     a run after each epoch
    """
    from wug.train.examples import MAX_BUCKETS, read_examples
    from wug.train.seq2seq import AttentionLSTMTask, LSTMVariant, T5Task, query_share

    # A CUDA graph is as fast as a compiled model, without minutes of compiling every shape.
    training = replace(training, compile=bool(training.compile))
    is_lstm = training.network == "lstm"
    training = _with_lstm_defaults(training) if is_lstm else _without_lstm_options(training)
    size = _network_size(training)
    examples = read_examples(training.source)
    sizes = _sizes(training)
    variant = {name: getattr(training, name) for name in LSTM_ONLY_OPTIONS}
    if is_lstm:
        sizes |= {name: value for name, value in variant.items() if value != LSTM_ONLY_OPTIONS[name]}
    else:
        sizes |= {"heads": training.heads, "query_share": query_share(size)}
        sizes |= {"share_layers": True} if training.share_layers else {}
    kind = "attention_lstm" if is_lstm else "seq2seq"
    settings = {"kind": kind, "examples": examples.checksum, "parts": MAX_BUCKETS, **sizes}
    if not unfinished(training, settings):
        return
    device = device_of(training)
    batches: dict[str, Any] = {"batch": training.batch_size, "seed": training.seed, "device": device}
    task: TrainingTask = (
        AttentionLSTMTask(examples, size, LSTMVariant(**variant), **batches)
        if is_lstm
        else T5Task(examples, size, **batches)
    )
    description = f"{training.source.name} ({examples.checksum}), {len(examples.sources):,} examples"
    train(task, training, device, settings, description)


class _Corpus:
    """The training text, read only when it is needed."""

    def __init__(self, training: Training) -> None:
        self._training = training

    @cached_property
    def units(self) -> list[str]:
        """Sentences or paragraphs."""
        from wug.train.corpus import read_units

        texts = self._training.texts
        common.say(f"reading {', '.join(map(str, texts))}")
        return read_units(texts, self._training.unit, self._training.seed)

    @property
    def checksum(self) -> str:
        from wug.train.corpus import corpus_checksum

        return corpus_checksum(self._training.texts)

    @property
    def description(self) -> str:
        """For the model card."""
        names = ", ".join(path.name for path in self._training.texts)
        return f"{names} ({self.checksum}), {self._training.unit}s in rows of {self._training.context_length} tokens"

    def rows(self, make: Callable[[], Ids], bos: int) -> TokenRows:
        """Rows of the token ids that `make` returns, if they are not cached."""
        from wug.train.corpus import TokenRows, TokenStream, cached_ids

        length = self._training.context_length
        stream = TokenStream.of(cached_ids(self._training.output, make), bos)
        if len(stream.ids) <= length + 1:
            raise InputError(
                f"{len(stream.ids):,} tokens of text are not enough for a row of {length}: use more text, or a smaller "
                "--context-length"
            )
        return TokenRows(stream, length, self._training.batch_size, self._training.seed, self._training.unit)

    def settings(self, kind: str) -> dict[str, Any]:
        """What the loss depends on, besides the schedule."""
        training = self._training
        text = {"kind": kind, "text": self.checksum, "unit": training.unit, "vocab": training.vocab}
        return {**text, "length": training.context_length, **_sizes(training)}


def _sizes(training: Training) -> dict[str, Any]:
    """The network sizes by their names in recipe.json."""
    return {
        "layers": training.layers,
        "width": training.embedding_size,
        "inner": training.ffn_size,
        "dropout": training.dropout,
    }


def _network_size(training: Training) -> NetworkSize:
    return NetworkSize(
        layers=training.layers,
        embedding_size=training.embedding_size,
        heads=training.heads,
        ffn_size=training.ffn_size,
        dropout=training.dropout,
        shared=training.share_layers,
    )


def _with_lstm_defaults(training: Training) -> Training:
    context = click.get_current_context()

    def is_set(name: str) -> bool:
        return context.get_parameter_source(name) is not ParameterSource.DEFAULT

    if is_set("heads"):
        raise click.UsageError("--heads is for --network t5: an LSTM attends with one head")
    if training.share_layers:
        raise click.UsageError("--share-layers is for --network t5")
    defaults: dict[str, Any] = {name: value for name, value in LSTM_DEFAULTS.items() if not is_set(name)}
    return replace(training, heads=1, **defaults)


def _without_lstm_options(training: Training) -> Training:
    for name, default in LSTM_ONLY_OPTIONS.items():
        if getattr(training, name) != default:
            raise click.UsageError(f"--{name.replace('_', '-')} is for --network lstm")
    return training
