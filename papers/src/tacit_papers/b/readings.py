"""How paper B is read: its text leaves open what paper A's does, and states fewer numbers.

Where it states some, they decide: the hitting rates of stumps (`tacit_papers.b.hits`) ask for cuts
at the median. Else the defaults are those that paper A's figures ask for
(`tacit_papers.a.measurements`). Here every reading is measured at paper B's own settings, errors
from sums over all owners.
"""

from dataclasses import dataclass

import numpy as np

from tacit.learners.learner import Learner
from tacit.mechanisms.streams import seeded
from tacit_papers.b.learners import MajorityStump, OneAgainstRest, WeightedCentroid
from tacit_papers.b.summed import SummedCell
from tacit_papers.shared.curves import staged_errors
from tacit_papers.shared.first_learner import Line
from tacit_papers.shared.splits import deal, load_split

READINGS: dict[str, dict[str, Learner]] = {
    "stump": {
        "median": MajorityStump(),
        "best cut": MajorityStump(thresholds="best"),
    },
    "centroid": {
        "divided by weights": WeightedCentroid(),
        "divided by rows": WeightedCentroid(divide="rows"),
    },
    "logistic": {
        "rows less the public mean": OneAgainstRest(),
        "rows as they are": OneAgainstRest(centre="none"),
    },
}
ROUNDS = {"stump": 10, "centroid": 6, "logistic": 1}


@dataclass(frozen=True)
class SummedReadingRow:
    """Test errors of one reading after the first and the last base learner, means over runs."""

    dataset: str
    learner: str
    reading: str
    epsilon: float | None
    first: float
    last: float
    rounds: int
    runs: int


@dataclass(frozen=True, kw_only=True)
class SummedReadingCell(SummedCell):
    """All readings of one base learner on one data set; the same owners for each."""

    def rows(self) -> list[SummedReadingRow]:  # type: ignore[override]
        split = load_split(self.dataset, self.quick)
        stream = seeded(self.seed).child("paper B", "readings", self.dataset, self.learner)
        ends: dict[tuple[str, float | None], list[list[float]]] = {}
        for run in range(self.runs):
            count = self.rounds * self.owners
            cohort = deal(split, count, self.rows_per_owner, stream.child("owners", run))
            for reading, learner in READINGS[self.learner].items():
                for epsilon in (None, *self.epsilons):
                    mechanism = "none" if epsilon is None else "piecewise"
                    line = Line("as published", learner, mechanism, epsilon)
                    coins = stream.child(reading, str(epsilon), run)
                    ensemble = self.boost(split, cohort, line, coins).ensemble
                    errors = staged_errors(ensemble, split, self.rounds)
                    ends.setdefault((reading, epsilon), []).append([errors[0], errors[-1]])
        return [self._row(*key, found) for key, found in ends.items()]

    def _row(
        self, reading: str, epsilon: float | None, ends: list[list[float]]
    ) -> SummedReadingRow:
        first, last = np.mean(ends, axis=0).tolist()
        return SummedReadingRow(
            dataset=self.papers_set,
            learner=self.learner,
            reading=reading,
            epsilon=epsilon,
            first=first,
            last=last,
            rounds=self.rounds,
            runs=self.runs,
        )
