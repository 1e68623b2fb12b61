"""Why a model says what it says: what each column adds to a row's score, exactly, for every model
that is published.

Beginning with a row of which nothing is known (numbers in the middle of their public range, no
category), columns take the row's values one after the other, first in the schema's order and then
in the opposite one. A column's contribution is the mean of the two changes that it makes.

Claim: contributions add up to the row's score less that of the unknown row, whatever the model is.
Proof: the changes of one order telescope. Claim: they are the Shapley values where no more than two
columns interact: sums over columns (linear models, stumps, peers' tables) and over pairs (trees of
two levels). Proof: a pair's joint effect goes in one order to the later of the two, in the other
order to the other, so each gets half. Where more interact (deep trees, products of mixed columns)
the sum is still exact, and how a joint effect is shared depends on the order of columns.

Nothing is sampled, and nothing comes from rows but those that are asked about: a model is public.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit._util.checks import in_digits
from tacit._util.types import AnyArray, FloatArray
from tacit.data.number_target import Range
from tacit.data.schema import Category, Number, Schema
from tacit.estimators.persistence import SavedModel
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import Rows
from tacit.learners.models.scores import Linear, Mapped, ScoreModel
from tacit.learners.peers.peer_model import ServedScores
from tacit.learners.sites.projection import LinearModel

_GRID = 21  # places of a number's range that a curve has


@dataclass(frozen=True, eq=False)
class Explanation:
    """What columns add to the scores of rows.

    Parameters
    ----------
    names : tuple of str
        The columns.
    outputs : tuple of str
        What is scored: the second class against the first, or each class.
    unit : str
        What scores are: "log odds", "share of the votes", "score", or the name of a target that is
        a number.
    start : array of shape (outputs,)
        The scores of a row of which nothing is known.
    contributions : array of shape (rows, columns, outputs)
        Each row's, adding up to its scores less `start`.
    """

    names: tuple[str, ...]
    outputs: tuple[str, ...]
    unit: str
    start: FloatArray
    contributions: FloatArray

    @property
    def scores(self) -> FloatArray:
        """Of the rows, (rows, outputs)."""
        return np.asarray(self.start + self.contributions.sum(axis=1))

    @property
    def importances(self) -> FloatArray:
        """How much each column moves the scores of these rows: the mean size of its
        contributions, (columns,).
        """
        return np.asarray(np.abs(self.contributions).mean(axis=(0, 2)))

    def __repr__(self) -> str:
        rows, columns, _ = self.contributions.shape
        return f"Explanation({rows} rows, {columns} columns, {self.unit})"

    def _repr_html_(self) -> str:
        """The columns by importance, for notebooks."""
        from tacit.estimators.displays import table_html

        order = np.argsort(-self.importances, kind="stable")
        lines = [(self.names[place], in_digits(self.importances[place])) for place in order]
        return table_html(("column", f"mean size of contributions ({self.unit})"), lines)


@dataclass(frozen=True)
class ColumnCurve:
    """What one column alone makes of a row of which nothing else is known: the change of scores,
    (places, outputs), at places of its public range or for its values.
    """

    name: str
    places: tuple[Any, ...]
    changes: tuple[tuple[float, ...], ...]

    @property
    def is_ordered(self) -> bool:
        """Whether places are numbers of a range."""
        return all(isinstance(place, float) for place in self.places)

    @property
    def importance(self) -> float:
        """The mean size of the changes over the public range, as nobody's rows are known."""
        return float(np.mean(np.abs(self.changes)))


