"""The training loop: it resumes where it stopped, and ends with the curve of an unbroken training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from wug.errors import ModelError
from wug.train.examples import Examples
from wug.train.loop import TrainingFolder, TrainingProgress, TrainingSettings, train
from wug.train.options import NetworkSize, TrainingConfig
from wug.train.seq2seq import T5Task
from wug.train.steps import TrainingTask

EXAMPLES = Examples(tuple(f"copy a{n} b{n % 3}" for n in range(24)), tuple(f"a{n} b{n % 3}" for n in range(24)))
SHAPE = NetworkSize(layers=1, embedding_size=16, heads=2, ffn_size=16, dropout=0.1)


def task(seed: int = 0) -> TrainingTask:
    torch.manual_seed(seed)
    return T5Task(EXAMPLES, SHAPE, batch=8, seed=seed, device="cpu")


def recipe(steps: int = 12, **more: object) -> TrainingConfig:
    return TrainingConfig(**{"steps": steps, "batch_size": 8, "learning_rate": 1e-2, "warmup": 2, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
@pytest.mark.parametrize("stop", [1, 5, 9])
def test_a_broken_training_goes_on_as_if_nothing_had_happened(tmp_path: Path, optimiser: str, stop: int) -> None:
    asked = recipe(optimiser=optimiser)
    whole = train(task(), asked, tmp_path / "whole")

    def interrupt(progress: TrainingProgress) -> None:
        if progress.step > stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(task(), asked, tmp_path / "broken", TrainingSettings(checkpoint_every=stop, report=interrupt))
    assert (tmp_path / "broken" / "training" / "checkpoint.pt").exists()
    ended = train(task(), asked, tmp_path / "broken", TrainingSettings(checkpoint_every=stop))
    np.testing.assert_allclose(ended.losses, whole.losses, rtol=0, atol=1e-6)
    assert len(ended.losses) == 12


def test_the_loss_falls(tmp_path: Path) -> None:
    settings = TrainingSettings(checkpoint_every=0, keep_checkpoint=False)
    losses = train(task(), recipe(90), tmp_path, settings).losses
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])


def test_patience_ends_a_training_that_gets_no_better(tmp_path: Path) -> None:
    judged: list[int] = []

    def judge(epoch: int, step: int) -> float:
        judged.append(epoch)
        return [0.1, 0.5, 0.4, 0.3, 0.9][epoch - 1]

    settings = TrainingSettings(patience=1, test=judge)
    state = train(task(), recipe(15), tmp_path, settings)
    assert judged == [1, 2, 3, 4]
    assert state.step == 12  # 24 examples, 8 a step
    again = train(task(), recipe(15), tmp_path, settings)
    assert again.step == 12


def test_a_folder_of_another_training_is_refused(tmp_path: Path) -> None:
    TrainingFolder(tmp_path).begin(recipe(), {"kind": "seq2seq"})
    TrainingFolder(tmp_path).begin(recipe(), {"kind": "seq2seq"})
    with pytest.raises(ModelError, match="seed = 0, now 7"):
        TrainingFolder(tmp_path).begin(recipe(seed=7), {"kind": "seq2seq"})


def test_a_loss_that_is_no_number_is_said(tmp_path: Path) -> None:
    taught = task()
    with torch.no_grad():
        next(iter(taught.model.parameters())).fill_(float("nan"))
    with pytest.raises(ModelError, match="lower --learning-rate"):
        train(taught, recipe(), tmp_path)


def test_the_rate_rises_and_falls() -> None:
    rates = [recipe(100, warmup=10).rate_at(step) for step in range(100)]
    assert rates[0] == pytest.approx(1e-3)
    assert max(rates) == rates[10] == pytest.approx(1e-2)
    assert rates[-1] == pytest.approx(1e-4, rel=0.05)


def test_the_last_weights_are_averaged_even_after_an_interruption(tmp_path: Path) -> None:
    """Of 12 steps a hundredth is one step: four moments are the last four steps."""
    moments: list[dict[str, torch.Tensor]] = []
    for steps in (9, 10, 11, 12):
        taught = task()

        def stop(progress: TrainingProgress, steps: int = steps) -> None:
            if progress.step == steps:
                raise KeyboardInterrupt

        if steps < 12:
            with pytest.raises(KeyboardInterrupt):
                train(taught, recipe(), tmp_path / str(steps), TrainingSettings(checkpoint_every=steps, report=stop))
        else:
            train(taught, recipe(), tmp_path / str(steps), TrainingSettings(checkpoint_every=steps))
        moments.append({name: tensor.clone() for name, tensor in taught.model.state_dict().items()})
    broken = task()

    def interrupt(progress: TrainingProgress) -> None:
        if progress.step >= 11:
            raise KeyboardInterrupt

    interrupted = TrainingSettings(checkpoint_every=1, report=interrupt)
    with pytest.raises(KeyboardInterrupt):
        train(task(), recipe(average=4), tmp_path / "broken", interrupted)
    train(broken, recipe(average=4), tmp_path / "broken", TrainingSettings(checkpoint_every=5))
    for name, tensor in broken.model.state_dict().items():
        expected = sum(moment[name].double() for moment in moments) / 4
        torch.testing.assert_close(tensor.double(), expected, rtol=0, atol=1e-6)


def test_the_model_that_was_judged_best_is_kept(tmp_path: Path) -> None:
    kept: list[int] = []
    judged: list[int] = []

    def judge(epoch: int, step: int) -> float:
        judged.append(epoch)
        return [0.1, 0.5, 0.4, 0.5, 0.9][epoch - 1]

    train(task(), recipe(15), tmp_path, TrainingSettings(test=judge, keep_best=lambda: kept.append(judged[-1])))
    assert kept == [1, 2, 5]


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x80\x02cos\nsystem\n."])
def test_a_checkpoint_that_cannot_be_read_is_named(tmp_path: Path, content: bytes) -> None:
    train(task(), recipe(2), tmp_path, TrainingSettings(checkpoint_every=1))
    (tmp_path / "training" / "checkpoint.pt").write_bytes(content)
    with pytest.raises(ModelError, match=r"checkpoint\.pt: cannot be read .*Delete it to start again") as error:
        train(task(), recipe(3), tmp_path)
    assert "weights_only" not in str(error.value)
