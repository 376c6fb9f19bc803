"""A matrix that multiplies something at every word of an answer, with a gradient that is computed once.

Left to autograd, every use makes a gradient of the matrix's size and adds it to the sum of those before it: on a GPU
that is most of what training such a network takes. Here the uses are kept, and the gradient is one product of all of
them, which is also rounded once instead of at every word.
"""

from __future__ import annotations

from functools import cache
from typing import Any


class Repeated:
    """`x @ matrix.mT + bias`, for as many x as there are words: (batch, in) with a matrix (out, in), or (batch, 1, in)
    with a matrix (batch, out, in) and no bias.

    Under autocast the matrix is rounded once for all uses.
    """

    def __init__(self, matrix: Any, bias: Any = None) -> None:
        self._uses: list[tuple[Any, Any]] = []
        self.kind = compute_dtype(matrix)
        self._values = matrix.detach().to(self.kind)
        self._bias = None if bias is None else bias.detach().to(self.kind)
        _, origin = _functions()
        self._origin = origin.apply(self._uses, matrix, bias)

    def __call__(self, x: Any) -> Any:
        """The product with one more x."""
        product, _ = _functions()
        return product.apply(x.to(self.kind), self._origin, self._values, self._bias, self._uses)


def compute_dtype(tensor: Any) -> Any:
    """In which products with a tensor are computed: autocast's, or its own."""
    import torch

    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else tensor.dtype


@cache
def _functions() -> tuple[Any, Any]:
    """The product, and the origin of its matrix, to which autograd comes when it has been through all products."""
    import torch
    from torch.autograd import Function

    class Product(Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, origin: Any, values: Any, bias: Any, uses: list[tuple[Any, Any]]) -> Any:
            ctx.values, ctx.uses = values, uses
            ctx.save_for_backward(x)
            return torch.matmul(x, values.mT) if bias is None else torch.addmm(bias, x, values.mT)

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            (x,) = ctx.saved_tensors
            ctx.uses.append((x, gradient))
            return torch.matmul(gradient, ctx.values), None, None, None, None

    class Origin(Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, uses: list[tuple[Any, Any]], matrix: Any, bias: Any) -> Any:
            ctx.uses, ctx.dtype = uses, matrix.dtype
            return matrix.new_zeros(())

        @staticmethod
        def backward(ctx: Any, _: Any) -> Any:
            # Along the batch where all of it shares a matrix, else along the words of each row.
            along = ctx.uses[0][0].ndim - 2
            xs, gradients = (torch.cat(tensors, dim=along) for tensors in zip(*ctx.uses, strict=True))
            ctx.uses.clear()
            of_bias = gradients.sum(dim=0, dtype=ctx.dtype) if ctx.needs_input_grad[2] else None
            return None, torch.matmul(gradients.mT, xs).to(ctx.dtype), of_bias

    return Product, Origin
