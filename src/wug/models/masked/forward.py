"""Forward passes of a masked language model; the output layer runs at masked positions only."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from wug.arrays import Floats, Ints
from wug.errors import ModelError, first_line
from wug.models.hardware import FAILURES, compute_in_halves, nan_error
from wug.models.huggingface.cpu import prepack
from wug.models.masked import MaskedBatch, MaskedPlan, MaskedTargets
from wug.models.tokenization.ragged import Ragged

log = logging.getLogger("wug")


class MaskedEngine:
    """A model and how to score with it; `nodes` shrinks when memory runs out.

    `narrow` is a module of the model whose output is reduced to the masked positions, so that nothing after it is
    computed elsewhere; without it, the model computes everything everywhere.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        pad: int,
        nodes: int,
        narrow: torch.nn.Module | None = None,
        padding: bool = True,
    ) -> None:
        self.model = model
        self.pad, self.nodes = pad, nodes
        self.narrow, self.padding = narrow, padding

    def columns(self, plan: MaskedPlan, *, distribution: bool = False) -> Floats:
        """The log-probability in nats of each target; with `distribution`, followed by rows of entropies and ranks."""
        results = []
        first = 0
        with self._narrowed():
            while first < len(plan.order):
                last = plan.cut(first, self.nodes, padding=self.padding)
                results += self._range(plan, first, last, distribution)
                first = last
            columns = np.empty((3 if distribution else 1, len(plan.targets)))
            for where, values in results:  # waits for a GPU only now
                columns[:, where] = values.double().cpu().numpy()
        if np.isnan(columns).any():
            raise nan_error(type(self.model).__name__)
        return columns

    def _range(self, plan: MaskedPlan, first: int, last: int, distribution: bool) -> list[tuple[Ints, torch.Tensor]]:
        """Compute some copies; when memory runs out, fewer at a time."""

        def compute(first: int, last: int) -> tuple[Ints, torch.Tensor]:
            batch = plan.batch(first, last, self.pad)
            with torch.inference_mode():
                return batch.where, self._compute(batch, distribution)

        longest = int(plan.lengths[first])
        results = compute_in_halves(compute, range(first, last), longest, f"tokens on {self.model.device}")
        if len(results) > 1:
            self.nodes = (last - first) // len(results) * longest
        return results

    def _compute(self, batch: MaskedBatch, distribution: bool) -> torch.Tensor:
        device = self.model.device
        tokens, lengths, positions, rows, targets = (
            torch.from_numpy(np.ascontiguousarray(column)).to(device)
            for column in (batch.tokens, batch.lengths, batch.positions, batch.rows, batch.targets)
        )
        present = (torch.arange(tokens.shape[1], device=device) < lengths[:, None]).long()
        self._positions = positions
        # The model applies its own head, since heads differ: transforms, biases, transposed embeddings.
        logits = self.model(input_ids=tokens, attention_mask=present).logits
        if self.narrow is None:
            logits = logits[torch.arange(len(positions), device=device), positions]
        elif logits.shape[:2] == (len(positions), 1):
            logits = logits[:, 0]
        else:
            raise ValueError(f"logits of shape {tuple(logits.shape)}")
        logits = logits.float()
        scored = logits[rows, targets]
        values = scored - torch.logsumexp(logits, dim=-1)[rows]
        if not distribution:
            return values
        entropies = torch.special.entr(torch.softmax(logits, dim=-1)).sum(dim=-1)[rows]
        ranks = (logits[rows] > scored[:, None]).sum(dim=-1) + 1
        return torch.stack([values, entropies, ranks.float()])

    @contextmanager
    def _narrowed(self) -> Iterator[None]:
        """Meanwhile, `narrow` returns only the masked position of each row, as a sequence of length 1."""

        def keep(module: torch.nn.Module, inputs: object, output: Any) -> Any:
            positions = self._positions
            states = output if isinstance(output, torch.Tensor) else output[0]
            selected = states[torch.arange(len(positions), device=states.device), positions][:, None]
            if isinstance(output, torch.Tensor):
                return selected
            if isinstance(output, tuple):
                return (selected, *output[1:])
            output[next(iter(output))] = selected
            return output

        if self.narrow is None:
            yield
            return
        hook = self.narrow.register_forward_hook(keep)
        try:
            yield
        finally:
            hook.remove()


