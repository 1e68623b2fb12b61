"""More sites than dimensions are weighed along as many axes as there are dimensions."""

import numpy as np
import pytest

from tacit.algorithms.site_weights import COMBINE, PublicTask, public_only
from tacit.learners.sites.losses import LOSSES

SITES, DIM, ROWS = 40, 5, 120


def some_sites(seed):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=DIM)
    rows = rng.normal(size=(ROWS, DIM))
    signs = np.sign(rows @ truth + 2 * rng.normal(size=ROWS))
    return truth + 2 * rng.normal(size=(SITES, DIM)), PublicTask(rows, signs, LOSSES["logistic"])


def test_features_are_weighed_as_if_each_site_were_one():
    models, task = some_sites(1)
    found = COMBINE["feature"](models, np.ones(SITES), task, public_only(task))
    scores = task.rows @ models.T
    sizes = np.sqrt((scores**2).mean(axis=0))
    plain = task.of(scores / sizes).minimise(1.0) / sizes  # one weight for each site
    assert np.allclose(found.weights, plain, rtol=0, atol=1e-9)
    assert np.allclose(found.f, plain @ models, rtol=0, atol=1e-9)
    assert not np.allclose(found.weights, task.of(scores / sizes).minimise(1.01) / sizes, atol=1e-9)


@pytest.mark.parametrize("seed", [2, 3])
def test_the_guarded_model_is_made_of_its_weights(seed):
    models, task = some_sites(seed)
    alone = public_only(task)
    found = COMBINE["guarded"](models, np.ones(SITES), task, alone)
    made = found.own + found.weights @ models
    assert np.allclose(found.f, made, rtol=0, atol=1e-9)
    order = np.random.default_rng(0).permutation(SITES)
    other = COMBINE["guarded"](models[order], np.ones(SITES), task, alone)
    assert np.allclose(other.weights, found.weights[order], rtol=0, atol=1e-9)
