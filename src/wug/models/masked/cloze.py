"""Asking a masked language model what stands under a mask: the output layer runs there and nowhere else."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import chain, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from wug.errors import ModelError
from wug.models._hardware import REMEDY, halving
from wug.models._prepack import prepack
from wug.models._ragged import Ints, Ragged
from wug.models.masked.masking import Asked, Batch, Plan, plan

Floats = npt.NDArray[np.float64]
Range: TypeAlias = tuple[int, int]
"""The first copy of a batch, and the one after its last."""
Answer: TypeAlias = tuple[Ints, Any]
"""Questions, by their numbers, and the log-probability of each, where the device has them."""

FAULTS = (TypeError, ValueError, RuntimeError, IndexError, AttributeError, KeyError)
"""What a model may raise that is asked in a way it was not made for."""

log = logging.getLogger("wug")


class Engine:
    """A model and the way to ask it; `nodes` shrinks when memory runs out.

    `narrow` is a module of the model whose output is cut down to the places that are asked, so that nothing
    after it is computed elsewhere; without it, the model computes everything everywhere. `workers` threads
    share the batches on a CPU: each core at work on its own never waits for the others. With `distribution` it tells
    entropies and ranks, too.
    """

    def __init__(
        self,
        model: Any,
        *,
        pad: int,
        nodes: int,
        narrow: Any = None,
        padding: bool = True,
        workers: int = 1,
        distribution: bool = False,
    ) -> None:
        self.model = model
        self.pad = pad
        self.nodes = nodes
        self.narrow = narrow
        self.padding = padding
        self.workers = workers
        self._distribution = distribution
        self._asked = threading.local()

    def with_distribution(self) -> Engine:
        """The same, telling entropies and ranks."""
        return Engine(
            self.model, pad=self.pad, nodes=self.nodes, narrow=self.narrow, padding=self.padding, workers=self.workers,
            distribution=True,
        )  # fmt: skip

    def logprobs(self, planned: Plan) -> Floats:
        """The log-probability in nats of each question's token."""
        found: Floats = self.columns(planned)[0]
        return found

    def columns(self, planned: Plan) -> Floats:
        """For each question the log-probability of its token; with `distribution`, below it entropy and rank."""
        cuts = [0] if len(planned.copies) else []
        while cuts and cuts[-1] < len(planned.copies):
            cuts.append(planned.cut(cuts[-1], self.nodes, padding=self.padding))
        ranges = list(pairwise(cuts))
        answers = np.empty((3 if self._distribution else 1, len(planned.asked)))
        with self._narrowed():
            alone = len(ranges) < 2 * self.workers
            found = [self._range(planned, r) for r in ranges] if alone else self._shared(planned, ranges)
            for where, values in chain.from_iterable(found):  # a GPU has only now to be waited for
                answers[:, where] = values.double().cpu().numpy()
        if np.isnan(answers).any():
            raise ModelError(
                f"{type(self.model).__name__} answers with values that are no numbers. In half precision that "
                "is an overflow: use -M dtype=float32. Otherwise its weights are damaged"
            )
        return answers

    def _shared(self, planned: Plan, ranges: list[Range]) -> list[list[Answer]]:
        """The answers to all ranges, by threads that take them one by one, the longest first."""
        import torch

        threads = torch.get_num_threads()
        ranges = sorted(ranges, key=lambda r: (r[0] - r[1]) * int(planned.lengths[r[0]]))
        pool = ThreadPoolExecutor(self.workers, "wug", torch.set_num_threads, (1,))
        try:
            return list(pool.map(partial(self._range, planned), ranges))
        finally:
            pool.shutdown(cancel_futures=True)
            torch.set_num_threads(threads)  # threads that others start later take over the last number set

    def _range(self, planned: Plan, copies: Range) -> list[Answer]:
        """The answers to some copies; when memory runs out, to fewer at a time."""
        import torch

        def compute(first: int, last: int) -> Answer:
            batch = planned.batch(first, last, self.pad)
            with torch.inference_mode():
                return batch.where, self._compute(batch)

        def shrink(first: int, last: int) -> str:
            self.nodes = (last - first) * int(planned.lengths[first])
            return f"{self.nodes:,} tokens"

        def single(copy: int) -> str:
            return f"{planned.lengths[copy]} tokens on {self.model.device}: {REMEDY}"

        return halving(compute, *copies, shrink=shrink, single=single)

    def _compute(self, batch: Batch) -> Any:
        import torch

        device = self.model.device
        tokens, lengths, places, rows, targets = (
            torch.from_numpy(column).to(device)
            for column in (batch.tokens, batch.lengths, batch.places, batch.rows, batch.targets)
        )
        present = (torch.arange(tokens.shape[1], device=device) < lengths[:, None]).long()
        self._asked.places = places
        # The model applies its own head, since heads differ: transforms, biases, embeddings turned round.
        logits = self.model(input_ids=tokens, attention_mask=present).logits
        if self.narrow is None:
            logits = logits[torch.arange(len(places), device=device), places]
        elif logits.shape[:2] == (len(places), 1):
            logits = logits[:, 0]
        else:
            raise ValueError(f"logits of shape {tuple(logits.shape)}")
        logits = logits.float()
        values = logits[rows, targets] - torch.logsumexp(logits, dim=-1)[rows]
        if not self._distribution:
            return values
        entropies = torch.special.entr(torch.softmax(logits, dim=-1)).sum(dim=-1)[rows]
        ranks = (logits[rows] > logits[rows, targets][:, None]).sum(dim=-1) + 1
        return torch.stack([values, entropies, ranks.float()])

    @contextmanager
    def _narrowed(self) -> Iterator[None]:
        """Meanwhile, `narrow` gives only the places that are asked, as a sequence of one place for each row."""
        import torch

        def keep(module: Any, inputs: Any, output: Any) -> Any:
            places = self._asked.places
            whole = output if isinstance(output, torch.Tensor) else output[0]
            kept = whole[torch.arange(len(places), device=whole.device), places][:, None]
            if isinstance(output, torch.Tensor):
                return kept
            if isinstance(output, tuple):
                return (kept, *output[1:])
            output[next(iter(output))] = kept
            return output

        if self.narrow is None:
            yield
            return
        hook = self.narrow.register_forward_hook(keep)
        try:
            yield
        finally:
            hook.remove()


