"""What each server sees of one owner. Fixed seeds, false-alarm rate 1e-6 per test."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from scipy.stats import chi2_contingency, chisquare

from tacit import secure, seeded
from tacit.sums import protocol as halves
from tacit.sums.protocol import (
    COORDINATOR,
    HELPER,
    SIZE,
    SIZES,
    SumTerms,
    open_halves,
    seal_halves,
)
from tests.sums.made import COORDINATOR_KEY, HELPER_KEY, batch, reports, sum_terms, terms

ALARM = 1e-6
OWNERS = 1500
KEYS = {COORDINATOR: COORDINATOR_KEY, HELPER: HELPER_KEY}


def views(term, stream):
    """Per server: the words it opens, (owners, 2), and those plus what it sees of the other's half
    without opening it.

    The second is what would give the term away if the other's half were not sealed.
    """
    rows = seal_halves(np.full((OWNERS, 2), term), batch(), stream)
    parts = {COORDINATOR: rows[:, : SIZES[COORDINATOR]], HELPER: rows[:, SIZES[COORDINATOR] :]}
    opened = {
        server: open_halves(
            [row.tobytes() for row in parts[server]], batch(), server, KEYS[server]
        ).words
        for server in parts
    }
    sealed = {
        COORDINATOR: np.ascontiguousarray(parts[HELPER][:, 32:48]).view("<u8"),
        HELPER: np.ascontiguousarray(parts[COORDINATOR][:, 32:48]).view("<u8"),
    }
    return opened, {server: opened[server] + sealed[server] for server in parts}


def looks_uniform(words):
    """Chi-square of the upper and of the lower byte."""
    pieces = words.ravel() >> np.uint64(56), words.ravel() & np.uint64(255)
    return all(
        chisquare(np.bincount(p.astype(np.int64), minlength=256)).pvalue > ALARM / 2 for p in pieces
    )


def look_alike(first, second):
    """Chi-square of two samples of words, by the upper halves of their bytes."""
    counts = np.stack(
        [np.bincount(words.ravel().view(np.uint8) >> 4, minlength=16) for words in (first, second)]
    )
    return bool(chi2_contingency(counts[:, counts.any(axis=0)]).pvalue > ALARM)


@pytest.mark.parametrize("stream", [seeded(1), secure()], ids=["seeded", "secure"])
def test_neither_server_alone_sees_a_difference_between_two_terms(stream):
    nothing, more_of_nothing = views(0.0, stream.child("nothing"))
    everything, more_of_everything = views(1.0, stream.child("everything"))
    for server in KEYS:
        assert looks_uniform(nothing[server])
        assert looks_uniform(everything[server])
        assert look_alike(more_of_nothing[server], more_of_everything[server])


def test_a_short_mask_is_noticed(monkeypatch):
    """Near miss: masks of 63 bits. Sums are still right, and each server sees more than it
    should.
    """
    whole = halves.mask_of
    monkeypatch.setattr(halves, "mask_of", lambda seed: whole(seed) >> np.uint64(1))
    for opened in views(0.0, seeded(1))[0].values():
        assert not looks_uniform(opened)


def test_a_half_that_is_not_sealed_is_noticed(monkeypatch):
    """Near miss: halves that are only wrapped. Each alone is as uniform as ever; the coordinator
    reads both.
    """
    monkeypatch.setattr(
        halves, "seal", lambda plain, to, context, secret: secret + plain + bytes(16)
    )
    monkeypatch.setattr(halves, "unseal", lambda sealed, key, context: sealed[32:-16])
    nothing, everything = (views(term, seeded(1).child(str(term))) for term in (0.0, 1.0))
    assert looks_uniform(nothing[0][COORDINATOR])
    assert not look_alike(nothing[1][COORDINATOR], everything[1][COORDINATOR])


def test_halves_of_one_owner_are_the_same_alone_and_among_many():
    values = terms(6)
    together = reports(values)
    for i in range(6):
        alone = seal_halves(values[i : i + 1], batch(), seeded(2).of(np.array([i])))
        assert alone[0].tobytes() == together[i]
    assert len(together[0]) == SIZE


def test_a_half_opens_for_its_server_and_its_batch_only():
    sent = [report[SIZES[COORDINATOR] :] for report in reports(terms(4))]
    assert len(open_halves(sent, batch(), HELPER, HELPER_KEY).owners) == 4
    others = [
        batch(question=b"r" * 32),
        batch(number=2),
        batch(epsilon=2.0),
        batch(minimum=4),
        batch(coordinator=X25519PrivateKey.generate()),
    ]
    for other in others:
        assert len(open_halves(sent, other, HELPER, HELPER_KEY).owners) == 0
    assert len(open_halves(sent, batch(), HELPER, COORDINATOR_KEY).owners) == 0
    first = [report[: SIZES[COORDINATOR]] for report in reports(terms(4))]
    # of another length, too
    assert len(open_halves(first, batch(), HELPER, COORDINATOR_KEY).owners) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sum_terms(epsilon=0.0), "epsilon must be a finite number > 0, got 0.0"),
        (
            lambda: sum_terms(epsilon=1e-9),
            "epsilon must be at least 1.9e-06 for 2 entries, got 1e-09",
        ),
        (lambda: sum_terms(minimum=0), "minimum must be a whole number >= 1, got 0"),
        (
            lambda: SumTerms(1.0, 3, b"", bytes(32)),
            "key of the coordinator must be 32 bytes, got 0",
        ),
        (
            lambda: sum_terms(helper=COORDINATOR_KEY),
            "coordinator and helper must have different keys",
        ),
        (lambda: batch(question=b""), "question must be a digest of 32 bytes, got 0"),
        (lambda: batch(number=0), "number must be a whole number >= 1, got 0"),
    ],
)
def test_bad_facts_are_refused(make, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        make()
