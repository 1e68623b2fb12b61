"""The statistical audit: quiet on every shipped mechanism, loud on every broken one."""

import numpy as np
import pytest

from tacit import Ball, Box, Duchi, Piecewise, PrivUnit, seeded
from tacit.audit.examination import corners, examine
from tacit.audit.statistical import epsilon_lower_bound
from tests.mechanisms.cases import PRIVATE, name
from tests.mechanisms.mutants import (
    CAUGHT_BY,
    BudgetNotSplit,
    HalfSensitivity,
    NameTellsTheChoice,
    NoScale,
    OneNoiseForAll,
    OneWordForBoth,
    RawRest,
)

SHARP = (Piecewise, Duchi)  # of these nearly all that they spend is proven, which takes more


FOUR = (  # need several coordinates
    NoScale, BudgetNotSplit, RawRest, HalfSensitivity,
    OneNoiseForAll, OneWordForBoth, NameTellsTheChoice,
)  # fmt: skip


def examination(kind, epsilon, dim):
    ranks = issubclass(kind, PrivUnit)
    space = Ball(dim=dim) if ranks else Box(dim=dim)
    n = 20_000 if ranks else 200_000 if kind in SHARP else 60_000
    return examine(
        kind(epsilon=epsilon, space=space), corners(dim), n, seeded(21), confidence=0.999
    )


@pytest.mark.parametrize(("dim", "epsilon"), [(1, 0.5), (4, 1.0), (1, 3.0), (4, 5.0)])
@pytest.mark.parametrize("kind", PRIVATE, ids=name)
def test_shipped_mechanisms_are_sound(kind, dim, epsilon):
    found = examination(kind, epsilon, dim)
    assert found.sound, found
    if kind in SHARP:
        assert found.measured > 0.9 * epsilon, "the audit is too weak to mean anything"


@pytest.mark.parametrize("mutant", CAUGHT_BY, ids=name)
def test_broken_mechanisms_are_caught(mutant):
    epsilon = 5.0 if mutant in (BudgetNotSplit, OneWordForBoth) else 1.0  # two are sampled
    found = examination(mutant, epsilon, 4 if mutant in FOUR else 1)
    assert not getattr(found, CAUGHT_BY[mutant]), found
    assert not found.sound


def test_the_bound_holds_as_often_as_it_says():
    """Binomial frequencies at exactly ratio e: at 95 % confidence, the bound passes 1 in at most
    5 % of trials.
    """
    rng = np.random.default_rng(0)
    hits = rng.binomial(2000, 0.7310585786, size=2000)
    others = rng.binomial(2000, 0.2689414214, size=2000)
    wrong = sum(
        epsilon_lower_bound(int(h), 2000, int(o), 2000, 0.95) > 1
        for h, o in zip(hits, others, strict=True)
    )
    assert wrong <= 0.05 * 2000


@pytest.mark.parametrize(("hits", "others"), [(0, 0), (0, 100), (100, 100), (50, 60)])
def test_no_evidence_is_no_bound(hits, others):
    assert epsilon_lower_bound(hits, 100, others, 100, 0.999) == 0


def test_certain_against_impossible_is_a_large_but_finite_bound():
    assert 2 < epsilon_lower_bound(100, 100, 0, 100, 0.999) < np.inf
