"""LSTM encoder–decoders with attention, as `wug train` makes them: `attention_lstm:folder`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import InputError, ModelError, first_line, needs_extra
from wug.files import read_object, user_path
from wug.models.decoding import outputs
from wug.models.decoding.outputs import Decoded
from wug.models.decoding.teacher_forcing import END as SCORE_END
from wug.models.decoding.teacher_forcing import SOURCE, ScorerInfo, SourceScorer, TeacherForcing, refuse_unused
from wug.models.hardware import compute_in_halves, pick_device
from wug.models.lstm import weights as lstm_weights
from wug.models.lstm.weights import CONFIG, VOCABULARY, WEIGHTS, fingerprint, read_safetensors, require_shapes
from wug.models.spec import BATCH, DEVICE, DTYPE, FLOATS, MAX_LENGTH, Identity, ModelSpec
from wug.models.tokenization.tokens import TokenizedTexts
from wug.models.tokenization.words import (
    Vocabulary,
    read_words,
    scored_tokens,
    split_words,
    to_word_ids,
    words_of,
    write_words,
)
from wug.models.weights.fingerprints import unchanged
from wug.options import Option
from wug.requests import Answer, Request
from wug.traits import BackendTraits

if TYPE_CHECKING:
    from wug.models.attention_lstm.network import AttentionLSTM

MODEL_TYPE = "wug-attention-lstm"
PAD, START, END, UNKNOWN = SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
"""Special tokens of every vocabulary: padding, the start and the end of an answer, unknown words."""
ATTENTIONS = ("general", "dot")
STARTS = ("even", "normal")
"""Initial weights. Even: uniform in a small range, with forget gates open. Normal: PyTorch's defaults."""


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """The architecture of an attention LSTM."""

    vocabulary: int
    """Words, of sources and answers together."""
    layers: int = 2
    """Of the encoder, and of the decoder."""
    width: int = 256
    """Embedding size."""
    hidden: int = 512
    """Layer size; in the encoder half of it reads forwards, half backwards."""
    attention: str = "general"
    """general, with a matrix between answer and source, or dot."""
    tied: bool = True
    """Whether the output layer shares the embeddings of answers."""
    dropout: float = 0.1

    @property
    def attended(self) -> int:
        """Input size of the output layer."""
        return self.width if self.tied else self.hidden


def source_numbers(text: str, vocabulary: Vocabulary) -> list[int]:
    """The word numbers of a source, and the end token."""
    unknown = vocabulary.index[UNKNOWN]
    return [*(vocabulary.index.get(word, unknown) for word in words_of(text, "spaces")), vocabulary.index[END]]


def save_attention_lstm(
    folder: Path, model: AttentionLSTM, vocabulary: Sequence[str], *, dtype: str | None = None
) -> None:
    """Write a folder that `attention_lstm:FOLDER` reads, in `dtype` (default: the model's own)."""
    import torch

    shape: AttentionShape = model.shape
    tensors = {name.removeprefix("_orig_mod."): value for name, value in model.state_dict().items()}
    if shape.tied:
        del tensors["output.weight"]
    if dtype is not None:
        tensors = {name: value.to(getattr(torch, dtype)) for name, value in tensors.items()}
    write_words(folder / VOCABULARY, vocabulary)
    lstm_weights.write_tensors(folder / WEIGHTS, tensors)
    header = {"architectures": ["AttentionLSTM"], "model_type": MODEL_TYPE}
    # Last, because it is what makes the folder a model.
    lstm_weights.write_config(folder / CONFIG, {**header, **asdict(shape)})


