"""Models for readers that are not tacit: an ONNX graph of every published model, a JSON form of
those that are sums over columns, and a model card.

The graph leads from raw columns to probabilities, in double precision. Inputs are the columns by
name, each (rows, 1): numbers as doubles (NaN: missing), categories as texts, or as doubles where
all their values are numbers; what is not in the schema counts as missing. Outputs are `label` and
`probabilities`; of a model of numbers `prediction`. `onnx` is the extra of this name.

Claim: up to rounding the graph computes what `predict_proba` does. `python -m benchmarks.onnx_rows`
compares a million rows of every kind of model with `onnxruntime`; tests compare a few hundred.

The JSON form says everything that prediction needs, in words that a reader of another language can
follow: how each column becomes numbers, what is added up, and what the sum means.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit._util.checks import in_digits
from tacit._util.file_checks import check_place
from tacit._util.types import FloatArray
from tacit.data.schema import Category, Number, Schema
from tacit.estimators.explanation import Explainer
from tacit.estimators.measures import Measures
from tacit.estimators.onnx_graph import Graph
from tacit.estimators.persistence import SavedModel
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.scores import ScoreModel
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.peer_model import Additive, ServedScores
from tacit.learners.sites.projection import INSIDE, LinearModel
from tacit.render.document import Document, Figures, Paragraph, Part, Section, Table

_OPSET = 19  # the first in which texts can be compared


def write_onnx(saved: SavedModel, path: str | Path) -> None:
    """Write the graph of a saved model, whole or not at all."""
    import onnx

    target = check_place(Path(path))
    draft = target.with_name(f"{target.name}.part")
    try:
        draft.write_bytes(onnx_model(saved).SerializeToString())
        onnx.checker.check_model(str(draft))
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def onnx_model(saved: SavedModel) -> Any:
    """The graph of a saved model."""
    from onnx import TensorProto, helper

    graph = ModelGraph()
    X = graph.encode(saved.schema)
    model = saved.model
    if isinstance(model, LinearModel) and model.bounds is not None:
        low, high = model.bounds
        score = graph.op("Clip", graph.site_scores(model, X), graph(-1.0), graph(1.0))
        half = graph.op("Mul", graph.op("Add", score, graph(1.0)), graph((high - low) / 2))
        graph.op("Add", half, graph(low), name="prediction")
        outputs = [helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, [None, 1])]
    else:
        chances = graph.chances(saved, X)
        graph.op("Identity", chances, name="probabilities")
        classes = saved.schema.classes
        numbers = all(isinstance(each, int) and not isinstance(each, bool) for each in classes)
        names = np.array(classes, np.int64) if numbers else np.array([str(c) for c in classes])
        best = graph.op("ArgMax", chances, axis=1, keepdims=0)
        graph.op("Gather", graph.constant(names), best, name="label")
        kind = TensorProto.INT64 if numbers else TensorProto.STRING
        outputs = [
            helper.make_tensor_value_info("label", kind, [None]),
            helper.make_tensor_value_info(
                "probabilities", TensorProto.DOUBLE, [None, len(classes)]
            ),
        ]
    made = helper.make_graph(graph.nodes, "tacit", graph.inputs, outputs, graph.constants)
    sets = [helper.make_opsetid("", _OPSET)]
    whole = helper.make_model(made, opset_imports=sets, ir_version=9, producer_name="tacit")
    helper.set_model_props(whole, {"guarantee": saved.guarantee.headline, "label": saved.label})
    return whole


class ModelGraph(Graph):
    """The graph of a whole model."""

    def chances(self, saved: SavedModel, X: str) -> str:
        model = saved.model
        if isinstance(model, ScoreModel):
            return self.op("Softmax", self.scores(model, X), axis=1)
        if isinstance(model, Ensemble):
            return self._votes(model, saved.frequencies, X)
        if isinstance(model, LinearModel):
            scores = self.site_scores(model, X)
            if len(model.vectors) == 1:
                return self._two(scores)
            each = self.op("Max", self._logistic(scores), self(1e-300))
            return self.op("Div", each, self.op("ReduceSum", each, self.place(1)))
        return self._two(self._served_log_odds(model, X))

    def _logistic(self, scores: str) -> str:
        small = self.op("Exp", self.op("Neg", self.op("Abs", scores)))
        above = self.op("GreaterOrEqual", scores, self(0.0))
        top = self.op("Where", above, self(1.0), small)
        return self.op("Div", top, self.op("Add", small, self(1.0)))

    def _two(self, log_odds: str) -> str:
        return self.join([self._logistic(self.op("Neg", log_odds)), self._logistic(log_odds)])

    def _votes(self, model: Ensemble, frequencies: FloatArray, X: str) -> str:
        nothing = self.linear(self.column(X, [0]), np.zeros((1, model.classes)), frequencies)
        if not len(model):
            return nothing
        classes = self.place(*range(model.classes))
        parts = []
        for alpha, member in model.members:
            hot = self.op("Equal", self._class_of(member, X), classes)
            parts.append(self.op("Mul", self.double(hot), self(alpha)))
        votes = self.add_up(parts, nothing)
        return self.op("Div", votes, self.op("ReduceSum", votes, self.place(1)))

    def _class_of(self, member: Any, X: str) -> str:
        """The class number that a base model says, (rows, 1)."""
        from tacit.learners.owners.centroid import CentroidModel
        from tacit.learners.owners.logistic import LogisticModel
        from tacit.learners.owners.stump import StumpModel

        match member:
            case StumpModel():
                side = self.op(
                    "GreaterOrEqual", self.column(X, [member.column]), self(member.threshold)
                )
                return self.op("Where", side, self.place(member.right), self.place(member.left))
            case CentroidModel():
                level = (member.centroids**2).sum(axis=1)
                near = self.linear(X, -2 * member.centroids.T, level)
                return self.op("ArgMin", near, axis=1, keepdims=1)
            case LogisticModel():
                scores = self.linear(X, member.coefficients[:, :-1].T, member.coefficients[:, -1])
                if len(member.coefficients) == 1:
                    return self.op("Cast", self.op("Greater", scores, self(0.0)), to=7)
                return self.op("ArgMax", scores, axis=1, keepdims=1)
        raise TypeError(f"{type(member).__name__} has no ONNX form")

    def site_scores(self, model: LinearModel, X: str) -> str:
        """Of sites' linear models over a projection that shortens rows, (rows, vectors)."""
        lens = model.projection
        seen = self.linear(self.op("Sub", X, self.constant(lens.centre)), lens.directions)
        if lens.constant:
            zeros = self.linear(self.column(X, [0]), np.zeros((1, 1)), lens.constant)
            seen = self.join([seen, zeros])
        square = self.op("ReduceSum", self.op("Mul", seen, seen), self.place(1))
        sizes = self.op("ReduceSum", self.op("Abs", seen), self.place(1))
        long = self.op("Max", self.op("Sqrt", square), self(1.0))
        long = self.op("Max", long, self.op("Div", sizes, self(lens.l1_bound)))
        short = self.op("Mul", self.op("Div", seen, long), self(INSIDE))
        return self.linear(short, model.vectors.T)

    def _served_log_odds(self, model: ServedScores, X: str) -> str:
        """The log odds of peers' sums, (rows, 1)."""
        cells = [self._cell(model.cells, number, X) for number in range(len(model.cells))]
        nothing = self.linear(self.column(X, [0]), np.zeros((1, 1)))
        if isinstance(model.scores, Additive):
            tables = model.scores.tables.items()
            return self.add_up([self._look_up(t, cells[place]) for place, t in tables], nothing)
        parts = []
        for tree in model.scores.trees:
            node = self.op("Cast", self.op("Mul", nothing, self(0.0)), to=7)
            for number, cut in enumerate(tree.cuts):
                right = self.op("Add", self._side(cut, cells), self.place(2 * number + 1))
                here = self.op("Equal", node, self.place(number))
                node = self.op("Where", here, right, node)
            leaf = self.op("Sub", node, self.place(len(tree.cuts)))
            parts.append(self.op("Gather", self.constant(np.array(tree.scores)), leaf))
        return self.add_up(parts, nothing)

    def _look_up(self, table: FloatArray, cell: str) -> str:
        padded = self.constant(np.append(table, 0.0))
        return self.op("Gather", padded, self.op("Min", cell, self.place(len(table))))

    def _side(self, cut: Cut, cells: Sequence[str]) -> str:
        """1 where a row goes to the right of a cut, else 0."""
        right = self.constant(np.array([*(leaf == 1 for leaf in cut.leaves), False], np.int64))
        return self.op(
            "Gather", right, self.op("Min", cells[cut.column], self.place(len(cut.leaves)))
        )

    def _cell(self, cells: Cells, number: int, X: str) -> str:
        """The cell of an attribute, (rows, 1)."""
        start, end = cells.starts[number], cells.starts[number + 1]
        own = self.column(X, list(range(start, end)))
        if cells.is_ordered[number]:
            part = self.op("Mul", self.op("Add", own, self(1.0)), self(cells.bins / 2))
            return self.op("Min", self.op("Cast", part, to=7), self.place(cells.bins - 1))
        hot = self.op("Cast", self.op("Greater", own, self(0.0)), to=7)
        if end == start + 1:
            return hot
        last = self.op(
            "ReduceMax", self.op("Mul", hot, self.place(*range(1, end - start + 1))), self.place(1)
        )
        none = self.op("Equal", last, self.place(0))
        before = self.op("Sub", last, self.place(1))
        return self.op("Where", none, self.place(end - start), before)


