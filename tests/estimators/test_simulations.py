"""What papers published, by name from the estimators: simulated, and without a guarantee."""

from typing import Any

import pytest
from sklearn.datasets import make_classification

import tacit_papers.b.learners  # noqa: F401 - makes them known by name
from tacit import PrivateBoosting
from tacit.learners.owners import LEARNERS, SIMULATIONS, learner_of, simulate_by_name
from tacit.learners.owners.stump import Stump
from tacit.sums.secure_sum import TwoServers
from tacit_papers.b.ring import RingSum
from tacit_papers.b.shamir import ShamirSum

X, y = make_classification(1_500, n_features=5, class_sep=2.0, random_state=1)
PUBLIC = X[:100], y[:100]


@pytest.mark.parametrize("name", ["stump", "centroid", "logistic"])
@pytest.mark.parametrize("paper", ["", " in B"])
def test_published_learners_by_name_are_marked(name, paper):
    model = PrivateBoosting(f"{name}, as published{paper}", epsilon=6.0, rounds=2, random_state=1)
    model.fit(X[100:], y[100:], public=PUBLIC)
    assert model.guarantee_.epsilon is None
    assert "may only be simulated" in model.guarantee_.void
    assert model.score(X[100:], y[100:]) > 0.55


def test_campaigns_know_no_simulation():
    assert not set(SIMULATIONS) & set(LEARNERS)
    with pytest.raises(ValueError, match="learner must be one of"):
        learner_of("stump, as published")
    with pytest.raises(ValueError, match="must say why it is unsound"):
        simulate_by_name(Stump)


@pytest.mark.parametrize("kind", [RingSum, ShamirSum])
def test_exact_sums_void_the_guarantee_and_noisy_ones_are_charged(kind):
    options: Any = {"epsilon": 4.0, "rounds": 2, "error": "owners", "random_state": 1}
    exact = PrivateBoosting("stump", sums=kind(), **options).fit(X[100:], y[100:], public=PUBLIC)
    assert exact.guarantee_.epsilon is None
    assert "no differential privacy" in exact.guarantee_.void
    noisy = PrivateBoosting("stump", sums=TwoServers(epsilon=0.5), **options)
    noisy.fit(X[100:], y[100:], public=PUBLIC)
    asked = len(noisy.report_)
    assert noisy.guarantee_.error_epsilon == pytest.approx(0.5 * asked)
