"""An LSTM that reads a source from both sides and writes an answer with attention to it, after Luong et al. (2015).

The shapes of all tensors follow from those of the arguments alone, so that training can be compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from wug.models.attention_lstm.repeated import Repeated, compute_dtype

ATTENTIONS = ("general", "dot")
STARTS = ("even", "normal")
"""First values. Even: all weights evenly spread between minus and plus SPREAD, forget gates open. Normal: embeddings
normally distributed with a standard deviation of 1, and layers by their width, as PyTorch has them."""
SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class AttentionShape:
    """What an attention LSTM is made of."""

    vocabulary: int
    """Words, of sources and answers together."""
    layers: int = 2
    """Of the encoder, and as many of the decoder."""
    width: int = 256
    """The size of an embedding."""
    hidden: int = 512
    """The size of a layer; in the encoder half of it reads forwards, half backwards."""
    attention: str = "general"
    """general, with a matrix between answer and source, or dot."""
    input_feeding: bool = True
    """Whether the decoder is told where it looked last; without it, training takes all words of an answer at once."""
    tied: bool = True
    """Whether the embeddings of answers are the output layer too."""
    dropout: float = 0.1

    @property
    def attended(self) -> int:
        """The size of what the output layer gets."""
        return self.width if self.tied else self.hidden


class Memory(NamedTuple):
    """A source as it was read; a row for each of the batch."""

    states: Any
    """(batch, source, hidden)."""
    keys: Any
    """The same, as an answer's states are compared with them."""
    absent: Any
    """(batch, source): where there is no word."""

    def of(self, rows: Any) -> Memory:
        """The same for some rows of the batch."""
        return Memory(*(part[rows] for part in self))


class State(NamedTuple):
    """Where an answer stands."""

    hidden: tuple[Any, ...]
    """For each layer, (batch, hidden)."""
    cell: tuple[Any, ...]
    attended: Any
    """What the output layer got last, (batch, attended); zeros at the beginning."""

    def of(self, rows: Any) -> State:
        """The same for some rows of the batch."""
        hidden, cell = (tuple(layer[rows] for layer in part) for part in (self.hidden, self.cell))
        return State(hidden, cell, self.attended[rows])


