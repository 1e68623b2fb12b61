"""How far the coefficients of boosted regressions move over rounds (section V-C): the paper says
that they do not, and so explains that boosting brings regressions nothing.
"""

from dataclasses import dataclass

import numpy as np

from tacit._util.types import FloatArray
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.logistic import LogisticModel
from tacit.mechanisms.streams import seeded
from tacit_papers.a.measurements import LEARNERS, BoostingCell
from tacit_papers.shared.first_learner import Line
from tacit_papers.shared.splits import deal, load_split


@dataclass(frozen=True)
class CoefficientRow:
    """The cosine between the coefficients of the first regression and of a later one, as published:
    mean over the runs that have so many (`reached` of all). `epsilon` None: no privacy.
    """

    dataset: str
    epsilon: float | None
    learners: int
    cosine: float
    reached: float
    runs: int


@dataclass(frozen=True, kw_only=True)
class CoefficientCell(BoostingCell):
    """The same owners without privacy and with it."""

    def rows(self) -> list[CoefficientRow]:  # type: ignore[override]
        split, (learner, _) = load_split(self.dataset, self.quick), LEARNERS[self.learner]
        stream = seeded(self.seed).child("paper A", "coefficients", self.dataset)
        found: dict[tuple[float | None, int], list[float]] = {}
        for run in range(self.runs):
            owners = self.spare * self.rounds * self.owners
            cohort = deal(split, owners, self.rows_per_owner, stream.child("owners", run))
            for epsilon in (None, *self.epsilons):
                mechanism = "none" if epsilon is None else "piecewise"
                line = Line("as published", learner, mechanism, epsilon)
                boosted = self.boost(split, cohort, line, stream.child(str(epsilon), run))
                for place, cosine in enumerate(_cosines(boosted.ensemble), start=2):
                    found.setdefault((epsilon, place), []).append(cosine)
        return [
            CoefficientRow(
                dataset=self.papers_set,
                epsilon=epsilon,
                learners=place,
                cosine=float(np.mean(cosines)),
                reached=len(cosines) / self.runs,
                runs=self.runs,
            )
            for (epsilon, place), cosines in found.items()
        ]


def _cosines(ensemble: Ensemble) -> list[float]:
    """Of every later regression with the first."""
    vectors = [
        model.coefficients.ravel() / np.linalg.norm(model.coefficients)
        for _, model in ensemble.members
        if isinstance(model, LogisticModel)
    ]
    first: FloatArray = vectors[0] if vectors else np.zeros(0)
    return [float(first @ vector) for vector in vectors[1:]]
