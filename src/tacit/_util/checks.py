"""What is wrong with a parameter, and what to do.

A message about a bad parameter has one form: its name, the rule, the value that broke it. Checks
are written in the positive form (``if not 0 < value < inf``), so that NaN fails them. A message may
name parameters, shapes and types, which are public; never a value of somebody's rows.
"""

import math
import sys
from collections.abc import Collection
from contextlib import suppress
from decimal import Decimal
from itertools import pairwise
from numbers import Integral, Real
from typing import Any


def bad(name: str, rule: str, value: object) -> ValueError:
    """The error to raise for parameter `name`: ``epsilon must be finite and > 0, got nan``."""
    return ValueError(f"{name} must be {rule}, got {_shown(value)}")


_LONGEST_VALUE = 200  # letters of a value that a message quotes: it is one line


def _shown(value: object) -> str:
    """A value as a message quotes it, however long it is."""
    try:
        text = repr(value)
    except ValueError:  # of more digits than Python writes
        text = f"a number of more than {sys.get_int_max_str_digits():,} digits"
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def positive(name: str, value: object) -> float:
    """`value` as a finite float above zero."""
    real = isinstance(value, Real | Decimal) and not isinstance(value, bool)
    number = math.nan
    if real:
        with suppress(ValueError, OverflowError):  # as of a whole number beyond all floats
            number = float(value)  # type: ignore[arg-type]
    if not 0 < number < math.inf:
        raise bad(name, "a finite number > 0", value)
    return number


def whole(name: str, value: object, least: int) -> int:
    """`value` as an int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not int(value) >= least:
        raise bad(name, f"a whole number >= {least}", value)
    return int(value)


_MOST_ROUNDS = 1_000


def number_of_rounds(value: object) -> int:
    """`value` as a number of rounds. Each asks others, or pays anew, so that very many say less
    than fewer do, and take hours to say it.
    """
    if not whole("rounds", value, 1) <= _MOST_ROUNDS:
        raise bad("rounds", f"at most {_MOST_ROUNDS:,}", value)
    return whole("rounds", value, 1)


def one_of(name: str, value: object, choices: Collection[str]) -> str:
    """`value`, if it is one of the choices."""
    if not (isinstance(value, str) and value in choices):
        raise bad(name, f"one of {', '.join(sorted(choices))}", value)
    return value


def check_engine(where: Any) -> str:
    """`where`, if it says where to compute: in this process, or on a Ray."""
    if isinstance(where, str) and (
        where in ("inline", "ray") or (where.startswith("ray://") and is_address(where[6:]))
    ):
        return where
    raise bad("engine", '"inline", "ray" or "ray://host:port"', where)


def is_address(text: str) -> bool:
    """Whether this is a host and a port.

    >>> is_address("head.example:10001"), is_address("[::1]:10001"), is_address("head.example")
    (True, True, False)
    """
    host, _, port = text.rpartition(":")
    return bool(host) and port.isdecimal()


def check_rising(name: str, values: tuple[float, ...]) -> tuple[float, ...]:
    """`values`, if there are some, not too many, and each is above the one before, the first
    above zero.
    """
    if not (1 <= len(values) <= 256 and all(low < high for low, high in pairwise((0.0, *values)))):
        raise bad(name, "numbers > 0 in rising order, at least one, at most 256", values[:3])
    return values


LEAST_DELTA = 1e-300  # above the least floats, which have fewer digits


def check_delta(delta: float) -> float:
    """`delta` as a chance that may be spent, as a float; 0 asks for pure epsilon.

    >>> check_delta(1e-6), check_delta(0)
    (1e-06, 0.0)
    """
    if delta != 0 and not 0 < positive("delta", delta) < 0.5:
        raise bad("delta", "0, or above 0 and below 0.5", delta)
    if 0 < delta < LEAST_DELTA:
        raise bad("delta", f"0, or at least {LEAST_DELTA:g}", delta)
    return float(delta)


def in_digits(value: float | None, digits: int = 3) -> str:
    """A figure in so many digits, or all of a whole number; a dash where there is none.

    >>> [in_digits(value) for value in (0.123456, 12, 1234567, 1837.21, -999.7)]
    ['0.123', '12', '1,234,567', '1,837', '-1,000']
    """
    if value is None:
        return "\N{EN DASH}"
    is_long = isinstance(value, int) or abs(value) >= 10**digits - 0.5
    return f"{value:,.0f}" if is_long else f"{value:,.{digits}g}"
