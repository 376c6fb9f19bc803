"""What each kind of `wug train` learns from: the corpus, its tokenizer or words, its rows; or examples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from wug.cli import _common as common
from wug.cli.train._training import device_of, train, unfinished
from wug.train.options import LSTM_ALONE, OF_LSTM, Training
from wug.train.shape import Shape

if TYPE_CHECKING:
    from wug.train.corpus import Rows

END, UNKNOWN = "<eos>", "<unk>"
"""Special tokens of a word-level LSTM."""


def causal(training: Training) -> None:
    """Train a causal language model of Llama's shape on TEXTS: files with a paragraph a line,
    also .gz or .xz.

    Sentences are seen one by one: those that share a row do not see each other.

    \b
    wug train causal corpus.txt -o my-model --steps 6000
    wug train causal corpus.txt -o tiny --steps 300 --layers 2 --embedding-size 64 --inner 128
    wug run wug_agreement_pp --model my-model
    """
    from wug.train.causal import CausalLesson
    from wug.train.tokens import causal_tokenizer

    _train_tokens(training, "causal", causal_tokenizer, CausalLesson, opening="bos", closing=None)


def masked(training: Training) -> None:
    """Train a masked language model of ModernBERT's shape on TEXTS: files with a paragraph a line,
    also .gz or .xz.

    Sentences are seen one by one: those that share a row do not see each other.

    \b
    wug train masked corpus.txt -o my-model --steps 6000
    wug train masked corpus.txt -o tiny --steps 300 --layers 2 --embedding-size 64 --inner 128
    wug run wug_agreement_pp --model my-model
    """
    from wug.train.masked import MaskedLesson
    from wug.train.tokens import masked_tokenizer

    _train_tokens(training, "masked", masked_tokenizer, MaskedLesson, opening="cls", closing="sep")


def _train_tokens(
    training: Training,
    kind: str,
    make_tokenizer: Callable[..., Any],
    lesson: Callable[..., Any],
    *,
    opening: str,
    closing: str | None,
) -> None:
    """Train a model that reads tokens; its tokenizer calls the marks around a text `opening` and `closing`."""
    from wug.train.corpus import encode
    from wug.train.prepared import kept_tokenizer
    from wug.train.tokens import encode_all

    corpus, shape = Corpus(training), _shape(training, training.heads)
    shape.require_pairs()
    material = {**corpus.material(kind), "heads": training.heads}
    if not unfinished(training, material):
        return

    def make() -> Any:
        common.say(f"making a tokenizer of {training.vocab:,} tokens")
        return make_tokenizer(corpus.units, training.vocab)

    tokenizer = kept_tokenizer(training.output, make)
    bos = getattr(tokenizer, f"{opening}_token_id")
    end = getattr(tokenizer, f"{closing}_token_id") if closing else None
    rows = corpus.rows(lambda: encode(corpus.units, lambda texts: encode_all(tokenizer, texts), bos, end), bos)
    device = device_of(training)
    bfloat16 = training.precision_on(device) == "bfloat16"
    made = lesson(tokenizer, shape, rows=rows, device=device, bfloat16=bfloat16)
    train(made, training, device, material, corpus.about)


def lstm(training: Training) -> None:
    """Train a word-level LSTM on TEXTS: files with a paragraph a line, also .gz or .xz.

    The model knows the most frequent words; the rest are <unk>. A sentence begins after <eos>.

    \b
    wug train lstm corpus.txt -o my-lstm --steps 6000 --vocab 20000
    wug run wug_agreement_pp --model my-lstm
    """
    from wug.models import read_words, write_words
    from wug.train.checkpoint import Checkpoint
    from wug.train.corpus import encode
    from wug.train.lstm import LSTMLesson, Words
    from wug.train.words import frequent_words, numbers

    corpus, shape, lowercase = Corpus(training), _shape(training), training.lowercase
    material = {**corpus.material("lstm"), "words": training.words, "lowercase": lowercase}
    if not unfinished(training, material):
        return
    kept = training.output / "training" / "vocab.txt"
    if Checkpoint(training.output).begun and kept.exists():
        names, _ = read_words(kept)
    else:
        common.say(f"choosing {training.vocab:,} words")
        special = (END, UNKNOWN)
        names = frequent_words(corpus.units, training.words, size=training.vocab, lowercase=lowercase, special=special)
        write_words(kept, names)
    bos = names.index(END)

    def make() -> Any:
        return encode(
            corpus.units, lambda texts: numbers(texts, training.words, names, UNKNOWN, lowercase=lowercase), bos
        )

    rows = corpus.rows(make, bos)
    device = device_of(training)
    words, bfloat16 = Words(names, training.words, lowercase), training.precision_on(device) == "bfloat16"
    lesson = LSTMLesson(words, shape, bos=bos, rows=rows, device=device, bfloat16=bfloat16)
    train(lesson, training, device, material, corpus.about)


def seq2seq(training: Training) -> None:
    """Train a model that turns SOURCE's sources into its targets: a PCFG SET or COGS folder, or a file of one.

    The model knows the words of the training set. One of T5's shape has relative positions; an LSTM reads the
    source from both sides. Both have as many layers in the encoder as in the decoder.

    \b
    wug make pcfgset --samples 400000 --seed 1 -o data
    wug train seq2seq data -o my-pcfg --epochs 6
    wug train seq2seq data -o my-lstm --epochs 6 --network lstm
    wug train seq2seq cogs/train.tsv -o my-cogs --steps 20000 --layers 2
    wug train seq2seq exceptions/ -o profile --epochs 25 --suite exceptions/     a run after each epoch
    """
    from wug.train.examples import PARTS, read_examples
    from wug.train.seq2seq import query_share

    kind = "seq2seq"
    # A recorded step is as fast as a compiled one, without minutes of compiling every shape.
    training = replace(training, compile=bool(training.compile))
    if training.network == "lstm":
        kind, training = "attention_lstm", _as_lstm(training)
    else:
        _require_t5(training)
    shape = _shape(training, training.heads)
    examples = read_examples(training.source)
    sizes = _sizes(training)
    chosen: dict[str, Any] = {}
    if training.network == "lstm":
        chosen = {name: getattr(training, name) for name in LSTM_ALONE}
        sizes |= {name: value for name, value in chosen.items() if value != LSTM_ALONE[name]}
    if training.network == "t5":
        sizes |= {"heads": training.heads, "query_share": query_share(shape)}
        sizes |= {"share_layers": True} if training.share_layers else {}
    material = {"kind": kind, "examples": examples.checksum, "parts": PARTS, **sizes}
    if not unfinished(training, material):
        return
    device = device_of(training)
    lesson = _lesson(kind)(examples, shape, batch=training.batch_size, seed=training.seed, device=device, **chosen)
    about = f"{training.source.name} ({examples.checksum}), {len(examples.sources):,} examples"
    train(lesson, training, device, material, about)


class Corpus:
    """The text, read only when it is needed."""

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
        """A checksum of the files."""
        from wug.train.corpus import corpus_checksum

        return corpus_checksum(self._training.texts)

    @property
    def about(self) -> str:
        """For the card."""
        names = ", ".join(path.name for path in self._training.texts)
        return f"{names} ({self.checksum}), {self._training.unit}s in rows of {self._training.context_length} tokens"

    def rows(self, make: Callable[[], Any], bos: int) -> Rows:
        """The rows of the text, whose numbers `make` gives where they are not kept already."""
        from wug.errors import InputError
        from wug.train.corpus import Rows, Stream
        from wug.train.prepared import kept_ids

        length = self._training.context_length
        stream = Stream.of(kept_ids(self._training.output, make), bos)
        if len(stream.ids) <= length + 1:
            raise InputError(
                f"{len(stream.ids):,} tokens of text are not enough for a row of {length}: "
                "give more text, or a smaller --context-length"
            )
        return Rows(stream, length, self._training.batch_size, self._training.seed, self._training.unit)

    def material(self, kind: str) -> dict[str, Any]:
        """What the loss depends on, besides the recipe."""
        given = self._training
        text = {"kind": kind, "text": self.checksum, "unit": given.unit, "vocab": given.vocab}
        return {**text, "length": given.context_length, **_sizes(given)}


def _sizes(training: Training) -> dict[str, Any]:
    """Those of the network, by the names that they have in recipe.json."""
    return {
        "layers": training.layers,
        "width": training.embedding_size,
        "inner": training.inner,
        "dropout": training.dropout,
    }


def _shape(training: Training, heads: int = 1) -> Shape:
    return Shape(
        training.layers, training.embedding_size, heads, training.inner, training.dropout, training.share_layers
    )


def _as_lstm(training: Training) -> Training:
    """With what an LSTM has in place of options that the user did not give; an error for one that it does not have."""
    context = click.get_current_context()

    def given(name: str) -> bool:
        return context.get_parameter_source(name) is not ParameterSource.DEFAULT

    if given("heads"):
        raise click.UsageError("--heads is for --network t5: an LSTM attends with one head")
    if training.share_layers:
        raise click.UsageError("--share-layers is for --network t5")
    own: dict[str, Any] = {name: value for name, value in OF_LSTM.items() if not given(name)}
    return replace(training, heads=1, **own)


def _require_t5(training: Training) -> None:
    """An error for an option that a T5 does not have."""
    for name, usual in LSTM_ALONE.items():
        if getattr(training, name) != usual:
            raise click.UsageError(f"--{name.replace('_', '-')} is for --network lstm")


def _lesson(kind: str) -> Any:
    if kind == "attention_lstm":
        from wug.train.attention_lstm import AttentionLSTMLesson

        return AttentionLSTMLesson
    from wug.train.seq2seq import Seq2SeqLesson

    return Seq2SeqLesson
