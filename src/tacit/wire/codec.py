"""Canonical bytes of frozen dataclasses: one object, one string of bytes, and nothing else is
accepted.

A class opts in with ``@message("tag")``. It travels as [tag, field, field, ...] in msgpack, fields
in their declared order; arrays travel as shape and little-endian values. Decoding is led by the
declared types of the fields (reading.py): nothing on the wire can name a class that was not
registered or that does not belong there. Numbers must be finite, the class's own checks run, and
bytes that are not exactly what encoding the result would give are refused. No pickle, no code.

Bytes of untrusted origin cost time and memory in proportion to their length (`largest` bounds it;
`python -m benchmarks.decoding` searches for those that cost most), and any defect is a `WireError`.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgpack
import numpy as np

from tacit.wire.arrays import pack_array
from tacit.wire.reading import Reader, plan_of
from tacit.wire.registry import WireError, fields_of, message, tag_of

__all__ = ["LARGEST", "VERSION", "WireError", "decode", "encode", "message", "plain"]

VERSION = 1
LARGEST = 4 << 20  # bytes of one message
_SCALARS = (bool, int, float, str, bytes, type(None))
_DAMAGE = (ValueError, TypeError, RecursionError, MemoryError, OverflowError)

Kind = TypeVar("Kind")


def encode(value: object) -> bytes:
    """The canonical bytes of a registered object."""
    return bytes(msgpack.packb([VERSION, plain(value)], use_bin_type=True, strict_types=True))


def decode(data: bytes, kind: Callable[..., Kind], largest: int = LARGEST) -> Kind:
    """The object of class `kind` (or a subclass) that these bytes are, or a `WireError`."""
    if not len(data) <= largest:
        raise WireError(f"a message must be at most {largest} bytes")
    if not data[:2] == bytes((0x92, VERSION)):
        raise WireError(f"not a message of version {VERSION}")
    try:
        reader = Reader(data)
        reader.entries(0)
        reader.scalar(0)
        found: Kind = reader.value(plan_of(kind), 1)
        canonical = encode(found) == data
    except WireError:
        raise
    except (*_DAMAGE, msgpack.exceptions.UnpackException) as problem:
        raise WireError("not a message: the bytes do not parse") from problem
    if not canonical:
        raise WireError("not canonical: the same content has other bytes")
    return found


def plain(value: object) -> object:
    """Registered objects as lists, arrays as extension types, scalars as they are."""
    cls: Any = type(value)
    tag = tag_of(cls)
    if tag is not None:
        return [tag, *(plain(getattr(value, name)) for name, _ in fields_of(cls))]
    if isinstance(value, np.ndarray):
        return pack_array(value)
    if cls is tuple:
        return [plain(part) for part in value]  # type: ignore[attr-defined]
    if cls in _SCALARS:
        return value
    raise WireError(f"{cls.__name__} cannot travel: it is not registered with @message")