def load_attention_lstm(folder: Path) -> tuple[AttentionLSTM, Vocabulary]:
    """The model in a folder, in float32 and evaluation mode, and its vocabulary."""
    import torch

    from wug.models.attention_lstm.network import AttentionLSTM

    shape = _read_shape(folder / CONFIG)
    vocabulary = make_vocabulary(read_words(folder / VOCABULARY)[0], file=folder / VOCABULARY)
    if len(vocabulary.names) != shape.vocabulary:
        raise ModelError(
            f"{folder}: {CONFIG} says that it has {shape.vocabulary:,} words, and {VOCABULARY} has "
            f"{len(vocabulary.names):,}: this is another model's vocabulary"
        )
    tensors = read_safetensors(folder / WEIGHTS)
    largest = max([len(tensors), *(length for tensor in tensors.values() for length in tensor.shape)])
    for name in ("layers", "width", "hidden"):
        if (value := getattr(shape, name)) > largest:
            raise ModelError(f"{folder}: {CONFIG} says {name} {value:,}, which its weights rule out")
    with torch.random.fork_rng(devices=[]):  # initial weights that are overwritten must not change the user's seed
        model = AttentionLSTM(shape)
    expected = {name: tensor.shape for name, tensor in model.state_dict().items()}
    if shape.tied:
        del expected["output.weight"]
    require_shapes(folder / WEIGHTS, expected, tensors)
    model.load_state_dict({name: value.float() for name, value in tensors.items()}, strict=False)
    return model.eval().requires_grad_(False), vocabulary


def make_vocabulary(names: Sequence[str], *, file: Path | None = None) -> Vocabulary:
    """A vocabulary that has all special tokens; `file` is for errors."""
    if missing := [token for token in SPECIAL if token not in names]:
        raise InputError(f"has no {missing[0]}; an attention LSTM needs {' '.join(SPECIAL)}", file=file)
    index = {name: number for number, name in enumerate(names)}
    return Vocabulary(names, index, index[UNKNOWN], index[END], lowercase=False)


def _read_shape(path: Path) -> AttentionShape:
    config = read_object(path)
    lstm_weights.require_type(path, config, MODEL_TYPE)
    dropout = config.get("dropout", 0.0)
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise InputError(f"is {json.dumps(dropout)}; expected a number from 0 to 1", file=path, place="dropout")
    fields = lstm_weights.fields_in(path, config, AttentionShape, attention=ATTENTIONS)
    if (hidden := fields["hidden"]) % 2:
        raise InputError(f"is {hidden}; expected an even number, half for each direction", file=path, place="hidden")
    return AttentionShape(**fields, dropout=dropout)


TRAITS = BackendTraits(
    returns="text",
    architectures=("AttentionLSTM",),
    uses_device=True,
    source_options={"score": "source"},
    windows=True,
    to_score="Open it with score=source",
    to_generate="Open it without score=source",
)
"""With score=source it returns scores."""
OPTIONS = (
    replace(MAX_LENGTH, help=MAX_LENGTH.help.replace("tokens", "words")),
    replace(DTYPE, type=FLOATS, help="dtype of weights and arithmetic"),
    DEVICE,
    replace(BATCH, help=BATCH.help.replace("tokens", "words")),
    Option("score", ("no", "source"), "no", "score texts as outputs for a source instead of generating"),
    SOURCE,
    SCORE_END,
)
UNUSED: Mapping[str, Mapping[str, Any]] = {"no": {"source": "", "eos": False}, "source": {"max_length": None}}
"""For each value of the option score, the options without effect and their defaults."""


class AttentionLSTMModel:
    """An LSTM with attention that generates answers to sources."""

    def __init__(self, name: str, model: AttentionLSTM, vocabulary: Vocabulary, options: Mapping[str, Any]) -> None:
        self._model, self._vocabulary = model, vocabulary
        self._max_length: int | None = options["max_length"]
        on_gpu = model.output.bias.device.type == "cuda"
        self._tokens: int = options["batch"] or (1 << 18 if on_gpu else 1 << 14)
        self.id = name
        self.options: Mapping[str, str] = _signature(options)
        self.chunk = 16384 if on_gpu else 512

    def generate(self, sources: Sequence[str]) -> list[Answer]:
        """One answer per source, in order."""
        return outputs.map_distinct(sources, self._generate)

    def _generate(self, sources: list[str]) -> list[Answer]:
        rows = [source_numbers(source, self._vocabulary) for source in sources]
        limits = [outputs.token_limit(len(row), self._max_length) for row in rows]
        decoded: dict[int, Decoded] = {}
        for batch in outputs.plan_batches([len(row) for row in rows], limits, tokens=self._tokens):
            decoded.update(zip(batch, self._decode([rows[n] for n in batch], limits[batch[0]]), strict=True))
        names, unknown = self._vocabulary.names, self._vocabulary.unknown
        answers = []
        for n, row in enumerate(rows):
            text = " ".join(names[word] for word in decoded[n].tokens)
            answers.append(outputs.make_answer(text, ended=decoded[n].ended, source_known=unknown not in row))
        return answers

    def _decode(self, rows: Sequence[Sequence[int]], limit: int) -> list[Decoded]:
        from wug.models.attention_lstm import network

        def decode(low: int, high: int) -> list[Decoded]:
            return network.decode_greedily(self._model, self._vocabulary, rows[low:high], limit)

        longest = max(map(len, rows))
        return [*chain.from_iterable(compute_in_halves(decode, range(len(rows)), longest, f"words in {self.id}"))]


