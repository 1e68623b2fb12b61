"""How sure models of sums are: as owners say, whatever clipping has made of their shares."""

import numpy as np
import pytest

from tacit import seeded
from tacit.algorithms import public_curvature, summed_gradients, wide_features
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import refine
from tacit.algorithms.share_lengths import MadeUpOwners
from tacit.algorithms.sureness import likely_factor, weigh_answer, weigh_labels
from tacit.data.cohort import Cohort, Public
from tacit.engines.inline import Inline
from tacit.learners.models.scores import contrasts, softmax


def told(factor, rows, classes=2, owners=40_000, radius=0.25):
    """Public features and scores, and what owners say along a model whose labels have the chances
    of its scores times a factor; shares are clipped at a length that leaves half of them.
    """
    coins = np.random.default_rng(1)
    phi = coins.normal(size=(400, 30)) / np.sqrt(30)
    theta = 6 * coins.normal(size=(30, classes - 1))
    scores = phi @ theta @ contrasts(classes).T
    drawn = coins.integers(0, 400, size=(owners, rows))
    chances = softmax(factor * scores)[drawn].cumsum(axis=2)
    labels = (chances < coins.random((owners, rows, 1))).sum(axis=2)
    residuals = (np.eye(classes)[labels] - softmax(scores)[drawn]) @ contrasts(classes)
    shares = np.einsum("nrc,nrf->ncf", residuals, phi[drawn]) / rows
    lengths = np.sqrt((shares**2).sum(axis=(1, 2)))
    radius = float(np.quantile(lengths, radius))
    said = (shares * np.minimum(1, radius / lengths)[:, None, None]).mean(axis=0)
    return phi, scores, radius, float((said * theta.T).sum())


@pytest.mark.parametrize(("rows", "classes"), [(1, 2), (4, 2), (3, 4), (70, 2)])
@pytest.mark.parametrize("factor", [0.5, 1.0, 1.4])
def test_an_answer_tells_by_which_factor_scores_are_to_be_multiplied(factor, rows, classes):
    phi, scores, radius, said = told(factor, rows, classes, owners=40_000 // rows)
    owners = MadeUpOwners.of(phi, rows)
    evidence = weigh_answer(owners, scores, scores, radius=radius, said=said, error=said / 100)
    assert likely_factor(evidence) == pytest.approx(factor, rel=0.15)


def test_what_clipping_hides_must_be_reckoned_with():
    """As if shares had been whole, the same answer says far too much."""
    phi, scores, radius, said = told(0.5, 1)
    owners = MadeUpOwners.of(phi, 1)
    error = said / 100
    right, wrong = (
        likely_factor(weigh_answer(owners, scores, scores, radius=each, said=said, error=error))
        for each in (radius, 1e9)
    )
    assert right == pytest.approx(0.5, rel=0.15)
    assert abs(wrong - 0.5) > 0.15


def test_noise_tells_nothing():
    phi, scores, radius, _ = told(1.0, 1)
    owners = MadeUpOwners.of(phi, 1)
    evidence = weigh_answer(owners, scores, scores, radius=radius, said=3.0, error=1e3)
    assert likely_factor(evidence) == pytest.approx(likely_factor(), rel=1e-3)


def test_labels_that_a_model_has_not_seen_tell_as_well():
    coins = np.random.default_rng(2)
    scores = coins.normal(size=(2000, 2)) * 2
    labels = (coins.random(2000) > softmax(0.6 * scores)[:, 0]).astype(int)
    assert likely_factor(weigh_labels(scores, labels)) == pytest.approx(0.6, rel=0.1)


@pytest.mark.parametrize("known", [100, 320])
def test_chances_are_right_and_classes_as_before(monkeypatch, known):
    """A line of which noise of 300 features makes far too much: the log loss comes within two
    hundredths of what any factor gives; without it, it is worse than the data user's own.
    """
    monkeypatch.setattr(wide_features, "WIDE", 300)
    monkeypatch.setattr(public_curvature, "_STAND_INS", 500)
    coins, size = np.random.default_rng(5), 24_000
    X = coins.normal(size=(size, 12)) / 4
    y = (coins.random(size) < 1 / (1 + np.exp(-3 * X[:, 0] - 2 * X[:, 1]))).astype(int)
    public, test, labels = Public(X[:known], y[:known], 2), X[1000:11_000], y[1000:11_000]
    own, rows = fit_public(public), np.arange(10_000)
    crowd = Population(13_000, 1.0, 1, "two servers")

    def loss(scores):
        return float(-np.log(softmax(scores)[rows, labels]).mean())

    def refined():
        asks = refine(public, crowd, "auto", 1.0, own=own)
        return Inline(Cohort.of(X[11_000:], y[11_000:]), 1.0, seeded(1)).run(asks)

    sure = refined()
    monkeypatch.setattr(summed_gradients, "likely_factor", lambda *evidence: 1.0)
    plain = refined()
    scores = sure.model.scores(test)
    best = min(loss(factor * scores) for factor in np.exp(np.linspace(-1.5, 1.0, 26)))
    assert loss(scores) < best + 0.02
    assert loss(scores) < loss(own.model.scores(test)) < loss(plain.model.scores(test))
    assert (sure.model.predict(test) == plain.model.predict(test)).all()
