"""Asks a site for a linear model of its own rows, trained so that no single record shows (paper C).

    rows   = the site's records through the public projection
    J(f)   = sum of losses + ridge/2 |f|^2 + tilt . f     objective: the tilt is noise; output: 0
    report = round(argmin J / step) + noise               whole numbers, cut to a public range

Claim: pure epsilon-DP for one record replaced, added or removed, whatever the question. Proof:
site.md. Variance: of the tilt 2 tilt_size^2 per coordinate, of the noise 2 noise_size^2
(`Perturbation`), before J bends them. Edges: no rows, one class, constant columns, fewer rows than
columns: J has one minimum all the same, reached in a number of steps that is known before.
Questions whose epsilon, ridge or h leave no room for that are refused before rows are touched.
"""

from dataclasses import dataclass, replace
from math import expm1, log1p
from typing import ClassVar

import numpy as np

from tacit._util.checks import bad, check_rising, positive
from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.data.cohort import Cohort
from tacit.data.number_target import LEVELS
from tacit.learners.query import CALL, Cost, Estimates, Query, table, write_bound
from tacit.learners.sites.descent import Tiles, descend
from tacit.learners.sites.losses import Loss, minimise
from tacit.learners.sites.perturbation import (
    Perturbation,
    objective,
    output,
    usual_ridge,
)
from tacit.learners.sites.projection import Projection
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import Stream, rational
from tacit.sums.secure_sum import two_sided_geometric
from tacit.wire import message

_FLOATS = "noise and minimum are floating point without a bound on what rounding shows"
# paper C's rule by the strong convexity that it counts on, in units of its Lambda
_PUBLISHED = {"published": 2, "published, Lambda": 1}
PRIVACY = ("objective", "output", "none", *_PUBLISHED)
_UNSOUND = {"none": "models leave as they are", **dict.fromkeys(_PUBLISHED, _FLOATS)}
_NEAR = 2.0**-14  # of the gradient's length where a simulation stops
_BARE = Perturbation(1.0, 0.0, 0, 2.0**-30, 0)


