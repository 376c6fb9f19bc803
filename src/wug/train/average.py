"""The mean of a model's weights over the end of its training."""

from __future__ import annotations

from typing import Any

from wug.train.recipe import Recipe


class Average:
    """The mean of the weights at some moments, the last of them the end, a hundredth of training apart."""

    def __init__(self, model: Any, recipe: Recipe) -> None:
        apart = max(1, recipe.steps // 100)
        first = recipe.steps - (recipe.average - 1) * apart
        self._moments = set(range(max(1, first), recipe.steps + 1, apart)) if recipe.average > 1 else set()
        self._model, self._mean = model, None
        if self._moments:
            from torch.optim.swa_utils import AveragedModel

            self._mean = AveragedModel(model)

    def take(self, step: int) -> None:
        """Let the weights count that the model has after `step` steps, where they are to."""
        if self._mean is not None and step in self._moments:
            self._mean.update_parameters(self._model)

    def apply(self) -> None:
        """Give the model the mean; as it is where there is none to take."""
        if self._mean is not None and int(self._mean.n_averaged) > 0:
            self._model.load_state_dict(self._mean.module.state_dict())

    def state(self) -> dict[str, Any]:
        """All that the mean depends on."""
        return {} if self._mean is None else dict(self._mean.state_dict())

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        if self._mean is not None:
            self._mean.load_state_dict(state)
