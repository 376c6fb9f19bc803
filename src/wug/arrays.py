"""Types of NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.int64]"
Integers: TypeAlias = "NDArray[np.integer[Any]]"
Indices: TypeAlias = "NDArray[np.intp]"
Mask: TypeAlias = "NDArray[np.bool_]"
