"""Sites against hostile questions: one record added or removed, and nothing may show but noise.

Half of the questions are drawn from everything that a site admits, with a leaning to its edges;
half are changed copies of the question that came closest to failing so far. Each is tried with the
same tilt on records D and on D with one more. The judge shares no code with the training: it
computes gradients in extended precision.

    python -m reliability.sites --questions 100000
"""

import argparse
import sys
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from rich.console import Console

from reliability.finding import Finding, show
from tacit._util.types import FloatArray, IntArray
from tacit.audit.questions import gradient_length
from tacit.data.number_target import LEVELS
from tacit.learners.sites.losses import Huber, HuberHinge, LogisticLoss, Loss
from tacit.learners.sites.perturbation import Perturbation
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import TrainSite, targets_of

_TILTS = (0.0, 1.0, 1.0, 10.0, 60.0)  # scales
_ROWS = (0, 1, 2, 3, 7, 8, 9, 40, 150)
_DIMS = (1, 2, 3, 8, 20)
_STRETCH = 2.0**9  # of a direction: entries stay admissible


@dataclass(frozen=True)
class Attack:
    """A question and the records it is asked of, by their seed: logarithms to the base 2."""

    seed: int
    loss: int
    log_h: float
    log_ridge: float
    log_epsilon: float
    dim: int
    rows: int
    shape: int  # of the records
    tilt: float
    output: bool

    def query(self) -> TrainSite:
        """Raises ValueError where a site does not admit it."""
        rng = np.random.default_rng(self.seed)
        loss: Loss = (HuberHinge(2.0**self.log_h), LogisticLoss(), Huber(2.0**self.log_h))[
            self.loss
        ]
        directions = rng.normal(size=(self.dim, self.dim)) * 2.0 ** rng.uniform(-9, 9, self.dim)
        if self.shape == 1:  # rows cancel but for the last bits
            directions[:] = _STRETCH * directions[0] / np.abs(directions[0]).max()
        girth = 1.0 if self.seed % 2 else sqrt(self.dim)
        projection = Projection(rng.normal(size=self.dim), directions, girth, 0.5 * (self.seed % 3))
        privacy = "output" if self.output else "objective"
        return TrainSite(
            1,
            1,
            None,
            projection=projection,
            loss=loss,
            labels=0 if loss.of_numbers else 2,
            privacy=privacy,
            menu=(2.0**self.log_epsilon,),
            ridge=2.0**self.log_ridge,
        )

    def records(self, of_numbers: bool) -> tuple[FloatArray, IntArray]:
        """D and one more, the last."""
        rng = np.random.default_rng(self.seed + 1)
        X = rng.uniform(-1, 1, (self.rows + 1, self.dim))
        if self.shape == 2:
            X[:] = X[0]
        elif self.shape == 3:
            X = np.sign(X)
        elif self.shape == 4:
            X *= 10.0 ** rng.uniform(-200, 0, (len(X), 1))
        elif self.shape == 5:
            X[rng.random(X.shape) < 0.2] = np.nan
        share = rng.choice([0.0, 0.5, 1.0])
        y = (rng.random(len(X)) < share).astype(np.int64)
        return X, y * LEVELS if of_numbers else y


def draw(rng: np.random.Generator) -> Attack:
    return Attack(
        seed=int(rng.integers(1 << 40)),
        loss=int(rng.integers(3)),
        log_h=float(rng.choice([-10.0, 10.0, rng.uniform(-10, 10)])),
        log_ridge=float(rng.choice([-40.0, rng.uniform(-20, 40)])),
        log_epsilon=float(rng.uniform(-13, 6.6)),
        dim=int(rng.choice(_DIMS)),
        rows=int(rng.choice(_ROWS)),
        shape=int(rng.integers(6)),
        tilt=float(rng.choice(_TILTS)),
        output=bool(rng.random() < 0.5),
    )


def change(attack: Attack, rng: np.random.Generator) -> Attack:
    """Some places exchanged for those of another."""
    other = draw(rng)
    names = rng.choice(list(Attack.__dataclass_fields__), size=int(rng.integers(1, 4)))
    return replace(attack, **{name: getattr(other, name) for name in names})


@dataclass
class Verdict:
    """What one attack showed; `strain` is how much of the tolerance was needed."""

    rows_changed: bool
    uncertified: bool
    false_zero: bool
    too_far: bool
    strain: float


def judge(query: TrainSite, attack: Attack, rng: np.random.Generator) -> Verdict:
    plan: Perturbation = query.plan(query.menu[0])
    X, y = attack.records(query.loss.of_numbers)
    tilt = rng.laplace(size=query.projection.dim) * attack.tilt * plan.tilt_size
    longest = 0.0 if plan.descent is None else plan.descent.tilt  # beyond, rows play no part
    tilt *= min(1.0, 0.999 * longest / max(float(np.linalg.norm(tilt)), 1e-300))
    seen = [query.projection.see(X[:-1]), query.projection.see(X)]
    found = [
        query._minima(X[:-1], y[:-1], plan, tilt[np.newaxis])[0],
        query._minima(X, y, plan, tilt[np.newaxis])[0],
    ]
    lengths = [
        gradient_length(
            rows,
            targets_of(y[: len(rows)], query.labels, 0),
            query.loss,
            ridge=plan.ridge,
            tilt=tilt,
            f=f,
        )
        for rows, f in zip(seen, found, strict=True)
    ]
    uncertified = [not length <= plan.tolerance for length in lengths]
    apart = float(np.linalg.norm(found[0] - found[1])) * plan.ridge
    return Verdict(
        rows_changed=seen[1][:-1].tobytes() != seen[0].tobytes(),
        uncertified=any(uncertified),
        false_zero=any(bad and not f.any() for bad, f in zip(uncertified, found, strict=True)),
        too_far=not apart <= 2 * query.loss.slope + 2 * plan.tolerance,
        strain=max(lengths) / plan.tolerance,
    )


def sites(questions: int, seed: int = 1) -> Finding:
    """So many admissible questions."""
    rng = np.random.default_rng(seed)
    faults = {
        "rows that another record changed": 0,
        "minima that cannot be certified": 0,
        "zeros that are no minimum": 0,
        "models that one record moved too far": 0,
    }
    worst, strain, tried, refused = draw(rng), 0.0, 0, 0
    while tried < questions:
        attack = draw(rng) if rng.random() < 0.5 else change(worst, rng)
        try:
            query = attack.query()
        except ValueError:
            refused += 1
            continue
        tried += 1
        verdict = judge(query, attack, rng)
        if verdict.strain > strain:
            worst, strain = attack, verdict.strain
        shown = (
            verdict.rows_changed,
            verdict.uncertified,
            verdict.false_zero,
            verdict.too_far,
        )
        for name, fault in zip(faults, shown, strict=True):
            faults[name] += fault
    figures = {"refused before rows": refused, "largest gradient over its tolerance": strain}
    return Finding("sites", f"{questions:,} questions, one record more or less", faults, figures)


def main() -> None:
    """So many questions; exit with 1 if anything that must be 0 is not."""
    parser = argparse.ArgumentParser(prog="python -m reliability.sites", description=__doc__)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    finding = sites(arguments.questions, arguments.seed)
    show([finding], Console(width=120, highlight=False))
    sys.exit(0 if finding.passed else 1)


if __name__ == "__main__":
    main()