@message("site")
@dataclass(frozen=True, eq=False)
class TrainSite(Query):
    """`labels` is the number of classes of the schema, or 0 where targets are numbers in `LEVELS`
    steps.

    `ridge` None takes `easing` times the usual one, which depends on the epsilon that a site
    chooses. More than two classes are told apart one against the rest, in one report: each vector
    gets an equal part of epsilon.
    """

    unit: ClassVar[str] = "record"
    adjacency: ClassVar[str] = "one record of a site replaced, added or removed"

    projection: Projection
    loss: Loss
    labels: int
    privacy: str
    menu: tuple[float, ...]
    ridge: float | None = None
    easing: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.privacy not in PRIVACY:
            raise bad("privacy", f"one of {PRIVACY}", self.privacy)
        if not (self.labels == 0 if self.loss.of_numbers else self.labels >= 2):
            raise bad(
                "loss", "one for numbers where targets are numbers, else one for classes", self.loss
            )
        positive("easing", self.easing)
        positive("epsilons", check_rising("epsilons", self.menu)[-1])

    @property
    def what(self) -> str:
        return "site"

    @property
    def how(self) -> str:
        return self.privacy

    @property
    def how_in_words(self) -> str:
        return self.privacy if self.unsound else f"{self.privacy} perturbation"

    @property
    def dim(self) -> int:
        return len(self.projection.centre)

    @property
    def classes(self) -> int:
        return self.labels

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self.menu

    @property
    def unsound(self) -> str:
        return _UNSOUND.get(self.privacy, "")

    @property
    def vectors(self) -> int:
        """Linear models in one report."""
        return self.labels if self.labels > 2 else 1

    @property
    def width(self) -> int:
        return self.vectors * self.projection.dim

    def plan(self, epsilon: float) -> Perturbation:
        """Ridge and noise of a site that chose this epsilon: public, and the same whatever its
        rows are.
        """
        positive("epsilon", epsilon)
        dim, loss, l1_bound = self.projection.dim, self.loss, self.projection.l1_bound
        each = rational(epsilon) / self.vectors
        if self.privacy == "objective":
            ridge = self.ridge or self.easing * usual_ridge(float(each), dim, loss.slope, l1_bound)
            return objective(each, dim, loss, l1_bound, ridge)
        if self.privacy == "output":
            ridge = self.ridge or self.easing * usual_ridge(float(each), dim, loss.slope, dim**0.5)
            return output(each, dim, loss, ridge)
        ridge = positive("ridge", self.ridge or _BARE.ridge)
        if self.privacy in _PUBLISHED:
            convexity = ridge * _PUBLISHED[self.privacy] / 2
            return perturb_as_published(float(each), loss.curvature, ridge, convexity)
        return replace(_BARE, ridge=ridge)

    def check_plans(self) -> None:
        """`ValueError` where epsilon, ridge or h leave no room, for who asks: what the ends of the
        menu allow, all between them do. Whoever only reads a question does not pay for fractions; a
        gate meets them in `cost`.
        """
        for epsilon in {self.menu[0], self.menu[-1]}:
            self.plan(epsilon)

    def trust(self, epsilon: float) -> float:
        """The weight of a model in a mean of noisy sums of slopes: ridge over the noise's
        variance.
        """
        plan = self.plan(epsilon)
        noise = plan.tilt_size**2 + (plan.ridge * plan.noise_size) ** 2
        return plan.ridge / noise if noise > 0 else 1.0

    def cost(self, rows: int) -> Cost:
        """The projection of every row, then the steps that the descent counts for so many rows,
        of the epsilon that needs most, for each vector.
        """
        dim, count = self.projection.dim, rows * self.projection.directions.size
        projecting = Cost(count) + table(rows, 2 * self.dim + 4 * dim, passes=4)
        steps = max(self._steps(self.plan(epsilon), rows) for epsilon in self.menu)
        step = 4 * dim + rows * (2 + dim // 2)
        noise = table(self.width, 1, passes=40 * CALL)
        return projecting + Cost(self.vectors * steps * step) + noise

    @staticmethod
    def _steps(plan: Perturbation, rows: int) -> int:
        return 0 if plan.descent is None else plan.descent.steps(min(rows, plan.rows))

    def blank(self, n: int) -> Reports:
        return Reports.of(np.zeros((n, self.width), dtype=np.int64))

    def release(self, cohort: Cohort, epsilon: float | FloatArray, stream: Stream) -> Reports:
        reports = self.blank(len(cohort))
        each = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), len(cohort))
        for level in np.unique(each).tolist():
            sites = np.flatnonzero(each == level)
            own = (
                cohort if len(sites) == len(cohort) else cohort[sites]
            )  # the same rows, not a copy of them
            reports.points[sites] = self._train(own, self.plan(level), stream.of(sites))
        return reports

    def valid(self, reports: Reports, epsilon: float | FloatArray) -> BoolArray:
        each = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), len(reports))
        levels, place = np.unique(each, return_inverse=True)
        limits = np.array([self.plan(level).limit for level in levels.tolist()], dtype=np.int64)
        limits = limits[place]
        low, high = reports.points.min(axis=1), reports.points.max(axis=1)
        return np.asarray((-limits <= low) & (high <= limits))

    @property
    def influence(self) -> str:
        longest = max(self.longest(epsilon) for epsilon in (self.menu[0], self.menu[-1]))
        return (
            f"one report, true or not, is read as models of length {write_bound(longest)} at most, "
            f"and moves the mean of n of them by at most {write_bound(2 * longest)} / n"
        )

    def longest(self, epsilon: float) -> float:
        """The longest vector that a report can be taken for."""
        plan = self.plan(epsilon)
        return float(plan.limit * plan.step * self.width**0.5)

    def collect(self, reports: Reports, epsilon: float | FloatArray) -> Estimates:
        each = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), len(reports)).copy()
        levels, place = np.unique(each, return_inverse=True)
        steps = np.array([self.plan(level).step for level in levels.tolist()])
        return Estimates(reports.points * steps[place, np.newaxis], each)

    def answer(self, collected: Estimates) -> Estimates:
        return collected

    def rehearse(self, rows: Cohort, epsilon: float, stream: Stream) -> FloatArray:
        """Models (sites, vectors, dim) as sites with these public rows would release them, up to
        what is far below their noise: the minimum is found by Newton's method, in a tenth of the
        time, and nothing is proven of it.
        """
        plan = replace(self.plan(epsilon), descent=None)
        models = self._train(rows, plan, stream) * plan.step
        return np.asarray(models.reshape(len(rows), self.vectors, self.projection.dim))

    def _train(self, sites: Cohort, plan: Perturbation, stream: Stream) -> IntArray:
        """Points (sites, width); a site's are a function of its rows and its tape."""
        count, shape = len(sites), (len(sites), self.vectors, self.projection.dim)
        tilts = (
            _round_noise(shape, plan.tilt_size, stream)
            if self.privacy in _PUBLISHED
            else _noise(count, self.width, plan.tilt_scale, stream.child("tilt")).reshape(shape)
            * plan.tilt_step
        )
        centres = np.empty(shape)
        for site in range(count):
            first, last = sites.offsets[site : site + 2].tolist()
            own = slice(first, min(last, first + plan.rows))
            centres[site] = self._minima(sites.X[own], sites.y[own], plan, tilts[site])
        limit, steps = plan.limit, centres.reshape(count, -1) / plan.step
        exact = np.rint(np.clip(steps, -limit, limit)).astype(np.int64)
        noise = _noise(count, self.width, plan.noise_scale, stream.child("noise"))
        return np.clip(exact + np.clip(noise, -2 * limit, 2 * limit), -limit, limit)

    def _minima(
        self, X: FloatArray, y: IntArray, plan: Perturbation, tilts: FloatArray
    ) -> FloatArray:
        """A minimum (vectors, dim) for each tilt."""
        rows = self.projection.see(X)
        targets = [targets_of(y, self.labels, vector) for vector in range(self.vectors)]
        if plan.descent is None:
            found = [
                minimise(rows, told, self.loss, plan.ridge, tilt, tolerance=_NEAR)
                for told, tilt in zip(targets, tilts, strict=True)
            ]
            return np.array(found)
        tiles, none = Tiles.of(rows), Tiles.of(rows[:0])
        minima = np.empty_like(tilts)
        for vector, tilt in enumerate(tilts):
            # beyond its tail, the tilt alone decides, whatever the rows: see site.md
            within = float(np.sqrt(tilt @ tilt)) <= plan.descent.tilt
            used, told = (tiles, targets[vector]) if within else (none, np.zeros(0))
            minima[vector] = descend(used, told, self.loss, tilt, plan.descent)
        return minima


