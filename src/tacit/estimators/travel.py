"""Models for readers that are not tacit: a JSON form of those that are sums over columns, and a
model card.

The JSON form says everything that prediction needs, in words that a reader of another language can
follow: how each column becomes numbers, what is added up, and what the sum means.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.schema import Category, Number, Schema
from tacit.estimators.explanation import Explainer
from tacit.estimators.persistence import SavedModel
from tacit.learners.peers.peer_model import Additive, ServedScores
from tacit.learners.sites.projection import LinearModel
from tacit.render.document import Document, Figures, Paragraph, Part, Section, Table

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


def json_form(saved: SavedModel) -> str:
    """A model that is linear in its encoded columns, or a sum of tables, as JSON text."""
    explainer, model = Explainer(saved), saved.model
    content: dict[str, Any] = {
        "format": "tacit model 1",
        "label": saved.label,
        "classes": list(saved.schema.classes),
        "guarantee": saved.guarantee.headline,
        "columns": [_column(feature) for feature in saved.schema.features],
        "encoding": _ENCODING,
    }
    if isinstance(model, ServedScores) and isinstance(model.scores, Additive):
        tables = [_scores_of(model, place) for place in range(len(model.cells))]
        content |= {"kind": "tables", "meaning": _TABLES, "tables": tables}
    elif explainer.linear is not None and not isinstance(model, LinearModel):
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
    """What a file does not know of its model: what it is meant for, and what was measured on whose
    rows, names and figures.
    """

    use: str = ""
    measured: tuple[tuple[str, str], ...] = ()


def card_of(saved: SavedModel, facts: CardFacts) -> Document:
    """A model card: what it predicts from what, what owners were promised, what was measured."""
    promise, explainer = saved.guarantee, Explainer(saved)
    ranked = sorted(explainer.curves, key=lambda curve: -curve.importance)
    figures = Figures(tuple((name, value, "") for name, value in facts.measured[:4]))
    meant = Paragraph(
        facts.use or "Nobody has said yet what this model is meant for: tacit export --use says it."
    )
    columns = Table(
        "Columns, with the public bounds or values that they are read by",
        ("column", "read as", "importance over its range"),
        tuple(
            (curve.name, _bounds(saved.schema, curve.name), f"{curve.importance:.3g}")
            for curve in ranked
        ),
    )
    terms = tuple((name, getattr(promise, name)) for name in ("unit", "adjacency", "adversary"))
    drawn = ("mechanism", f"{promise.mechanism}, {promise.reports} per {promise.reporter}")
    promised: tuple[Part, ...] = (
        Paragraph(promise.headline, "warning" if promise.void else "promise", (*terms, drawn)),
        Paragraph("Not protected:", "limits", items=promise.not_protected),
    )
    influence = promise.influence or "No bound is known of what one report can do to this model."
    classes = ", ".join(str(name) for name in saved.schema.classes)
    about = (
        ("estimator", saved.kind),
        ("label", saved.label or "not named"),
        ("classes", classes),
        ("how the asking ended", saved.ended),
        ("made by", f"tacit {saved.program}"),
        ("transcript", saved.transcript.hex()),
    )
    sections = [
        Section(
            "What it is",
            parts=(*((figures,) if facts.measured else ()), meant, Paragraph("", terms=about)),
        ),
        Section("What owners were promised", parts=promised),
        Section("What one report can do", influence),
        Section("What it reads", parts=(columns,)),
    ]
    if facts.measured:
        rows = tuple(facts.measured)
        table = Table("On rows that nobody learned from", ("measure", "value"), rows)
        sections.insert(1, Section("How good it is", parts=(table,)))
    title = f"Model card: {saved.label or saved.kind}"
    return Document(title, f"A {saved.kind} that predicts {classes}.", tuple(sections))


def _bounds(schema: Schema, name: str) -> str:
    feature = next(each for each in schema.features if str(each.name) == name)
    if isinstance(feature, Number):
        return f"a number from {feature.low:g} to {feature.high:g}"
    return ", ".join(str(value) for value in feature.values)
