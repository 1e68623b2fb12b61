"""What is believed of a model when sums are nearly exact: wide public features, a few steps, every
answer weighed by its known noise. Derivation: summed_gradients.md.

    start:  the likeliest coefficients of wide features under the data user's rows, or its own
            model, whichever predicts rows that it has not seen better
    ask:    everybody for residual x features of the model as it is, steep directions turned down,
            clipped at a public length
    take:   each answer says which moments (chances x features) the best model has on owners' rows:
            those of the model that was asked about, and the answer. Public rows, and rows between
            them, stand in for owners': the next model is the likeliest that has these moments on
            them; answers count less the further its chances are from those that were asked about

Unlike `Combination`, which fights for every bit of noisy reports, it has more features than public
rows can tell apart: curvature that public rows have not seen is guessed from rows left out.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from tacit._util.checks import bad
from tacit._util.one_thread import one_thread
from tacit._util.types import FloatArray
from tacit.algorithms.public_baseline import PublicModel
from tacit.algorithms.public_curvature import (
    CurvatureAxes,
    curvatures,
    stand_ins,
    unseen_curvature,
)
from tacit.algorithms.public_level import expected_level
from tacit.algorithms.public_metric import Metric, best_parts
from tacit.algorithms.question import Population
from tacit.algorithms.share_lengths import QUANTILES, Clipping, MadeUpOwners, best_clipping
from tacit.algorithms.stand_in_moments import StandInMoments
from tacit.algorithms.sureness import likely_factor, weigh_answer, weigh_labels
from tacit.algorithms.wide_features import Mix, is_few
from tacit.algorithms.wide_start import WideStart
from tacit.data.cohort import Public
from tacit.learners.models.features import Products, Rows, Waves
from tacit.learners.models.scores import Leaves, Mapped, ScoreModel, contrasts, softmax, temperature
from tacit.learners.owners.gradient import Gradient
from tacit.learners.owners.metric_gradient import MetricGradient
from tacit.learners.query import Answer
from tacit.mechanisms.spaces import Ball

_ROUNDS, _MORE = 4, 6  # more where public rows are few and tell the curvature worse
_FEW = 150  # public rows
_VARIANCE, _OF_MANY = 2.0, 4.0  # of coefficients, once somebody answered; of more classes than two
_STAND_IN = 3.0  # variance of what public rows say of others', in units of chance
_TURNS = 2  # of weighing answers and finding the likeliest model
_PUBLIC = 0.5  # part of its precision that the start keeps
_FORESEEN, _OF_MANY_FORESEEN = 1.0, 3.0  # largest variances that predictions count on
_LEAST_FREE = 0.02  # part of a public row's score that others decide, at least
_NAMES = {Rows: "linear", Products: "products", Leaves: "leaves", Waves: "waves"}
_FAR = 1e6  # rows are not shortened one by one: shares are
_TURNED_DOWN, _OF_MANY_TURNED_DOWN = 32, 128  # steepest axes, along which less is said
_DOUBTS = 3.5  # standard errors by which public rows must contradict owners to be believed


@dataclass(frozen=True, eq=False)
class Told:
    """An answer, undone of clipping: about which coefficients and the chances that stand-ins have
    by them; in which way owners' rows get likelier along each axis, and how noisy that is.
    """

    reference: FloatArray
    chances: FloatArray
    slope: FloatArray
    noise: FloatArray
    owners: int


@dataclass(eq=False)
class SummedGradients:
    """A belief about the best model; `learner` asks, `update` takes the answer in.

    Coefficients are (classes - 1, coordinates): along the axes that public rows span, then the rest
    of the vector, in which all directions are alike. All classes share one curvature.
    """

    public: Public
    own: PublicModel
    population: Population
    mix: Mix
    _told: list[Told] = field(init=False, default_factory=list)
    _clipping: Clipping = field(init=False, default=Clipping(radius=1.0, left=1.0))
    _sureness: FloatArray | None = field(init=False, default=None)  # as the last answer tells it
    _factor: float = field(init=False, default=1.0)

    def __post_init__(self) -> None:
        with one_thread():  # steps too small for threads
            self._begin_alone()

    def _begin_alone(self) -> None:
        """The belief before anybody has answered."""
        start = WideStart.of(self.public, self.own, self.mix)
        self._unseen_loss = start.loss
        self.map, self._phi = start.map, start.phi
        self._scale, self._first, self._alone = start.variance, start.scores, start.left_out
        self._contrasts = contrasts(self.public.classes)
        others = stand_ins(self.public)
        phi = np.vstack([self._phi, self.map.transform(others.X)])
        guessed = phi[len(self._phi) :] @ start.coefficients.T @ self._contrasts.T
        weights = curvatures(softmax(np.vstack([start.left_out, guessed])))
        curved = phi * np.sqrt(len(phi) * others.parts * weights)[:, np.newaxis]
        self._axes = CurvatureAxes.of(curved)
        self._begin = self._axes.split(start.coefficients)
        self._stand_ins = StandInMoments(
            phi @ self._axes.seen,
            others.parts,
            self.public.classes,
            unseen=unseen_curvature(curved),
            size=self._begin.shape[1],
        )
        self._turned = self._stand_ins.along[: len(self._phi)]
        self._theta = self._asked = self._begin.copy()
        self._level = np.zeros(len(self._begin))
        self._curve = self._stand_ins.spread(weights) + self._stand_ins.unseen
        told = self._turned**2 * weights[: len(self._phi), np.newaxis]
        self._known = _PUBLIC * self._stand_ins.whole(told.sum(axis=0))
        self._precision = self._public_precision(self._scale)
        self._choose_metric()

    def among(self, population: Population) -> Self:
        """The same before anybody has answered, for others with as many rows each."""
        if not (population.summed and population.rows == self.population.rows and not self._told):
            raise bad("population", "of the same trust and rows, before any answer", population)
        other = copy(self)
        other.population, other._told = population, []
        with one_thread():
            other._choose_metric()
        return other

    @property
    def rounds(self) -> int:
        """In how many rounds to ask: with fewer the last step is not the end, with more each is
        noisier, and owners send as many reports.
        """
        return _MORE if len(self.public.y) < _FEW else _ROUNDS

    @property
    def features(self) -> str:
        """What questions are about, in words."""
        return " + ".join(_NAMES[kind] for kind in self.mix.parts)

    @property
    def numbers(self) -> int:
        """The length of a share."""
        return (self.public.classes - 1) * self.map.dim

    @property
    def noise_foreseen(self) -> float:
        """The variance of the mean of all rounds' answers, undone of clipping."""
        return self._noise_of_one / self.rounds

    @property
    def _noise_of_one(self) -> float:
        """The variance of the next answer, undone of clipping."""
        space = Ball(self.numbers, self._clipping.radius)
        return self.population.mean_variance(space, self.rounds) / self._clipping.left**2

    @property
    def learner(self) -> Gradient:
        """What the next round asks for."""
        weights = np.ascontiguousarray((self._contrasts @ self._axes.join(self._asked)).T)
        radius, metric = self._clipping.radius, self._metric
        if not len(metric.parts):
            return Gradient(self.map, weights, _FAR, radius)
        axes = np.ascontiguousarray(metric.axes)
        return MetricGradient(
            self.map, weights, reach=_FAR, radius=radius, axes=axes, parts=metric.parts
        )

    @property
    def _metric(self) -> Metric:
        """How much of a share is said along which axes."""
        return Metric(self._axes.seen[:, self._turned_down].T, self._said[self._turned_down])

    @property
    def model(self) -> ScoreModel:
        """The mean of the belief, with classes as frequent as among public rows, and as sure as
        owners say.
        """
        coefficients = self._axes.join(self._theta)
        coefficients[:, 0] += self._level / self.map.level
        weights = np.ascontiguousarray(self._factor * (self._contrasts @ coefficients).T)
        return ScoreModel(self.public.classes, (Mapped(self.map, weights),))

    @property
    def held_out(self) -> FloatArray:
        """Scores of each public row by the model as it would be without the row."""
        return np.asarray(self._factor * (self._scores_without + self._contrasts @ self._level))

    @property
    def _scores_without(self) -> FloatArray:
        """The same before a level is added, and not made less sure: what the start
        loses out of fold is taken off by the part of the row's leverage that is left, and owners
        move it as far as if the row had not held it back.
        """
        square, now = self._turned**2, self._scores(self._theta)
        leverage = square @ (1 / self._stand_ins.spanned(self._precision))
        part = leverage / (
            square @ (1 / self._stand_ins.spanned(self._public_precision(self._scale)))
        )
        holds = _PUBLIC * curvatures(softmax(self._alone)) * leverage
        freed = (holds / np.maximum(1 - holds, _LEAST_FREE))[:, np.newaxis]
        moved = now - self._scores(self._begin)
        return np.asarray(now + freed * moved - part[:, np.newaxis] * (self._first - self._alone))

    def update(self, answer: Answer) -> None:
        """The belief after an answer; too few owners tell nothing."""
        noise = float(np.mean(answer.stderr**2))
        with one_thread():
            if np.isfinite(noise):
                if self._told:
                    self._sureness = self._weigh_sureness(answer, noise)
                self._hear(self._undone(answer, noise))
            self._look_around()

    def _hear(self, told: Told) -> None:
        """Take in what an answer says."""
        self._told.append(told)
        self._settle()

    def _undone(self, answer: Answer, noise: float) -> Told:
        """An answer about `_asked` with this variance, undone of clipping and of what was turned
        down.
        """
        left, chances = self._clipping.left * self._said, self._stand_ins.chances(self._asked)
        slope = self._axes.split(answer.mean.reshape(len(self._theta), -1)) / left
        return Told(self._asked, chances, slope, noise / left**2, answer.n)

    def _look_around(self) -> None:
        """What is next to be asked about, and where the model is curved and its level by now."""
        self._curve = (
            self._stand_ins.spread(curvatures(self._stand_ins.chances(self._theta)))
            + self._stand_ins.unseen
        )
        self._aim(self._theta, self._scores(self._theta))
        said, y = self._scores_without, self.public.y
        heat = temperature(said, y)
        self._level = expected_level(heat * said, y) / heat
        if self._sureness is not None:
            unseen = said + self._contrasts @ self._level
            labels = [] if is_few(self.public) else [weigh_labels(unseen, y)]
            self._factor = likely_factor(self._sureness, *labels)

    def _weigh_sureness(self, answer: Answer, noise: float) -> FloatArray:
        """What an answer about a model says of the factor of its scores, along itself."""
        theta = self._axes.join(self._asked)
        return weigh_answer(
            self._made_up,
            self._scores(self._asked),
            self._made_up.phi @ theta.T @ self._contrasts.T,
            radius=self._clipping.radius,
            said=float((answer.mean.reshape(theta.shape) * theta).sum()),
            error=float(np.sqrt(noise * (theta**2).sum())),
        )

    @property
    def is_contradicted(self) -> bool:
        """Whether public rows speak against the model, and for the data user's own: as rows that
        neither has seen they are less likely, and wrong more often by more than three and a
        half standard errors. The data user's own model is the luckiest of several on these rows,
        and where owners undo what it learnt of them by heart their model seems worse than it is.
        """
        rows, y = np.arange(len(self.public.y)), self.public.y
        said = self.held_out
        said = temperature(said, y) * said  # the data user's own model has had the same favour
        sides = [np.maximum(softmax(each)[rows, y], 1e-12) for each in (said, self.own.held_out)]
        wrong = [each.argmax(1) != y for each in (said, self.own.held_out)]
        more = np.count_nonzero(wrong[0]) - np.count_nonzero(wrong[1])
        error = np.sqrt(np.count_nonzero(wrong[0] != wrong[1]))
        return bool(np.log(sides[0] / sides[1]).sum() < 0 and more > _DOUBTS * error)

    @property
    def expected_loss(self) -> float:
        """By which beliefs of other features are compared: the mean log loss that features of this
        kind have on public rows that they have not seen, less what answers should add.
        """
        return self._unseen_loss - self.gain

    @property
    def gain(self) -> float:
        """Expected fall of the mean log loss if everybody answers, in nats."""
        explained, _ = self._split_variance
        chances = softmax(self._alone)
        weights = 1 - (chances**2).sum(axis=1)
        return 0.5 * float(
            (weights * (self._turned**2 @ self._stand_ins.spanned(explained))).mean()
        )

    def expected_rise(self, draws: int, seed: int) -> float:
        """Expected rise of accuracy over the data user's own model: what public rows show of the
        start, shrunk by its error, and models drawn as answers would make them, with truths around
        them.
        """
        explained, after = self._split_variance
        coins, rows, y = np.random.default_rng(seed), np.arange(len(self.public.y)), self.public.y
        before = np.argmax(self._alone, axis=1)
        ahead = (before == y) * 1.0 - (np.argmax(self.own.held_out, axis=1) == y)
        lead, error = float(ahead.mean()), float(ahead.std() / np.sqrt(len(ahead)))
        rise = lead - error**2 / lead if lead > error else 0.0
        for _ in range(draws):
            steps = [
                coins.normal(size=self._theta.shape) * np.sqrt(part) for part in (explained, after)
            ]
            heard = self._alone + self._scores(steps[0])
            chance = softmax(heard + self._scores(steps[1]))
            guess = np.argmax(heard, axis=1)
            rise += float(np.mean(chance[rows, guess] - chance[rows, before])) / draws
        return rise

    @property
    def _likely_variance(self) -> float:
        """Of coefficients, once somebody has answered."""
        return _VARIANCE if self.public.classes == 2 else _OF_MANY

    def _public_precision(self, variance: float) -> FloatArray:
        """Of the coefficients along each axis before anybody has answered."""
        return np.asarray(1 / variance + self._known)

    @property
    def _split_variance(self) -> tuple[FloatArray, FloatArray]:
        """What everybody's answers would explain of each coefficient's variance, and the rest."""
        most = _FORESEEN if self.public.classes == 2 else _OF_MANY_FORESEEN
        before = self._public_precision(min(self._scale, most))
        chance = self._chance(self.population.owners)
        after = 1 / (before + self._curve**2 / (self.noise_foreseen / self._said**2 + chance))
        return 1 / before - after, after

    def _chance(self, owners: int) -> FloatArray:
        """The variance of an exact answer along each axis, owners drawn at random: that of a slope
        is its curvature. They are the same in all rounds, so their mean has no less of it.
        """
        return self._curve / (owners * self.population.rows)

    def _settle(self) -> None:
        """Every answer says which moments the best model has, with the variance of its noise and of
        what stand-ins may be wrong by where chances have changed since. The likeliest model by
        the mean of these by precision, found in a few turns.
        """
        self._scale = self._likely_variance
        before = self._public_precision(self._scale)
        others = self._stand_ins
        said = [others.moments(told.reference, told.chances) + told.slope for told in self._told]
        for _ in range(_TURNS):
            chances = others.chances(self._theta)
            weights = [1 / (told.noise + self._doubt(told, chances)) for told in self._told]
            weight = np.sum(weights, axis=0)
            moments = sum(each * moment for each, moment in zip(weights, said, strict=True))
            known = 1 / (1 / weight + self._chance(min(told.owners for told in self._told)))
            self._theta = others.likeliest(
                self._begin,
                before,
                moments / weight,
                known,
                curve=self._curve,
                first=self._theta,
            )
        self._precision = before + self._curve**2 * known

    def _doubt(self, told: Told, chances: FloatArray) -> FloatArray:
        """The variance of what stand-ins say in place of owners' rows: they are made of a sample,
        so the mean of (change of chances) x features is off by the error of a mean; curvature that
        they have not seen is a guess, off by its own size.
        """
        changed = ((chances - told.chances) ** 2).sum(axis=1) / len(self._theta)
        guess = self._axes.alike(
            ((self._stand_ins.unseen * (self._theta - told.reference)) ** 2).mean(axis=0)
        )
        return _STAND_IN * self._stand_ins.spread(changed) / len(self._phi) + guess

    def _choose_metric(self) -> None:
        """How much is said along each axis, and at which length shares are clipped: with few public
        rows, of which axes know little, all is said along all of them.
        """
        self._said, self._turned_down = np.ones(len(self._curve)), np.zeros(0, dtype=np.int64)
        self._make_up_owners()
        self._aim(self._theta, self._alone)
        if is_few(self.public):
            return
        most = _TURNED_DOWN if self.public.classes == 2 else _OF_MANY_TURNED_DOWN
        self._turned_down, parts = best_parts(
            self._curve,
            1 / self._public_precision(self._likely_variance),
            self._axes.freedom,
            self.noise_foreseen,
            min(most, self._axes.seen.shape[1]),
        )
        self._said[self._turned_down] = parts
        self._make_up_owners()
        self._aim(self._theta, self._alone)

    def _make_up_owners(self) -> None:
        """With features as they are said."""
        self._made_up = MadeUpOwners.of(self._metric.apply(self._phi), self.population.rows)

    def _aim(
        self, asked: FloatArray, expected: FloatArray, quantiles: Sequence[float] = QUANTILES
    ) -> None:
        """Ask next about these coefficients, with shares clipped at a quantile of their lengths,
        where owners' rows are like public ones and classes as likely as expected scores say.
        """
        self._asked = asked
        owners = self._made_up
        residuals = owners.residuals(softmax(self._scores(asked)), softmax(expected))
        self._clipping = best_clipping(owners.lengths(residuals), quantiles)

    def _scores(self, theta: FloatArray) -> FloatArray:
        """Of public rows under coefficients along the axes."""
        return np.asarray(self._turned @ self._stand_ins.spanned(theta).T @ self._contrasts.T)
