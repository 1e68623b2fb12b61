"""The ring as published, and what its neighbours learn."""

import numpy as np
import pytest

from tacit import seeded
from tacit.sums.secure_sum import TwoServers
from tacit_papers.b.ring import Messages, RingSum


def test_two_neighbours_recover_the_owner_between_them():
    ring = RingSum()
    terms = np.random.default_rng(1).random((20, 2))
    messages = ring.messages(terms, seeded(2))
    for owner in range(20):
        # Erase all that the two neighbours do not hold: what owner-1 and owner sent, and the start
        # of the second round.
        mine = np.isin(np.arange(20), [owner - 1, owner] if owner else [0])
        first, second = (
            np.where(mine[:, None], m, np.uint64(0)) for m in (messages.first, messages.second)
        )
        if owner == 0:
            first[-1] = messages.first[-1]
        assert ring.attack(Messages(first, second), owner) == pytest.approx(
            terms[owner], abs=0.5 / ring.steps
        )


def test_one_message_alone_says_little():
    """Only together do they tell: a single message is masked."""
    ring = RingSum()
    zeros, ones = (ring.messages(np.full((20, 1), x), seeded(3)) for x in (0.0, 1.0))
    assert (zeros.first != ones.first).all()
    assert (np.abs(zeros.first.view(np.int64).astype(float)) > 2.0**40).all()


def test_the_simulation_is_marked():
    assert not TwoServers.unsound
    for reason in ("neighbours", "drops out", "differential privacy"):
        assert reason in RingSum.unsound
    assert RingSum().epsilon is None


def test_owners_that_do_not_exist_are_refused():
    messages = RingSum().messages(np.ones((12, 1)), seeded(4))
    with pytest.raises(ValueError, match="owner must be below 12, got 12"):
        RingSum().attack(messages, 12)
