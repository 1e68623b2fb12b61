"""One share per owner: bounded, the same alone and in a block, and linear discriminants out of
it.
"""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from tacit.algorithms.feature_maps import basis_of, within_classes
from tacit.algorithms.public_baseline import as_scores, fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import discriminate
from tacit.data.cohort import Cohort, Public
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import FeatureMap, Rows
from tacit.learners.models.scores import Linear, ScoreModel, Trees, contrasts
from tacit.learners.owners.gradient import Discriminant, class_residuals
from tacit.learners.query import Answer
from tacit.wire import WireError, decode, encode


def blobs(rows, classes=2, dim=4, seed=0, frequencies=None):
    coins = np.random.default_rng(seed)
    y = coins.choice(classes, size=rows, p=frequencies)
    centres = np.random.default_rng(7).normal(size=(classes, dim))
    X = 0.2 * (centres[y] + coins.normal(size=(rows, dim)) @ np.diag(np.linspace(0.5, 1.5, dim)))
    return np.clip(X, -1, 1), y


def query(learner, classes=2, dim=4, owners=10):
    facts = Facts(dim, classes)
    return ShareQuery(
        1, 1, owners, learner, facts, Ensemble(classes), ReportTerms("privunit", (1.0,))
    )


def learner_of(name, classes=2, model=None):
    X, y = blobs(200, classes)
    public = Public(X, y, classes)
    basis = basis_of((name,) if name != "within" else (), public)
    features = within_classes(public) if name == "within" else basis.feature_map(np.ones(basis.dim))
    return Discriminant(features, model or fit_public(public).model, 1.0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["within", "linear", "products", "waves", "leaves"])
def test_an_owner_alone_says_the_same_bits(name, classes):
    learner = learner_of(name, classes)
    X, y = blobs(120, classes, seed=3)
    cohort = Cohort.of(X, y, np.random.default_rng(1).integers(0, 30, 120))
    asked = query(learner, classes)
    together = learner.share(asked, cohort)
    assert together.shape == (len(cohort), (classes - 1) * learner.features.dim)
    for owner in (0, 7, len(cohort) - 1):
        np.testing.assert_array_equal(
            learner.share(asked, cohort[owner : owner + 1])[0], together[owner]
        )


def test_share_is_the_mean_of_residuals_times_features():
    X, y = blobs(60, classes=3, seed=5)
    cohort = Cohort.of(X, y, np.arange(60) // 6)
    learner = learner_of("linear", classes=3)
    p = learner.model.probabilities(X)
    products = np.einsum(
        "ik,ij->ikj", (np.eye(3)[y] - p) @ contrasts(3), learner.features.transform(X)
    )
    wanted = products.reshape(10, 6, -1).mean(axis=1)
    np.testing.assert_allclose(learner.share(query(learner, 3), cohort), wanted, atol=1e-12)


def test_an_owner_without_rows_says_nothing():
    cohort = Cohort.of(np.zeros((2, 4)), np.array([-1, 0]), np.array([0, 1]))
    shares = learner_of("linear").share(query(learner_of("linear")), cohort)
    assert (shares[0] == 0).all()
    assert (shares[1] != 0).any()


def test_label_signed_mean_is_the_share_of_two_classes_without_a_model():
    X, y = blobs(50)
    learner = Discriminant(FeatureMap(Rows(), np.zeros(4), np.eye(4)), ScoreModel(2), 1.0)
    share = learner.share(query(learner), Cohort.of(X, y, np.zeros(50)))[0]
    signed = ((1 - 2 * y)[:, np.newaxis] * np.hstack([np.ones((50, 1)), X])).mean(axis=0) / np.sqrt(
        2
    )
    np.testing.assert_allclose(share, signed, atol=1e-12)


@pytest.mark.parametrize("frequencies", [(0.5, 0.5), (0.8, 0.2), (0.5, 0.3, 0.2)])
def test_without_noise_it_is_linear_discriminants(frequencies):
    classes = len(frequencies)
    X, y = blobs(4000, classes, frequencies=frequencies)
    asked, answer = _exact(X, y, classes)
    mine = asked.learner.learn(asked, answer)
    theirs = LinearDiscriminantAnalysis().fit(X, y)
    fresh, _ = blobs(2000, classes, seed=9, frequencies=frequencies)
    assert np.mean(mine.predict(fresh) == theirs.predict(fresh)) > 0.985
    assert np.abs(mine.probabilities(fresh) - theirs.predict_proba(fresh)).mean() < 0.02


def _exact(X, y, classes):
    asks = discriminate(Public(X, y, classes), Population(len(y), 1.0), "none", 1.0)
    asked = next(asks)
    share = asked.learner.share(asked, Cohort.of(X, y, np.zeros(len(y))))[0]
    return asked, Answer(share, np.zeros(len(share)), len(y))


def test_residuals_keep_their_length():
    scores, y = np.random.default_rng(2).normal(size=(20, 4)), np.arange(20) % 4
    raw = np.eye(4)[y] - np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose((class_residuals(scores, y) ** 2).sum(axis=1), (raw**2).sum(axis=1))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        HistGradientBoostingClassifier(max_iter=20, early_stopping=False),
    ],
    ids=["logistic", "discriminants", "trees"],
)
def test_public_models_as_arrays_say_the_same(model, classes):
    X, y = blobs(300, classes)
    fresh, _ = blobs(300, classes, seed=8)
    fitted = model.fit(X, y)
    scores = as_scores(fitted, classes)
    np.testing.assert_allclose(scores.probabilities(fresh), fitted.predict_proba(fresh), atol=1e-9)
    again = decode(encode(scores), ScoreModel)
    np.testing.assert_array_equal(again.scores(fresh), scores.scores(fresh))


@pytest.mark.parametrize("name", ["within", "linear", "products", "waves", "leaves"])
def test_queries_travel(name):
    asked = query(learner_of(name))
    again = decode(encode(asked), ShareQuery)
    X, y = blobs(30, seed=6)
    cohort = Cohort.of(X, y, np.arange(30) // 3)
    np.testing.assert_array_equal(
        again.learner.share(again, cohort), asked.learner.share(asked, cohort)
    )


def test_queries_for_other_rows_are_refused():
    learner = learner_of("products")
    with pytest.raises(ValueError, match="columns"):
        query(learner, dim=5)
    with pytest.raises(ValueError, match="classes"):
        query(learner, classes=3)
    bad = Discriminant(
        learner.features, ScoreModel(2, (Linear(np.zeros((3, 2)), np.zeros(2)),)), 1.0
    )
    with pytest.raises(ValueError, match="weights"):
        query(bad)
    with pytest.raises(ValueError, match="radius"):
        Discriminant(learner.features, learner.model, 0.0)


def test_trees_that_never_end_are_refused():
    loop, cut, root = np.zeros(2, np.int64), np.zeros(2), np.zeros(1, np.int64)
    with pytest.raises(ValueError, match="after their node"):
        Trees(np.array([0, -1]), cut, loop, loop, cut, root, root)
    good = Trees(np.array([-1, -1]), cut, loop, loop, cut, root, root)
    with pytest.raises(WireError):
        decode(encode(good)[:-1], Trees)