def choose_engine(model: Any, *, mask: int, pad: int, nodes: int | None = None, workers: int = 1) -> Engine:
    """The fastest engine that was seen to give the numbers of one plain pass for each masked copy."""
    probes = _probes(model.config.vocab_size, mask, pad)
    try:
        expected = Engine(model, pad=pad, nodes=1).logprobs(probes)
    except FAULTS as error:
        reason = str(error).split("\n")[0][:200]
        raise ModelError(f"{type(model).__name__} cannot be asked as masked models are: {reason}") from error
    _require_both_sides(model, probes, expected)
    tolerance = {"torch.float64": 1e-6, "torch.float32": 1e-4}.get(str(model.dtype), 0.15)

    def right(engine: Engine) -> bool:
        try:
            return float(np.abs(engine.logprobs(probes) - expected).max()) <= tolerance
        except (ModelError, *FAULTS):
            return False

    padding = right(Engine(model, pad=pad, nodes=4096))
    undo = prepack(model)
    if not right(Engine(model, pad=pad, nodes=4096, padding=padding)):
        undo()
    for module in _narrowing(model):
        if right(Engine(model, pad=pad, nodes=4096, narrow=module, padding=padding)):
            break
    else:
        module = None
        log.warning("%s computes its output layer at all places, which is slower", type(model).__name__)
    nodes = nodes or _affordable(model, everywhere=module is None)
    return Engine(model, pad=pad, nodes=nodes, narrow=module, padding=padding, workers=workers)


def _probes(vocabulary: int, mask: int, pad: int) -> Plan:
    """Questions with one and with several masks, to sequences of different lengths."""
    draw = np.random.default_rng(1958)
    lengths = np.array([11, 11, 9, 7])
    tokens = draw.integers(0, vocabulary, size=int(lengths.sum()))
    tokens[tokens == pad] = mask  # some models count only what is no padding
    places = np.array([1, 5, 7, 4])
    return plan(Ragged(tokens, lengths), Asked(np.arange(4), places, places + np.array([1, 3, 1, 2])), mask)


def _require_both_sides(model: Any, probes: Plan, expected: Floats) -> None:
    """A model that looks to the left only does not see that the last word is another one."""
    other = probes.sequences.flat.copy()
    other[probes.sequences.starts + probes.sequences.lengths - 1] = probes.sequences.flat[probes.sequences.starts]
    changed = plan(Ragged(other, probes.sequences.lengths), probes.asked, probes.mask)
    if np.array_equal(Engine(model, pad=0, nodes=1).logprobs(changed), expected):
        raise ModelError(
            f"{type(model).__name__} does not look at words to the right, so it is no masked model. "
            f"Use causal:{model.name_or_path}"
        )


def _narrowing(model: Any) -> Iterator[Any]:
    """Modules after which each place may go on by itself, those that come early in the model first.

    In the last layer that is where attention has been added to what came in; failing that, the end of the
    layer, and of all layers. Which of them it is differs between architectures and is found by trying.
    """
    import torch

    body = model.base_model
    stacks = [module for module in body.modules() if isinstance(module, torch.nn.ModuleList) and len(module) > 1]
    if stacks:
        last = max(stacks, key=len)[-1]
        yield from (module for module in last.modules() if module is not last)
        yield last
    if body is not model:
        yield body


def _affordable(model: Any, *, everywhere: bool) -> int:
    """Tokens at a time: on a CPU what stays in its cache, on a GPU a moderate part of the memory."""
    import torch

    if model.device.type != "cuda":
        return 1024
    free, _ = torch.cuda.mem_get_info(model.device)
    outputs = model.config.vocab_size
    rows = 0.25 * free / (outputs * 4 * 3)  # of float32 logits, with the copies that are made of them
    return int(min(32768, max(128, rows if everywhere else 3 * rows)))  # no text has fewer than three tokens
