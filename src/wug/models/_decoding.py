"""Letting a Hugging Face model write: in batches of like length that change nothing about the answers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from wug.errors import ModelError
from wug.models import _greedy, _weights
from wug.models._asking import Written, batches, until_end
from wug.models._hardware import halving, ran_out
from wug.models._leaps import tells_distances
from wug.models._loading import Loading
from wug.models._recorded import LONG, Recorded
from wug.models._spec import ModelSpec
from wug.models._token_rules import Rules

KEPT = (
    "decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id", "forced_bos_token_id",
    "bad_words_ids", "suppress_tokens", "begin_suppress_tokens",
)  # fmt: skip
"""What is taken from the settings that a model brings along: its marks, and the tokens it must not write.

The rest are habits of search (beams, sampling, a ban on repeating words) that would make the answers of two
models incomparable, and wreck languages in which things are repeated.
"""
PROBES = (3, 7, 12)
"""Lengths of the sequences with which batches are tried."""
TRIED = 12
"""Tokens that are written to try another way of writing."""

log = logging.getLogger("wug")

Stops = Callable[[Any], list[bool]]
"""Given the tokens written so far, a row a source: which of them are at their end."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Tokens with what the model thought of them."""

    tokens: list[int]
    logprob: float
    """Nats, of all of them."""
    margin: float
    """Nats to the second token, where it came closest."""


