"""Contributions are exact for every kind of model that is published."""

import itertools
import math

import numpy as np
import pytest

import tacit
from tacit.estimators import PeerEnsemble, PrivateBoosting, PrivateClassifier, SiteEnsemble
from tests.estimators.data import task

X, Y = task(rows=900)
THREE = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
SITES = np.arange(700) % 4
PUBLIC = X[700:]


def fitted(model, y=Y):
    given = {} if isinstance(model, PrivateClassifier | PrivateBoosting) else {"owners": SITES}
    return model.fit(X[:700], y[:700], public=(PUBLIC, y[700:]), **given)


MODELS = {
    "own model alone": lambda: fitted(PrivateClassifier(random_state=1)),
    "three classes": lambda: fitted(PrivateClassifier(random_state=1), THREE),
    "owners' answers": lambda: fitted(PrivateClassifier(16.0, combine="private", random_state=1)),
    "stumps": lambda: fitted(PrivateBoosting("stump", epsilon=8.0, rounds=3, random_state=1)),
    "sites": lambda: fitted(SiteEnsemble(epsilon=9.0, random_state=1)),
    "turns": lambda: fitted(PeerEnsemble(epsilon=5.0, rounds=6, random_state=1)),
    "trees": lambda: fitted(PeerEnsemble(epsilon=5.0, rounds=6, method="trees", random_state=1)),
}


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_what_the_model_says(name):
    model = MODELS[name]()
    found = model.explain(PUBLIC)
    explainer = model.explainer_
    rows = model.schema_.encode(PUBLIC).X
    np.testing.assert_allclose(found.scores, explainer.scores(rows), atol=1e-9)
    best = found.scores.argmax(axis=1) if found.scores.shape[1] > 1 else found.scores[:, 0] > 0
    np.testing.assert_array_equal(model.classes_[best.astype(int)], model.predict(PUBLIC))
    assert found.importances.shape == (X.shape[1],)


def shapley(explainer, row):
    """By the definition, over all sets of columns."""
    count = len(explainer.groups)
    values = {}
    for chosen in itertools.chain.from_iterable(
        itertools.combinations(range(count), size) for size in range(count + 1)
    ):
        mixed = explainer.unknown_row.copy()
        for column in chosen:
            mixed[:, explainer.groups[column]] = row[explainer.groups[column]]
        values[frozenset(chosen)] = explainer.scores(mixed)[0]
    total = np.zeros((count, len(values[frozenset()])))
    for column in range(count):
        for before, value in values.items():
            if column not in before:
                size = len(before)
                weight = math.factorial(size) * math.factorial(count - size - 1)
                more = values[before | {column}]
                total[column] += weight / math.factorial(count) * (more - value)
    return total


@pytest.mark.parametrize("name", ["stumps", "turns", "trees"])
def test_contributions_are_shapley_values_where_two_columns_interact_at_most(name):
    model = MODELS[name]()
    rows = model.schema_.encode(PUBLIC[:3]).X
    for row, told in zip(rows, model.explain(PUBLIC[:3]).contributions, strict=True):
        np.testing.assert_allclose(told, shapley(model.explainer_, row), atol=1e-9)


def test_a_loaded_model_explains_as_the_fitted_one(tmp_path):
    model = MODELS["own model alone"]()
    model.save(tmp_path / "m.tacit")
    again = tacit.load(tmp_path / "m.tacit")
    np.testing.assert_array_equal(
        again.explain(PUBLIC).contributions, model.explain(PUBLIC).contributions
    )


def test_coefficients_of_what_is_linear_and_of_nothing_else():
    model = MODELS["owners' answers"]()
    rows = model.schema_.encode(PUBLIC).X
    said = model.explainer_.scores(rows)
    np.testing.assert_allclose(rows @ model.coef_.T + model.intercept_, said, atol=1e-9)
    sites = MODELS["sites"]()
    signs = np.sign(sites.schema_.encode(PUBLIC).X @ sites.coef_.T + sites.intercept_)
    np.testing.assert_array_equal(signs[:, 0], np.sign(sites.decision_function(PUBLIC)))
    assert not hasattr(MODELS["turns"](), "coef_")
    assert not hasattr(PrivateClassifier(), "coef_")


def test_a_curve_is_the_whole_of_a_sum_over_columns():
    explainer = MODELS["turns"]().explainer_
    for curve, group in zip(explainer.curves, explainer.groups, strict=True):
        rows = np.repeat(explainer.unknown_row, len(curve.places), axis=0)
        feature = explainer.schema.features[explainer.groups.index(group)]
        rows[:, group] = feature.encode(np.array(curve.places))[0]
        told = explainer.explain(rows).contributions
        np.testing.assert_allclose(told.sum(axis=1), curve.changes, atol=1e-9)