_ENCODING = (
    "a number x with bounds low, high becomes clip((x - (low + high) / 2) / ((high - low) / 2), "
    "-1, 1), missing 0; a category with two values becomes one number, 1 for the second, else -1; "
    "one with more becomes a number for each value, 1 where it is that value, else -1"
)
_LINEAR = (
    "score = intercept + sum of coefficient times number; two classes: score is the log odds of "
    "the second; more: softmax of the scores says how likely each is"
)
_TABLES = (
    "score = sum over tables of the score of the row's cell, the log odds of the second class; a "
    "number's cell is min(floor((number + 1) / 2 * cells), cells - 1) of its encoded form, a "
    "category's the place of its value; a value that is missing or not named has the last cell"
)
_SITES = (
    "v has a sum for each list of directions, of (number - its centre) times direction, and where "
    "constant is above 0 constant as the last; w = v times inside / max(1, root of the sum of "
    "squares of v, sum of sizes of v / l1_bound); a score for each of vectors: the sum of w times "
    "vector"
)
_SITES_OF_CLASSES = (
    "; 1 / (1 + exp(-score)) says how likely the second class is, or with a vector for each class "
    "how likely that one is, once they are divided by their sum"
)
_SITES_OF_NUMBERS = (
    "; the number is low + (high - low) * (s + 1) / 2, where range is low and high and s is the "
    "score, moved to -1 or 1 where it is beyond"
)


