"""Arrays as extension types of msgpack: number of axes, lengths, values, little-endian."""

from math import prod

import msgpack
import numpy as np

from tacit._util.types import AnyArray
from tacit.wire.registry import WireError

_KINDS = {1: np.dtype("<f8"), 2: np.dtype("<i8")}  # extension types
_MOST_AXES = 3


def pack_array(array: AnyArray) -> msgpack.ExtType:
    """An array as it travels."""
    codes = {dtype: code for code, dtype in _KINDS.items()}
    if (
        array.dtype not in codes
        or not 1 <= array.ndim <= _MOST_AXES
        or (array.ndim > 1 and not array.size)
    ):
        raise WireError(
            f"an array must be float64 or int64 with 1 to {_MOST_AXES} axes, got {array.dtype}"
        )
    if not np.isfinite(array).all():
        raise WireError("an array must be finite")
    shape = b"".join(length.to_bytes(4, "little") for length in array.shape)
    code = codes[array.dtype]
    return msgpack.ExtType(
        code, bytes([array.ndim]) + shape + array.astype(_KINDS[code], copy=False).tobytes()
    )


def unpack_array(code: int, data: bytes) -> AnyArray:
    """The inverse of `pack_array`, with every length checked before anything is made."""
    if code not in _KINDS or not data or not 1 <= data[0] <= _MOST_AXES:
        raise ValueError("an unknown extension type")
    start = 1 + 4 * data[0]
    shape = tuple(int.from_bytes(data[at : at + 4], "little") for at in range(1, start, 4))
    if (
        len(data) < start
        or len(data) - start != 8 * prod(shape)
        or (len(shape) > 1 and not prod(shape))
    ):
        raise ValueError("an array of another length than its shape says")
    array = (
        np.frombuffer(data, dtype=_KINDS[code], offset=start)
        .reshape(shape)
        .astype(_KINDS[code].newbyteorder("="))
    )
    if not np.isfinite(array).all():
        raise ValueError("an array with a value that is not finite")
    array.setflags(write=False)
    return array
