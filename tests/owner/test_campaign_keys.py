"""A campaign is known by its key: two of one name have nothing in common in a ledger."""

from fractions import Fraction

import numpy as np
import pytest
from benchmarks.templates import campaigns
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import Cohort
from tacit.learners.query import PURPOSE, Invitation, digest_of
from tacit.owner.gate import Gate, Reason, RefusedError
from tacit.owner.ledger import Ledger
from tacit.owner.ledger_entries import CampaignId, Entry
from tacit.owner.spending import owners
from tacit.wire.envelopes import public_bytes, sign
from tests.owner.made import policy


def terms():
    """A campaign: one answer of each owner, at epsilon 1."""
    return campaigns()[1]


def gate_of(ledger, key):
    rows = Cohort(np.zeros((2, terms().schema.dim)), np.array([0, 1]), np.array([0, 2]))
    return Gate(
        rows, ["me"], terms().schema, policy(epsilon_total=2, releases=9), ledger, key.public_key(),
        template=terms().template(),
    )  # fmt: skip


def asked(key, number=1):
    invitation = Invitation(
        terms().name, number, 1 << 40, digest_of(terms().schema), terms().example()
    )
    return sign(invitation, PURPOSE, key)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "l.db", tmp_path / "l.mark")


def test_two_campaigns_of_one_name_count_their_answers_apart(ledger):
    first, second = (Ed25519PrivateKey.generate() for _ in range(2))
    said = gate_of(ledger, first).answer(asked(first))
    other = gate_of(ledger, second).answer(asked(second))
    assert [(entry.cost, entry.key) for entry in ledger.entries()] == [
        (1, public_bytes(key.public_key()).hex()) for key in (first, second)
    ]
    for key in (first, second):
        with pytest.raises(RefusedError) as refused:  # one answer was agreed to
            gate_of(ledger, key).answer(asked(key, 2))
        assert refused.value.reason is Reason.SPENT
    assert gate_of(ledger, first).answer(asked(first)) == said
    assert gate_of(ledger, second).answer(asked(second)) == other
    # not the bytes of the first, which would tell that it is one owner; two may be equal by chance
    more = (Ed25519PrivateKey.generate() for _ in range(6))
    assert len({said, other, *(gate_of(ledger, key).answer(asked(key)) for key in more)}) > 1


def test_both_pay_from_one_budget(ledger):
    keys = [Ed25519PrivateKey.generate() for _ in range(3)]
    for key in keys:
        gate_of(ledger, key).answer(asked(key))
    assert [entry.epsilon for entry in ledger.entries()] == ["1", "1", "0"]


def entry(number, key, delta="1/1000"):
    return Entry("me", bytes([number]) * 32, "study", number, 0, "1", "owner", "x", "y", b"", "1",
                 delta, key)  # fmt: skip


def test_deltas_and_rhos_of_two_keys_are_two_campaigns(ledger):
    with ledger.transaction() as book:
        book.add(entry(1, "aa"))
        book.add(entry(2, "aa"))
        book.add(entry(3, "bb"))
    each = Fraction(1, 1000)
    with ledger.transaction() as book:
        assert book.rho_of("me", CampaignId("study", "aa"), each) == 2
        assert book.rho_of("me", CampaignId("renamed", "bb"), each) == 1
        assert book.delta_of("me", CampaignId("study", "aa"), each) == 2 * each
        assert book.delta_of("me", CampaignId("study", "cc"), each) == 3 * each
    assert owners(ledger.entries(), None)["me"]["delta"] == "0.002"


def test_a_line_without_a_key_counts_for_every_campaign_of_its_name(ledger):
    with ledger.transaction() as book:
        book.add(entry(1, ""))
        book.add(entry(2, "aa"))
        assert book.count_answers("me", CampaignId("study", "aa"), "x") == 2
        assert book.count_answers("me", CampaignId("study", "bb"), "x") == 1
        assert book.count_answers("me", CampaignId("other", "bb"), "x") == 0
        assert book.find("me", bytes([1]) * 32, "bb").number == 1
        assert book.find("me", bytes([2]) * 32, "bb") is None
