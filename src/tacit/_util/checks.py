"""Names for the arrays that travel through the package, and one form for every message about a bad
parameter: its name, the rule, the value that broke it.

Checks are written in the positive form (``if not 0 < value < inf``), so that NaN fails them.
A message may name parameters, shapes and types, which are public; never a value of somebody's rows.
"""

import math
from collections.abc import Collection
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

AnyArray: TypeAlias = npt.NDArray[Any]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
ByteArray: TypeAlias = npt.NDArray[np.uint8]
FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
WordArray: TypeAlias = npt.NDArray[np.uint64]


def bad(name: str, rule: str, value: object) -> ValueError:
    """The error to raise for parameter `name`: ``epsilon must be finite and > 0, got nan``."""
    return ValueError(f"{name} must be {rule}, got {value!r}")


def positive(name: str, value: object) -> float:
    """`value` as a finite float above zero."""
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not 0 < number < math.inf:
        raise bad(name, "a finite number > 0", value)
    return number


def whole(name: str, value: object, least: int) -> int:
    """`value` as an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not int(value) >= least:
        raise bad(name, f"a whole number >= {least}", value)
    return int(value)


def one_of(name: str, value: object, choices: Collection[str]) -> str:
    """`value`, if it is one of the choices."""
    if not (isinstance(value, str) and value in choices):
        raise bad(name, f"one of {', '.join(sorted(choices))}", value)
    return value


def check_rising(name: str, values: tuple[float, ...]) -> tuple[float, ...]:
    """`values`, if there are some, not too many, and each is above the one before, the first
    above zero.
    """
    if not (1 <= len(values) <= 256 and all(low < high for low, high in pairwise((0.0, *values)))):
        raise bad(name, "numbers > 0 in rising order, at least one, at most 256", values[:3])
    return values


def check_delta(delta: float) -> float:
    """`delta` as a chance that may be spent; 0 asks for pure epsilon.

    >>> check_delta(1e-6)
    1e-06
    """
    if delta != 0 and not 0 < positive("delta", delta) < 0.5:
        raise bad("delta", "0, or above 0 and below 0.5", delta)
    return float(delta)