def json_form(saved: SavedModel) -> str:
    """A model that is linear in its encoded columns, of sites in shortened rows, or a sum of
    tables, as JSON text.
    """
    explainer, model = Explainer(saved), saved.model
    content: dict[str, Any] = {
        "format": "tacit model 1",
        "label": saved.label,
        "classes" if saved.schema.labels else "range": list(saved.schema.classes),
        "guarantee": saved.guarantee.headline,
        "columns": [_column(feature) for feature in saved.schema.features],
        "encoding": _ENCODING,
    }
    if isinstance(model, ServedScores) and isinstance(model.scores, Additive):
        tables = [_scores_of(model, place) for place in range(len(model.cells))]
        content |= {"kind": "tables", "meaning": _TABLES, "tables": tables}
    elif isinstance(model, LinearModel):
        seen = model.projection
        content |= {
            "kind": "sites",
            "meaning": _SITES + (_SITES_OF_CLASSES if saved.schema.labels else _SITES_OF_NUMBERS),
            "centre": seen.centre.tolist(),
            "directions": seen.directions.T.tolist(),
            "constant": seen.constant,
            "l1_bound": seen.l1_bound,
            "inside": INSIDE,
            "vectors": model.vectors.tolist(),
        }
    elif explainer.linear is not None:
        weights, level = explainer.linear
        content |= {
            "kind": "linear",
            "meaning": _LINEAR,
            "coefficients": weights.tolist(),
            "intercept": level.tolist(),
        }
    else:
        raise ValueError(
            "this model is no sum over columns, so it has no JSON form: write it as ONNX"
        )
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _column(feature: Number | Category) -> dict[str, Any]:
    if isinstance(feature, Number):
        return {"name": feature.name, "low": feature.low, "high": feature.high}
    return {"name": feature.name, "values": list(feature.values)}