def attention_lstm(shape: AttentionShape, start: str = "even") -> Any:
    """A new torch module, called as `model(source, present, target)`, that gives logits for teacher forcing.

    `source` (batch, source length) and `target` (batch, target length) are numbers of words, `present` is true where
    `source` has a word, at the left of each row; what stands elsewhere changes nothing. The logits, (batch, target
    length, vocabulary), are those of the word after each of `target`, which therefore begins with the start mark.
    `start`, one of STARTS, says what its first values are.
    """
    import torch
    from torch import nn

    class AttentionLSTM(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            hidden, layers, words = shape.hidden, shape.layers, shape.vocabulary
            self.shape = shape
            # Between layers too, which are therefore modules of their own: cuDNN's dropout does not go by torch's seed.
            self.dropout = nn.Dropout(shape.dropout)
            self.source = nn.Embedding(words, shape.width)
            self.target = nn.Embedding(words, shape.width)
            # One more input, which is 1 beside a word and 0 elsewhere, is the bias: see `read`.
            widths = [shape.width + 1, *[hidden + 1] * (layers - 1)]
            sides: dict[str, bool] = {"bias": False, "bidirectional": True, "batch_first": True}
            self.encoder = nn.ModuleList(nn.LSTM(width, hidden // 2, **sides) for width in widths)
            self.bridge = nn.Linear(hidden, 2 * layers * hidden)
            fed = shape.attended if shape.input_feeding else 0
            widths = [shape.width + fed, *[hidden] * (layers - 1)]
            # Fed, it goes word by word, and torch.compile takes cells; else cuDNN takes a whole answer at once.
            self.decoder = nn.ModuleList(
                nn.LSTMCell(width, hidden) if shape.input_feeding else nn.LSTM(width, hidden, batch_first=True)
                for width in widths
            )
            self.attention = nn.Linear(hidden, hidden, bias=False) if shape.attention == "general" else nn.Identity()
            self.combine = nn.Linear(2 * hidden, shape.attended, bias=False)
            self.output = nn.Linear(shape.attended, words)
            if shape.tied:
                self.output.weight = self.target.weight
            _begin(self, start)

        def forward(self, source: Any, present: Any, target: Any) -> Any:
            return self.output(self.states(target, *self.read(source, present)))

        def states(self, target: Any, memory: Memory, state: State) -> Any:
            """What the output layer gets after each word of given answers, (batch, target length, attended)."""
            return _forced(self, self.dropout(self.target(target)), memory, state)

        def read(self, source: Any, present: Any) -> tuple[Memory, State]:
            """Sources as they were read, and the state in which their answers begin."""
            return _read(self, source, present)

        def step(self, embedded: Any, memory: Memory, state: State) -> State:
            """The state one word further on: `embedded` has the embedding of a word for each of the batch."""
            return _step(self, embedded, memory, state)

        def write(self, words: Any, memory: Memory, state: State) -> tuple[Any, State]:
            """The logits of the word after `words`, one for each of the batch, and the state after them."""
            after = self.step(self.dropout(self.target(words)), memory, state)
            return self.output(after.attended), after

    with torch.no_grad():
        return AttentionLSTM()


def _begin(net: Any, start: str) -> None:
    """First values; the encoder's biases are the weights of one more input, and begin with nought as others do."""
    from torch import nn

    inputs = [weight for layer in net.encoder for weight in (layer.weight_ih_l0, layer.weight_ih_l0_reverse)]
    if start == "normal":
        for weight in inputs:
            nn.init.zeros_(weight[:, -1])
        return
    for name, parameter in net.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
        else:
            nn.init.uniform_(parameter, -SPREAD, SPREAD)
    half = net.shape.hidden // 2
    for weight in inputs:
        nn.init.zeros_(weight[:, -1])
        nn.init.ones_(weight[half : 2 * half, -1])
    for layer in net.decoder:
        bias = layer.bias_ih if net.shape.input_feeding else layer.bias_ih_l0
        nn.init.ones_(bias[layer.hidden_size : 2 * layer.hidden_size])


def _read(net: Any, source: Any, present: Any) -> tuple[Memory, State]:
    """Without a bias, a state of zeros that reads zeros stays zeros: what fills up a row on the right is not noticed.

    The bias comes in as the weights of an input that is 1 for each word.
    """
    import torch

    states = net.dropout(net.source(source))
    ones = present.unsqueeze(2).to(states.dtype)
    for number, layer in enumerate(net.encoder):
        states, _ = layer(torch.cat([states * ones, ones], dim=2))
        if number + 1 < len(net.encoder):
            states = net.dropout(states)
    states = states * ones.to(states.dtype)
    half = net.shape.hidden // 2
    last = (present & ~torch.nn.functional.pad(present[:, 1:], (0, 1))).unsqueeze(2).to(states.dtype)
    ends = torch.cat([(states[:, :, :half] * last).sum(dim=1), states[:, 0, half:]], dim=1)
    hidden, cell = net.bridge(ends).chunk(2, dim=1)
    opening = State(
        hidden.tanh().chunk(net.shape.layers, dim=1),
        cell.chunk(net.shape.layers, dim=1),
        ends.new_zeros(len(source), net.shape.attended),
    )
    return Memory(states, net.attention(states), ~present), opening


def _forced(net: Any, embedded: Any, memory: Memory, state: State) -> Any:
    """What the output layer gets for each word of given answers."""
    import torch

    if net.shape.input_feeding:
        step = net.step
        if torch.is_grad_enabled() and not torch.compiler.is_compiling():
            embedded, step = embedded.to(compute_dtype(embedded)), _step_that_learns(net, memory)
        outputs = []
        for word in embedded.unbind(dim=1):
            state = step(word, memory, state)
            outputs.append(state.attended)
        return torch.stack(outputs, dim=1)
    for number, (layer, hidden, cell) in enumerate(zip(net.decoder, state.hidden, state.cell, strict=True)):
        inputs = embedded if number == 0 else net.dropout(embedded)
        embedded, _ = layer(inputs, (hidden.unsqueeze(0).contiguous(), cell.unsqueeze(0).contiguous()))
    return _attend(net, embedded, memory)


def _step(net: Any, embedded: Any, memory: Memory, state: State) -> State:
    import torch

    value = torch.cat([embedded, state.attended.to(embedded.dtype)], dim=1) if net.shape.input_feeding else embedded
    hidden, cell = [], []
    for number, (layer, *before) in enumerate(zip(net.decoder, state.hidden, state.cell, strict=True)):
        value = value if number == 0 else net.dropout(value)
        if net.shape.input_feeding:
            now, kept = layer(value, before)
        else:
            weights = (layer.weight_ih_l0, layer.weight_hh_l0, layer.bias_ih_l0, layer.bias_hh_l0)
            now, kept = torch.lstm_cell(value, before, *weights)
        hidden.append(now)
        cell.append(kept)
        value = now
    return State(tuple(hidden), tuple(cell), _attend(net, value.unsqueeze(1), memory).squeeze(1))


def _step_that_learns(net: Any, memory: Memory) -> Callable[[Any, Memory, State], State]:
    """`_step` for training with one memory: the matrices' gradients are computed once for all words."""
    import torch

    gates = [(Repeated(cell.weight_ih, cell.bias_ih), Repeated(cell.weight_hh, cell.bias_hh)) for cell in net.decoder]
    keys, states, combine = Repeated(memory.keys), Repeated(memory.states.mT), Repeated(net.combine.weight)

    def step(embedded: Any, memory: Memory, state: State) -> State:
        value = torch.cat([embedded, state.attended.to(embedded.dtype)], dim=1)
        hidden, cell = [], []
        for number, ((of_input, of_hidden), *before) in enumerate(zip(gates, state.hidden, state.cell, strict=True)):
            value = value if number == 0 else net.dropout(value)
            value, kept = _through_gates(of_input(value), of_hidden(before[0]), before[1])
            hidden.append(value)
            cell.append(kept)
        looked = states(_shares(keys(value.unsqueeze(1)), memory).to(value.dtype)).squeeze(1)
        attended = net.dropout(combine(torch.cat([looked, value], dim=1)).tanh())
        return State(tuple(hidden), tuple(cell), attended)

    return step


def _through_gates(of_input: Any, of_hidden: Any, cell: Any) -> tuple[Any, Any]:
    """The hidden state and the cell after a step, given what input and hidden state say to the gates."""
    import torch

    cell = cell.to(of_input.dtype)
    if of_input.is_cuda:
        hidden, cell, _ = torch.ops.aten._thnn_fused_lstm_cell(of_input, of_hidden, cell)
        return hidden, cell
    enter, forget, new, leave = (of_input + of_hidden).chunk(4, dim=1)
    cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
    return leave.sigmoid() * cell.tanh(), cell


def _attend(net: Any, outputs: Any, memory: Memory) -> Any:
    """The decoder's outputs, (batch, length, hidden), together with what they look at in the source."""
    import torch

    shares = _shares(torch.matmul(outputs, memory.keys.mT), memory)
    looked = torch.matmul(shares.to(memory.states.dtype), memory.states)
    return net.dropout(net.combine(torch.cat([looked, outputs], dim=2)).tanh())


def _shares(scores: Any, memory: Memory) -> Any:
    """How much of each word of the source is looked at, in float32; `scores` is (batch, length, source)."""
    import torch

    # The least number, not minus infinity: a row without any word must not become a row without any number.
    hidden = scores.masked_fill(memory.absent.unsqueeze(1), torch.finfo(scores.dtype).min)
    return hidden.softmax(dim=2, dtype=torch.float32)
