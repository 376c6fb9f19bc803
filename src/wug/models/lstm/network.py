"""A recurrent network of words, computed by torch: states, outputs, and log-probabilities."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from wug.errors import ModelError
from wug.models._ragged import Ints
from wug.models.lstm.weights import Weights

Floats = npt.NDArray[np.float64]

SLICE = {"cpu": 1 << 25, "cuda": 1 << 28}
"""Logits that exist at a time: bounds the memory of the output layer."""
NOTHING = -200.0
"""A log-probability below which a word adds nothing to an entropy, and minus infinity would make it no number."""


class Network:
    """Weights on a device, and the ways to run them."""

    __slots__ = ("_bias", "_decoder", "_encoder", "_rnn", "device", "hidden", "output", "rows", "words")

    def __init__(self, weights: Weights, *, device: str, dtype: str) -> None:
        import torch

        kind, tensors = weights.kind, weights.rnn
        settings: dict[str, Any] = {"num_layers": weights.layers, "bias": "bias_ih_l0" in tensors}
        if kind.startswith("RNN_"):
            settings["nonlinearity"] = kind.removeprefix("RNN_").lower()
        if weights.projection is not None:
            settings["proj_size"] = weights.projection
        rnn = getattr(torch.nn, kind.partition("_")[0])(weights.width, weights.hidden, **settings)
        rnn.load_state_dict(tensors)
        try:
            target: dict[str, Any] = {"device": torch.device(device), "dtype": getattr(torch, dtype)}
            self._rnn = rnn.to(**target).eval().requires_grad_(False)
            self._encoder, self._decoder = weights.encoder.to(**target), weights.decoder.to(**target)
            self._bias = None if weights.bias is None else weights.bias.to(**target)
        except (RuntimeError, AssertionError, TypeError) as error:
            raise ModelError(f"cannot move to device {device!r}: {str(error).split(chr(10))[0]}") from error
        self.device = target["device"]
        self.words, self.hidden, self.output = weights.words, weights.hidden, weights.output
        self.rows = max(1, SLICE.get(self.device.type, SLICE["cpu"]) // self.words)
        """Outputs that go through the output layer at a time."""

    def start(self) -> tuple[Any, ...]:
        """The state of zeros, of one sequence."""
        import torch

        sizes = (self.output, self.hidden) if self._rnn.mode == "LSTM" else (self.hidden,)
        target = {"device": self.device, "dtype": self._encoder.dtype}
        return tuple(torch.zeros(self._rnn.num_layers, 1, size, **target) for size in sizes)

    def step(self, tokens: Ints, state: tuple[Any, ...], parents: Ints) -> tuple[Any, tuple[Any, ...]]:
        """Read one word behind each of many places: `parents` says which place of the state comes before it.

        Gives the outputs, one a row, and the new state.
        """
        before = self._send(parents)
        outputs, after = self._run(tokens[None], tuple(part[:, before] for part in state))
        return outputs[0], after

    def read(self, tokens: Ints, state: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Read words one after the other; gives the outputs, one a row, and the last state."""
        if not len(tokens):
            return self._encoder.new_empty(0, self.output), state
        outputs, after = self._run(tokens[:, None], state)
        return outputs[:, 0], after

    def columns(self, outputs: Any, rows: Ints, targets: Ints, *, distribution: bool = False) -> Any:
        """For each question, the log-probability of its target after the output in its row; a tensor of one row.

        With `distribution`, of three: below it the entropy of all words there in nats, and the rank of the target.
        """
        import torch

        order = np.argsort(rows, kind="stable")
        precise = torch.float64 if outputs.dtype == torch.float64 else torch.float32
        values = torch.empty(3 if distribution else 1, len(rows), dtype=precise, device=self.device)
        bounds = np.searchsorted(rows[order], np.arange(0, len(outputs) + self.rows, self.rows))
        for first, low, high in zip(range(0, len(outputs), self.rows), bounds, bounds[1:], strict=False):
            if low == high:
                continue
            some = outputs[first : first + self.rows]
            logits = torch.nn.functional.linear(some, self._decoder, self._bias).to(precise)
            asked = order[low:high]
            here = self._send(rows[asked] - first)
            own, total = logits[here, self._send(targets[asked])], logits.logsumexp(dim=1)
            where = self._send(asked)
            values[0, where] = own - total[here]
            if distribution:
                values[1, where] = _entropies(logits, total)[here]
                values[2, where] = _ranks(logits, here, own).to(precise)
        return values

    def _run(self, tokens: Ints, state: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        import torch

        embedded = torch.nn.functional.embedding(self._send(tokens), self._encoder)
        # cuDNN would compute float32 in TF32, with three digits: torch's own kernels do not.
        own_kernels = torch.backends.cudnn.flags(enabled=False) if self.device.type == "cuda" else nullcontext()
        with own_kernels, warnings.catch_warnings():
            # torch says once that oneDNN has no projections and that it takes its own kernels, as it should.
            warnings.filterwarnings("ignore", message="LSTM with projections")
            outputs, after = self._rnn(embedded, state if len(state) > 1 else state[0])
        return outputs, after if len(state) > 1 else (after,)

    def _send(self, numbers: Ints) -> Any:
        import torch

        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self.device, non_blocking=True)


def _entropies(logits: Any, total: Any) -> Any:
    """Of each row, in nats; a word that cannot come adds nothing."""
    logs = logits - total[:, None]
    return -(logs.exp() * logs.clamp(min=NOTHING)).sum(dim=1)


def _ranks(logits: Any, rows: Any, own: Any) -> Any:
    """For each question, 1 and how many words of its row are above the target; a row is compared in place."""
    import torch

    step = max(1, len(logits))
    parts = zip(rows.split(step), own.split(step), strict=True)  # no more rows at a time than there are
    return torch.cat([(logits[some] > bound[:, None]).sum(dim=1) + 1 for some, bound in parts])
