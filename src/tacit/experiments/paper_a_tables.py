"""Tables II, III and IV of paper A: what the noise of a first round does to centroids, impurities and coefficients.

All three measure the learners as they were published. Owners of a run are the same for every mechanism and epsilon, so
that shares are computed once; coins are never the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tacit.cohort import Cohort
from tacit.datasets.split import Split
from tacit.engines.inline import Inline
from tacit.experiments.published_a import Published, published
from tacit.learners.base import Facts, Learner, Public, ShareQuery, Simulated, Terms
from tacit.learners.ensemble import Ensemble
from tacit.learners.published import PublishedCentroid, PublishedLogistic, PublishedStump
from tacit.learners.query import Answer
from tacit.streams import Stream
from tacit.types import FloatArray

MECHANISMS = ("laplace", "duchi", "piecewise")
LEARNERS: dict[str, Learner] = {"II": PublishedCentroid(), "III": PublishedStump(), "IV": PublishedLogistic()}
_SURE = 2.0  # standard errors

Tick = Callable[[str], None]
Measured = Mapping[str, float]  # what was measured in one run, by name of the measure


@dataclass(frozen=True)
class TableRow:
    """One cell: measured over `runs` runs, beside what was published (None where the paper has nothing).

    `dataset` is the paper's, `source` the rows that stand for it here.
    `holds`: against every other mechanism the order is as published, wherever the published difference is more than two
    standard errors; and in Table II for synthetic rows the error is at most the published one, or within two standard
    errors of it.
    """

    table: str
    dataset: str
    source: str
    measure: str
    mechanism: str
    epsilon: float
    owners: int
    rows_per_owner: int
    mean: float
    std: float
    runs: int
    published_mean: float | None
    published_std: float | None
    holds: bool
    unsound: str


@dataclass(frozen=True, eq=False)
class Setting:
    """How one table is measured on one data set."""

    table: str
    dataset: str
    split: Split
    owners: int
    rows: int
    epsilons: tuple[float, ...]
    runs: int


def deal(split: Split, owners: int, rows: int, stream: Stream) -> Cohort:
    """Training rows dealt out at random to owners of equal size.

    No row is dealt twice before all have been dealt: the paper's own settings can need more rows than it has.
    """
    rng = np.random.default_rng(stream.words(np.arange(1), 0, 4)[0])
    have, need = len(split.y_train), owners * rows
    chosen = np.concatenate([rng.permutation(have) for _ in range(-(-need // have))])[:need]
    return Cohort(split.X_train[chosen], split.y_train[chosen], np.arange(owners + 1) * rows)


def table_rows(setting: Setting, stream: Stream, tick: Tick) -> list[TableRow]:
    """All cells of one table for one data set; `tick` hears of every run."""
    learner, split = LEARNERS[setting.table], setting.split
    public = Public(split.X_public, split.y_public, 2)
    facts = learner.facts(public)
    found: dict[tuple[str, float], list[Measured]] = {
        (mechanism, epsilon): [] for mechanism in MECHANISMS for epsilon in setting.epsilons
    }
    for run in range(setting.runs):
        cohort = deal(split, setting.owners, setting.rows, stream.child(setting.table, setting.dataset, "owners", run))
        shares = learner.share(_query(setting, learner, facts, "none", 1.0), cohort)
        exact = shares.mean(axis=0)
        for mechanism, epsilon in found:
            coins = stream.child(setting.table, setting.dataset, mechanism, str(epsilon), run)
            told = _told(_query(setting, learner, facts, mechanism, epsilon), cohort, shares, coins)
            found[mechanism, epsilon].append(_measures(setting.table, exact, told))
        tick(f"table {setting.table}, {setting.dataset}, run {run + 1}")
    return _judged(setting, learner, found)


def _query(setting: Setting, learner: Learner, facts: Facts, mechanism: str, epsilon: float) -> ShareQuery:
    """The first round's question."""
    return ShareQuery(1, 1, setting.owners, learner, facts, Ensemble(2), Terms(mechanism, (epsilon,)))


def _told(query: ShareQuery, cohort: Cohort, shares: FloatArray, coins: Stream) -> FloatArray:
    """The mean that the data user is told: what the engine answers, without computing shares again."""
    (epsilon,) = query.epsilons
    if isinstance(query.learner, Simulated):
        answer = Inline(cohort, epsilon, coins).ask(query)
        if not isinstance(answer, Answer):
            raise ValueError(f"a round of {query.owners} owners needs as many, got {len(cohort)}")
        return answer.mean
    mechanism = query.mechanism(epsilon)
    return mechanism.totals(mechanism.randomize(shares, coins)).mean


def _measures(table: str, exact: FloatArray, told: FloatArray) -> Measured:
    """The paper's measure. For Table IV the one it names, RMSE, and MSE: its numbers fall with 1 / epsilon^2."""
    if table == "II":
        gaps = (told - exact).reshape(2, -1)
        return {"l2": float(np.sqrt((gaps**2).sum(axis=1)).mean())}
    if table == "III":
        impurities = [np.abs(means.reshape(-1, 2)).sum(axis=1) for means in (told, exact)]
        return {"square": float(((impurities[0] - impurities[1]) ** 2).mean())}
    square = float(((told - exact) ** 2).mean())
    return {"mse": square, "rmse": square**0.5}


def _judged(setting: Setting, learner: Learner, found: Mapping[tuple[str, float], list[Measured]]) -> list[TableRow]:
    rows = []
    for measure in next(iter(found.values()))[0]:
        values = {cell: np.array([run[measure] for run in runs]) for cell, runs in found.items()}
        for mechanism, epsilon in values:
            own = values[mechanism, epsilon]
            paper = published(setting.table, setting.dataset, mechanism, epsilon)
            others = [other for other in MECHANISMS if other != mechanism]
            holds = all(_ordered(setting, epsilon, values, mechanism, other) for other in others)
            if setting.table == "II" and setting.dataset == "synthetic" and paper is not None:
                holds = holds and _at_most(own, paper)
            rows.append(
                TableRow(
                    table=setting.table,
                    dataset=setting.dataset,
                    source=setting.split.name,
                    measure=measure,
                    mechanism=mechanism,
                    epsilon=epsilon,
                    owners=setting.owners,
                    rows_per_owner=setting.rows,
                    mean=float(own.mean()),
                    std=_spread(own),
                    runs=setting.runs,
                    published_mean=None if paper is None else paper.mean,
                    published_std=None if paper is None else paper.std,
                    holds=holds,
                    unsound=learner.unsound,
                )
            )
    return rows


def _ordered(
    setting: Setting, epsilon: float, values: Mapping[tuple[str, float], FloatArray], one: str, other: str
) -> bool:
    """Whether two mechanisms stand as published, where the paper's runs can tell them apart."""
    papers = [published(setting.table, setting.dataset, mechanism, epsilon) for mechanism in (one, other)]
    if papers[0] is None or papers[1] is None:
        return True
    gap = papers[0].mean - papers[1].mean
    if abs(gap) <= _SURE * float(np.hypot(papers[0].std, papers[1].std)) / 10**0.5:
        return True
    return bool(gap * (values[one, epsilon].mean() - values[other, epsilon].mean()) > 0)


def _at_most(own: FloatArray, paper: Published) -> bool:
    error = float(np.hypot(_spread(own) / len(own) ** 0.5, paper.std / 10**0.5))
    return bool(own.mean() <= paper.mean + _SURE * error)


def _spread(values: FloatArray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0
