"""What to ask owners next: which features, about which model, how long a share may be; and what
public rows in owners' place foretell of the answer.

Everything here is chosen by predicted variances from public rows, before anybody is asked.

Noise is shared out by water-filling: with features scaled by a_j the variance of coordinate j is
kappa / a_j^2 for sum a_j^2 = 1; if its variance before is tau_j^2, the expected loss is least for
a_j^2 = (c - kappa / tau_j^2)_+. So weak features are left out, the more the noisier the answer will
be: the size of a map follows from the predicted signal to noise. Derivation: combination.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tacit._util.checks import bad, check_delta, one_of, positive
from tacit._util.types import FloatArray, IntArray
from tacit.learners.learner import ReportTerms
from tacit.learners.models.scores import contrasts, softmax
from tacit.learners.owners.gradient import longest_residuals
from tacit.mechanisms.registry import best_mechanism
from tacit.mechanisms.spaces import Ball, Space
from tacit.sums import HOW, NOBODY, TRUSTS
from tacit.sums.vector_terms import RecordTerms, VectorTerms, coordinate_variance

if TYPE_CHECKING:  # answers are foretold for a posterior
    from tacit.algorithms.posterior import Posterior

DELTA = 1e-6  # unless another is asked for

_PARTS = (0.5, 0.75, 1.0)  # of its scores that the model has when owners are asked about it
_WEAKEST = 1e-3  # features with less of a share than this part of the largest are left out
_REACHES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # quantiles of the lengths of rows
_RADII = (0.5, 0.7, 0.9, 0.97, 1.0)  # quantiles of the lengths of shares of several rows
_DRAWN, _OTHERS = 2000, 100  # made-up owners that tell these lengths, and what is beside a row
_MOST_ROWS = 10_000  # of an owner
_MOST_OWNERS = 10**15
_MADE_UP = 1 << 20  # rows of all made-up owners together: what memory has room for
# deviations beyond which a row is tilted no further: one outlier is not where owners are
_FAR = 3.0
_CACHED = 1 << 15  # numbers that are worked on at a time


@dataclass(frozen=True)
class Population:
    """What is public about those to be asked: how many, their epsilon, how many rows they are
    believed to hold, and whom they trust: nobody, or that of two servers one is honest.

    What two servers add up costs (epsilon, delta) in all rounds together; everybody is asked in
    every round. (Noise of a Gaussian then has the variance `rounds` / owners^2, where asking others
    each time has rounds^2 / owners^2; Laplace noise has the latter either way.)

    Records of sites are owners here; then `site_records` is how many one site adds up at most, and
    `site_minimum` how many sites a sum needs.
    """

    owners: int
    epsilon: float
    rows: int = 1
    trust: str = NOBODY
    delta: float = DELTA
    site_records: int = 0
    site_minimum: int = 1
    summed: bool = field(init=False, repr=False)  # whether two servers add up shares

    def __post_init__(self) -> None:
        object.__setattr__(self, "summed", one_of("trust", self.trust, TRUSTS) == HOW)
        object.__setattr__(self, "delta", check_delta(self.delta))
        if not self.owners <= _MOST_OWNERS:
            raise bad("owners", f"at most {_MOST_OWNERS:,}", self.owners)

    def cost(self, dim: int) -> float:
        """The variance of a coordinate of one report, in units of the squared radius of the
        ball.
        """
        if self.summed:
            return self.mean_variance(Ball(dim=dim), 1) * self.owners
        return _cost(dim, self.epsilon)

    def mean_variance(self, space: Space, rounds: int) -> float:
        """Of a coordinate of everybody's mean share in one of `rounds` sums."""
        return coordinate_variance(self._terms_of_one(space, rounds), self.owners)

    def sum_terms(self, space: Space, rounds: int) -> VectorTerms:
        """On what terms everybody's shares are added up in each of `rounds` rounds."""
        each = self._terms_of_one(space, rounds)
        if not self.site_records:
            return each
        return RecordTerms.at_sites(each, self.site_records, self.site_minimum)

    def _terms_of_one(self, space: Space, rounds: int) -> VectorTerms:
        return VectorTerms.of(space, self.epsilon, self.delta, answers=rounds)

    def terms(
        self, space: Space, mechanism: str, epsilon: float | FloatArray, rounds: int = 1
    ) -> ReportTerms | VectorTerms:
        """On what terms shares of this space are asked for in one of `rounds` rounds."""
        if self.summed:
            return self.sum_terms(space, rounds)
        return ReportTerms.of(mechanism, space, epsilon)


