"""The published model of sites: linear scores of what a public lens sees."""

from dataclasses import dataclass

import numpy as np

from tacit.checks import bad
from tacit.learners.lens import Lens
from tacit.types import FloatArray, IntArray
from tacit.wire import message


@message("linear")
@dataclass(frozen=True, eq=False)
class LinearModel:
    """`vectors` (1, dim) for two classes or for numbers, else one against the rest for each class, (classes, dim).

    `bounds` are the public range of targets that are numbers; None: the model tells classes apart.
    """

    lens: Lens
    vectors: FloatArray
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not (self.vectors.ndim == 2 and self.vectors.shape[1] == self.lens.dim):
            raise bad("vectors", f"(vectors, {self.lens.dim}) as the lens sees", self.vectors.shape)

    def scores(self, X: FloatArray) -> FloatArray:
        """Scores (rows, vectors) of encoded rows."""
        return np.asarray(self.lens.see(X) @ self.vectors.T)

    def winners(self, scores: FloatArray) -> IntArray:
        """The class of each row: the sign of the only score, or the largest of several."""
        return (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else np.argmax(scores, axis=1)
