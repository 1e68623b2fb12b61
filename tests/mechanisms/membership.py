"""Whether points are in a space, by its definition: what clipping must come to."""

import numpy as np

from tacit.mechanisms.spaces import Ball, Box, Crosses, Mixture, Simplex, Space

_SLACK = 1e-12  # what rounding in `clip` can add, and nothing more


def contains(space: Space, x):
    """Which rows of `x` are in the space."""
    sizes = np.abs(x)
    match space:
        case Box():
            return (sizes <= space.radius).all(axis=-1)
        case Ball():
            return np.sqrt((x**2).sum(axis=-1)) <= space.radius * (1 + _SLACK)
        case Simplex():
            total = x.sum(axis=-1)
            return (x >= 0).all(axis=-1) & (np.abs(total - 1) <= _SLACK * space.dim)
        case Mixture():
            parts = sizes.reshape(len(x), space.blocks, space.size)
            return parts.max(axis=2).sum(axis=1) <= 1 + _SLACK
        case Crosses():
            parts = sizes.reshape(len(x), space.blocks, space.size)
            return (parts.sum(axis=2) <= 1 + _SLACK).all(axis=1)
        case _:
            raise TypeError(f"no definition of {type(space).__name__} here")