@dataclass(frozen=True, eq=False)
class RoundQuestion:
    """Features `kept`, scaled by `scale`, of the model `reference`; `weights` are those of public
    rows, `left` what clipping leaves of each row by its label, `spread` the predicted variance of a
    coordinate of one report.
    """

    kept: IntArray
    scale: FloatArray
    reference: FloatArray
    reach: float
    radius: float
    weights: FloatArray
    left: FloatArray
    spread: float


@dataclass(frozen=True, eq=False)
class AnsweredQuestion:
    """A question, its answer, and the variance of that."""

    question: RoundQuestion
    mean: FloatArray
    noise: float


@dataclass(frozen=True, eq=False)
class Forecast:
    """An answer before it is heard: what it should be, how that changes with what is unknown
    (coefficients, then the tilt), and its variance.
    """

    expected: FloatArray
    change: FloatArray
    noise: float


@dataclass(eq=False)
class StandIn:
    """Public rows in place of owners', and rows between them: features `phi` (rows, features), the
    constant one first, in which owners may have a level of their own, and those along which owners'
    rows may lie elsewhere (`tilted`). All are made of the first `known`, and say no more than they.
    """

    phi: FloatArray
    classes: int
    tilted: slice
    known: int

    def __post_init__(self) -> None:
        self._contrasts = contrasts(self.classes)
        self.features = np.hstack([self.phi, self.phi[:, :1]])
        columns = self.phi[:, self.tilted].clip(-_FAR, _FAR)
        self._columns = columns - columns.mean(axis=0)

    def chances(self, coefficients: FloatArray) -> FloatArray:
        """How likely each class is for public rows, if owners had them."""
        return softmax(self.features @ coefficients.T @ self._contrasts.T)

    def shares(self, tilt: FloatArray) -> FloatArray:
        """How much each public row counts; 1 on average."""
        raised = self._columns @ tilt
        raised = np.exp(raised - raised.max())
        return np.asarray(raised / raised.mean())

    def foretell(
        self,
        asked: RoundQuestion,
        noise: float,
        coefficients: FloatArray,
        tilt: FloatArray,
        *,
        rounds: int,
    ) -> Forecast:
        """The answer, with noise of this variance, under coefficients (classes - 1, features and a
        level of owners alone).

        The mean over public rows of what they would say if their labels had these chances, shrunk
        towards uncorrelated features: few rows tell correlations badly. What clipping makes of
        labels that are as the reference has them is part of it. To the noise of the answer comes
        that of the public rows, which vanishes as the reference comes near, if nothing is clipped.
        It is the same in all rounds, so that their mean has no less of it: each answer has `rounds`
        times as much.
        """
        features, rows = self.phi[:, asked.kept] * asked.scale, len(self.phi)
        chances, shares = self.chances(coefficients), self.shares(tilt)
        before = self.phi @ asked.reference.T @ self._contrasts.T
        expected = softmax(before)
        said = self._contrasts - (expected @ self._contrasts)[:, np.newaxis]
        said = said * (asked.weights[:, np.newaxis] * asked.left)[:, :, np.newaxis]
        at_rest, shift = (
            np.einsum("iy,iya->ia", part, said) for part in (expected, chances - expected)
        )
        told = (at_rest + shift) * shares[:, np.newaxis]
        told = (told[:, :, np.newaxis] * features[:, np.newaxis]).reshape(rows, -1)
        clipped = (shares[:, np.newaxis] * at_rest).T @ features / rows
        moved = (self.features @ coefficients.T @ self._contrasts.T - before) @ self._contrasts
        secant = float((shift * moved).sum()) / max(float((moved**2).sum()), 1e-300)
        level = asked.scale  # variances that a few rows have along their own axes are too far apart
        apart = (self._together(coefficients) - asked.reference)[:, asked.kept]
        rough = self.phi.shape[1] / (self.phi.shape[1] + self.known)
        mean = (1 - rough) * told.mean(axis=0)
        mean += rough * (clipped + secant * apart * level).ravel()
        away = self._contrasts - (chances @ self._contrasts)[:, np.newaxis]
        each = np.einsum("iy,iya,iyb->iab", chances, said, away)
        change = (1 - rough) * mean_curvature(each, shares, features, self.features)
        change += rough * np.kron(each.mean(axis=0), self._alone(asked.kept, level))
        columns = self._columns - shares @ self._columns / rows
        leaning = (1 - rough) * told.T @ columns / rows
        unsure = rounds * float(told.var(axis=0).mean()) / self.known
        return Forecast(mean, np.hstack([change, leaning]), noise + unsure)

    def _together(self, coefficients: FloatArray) -> FloatArray:
        """Coefficients of the model that owners have, (classes - 1, features)."""
        joint = coefficients[:, :-1].copy()
        joint[:, 0] += coefficients[:, -1]
        return joint

    def _alone(self, kept: IntArray, level: FloatArray) -> FloatArray:
        """(kept, all): what each feature would say if it were uncorrelated with all others."""
        out = np.zeros((len(kept), self.features.shape[1]))
        out[np.arange(len(kept)), kept] = level
        out[kept == 0, -1] = level[kept == 0]
        return out


