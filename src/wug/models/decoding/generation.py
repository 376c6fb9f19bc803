"""Decoding with a Hugging Face model, in the fastest way that gives the outputs of `generate`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from transformers import PreTrainedModel

from wug.errors import ModelError, first_line
from wug.models.decoding.cuda_graph import LOOKUP_AFTER_TOKENS, CudaGraphDecoder
from wug.models.decoding.outputs import (
    TOKEN_SETTINGS,
    Decoded,
    TokenRules,
    end_tokens,
    plan_batches,
    start_token,
    token_list,
    trim_at_end,
)
from wug.models.decoding.prompt_lookup import has_relative_positions
from wug.models.decoding.static_batch import pad_rows
from wug.models.hardware import FAILURES, compute_in_halves, is_out_of_memory, nan_error, requests_per_chunk

KEPT_SETTINGS = (
    "decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id", *TOKEN_SETTINGS,
)  # fmt: skip
"""Generation settings of a model that are used: its special tokens, and the tokens that it must or must not write.

The others concern search (beams, sampling, a ban on repeated words). They would make models incomparable, and are wrong
for languages with repetition.
"""
PROBE_LENGTHS = (3, 7, 12)
"""Lengths in tokens of the sequences of the self-test."""
PROBE_LIMIT = 12
"""Tokens that are decoded for each."""
MAX_PADDING_GAP = {"torch.float64": 1e-9, "torch.float32": 1e-4}
"""By dtype, how far padding may change the logits, relative to the largest; 0.05 in half precision."""

SHRINK_BELOW = 0.8
"""Drop finished rows when at most this proportion is unfinished: copying the others has a cost too."""

log = logging.getLogger("wug")

Stops = Callable[[Any], list[bool]]
"""Given the tokens decoded so far, one row per source: which of them are complete."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Decoded tokens with their probability."""

    tokens: list[int]
    logprob: float
    """Nats, of all of them."""
    margin: float
    """Smallest difference in nats between the best and the second token."""


