"""Whole fits against plain loops, and owners' regressions against scikit-learn."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.boosting_loop import Share, at_once, by_feature, loop_fit
from benchmarks.boosting_plain import plain_fit
from benchmarks.rounds import rounds_table
from benchmarks.rounds_child import DIM, ROWS
from benchmarks.tables import Row, Table, at_least
from benchmarks.timing import QUICK, Effort, best, cores, per_count, per_item, pin
from tacit._util.kernels import dot_kernel
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.boosting import OwnSample, Schedule, boost
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.learner import ReportTerms
from tacit.learners.owners.logistic import Logistic, fit_owners
from tacit.learners.owners.stump import Stump
from tacit.mechanisms.streams import seeded
from tacit_papers.datasets.brazil import brazil

_OURS, _LBFGS = "tacit, all cores", "scikit-learn lbfgs, a loop"
_PLAIN = "Python: owners, rows, features"
_BY_FEATURE, _AT_ONCE = "NumPy: owners, features", "NumPy: owners"
_HEADINGS = ("way", "us/owner", "seconds", f"over tacit,\n{cores()} cores")
_ROUNDS, _EPSILON = 10, 5.0  # as in paper A
_LEAST_OVER_LOOP, _LEAST_OVER_SKLEARN = 50, 20  # goals: times as fast
_CLOSE = 1e-4  # between our coefficients and scikit-learn's


@dataclass(frozen=True)
class _Sizes:
    owners: int  # in a round of stumps
    rows: int  # of each of them
    public: int
    fitters: int  # owners with regressions
    fitted_by_sklearn: int
    round_owners: tuple[int, ...]


_FULL = _Sizes(
    owners=1_000,
    rows=80,
    public=50_000,
    fitters=10_000,
    fitted_by_sklearn=300,
    round_owners=(10_000, 100_000, 1_000_000),
)
_LITTLE = _Sizes(
    owners=4,
    rows=80,
    public=500,
    fitters=100,
    fitted_by_sklearn=10,
    round_owners=(2_000,),
)


@dataclass(frozen=True)
class TimeRow(Row):
    """Time of one way to do the same, per owner and in all."""

    microseconds_per_owner: float
    seconds: float
    ratio: float  # over ours on all cores

    @property
    def cells(self) -> tuple[str, ...]:
        return (f"{self.microseconds_per_owner:,.1f}", f"{self.seconds:,.2f}", f"{self.ratio:,.1f}")


def boosting(effort: Effort) -> list[Table]:
    """Fits at the paper's size and with few rows per owner, regressions, rounds."""
    sizes = _LITTLE if effort is QUICK else _FULL
    repetitions = 1 if effort is QUICK else 3
    few = replace(sizes, rows=ROWS, public=1_000)
    return [
        _fits(sizes, _LEAST_OVER_LOOP, repetitions),
        _fits(few, None, repetitions),
        _regressions(sizes, repetitions),
        rounds_table(sizes.round_owners),
    ]


def _fits(sizes: _Sizes, goal: float | None, repetitions: int) -> Table:
    """Ten rounds of boosted stumps, ours and by loops over owners: in plain Python, and with
    NumPy inside an owner.
    """
    holders = sizes.owners * _ROUNDS * 19 // 16  # a dropped round asks others
    rows = holders * sizes.rows
    X, y = _linear_rows(rows + sizes.public, seed=1)
    cohort = Cohort(X[:rows], y[:rows], np.arange(holders + 1) * sizes.rows)
    public = Public(X[rows:], y[rows:], 2)
    schedule = Schedule(_ROUNDS, sizes.owners, attempts=_ROUNDS)

    def ours() -> int:
        learner = Stump()
        facts = learner.facts(public)
        terms = ReportTerms("piecewise", (_EPSILON,))
        engine = Inline(cohort, _EPSILON, seeded(1))
        engine.run(boost(learner, facts, terms, OwnSample(public), schedule))
        return engine.speakers

    def plain() -> int:
        return plain_fit(cohort, public, schedule, _EPSILON, seed=1)

    def numpy(fill: Share) -> Callable[[], float]:
        return pin(per_count(lambda: loop_fit(cohort, public, schedule, _EPSILON, fill, seed=1)))

    def floor() -> int:
        asked = cohort[np.random.default_rng(1).permutation(holders)[: sizes.owners * _ROUNDS]]
        _read(asked.table, asked.spans)
        return len(asked)

    seconds = best(
        {
            _OURS: per_count(ours),
            "tacit, one core": pin(per_count(ours)),
            _PLAIN: pin(per_count(plain)),
            _BY_FEATURE: numpy(by_feature),
            _AT_ONCE: numpy(at_once),
            "floor: reading the rows once": pin(per_count(floor)),
        },
        repetitions,
    )
    title = (
        f"Boosted stumps, {_ROUNDS} rounds of {sizes.owners:,} owners with {sizes.rows} rows, "
        f"d = {DIM}, "
        f"Piecewise, epsilon {_EPSILON:g}; {rows + sizes.public:,} rows"
    )
    note = (
        f"The whole fit: cuts and votes from {sizes.public:,} public rows, shares, reports, "
        "means; seconds for "
        f"{sizes.owners * _ROUNDS:,} owners asked. Rivals are named by what they loop over in "
        "Python, and run in full: "
        "nothing is scaled. The floor reads the asked rows in a compiled kernel and does "
        "nothing else."
    )
    goals = {} if goal is None else {_PLAIN: goal}
    return Table(
        "boosting", title, _HEADINGS, _time_rows(seconds, sizes.owners * _ROUNDS, goals), note
    )


