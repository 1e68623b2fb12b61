"""What is believed of a model's coefficients: public rows by their likelihood, answers by their
noise.

    theta ~ N(mean, scale_g strength), group by group;  labels of public rows ~ softmax(phi theta)
    answer = what tilted public rows foretell under theta + delta, plus noise of known variance

delta is a level that owners have of their own (labels that are wrong in one direction), small
before any evidence; the tilt is where their rows lie: public rows count by exp(tilt . columns), the
least change of a distribution that moves its mean. What answers about different models differ by
depends on where rows lie and on no label, so rounds tell it.

Found is the mode, by Gauss-Newton steps over all terms at once, with its curvature as the
precision; the scales of groups come from the evidence. Derivation: combination.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import block_diag, cho_factor, cho_solve

from tacit._util.types import BoolArray, FloatArray, IntArray
from tacit.algorithms.public_baseline import FOLDS
from tacit.algorithms.question import (
    AnsweredQuestion,
    Forecast,
    RoundQuestion,
    StandIn,
    mean_curvature,
)
from tacit.learners.models.scores import contrasts, softmax

_STEPS, _STILL, _FARTHEST = 12, 1e-3, 2.0  # of Gauss-Newton; in root mean squares of scores
_LEFT_OUT = 1 / FOLDS
_TRUST = (0.25, 1.0)  # least and most part of its precision that a fitted model keeps
_POOR = (
    2.0  # mean square of an answer's standardised residuals from which on another mode is sought
)
_LOOSE = (0.02, 30.0)  # there: part of a fitted model's precision, factor of scales
_SWING = 5.0  # nats that scales and mode in turn may lose before the likelier of them is taken
_BEYOND = 100.0  # times its guess, from which on a scale has run away
_CHANCE, _TIMES = 2.0, 3  # deviations of it that pass for chance; times that doubt may grow
_GRID = np.linspace(-9.0, 9.0, 73)  # of the logarithm of a scale around its guess


@dataclass(frozen=True, eq=False)
class PriorScale:
    """A guess of how large the coefficients in `columns` are: their variance is s times `strength`,
    log s is normal around log `guess` with deviation `spread`; spread 0: s is the guess. `late`:
    only answers tell more. `explore`: there may be nothing at all, and only questions about it
    tell, so that they count on more than its mean.
    """

    columns: slice
    strength: FloatArray
    guess: float
    spread: float
    late: bool = False
    explore: bool = False

    def weigh(self, values: FloatArray, seen: FloatArray) -> tuple[float, float]:
        """The most likely size of s, and what questions count on: its mean, or its root mean square
        where it is to be explored; over a grid weighted by the evidence.

        With likelihood exp(b^T t - t^T M t / 2) in the group's coefficients, the others integrated
        out, the evidence of s is that of N(0, s S): -1/2 log(1 + s e) + 1/2 u^2 s / (1 + s e) over
        eigenvalues e of S^1/2 M S^1/2 (`values`) and u^2 (`seen`).
        """
        grid = self.guess * np.exp(_GRID)
        variance = 1 + grid[:, np.newaxis] * values
        evidence = 0.5 * (seen * grid[:, np.newaxis] / variance - np.log(variance)).sum(axis=1)
        evidence = evidence - 0.5 * (_GRID / self.spread) ** 2
        weights = np.exp(evidence - evidence.max())
        weights = weights / weights.sum()
        power = 2 if self.explore else 1
        expected = float(weights @ grid**power) ** (1 / power)
        return float(np.exp(weights @ np.log(grid))), expected


@dataclass(eq=False)
class Posterior:
    """Mode and precision of the coefficients (classes - 1, features + a level of owners alone).

    `phi` (rows, features) are the public rows' features, the constant one and the columns (`plain`)
    first, `mean` the coefficients that are expected beforehand. Where a linear model was fitted to
    the rows already, `fitted` are its scores and what they are out of fold: in `plain` features it
    stands for what the labels say, with a precision that is calibrated by how much it changes out
    of fold. `tilt` guesses how far owners' rows lie
    elsewhere, and along which columns; `owners` are public rows in their place.
    """

    phi: FloatArray
    labels: IntArray
    classes: int
    scales: Sequence[PriorScale]
    mean: FloatArray
    plain: slice
    tilt: PriorScale
    owners: StandIn
    fitted: tuple[FloatArray, FloatArray] | None = None
    answers: list[AnsweredQuestion] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._contrasts = contrasts(self.classes)
        extra = np.zeros((len(self.phi), 1))
        self._public = np.hstack([self.phi, extra])
        self._shown = np.eye(self.classes)[self.labels]
        self._centre = np.hstack([self.mean, np.zeros((self.classes - 1, 1))])
        self._all = self._centre.copy()
        self._tilt = np.zeros(len(self.tilt.strength))
        self._found = np.array([scale.guess for scale in (*self.scales, self.tilt)])
        self._expected = self._found.copy()
        self._trust, self._doubt = 1.0, 1.0
        self._settle(4)
        self._before = self._leverage(slice(0, self.plain.stop)).trace(axis1=1, axis2=2)
        if self.fitted is not None:
            changed = float((((self.fitted[0] - self.fitted[1]) @ self._contrasts) ** 2).sum())
            predicted = _LEFT_OUT / (1 - _LEFT_OUT) * float(self._before.sum())
            self._trust = float(np.clip(predicted / max(changed, 1e-300), *_TRUST))
            self._settle(4)
            self._before = self._leverage(slice(0, self.plain.stop)).trace(axis1=1, axis2=2)

    @property
    def theta(self) -> FloatArray:
        """Coefficients of the model, (classes - 1, features)."""
        return np.ascontiguousarray(self._all[:, : self.phi.shape[1]])

    @property
    def covariance(self) -> FloatArray:
        """Of the model's coefficients, flat."""
        return self._block(self._precision)

    @property
    def open_covariance(self) -> FloatArray:
        """The same where scales are as large as is expected, not as is most likely: a group of
        which nothing is known yet is worth a question.
        """
        return self._block(self._information + np.diag(self._tightness(self._expected)))

    @property
    def owners_chances(self) -> FloatArray:
        """How likely each class is for the rows that stand in for owners'."""
        return self.owners.chances(self._all)

    @property
    def likeness(self) -> FloatArray:
        """How much each public row counts where owners' rows lie; 1 on average."""
        shares = self.owners.shares(self._tilt)[: len(self.phi)]
        return np.asarray(shares / shares.mean())

    def scores(self, theta: FloatArray) -> FloatArray:
        """Scores of public rows under coefficients (classes - 1, features)."""
        return np.asarray(self.phi @ theta.T @ self._contrasts.T)

    def take(self, answer: AnsweredQuestion) -> None:
        """The posterior after one more answer."""
        self.answers.append(answer)
        self._settle(2)
        if self.fitted is not None and self._misfit > _POOR:
            self._seek_another_mode(softmax(self.fitted[0]))
        self._doubt_answers()

    @property
    def held_out(self) -> FloatArray:
        """Scores of each public row as they would be had its label not been seen.

        One Newton step back: theta - P phi (1 - W h)^-1 r for a row with residual r, curvature W
        and leverage h = phi^T P phi. What a fitted model loses out of fold is known; the part of it
        is taken off that the row's leverage still is of what it was before owners spoke.
        """
        chances = self._chances
        rest = slice(0 if self.fitted is None else self.plain.stop, None)
        leverage = self._leverage(rest)
        back = np.eye(self.classes - 1) - curvatures(chances, self._contrasts) @ leverage
        drop = leverage @ np.linalg.solve(back, self._residuals(chances)[:, :, np.newaxis])
        scores = self.scores(self.theta) - drop[:, :, 0] @ self._contrasts.T
        if self.fitted is None:
            return scores
        now = self._leverage(slice(0, self.plain.stop)).trace(axis1=1, axis2=2)
        part = np.clip(now / np.maximum(self._before, 1e-300), 0.0, 1.0)
        return np.asarray(scores - part[:, np.newaxis] * (self.fitted[0] - self.fitted[1]))

    def _leverage(self, columns: slice) -> FloatArray:
        """phi^T P phi of each row, (rows, classes - 1, classes - 1), along some of the features."""
        size, phi = self.classes - 1, self.phi[:, columns]
        covariance = self.covariance.reshape(size, self.phi.shape[1], size, -1)
        covariance = covariance[:, columns, :, columns]
        out = np.empty((len(phi), size, size))
        for a in range(size):
            for b in range(size):
                out[:, a, b] = ((phi @ covariance[a, :, b]) * phi).sum(axis=1)
        return out

    def covariance_after(self, asked: RoundQuestion, noise: float) -> FloatArray:
        """The covariance of the model's coefficients after an answer with this noise."""
        rounds = len(self.answers) + 1
        told = self.owners.foretell(asked, noise, self._all, self._tilt, rounds=rounds)
        variance = self._doubt * told.noise
        return self._block(self._precision + told.change.T @ told.change / variance)

    @property
    def _misfit(self) -> float:
        """The largest mean square of an answer's residuals, in units of its noise."""
        return max(float((apart**2).mean()) / noise for apart, noise in self._residual_answers)

    @property
    def _residual_answers(self) -> Iterator[tuple[FloatArray, float]]:
        """What each answer is beyond what is expected, and its variance."""
        for answer in self.answers:
            told = self._foretell(answer)
            yield answer.mean - told.expected, told.noise

    def _foretell(self, answer: AnsweredQuestion) -> Forecast:
        """What an answer should have been, by what is believed now."""
        asked, rounds = answer.question, len(self.answers)
        told = self.owners.foretell(asked, answer.noise, self._all, self._tilt, rounds=rounds)
        return replace(told, noise=self._doubt * told.noise)

    def _doubt_answers(self) -> None:
        """Answers that are further from what public rows foretell than their noise allows count as
        so much noisier: rows that lie elsewhere are no measure of owners', and steps by them go
        astray, the further the surer answers seem.
        """
        for _ in range(_TIMES):
            squares = [
                (float((apart**2).mean()) / noise, len(apart))
                for apart, noise in self._residual_answers
            ]
            beyond = [square for square, n in squares if square > 1 + _CHANCE * np.sqrt(2 / n)]
            if not beyond:
                return
            self._doubt *= max(beyond)
            self._settle(2)

    def _seek_another_mode(self, said: FloatArray) -> None:
        """From where public rows hardly count and owners' rows may lie anywhere; the one of the
        larger evidence stays, by what the fitted model `said` labels are. Where rows lie and what
        labels say are easily mistaken for each other, so there are several modes.
        """
        here, evidence = (self._all, self._tilt, self._found, self._expected), self._evidence(said)
        kept = self._trust
        self._trust, self._found = _LOOSE[0], self._found.copy()
        for place, scale in enumerate((*self.scales, self.tilt)):
            if scale.late:
                self._found[place] = _LOOSE[1] * scale.guess
        self._climb()
        self._trust, self._found, self._expected = kept, here[2].copy(), here[3].copy()
        self._settle(3)
        if not self._evidence(said) > evidence:
            self._all, self._tilt, self._found, self._expected = here
            self._climb()

    def _evidence(self, labels: FloatArray) -> float:
        """The logarithm of the probability of labels (how likely each class is said to be, row by
        row) and answers around this mode, by Laplace.
        """
        likely = np.log(np.maximum(self._chances, 1e-300))
        tightness = self._tightness(self._found)
        value = self._trust * float((labels * likely).sum())
        for apart, noise in self._residual_answers:
            value -= 0.5 * float((apart**2).sum()) / noise + 0.5 * len(apart) * np.log(noise)
        value -= 0.5 * float((tightness * self._apart**2).sum())
        value += 0.5 * float(np.log(tightness).sum() - np.linalg.slogdet(self._precision)[1])
        for scale, size in zip((*self.scales, self.tilt), self._found, strict=True):
            if scale.spread > 0:
                value -= 0.5 * float(np.log(size / scale.guess) / scale.spread) ** 2
        return value

    def _settle(self, times: int) -> None:
        """Mode and scales in turn. They need not come to rest: scales may swing between nothing and
        far too much, so that after answers an end that is much less likely than what was passed
        gives way to it. Where a fitted model stands for labels, only if a scale has run away:
        answers that speak against that model make labels less likely, too, and are right.
        """
        passed = list[tuple[float, tuple[FloatArray, ...]]]()
        for _ in range(times):
            self._climb()
            if self.answers:
                here = (self._all, self._tilt, self._found, self._expected)
                passed.append((self._evidence(self._shown), here))
            self._found, self._expected = self._found.copy(), self._expected.copy()
            self._weigh_scales()
        self._climb()
        if not passed:
            return
        likeliest, there = max(passed, key=lambda each: each[0])
        lost = likeliest - self._evidence(self._shown)
        if lost > _SWING and (self.fitted is None or self._ran_away):
            self._all, self._tilt, self._found, self._expected = there
            self._climb()

    @property
    def _ran_away(self) -> bool:
        """Whether a scale is far beyond its guess."""
        return any(
            found > _BEYOND * scale.guess
            for scale, found in zip((*self.scales, self.tilt), self._found, strict=True)
        )

    def _climb(self) -> None:
        """Gauss-Newton steps to the mode of prior, labels and answers."""
        tightness = self._tightness(self._found)
        for _ in range(_STEPS):
            self._slope, self._information = self._likelihood()
            self._precision = self._information + np.diag(tightness)
            step = cho_solve(cho_factor(self._precision), self._slope - tightness * self._apart)
            tilt, step = step[self._all.size :], step[: self._all.size].reshape(self._all.shape)
            move = float(np.sqrt(((self.owners.features @ step.T) ** 2).sum(axis=1).mean()))
            move = max(move, float(np.sqrt((tilt**2).sum())))
            part = min(1.0, _FARTHEST / max(move, 1e-300))
            self._all, self._tilt = self._all + part * step, self._tilt + part * tilt
            if move < _STILL:
                return

    def _likelihood(self) -> tuple[FloatArray, FloatArray]:
        """Slope and information of labels and answers in coefficients and tilt, flat."""
        chances, rows = self._chances, self._public.copy()
        rows[:, self.plain] *= np.sqrt(self._trust)
        each, sides = curvatures(chances, self._contrasts), len(self._tilt)
        labels = mean_curvature(each, np.full(len(rows), float(len(rows))), rows, rows)
        information = block_diag(labels, np.zeros((sides, sides)))
        slope = np.concatenate([self._pull(chances).ravel(), np.zeros(sides)])
        for answer in self.answers:
            told = self._foretell(answer)
            slope += told.change.T @ (answer.mean - told.expected) / told.noise
            information += told.change.T @ told.change / told.noise
        return slope, information

    @property
    def _apart(self) -> FloatArray:
        """All that is believed less what was expected beforehand, flat."""
        return np.concatenate([(self._all - self._centre).ravel(), self._tilt])

    def _pull(self, chances: FloatArray) -> FloatArray:
        """The gradient of the public rows' log likelihood."""
        slope = self._residuals(chances).T @ self._public
        if self.fitted is not None:
            apart = (softmax(self.fitted[0]) - chances) @ self._contrasts
            slope[:, self.plain] = self._trust * apart.T @ self._public[:, self.plain]
        return np.asarray(slope)

    def _weigh_scales(self) -> None:
        """The scale of each group in turn: its average over a grid, weighted by the evidence."""
        flat = self._information @ self._apart + self._slope
        for place, scale in enumerate((*self.scales, self.tilt)):
            if scale.spread == 0 or (scale.late and not self.answers):
                continue
            inside = self._inside(place)
            strength = np.tile(scale.strength, inside.sum() // len(scale.strength))
            values, seen = self._group(flat, inside, np.sqrt(strength))
            self._found[place], self._expected[place] = scale.weigh(values, seen)

    def _inside(self, place: int) -> BoolArray:
        """Which of all unknowns, flat, a scale is about; the last one is the tilt's."""
        coefficients, last = np.zeros(self._all.shape, np.bool_), place == len(self.scales)
        if not last:
            coefficients[:, self.scales[place].columns] = True
        return np.concatenate([coefficients.ravel(), np.full(len(self._tilt), last)])

    def _group(
        self, flat: FloatArray, group: BoolArray, root: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues e and u^2 of a group, the others integrated out."""
        inside, outside = np.flatnonzero(group), np.flatnonzero(~group)
        rest = self._information + np.diag(self._tightness(self._found))
        across = rest[np.ix_(outside, inside)]
        factor = cho_factor(rest[np.ix_(outside, outside)])
        solved = cho_solve(factor, np.column_stack([across, flat[outside]]))
        reduced = self._information[np.ix_(inside, inside)] - across.T @ solved[:, :-1]
        told = flat[inside] - across.T @ solved[:, -1]
        values, vectors = np.linalg.eigh(reduced * np.outer(root, root))
        return np.maximum(values, 0.0), (vectors.T @ (root * told)) ** 2

    def _tightness(self, found: FloatArray) -> FloatArray:
        """Precision of the prior, flat."""
        out = np.empty(self._all.shape[1])
        for scale, size in zip(self.scales, found[:-1], strict=True):
            out[scale.columns] = 1 / (size * scale.strength)
        tilt = 1 / (found[-1] * self.tilt.strength)
        return np.concatenate([np.tile(out, self.classes - 1), tilt])

    def _block(self, precision: FloatArray) -> FloatArray:
        """The covariance of the model's own coefficients for a precision of all."""
        size, features = self.classes - 1, self.phi.shape[1]
        whole = cho_solve(cho_factor(precision), np.eye(len(precision)))
        whole = whole[: self._all.size, : self._all.size]
        blocks = whole.reshape(size, self._all.shape[1], size, -1)[:, :features, :, :features]
        return np.ascontiguousarray(blocks).reshape(size * features, -1)

    @property
    def _chances(self) -> FloatArray:
        """How likely each class is for public rows."""
        return softmax(self.scores(self.theta))

    def _residuals(self, chances: FloatArray) -> FloatArray:
        """C^T (e_y - chances) of public rows."""
        return np.asarray((self._shown - chances) @ self._contrasts)


def curvatures(chances: FloatArray, matrix: FloatArray) -> FloatArray:
    """C^T (diag p - p p^T) C of each row, (rows, classes - 1, classes - 1)."""
    first = chances @ matrix
    second = np.einsum("ik,ka,kb->iab", chances, matrix, matrix)
    return np.asarray(second - first[:, :, np.newaxis] * first[:, np.newaxis])
