"""Misclassification after 1 .. M base learners (paper A, Figs. 4 and 7): as published, sound, and without privacy.

Beside them, what the data user gets from its own sample alone: without that line nobody knows what the owners added.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from os import cpu_count

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from tacit.cohort import Cohort
from tacit.datasets.split import Split
from tacit.engines.inline import Inline
from tacit.ensembles.boosting import OwnSample, boost
from tacit.experiments.paper_a_tables import Tick, deal
from tacit.experiments.published_a import CURVES
from tacit.learners.base import Learner, Public, Terms
from tacit.learners.centroid import Centroid
from tacit.learners.ensemble import Ensemble
from tacit.learners.published import PublishedCentroid, PublishedStump
from tacit.learners.stump import Stump
from tacit.streams import Stream
from tacit.types import FloatArray, IntArray

LEARNERS: dict[str, tuple[Learner, Learner]] = {
    "centroid": (PublishedCentroid(), Centroid()),
    "stump": (PublishedStump(), Stump()),
}
_ATTEMPTS = 10  # dropped rounds in a row
_SPARE = 2  # owners in all, in times of what M rounds need when none is dropped


@dataclass(frozen=True)
class CurveRow:
    """Test error of the ensemble after `learners` base learners, mean and spread over runs.

    A run that ended early (owners ran out, or too many rounds were dropped in a row) stays at its last error; one half
    if it has no learner at all. `reached` is the share of runs that have so many learners. `epsilon` None: no privacy.
    """

    dataset: str
    source: str
    learner: str
    variant: str
    mechanism: str
    epsilon: float | None
    learners: int
    mean: float
    std: float
    reached: float
    runs: int
    owners: int
    rows_per_owner: int
    published: float | None
    unsound: str


@dataclass(frozen=True)
class PublicRow:
    """Test error of a model fitted to the data user's sample alone."""

    dataset: str
    model: str
    rows: int
    error: float


@dataclass(frozen=True)
class Variant:
    """One line of a picture."""

    name: str
    learner: Learner
    mechanism: str
    epsilon: float | None


@dataclass(frozen=True, eq=False)
class CurveSetting:
    """How the curves of one base learner are measured on one data set."""

    dataset: str
    split: Split
    learner: str
    owners: int
    rows: int
    epsilons: tuple[float, ...]
    runs: int
    rounds: int


def variants(learner: str, epsilons: Sequence[float]) -> list[Variant]:
    """As published (Piecewise), sound (Piecewise and the chosen mechanism), and both without privacy."""
    as_published, sound = LEARNERS[learner]
    lines = [Variant("as published", as_published, "none", None), Variant("sound", sound, "none", None)]
    for epsilon in epsilons:
        lines.append(Variant("as published", as_published, "piecewise", epsilon))
        lines += [Variant("sound", sound, mechanism, epsilon) for mechanism in ("piecewise", "auto")]
    return lines


def curve_rows(setting: CurveSetting, stream: Stream, tick: Tick) -> list[CurveRow]:
    """All curves of one base learner on one data set; `tick` hears of every run."""
    split, lines = setting.split, variants(setting.learner, setting.epsilons)
    errors = np.zeros((len(lines), setting.runs, setting.rounds))
    lengths = np.zeros((len(lines), setting.runs), dtype=np.int64)
    for run in range(setting.runs):
        dealt = stream.child("curves", setting.dataset, setting.learner, "owners", run)
        cohort = deal(split, _SPARE * setting.rounds * setting.owners, setting.rows, dealt)
        names = [(line.name, line.mechanism, str(line.epsilon)) for line in lines]
        coins = [stream.child("curves", setting.dataset, setting.learner, *name, run) for name in names]
        with ThreadPoolExecutor(cpu_count()) as pool:
            ensembles = pool.map(partial(_boosted, setting, cohort), lines, coins)
            for number, ensemble in enumerate(ensembles):
                lengths[number, run] = len(ensemble)
                errors[number, run] = _staged_errors(ensemble, split, setting.rounds)
        tick(f"curves, {setting.learner} on {setting.dataset}, run {run + 1}")
    return [
        _row(setting, line, place, errors[number, :, place], lengths[number])
        for number, line in enumerate(lines)
        for place in range(setting.rounds)
    ]


def public_rows(dataset: str, split: Split) -> list[PublicRow]:
    """The data user's sample alone, by two linear models."""
    models = {"logistic regression": LogisticRegression(max_iter=1000), "LDA": LinearDiscriminantAnalysis()}
    rows = []
    for name, model in models.items():
        guesses = model.fit(split.X_public, split.y_public).predict(split.X_test)
        rows.append(PublicRow(dataset, name, len(split.y_public), float((guesses != split.y_test).mean())))
    return rows


def _boosted(setting: CurveSetting, cohort: Cohort, line: Variant, coins: Stream) -> Ensemble:
    public = Public(setting.split.X_public, setting.split.y_public, 2)
    epsilon = line.epsilon or 1.0
    facts = line.learner.facts(public)
    terms = Terms.of(line.mechanism, line.learner.space(facts), epsilon)
    algorithm = boost(line.learner, facts, terms, OwnSample(public), setting.rounds, setting.owners, _ATTEMPTS)
    return Inline(cohort, epsilon, coins).run(algorithm).ensemble


def _staged_errors(ensemble: Ensemble, split: Split, rounds: int) -> FloatArray:
    """Test error after each round; the last one stays."""
    errors = np.full(rounds, 0.5)
    for number, votes in enumerate(ensemble.staged_votes(split.X_test)):
        errors[number:] = float((np.argmax(votes, axis=1) != split.y_test).mean())
    return errors


def _row(setting: CurveSetting, line: Variant, place: int, errors: FloatArray, lengths: IntArray) -> CurveRow:
    stated = CURVES.get((setting.dataset, setting.learner, line.epsilon))
    ends = {0: 0, 9: 1}  # the text states the first error and the tenth
    return CurveRow(
        dataset=setting.dataset,
        source=setting.split.name,
        learner=setting.learner,
        variant=line.name,
        mechanism=line.mechanism,
        epsilon=line.epsilon,
        learners=place + 1,
        mean=float(errors.mean()),
        std=float(errors.std(ddof=1)) if len(errors) > 1 else 0.0,
        reached=float((lengths > place).mean()),
        runs=setting.runs,
        owners=setting.owners,
        rows_per_owner=setting.rows,
        published=None if stated is None or place not in ends else stated[ends[place]],
        unsound=line.learner.unsound,
    )
