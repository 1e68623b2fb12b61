"""Whether a line is all that is to be found, which few public rows cannot tell: owners decide.
Why so: summed_gradients.md.

    first answer:   heard by two beliefs, of all wide features and of columns alone
    second:         about the model between both, with whole shares: how the likelihood rises from
                    one to the other there tells which is likelier on owners' rows
    then:           where that is the line, what is next to be asked about is the line's model, and
                    of answers its part is heard

Only where owners are so many that the second answer can tell. Questions have the same features
and the same price either way.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.share_lengths import NEARLY_WHOLE
from tacit.algorithms.summed_gradients import SummedGradients, Told
from tacit.algorithms.wide_features import LINEAR
from tacit.learners.models.features import FeatureMap
from tacit.learners.models.scores import ScoreModel

_TELLING = 0.01  # nats: standard error of a difference in log loss, up to which it is asked for
_SURE = 2.0  # standard errors by which the line must be likelier
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

    def _hear(self, told: Told) -> None:
        if self._way is not None:
            rises = float((told.slope * self._way).sum())
            self._is_line = rises < -_SURE * self._error_along(self._way, told.noise, told.owners)
            self._way = None
        self._line._hear(self._part_of(told))
        self._line._look_around()
        if not self._is_line:
            super()._hear(told)

    def _look_around(self) -> None:
        super()._look_around()
        if self._is_line:
            self._line._factor = self._factor
            self._aim(self._line_among_all, self._line._scores(self._line._theta))
        elif len(self._told) == 1 and len(self.public.y) >= _SHOWN:
            self._ask_between()

    def _ask_between(self) -> None:
        """Ask about the model half way, if the answer can tell: there a slope is the difference of
        both ends but for third powers.
        """
        line, expected = self._line_among_all, self._scores(self._theta)
        way = self._theta - line
        self._aim(line + way / 2, expected, NEARLY_WHOLE)
        noise = np.full(len(self._curve), self._noise_of_one)
        if self._error_along(way, noise, self.population.owners) <= _TELLING:
            self._way = way
        else:
            self._aim(self._theta, expected)

    def _error_along(self, way: FloatArray, noise: FloatArray, owners: int) -> float:
        """The standard error of a slope along a way."""
        return float(np.sqrt(((noise + self._chance(owners)) * way**2).sum()))

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
