"""Public trees as plain arrays: the data user's own boosted trees as they travel to owners."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit._util.checks import bad
from tacit._util.kernels import kernel
from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.learners.cost import Cost
from tacit.wire import message


@message("public.trees")
@dataclass(frozen=True, eq=False)
class Trees:
    """Regression trees whose values add up, one score per class.

    Node i asks x[column[i]] <= cut[i] and goes on to left[i] or right[i]; a leaf has column -1 and
    adds value[i] to the score of its tree's class. `roots` and `classes` are by tree. Children come
    after their node, so every walk ends.
    """

    column: IntArray
    cut: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray
    roots: IntArray
    classes: IntArray

    def __post_init__(self) -> None:
        if not self.column.ndim == self.roots.ndim == 1:
            raise bad("columns and roots", "vectors", (self.column.shape, self.roots.shape))
        size = len(self.column)
        here = np.arange(size)
        inner = self.column >= 0
        if not all(part.shape == (size,) for part in (self.cut, self.left, self.right, self.value)):
            raise bad("nodes", "vectors of one length", size)
        if not all(
            bool(_between(part[inner], here[inner] + 1, size)) for part in (self.left, self.right)
        ):
            raise ValueError("children must come after their node")
        if not (self.roots.shape == self.classes.shape and bool(_between(self.roots, 0, size))):
            raise bad("roots", "numbers of nodes, with a class each", self.roots.shape)
        if not bool(_between(self.classes, 0, 1 << 16)):
            raise bad("classes", "class numbers", self.classes.shape)

    def check(self, dim: int) -> None:
        """Refuse trees that ask for columns which rows of `dim` numbers do not have."""
        if not (self.column < dim).all():
            raise bad("columns of the trees", f"below {dim}", int(self.column.max()))

    def cost(self, rows: int) -> Cost:
        """Every row walks every tree to its deepest leaf."""
        walk = int(_heights(self.left, self.right, self.column)[self.roots].sum())
        return Cost(4 * rows * walk, 0, 1) + Cost(len(self.column))

    @property
    def leaves(self) -> int:
        """Nodes that ask nothing."""
        return int(np.count_nonzero(self.column < 0))

    def scores(self, X: FloatArray, classes: int) -> FloatArray:
        """Summed values, (rows, classes)."""
        if not (self.classes < classes).all():
            raise bad("classes of the trees", f"below {classes}", int(self.classes.max()))
        self.check(X.shape[1])
        out = np.zeros((len(X), classes))
        _add_scores(X, self._walk, self.value, self.classes, out)
        return out

    def indicators(self, X: FloatArray) -> FloatArray:
        """Which leaf of every tree a row falls into, (rows, leaves) of 0 and 1."""
        self.check(X.shape[1])
        leaves: BoolArray = self.column < 0
        number = np.cumsum(leaves) - 1
        out = np.zeros((len(X), int(np.count_nonzero(leaves))))
        _mark_leaves(X, self._walk, number, out)
        return out

    @property
    def _walk(self) -> "_Walk":
        return _Walk(self.roots, self.column, self.cut, self.left, self.right)


@kernel
def _heights(left: IntArray, right: IntArray, column: IntArray) -> IntArray:
    """Nodes on the longest walk from each node to a leaf; children come after their node."""
    height = np.ones(len(column), dtype=np.int64)
    for node in range(len(column) - 1, -1, -1):
        if column[node] >= 0:
            height[node] = 1 + max(height[left[node]], height[right[node]])
    return height


def _between(values: IntArray, low: IntArray | int, high: int) -> np.bool_:
    return ((values >= low) & (values < high)).all()


class _Walk(NamedTuple):
    """What a kernel needs to go from a root to a leaf."""

    roots: IntArray
    column: IntArray
    cut: FloatArray
    left: IntArray
    right: IntArray


@kernel
def _leaf(x: FloatArray, tree: int, walk: _Walk) -> int:
    node = walk.roots[tree]
    while walk.column[node] >= 0:
        below = x[walk.column[node]] <= walk.cut[node]
        node = walk.left[node] if below else walk.right[node]
    return int(node)


@kernel
def _add_scores(
    X: FloatArray, walk: _Walk, value: FloatArray, classes: IntArray, out: FloatArray
) -> None:
    for i in range(len(X)):
        for tree in range(len(walk.roots)):
            out[i, classes[tree]] += value[_leaf(X[i], tree, walk)]


@kernel
def _mark_leaves(X: FloatArray, walk: _Walk, number: IntArray, out: FloatArray) -> None:
    for i in range(len(X)):
        for tree in range(len(walk.roots)):
            out[i, number[_leaf(X[i], tree, walk)]] = 1.0
