"""Training tasks on sources and targets: both networks learn from the same tables and are loaded by their backends."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import T5ForConditionalGeneration

from answers import texts
from wug.errors import InputError
from wug.evaluation.models import open_model
from wug.models.attention_lstm import make_vocabulary, source_numbers
from wug.train.examples import Examples
from wug.train.loop import TrainingSettings, train
from wug.train.options import NetworkSize, TrainingConfig
from wug.train.seq2seq import AttentionLSTMTask, T5Task

TASKS = [T5Task, AttentionLSTMTask]
SHAPE = NetworkSize(layers=1, embedding_size=32, heads=4, ffn_size=64)


def tasks(count: int, seed: int = 0) -> Examples:
    """Words to be copied or turned round."""
    draw = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < count:
        words = draw.choices("ABCDE", k=draw.randint(1, 3))
        verb = draw.choice(["copy", "reverse"])
        found[" ".join([verb, *words])] = " ".join(words if verb == "copy" else words[::-1])
    return Examples(tuple(found), tuple(found.values()))


def test_an_lstm_learns_a_small_set_by_heart_and_its_backend_answers(tmp_path: Path) -> None:
    examples = tasks(40)
    torch.manual_seed(1)
    task = AttentionLSTMTask(examples, SHAPE, batch=40, seed=1, device="cpu")
    recipe = TrainingConfig(steps=250, batch_size=40, learning_rate=1e-2, warmup=10)
    state = train(task, recipe, tmp_path, TrainingSettings(checkpoint_every=0, keep_checkpoint=False))
    assert sum(state.losses[-5:]) / 5 < 0.1
    task.save(tmp_path, "float16")
    model: Any = open_model(str(tmp_path), {"device": "cpu"})
    assert texts(model.generate(list(examples.sources))) == list(examples.targets)


@pytest.mark.parametrize("kind", TASKS)
def test_an_example_has_the_same_loss_in_any_batch(kind: Any) -> None:
    """What fills up a row is neither read nor asked for."""
    torch.manual_seed(0)
    task = kind(tasks(12), SHAPE, batch=4, seed=0, device="cpu")
    task.model.eval()
    batch = task.batch(0)
    sources, targets = batch["sources"], batch["targets"]
    with torch.no_grad():
        whole = float(task.loss(batch)) * int((targets != 0).sum())
        alone = 0.0
        for source, target in zip(sources, targets, strict=True):
            source, target = source[source != 0], target[target != 0]
            alone += float(task.loss({"sources": source[None], "targets": target[None]})) * len(target)
    assert whole == pytest.approx(alone, rel=1e-4)


def test_an_lstm_is_taught_the_numbers_that_its_backend_reads() -> None:
    examples = tasks(6)
    task = AttentionLSTMTask(examples, SHAPE, batch=6, seed=0, device="cpu")
    vocabulary = make_vocabulary(task.names)
    batch = task.batch(0)
    taught = {tuple(row[row != 0].tolist()) for row in batch["sources"]}
    assert taught == {tuple(source_numbers(text, vocabulary)) for text in examples.sources}
    answers = {tuple(row[row != 0].tolist()) for row in batch["targets"]}
    assert answers == {tuple(source_numbers(text, vocabulary)) for text in examples.targets}


def test_both_networks_see_the_same_examples_at_a_step() -> None:
    examples = tasks(30)
    t5, lstm = (kind(examples, SHAPE, batch=5, seed=3, device="cpu") for kind in TASKS)
    assert t5.steps_per_epoch == lstm.steps_per_epoch
    for step in (0, 7):
        words = [[[task.names[n] for n in row if n] for row in task.batch(step)["sources"]] for task in (t5, lstm)]
        assert words[0] == words[1]


def test_arithmetic_in_half_precision_learns_too(tmp_path: Path) -> None:
    torch.manual_seed(0)
    task = AttentionLSTMTask(tasks(16), SHAPE, batch=16, seed=0, device="cpu")
    recipe = TrainingConfig(steps=25, batch_size=16, learning_rate=1e-2, warmup=2, precision="bfloat16")
    losses = train(task, recipe, tmp_path, TrainingSettings(checkpoint_every=0, keep_checkpoint=False)).losses
    assert losses[-1] < 0.8 * losses[0]


def test_an_odd_number_of_cells_is_refused() -> None:
    with pytest.raises(InputError, match="even --ffn-size"):
        AttentionLSTMTask(tasks(4), NetworkSize(1, 8, 1, 15), batch=2, seed=0, device="cpu")


def test_a_task_has_the_loss_and_the_gradients_of_the_model_that_it_saves(tmp_path: Path) -> None:
    """Its norms are computed otherwise than in transformers, and its masks are given in full."""
    torch.manual_seed(3)
    task = T5Task(tasks(12), SHAPE, batch=12, seed=0, device="cpu")
    task.save(tmp_path, "float32")
    plain = T5ForConditionalGeneration.from_pretrained(tmp_path).train()
    batch = task.batch(0)
    loss = task.loss(batch)
    targets = batch["targets"]
    wanted = targets.masked_fill(targets == 0, -100)
    expected = plain(
        input_ids=batch["sources"], attention_mask=(batch["sources"] != 0).long(), labels=wanted, use_cache=False
    ).loss
    torch.testing.assert_close(loss, expected, rtol=1e-6, atol=0)
    loss.backward()
    expected.backward()
    found = {name: p.grad for name, p in task.model.named_parameters()}
    for name, parameter in plain.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-4, atol=1e-6)


def test_queries_move_at_one_over_the_root_of_a_heads_size() -> None:
    task = T5Task(tasks(6), SHAPE, batch=6, seed=0, device="cpu")
    queries = {name: value for name, value in task.rate_factors.items() if value != 1}
    assert set(queries) == {
        "encoder.block.0.layer.0.SelfAttention.q.weight",
        "decoder.block.0.layer.0.SelfAttention.q.weight",
        "decoder.block.0.layer.1.EncDecAttention.q.weight",
    }
    assert set(queries.values()) == {1 / math.sqrt(8)}  # 32 dimensions for 4 heads


def test_shared_layers_learn_as_one_and_are_loaded_by_the_backend(tmp_path: Path) -> None:
    examples = tasks(30)
    torch.manual_seed(1)
    shape = NetworkSize(layers=3, embedding_size=32, heads=4, ffn_size=64, share_layers=True)
    task = T5Task(examples, shape, batch=30, seed=1, device="cpu")
    single = T5Task(examples, NetworkSize(1, 32, 4, 64), batch=30, seed=1, device="cpu")
    size, size_of_one = (sum(p.numel() for p in one.model.parameters()) for one in (task, single))
    assert size == size_of_one
    recipe = TrainingConfig(steps=150, batch_size=30, learning_rate=1e-2, warmup=10)
    train(task, recipe, tmp_path, TrainingSettings(checkpoint_every=0, keep_checkpoint=False))
    task.save(tmp_path, "float32")
    first, last = (task.model.encoder.block[n].layer[0].SelfAttention.q.weight for n in (0, 2))
    assert torch.equal(first, last)
    model: Any = open_model(str(tmp_path), {"device": "cpu", "engine": "transformers"})
    plain = task.model.generate(**_asked(task, examples), max_new_tokens=8, do_sample=False)
    words = [[task.names[n] for n in row if n > 2] for row in plain.tolist()]
    assert texts(model.generate(list(examples.sources))) == [" ".join(row) for row in words]


def _asked(task: T5Task, examples: Examples) -> dict[str, torch.Tensor]:
    """The sources as the tokenizer gives them, padded."""
    ids = [[*(task.names.index(word) for word in text.split()), 1] for text in examples.sources]
    longest = max(map(len, ids))
    table = torch.tensor([[*row, *[0] * (longest - len(row))] for row in ids])
    return {"input_ids": table, "attention_mask": (table != 0).long()}
