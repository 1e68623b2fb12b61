"""Spaces of shares that are made of blocks, smaller than the box around them: knowing that pays in noise."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from tacit.checks import whole
from tacit.spaces import Space
from tacit.types import BoolArray, FloatArray

_SLACK = 1e-12


@dataclass(frozen=True)
class Blocks(Space):
    """`blocks` pieces of `size` coordinates each; NaN counts as 0, infinities as the largest number."""

    dim: int = field(init=False)
    blocks: int = 1
    size: int = 1

    def __post_init__(self) -> None:
        blocks, size = whole("blocks", self.blocks, 1), whole("size", self.size, 1)
        object.__setattr__(self, "dim", blocks * size)

    @property
    def radius_inf(self) -> float:
        return 1.0

    @property
    def radius_1(self) -> float:
        return self.radius_2**2

    @abstractmethod
    def _loads(self, x: FloatArray) -> FloatArray:
        """What must be at most 1, with the shape of x or one number per row."""

    def contains(self, x: FloatArray) -> BoolArray:
        return np.asarray((self._loads(x) <= 1 + _SLACK).all(axis=-1))

    def clip(self, x: FloatArray) -> FloatArray:
        x = _tamed(x)
        loads = self._loads(x)
        return np.asarray(np.where(loads > 1, x / np.where(loads > 1, loads, 1.0), x))

    def _parts(self, x: FloatArray) -> FloatArray:
        return np.abs(x).reshape(*x.shape[:-1], self.blocks, self.size)


@dataclass(frozen=True)
class Mixture(Blocks):
    """(p_1 v_1, ..., p_B v_B) with v_b in [-1, 1]^size and p_b >= 0 adding up to at most 1.

    What class-wise weighted sums look like: the weight of an owner is shared out over classes. Its radii are those of
    one block, however many there are. A vector outside is scaled down.

    >>> Mixture(blocks=2, size=2).clip(np.array([1.0, 0.5, 3.0, 0.0]))
    array([0.25 , 0.125, 0.75 , 0.   ])
    """

    @property
    def radius_2(self) -> float:
        return float(np.sqrt(self.size))

    def _loads(self, x: FloatArray) -> FloatArray:
        return np.asarray(self._parts(x).max(axis=-1).sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class Crosses(Blocks):
    """Pieces whose absolute values add up to at most 1 each.

    What cross tables look like: in each table an owner's weight is shared out over its cells. A piece outside is scaled
    down.

    >>> Crosses(blocks=2, size=2).clip(np.array([1.0, -3.0, 0.5, 0.0]))
    array([ 0.25, -0.75,  0.5 ,  0.  ])
    """

    @property
    def radius_2(self) -> float:
        return float(np.sqrt(self.blocks))

    def _loads(self, x: FloatArray) -> FloatArray:
        return np.repeat(self._parts(x).sum(axis=-1), self.size, axis=-1)


def _tamed(x: FloatArray) -> FloatArray:
    """NaN as 0, and nothing so large that sums overflow."""
    return np.clip(np.where(np.isnan(x), 0.0, x), -1e150, 1e150)
