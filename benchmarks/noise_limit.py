"""How much of a gap noise alone explains: what an oracle makes of one sum of two servers.

    python -m benchmarks.noise_limit --task "fashion 0 or 6" --public 1000

The oracle knows the best model of all owners' rows in the features that owners are asked about,
and its exact curvature c_j along every axis of that. It hears c_j times how far the best model is
from the start, in the noise that answers have at this epsilon (and of owners as a sample), and
believes it by a prior variance of coefficients: the best of several, or along every axis the
square of what there is to find, which nobody can know. What the method itself reaches with the
same noise is printed beside it. Where all are alike the rest of the way to all rows in one place
is closed by less noise, or by features that say the same along fewer axes. Two classes.
"""

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tacit._util.types import FloatArray
from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.algorithms.summed_gradients import SummedGradients
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.learners.models.scores import contrasts
from tacit.mechanisms.streams import seeded
from tacit.sums import HOW
from tacit_papers.ours.tasks import Task, task_of

_VARIANCES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_RIDGE = 2e-5  # of the best model, around the start: of mean log loss
_STEPS = 200
_BLOCK = 4_000  # rows mapped at once


@dataclass(frozen=True, eq=False)
class Rows:
    """Features of owners' rows and of test rows, with labels."""

    phi: FloatArray | NDArray[np.float32]
    labels: FloatArray
    test_phi: FloatArray
    test_labels: FloatArray

    def accuracies(self, theta: FloatArray) -> tuple[float, float]:
        """In percent, on test rows and on owners' own."""
        pairs = (self.test_phi, self.test_labels), (self.phi, self.labels)
        test, own = (100 * float(np.mean((phi @ theta > 0) == y)) for phi, y in pairs)
        return test, own


def best_model(rows: Rows, start: FloatArray, step: float) -> FloatArray:
    """The likeliest coefficients of all rows near the start; a score is `step` phi . theta."""
    sign = 2 * rows.labels - 1

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        margin = step * sign * (rows.phi @ theta)
        slope = -step * sign / (1 + np.exp(margin)) / len(sign)
        away = theta - start
        value = float(np.logaddexp(0, -margin).mean()) + 0.5 * _RIDGE * float(away @ away)
        return value, rows.phi.T @ slope + _RIDGE * away

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return np.asarray(found.x)


def curvature(rows: Rows, theta: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """Curvature of the mean log loss along its own axes, and the axes."""
    chance = 1 / (1 + np.exp(-step * (rows.phi @ theta)))
    bent = rows.phi * (step * np.sqrt(chance * (1 - chance) / len(chance)))[:, np.newaxis]
    values, axes = np.linalg.eigh(bent.T @ bent)
    return np.maximum(values, 1e-12), axes


def tell(task: Task, public_rows: int, epsilon: float, run: int, draws: int) -> None:
    """Print a line for the start, the oracles, the method, and all rows."""
    cohort, public = task.cohort(run), task.public(public_rows, run)
    own, crowd = fit_public(public), Population(task.owners, epsilon, task.rows, HOW)
    look = look_ahead(public, own, crowd)
    belief = look.combination
    if not (isinstance(belief, SummedGradients) and public.classes == 2):
        raise SystemExit("two classes, and owners who trust two servers")
    rows = Rows(
        features_of(belief, cohort),
        cohort.y.astype(float),
        belief.map.transform(task.split.X_test),
        task.split.y_test.astype(float),
    )
    between = contrasts(2)[1, 0] - contrasts(2)[0, 0]
    start = np.sign(between) * (belief.learner.weights @ contrasts(2)[:, 0])
    step = float(abs(between))
    best = best_model(rows, start, step)
    bent, axes = curvature(rows, best, step)
    to_find, noise = axes.T @ (best - start), belief.noise_foreseen + bent / len(cohort.y)
    told = bent**2 / noise

    def hear(variance: FloatArray | float) -> tuple[float, float]:
        """Mean accuracies of the oracle that believes what it hears by this prior."""
        seen = []
        for draw in range(draws):
            coins = np.random.default_rng([run, draw])
            heard = to_find + coins.normal(size=len(bent)) / np.sqrt(told)
            seen.append(rows.accuracies(start + axes @ (told / (told + 1 / variance) * heard)))
        test, mine = np.mean(seen, axis=0)
        return float(test), float(mine)

    oracle = max((hear(variance) for variance in _VARIANCES), key=lambda pair: pair[1])
    reached = Inline(cohort, epsilon, seeded(run)).run(
        refine(public, crowd, "auto", epsilon, own=own, outlook=look)
    )
    mine = [
        100 * float(np.mean(reached.model.predict(X) == y))
        for X, y in ((task.split.X_test, task.split.y_test), (cohort.X, cohort.y))
    ]
    for name, (test, on_owners) in {
        "start": rows.accuracies(start),
        "oracle, best variance": oracle,
        "oracle, right variance of every axis": hear(np.maximum(to_find**2, 1e-12)),
        "the method": (mine[0], mine[1]),
        "all rows in one place": rows.accuracies(best),
    }.items():
        print(f"{name:38s} {test:6.2f} {on_owners:6.2f}", flush=True)
    gains = np.cumsum((bent * to_find**2)[::-1])  # axes from the steepest on
    loud = int(np.count_nonzero(told * to_find**2 > 1))
    print(f"axes on which what there is to find is louder than noise: {loud} of {len(bent)}")
    print(
        f"part of what is to be gained on as many steepest axes: {gains[loud - 1] / gains[-1]:.2f}"
    )


def features_of(belief: SummedGradients, cohort: Cohort) -> NDArray[np.float32]:
    """Of all owners' rows, in single precision: they are many."""
    out = np.empty((len(cohort.y), belief.map.dim), dtype=np.float32)
    for first in range(0, len(out), _BLOCK):
        out[first : first + _BLOCK] = belief.map.transform(cohort.X[first : first + _BLOCK])
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="fashion 0 or 6")
    parser.add_argument("--public", type=int, default=1000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--run", type=int, default=0)
    parser.add_argument("--draws", type=int, default=6)
    given = parser.parse_args()
    print(f"{'accuracy in percent':38s}   test owners'")
    tell(task_of(given.task), given.public, given.epsilon, given.run, given.draws)


if __name__ == "__main__":
    main()
