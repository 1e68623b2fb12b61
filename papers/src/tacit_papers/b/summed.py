"""Boosting whose votes come from sums over all owners: the curves of paper B (Figs. 7, 10, 11)."""

from dataclasses import dataclass
from typing import ClassVar

from tacit.algorithms import boosting
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.learners.learner import Learner, ReportTerms
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump
from tacit.mechanisms.streams import Stream
from tacit.sums.secure_sum import SecureSum, TwoServers
from tacit_papers.b.learners import MajorityStump, OneAgainstRest, WeightedCentroid
from tacit_papers.b.ring import RingSum
from tacit_papers.datasets.split import Split
from tacit_papers.shared.curves import CurveCell
from tacit_papers.shared.first_learner import Line
from tacit_papers.shared.splits import public_of

LEARNERS: dict[str, tuple[Learner, Learner]] = {  # as published, and sound
    "logistic": (OneAgainstRest(), Logistic()),
    "centroid": (WeightedCentroid(), Centroid()),
    "stump": (MajorityStump(), Stump()),
}
SOUND = {
    "logistic": "auto",
    "centroid": "piecewise",
    "stump": "auto",
}  # PrivUnit takes long in 1,000 dimensions
SUMS_SHARE = 0.2  # of an owner's epsilon, for all sums together


@dataclass(frozen=True, kw_only=True)
class SummedCell(CurveCell):
    """Boosting whose votes come from all owners by secure sums.

    As published: all of epsilon for the share, exact sums. Sound: `SUMS_SHARE` of epsilon for the
    sums, one per round, the rest for the share; owners are as many as all rounds need, so that
    there can be no more sums than rounds.
    """

    paper: ClassVar[str] = "b"
    spare: ClassVar[int] = 1

    def lines(self) -> list[Line]:
        as_published, sound = LEARNERS[self.learner]
        lines = [
            Line("as published", as_published, "none", None),
            Line("sound", sound, "none", None),
        ]
        for epsilon in self.epsilons:
            lines += [
                Line("as published", as_published, "piecewise", epsilon),
                Line("as published", as_published, "duchi", epsilon),
                Line("sound", sound, SOUND[self.learner], epsilon),
            ]
        return lines

    def boost(self, split: Split, cohort: Cohort, line: Line, coins: Stream) -> boosting.Boosted:
        facts = line.learner.facts(public_of(split))
        epsilon, sums = self._budget(line)
        terms = ReportTerms.of(line.mechanism, line.learner.space(facts), epsilon)
        schedule = boosting.Schedule(self.rounds, self.owners, attempts=self.rounds)
        judge = boosting.AllOwners()
        algorithm = boosting.boost(line.learner, facts, terms, judge, schedule)
        return Inline(cohort, epsilon, coins, sums).run(algorithm)

    def _budget(self, line: Line) -> tuple[float, SecureSum]:
        """Epsilon of the share, and how sums are made."""
        if line.epsilon is None or line.learner.unsound:
            return line.epsilon or 1.0, RingSum()
        return (1 - SUMS_SHARE) * line.epsilon, TwoServers(
            epsilon=SUMS_SHARE * line.epsilon / self.rounds
        )