def choose_engine(model: PreTrainedModel, *, mask: int, pad: int, nodes: int | None = None) -> MaskedEngine:
    """The fastest engine that gives the numbers of one plain pass per masked copy."""
    probes = _probes(model.config.vocab_size, mask, pad)
    try:
        expected = MaskedEngine(model, pad=pad, nodes=1).columns(probes)
    except FAILURES as error:
        raise ModelError(
            f"{type(model).__name__} cannot be scored as a masked model: {first_line(error, 200)}"
        ) from error
    _require_both_sides(model, probes, expected)
    tolerance = {"torch.float64": 1e-6, "torch.float32": 1e-4}.get(str(model.dtype), 0.15)

    def is_exact(engine: MaskedEngine) -> bool:
        try:
            return float(np.abs(engine.columns(probes) - expected).max()) <= tolerance
        except (ModelError, *FAILURES):
            return False

    padding = is_exact(MaskedEngine(model, pad=pad, nodes=4096))
    undo = prepack(model)
    if not is_exact(MaskedEngine(model, pad=pad, nodes=4096, padding=padding)):
        undo()
    for module in _narrowing(model):
        if is_exact(MaskedEngine(model, pad=pad, nodes=4096, narrow=module, padding=padding)):
            break
    else:
        module = None
        log.warning("%s computes its output layer at all positions, which is slower", type(model).__name__)
    nodes = nodes or _affordable(model, everywhere=module is None)
    return MaskedEngine(model, pad=pad, nodes=nodes, narrow=module, padding=padding)


def _probes(vocabulary: int, mask: int, pad: int) -> MaskedPlan:
    """Targets with one and with several masks, in sequences of different lengths."""
    generator = np.random.default_rng(1958)
    lengths = np.array([11, 11, 9, 7])
    tokens = generator.integers(0, vocabulary, size=int(lengths.sum()))
    tokens[tokens == pad] = mask  # some models do not count padding
    positions = np.array([1, 5, 7, 4])
    targets = MaskedTargets(np.arange(4), positions, positions, positions + np.array([1, 3, 1, 2]))
    return MaskedPlan.of(Ragged(tokens, lengths), targets, mask)


def _require_both_sides(model: PreTrainedModel, probes: MaskedPlan, expected: Floats) -> None:
    """Refuse a model that sees only the left context: it does not notice a change of the last word."""
    changed_ids = probes.sequences.flat.copy()
    changed_ids[probes.sequences.starts + probes.sequences.lengths - 1] = probes.sequences.flat[probes.sequences.starts]
    changed = MaskedPlan.of(Ragged(changed_ids, probes.sequences.lengths), probes.targets, probes.mask)
    if np.array_equal(MaskedEngine(model, pad=0, nodes=1).columns(changed), expected):
        raise ModelError(
            f"{type(model).__name__} does not look at words to the right, so it is not a masked model. "
            f"Use causal:{model.name_or_path}"
        )


def _narrowing(model: PreTrainedModel) -> Iterator[Any]:
    """Modules after which positions may be independent, the earliest first.

    In the last layer that is after attention; failing that, the end of the layer, and of all layers. It differs between
    architectures and is found by trying.
    """
    body = model.base_model
    stacks = [module for module in body.modules() if isinstance(module, torch.nn.ModuleList) and len(module) > 1]
    if stacks:
        last = max(stacks, key=len)[-1]
        yield from (module for module in last.modules() if module is not last)
        yield last
    if body is not model:
        yield body


def _affordable(model: PreTrainedModel, *, everywhere: bool) -> int:
    """Tokens per batch: on a CPU what stays in its cache, on a GPU a moderate part of the memory."""
    if model.device.type != "cuda":
        return 1024
    free, _ = torch.cuda.mem_get_info(model.device)
    outputs = model.config.vocab_size
    rows = 0.25 * free / (outputs * 4 * 3)  # of float32 logits, with the copies that are made of them
    return int(min(32768, max(128, rows if everywhere else 3 * rows)))  # every text has at least three tokens
