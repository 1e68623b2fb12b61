"""A budget over many fits, and warnings about what surrounds a fit."""

import multiprocessing
import pickle
import sqlite3
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import joblib  # type: ignore[import-untyped]
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from tacit import Budget, BudgetError, PrivacyWarning, PrivateBoosting, PrivateClassifier
from tacit.estimators import PeerEnsemble, SiteEnsemble
from tacit.sums.secure_sum import TwoServers
from tests.estimators.data import task

X, Y = task(rows=400)
PUBLIC = X[300:], Y[300:]


def boosting(**more):
    return PrivateBoosting("centroid", epsilon=1.0, rounds=2, random_state=1, **more)


def fit(model):
    return model.fit(X[:300], Y[:300], public=PUBLIC)


def test_fits_add_up_and_the_one_beyond_asks_nobody():
    asked = []

    def hear(answered):
        asked.append(answered)
        return False

    with Budget(epsilon=2.5) as budget:
        fit(boosting())
        fit(PrivateBoosting("centroid", epsilon=np.linspace(0.5, 1.25, 300), random_state=1))
        assert budget.left == Fraction(1, 4)
        with pytest.raises(BudgetError, match=r"epsilon 1, and the budget of 2.5 has 0.25 left"):
            boosting().fit(X[:300], Y[:300], public=PUBLIC, monitor=hear)
    assert not asked
    fit(boosting())  # outside the context
    assert budget.spent == Fraction(9, 4)


def test_sums_over_owners_cost_their_own_epsilon():
    budget = Budget(epsilon=3.0)
    fit(boosting(error="owners", error_epsilon=2.0, budget=budget))
    assert budget.left == 0


@pytest.mark.parametrize("trust", ["nobody", "two servers"])
def test_sums_at_an_epsilon_of_their_own_cost_that_each(trust):
    """They were charged as `error_epsilon`, 1 in all, whatever they cost."""
    budget = Budget(epsilon=50.0, delta=1e-6)
    sums = TwoServers(epsilon=3.0)
    model = fit(boosting(error="owners", sums=sums, attempts=1, trust=trust, budget=budget))
    assert budget.spent == 1 + 2 * 3
    assert model.guarantee_.error_epsilon <= budget.spent - 1
    with pytest.raises(BudgetError, match="would cost each owner epsilon 7"):
        fit(boosting(error="owners", sums=sums, attempts=1, budget=Budget(epsilon=6.5)))


def test_parts_of_a_budget_are_rounded_to_the_safe_side():
    budget = Budget(epsilon=2.0)
    model = PrivateBoosting(
        "centroid", epsilon=0.7, rounds=7, attempts=1, error="owners", error_epsilon=0.1
    )
    fit(model.set_params(random_state=1, budget=budget))
    assert budget.spent == Fraction("0.8")  # as floats 0.7 and 0.1 are less


def test_clones_share_and_other_objects_of_a_file_too(tmp_path):
    budget = Budget(epsilon=2.0, file=tmp_path / "budget.db")
    model = boosting(budget=budget)
    fit(clone(model))
    again = Budget(epsilon=2.0, file=tmp_path / "budget.db")
    fit(boosting(budget=again))
    with pytest.raises(BudgetError):
        fit(pickle.loads(pickle.dumps(model)))  # noqa: S301
    assert budget.charges == [("a fit of PrivateBoosting", 1.0)] * 2
    with pytest.raises(ValueError, match=r"those of .*budget.db: 2, 0"):
        Budget(epsilon=3.0, file=tmp_path / "budget.db")


@pytest.mark.parametrize("name", [None, "budget.db"])
def test_many_at_once_never_go_beyond(tmp_path, name):
    budget = Budget(epsilon=25.0, file=None if name is None else tmp_path / name)

    def spend(number):
        try:
            return bool(budget.charge(f"{number}", 1.0, 0.0, "owner"))
        except BudgetError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(100))) == 25


def test_costs_are_the_numbers_that_are_written(tmp_path):
    file = tmp_path / "budget.db"
    budget = Budget(epsilon=0.3, file=file)
    for _ in range(3):
        budget.charge("a fit", 0.1, 0.0, "owner")
    assert budget.left == 0
    with sqlite3.connect(file) as place:  # as files of before have them
        place.execute("UPDATE charges SET epsilon = ?", (str(Fraction(0.1)),))
        place.execute("UPDATE terms SET epsilon = ?", (str(Fraction(0.3)),))
    place.close()
    assert Budget(epsilon=0.3, file=file).left == 0


def test_a_fitted_estimator_that_was_sent_elsewhere_is_not_fitted_for_nothing(tmp_path):
    with Budget(epsilon=5.0, file=tmp_path / "budget.db"):
        sent = pickle.dumps(fit(boosting()))
    there = pickle.loads(sent)  # noqa: S301
    there.predict(X)
    for model in (there, clone(there)):
        with pytest.raises(BudgetError, match="sent here: set its parameter budget"):
            fit(model)
    fit(there.set_params(budget=None))


def test_who_asks_nobody_spends_nothing():
    with Budget(epsilon=1.0) as budget:
        model = fit(PrivateClassifier(epsilon=1.0, random_state=1))
    assert not model.report_  # 300 owners cannot add to 100 public rows
    assert budget.spent == 0


