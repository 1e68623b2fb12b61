"""Names for the arrays that travel through the package, and checks of what should be one."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tacit._util.checks import bad, positive

AnyArray: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ByteArray: TypeAlias = npt.NDArray[np.uint8]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
WordArray: TypeAlias = npt.NDArray[np.uint64]


def positives(name: str, value: object) -> float | FloatArray:
    """`value` as a finite float above zero, or as a vector of such that nobody can change."""
    if np.ndim(value) == 0:  # type: ignore[arg-type]
        return positive(name, value.item() if isinstance(value, np.generic | np.ndarray) else value)
    array = np.array(value)
    if array.dtype.kind not in "fiu" or array.ndim != 1:
        shape = f"{array.dtype} of shape {array.shape}"
        raise bad(name, "a number or a vector of numbers", shape)
    wrong = array[~((array > 0) & (array < np.inf))]
    if wrong.size:
        raise bad(name, "finite and > 0 in every row", wrong[0].item())
    array = array.astype(np.float64)
    array.setflags(write=False)
    return array


def matrix(name: str, value: object, columns: int) -> FloatArray:
    """`value` as a C-contiguous (n, columns) array of float64; entries may be anything, NaN
    included.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if array.ndim != 2 or array.shape[1] != columns:
        raise ValueError(f"{name} must have shape (n, {columns}), got {array.shape}")
    return np.ascontiguousarray(array, dtype=np.float64)