class Decoder:
    """A model that writes on greedily, or with beams; `tokens` shrinks when memory runs out."""

    def __init__(self, model: Any, *, beams: int = 1, tokens: int | None = None, stops: Stops | None = None) -> None:
        from transformers import GenerationConfig

        self.model = model
        self.device = model.device
        self.beams = beams
        self.tokens = tokens or (1 << 18 if self.device.type == "cuda" else 1 << 14)
        self.chunk = _chunk(model)
        self._encodes = bool(model.config.is_encoder_decoder)
        kept = {name: getattr(model.generation_config, name) for name in KEPT}
        # Written in full: generate() fills what is absent from the settings that the model brought along.
        model.generation_config = GenerationConfig(**{key: value for key, value in kept.items() if value is not None})
        self._ends = marks(model.generation_config.eos_token_id)
        self._pad = next(iter(marks(model.generation_config.pad_token_id) or self._ends), 0)
        self._stops: Stops | None = None
        self.padded = self._takes_padding()
        greedy = beams == 1 and self._encodes and stops is None
        self._recorded = self._recording() if greedy and self.device.type == "cuda" else None
        self._shrinks = greedy and self._recorded is None and self._may_shrink()
        self._stops = stops

    def write(self, sequences: Sequence[Sequence[int]], bounds: Sequence[int]) -> list[Written]:
        """What the model writes for each sequence, at most as many tokens as its bound says."""
        while self._recorded is not None:
            try:
                return self._recorded.write(sequences, bounds)
            except (RuntimeError, MemoryError) as error:
                if not ran_out(error):
                    raise
            self._recorded = self._recorded.smaller()
            self._shrinks = self._recorded is None and self._may_shrink()
        answers: dict[int, Written] = {}
        while len(answers) < len(sequences):
            left = [place for place in range(len(sequences)) if place not in answers]
            lengths, longest = [len(sequences[place]) for place in left], [bounds[place] for place in left]
            tokens = self.tokens
            for batch in batches(lengths, longest, tokens=tokens // self.beams, padded=self.padded):
                places = [left[number] for number in batch]
                written = self._halved([sequences[place] for place in places], bounds[places[0]])
                answers.update(zip(places, written, strict=True))
                if self.tokens != tokens:  # memory ran out: what is left goes in smaller batches
                    break
        return [answers[place] for place in range(len(sequences))]

    def _halved(self, rows: Sequence[Sequence[int]], bound: int) -> list[Written]:
        """The answers to a batch; when memory runs out, of each half of it."""

        def write(low: int, high: int) -> list[Written]:
            part = rows[low:high]
            if self._shrinks:
                return [until_end(row, self._ends) for row in self._shrinking(part, bound)]
            written = self._generate(part, bound)["sequences"].tolist()
            return [until_end(row, self._ends) for row in written]

        def shrink(low: int, high: int) -> str:
            self.tokens = max(1, (high - low) * (max(map(len, rows)) + bound) * self.beams)
            return f"{self.tokens:,} tokens"

        def single(row: int) -> str:
            remedy = "take a smaller model, -M dtype=bfloat16, a smaller -M max_length, or another --device"
            return f"{len(rows[row]) + bound:,} tokens on {self.device}: {remedy}"

        return [*chain.from_iterable(halving(write, 0, len(rows), shrink=shrink, single=single))]

    def _generate(self, rows: Sequence[Sequence[int]], bound: int, *, probing: bool = False) -> Any:
        """What transformers makes of a batch; `sequences` has only the new tokens.

        Probing asks for exactly `bound` tokens, greedily, with their logits.
        """
        import torch
        from transformers import GenerationConfig

        ids, present = self._filled_up(rows)
        width = ids.shape[1]
        config = GenerationConfig(
            max_new_tokens=bound, min_new_tokens=bound if probing else None, do_sample=False,
            num_beams=1 if probing else self.beams, pad_token_id=self._pad, return_dict_in_generate=True,
            output_logits=probing, output_scores=probing,
        )  # fmt: skip
        with torch.inference_mode():
            found = self.model.generate(
                input_ids=ids,
                attention_mask=present,
                generation_config=config,
                stopping_criteria=self._criteria(1 if self._encodes else width),
            )
        found["sequences"] = found["sequences"][:, 1 if self._encodes else width :]
        return found

    def _filled_up(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """The rows as a table on the device, and which of its places are theirs."""
        import torch

        width = max(map(len, rows))
        ids = torch.full((len(rows), width), self._pad)
        present = torch.zeros_like(ids)
        for number, row in enumerate(rows):
            # A decoder writes on at the right, so what fills up a row has to stand at its left.
            here = slice(0, len(row)) if self._encodes else slice(width - len(row), width)
            ids[number, here] = torch.tensor(row)
            present[number, here] = 1
        return ids.to(self.device), present.to(self.device)

    def _shrinking(self, rows: Sequence[Sequence[int]], bound: int) -> list[list[int]]:
        """What the model writes, greedily."""
        import torch

        with torch.inference_mode():
            return _greedy.write(self.model, *self._filled_up(rows), start=self._start(), ends=self._ends, bound=bound)

    def _start(self) -> int:
        """The token with which an answer begins."""
        settings = self.model.generation_config
        start: int = (
            settings.decoder_start_token_id if settings.decoder_start_token_id is not None else settings.bos_token_id
        )
        return start

    def _may_shrink(self) -> bool:
        """Whether answers may be written without transformers' own loop: tried, not believed."""
        if not _greedy.plain(self.model.generation_config):
            return False
        return self._is_right(lambda rows: [until_end(row, self._ends) for row in self._shrinking(rows, TRIED)])

    def _recording(self) -> Recorded | None:
        """Writing in recorded steps; None where that was tried and does not give the answers of transformers' loop."""
        rules = Rules.of(self.model.generation_config, self._ends)
        if rules is None or not self.padded:
            return None

        def is_right(steps: int | None) -> bool:
            found.steps = steps
            return self._is_right(lambda rows: found.write(rows, [TRIED] * len(rows)))

        found = Recorded(self.model, rules, self._pad)
        if not is_right(None):
            return None
        leaps = tells_distances(self.model.config) and is_right(1)
        found.steps = LONG if leaps else None
        return found

    def _is_right(self, write: Callable[[list[list[int]]], list[Written]]) -> bool:
        """Whether a way of writing gives the answers of transformers' own loop to probes."""
        rows = self.probes(PROBES)
        try:
            mine = write(rows)
        except (RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
            log.info("%s is asked in transformers' own loop: %s", type(self.model).__name__, str(error).split("\n")[0])
            return False
        theirs = (until_end(row, self._ends) for row in self._generate(rows, TRIED)["sequences"].tolist())
        # Where two tokens are equally probable, either may be right.
        return all(found.near_tie or found == wanted for found, wanted in zip(mine, theirs, strict=True))

    def probes(self, lengths: Sequence[int]) -> list[list[int]]:
        """Sequences of random tokens, of these lengths."""
        import torch

        draw = torch.Generator().manual_seed(1958)
        marked = set(self._ends) | {self._pad}
        usable = [token for token in range(min(2000, self._vocabulary())) if token not in marked]
        return [[usable[int(i)] for i in torch.randint(len(usable), (n,), generator=draw)] for n in lengths]

    def trace(self, row: Sequence[int], bound: int) -> Trace:
        """Exactly so many tokens, written greedily for a sequence that is asked alone."""
        found = self._generate([row], bound, probing=True)
        tokens: list[int] = found["sequences"][0].tolist()
        steps = [step[0].double().log_softmax(-1) for step in found["scores"]]
        best = [step.topk(2).values for step in steps]
        return Trace(
            tokens,
            sum(float(step[token]) for step, token in zip(steps, tokens, strict=True)),
            min(float(first - second) for first, second in best),
        )

    def _criteria(self, start: int) -> Any:
        """The end of an answer by its text, in the form that transformers wants; None without any."""
        stops = self._stops
        if stops is None:
            return None
        import torch
        from transformers import StoppingCriteriaList

        def at_end(ids: Any, scores: Any, **rest: Any) -> Any:
            return torch.tensor(stops(ids[:, start:]), device=ids.device)

        return StoppingCriteriaList([at_end])

    def _takes_padding(self) -> bool:
        """Whether a sequence that was filled up gets the numbers that it gets alone; else, a warning."""
        rows = self.probes(PROBES)
        try:
            together = self._generate(rows, 2, probing=True)
        except (RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
            why = (str(error).strip() or type(error).__name__).split("\n")[0][:300]
            raise ModelError(f"{type(self.model).__name__} cannot be asked for text: {why}") from error
        if any(bool(step.isnan().any()) for step in together["logits"]):
            raise ModelError(
                f"{type(self.model).__name__} answers with values that are no numbers. In half precision that is an "
                "overflow: use -M dtype=float32. Otherwise its weights are damaged"
            )
        gap = 0.0
        for number, row in enumerate(rows):
            alone = self._generate([row], 2, probing=True)
            for step, (one, many) in enumerate(zip(alone["logits"], together["logits"], strict=True)):
                if step and alone["sequences"][0, 0] != together["sequences"][number, 0]:
                    break  # a near tie in the first step: the second ones are no longer about the same
                gap = max(gap, _gap(one[0].double(), many[number].double()))
        if gap > {"torch.float64": 1e-9, "torch.float32": 1e-4}.get(str(self.model.dtype), 0.05):
            log.warning(
                "%s is asked in batches of equal length, which is slower: filled-up rows change its numbers by %.2g %%",
                type(self.model).__name__,
                100 * gap,
            )
            return False
        return True

    def _vocabulary(self) -> int:
        count: int = self.model.get_input_embeddings().num_embeddings
        return count


def open_weights(spec: ModelSpec, auto: str, options: Mapping[str, Any]) -> _weights.Loaded:
    """The model that `spec` names, by the transformers class `auto`, as its options want it."""
    return _weights.load(spec, auto, Loading.of(options))


def unknown_mark(tokenizer: Any) -> int | None:
    """The token of an unknown word; None where there is none, or where it is a mark for something else too."""
    unknown: int | None = tokenizer.unk_token_id
    others = (tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.pad_token_id)
    return None if unknown in others else unknown


def _gap(one: Any, other: Any) -> float:
    """The largest difference of two rows of logits, as a share of the largest logit; equal infinities do not count."""
    import torch

    finite = torch.isfinite(one) & torch.isfinite(other)
    if bool(((one != other) & ~finite).any()):
        return float("inf")
    scale = max(1.0, float(one[finite].abs().max()))
    return float((one - other)[finite].abs().max()) / scale


def marks(value: Any) -> list[int]:
    """A mark or several, as transformers stores them."""
    if value is None:
        return []
    return [int(mark) for mark in value] if isinstance(value, list | tuple) else [int(value)]


def _chunk(model: Any) -> int:
    """Sources for a few seconds' work, guessed from the number of parameters."""
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    rate, least, most = (1e6, 512, 32768) if model.device.type == "cuda" else (5e3, 16, 1024)
    return int(min(most, max(least, rate / max(millions, 1.0))))
