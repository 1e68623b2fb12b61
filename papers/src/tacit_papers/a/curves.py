"""Boosting as in paper A (Figs. 4, 5, 7, 8), votes from the data user's sample: as published,
sound, without privacy.

Beside it, what the data user gets from its own sample alone: without that line nobody knows what
the owners added.
"""

from dataclasses import dataclass
from typing import ClassVar

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from tacit.algorithms import boosting
from tacit.data.cohort import Cohort
from tacit.engines.inline import Inline
from tacit.learners.learner import ReportTerms
from tacit.mechanisms.streams import Stream
from tacit_papers.a.published import CURVES
from tacit_papers.a.tables import LEARNERS
from tacit_papers.datasets.split import Split
from tacit_papers.runner import Cell
from tacit_papers.shared.curves import CurveCell
from tacit_papers.shared.first_learner import Line
from tacit_papers.shared.splits import accuracy_alone, load_split, public_of

_ATTEMPTS = 10  # dropped rounds in a row


@dataclass(frozen=True)
class PublicRow:
    """Test error of a model fitted to the data user's sample alone."""

    dataset: str
    model: str
    rows: int
    error: float


@dataclass(frozen=True, kw_only=True)
class PublicCell(Cell):
    """The data user's sample alone: two linear models, and the best of three kinds by
    cross-validation.
    """

    paper: ClassVar[str] = "a"

    def rows(self) -> list[PublicRow]:
        split = load_split(self.dataset, self.quick)
        models = {
            "logistic regression": LogisticRegression(max_iter=1000),
            "LDA": LinearDiscriminantAnalysis(),
        }
        errors = {"chosen by cross-validation": 1 - accuracy_alone(split)}
        for name, model in models.items():
            guesses = model.fit(split.X_public, split.y_public).predict(split.X_test)
            errors[name] = float((guesses != split.y_test).mean())
        return [
            PublicRow(self.dataset, name, len(split.y_public), error)
            for name, error in errors.items()
        ]


@dataclass(frozen=True, kw_only=True)
class BoostingCell(CurveCell):
    """The curves of one base learner on one data set."""

    paper: ClassVar[str] = "a"
    spare: ClassVar[int] = 2

    def lines(self) -> list[Line]:
        """As published (Piecewise), sound (Piecewise and the chosen mechanism), and both without
        privacy.
        """
        as_published, sound = LEARNERS[self.learner]
        lines = [
            Line("as published", as_published, "none", None),
            Line("sound", sound, "none", None),
        ]
        for epsilon in self.epsilons:
            lines.append(Line("as published", as_published, "piecewise", epsilon))
            lines += [
                Line("sound", sound, mechanism, epsilon) for mechanism in ("piecewise", "auto")
            ]
        return lines

    def published_ends(self, line: Line) -> tuple[float, float] | None:
        return CURVES.get((self.dataset, self.learner, line.epsilon))

    def boost(self, split: Split, cohort: Cohort, line: Line, coins: Stream) -> boosting.Boosted:
        public = public_of(split)
        epsilon = line.epsilon or 1.0
        facts = line.learner.facts(public)
        terms = ReportTerms.of(line.mechanism, line.learner.space(facts), epsilon)
        schedule = boosting.Schedule(self.rounds, self.owners, _ATTEMPTS)
        judge = boosting.OwnSample(public)
        algorithm = boosting.boost(line.learner, facts, terms, judge, schedule)
        return Inline(cohort, epsilon, coins).run(algorithm)
