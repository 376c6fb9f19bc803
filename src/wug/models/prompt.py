"""Decoder-only models of Hugging Face, asked by a prompt: `prompt:gpt2?template={source} ->`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wug.errors import InputError, ModelError
from wug.files import checksum, read_lines
from wug.models import _weights
from wug.models._fingerprint import folder_of
from wug.models._hub import prefetch as prefetch
from wug.models._loading import Loading
from wug.models._options import BATCH, DEVICE, DTYPE, EXAMPLES, MAX_LENGTH, STOP, TEMPLATE, TRUST
from wug.models._spec import Identity, ModelSpec
from wug.models._tokens import no_panic
from wug.models.causal.selftest import require_causal_configuration
from wug.models.decoding import outputs
from wug.models.decoding.generation import Decoder, Stops, unknown_token
from wug.types import Answer, Traits

TRAITS = Traits(returns="text", on_hub=True, uses_device=True, to_score="Use causal: instead of prompt:")
OPTIONS = (TEMPLATE, EXAMPLES, STOP, MAX_LENGTH, DTYPE, DEVICE, BATCH, TRUST)
SOURCE, ANSWER = "{source}", "{answer}"


@dataclass(frozen=True, slots=True)
class Template:
    """How a source is put to a model."""

    before: str
    """With the place of the source in it; what the model reads last."""
    after: str
    """What stands between the answer of an example and what follows."""
    gap: str
    """What stands before an answer in an example."""
    examples: str = ""
    """The examples, written out."""

    @classmethod
    def of(cls, text: str, examples: Sequence[tuple[str, str]] = ()) -> Template:
        """A template from what the user wrote."""
        text = unescaped(text)
        if text.count(SOURCE) != 1 or text.count(ANSWER) > 1:
            raise InputError(f"template {text!r}: it needs {SOURCE} once, and {ANSWER} once or not at all")
        before, answered, after = text.partition(ANSWER)
        if SOURCE not in before:
            raise InputError(f"template {text!r}: {SOURCE} has to stand before {ANSWER}")
        # What stands just before an answer is left to the model: most write a space with the word behind it.
        bare = before.rstrip(" ")
        empty = cls(bare, after if answered else "\n", before[len(bare) :] if answered else " ")
        return cls(empty.before, empty.after, empty.gap, "".join(empty.example(*pair) for pair in examples))

    def example(self, source: str, answer: str) -> str:
        """An example as the model reads it."""
        return self.before.replace(SOURCE, source) + self.gap + answer + self.after

    def prompt(self, source: str) -> str:
        """What the model is asked to continue."""
        return self.examples + self.before.replace(SOURCE, source)


class PromptedModel:
    """A decoder-only model that answers by continuing a prompt, greedily."""

    __slots__ = (
        "_bound", "_decoder", "_dropped", "_ends", "_limit", "_stop", "_template", "_tokenizer",
        "chunk", "id", "options",
    )  # fmt: skip

    def __init__(self, loaded: _weights.Loaded, spec: ModelSpec, template: Template, stop: str) -> None:
        require_causal_configuration(loaded.model)
        self.id = f"prompt/{loaded.name}@{loaded.fingerprint}"
        self._template, self._stop = template, stop
        self._tokenizer = loaded.tokenizer
        options = spec.read(OPTIONS)
        self._bound: int | None = options["max_length"]
        self._limit: int | None = getattr(loaded.model.config, "max_position_embeddings", None)
        marks = loaded.model.generation_config
        if marks.eos_token_id is None:
            marks.eos_token_id = loaded.tokenizer.eos_token_id
        self._ends = {loaded.tokenizer.eos_token_id} - {None}
        self._dropped = set(loaded.tokenizer.all_special_ids) - {unknown_token(loaded.tokenizer)}
        self._decoder = Decoder(loaded.model, batch_tokens=options["batch"], stops=_stops(loaded.tokenizer, stop))
        self.options = _signed(options, str(loaded.model.dtype).removeprefix("torch."), template, stop)
        self.chunk = self._decoder.chunk

    def generate(self, sources: Sequence[str]) -> list[Answer]:
        """One answer for each source, in order; empty where the prompt is longer than the model can take."""
        return outputs.map_distinct(sources, self._ask)

    @no_panic()
    def _ask(self, sources: list[str]) -> list[Answer]:
        sequences = [self._tokens(self._template.prompt(source)) for source in sources]
        encoded: list[list[int]] = self._tokenizer(sources, add_special_tokens=False)["input_ids"]
        bounds = [self._longest(len(tokens), len(source)) for tokens, source in zip(sequences, encoded, strict=True)]
        places = [n for n, bound in enumerate(bounds) if bound > 0]
        written = self._decoder.decode([sequences[n] for n in places], [bounds[n] for n in places])
        answers: dict[int, Answer] = {}
        for n, answer in zip(places, written, strict=True):
            text, stopped, _ = self._text(answer.tokens).partition(self._stop)
            answers[n] = outputs.make_answer(text.strip(), ended=answer.ended or bool(stopped))
        return [answers.get(n) or outputs.source_too_long(self._limit or 0) for n in range(len(sources))]

    def _tokens(self, prompt: str) -> list[int]:
        tokens: list[int] = self._tokenizer(prompt)["input_ids"]
        while tokens and tokens[-1] in self._ends:  # after an end mark a model begins something else
            tokens.pop()
        if not tokens:
            raise ModelError(f"{self.id}: its tokenizer makes no tokens of the prompt {prompt!r}")
        return tokens

    def _longest(self, prompt: int, source: int) -> int:
        """Tokens that an answer may have; 0 or less where the prompt leaves no room."""
        bound = outputs.token_limit(source, self._bound)
        return bound if self._limit is None else min(bound, self._limit - prompt)

    def _text(self, tokens: Sequence[int]) -> str:
        visible = [token for token in tokens if token not in self._dropped]
        text: str = self._tokenizer.decode(visible, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text


def identify(spec: ModelSpec) -> Identity | None:
    """What the model will be, told from its files; None where only loading tells."""
    options = spec.read(OPTIONS)
    template, stop = prompting(options)
    folder = folder_of(spec, options)
    if folder is None:
        return None
    return Identity(f"prompt/{folder.name}", _signed(options, options["dtype"], template, stop), "text")


def load(spec: ModelSpec) -> PromptedModel:
    """The model that `spec` names, with its template and examples."""
    options = spec.read(OPTIONS)
    template, stop = prompting(options)
    return PromptedModel(_weights.load(spec, "AutoModelForCausalLM", Loading.of(options)), spec, template, stop)


def _signed(options: Mapping[str, Any], dtype: str, template: Template, stop: str) -> dict[str, str]:
    return {
        "dtype": dtype,
        "template": template.before + template.gap + ANSWER + template.after,
        "stop": stop,
        "max_length": str(options["max_length"] or "auto"),
        **({"examples": checksum(template.examples)} if template.examples else {}),
    }


def prompting(options: Mapping[str, Any]) -> tuple[Template, str]:
    """The template with its examples, and what ends an answer."""
    examples = read_examples(options["examples"]) if options["examples"] else []
    stop = unescaped(options["stop"])
    if not stop:
        raise InputError("option stop is empty: leave it out, or write what ends an answer")
    return Template.of(options["template"], examples), stop


def read_examples(path: Path) -> list[tuple[str, str]]:
    """Sources with their answers, from a file of source<TAB>answer a line."""
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        source, tab, answer = line.partition("\t")
        if not tab or "\t" in answer:
            raise InputError(f"expected source<TAB>answer, found {line[:60]!r}", file=path, place=f"line {number}")
        pairs.append((source.strip(), answer.strip()))
    if not pairs:
        raise InputError("the file has no examples", file=path)
    return pairs


def _stops(tokenizer: Any, stop: str) -> Stops:
    """Whether the end of what was written so far has the stop in it: a token has a byte at least."""
    tail = len(stop.encode()) + 1

    def at_end(written: Any) -> list[bool]:
        return [stop in text for text in tokenizer.batch_decode(written[:, -tail:].tolist())]

    return at_end


def unescaped(text: str) -> str:
    r"""The text with `\n`, `\t` and `\\` read as a line break, a tab and a backslash."""
    parts = [part.replace(r"\n", "\n").replace(r"\t", "\t") for part in text.split("\\\\")]
    return "\\".join(parts)
