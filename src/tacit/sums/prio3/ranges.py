"""Whole numbers from 0 to a maximum as bits, as the draft encodes them (section "Prio3Sum")."""

from functools import lru_cache
from typing import Any

import numpy as np

from tacit._util.types import WordArray
from tacit.sums.prio3.fields import Field
from tacit.sums.prio3.refusal import NotValidError


def whole_number(value: Any, most: int) -> int:
    """The value, if it is a whole number from 0 to `most`. The message does not repeat it: it is
    somebody's.
    """
    if not (isinstance(value, (int, np.integer)) and 0 <= value <= most):
        raise NotValidError(
            f"a measurement must be a whole number from 0 to {most}; clip or round it first"
        )
    return int(value)


def of_length(values: Any, length: int) -> list[Any]:
    if not (isinstance(values, (list, tuple, np.ndarray)) and len(values) == length):
        raise NotValidError(f"a measurement must be a vector of length {length}")
    return list(values)


def range_weights(most: int) -> list[int]:
    """Weights of the bits of a number from 0 to `most`: powers of two, and a last one so that all
    add up to `most`.

    >>> range_weights(10)
    [1, 2, 4, 3]
    """
    bits = most.bit_length()
    return [*(1 << bit for bit in range(bits - 1)), most - (1 << (bits - 1)) + 1]


@lru_cache(maxsize=64)
def weights_of(field: Field, most: int) -> WordArray:
    """The same as field elements."""
    return field.array(range_weights(most))


def range_bits(value: Any, most: int) -> list[int]:
    """The bits of a number from 0 to `most`; the last is set only if the others cannot say it
    alone.
    """
    number, bits = whole_number(value, most), most.bit_length()
    last = int(number > (1 << (bits - 1)) - 1)
    rest = number - last * range_weights(most)[-1]
    return [*((rest >> bit) & 1 for bit in range(bits - 1)), last]