class Decoder:
    """A model that decodes greedily, or with beams; `batch_tokens` shrinks when memory runs out."""

    def __init__(
        self, model: PreTrainedModel, *, beams: int = 1, batch_tokens: int | None = None, stops: Stops | None = None
    ) -> None:
        from transformers import GenerationConfig

        self.model = model
        self.device = model.device
        self.beams = beams
        self.batch_tokens = batch_tokens or (1 << 18 if self.device.type == "cuda" else 1 << 14)
        self.chunk = requests_per_chunk(model, cpu=(5e3, 16, 1024), gpu=(1e6, 512, 32768))
        self._encodes = bool(model.config.is_encoder_decoder)
        values = ((name, getattr(model.generation_config, name)) for name in KEPT_SETTINGS)
        settings = {name: value for name, value in values if value is not None}
        # Explicit: generate() takes missing settings from those of the model.
        model.generation_config = GenerationConfig(**settings)
        self._ends = end_tokens(model.generation_config)
        self._pad = next(iter(token_list(model.generation_config.pad_token_id) or self._ends), 0)
        self._stops: Stops | None = None  # not while the self-test runs
        self.padded = self._accepts_padding()
        is_greedy = beams == 1 and self._encodes and stops is None
        self._cuda_graph = self._cuda_graph_decoder() if is_greedy and self.device.type == "cuda" else None
        self._drops_finished_rows = is_greedy and self._cuda_graph is None and self._may_drop_finished_rows()
        self._stops = stops

    def decode(self, sequences: Sequence[Sequence[int]], limits: Sequence[int]) -> list[Decoded]:
        """Decode each sequence, up to its limit of tokens."""
        while self._cuda_graph is not None:
            try:
                return self._cuda_graph.decode(sequences, limits)
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
            self._cuda_graph = self._cuda_graph.smaller()
            self._drops_finished_rows = self._cuda_graph is None and self._may_drop_finished_rows()
        outputs: dict[int, Decoded] = {}
        lengths, tokens = [len(sequence) for sequence in sequences], self.batch_tokens // self.beams
        for batch in plan_batches(lengths, limits, tokens=tokens, padded=self.padded):
            decoded = self._decode_batch([sequences[index] for index in batch], limits[batch[0]])
            outputs.update(zip(batch, decoded, strict=True))
        return [outputs[index] for index in range(len(sequences))]

    def _decode_batch(self, rows: Sequence[Sequence[int]], limit: int) -> list[Decoded]:
        """Decode a batch; when memory runs out, each half of it."""

        def decode(low: int, high: int) -> list[Decoded]:
            batch = rows[low:high]
            if self._drops_finished_rows:
                return self._decode_dropping_rows(batch, limit)
            return [trim_at_end(row, self._ends) for row in self._generate(batch, limit)["sequences"].tolist()]

        width = (max(map(len, rows)) + limit) * self.beams
        advice = "take a smaller model, -M dtype=bfloat16, a smaller -M max_length, or another --device"
        results = compute_in_halves(decode, range(len(rows)), width, f"tokens on {self.device}", advice)
        if len(results) > 1:
            self.batch_tokens = max(1, len(rows) // len(results) * width)
        return [*chain.from_iterable(results)]

    def _generate(self, rows: Sequence[Sequence[int]], limit: int, *, probing: bool = False) -> Any:
        """The result of `generate`; `sequences` has only the new tokens.

        Probing decodes exactly `limit` tokens, greedily, and returns their logits.
        """
        from transformers import GenerationConfig

        ids, present = self._padded_batch(rows)
        width = ids.shape[1]
        config = GenerationConfig(
            max_new_tokens=limit, min_new_tokens=limit if probing else None, do_sample=False,
            num_beams=1 if probing else self.beams, pad_token_id=self._pad, return_dict_in_generate=True,
            output_logits=probing, output_scores=probing,
        )  # fmt: skip
        with torch.inference_mode():
            output = self.model.generate(
                input_ids=ids,
                attention_mask=present,
                generation_config=config,
                stopping_criteria=self._criteria(1 if self._encodes else width),
            )
        output["sequences"] = output["sequences"][:, 1 if self._encodes else width :]
        return output

    def _padded_batch(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Token ids and attention mask on the device; a decoder continues at the right, so it is padded at the left."""
        width, right = max(map(len, rows)), not self._encodes
        ids = pad_rows(rows, width, self._pad, right=right)
        present = pad_rows([[1] * len(row) for row in rows], width, 0, right=right)
        return ids.to(self.device), present.to(self.device)

    def _decode_dropping_rows(self, rows: Sequence[Sequence[int]], limit: int) -> list[Decoded]:
        start = start_token(self.model.generation_config)
        assert start is not None
        with torch.inference_mode():
            decoded = _decode_dropping_rows(
                self.model, *self._padded_batch(rows), start=start, ends=self._ends, limit=limit
            )
        return [trim_at_end(row, self._ends) for row in decoded]

    def _may_drop_finished_rows(self) -> bool:
        settings = self.model.generation_config
        if start_token(settings) is None or any(getattr(settings, name, None) is not None for name in TOKEN_SETTINGS):
            return False
        return self._passes_self_test(lambda rows: self._decode_dropping_rows(rows, PROBE_LIMIT))

    def _cuda_graph_decoder(self) -> CudaGraphDecoder | None:
        """Decoding with CUDA graphs, speculatively if possible; None if it fails the self-test."""
        rules = TokenRules.of(self.model.generation_config)
        if rules is None or not self.padded:
            return None
        decoder = CudaGraphDecoder(self.model, rules, self._pad)

        def passes(lookup_after: int | None) -> bool:
            decoder.lookup_after = lookup_after
            return self._passes_self_test(lambda rows: decoder.decode(rows, [PROBE_LIMIT] * len(rows)))

        if not passes(None):
            return None
        speculative = has_relative_positions(self.model.config) and passes(1)
        decoder.lookup_after = LOOKUP_AFTER_TOKENS if speculative else None
        return decoder

    def _passes_self_test(self, decode: Callable[[list[list[int]]], list[Decoded]]) -> bool:
        rows = self.probes(PROBE_LENGTHS)
        try:
            outputs = decode(rows)
        except FAILURES as error:
            log.info("%s is decoded by transformers' own loop: %s", type(self.model).__name__, first_line(error))
            return False
        reference = (trim_at_end(row, self._ends) for row in self._generate(rows, PROBE_LIMIT)["sequences"].tolist())
        return all(output.near_tie or output == expected for output, expected in zip(outputs, reference, strict=True))

    def probes(self, lengths: Sequence[int]) -> list[list[int]]:
        """Sequences of random tokens."""
        generator = torch.Generator().manual_seed(1958)
        special = {*self._ends, self._pad}
        vocabulary = self.model.get_input_embeddings().num_embeddings
        usable = [token for token in range(min(2000, vocabulary)) if token not in special]
        return [[usable[int(i)] for i in torch.randint(len(usable), (n,), generator=generator)] for n in lengths]

    def trace(self, row: Sequence[int], count: int) -> Trace:
        """Decode exactly `count` tokens greedily, for one sequence alone."""
        output = self._generate([row], count, probing=True)
        tokens: list[int] = output["sequences"][0].tolist()
        steps = [step[0].double().log_softmax(-1) for step in output["scores"]]
        top_two = [step.topk(2).values for step in steps]
        return Trace(
            tokens,
            sum(float(step[token]) for step, token in zip(steps, tokens, strict=True)),
            min(float(first - second) for first, second in top_two),
        )

    def _criteria(self, start: int) -> Any:
        """The end of an output by its text, as transformers wants it; None without any."""
        stops = self._stops
        if stops is None:
            return None
        from transformers import StoppingCriteriaList

        def at_end(ids: torch.Tensor, scores: torch.Tensor, **arguments: object) -> Any:
            return torch.tensor(stops(ids[:, start:]), device=ids.device)

        return StoppingCriteriaList([at_end])

    def _accepts_padding(self) -> bool:
        """Whether a sequence has the same logits alone and padded; if not, with a warning."""
        rows = self.probes(PROBE_LENGTHS)
        try:
            batched = self._generate(rows, 2, probing=True)
        except FAILURES as error:
            name = type(self.model).__name__
            raise ModelError(f"{name} cannot generate text: {first_line(error)}") from error
        if any(bool(step.isnan().any()) for step in batched["logits"]):
            raise nan_error(type(self.model).__name__)
        gap = 0.0
        for number, row in enumerate(rows):
            alone = self._generate([row], 2, probing=True)
            for step, (alone_logits, batched_logits) in enumerate(zip(alone["logits"], batched["logits"], strict=True)):
                if step and alone["sequences"][0, 0] != batched["sequences"][number, 0]:
                    break  # after a near tie in the first step, the second steps differ
                gap = max(gap, _relative_gap(alone_logits[0].double(), batched_logits[number].double()))
        if gap > MAX_PADDING_GAP.get(str(self.model.dtype), 0.05):
            log.warning(
                "%s is decoded in batches of equal length, which is slower: padding changes its numbers by %.2g%%",
                type(self.model).__name__,
                100 * gap,
            )
            return False
        return True


def _relative_gap(first: torch.Tensor, second: torch.Tensor) -> float:
    """The largest difference of two rows of logits, relative to the largest logit; equal infinities do not count."""
    finite = torch.isfinite(first) & torch.isfinite(second)
    if bool(((first != second) & ~finite).any()):
        return float("inf")
    scale = max(1.0, float(first[finite].abs().max()))
    return float((first - second)[finite].abs().max()) / scale


def _decode_dropping_rows(
    model: PreTrainedModel, ids: torch.Tensor, present: torch.Tensor, *, start: int, ends: Container[int], limit: int
) -> list[list[int]]:
    """Decode a batch of sources greedily; each output ends with its end token, or after `limit` tokens.

    Most outputs are short and some never end: `generate` computes all rows until the last one is done.
    """
    encoded = model.get_encoder()(input_ids=ids, attention_mask=present)
    outputs: list[list[int]] = [[] for _ in range(len(ids))]
    rows: Sequence[int | None] = range(len(ids))
    """Which output each row of the batch writes; None if that is finished."""
    last = torch.full((len(ids), 1), start, device=ids.device)
    cache = None
    for _ in range(limit):
        output = model(
            encoder_outputs=encoded,
            attention_mask=present,
            decoder_input_ids=last,
            past_key_values=cache,
            use_cache=True,
        )
        cache = output.past_key_values
        last = output.logits[:, -1:].argmax(-1)
        unfinished: list[int | None] = []
        for row, token in zip(rows, last[:, 0].tolist(), strict=True):
            if row is not None:
                outputs[row].append(token)
            unfinished.append(None if row is None or token in ends else row)
        rows = unfinished
        kept_rows = [index for index, row in enumerate(rows) if row is not None]
        if not kept_rows:
            break
        if len(kept_rows) <= SHRINK_BELOW * len(rows):
            selected = torch.tensor(kept_rows, device=ids.device)
            cache.batch_select_indices(selected)
            encoded.last_hidden_state = encoded.last_hidden_state[selected]
            present, last = present[selected], last[selected]
            rows = [rows[index] for index in kept_rows]
    return outputs
