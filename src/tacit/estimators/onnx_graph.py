"""An ONNX graph while it is written: primitives, rows as a schema encodes them, and the terms of
sums of scores, trees among them.

Only operators of the standard domain are used: a tree is walked by looking up, for all trees at
once, which node comes next, as often as the deepest tree is deep.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tacit._util.types import AnyArray, FloatArray
from tacit.data.schema import Category, Number, Schema
from tacit.learners.models.features import Expansion, Joined, Products, Rows, Waves
from tacit.learners.models.scores import (
    Forest,
    Leaves,
    Linear,
    Mapped,
    ModelScores,
    ScoreModel,
    Term,
    Trees,
    contrasts,
)


class Graph:
    """A graph while it is written; values are known by name."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []

    def op(self, kind: str, *given: str, name: str = "", **attributes: Any) -> str:
        """Add an operator; the name of what it gives."""
        from onnx import helper

        out = name or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(given), [out], **attributes))
        return out

    def constant(self, value: Any) -> str:
        """A constant array."""
        from onnx import numpy_helper

        array: AnyArray = np.asarray(value)
        array = array.astype(object) if array.dtype.kind == "U" else array
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def __call__(self, number: float) -> str:
        return self.constant(np.float64(number))

    def place(self, *numbers: int) -> str:
        """Places of columns, shapes, axes."""
        return self.constant(np.array(numbers, dtype=np.int64))

    def join(self, parts: Sequence[str]) -> str:
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=1)

    def add_up(self, parts: Iterable[str], nothing: str) -> str:
        total = ""
        for part in parts:
            total = self.op("Add", total, part) if total else part
        return total or nothing

    def double(self, flags: str) -> str:
        return self.op("Cast", flags, to=11)

    def linear(self, X: str, weights: FloatArray, level: FloatArray | float = 0.0) -> str:
        product = self.op("MatMul", X, self.constant(np.ascontiguousarray(weights)))
        return self.op("Add", product, self.constant(np.asarray(level, dtype=np.float64)))

    def column(self, X: str, numbers: Sequence[int]) -> str:
        return self.op("Gather", X, self.place(*numbers), axis=1)

    def encode(self, schema: Schema) -> str:
        """Columns as the schema encodes them, (rows, numbers) in [-1, 1]."""
        return self.join([self._encode_column(feature) for feature in schema.features])

    def _encode_column(self, feature: Number | Category) -> str:
        from onnx import TensorProto, helper

        numeric = isinstance(feature, Number) or all(
            isinstance(value, int | float) and not isinstance(value, bool)
            for value in feature.values
        )
        kind, name = TensorProto.DOUBLE if numeric else TensorProto.STRING, str(feature.name)
        self.inputs.append(helper.make_tensor_value_info(name, kind, [None, 1]))
        if isinstance(feature, Number):
            middle, half = feature.low / 2 + feature.high / 2, feature.high / 2 - feature.low / 2
            scaled = self.op("Div", self.op("Sub", name, self(middle)), self(half))
            known = self.op("Where", self.op("IsNaN", scaled), self(0.0), scaled)
            return self.op("Clip", known, self(-1.0), self(1.0))
        if numeric:
            known = self.constant(np.array(feature.values, np.float64)[np.newaxis])
            hot = self.op("Equal", name, known)
        else:
            first, *others = dict.fromkeys(zip(*map(_spellings, feature.values), strict=True))
            hot = self.op("Equal", name, self.constant(np.array(first)[np.newaxis]))
            for texts in others:
                alike = self.op("Equal", name, self.constant(np.array(texts)[np.newaxis]))
                hot = self.op("Or", hot, alike)
        signs = self.op("Where", hot, self(1.0), self(-1.0))
        return self.column(signs, [1]) if feature.width == 1 else signs

    def scores(self, model: ScoreModel, X: str) -> str:
        """(rows, classes)."""
        nothing = self.linear(self.column(X, [0]), np.zeros((1, model.classes)))
        return self.add_up([self._term(term, X, model.classes) for term in model.terms], nothing)

    def _term(self, term: Term, X: str, classes: int) -> str:
        match term:
            case Linear():
                return self.linear(X, term.weights, term.level)
            case Forest():
                node = self._walk(term.trees, X)
                values = self.op("Gather", self.constant(term.trees.value), node)
                hot = (term.trees.classes[:, np.newaxis] == np.arange(classes)) * term.temperature
                return self.linear(values, hot.astype(np.float64), term.level)
            case Mapped():
                start, folded = term.fold()
                wide = self._expand(term.features.expansion, X)
                away = self.op("Sub", wide, self.constant(term.features.centre))
                return self.linear(away, folded, start)
        raise TypeError(f"{type(term).__name__} has no ONNX form")

    def _expand(self, expansion: Expansion, X: str) -> str:
        match expansion:
            case Rows():
                return X
            case Products():
                away = self.op("Sub", X, self.constant(expansion.centre))
                flat = self.linear(away, expansion.axes)
                flat = self.op("Clip", flat, self(-expansion.reach), self(expansion.reach))
                size = expansion.axes.shape[1]
                first, second = zip(
                    *[(j, k) for j in range(size) for k in range(j, size)], strict=True
                )
                return self.join(
                    [flat, self.op("Mul", self.column(flat, first), self.column(flat, second))]
                )
            case Waves():
                angle = self.linear(
                    self.op("Sub", X, self.constant(expansion.centre)), expansion.axes
                )
                return self.join([self.op("Cos", angle), self.op("Sin", angle)])
            case Joined():
                return self.join([self._expand(part, X) for part in expansion.parts])
            case ModelScores():
                return self.linear(
                    self.scores(expansion.model, X), contrasts(expansion.model.classes)
                )
            case Leaves():
                return self._leaves(expansion.trees, X)
        raise TypeError(f"{type(expansion).__name__} has no ONNX form")

    def _walk(self, trees: Trees, X: str) -> str:
        """The leaf of every row in every tree, (rows, trees); a leaf leads to itself."""
        here = np.arange(len(trees.column))
        inner = trees.column >= 0
        column, cut = (self.constant(each) for each in (np.maximum(trees.column, 0), trees.cut))
        left, right = (
            self.constant(np.where(inner, each, here)) for each in (trees.left, trees.right)
        )
        rows = self.op("Shape", self.column(X, [0]))  # (rows, 1)
        many = self.op("Mul", rows, self.place(1, len(trees.roots)))
        node = self.op("Expand", self.constant(trees.roots[np.newaxis]), many)
        for _ in range(_depth(trees)):
            value = self.op("GatherElements", X, self.op("Gather", column, node), axis=1)
            below = self.op("LessOrEqual", value, self.op("Gather", cut, node))
            node = self.op(
                "Where", below, self.op("Gather", left, node), self.op("Gather", right, node)
            )
        return node

    def _leaves(self, trees: Trees, X: str) -> str:
        leaves = trees.column < 0
        number = self.constant(np.cumsum(leaves) - 1)
        places = self.op("Gather", number, self._walk(trees, X))
        empty = self.linear(self.column(X, [0]), np.zeros((1, int(leaves.sum()))))
        ones = self.op("Add", self.op("Mul", self.double(places), self(0.0)), self(1.0))
        return self.op("ScatterElements", empty, places, ones, axis=1)


def _spellings(value: object) -> tuple[str, str, str]:
    """A category as texts say it, in three ways: truth values are written as files, Python and
    spreadsheets do.
    """
    text = str(value)
    if text.lower() in ("true", "false"):
        return text.lower(), text.capitalize(), text.upper()
    return text, text, text


def _depth(trees: Trees) -> int:
    """Steps from a root to the deepest leaf."""
    depth = np.zeros(len(trees.column), dtype=np.int64)
    for node in range(len(trees.column) - 1, -1, -1):
        if trees.column[node] >= 0:
            depth[node] = 1 + max(depth[trees.left[node]], depth[trees.right[node]])
    return int(depth[trees.roots].max(initial=0))