def made_up_owners(most: int, rows: int) -> int:
    """How many owners with so many rows each are made up to see what shares look like: fewer where
    they have many, whose shares differ less.

    >>> made_up_owners(3000, 4), made_up_owners(3000, 10_000)
    (3000, 104)
    """
    check_owner_rows(rows)
    return min(most, _MADE_UP // rows)


def check_owner_rows(rows: int) -> None:
    """Refuse more rows of each owner than made-up ones have."""
    if not rows <= _MOST_ROWS:
        few = f"at most {_MOST_ROWS:,}; owners with more rows than that are sites"
        raise bad("rows_per_owner", few, rows)


def next_question(
    posterior: "Posterior", variances: FloatArray, chances: FloatArray, population: Population
) -> RoundQuestion:
    """The question for the owners that are left: `population` says how many those are,
    `variances` how little is known of each coefficient, `chances` how likely classes are for public
    rows, if owners had them.

    Features get what water-filling gives them. Owners are asked about a part of the model's scores:
    about half, labels still tell something (the least likely label, which bounds a row's length, is
    not that unlikely); about the whole, public rows need not say what to expect. Part, reach and
    radius are those of the least predicted variance, by both kinds of noise.
    """
    kept, scale = _features(chances, variances, posterior.classes - 1, population)
    drawn = _Drawn.of(chances, population.rows, posterior.owners.phi[:, kept] * scale)
    found = list[tuple[float, RoundQuestion]]()
    for part in _PARTS:
        reference = np.zeros_like(posterior.theta)
        reference[:, kept] = part * posterior.theta[:, kept]
        found += _questions(posterior, population, drawn, kept, scale, reference=reference)
    return min(found, key=lambda priced: priced[0])[1]


def _questions(
    posterior: "Posterior",
    population: Population,
    drawn: "_Drawn",
    kept: IntArray,
    scale: FloatArray,
    *,
    reference: FloatArray,
) -> Iterator[tuple[float, RoundQuestion]]:
    """Questions about one model by reach and radius, each with its predicted noise / signal^2."""
    features, matrix = drawn.features, contrasts(posterior.classes)
    chances, asked = drawn.chances, softmax(posterior.owners.phi @ reference.T @ matrix.T)
    squares, numbers = (features**2).sum(axis=1), matrix.shape[1] * len(kept)
    lengths = longest_residuals(asked) * np.sqrt(squares)
    said = matrix - (asked @ matrix)[:, np.newaxis]
    gain = (said * (matrix - (chances @ matrix)[:, np.newaxis])).sum(axis=2) * chances
    cost = population.cost(numbers)
    for reach in np.quantile(lengths, _REACHES).clip(1e-9, 1e9).tolist():
        weights = np.minimum(1.0, reach / np.maximum(lengths, 1e-300))
        for ball in drawn.balls(weights[:, np.newaxis, np.newaxis] * said, reach):
            spread = cost * ball.radius**2 + ball.square / numbers
            question = RoundQuestion(
                kept=kept,
                scale=scale,
                reference=reference,
                reach=reach,
                radius=ball.radius,
                weights=weights,
                left=ball.left,
                spread=spread,
            )
            mean = np.einsum("iy,iya->ia", chances * ball.left, said)
            unsure = float((weights**2 * squares * (mean**2).sum(axis=1)).mean())
            noise = spread / population.owners + unsure / posterior.owners.known / numbers
            signal = float((weights * squares * (gain * ball.left).sum(axis=1)).mean())
            yield noise / max(signal, 1e-300) ** 2, question


def _features(
    chances: FloatArray, variances: FloatArray, size: int, population: Population
) -> tuple[IntArray, FloatArray]:
    """Which features are asked for, and their scales: squares add up to 1."""
    variances = variances.reshape(size, -1).mean(axis=0)
    weight = max(float((1 - (chances**2).sum(axis=1)).mean()) / size, 1e-6)
    cost = population.cost(size * len(variances))
    kappa = cost * size / (weight * population.owners * population.rows)
    shares = water_filling(variances, kappa)
    shares[shares < _WEAKEST * shares.max()] = 0.0
    shares[0] = max(shares[0], _WEAKEST * shares.max())  # the intercept always stays
    kept = np.flatnonzero(shares > 0)
    return kept, np.sqrt(shares[kept] / shares[kept].sum())


def water_filling(variances: FloatArray, kappa: float) -> FloatArray:
    """a^2 with sum 1: (c - kappa / variance)_+, at least one of them above 0.

    >>> water_filling(np.array([1.0, 1.0, 0.1]), kappa=1.0).tolist()
    [0.5, 0.5, 0.0]
    """
    price = positive("kappa", kappa) / variances
    order = np.argsort(price, kind="stable")
    rising = price[order]
    size = np.arange(1, len(price) + 1)
    level = (1 + np.cumsum(rising)) / size
    count = int(np.max(np.flatnonzero(level > rising)) + 1)
    return np.asarray(np.maximum(level[count - 1] - price, 0.0))


@dataclass(frozen=True, eq=False)
class _Clipping:
    """What a ball of shares of some radius leaves of each public row by its label, (rows, classes),
    and the mean square of a share.
    """

    radius: float
    left: FloatArray
    square: float


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Made-up owners: which public rows they hold, with labels as owners would have them, by the
    chances of classes for all public rows; `features` are those of all public rows.
    """

    chances: FloatArray
    features: FloatArray
    rows: IntArray
    labels: IntArray

    @classmethod
    def of(cls, chances: FloatArray, rows: int, features: FloatArray) -> "_Drawn":
        coins, owners = np.random.default_rng(0), made_up_owners(_DRAWN, rows)
        drawn = coins.integers(0, len(chances), size=(owners, rows))
        labels = (chances[drawn].cumsum(axis=2) < coins.random((owners, rows, 1))).sum(axis=2)
        return cls(chances, features, drawn, labels.clip(max=chances.shape[1] - 1))

    @cached_property
    def _held(self) -> FloatArray:
        """Features of the rows that owners hold: many numbers, gathered once for all balls."""
        return self.features[self.rows]

    def balls(self, said: FloatArray, reach: float) -> Iterator[_Clipping]:
        """Balls of shares, if rows say `said` x `features` with each of their labels.

        A single row is never longer than its reach. Of several, a row counts by what clipping
        leaves of an owner that has it, averaged over the rows it may have beside it.
        """
        own = said[self.rows, self.labels]
        number, sizes = self.rows.shape[1], (self.features**2).sum(axis=1)
        if number == 1:
            square = float(((own**2).sum(axis=(1, 2)) * sizes[self.rows[:, 0]]).mean())
            yield _Clipping(reach, np.ones(said.shape[:2]), square)
            return
        shares = np.einsum("nra,nrj->naj", own, self._held) / number
        lengths = np.sqrt((shares**2).sum(axis=(1, 2)))
        some = slice(0, _OTHERS)
        others = np.einsum("nra,nrj->naj", own[some, 1:], self._held[some, 1:])
        across = np.einsum("iya,ina->iyn", said, np.tensordot(self.features, others, ([1], [2])))
        squares = (said**2).sum(axis=2) * sizes[:, np.newaxis]
        radii = np.quantile(lengths, _RADII).clip(1e-9, 1e9).tolist()
        left = _left_by_clipping(across, squares, (others**2).sum(axis=(1, 2)), number, radii)
        for radius, part in zip(radii, left, strict=True):
            yield _Clipping(radius, part, float((np.minimum(lengths, radius) ** 2).mean()))


def _left_by_clipping(
    across: FloatArray, squares: FloatArray, others: FloatArray, number: int, radii: list[float]
) -> FloatArray:
    """What each radius leaves of a row and label on average over others beside it: `across` are
    their products with the row, `squares` and `others` both squares. It works in place, on as much
    at a time as a core's cache holds, since the arrays are passed over thirty times.
    """
    left = np.empty((len(radii), *squares.shape))
    step = max(1, _CACHED // across[0].size)
    for some in (slice(start, start + step) for start in range(0, len(across), step)):
        together = across[some]
        together *= 2
        together += squares[some, :, np.newaxis]
        together += others
        np.maximum(together, 1e-300, out=together)
        np.sqrt(together, out=together)
        together /= number
        clipped = np.empty_like(together)
        for place, radius in enumerate(radii):
            np.divide(radius, together, out=clipped)
            np.minimum(clipped, 1.0, out=clipped)
            clipped.mean(axis=2, out=left[place, some])
    return left


@lru_cache(maxsize=1024)
def _cost(dim: int, epsilon: float) -> float:
    return float(best_mechanism(Ball(dim=dim), epsilon).risks[0]) / dim


def mean_curvature(
    each: FloatArray, weights: FloatArray, left: FloatArray, right: FloatArray
) -> FloatArray:
    """Mean over rows of weight curvature x left right^T, flat."""
    each = each * (weights / len(weights))[:, np.newaxis, np.newaxis]
    size = each.shape[1]
    out = np.empty((size, left.shape[1], size, right.shape[1]))
    for a in range(size):
        for b in range(size):
            out[a, :, b] = (left * each[:, a, b, np.newaxis]).T @ right
    return out.reshape(size * left.shape[1], -1)