@dataclass(frozen=True, eq=False)
class Explainer:
    """Explains a saved model."""

    saved: SavedModel

    @property
    def schema(self) -> Schema:
        return self.saved.schema

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """What is scored."""
        if self._range is not None:
            return (self.saved.label or "target",)
        names = tuple(str(name) for name in self.schema.classes)
        return names[1:] if len(names) == 2 else names

    @property
    def _range(self) -> Range | None:
        """Of a target that is a number; None: classes are told apart."""
        model = self.saved.model
        if not isinstance(model, LinearModel) or model.bounds is None:
            return None
        return Range(*model.bounds)

    @property
    def unit(self) -> str:
        """What scores are."""
        model = self.saved.model
        if isinstance(model, Ensemble):
            return "share of the votes"
        if self._range is not None:
            return self.outputs[0]
        return "score" if isinstance(model, LinearModel) else "log odds"

    def scores(self, X: FloatArray) -> FloatArray:
        """Of encoded rows, (rows, outputs): what grows with the chance of a class; of numbers the
        target itself, before it is held inside its range.
        """
        model = self.saved.model
        if isinstance(model, ServedScores):
            return model.scores.score(model.cells.read(X))[:, np.newaxis]
        if isinstance(model, LinearModel):
            found = model.scores(X)
            return found if self._range is None else self._range.stretch(found)
        if isinstance(model, ScoreModel):
            raw = model.scores(X)
            raw = raw - raw.mean(axis=1, keepdims=True)
        else:
            raw = self.saved.probabilities(X)
        return raw[:, 1:] - raw[:, :1] if raw.shape[1] == 2 else raw

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """The numbers of an encoded row that belong to each column."""
        ends = np.cumsum([feature.width for feature in self.schema.features])
        return tuple(
            slice(int(end) - feature.width, int(end))
            for feature, end in zip(self.schema.features, ends, strict=True)
        )

    @cached_property
    def unknown_row(self) -> FloatArray:
        """The encoded row of which nothing is known, (1, numbers)."""
        missing: AnyArray = np.full((1, 1), None, dtype=object)
        return np.hstack([feature.encode(missing[0])[0] for feature in self.schema.features])

    def explain(self, X: FloatArray) -> Explanation:
        """The contributions of columns to encoded rows."""
        start = self.scores(self.unknown_row)[0]
        shape = (len(X), len(self.groups), len(start))
        total = np.zeros(shape)
        for order in (range(len(self.groups)), range(len(self.groups) - 1, -1, -1)):
            now = np.repeat(self.unknown_row, len(X), axis=0)
            before = np.repeat(start[np.newaxis], len(X), axis=0)
            for column in order:
                now[:, self.groups[column]] = X[:, self.groups[column]]
                after = self.scores(now)
                total[:, column] += (after - before) / 2
                before = after
        return Explanation(self._names, self.outputs, self.unit, start, total)

    @cached_property
    def curves(self) -> tuple[ColumnCurve, ...]:
        """Each column alone over its public range; of a sum over columns this is all there is."""
        start, found = self.scores(self.unknown_row)[0], []
        for feature, group in zip(self.schema.features, self.groups, strict=True):
            places = _places(feature)
            rows = np.repeat(self.unknown_row, len(places), axis=0)
            rows[:, group] = feature.encode(np.array(places, dtype=object))[0]
            changes = self.scores(rows) - start
            found.append(
                ColumnCurve(str(feature.name), places, tuple(map(tuple, changes.tolist())))
            )
        return tuple(found)

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(str(feature.name) for feature in self.schema.features)

    @cached_property
    def linear(self) -> tuple[FloatArray, FloatArray] | None:
        """Weights of the numbers of an encoded row (outputs, numbers) and the level (outputs,) of
        a model that is linear in them; None: it is not.

        Of sites the score is this sum times a factor that depends on how far a row is from the
        centre, so that two classes are told apart by its sign.
        """
        model = self.saved.model
        if isinstance(model, LinearModel):
            directions, lens = model.projection.directions, model.projection
            own = model.vectors[:, : directions.shape[1]]
            level = -(own @ (directions.T @ lens.centre))
            if lens.constant:
                level = level + model.vectors[:, -1] * lens.constant
            ends = self._range
            if ends is None:
                return own @ directions.T, level
            size = ends.high / 2 - ends.low / 2
            return size * (own @ directions.T), ends.stretch(level)
        if not (isinstance(model, ScoreModel) and all(_is_linear(term) for term in model.terms)):
            return None
        origin, units = np.zeros_like(self.unknown_row), np.eye(self.unknown_row.shape[1])
        level = self.scores(origin)[0]
        return (self.scores(units) - level).T, level


def _is_linear(term: object) -> bool:
    return isinstance(term, Linear) or (
        isinstance(term, Mapped) and isinstance(term.features.expansion, Rows)
    )


def _places(feature: Number | Category) -> tuple[Any, ...]:
    if isinstance(feature, Number):
        return tuple(np.linspace(feature.low, feature.high, _GRID).tolist())
    return tuple(feature.values)


class Explained:
    """`explain`, `importances`, `coef_` and `intercept_` of fitted estimators that can be saved."""

    def explain(self, X: Any) -> Explanation:
        """What each column adds to the scores of rows, exactly; see `Explanation`.

        The rows should be your own, or those that are predicted: contributions of owners' rows
        tell what is in them.
        """
        from tacit.estimators.inputs import accept_table

        fitted: Any = self
        explainer = self.explainer_
        rows = fitted.schema_.encode(accept_table(fitted, X, reset=False))
        return explainer.explain(rows.X)

    @property
    def explainer_(self) -> Explainer:
        """Of the model as it would be saved."""
        fitted: Any = self
        return Explainer(fitted.content())

    @property
    def coef_(self) -> FloatArray:
        """Weights of a linear model, (outputs, numbers of an encoded row)."""
        return self._linear_part(0)

    @property
    def intercept_(self) -> FloatArray:
        """The level of a linear model, (outputs,)."""
        return self._linear_part(1)

    def _linear_part(self, part: int) -> FloatArray:
        fitted: Any = self
        found = None
        if hasattr(fitted, fitted._fitted_model):
            found = self.explainer_.linear
        if found is None:
            raise AttributeError(
                "coef_ and intercept_ are there once a model is fitted that is linear in the "
                "encoded columns; explain(X) tells what columns add, whatever the model"
            )
        return found[part]
