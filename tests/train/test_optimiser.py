"""Muon's iteration, and who is moved by which optimiser."""

from __future__ import annotations

import pytest
import torch

from wug.train.options import TrainingConfig
from wug.train.steps import Optimiser, orthogonal


@pytest.mark.parametrize("shape", [(3, 8, 5), (2, 5, 8), (1, 6, 6)])
def test_singular_values_come_near_one(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonal(torch.randn(shape)))
    assert values.max() < 1.3
    assert values.min() > 0.3


def test_muon_moves_the_matrices_of_layers_by_the_size_of_an_adam_step() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(7, 32), torch.nn.Linear(32, 64))
    optimiser = Optimiser(
        model, TrainingConfig(steps=1, batch_size=1, learning_rate=0.01, warmup=0, optimiser="muon", weight_decay=0.0)
    )
    before = [p.detach().clone() for p in model.parameters()]
    model(torch.tensor([1, 2])).square().sum().backward()
    optimiser.set_rate(0.01)
    optimiser.step()
    moved = [(p - q).detach() for p, q in zip(model.parameters(), before, strict=True)]
    assert moved[0][[0, 3, 4, 5, 6]].abs().max() == 0  # embeddings that were not read stay
    assert moved[0][1].abs().max() == pytest.approx(0.01, rel=0.01)
    # The gradient has rank 2, so of the 32 singular values two are near 1.
    rms = moved[1].square().mean().sqrt().item()
    assert rms == pytest.approx(0.01 * 0.2 * 64**0.5 * (2 / (32 * 64)) ** 0.5, rel=0.3)


@pytest.mark.parametrize("optimiser", ["adamw", "muon"])
def test_a_share_of_the_rate_is_the_whole_rate_for_a_matrix_that_is_scaled_down(optimiser: str) -> None:
    """Both optimisers take steps whose size does not depend on the gradient's: moving W by a share of the rate is
    moving V by all of it where the model uses W = share * V."""
    share = 0.25
    recipe = TrainingConfig(9, 1, learning_rate=0.01, warmup=0, optimiser=optimiser)  # type: ignore[arg-type]
    torch.manual_seed(0)
    slow, other = torch.nn.Linear(8, 8, bias=False), torch.nn.Linear(8, 8)
    scaled, same = torch.nn.Linear(8, 8, bias=False), torch.nn.Linear(8, 8)
    with torch.no_grad():
        scaled.weight.copy_(slow.weight / share)
        same.load_state_dict(other.state_dict())
    shared = Optimiser(torch.nn.Sequential(slow, other), recipe, {"0.weight": share})
    whole = Optimiser(torch.nn.Sequential(scaled, same), recipe)
    for step in range(3):
        given = torch.randn(5, 8)
        for moved, outcome in ((shared, other(slow(given).tanh())), (whole, same((share * scaled(given)).tanh()))):
            outcome.square().sum().backward()
            moved.set_rate(0.01 + step / 1000)
            moved.step()
            moved.clear()
    decayed = (1 - 0.1 * 0.01 * share) / (1 - 0.1 * 0.01)  # weight decay goes by the rate, too
    torch.testing.assert_close(other.weight, same.weight, rtol=0, atol=1e-4)
    torch.testing.assert_close(slow.weight, scaled.weight * share * decayed**3, rtol=0, atol=2e-4)
