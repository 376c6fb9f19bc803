"""Decoder-only models that answer a prompt: `prompt:gpt2?template={source} ->`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import InputError, ModelError
from wug.files import checksum, read_lines
from wug.models.decoding import outputs
from wug.models.decoding.outputs import unknown_token
from wug.models.huggingface import loading
from wug.models.huggingface.hub import prefetch as prefetch
from wug.models.huggingface.hub import revisions as revisions
from wug.models.spec import (
    BATCH,
    DEVICE,
    DTYPE,
    EXAMPLES,
    MAX_LENGTH,
    STOP,
    TEMPLATE,
    TRUST,
    Identity,
    Loading,
    ModelSpec,
)
from wug.models.tokenization.tokens import tokenizer_errors
from wug.models.weights.fingerprints import folder_of
from wug.models.weights.fingerprints import snapshot as snapshot
from wug.requests import Answer, Source, text_of
from wug.traits import BackendTraits

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

TRAITS = BackendTraits(
    returns="text", on_hub=True, uses_device=True, prompts="causal", to_score="Use causal: instead of prompt:"
)
OPTIONS = (TEMPLATE, EXAMPLES, STOP, MAX_LENGTH, DTYPE, DEVICE, BATCH, TRUST)
SOURCE, ANSWER = "{source}", "{answer}"
MAX_TOKENS_PER_WORD = 12
"""Tokens that are generated for each word that an answer can have, where the suite knows how many."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """How a source becomes a prompt."""

    before: str
    """The template up to the answer, with {source}."""
    after: str
    """What follows the answer of an example."""
    gap: str
    """The space before an answer in an example."""
    examples: str = ""

    @classmethod
    def of(cls, text: str, examples: Sequence[tuple[str, str]] = ()) -> PromptTemplate:
        """Parse the option template."""
        text = unescaped(text)
        if text.count(SOURCE) != 1 or text.count(ANSWER) > 1:
            raise InputError(f"template {text!r}: it needs {SOURCE} once, and {ANSWER} once or not at all")
        before, answered, after = text.partition(ANSWER)
        if SOURCE not in before:
            raise InputError(f"template {text!r}: {SOURCE} must be before {ANSWER}")
        # The space before an answer is left to the model: most write it with the next word.
        bare = before.rstrip(" ")
        after, gap = (after, before[len(bare) :]) if answered else ("\n", " ")
        shown = "".join(bare.replace(SOURCE, source) + gap + answer + after for source, answer in examples)
        return cls(bare, after, gap, shown)

    def prompt(self, source: str) -> str:
        """The prompt for a source."""
        return self.examples + self.before.replace(SOURCE, source)


class PromptedModel:
    """A decoder-only model that continues prompts, greedily."""

    bounded = True
    """It stops soon after the number of words that a suite expects at most (`Source`)."""

    def __init__(self, loaded: loading.HubModel, spec: ModelSpec, template: PromptTemplate, stop: str) -> None:
        from wug.models.causal.selftest import require_causal_configuration
        from wug.models.decoding.generation import Decoder

        require_causal_configuration(loaded.model)
        self.id = f"prompt/{loaded.name}@{loaded.fingerprint}"
        self._template, self._stop = template, stop
        self._tokenizer = loaded.tokenizer
        options = spec.read(OPTIONS)
        self._bound: int | None = options["max_length"]
        self._limit: int | None = getattr(loaded.model.config, "max_position_embeddings", None)
        settings = loaded.model.generation_config
        if settings.eos_token_id is None:
            settings.eos_token_id = loaded.tokenizer.eos_token_id
        self._ends = {loaded.tokenizer.eos_token_id} - {None}
        self._dropped = set(loaded.tokenizer.all_special_ids) - {unknown_token(loaded.tokenizer)}
        self.decoder = Decoder(loaded.model, batch_tokens=options["batch"], stops=_stop_check(loaded.tokenizer, stop))
        self.options = {"dtype": loaded.dtype, **signature(options, template, stop)}
        self.chunk = self.decoder.chunk

    def generate(self, sources: Sequence[str | Source]) -> list[Answer]:
        """One answer per source, in order; empty if the prompt exceeds the model's limit."""
        return outputs.map_distinct(sources, self._answer)

    @tokenizer_errors()
    def _answer(self, requests: list[str | Source]) -> list[Answer]:
        sources = [text_of(source) for source in requests]
        max_words = [source.max_words if isinstance(source, Source) else None for source in requests]
        sequences = [self._tokens(self._template.prompt(source)) for source in sources]
        encoded: list[list[int]] = self._tokenizer(sources, add_special_tokens=False)["input_ids"]
        limits = [
            min(
                outputs.token_limit(len(source), self._bound),
                sys.maxsize if self._limit is None else self._limit - len(tokens),
                sys.maxsize if words is None else MAX_TOKENS_PER_WORD * (words + 1),
            )
            for tokens, source, words in zip(sequences, encoded, max_words, strict=True)
        ]  # 0 or less if the prompt leaves no room
        indices = [n for n, limit in enumerate(limits) if limit > 0]
        decoded = self.decoder.decode([sequences[n] for n in indices], [limits[n] for n in indices])
        answers: dict[int, Answer] = {}
        for n, answer in zip(indices, decoded, strict=True):
            text, stopped, _ = self._text(answer.tokens).partition(self._stop)
            full_answer = outputs.make_answer(text.strip(), ended=answer.ended or bool(stopped))
            answers[n] = outputs.truncate(full_answer, max_words[n])
        return [answers.get(n) or outputs.source_too_long(self._limit or 0) for n in range(len(sources))]

    def _tokens(self, prompt: str) -> list[int]:
        tokens: list[int] = self._tokenizer(prompt)["input_ids"]
        while tokens and tokens[-1] in self._ends:  # after an end token a model begins something else
            tokens.pop()
        if not tokens:
            raise ModelError(f"{self.id}: its tokenizer makes no tokens of the prompt {prompt!r}")
        return tokens

    def _text(self, tokens: Sequence[int]) -> str:
        visible = [token for token in tokens if token not in self._dropped]
        text: str = self._tokenizer.decode(visible, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text


def identify(spec: ModelSpec) -> Identity | None:
    """The model's identity, from its files; None if only loading tells."""
    options = spec.read(OPTIONS)
    template, stop = prompting(options)
    folder = folder_of(spec, options)
    if folder is None:
        return None
    described_options = {"dtype": options["dtype"], **signature(options, template, stop)}
    return Identity(f"prompt/{folder.name}", described_options, "text", bounded=True)


def load(spec: ModelSpec) -> PromptedModel:
    """Load a model with its template and examples."""
    options = spec.read(OPTIONS)
    template, stop = prompting(options)
    return PromptedModel(loading.load(spec, "AutoModelForCausalLM", Loading.of(options)), spec, template, stop)


def signature(options: Mapping[str, Any], template: PromptTemplate, stop: str) -> dict[str, str]:
    """The options of prompting that change an output."""
    return {
        "template": template.before + template.gap + ANSWER + template.after,
        "stop": stop,
        "max_length": str(options["max_length"] or "auto"),
        **({"examples": checksum(template.examples)} if template.examples else {}),
    }


def prompting(options: Mapping[str, Any]) -> tuple[PromptTemplate, str]:
    """The template with its examples, and the stop string."""
    examples = read_examples(options["examples"]) if options["examples"] else []
    stop = unescaped(options["stop"])
    if not stop:
        raise InputError("option stop is empty: leave it out, or write what ends an output")
    return PromptTemplate.of(options["template"], examples), stop


def read_examples(path: Path) -> list[tuple[str, str]]:
    """Examples from a file with one source<TAB>output per line."""
    pairs = []
    for number, line in enumerate(read_lines(path), 1):
        source, tab, answer = line.partition("\t")
        if not tab or "\t" in answer:
            raise InputError(f"expected source<TAB>answer, found {line[:60]!r}", file=path, place=f"line {number}")
        pairs.append((source.strip(), answer.strip()))
    if not pairs:
        raise InputError("the file has no examples", file=path)
    return pairs


def _stop_check(tokenizer: PreTrainedTokenizerBase, stop: str) -> Callable[[torch.Tensor], list[bool]]:
    """Tells whether decoded tokens contain the stop at their end, where each token has at least one byte."""
    tail = len(stop.encode()) + 1

    def at_end(ids: torch.Tensor) -> list[bool]:
        return [stop in text for text in tokenizer.batch_decode(ids[:, -tail:].tolist())]

    return at_end


def unescaped(text: str) -> str:
    r"""The text with `\n`, `\t` and `\\` as a line break, a tab and a backslash."""
    parts = [part.replace(r"\n", "\n").replace(r"\t", "\t") for part in text.split("\\\\")]
    return "\\".join(parts)
