"""What papers published, by name from the estimators: simulated, and without a guarantee."""

import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

from tacit import PeerEnsemble, PrivateBoosting
from tacit.learners.owners import GROUP, LEARNERS, SIMULATIONS, learner_of, simulate_by_name
from tacit.learners.owners.stump import Stump
from tacit.learners.peers.own_model import SCHEMES
from tacit.sums.secure_sum import SIMULATED_SUMS, TwoServers, simulate_sum
from tacit_papers import simulations

X, y = make_classification(1_500, n_features=5, class_sep=2.0, random_state=1)
PUBLIC = X[:100], y[:100]


@pytest.mark.parametrize("name", ["stump", "centroid", "logistic"])
@pytest.mark.parametrize("paper", ["", " in B"])
def test_published_learners_by_name_are_marked(name, paper):
    model = PrivateBoosting(f"{name}, as published{paper}", epsilon=6.0, rounds=2, random_state=1)
    model.fit(X[100:], y[100:], public=PUBLIC)
    assert model.guarantee_.epsilon is None
    assert "may only be simulated" in model.guarantee_.void
    assert model.guarantee_.mechanism.startswith("piecewise")  # which no paper is without
    assert model.score(X[100:], y[100:]) > 0.55


def test_a_published_learner_goes_through_the_mechanism_that_is_named():
    options: Any = {"epsilon": 6.0, "rounds": 2, "random_state": 1}
    model = PrivateBoosting("stump, as published", mechanism="duchi", **options)
    model.fit(X[100:], y[100:], public=PUBLIC)
    assert model.guarantee_.mechanism.startswith("duchi")


def test_campaigns_know_no_simulation():
    assert not set(SIMULATIONS) & set(LEARNERS)
    with pytest.raises(ValueError, match="learner must be one of"):
        learner_of("stump, as published")
    with pytest.raises(ValueError, match="must say why it is unsound"):
        simulate_by_name(Stump)


@pytest.mark.parametrize("name", ["ring", "shamir"])
def test_exact_sums_void_the_guarantee_and_noisy_ones_are_charged(name):
    options: Any = {"epsilon": 4.0, "rounds": 2, "error": "owners", "random_state": 1}
    exact = PrivateBoosting("stump", sums=name, **options).fit(X[100:], y[100:], public=PUBLIC)
    assert exact.guarantee_.epsilon is None
    assert "no differential privacy" in exact.guarantee_.void
    noisy = PrivateBoosting("stump", sums=TwoServers(epsilon=0.5), **options)
    noisy.fit(X[100:], y[100:], public=PUBLIC)
    asked = len(noisy.report_)
    assert noisy.guarantee_.error_epsilon == pytest.approx(0.5 * asked)


def test_sums_are_named_where_owners_judge_and_only_there():
    with pytest.raises(ValueError, match="sums must be one of ring, shamir, two servers, got"):
        PrivateBoosting(error="owners", sums="rings").fit(X, y, public=PUBLIC)
    with pytest.raises(ValueError, match="with error='owners', and only then"):
        PrivateBoosting(sums="ring").fit(X, y, public=PUBLIC)
    with pytest.raises(ValueError, match="must say why it is unsound"):
        simulate_sum("sound")(TwoServers)
    usual, named = (
        PrivateBoosting("stump", error="owners", sums=sums, rounds=2, random_state=1)
        for sums in (None, "two servers")
    )
    votes = [model.fit(X, y, public=PUBLIC).predict_proba(X) for model in (usual, named)]
    assert (votes[0] == votes[1]).all()


@pytest.mark.parametrize("name", sorted(simulations.NAMES["method"]))
def test_the_published_peers_by_name_are_marked_and_serve_nothing(name, tmp_path):
    model = PeerEnsemble(method=name, epsilon=4.0, rounds=10, random_state=1)
    model.fit(X[100:], y[100:], owners=np.arange(1_400) % 3, public=PUBLIC)
    assert model.guarantee_.epsilon is None
    assert "exact alphas" in model.guarantee_.void
    assert model.models_[2].score(X, y) > 0.75
    for attempt in (lambda: model.predict(X), lambda: model.save(tmp_path / "model.tacit")):
        with pytest.raises(ValueError, match="no model that may be served or saved"):
            attempt()
    with pytest.raises(ValueError, match="simulated as a whole"):
        model.join(X, y, name="newcomer")
    again = model.set_params(method="turns").fit(
        X[100:], y[100:], owners=np.arange(1_400) % 3, public=PUBLIC
    )
    assert again.score(X, y) > 0.75


def test_the_entry_point_names_the_module_that_knows_them_all():
    project = Path(__file__).parents[2] / "papers" / "pyproject.toml"
    named = tomllib.loads(project.read_text())["project"]["entry-points"][GROUP]
    assert [import_module(module) for module in named.values()] == [simulations]
    assert set(SIMULATED_SUMS) == {"ring", "shamir"}
    assert "DiffPRS" in SCHEMES
    assert len(SIMULATIONS) == 6
