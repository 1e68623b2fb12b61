"""Whether a line is all that is to be found, which few public rows cannot tell: owners decide.
Why so: summed_gradients.md.

    first answer:   heard by two beliefs, of all wide features and of columns alone
    second:         about the model half way between both, with shares said louder along that way:
                    how the likelihood rises there tells which is likelier on owners' rows
    then:           where that is the line, what is next to be asked about is the line's model, and
                    of answers its part is heard

Only where owners are so many that the second answer can tell. Questions have the same features
and the same price either way.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.public_metric import Metric
from tacit.algorithms.share_lengths import NEARLY_WHOLE
from tacit.algorithms.summed_gradients import SummedGradients, Told
from tacit.algorithms.wide_features import LINEAR
from tacit.learners.models.features import FeatureMap
from tacit.learners.models.scores import ScoreModel
from tacit.learners.query import Answer

_TELLING = 0.01  # nats: standard error of a difference in log loss, up to which it is asked for
_SURE, _LIKELIER = 2.0, 0.003  # standard errors and nats by which the line must be likelier
_LOUD = 0.25  # of shares' squared length, along the way
_SHOWN = 150  # public rows that show how long shares are


@dataclass(frozen=True, eq=False)
class _Place:
    """The features of a line among wide ones: their places, and how much larger they are there."""

    places: IntArray
    scale: FloatArray
    width: int

    @classmethod
    def of(cls, line: FeatureMap, wide: FeatureMap, others: int) -> "_Place":
        """Constant and columns come first, `others` contrasts of the own model last, in both."""
        places = np.r_[: line.dim - others, wide.dim - others : wide.dim]
        sizes, known = (np.r_[1.0, each.matrix] for each in (line, wide))
        told = known[places]
        scale = np.divide(sizes, told, out=np.ones_like(sizes), where=told != 0)
        return cls(places, scale, wide.dim)

    def among_all(self, coefficients: FloatArray) -> FloatArray:
        """Coefficients of the line's features as those of wide ones."""
        out = np.zeros((len(coefficients), self.width))
        out[:, self.places] = coefficients * self.scale
        return out

    def coefficients(self, coefficients: FloatArray) -> FloatArray:
        """Of coefficients of wide features, those that the line has as well."""
        return np.asarray(coefficients[:, self.places] / self.scale)

    def slope(self, slope: FloatArray) -> FloatArray:
        """Of a slope along wide features, that along the line's."""
        return np.asarray(slope[:, self.places] * self.scale)


@dataclass(eq=False)
class LineOrAll(SummedGradients):
    """All wide features, until owners say that a line is likelier. The data user's own model is a
    feature of both, and where public rows are few both begin with it.
    """

    _is_line: bool = field(init=False, default=False)
    # from the line's model to that of all features, while owners are asked between them
    _way: FloatArray | None = field(init=False, default=None, repr=False)
    _louder: Metric | None = field(init=False, default=None, repr=False)  # along it, meanwhile

    @cached_property
    def _line(self) -> SummedGradients:
        return SummedGradients(self.public, self.own, self.population, LINEAR)

    @cached_property
    def _place(self) -> _Place:
        return _Place.of(self._line.map, self.map, self.public.classes - 1)

    @property
    def model(self) -> ScoreModel:
        return self._line.model if self._is_line else super().model

    @property
    def held_out(self) -> FloatArray:
        return self._line.held_out if self._is_line else super().held_out

    @property
    def _metric(self) -> Metric:
        """With a place for what is said louder, of which nothing is seen before: questions have as
        many axes in every round.
        """
        known, louder = super()._metric, self._louder
        if self.public.classes > 2:
            return known
        if louder is None:
            louder = Metric(np.eye(1, self.map.dim), np.ones(1))
        return Metric(np.vstack([known.axes, louder.axes]), np.r_[known.parts, louder.parts])

    def _undone(self, answer: Answer, noise: float) -> Told:
        if self._louder is not None:
            quieter = Metric(self._louder.axes, 1 / self._louder.parts)
            answer = replace(answer, mean=quieter.apply(answer.mean[np.newaxis])[0])
        return super()._undone(answer, noise)

    def _hear(self, told: Told) -> None:
        if self._way is not None:
            rises = float((told.slope * self._way).sum())
            sure = _SURE * self._error_along(self._way, told.noise, told.owners)
            self._is_line = rises < -max(sure, _LIKELIER)
            self._way = self._louder = None
            self._make_up_owners()
        self._line._hear(self._part_of(told))
        self._line._look_around()
        if not self._is_line:
            super()._hear(told)

    def _look_around(self) -> None:
        super()._look_around()
        if self._is_line:
            self._line._factor = self._factor
            self._aim(self._line_among_all, self._line._scores(self._line._theta))
        elif len(self._told) == 1 and self.public.classes == 2 and len(self.public.y) >= _SHOWN:
            self._ask_between()

    def _ask_between(self) -> None:
        """Ask about the model half way, if owners are many: there a slope is the difference of both
        ends but for third powers.
        """
        line, expected = self._line_among_all, self._scores(self._theta)
        way = self._theta - line
        self._aim(line + way / 2, expected, NEARLY_WHOLE)
        noise = np.full(len(self._curve), self._noise_of_one)
        if self._error_along(way, noise, self.population.owners) > _TELLING:
            self._aim(self._theta, expected)
            return
        self._way = way
        self._speak_up(way)
        self._aim(line + way / 2, expected, NEARLY_WHOLE)

    def _speak_up(self, way: FloatArray) -> None:
        """Have more said along the way, which is long and along which shares are short: a liar's
        share may be as long there as anywhere.
        """
        quiet, along = super()._metric, self._axes.join(way)
        along = along - along @ quiet.axes.T @ quiet.axes
        unit = along / np.sqrt((along**2).sum())
        lengths = (quiet.apply(self._phi) ** 2).sum(axis=1)
        part = np.sqrt(_LOUD * lengths.mean() / ((self._phi @ unit.T) ** 2).mean())
        self._louder = Metric(unit, np.array([max(1.0, float(part))]))
        self._make_up_owners()

    def _error_along(self, way: FloatArray, noise: FloatArray, owners: int) -> float:
        """The standard error of a slope along a way, of which some may be said louder."""
        square = float(((noise + self._chance(owners)) * way**2).sum())
        if self._louder is not None:
            along = self._axes.join(way) @ self._louder.axes.T
            quieter = 1 - 1 / self._louder.parts**2
            square -= float((noise[-1] * along**2 * quieter).sum())
        return float(np.sqrt(square))

    def _part_of(self, told: Told) -> Told:
        """What the line's belief hears of an answer."""
        known, axes, place = told.noise[: self._axes.seen.shape[1]], self._line._axes, self._place
        each = told.noise[-1] + self._axes.seen**2 @ (known - told.noise[-1])  # of every feature
        each = each[place.places] * place.scale**2
        return replace(
            told,
            reference=axes.split(place.coefficients(self._axes.join(told.reference))),
            slope=axes.split(place.slope(self._axes.join(told.slope))),
            noise=np.concatenate([(axes.seen**2).T @ each, np.full(len(each), each.mean())]),
        )

    @property
    def _line_among_all(self) -> FloatArray:
        """The line's model, along the axes of all features."""
        line = self._line._axes.join(self._line._theta)
        return self._axes.split(self._place.among_all(line))
