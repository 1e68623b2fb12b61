"""The idx format of MNIST, gzipped: two zero bytes, a type, the number of axes, big-endian sizes, then the values."""

import gzip
import io
import math
import zlib
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

ByteArray: TypeAlias = npt.NDArray[np.uint8]

_UINT8 = 0x08
_MOST = 1 << 31  # bytes of content; a header that asks for more is not one of ours


def parse_idx(content: bytes, name: str, axes: int) -> ByteArray:
    """The uint8 array with `axes` axes in the gzipped idx file `content`; `name` is for messages.

    >>> parse_idx(gzip.compress(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])), "three", axes=1)
    array([7, 8, 9], dtype=uint8)
    """
    try:
        with gzip.open(io.BytesIO(content)) as file:
            start = file.read(4)
            if not start == bytes([0, 0, _UINT8, axes]):
                raise ValueError(f"{name} must start as idx of uint8 with {axes} axes, got header {start.hex()}")
            header = file.read(4 * axes)
            if not len(header) == 4 * axes:
                raise ValueError(f"{name} must have {axes} sizes in its header, got {len(header)} bytes of them")
            shape = tuple(int(size) for size in np.frombuffer(header, dtype=">u4"))
            count = math.prod(shape)
            if not count < _MOST:
                raise ValueError(f"{name} must hold fewer than {_MOST} values, got a header for {count}")
            values = file.read(count + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{name} must be a whole gzip file, got: {error}") from error
    if len(values) != count:
        more = "more" if len(values) > count else str(len(values))
        raise ValueError(f"{name} must hold {count} values as its header says, got {more}")
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)
