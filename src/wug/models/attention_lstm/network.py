"""An LSTM encoder–decoder with attention, after Luong et al. (2015).

The shapes of all tensors follow from those of the arguments alone, so that training can be compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from wug.models.attention_lstm import PAD, START, AttentionShape
from wug.models.decoding.outputs import Decoded, trim_at_end
from wug.models.hardware import nan_error, without_cudnn
from wug.models.tokenization.words import Vocabulary

INIT_RANGE = 0.1
STEPS_PER_CHECK = 8
"""Steps between two checks for finished answers, each of which waits for the GPU."""


class Memory(NamedTuple):
    """An encoded source; one row per element of the batch."""

    states: Tensor
    """(batch, source, hidden)."""
    keys: Tensor
    """What the decoder's states are compared with: (batch, source, hidden)."""
    absent: Tensor
    """(batch, source): true for padding."""

    def of(self, rows: Tensor) -> Memory:
        """Some rows of the batch."""
        return Memory(*(tensor[rows] for tensor in self))


class State(NamedTuple):
    """The state of the decoder."""

    hidden: tuple[Tensor, ...]
    """For each layer, (batch, hidden)."""
    cell: tuple[Tensor, ...]
    attended: Tensor
    """The last input of the output layer, (batch, attended); zeros at the beginning."""

    def of(self, rows: Tensor) -> State:
        """Some rows of the batch."""
        hidden, cell = (tuple(layer[rows] for layer in states) for states in (self.hidden, self.cell))
        return State(hidden, cell, self.attended[rows])


