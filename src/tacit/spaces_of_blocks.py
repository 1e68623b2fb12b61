"""Spaces of shares that are made of blocks, smaller than the box around them: knowing that pays in noise."""

from dataclasses import dataclass

import numpy as np

from tacit.checks import whole
from tacit.spaces import Space
from tacit.types import BoolArray, FloatArray

_SLACK = 1e-12


@dataclass(frozen=True)
class Mixture(Space):
    """(p_1 v_1, ..., p_B v_B) with v_b in [-1, 1]^size and p_b >= 0 adding up to at most 1.

    What class-wise weighted sums look like: the weight of an owner is shared out over classes. Its radii are those of
    one block, however many there are. A vector outside is scaled down; NaN counts as 0, infinities as the largest.

    >>> Mixture(blocks=2, size=2).clip(np.array([1.0, 0.5, 3.0, 0.0]))
    array([0.25 , 0.125, 0.75 , 0.   ])
    """

    dim: int = 0
    blocks: int = 1
    size: int = 1

    def __post_init__(self) -> None:
        blocks, size = whole("blocks", self.blocks, 1), whole("size", self.size, 1)
        object.__setattr__(self, "dim", blocks * size)

    @property
    def radius_inf(self) -> float:
        return 1.0

    @property
    def radius_2(self) -> float:
        return float(np.sqrt(self.size))

    @property
    def radius_1(self) -> float:
        return float(self.size)

    def _load(self, x: FloatArray) -> FloatArray:
        """The sum over blocks of the largest coordinate: at most 1 inside."""
        parts = np.abs(x).reshape(*x.shape[:-1], self.blocks, self.size)
        return np.asarray(parts.max(axis=-1).sum(axis=-1))

    def contains(self, x: FloatArray) -> BoolArray:
        return np.asarray(self._load(x) <= 1 + _SLACK)

    def clip(self, x: FloatArray) -> FloatArray:
        x = _tamed(x)
        load = self._load(x)[..., np.newaxis]
        return np.asarray(np.where(load > 1, x / np.where(load > 1, load, 1.0), x))


@dataclass(frozen=True)
class Crosses(Space):
    """`blocks` vectors of `size` coordinates, the absolute values of each adding up to at most 1.

    What cross tables look like: in each table an owner's weight is shared out over its cells. A block outside is scaled
    down; NaN counts as 0, infinities as the largest.

    >>> Crosses(blocks=2, size=2).clip(np.array([1.0, -3.0, 0.5, 0.0]))
    array([ 0.25, -0.75,  0.5 ,  0.  ])
    """

    dim: int = 0
    blocks: int = 1
    size: int = 1

    def __post_init__(self) -> None:
        blocks, size = whole("blocks", self.blocks, 1), whole("size", self.size, 1)
        object.__setattr__(self, "dim", blocks * size)

    @property
    def radius_inf(self) -> float:
        return 1.0

    @property
    def radius_2(self) -> float:
        return float(np.sqrt(self.blocks))

    @property
    def radius_1(self) -> float:
        return float(self.blocks)

    def _loads(self, x: FloatArray) -> FloatArray:
        return np.asarray(np.abs(x).reshape(*x.shape[:-1], self.blocks, self.size).sum(axis=-1))

    def contains(self, x: FloatArray) -> BoolArray:
        return np.asarray((self._loads(x) <= 1 + _SLACK).all(axis=-1))

    def clip(self, x: FloatArray) -> FloatArray:
        x = _tamed(x)
        loads = np.repeat(self._loads(x), self.size, axis=-1)
        return np.asarray(np.where(loads > 1, x / np.where(loads > 1, loads, 1.0), x))


def _tamed(x: FloatArray) -> FloatArray:
    """NaN as 0, and nothing so large that sums overflow."""
    return np.clip(np.where(np.isnan(x), 0.0, x), -1e150, 1e150)
