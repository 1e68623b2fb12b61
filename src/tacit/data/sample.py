"""The data user's own sample."""

from dataclasses import dataclass

from tacit._util.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Public:
    """The data user's own sample, encoded. Alphas and thresholds show it: it must be public, or
    its people agree.
    """

    X: FloatArray
    y: IntArray
    classes: int

    @property
    def dim(self) -> int:
        return int(self.X.shape[1])