class AttentionLSTM(nn.Module):  # type: ignore[misc]
    """The network; `model(source, present, target)` gives the logits of teacher forcing.

    `source` (batch, source length) and `target` (batch, target length) are word numbers; `present` is true for the
    words of `source`, which are at the left of each row. The logits, (batch, target length, vocabulary), are those of
    the word after each of `target`, which therefore begins with the start token.
    """

    def __init__(self, shape: AttentionShape, start: str = "even") -> None:
        super().__init__()
        hidden, layers = shape.hidden, shape.layers
        self.shape = shape
        # Also between layers, which are therefore separate modules: cuDNN's dropout ignores torch's seed.
        self.dropout = nn.Dropout(shape.dropout)
        self.source = nn.Embedding(shape.vocabulary, shape.width)
        self.target = nn.Embedding(shape.vocabulary, shape.width)
        # The bias is the weight of one more input, which is one for words and zero for padding: see `read`.
        widths = [shape.width + 1, *[hidden + 1] * (layers - 1)]
        encoder_options: dict[str, bool] = {"bias": False, "bidirectional": True, "batch_first": True}
        self.encoder = nn.ModuleList(nn.LSTM(width, hidden // 2, **encoder_options) for width in widths)
        self.bridge = nn.Linear(hidden, 2 * layers * hidden)
        # Input feeding: at each word the decoder receives its last attention output.
        widths = [shape.width + shape.attended, *[hidden] * (layers - 1)]
        self.decoder = nn.ModuleList(nn.LSTMCell(width, hidden) for width in widths)
        self.attention = nn.Linear(hidden, hidden, bias=False) if shape.attention == "general" else nn.Identity()
        self.combine = nn.Linear(2 * hidden, shape.attended, bias=False)
        self.output = nn.Linear(shape.attended, shape.vocabulary)
        if shape.tied:
            self.output.weight = self.target.weight
        with torch.no_grad():
            self._initialize(start)

    def _initialize(self, start: str) -> None:
        """Initial weights; those that act as the encoder's biases begin at zero, as biases do."""
        inputs = [weight for layer in self.encoder for weight in (layer.weight_ih_l0, layer.weight_ih_l0_reverse)]
        if start == "even":
            for name, parameter in self.named_parameters():
                if "bias" in name:
                    nn.init.zeros_(parameter)
                else:
                    nn.init.uniform_(parameter, -INIT_RANGE, INIT_RANGE)
        for weight in inputs:
            nn.init.zeros_(weight[:, -1])
        if start != "even":
            return
        half = self.shape.hidden // 2
        for weight in inputs:
            nn.init.ones_(weight[half : 2 * half, -1])
        for layer in self.decoder:
            nn.init.ones_(layer.bias_ih[layer.hidden_size : 2 * layer.hidden_size])

    def forward(self, source: Tensor, present: Tensor, target: Tensor) -> Tensor:
        """The logits of teacher forcing."""
        return self.output(self.states(target, *self.read(source, present)))

    def read(self, source: Tensor, present: Tensor) -> tuple[Memory, State]:
        """Encode sources; returns also the first state of the decoder.

        Without a bias, a state of zeros that reads zeros stays zeros, so padding on the right has no effect. The bias
        is the weight of an input that is 1 for each word.
        """
        states = self.dropout(self.source(source))
        ones = present.unsqueeze(2).to(states.dtype)
        for number, layer in enumerate(self.encoder):
            states, _ = layer(torch.cat([states * ones, ones], dim=2))
            if number + 1 < len(self.encoder):
                states = self.dropout(states)
        states = states * ones.to(states.dtype)
        half = self.shape.hidden // 2
        is_last = (present & ~nn.functional.pad(present[:, 1:], (0, 1))).unsqueeze(2).to(states.dtype)
        last_states = torch.cat([(states[:, :, :half] * is_last).sum(dim=1), states[:, 0, half:]], dim=1)
        hidden, cell = self.bridge(last_states).chunk(2, dim=1)
        initial_state = State(
            hidden.tanh().chunk(self.shape.layers, dim=1),
            cell.chunk(self.shape.layers, dim=1),
            last_states.new_zeros(len(source), self.shape.attended),
        )
        return Memory(states, self.attention(states), ~present), initial_state

    def states(self, target: Tensor, memory: Memory, state: State) -> Tensor:
        """The inputs of the output layer after each word of given answers, (batch, target length, attended)."""
        outputs = []
        for word in self.dropout(self.target(target)).unbind(dim=1):
            state = self.step(word, memory, state)
            outputs.append(state.attended)
        return torch.stack(outputs, dim=1)

    def write(self, words: Tensor, memory: Memory, state: State) -> tuple[Tensor, State]:
        """The logits of the word after `words`, one per row of the batch, and the state after them."""
        next_state = self.step(self.dropout(self.target(words)), memory, state)
        return self.output(next_state.attended), next_state

    def step(self, embedded: Tensor, memory: Memory, state: State) -> State:
        """The state one word later; `embedded` has the embedding of a word for each row of the batch."""
        output = torch.cat([embedded, state.attended.to(embedded.dtype)], dim=1)
        hidden, cell = [], []
        for number, (layer, *layer_state) in enumerate(zip(self.decoder, state.hidden, state.cell, strict=True)):
            output, layer_cell = layer(output if number == 0 else self.dropout(output), layer_state)
            hidden.append(output)
            cell.append(layer_cell)
        outputs = output.unsqueeze(1)
        scores = torch.matmul(outputs, memory.keys.mT)
        # The lowest number, not minus infinity: a row of padding alone must not become NaN.
        masked = scores.masked_fill(memory.absent.unsqueeze(1), torch.finfo(scores.dtype).min)
        weights = masked.softmax(dim=2, dtype=torch.float32)
        context = torch.matmul(weights.to(memory.states.dtype), memory.states)
        attended = self.dropout(self.combine(torch.cat([context, outputs], dim=2)).tanh())
        return State(tuple(hidden), tuple(cell), attended.squeeze(1))


class AttentionEncoderDecoder:
    """The network as `TeacherForcing` uses it."""

    def __init__(self, model: AttentionLSTM) -> None:
        self._model = model
        self.device, self.dtype = model.output.bias.device, model.output.bias.dtype
        self.vocabulary: int = model.shape.vocabulary

    def read(self, sources: Tensor) -> tuple[Memory, State]:
        """Encode sources of equal length."""
        with without_cudnn(self.device):
            return self._model.read(sources, torch.ones_like(sources, dtype=torch.bool))

    def write(self, memory: tuple[Memory, State], rows: Tensor, tokens: Tensor) -> Tensor:
        """The inputs of the output layer."""
        encoded, state = memory
        with without_cudnn(self.device):
            return self._model.states(tokens, encoded.of(rows), state.of(rows))

    def logits(self, states: Tensor) -> Tensor:
        """The logits of all words."""
        return self._model.output(states)


def decode_greedily(
    model: AttentionLSTM, vocabulary: Vocabulary, rows: Sequence[Sequence[int]], limit: int
) -> list[Decoded]:
    """Decode each source greedily, up to the end token or to `limit` words."""
    device, end = model.output.bias.device, vocabulary.end
    width = max(map(len, rows))
    assert end is not None
    source = torch.tensor([[*row, *[vocabulary.index[PAD]] * (width - len(row))] for row in rows], device=device)
    present = torch.arange(width, device=device) < torch.tensor([[len(row)] for row in rows], device=device)
    banned = torch.tensor([vocabulary.index[PAD], vocabulary.index[START]], device=device)
    outputs = torch.full((len(rows), limit), end, device=device)
    active = torch.arange(len(rows), device=device)
    words = torch.full((len(rows),), vocabulary.index[START], device=device)
    with torch.inference_mode(), without_cudnn(device):
        memory, state = model.read(source, present)
        for step in range(limit):
            logits, state = model.write(words, memory, state)
            if step == 0 and bool(logits.isnan().any()):
                raise nan_error("the network")
            words = logits.index_fill(1, banned, -torch.inf).argmax(dim=1)
            outputs[active, step] = words
            if step % STEPS_PER_CHECK == STEPS_PER_CHECK - 1:
                keep = (outputs[active, : step + 1] != end).all(dim=1).nonzero()[:, 0]
                if not len(keep):
                    break
                if len(keep) < len(active):
                    active, words = active[keep], words[keep]
                    memory, state = memory.of(keep), state.of(keep)
    return [trim_at_end(row, [end]) for row in outputs.tolist()]