def _scores_of(model: ServedScores, place: int) -> list[float]:
    """The summed score of every cell of a column; 0 where nothing was released."""
    size = model.cells.sizes[place]
    if model.cells.is_ordered[place]:
        cells = np.arange(size)
    else:  # two values share a number: a missing one is read as the first
        last = 0 if model.cells.schema.features[place].width == 1 else size - 1
        values = len(_values(model.cells.schema, place))
        cells = np.append(np.arange(values), last)
    rows = np.full((len(cells), len(model.cells)), -1)
    rows[:, place] = cells
    found: list[float] = model.scores.score(rows).tolist()
    return found


def _values(schema: Schema, place: int) -> tuple[Any, ...]:
    feature = schema.features[place]
    return feature.values if isinstance(feature, Category) else ()


@dataclass(frozen=True)
class CardFacts:
    """What a file does not know of its model: what it is meant for, and what was measured, of the
    model and of the data user's rows alone on the same rows.
    """

    use: str = ""
    measured: Measures | None = None
    alone: Measures | None = None


def card_of(saved: SavedModel, facts: CardFacts) -> Document:
    """A model card: what it predicts from what, what owners were promised, what was measured."""
    promise, explainer = saved.guarantee, Explainer(saved)
    ranked = sorted(explainer.curves, key=lambda curve: -curve.importance)
    meant = Paragraph(
        facts.use or "Nobody has said yet what this model is meant for: tacit export --use says it."
    )
    columns = Table(
        "Columns, with the public bounds or values that they are read by",
        ("column", "read as", "importance over its range"),
        tuple(
            (curve.name, _bounds(saved.schema, curve.name), in_digits(curve.importance))
            for curve in ranked
        ),
    )
    terms = tuple(term for term in promise.terms if term[0] != "influence")  # below, by itself
    promised: tuple[Part, ...] = (
        Paragraph(promise.headline, "warning" if promise.void else "promise", terms),
        Paragraph("Not protected:", "limits", items=promise.not_protected),
    )
    influence = promise.influence or "no bound is known of what one report can do to this model"
    if saved.schema.labels:
        classes = ", ".join(str(name) for name in saved.schema.classes)
    else:
        classes = _range(*saved.schema.classes)
    about = (
        ("estimator", saved.kind),
        ("label", saved.label or "not named"),
        ("classes" if saved.schema.labels else "predicts", classes),
        ("how the asking ended", saved.ended),
        ("made by", f"tacit {saved.program}"),
        ("transcript", saved.transcript.hex()),
    )
    sections = [
        Section("What it is", parts=(meant, Paragraph("", terms=about))),
        Section("What owners were promised", parts=promised),
        Section("What one report can do", f"{influence[0].upper()}{influence[1:]}."),
        Section("What it reads", parts=(columns,)),
    ]
    if facts.measured is not None:
        sections.insert(0, _measured_section(facts.measured, facts.alone))
    title = f"Model card: {saved.label or saved.kind}"
    many = "1 column" if len(ranked) == 1 else f"{len(ranked)} columns"
    lead = f"Predicts {saved.label or 'the label'} ({classes}) from {many}."
    return Document(title, lead, tuple(sections))


def _measured_section(found: Measures, alone: Measures | None) -> Section:
    """How good a model is, beside the data user's rows alone where they are known."""
    own = {each.name: str(each) for each in (alone.figures if alone else ())}
    rows = tuple(
        (each.name, str(each), *((own.get(each.name, ""),) if own else ()))
        for each in found.figures
    )
    heading = ("measure", "this model", *(("public rows alone",) if own else ()))
    table = Table(f"On {found.rows:,} rows that nobody learned from", heading, rows)
    best = Figures(tuple((each.name, str(each), "") for each in found.figures[:4]))
    return Section("How good it is", "95 % intervals.", (best, table))


def _bounds(schema: Schema, name: str) -> str:
    feature = next(each for each in schema.features if str(each.name) == name)
    if isinstance(feature, Number):
        return _range(feature.low, feature.high)
    return ", ".join(str(value) for value in feature.values)


def _range(low: float, high: float) -> str:
    return f"a number from {in_digits(low, 6)} to {in_digits(high, 6)}"
