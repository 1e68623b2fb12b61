"""Kernels of cross tables against NumPy, and the ways there: in place, in any order, on any
number of cores.
"""

import numpy as np
import pytest

from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.centroid import CentroidModel
from tacit.learners.owners.stump import Stump, StumpModel
from tests.mechanisms.membership import contains


def people(classes, seed=0, owners=60, rows=700, dim=5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, dim))
    X[:, 1] = np.sign(X[:, 1])
    return Cohort.of(
        X, rng.integers(0, classes, rows), np.append(rng.integers(0, owners - 1, rows - 1), owners)
    )


def asked(learner, cohort, members, classes):
    facts = learner.facts(Public(cohort.X[:200], cohort.y[:200], classes))
    return ShareQuery(
        1, 1, 10, learner, facts, Ensemble(classes, tuple(members)), ReportTerms("none", (1.0,))
    )


def stumps(classes, number, alpha=0.4, seed=1):
    rng = np.random.default_rng(seed)
    sides = rng.integers(0, classes, (number, 2)).tolist()
    return [
        (alpha, StumpModel(int(rng.integers(5)), float(rng.uniform(-0.5, 0.5)), *side))
        for side in sides
    ]


def plain_share(query, X, y):
    """One owner's share, cut by cut."""
    facts, classes = query.facts, query.facts.classes
    weights = query.ensemble.weights(Cohort.of(X, y, np.zeros(len(y))))
    codes = np.where(y == 1, 1.0, -1.0)[:, np.newaxis] if classes == 2 else np.eye(classes)[y]
    sides = [
        (codes * weights[:, np.newaxis])[side].sum(axis=0)
        for column, value in zip(facts.columns, facts.values, strict=True)
        for side in (X[:, column] < value, X[:, column] >= value)
    ]
    return np.concatenate(sides)


MEMBERS = {
    "none yet": lambda classes: [],
    "stumps": lambda classes: stumps(classes, 7),
    "votes beyond every exponent": lambda classes: stumps(classes, 4, alpha=300.0),
    "another model": lambda classes: [
        *stumps(classes, 2),
        (0.5, CentroidModel(np.eye(classes, 5))),
    ],
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("cuts", [1, 3])
@pytest.mark.parametrize("name", list(MEMBERS))
def test_shares_are_the_plain_ones_read_in_place_and_in_any_order(name, cuts, classes):
    cohort = people(classes)
    learner = Stump(cuts=cuts)
    query = asked(learner, cohort, MEMBERS[name](classes), classes)
    shares = learner.share(query, cohort)
    for owner in range(len(cohort)):
        alone = cohort[owner : owner + 1]
        np.testing.assert_allclose(shares[owner], plain_share(query, alone.X, alone.y), atol=1e-13)
        np.testing.assert_array_equal(
            learner.share(query, Cohort(alone.X, alone.y, alone.offsets))[0], shares[owner]
        )
    chosen = np.random.default_rng(2).permutation(len(cohort))[:40]
    np.testing.assert_array_equal(learner.share(query, cohort[chosen]), shares[chosen])


def test_shares_do_not_depend_on_threads(monkeypatch):
    cohort = people(2)
    query = asked(Stump(), cohort, stumps(2, 3), 2)
    shares = Stump().share(query, cohort)
    monkeypatch.setattr("tacit.learners.owners.stump._WORTH", 1)
    monkeypatch.setattr("tacit._util.kernels.cores", lambda: 3)
    np.testing.assert_array_equal(Stump().share(query, cohort), shares)


def test_labels_that_are_no_class_count_as_wrong_and_harm_nothing():
    cohort = people(2)
    strange = Cohort(cohort.X, np.where(cohort.y == 0, 10**12, cohort.y), cohort.offsets)
    query = asked(Stump(), cohort, stumps(2, 3), 2)
    shares = Stump().share(query, strange)
    assert contains(query.learner.space(query.facts), shares).all()


def test_stumps_on_columns_that_do_not_exist_are_refused():
    cohort = people(2)
    query = asked(Stump(), cohort, [], 2)
    # past the query's own check
    object.__setattr__(query, "ensemble", Ensemble(2, ((1.0, StumpModel(5, 0.0, 0, 1)),)))
    with pytest.raises(ValueError, match="columns of stumps must be from 0 to 4"):
        Stump().share(query, cohort)
