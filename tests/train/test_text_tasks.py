"""Training tasks on text: who sees whom, what is hidden, what is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from safetensors import SafetensorError, safe_open

from wug.errors import ModelError
from wug.evaluation.models import open_model
from wug.models.lstm import load as load_lstm
from wug.models.spec import ModelSpec
from wug.requests import Request
from wug.train.corpus import TokenRows, causal_tokenizer, encode, encode_all, masked_tokenizer
from wug.train.loop import TrainingFolder, TrainingState
from wug.train.options import NetworkSize
from wug.train.text_models import (
    MASKED_SHARE,
    SHOWN_AS_MASK,
    CausalTask,
    LSTMTask,
    MaskedTask,
    TextTask,
    block_mask,
)

UNITS = ["The cat sleeps here.", "A dog ran.", "My aunt saw the old man."] * 8
SHAPE = NetworkSize(layers=2, embedding_size=16, heads=2, ffn_size=24)


def causal(units: list[str] = UNITS, length: int = 8, shape: NetworkSize = SHAPE) -> CausalTask:
    tokenizer = causal_tokenizer(UNITS, 300)
    bos = tokenizer.bos_token_id
    ids = encode(units, lambda texts: encode_all(tokenizer, texts), bos)
    torch.manual_seed(0)
    rows = TokenRows(ids, bos, length, batch=2, seed=0)
    return CausalTask(tokenizer, shape, rows=rows, device="cpu", bfloat16=False)


def masked(length: int = 40) -> MaskedTask:
    tokenizer = masked_tokenizer(UNITS, 300)
    bos = tokenizer.cls_token_id
    ids = encode(UNITS, lambda texts: encode_all(tokenizer, texts), bos, tokenizer.sep_token_id)
    torch.manual_seed(0)
    rows = TokenRows(ids, bos, length, batch=2, seed=0)
    return MaskedTask(tokenizer, SHAPE, rows=rows, device="cpu", bfloat16=False)


def word_lstm(shape: NetworkSize = SHAPE) -> LSTMTask:
    names = ["<eos>", "<unk>", "the", "cat", "sleeps"]
    ids = np.array([0, 2, 3, 4, 0, 2, 1, 4, 0, 2, 3, 4], dtype=np.uint16)
    torch.manual_seed(0)
    rows = TokenRows(ids, 0, 4, batch=2, seed=0)
    return LSTMTask(names, shape, words="spaces", lowercase=True, rows=rows, device="cpu", bfloat16=False)


def test_places_see_their_own_sentence_and_no_later_place() -> None:
    tokens = torch.tensor([[0, 5, 0, 7]])
    seen = block_mask(tokens, 0, causal=True, dtype=torch.float32)[0, 0] == 0
    assert seen.int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    both = block_mask(tokens, 0, causal=False, dtype=torch.float32)[0, 0] == 0
    assert both.int().tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]


def test_a_row_of_two_sentences_costs_what_the_sentences_cost_alone() -> None:
    one, two = UNITS[0], UNITS[2]

    def nats(units: list[str], length: int) -> float:
        task = causal(units, length)
        with torch.no_grad():
            return float(task.loss({"starts": torch.tensor([0])})) * length

    size, other = (len(causal([unit]).rows.ids) for unit in (one, two))  # with their marks
    # Each row ends by foretelling a mark, that of the next sentence or of the end.
    assert nats([one, two], size + other) == pytest.approx(nats([one], size) + nats([two], other), rel=1e-5)


def test_a_row_may_end_where_the_text_does() -> None:
    """Also the row of the last sentence has something to foretell for each of its tokens."""
    task = word_lstm()
    assert 8 in np.concatenate([task.rows.starts(step) for step in range(20)])
    words = task.rows_of(torch.tensor([8]), 5)
    assert words.tolist() == [[0, 2, 3, 4, 0]]


def test_masked_sentences_of_a_row_do_not_see_each_other() -> None:
    task = masked()
    opening, end = task.rows.bos, task.tokenizer.sep_token_id
    first, other, second = [opening, 40, 41, end], [opening, 50, 51, end], [opening, 60, end]

    def states(row: list[int]) -> Any:
        tokens = torch.tensor([row])
        mask = block_mask(tokens, opening, causal=False, dtype=torch.float32)
        layers = {"full_attention": mask, "sliding_attention": mask}
        with torch.no_grad():
            return task.model.eval().model(input_ids=tokens, attention_mask=layers).last_hidden_state[0]

    torch.testing.assert_close(states(first + second)[4:], states(other + second)[4:])
    torch.testing.assert_close(states(first + second)[:4], states(first))


def test_the_right_share_of_tokens_is_hidden_and_never_a_mark() -> None:
    task = masked()
    tokens = task.rows_of(torch.from_numpy(np.repeat(task.rows.bos_positions[:6], 50)), 40)
    places, wanted, shown = task.mask(tokens)
    assert places.shape == (300, int(MASKED_SHARE * 40))
    assert not torch.isin(wanted, torch.tensor([task.rows.bos, task.tokenizer.sep_token_id])).any()
    assert torch.equal(tokens.gather(1, places), wanted)
    untouched = torch.ones_like(tokens, dtype=torch.bool).scatter(1, places, False)
    assert torch.equal(tokens[untouched], shown[untouched])
    read = shown.gather(1, places)
    as_mask = (read == task.tokenizer.mask_token_id).float().mean().item()
    assert as_mask == pytest.approx(SHOWN_AS_MASK, abs=0.03)
    assert (read == wanted).float().mean().item() == pytest.approx(0.1, abs=0.03)
    assert read[read != task.tokenizer.mask_token_id].min() >= 5  # another token is never a mark


@pytest.mark.parametrize("make", [causal, masked])
@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("float16", 2)])
def test_tied_weights_are_written_once(tmp_path: Path, make: Any, dtype: str, size: int) -> None:
    task: TextTask = make()
    task.save(tmp_path, dtype)
    parameters = sum(parameter.numel() for parameter in task.model.parameters())  # those that are tied count once
    with safe_open(tmp_path / "model.safetensors", "pt") as file:
        shapes = [file.get_tensor(name) for name in file.keys()]  # noqa: SIM118 (it cannot be iterated over)
    assert sum(tensor.numel() for tensor in shapes) == parameters
    assert {tensor.element_size() for tensor in shapes} == {size}
    assert (tmp_path / "model.safetensors").stat().st_size < parameters * size + 8192
    assert next(task.model.parameters()).dtype == torch.float32  # the model itself learns on as it was


@pytest.mark.parametrize("make", [causal, masked])
def test_a_file_in_half_precision_scores_like_the_whole_one(tmp_path: Path, make: Any) -> None:
    task: Any = make()
    asked = [Request("A dog ran.")]
    values = []
    for dtype in ("float32", "float16"):
        task.save(tmp_path / dtype, dtype)
        model: Any = open_model(str(tmp_path / dtype), {"device": "cpu"})
        (scored,) = model.score(asked)
        values.append([value for value in scored.logprobs if value is not None])
    assert values[1] == pytest.approx(values[0], abs=0.02)


@pytest.mark.parametrize("inner", [16, 24], ids=["plain", "projected"])
def test_a_word_lstm_scores_what_its_task_learnt(tmp_path: Path, inner: int) -> None:
    task = word_lstm(NetworkSize(layers=2, embedding_size=16, ffn_size=inner))
    task.save(tmp_path, "float32")
    model = load_lstm(ModelSpec("lstm", str(tmp_path), options={"device": "cpu"}))
    (scored,) = model.score([Request("the cat sleeps")])
    task.model.eval()
    with torch.no_grad():
        mean = float(task.loss({"starts": torch.tensor([0])}))  # the, cat, sleeps, <eos>
        states = task.model.encoder(torch.tensor([[0], [2], [3], [4]]))
        for layer in task.model.layers:
            states = layer(states)[0]
        last = task.model.decoder(states)[3, 0].log_softmax(0)[0]
    total = sum(value for value in scored.logprobs if value is not None)
    assert -total - float(last) == pytest.approx(4 * mean, rel=1e-5)


def test_a_word_lstm_writes_its_embeddings_once_and_loads_in_half_precision(tmp_path: Path) -> None:
    task = word_lstm()
    task.save(tmp_path, "float16")
    parameters = sum(parameter.numel() for parameter in task.model.parameters())
    assert (tmp_path / "model.safetensors").stat().st_size < parameters * 2 + 2048
    model = load_lstm(ModelSpec("lstm", str(tmp_path), options={"device": "cpu"}))
    assert len(model.score([Request("the cat sleeps")])[0].logprobs) == 3


def test_dropout_follows_the_seed() -> None:
    for task in (word_lstm(NetworkSize(2, 16, 1, 24, 0.5)), causal(shape=NetworkSize(1, 16, 2, 24, 0.5))):
        batch = task.batch(0)
        task.model.train()
        values = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            with torch.no_grad():
                values.append(float(task.loss(batch)))
        assert values[0] == values[1] != values[2]


def test_a_full_disk_leaves_no_half_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = causal()
    task.save(tmp_path, "float32")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= before.keys()

    def full(folder: str, **options: Any) -> None:
        Path(folder, "model.safetensors").write_bytes(b"half")
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(task.model, "save_pretrained", full)
    with pytest.raises(ModelError, match=r"the model cannot be written: .*No space left on device"):
        task.save(tmp_path, "float32")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    class Full:
        def state(self) -> dict[str, Any]:
            raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 704 vs 598")

        def restore(self, state: Mapping[str, Any]) -> None:
            raise AssertionError

    checkpoint, full = TrainingFolder(tmp_path), cast("Any", Full())
    checkpoint.path.mkdir(parents=True)
    checkpoint.checkpoint.write_bytes(b"before")
    with pytest.raises(ModelError, match=r"cannot be written: the disk may be full.*the same command to resume"):
        checkpoint.write(torch.nn.Linear(1, 1), full, full, TrainingState(1, (0.5,), 1.0))
    assert [file.read_bytes() for file in checkpoint.path.iterdir()] == [b"before"]