@pytest.mark.parametrize(
    "model",
    [boosting(mechanism="none"), PeerEnsemble(epsilon=np.inf), SiteEnsemble(privacy="none")],
)
def test_what_no_budget_can_count_is_refused(model):
    with Budget(epsilon=100.0), pytest.raises(BudgetError, match="nobody was asked"):
        fit(model)


def test_owners_and_records_are_not_mixed():
    sites = np.arange(300) % 3
    with Budget(epsilon=9.0) as budget:
        SiteEnsemble(random_state=1).fit(X[:300], Y[:300], owners=sites, public=PUBLIC)
        PeerEnsemble(random_state=1, rounds=3).fit(X[:300], Y[:300], owners=sites, public=PUBLIC)
        with pytest.raises(BudgetError, match="counts what records spend"):
            fit(boosting())
    assert budget.spent == 2


def test_a_file_of_something_else_is_named(tmp_path):
    (tmp_path / "notes.txt").write_text("bread and milk")
    with pytest.raises(ValueError, match=r"notes\.txt holds no budget: name a file that Budget"):
        boosting(budget=Budget(epsilon=1.0, file=tmp_path / "notes.txt")).fit(X, Y, public=PUBLIC)
    assert (tmp_path / "notes.txt").read_text() == "bread and milk"


def test_delta_adds_up_too():
    budget = Budget(epsilon=9.0, delta=1.5e-6)
    budget.charge("one", 1.0, 1e-6, "owner")
    with pytest.raises(BudgetError, match="delta 1e-06"):
        budget.charge("two", 1.0, 1e-6, "owner")


def test_other_processes_take_the_budget_along_or_none(tmp_path):
    with Budget(epsilon=1.0), pytest.raises(TypeError, match="cannot be sent to another process"):
        pickle.dumps(boosting())
    with Budget(epsilon=1.0, file=tmp_path / "b.db"):
        sent = pickle.dumps(boosting())
    assert pickle.loads(sent).budget.file == tmp_path / "b.db"  # noqa: S301
    assert pickle.loads(pickle.dumps(boosting())).budget is None  # noqa: S301


def test_a_cross_validation_is_charged_and_refused():
    with Budget(epsilon=2.0) as budget, pytest.raises(BudgetError):
        cross_val_score(boosting(), X, Y, cv=3, error_score="raise")
    assert budget.left == 0


def cross_validate(backend):
    with joblib.parallel_config(backend=backend, n_jobs=2):
        cross_val_score(boosting(), X, Y, cv=4, error_score="raise")


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_a_cross_validation_in_parallel_is_charged_to_the_context(tmp_path, backend):
    """Fits run in threads of joblib, or are sent from them, which are not in the context."""
    with Budget(epsilon=4.0, file=tmp_path / "all.db") as budget:
        cross_validate(backend)
    assert budget.left == 0


def test_processes_are_refused_what_is_beyond_the_budget(tmp_path):
    with Budget(epsilon=2.0, file=tmp_path / "half.db") as budget, pytest.raises(BudgetError):
        cross_validate("loky")
    assert budget.left == 0


def test_a_budget_in_memory_is_not_spent_again_by_other_processes():
    with Budget(epsilon=4.0) as budget:
        with pytest.raises(pickle.PicklingError):
            cross_validate("loky")
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.map(refused, [1.0]) == [True]
    assert budget.spent == 0


def refused(epsilon):
    try:
        fit(boosting().set_params(epsilon=epsilon))
    except BudgetError as said:
        return "taken along into another process" in str(said)
    return False


def test_threads_without_a_budget_of_their_own_do_not_choose_among_several():
    with Budget(epsilon=4.0) as one, Budget(epsilon=4.0) as other, ThreadPoolExecutor(1) as pool:
        with pytest.raises(BudgetError, match="say which one counts"):
            pool.submit(fit, boosting()).result()
        pool.submit(fit, boosting(budget=one)).result()
    assert one.spent == 1
    assert other.spent == 0


@pytest.mark.parametrize("around", [CalibratedClassifierCV, BaggingClassifier])
def test_whoever_fits_again_and_again_is_warned_of(around):
    with pytest.warns(
        PrivacyWarning, match=r"sklearn\.(calibration|ensemble) over owners' rows: each"
    ):
        around(boosting()).fit(X, Y)


def test_scores_of_owners_rows_are_warned_of():
    with pytest.warns(PrivacyWarning, match=r"no Budget counts; its scores are exact"):
        cross_val_score(boosting(), X, Y, cv=2)


@pytest.mark.parametrize("step", [StandardScaler(), FrozenEstimator(StandardScaler().fit(X))])
def test_a_step_fitted_to_owners_rows_is_named(step):
    made = make_pipeline(FunctionTransformer(), step, boosting())
    with warnings.catch_warnings(record=True, action="always") as heard:
        made.fit(X[:300], Y[:300], privateboosting__public=PUBLIC)
    words = [str(each.message) for each in heard if each.category is PrivacyWarning]
    frozen = isinstance(step, FrozenEstimator)
    assert bool(words) is not frozen
    assert frozen or words[0].startswith("standardscaler of the pipeline was fitted to owners'")
