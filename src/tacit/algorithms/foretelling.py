"""What public rows foretell of an answer: the mean share of owners, if their rows were like these.

Owners' rows may lie elsewhere. So public rows count by exp(tilt . columns), the least change of a
distribution that moves its mean, and the tilt is one of the unknowns: what answers about different
models differ by depends on where rows lie and on no label, so rounds tell it. Derivation:
combination.md.
"""

from dataclasses import dataclass

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.learners.models.scores import contrasts, softmax

_FAR = (
    3.0  # deviations beyond which a row is tilted no further: one outlier is not where owners are
)


@dataclass(frozen=True, eq=False)
class Heard:
    """An answer, and what it takes to say what it would have been under another model.

    It was asked with features `kept`, scaled by `scale`, about the model `reference` (classes - 1,
    features); public rows would have counted by `weights`, and clipping owners' shares leaves the
    parts `left` of what a row says with each of its labels, (rows, classes).
    """

    kept: IntArray
    scale: FloatArray
    reference: FloatArray
    weights: FloatArray
    left: FloatArray
    mean: FloatArray
    noise: float


@dataclass(frozen=True, eq=False)
class Foretold:
    """An answer before it is heard: what it should be, how that changes with what is unknown
    (coefficients, then the tilt), and its variance.
    """

    expected: FloatArray
    change: FloatArray
    noise: float


@dataclass(eq=False)
class StandIn:
    """Public rows in place of owners': features `phi` (rows, features), the constant one first, in
    which owners may have a level of their own, and those along which owners' rows may lie elsewhere
    (`tilted`).
    """

    phi: FloatArray
    classes: int
    tilted: slice

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
        self, asked: Heard, coefficients: FloatArray, tilt: FloatArray, rounds: int
    ) -> Foretold:
        """The answer under coefficients (classes - 1, features and a level of owners alone).

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
        level = (features**2).mean(axis=0) / asked.scale
        apart = (self._together(coefficients) - asked.reference)[:, asked.kept]
        rough = self.phi.shape[1] / (self.phi.shape[1] + rows)
        mean = (1 - rough) * told.mean(axis=0)
        mean += rough * (clipped + secant * apart * level).ravel()
        away = self._contrasts - (chances @ self._contrasts)[:, np.newaxis]
        each = np.einsum("iy,iya,iyb->iab", chances, said, away)
        change = (1 - rough) * mean_curvature(each, shares, features, self.features)
        change += rough * np.kron(each.mean(axis=0), self._alone(asked.kept, level))
        columns = self._columns - shares @ self._columns / rows
        leaning = (1 - rough) * told.T @ columns / rows
        unsure = rounds * float(told.var(axis=0).mean()) / rows
        return Foretold(mean, np.hstack([change, leaning]), asked.noise + unsure)

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


def curvatures(chances: FloatArray, matrix: FloatArray) -> FloatArray:
    """C^T (diag p - p p^T) C of each row, (rows, classes - 1, classes - 1)."""
    first = chances @ matrix
    second = np.einsum("ik,ka,kb->iab", chances, matrix, matrix)
    return np.asarray(second - first[:, :, np.newaxis] * first[:, np.newaxis])


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