@dot_kernel
def _read(X: FloatArray, spans: IntArray) -> float:
    """The sum of the owners' rows: what it takes to read them."""
    total = 0.0
    for owner in range(len(spans)):
        for i in range(spans[owner, 0], spans[owner, 1]):
            for j in range(X.shape[1]):
                total += X[i, j]
    return total


def _regressions(sizes: _Sizes, repetitions: int) -> Table:
    """Every owner's own logistic regression, ours and by scikit-learn."""
    rows, ridge = 100, Logistic().ridge
    split = brazil(train=sizes.fitters * rows, test=10, public=1_000)
    cohort = Cohort(split.X_train, split.y_train, np.arange(sizes.fitters + 1) * rows)
    weights = np.full(len(cohort.y), 1 / rows)
    few = cohort[: sizes.fitted_by_sklearn]
    distance = np.abs(
        _sklearn(few, ridge, "lbfgs") - fit_owners(few, weights[: len(few.y)], 2, ridge)[:, 0]
    ).max()
    if not distance <= _CLOSE:
        raise ValueError(
            f"coefficients must agree with scikit-learn's to {_CLOSE:g}, got {distance:.2g}"
        )
    ours = per_item(lambda: fit_owners(cohort, weights, 2, ridge), len(cohort))

    def theirs(solver: str) -> Callable[[], float]:
        return pin(per_item(lambda: _sklearn(few, ridge, solver), len(few)))

    seconds = best(
        {
            _OURS: ours,
            "tacit, one core": pin(ours),
            _LBFGS: theirs("lbfgs"),
            "scikit-learn newton-cholesky, a loop": theirs("newton-cholesky"),
            "scikit-learn liblinear, a loop": theirs("liblinear"),
        },
        repetitions,
    )
    title = (
        f"Owners' own logistic regressions: {len(cohort):,} owners, {rows} rows, d = "
        f"{split.dim}, ridge {ridge:g}"
    )
    note = (
        f"scikit-learn is measured on {len(few)} owners, with the tolerance that its "
        "coefficients need to agree with "
        f"ours to {_CLOSE:g}; the largest difference was {distance:.1e}. The goal is for its "
        "default solver."
    )
    return Table(
        "boosting",
        title,
        _HEADINGS,
        _time_rows(seconds, len(cohort), {_LBFGS: _LEAST_OVER_SKLEARN}),
        note,
    )


def _sklearn(cohort: Cohort, ridge: float, solver: str) -> FloatArray:
    """The same regressions, (owners, dim + 1): a column of ones, because our ridge holds the
    intercept too.
    """
    model = LogisticRegression(
        C=1 / ridge, fit_intercept=False, solver=solver, tol=1e-6, max_iter=1000
    )
    X = np.hstack([cohort.X, np.ones((len(cohort.y), 1))])
    theta = np.zeros((len(cohort), X.shape[1]))
    for owner in range(len(cohort)):
        rows = slice(cohort.offsets[owner], cohort.offsets[owner + 1])
        size = rows.stop - rows.start
        theta[owner] = model.fit(
            X[rows], cohort.y[rows], sample_weight=np.full(size, 1 / size)
        ).coef_[0]
    return theta


def _time_rows(seconds: dict[str, float], owners: int, goals: dict[str, float]) -> list[TimeRow]:
    base = seconds[_OURS]
    return [
        TimeRow(
            name=name,
            verdict=at_least(own / base, goals[name]) if name in goals else None,
            microseconds_per_owner=own * 1e6,
            seconds=own * owners,
            ratio=own / base,
        )
        for name, own in seconds.items()
    ]


def _linear_rows(rows: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Made-up rows whose class is a noisy linear rule in which every column has a say."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, DIM))
    y = X @ rng.choice([-1.0, 1.0], DIM) + rng.normal(size=rows) > 0
    return X, y.astype(np.int64)
