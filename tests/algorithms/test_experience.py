"""What a plan tells of a forecast of sums."""

from dataclasses import replace

import numpy as np
import pytest

from tacit.algorithms.experience import is_linear, weigh_forecast
from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.data.cohort import Public


def models(rows=120):
    coins = np.random.default_rng(3)
    X = coins.normal(size=(rows, 4))
    public = Public(X, (X[:, 0] + coins.normal(size=rows) > 0).astype(np.int64), 2)
    return public, *(
        fit_public(public, (name,)) for name in ("logistic regression", "boosted trees")
    )


def test_a_line_of_many_rows_and_many_mistakes_promise_less():
    _, line, trees = models()
    assert is_linear(line)
    assert not is_linear(trees)
    assert weigh_forecast(line, 50, 0.2) == weigh_forecast(trees, 5000, 0.2) == 1
    assert weigh_forecast(line, 800, 0.2) == pytest.approx(0.5)
    assert weigh_forecast(trees, 800, 0.0125) == pytest.approx(2)
    assert weigh_forecast(line, 10, 0.2) == 1


def test_it_is_what_plans_tell_and_not_what_decides(monkeypatch):
    monkeypatch.setattr("tacit.algorithms.wide_features.WIDE", 150)
    public, line, _ = models()
    look = look_ahead(public, line, Population(20_000, 1.0, 1, "two servers"))
    assert not look.why_not
    error = 1 - line.expected
    assert look.promised == pytest.approx(look.rise * weigh_forecast(line, 120, error))
    assert replace(look, rise=0.9).promised == pytest.approx(error)  # no more than is wrong
    alone = look_ahead(public, line, Population(100_000, 1.0))
    assert alone.promised == alone.rise  # only sums are weighed
