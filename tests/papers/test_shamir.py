"""Shamir's sums: any threshold of servers opens them, fewer see nothing, and they are marked."""

from itertools import combinations

import numpy as np
import pytest

from tacit.mechanisms.streams import seeded
from tacit.sums.secure_sum import SumRefusedError, encode
from tacit_papers.b.shamir import PRIME, ShamirSum

TERMS = np.random.default_rng(1).uniform(0, 1, (40, 2))


def test_any_threshold_of_servers_opens_the_sum():
    sums = ShamirSum(servers=5, threshold=3)
    words = encode(TERMS, sums.steps)
    at = sums.shares(words, seeded(3)).sum(axis=1) % PRIME
    for servers in combinations(range(5), 3):
        opened = sums.open({place + 1: at[place] for place in servers})
        np.testing.assert_array_equal(opened.astype(np.uint64), words.sum(axis=0))
    with pytest.raises(SumRefusedError, match="threshold=3 servers, got 2"):
        sums.open({1: at[0], 2: at[1]})


def test_the_answer_is_exact_and_marked():
    answer = ShamirSum().total(TERMS, seeded(1))
    np.testing.assert_allclose(answer.sums, TERMS.sum(axis=0), atol=40 * 2.0**-20)
    assert "no differential privacy" in ShamirSum.unsound
    with pytest.raises(SumRefusedError, match="minimum=10 owners"):
        ShamirSum().total(TERMS[:9], seeded(1))
    with pytest.raises(ValueError, match="threshold must be at most the 2 servers"):
        ShamirSum(servers=2, threshold=3)


def test_fewer_servers_see_uniform_numbers():
    """Two servers' views of term 0 and of term 1 over 400 owners: means of uniform numbers, within
    5 standard errors (a false alarm in a million).
    """
    sums = ShamirSum(servers=3, threshold=3)
    for term in (0, 1 << 20):
        words = np.full((400, 1), term, dtype=np.uint64)
        views = sums.shares(words, seeded(9)).astype(float) / PRIME
        for place in (0, 1):
            assert abs(views[place].mean() - 0.5) < 5 * np.sqrt(1 / 12 / 400)