def targets_of(y: IntArray, classes: int, vector: int) -> FloatArray:
    """What a linear model is to say of rows: -1 or +1, or a number in [-1, 1].

    >>> targets_of(np.array([0, 2, 1]), classes=3, vector=2)
    array([-1.,  1., -1.])
    """
    if classes == 0:
        return np.asarray(2.0 * y / LEVELS - 1.0)
    return np.where(y == (vector if classes > 2 else 1), 1.0, -1.0)


def perturb_as_published(
    epsilon: float, curvature: float, ridge: float, convexity: float
) -> Perturbation:
    """The rule of Chaudhuri, Monteleoni and Sarwate (2011) as paper C takes it; noise in floating
    point, a simulation.

    The regulariser Lambda |f|^2 over all n rows is ridge/2 |f|^2, whose strong convexity is the
    ridge, 2 n Lambda. Read with Lambda alone, as the rule's own text has it for |f|^2 / 2, half of
    the `convexity` is not counted.
    """
    left = epsilon - 2 * log1p(curvature / convexity)
    if left <= 0:
        left, ridge = epsilon / 2, ridge + max(0.0, curvature / expm1(epsilon / 4) - convexity)
    return Perturbation(ridge, 2 / left, 1, 2.0**-30, 0)


def _noise(sites: int, width: int, scale: int, stream: Stream) -> IntArray:
    """Discrete Laplace noise (sites, width); site i reads its own tapes, one per coordinate."""
    if scale == 0:
        return np.zeros((sites, width), dtype=np.int64)
    columns = [two_sided_geometric(sites, scale, stream.child(place)) for place in range(width)]
    return np.stack(columns, axis=1)


def _round_noise(shape: tuple[int, int, int], size: float, stream: Stream) -> FloatArray:
    """Vectors with density falling as e^(-length / size): a uniform direction, a Gamma length.
    Floating point.
    """
    tilts = np.zeros(shape)
    for site, words in enumerate(stream.child("published").words(np.arange(shape[0]), 0, 4)):
        rng = np.random.default_rng(words.tolist())
        direction = rng.normal(size=shape[1:])
        length = rng.gamma(shape[2], size, size=(shape[1], 1))
        tilts[site] = direction / np.linalg.norm(direction, axis=1, keepdims=True) * length
    return tilts