@dataclass(frozen=True, slots=True)
class WordScoringTokenizer:
    """Words of a vocabulary, split at white space."""

    vocabulary: Vocabulary
    eos: bool

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        """The word numbers of sources, with the end token."""
        return [source_numbers(text, self.vocabulary) for text in texts]

    def answers(self, requests: Sequence[Request]) -> TokenizedTexts:
        """The words of texts up to the ends of their spans."""
        words = [to_word_ids(request, self.vocabulary, end=self.eos) for request in requests]
        return scored_tokens(requests, words, self.vocabulary)

    def words(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The spans of the words of each text."""
        return [split_words(text, self.vocabulary.words) for text in texts]


def identify(spec: ModelSpec) -> Identity | None:
    """The model's identity, from its files; None if only loading tells."""
    options = spec.read(OPTIONS)
    refuse_unused(options, UNUSED)
    folder = user_path(spec.name)
    if not all((folder / name).is_file() for name in (CONFIG, WEIGHTS, VOCABULARY)):
        return None
    name = _name(folder, read_words(folder / VOCABULARY)[0])
    return Identity(name, _signature(options), "scores" if options["score"] == "source" else "text")


def load(spec: ModelSpec) -> AttentionLSTMModel | SourceScorer:
    """Load the model in a folder; with score=source, as a scorer."""
    options = spec.read(OPTIONS)
    refuse_unused(options, UNUSED)
    folder = user_path(spec.name)
    if not folder.is_dir():
        raise ModelError(f"{spec}: no such folder. Give a folder that wug train made")
    with needs_extra("an attention_lstm model", "hf"):
        import torch
    with unchanged(folder):
        model, vocabulary = load_attention_lstm(folder)
        name = _name(folder, vocabulary.names)
    device = pick_device(options["device"])
    try:
        model = model.to(device=torch.device(device), dtype=getattr(torch, options["dtype"]))
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"{spec}: cannot move to device {device!r}: {first_line(error)}") from error
    if options["score"] != "source":
        return AttentionLSTMModel(name, model, vocabulary, options)
    from wug.models.attention_lstm.network import AttentionEncoderDecoder

    network = AttentionEncoderDecoder(model)
    chunk = 16384 if network.device.type == "cuda" else 1024
    info = ScorerInfo(name, _signature(options), chunk, [vocabulary.index[START]])
    tokenizer = WordScoringTokenizer(vocabulary, options["eos"])
    return SourceScorer(info, tokenizer, TeacherForcing(network, options["batch"]), options["source"])


def _name(folder: Path, words: Sequence[str]) -> str:
    return f"attention_lstm/{folder.resolve().name}@{fingerprint(folder / WEIGHTS, words)}"


def _signature(options: Mapping[str, Any]) -> dict[str, str]:
    if options["score"] == "no":
        return {"dtype": options["dtype"], "beams": "1", "max_length": str(options["max_length"] or "auto")}
    return {
        "dtype": options["dtype"],
        "score": options["score"],
        **({"source": options["source"]} if options["source"] else {}),
        "eos": "yes" if options["eos"] else "no",
    }
