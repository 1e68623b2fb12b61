"""Spaces made of blocks, smaller than the box around them: knowing that pays in noise."""

from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from tacit._util.checks import whole
from tacit._util.types import FloatArray
from tacit.mechanisms.spaces import Space


@dataclass(frozen=True)
class Blocks(Space):
    """`blocks` pieces of `size` coordinates each; NaN counts as 0, infinities as the largest
    number.
    """

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
    def _loads(self, sizes: FloatArray) -> FloatArray:
        """What must be at most 1, given absolute values (..., blocks, size): one number per
        block, or one for all.
        """

    def clip(self, x: FloatArray) -> FloatArray:
        parts = self._parts(x)
        with np.errstate(over="ignore"):
            loads = self._loads(np.abs(parts))
        if (loads <= 1).all():  # the usual case; NaN and what overflows fail it
            return x.copy()
        parts = _make_finite(parts)
        loads = self._loads(np.abs(parts))
        return np.where(loads > 1, parts / np.where(loads > 1, loads, 1.0), parts).reshape(x.shape)

    def _parts(self, x: FloatArray) -> FloatArray:
        return x.reshape(*x.shape[:-1], self.blocks, self.size)


@dataclass(frozen=True)
class Mixture(Blocks):
    """(p_1 v_1, ..., p_B v_B) with v_b in [-1, 1]^size and p_b >= 0 adding up to at most 1.

    What class-wise weighted sums look like: the weight of an owner is shared out over classes. Its
    radii are those of one block, however many there are. A vector outside is scaled down.

    >>> Mixture(blocks=2, size=2).clip(np.array([1.0, 0.5, 3.0, 0.0]))
    array([0.25 , 0.125, 0.75 , 0.   ])
    """

    @property
    def radius_2(self) -> float:
        return float(np.sqrt(self.size))

    def _loads(self, sizes: FloatArray) -> FloatArray:
        return np.asarray(sizes.max(axis=-1, keepdims=True).sum(axis=-2, keepdims=True))


@dataclass(frozen=True)
class Crosses(Blocks):
    """Pieces whose absolute values add up to at most 1 each.

    What cross tables look like: in each table an owner's weight is shared out over its cells. A
    piece outside is scaled down.

    >>> Crosses(blocks=2, size=2).clip(np.array([1.0, -3.0, 0.5, 0.0]))
    array([ 0.25, -0.75,  0.5 ,  0.  ])
    """

    @property
    def radius_2(self) -> float:
        return float(np.sqrt(self.blocks))

    def _loads(self, sizes: FloatArray) -> FloatArray:
        # A few sums of long columns are quicker than many sums of short rows.
        columns = (sizes[..., column : column + 1] for column in range(self.size))
        return sum(columns, np.zeros((*sizes.shape[:-1], 1)))


def _make_finite(x: FloatArray) -> FloatArray:
    """NaN as 0, and nothing so large that sums overflow."""
    return np.clip(np.where(np.isnan(x), 0.0, x), -1e150, 1e150)
