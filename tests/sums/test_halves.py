"""What each server sees of one owner. Fixed seeds, false-alarm rate 1e-6 per test."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from scipy.stats import chi2_contingency, chisquare

from tacit import secure, seeded
from tacit.sums import halves
from tacit.sums.halves import COORDINATOR, HELPER, SumTerms, TallyLaw, open_halves, seal_reports
from tacit.sums.prio3 import instances
from tacit.sums.prio3.prio3 import HelperShare, LeaderShare, Prio3
from tests.sums.made import COORDINATOR_KEY, HELPER_KEY, batch, reports, sum_terms, terms

ALARM = 1e-6
OWNERS = 300
KEYS = {COORDINATOR: COORDINATOR_KEY, HELPER: HELPER_KEY}
CUT = batch().half_size(COORDINATOR)


def views(term, stream):
    """Per server: the words of the measurement that it holds, (owners, words); and bytes of these
    beside what it sees of the other's half without opening it.

    The second is what would give the term away if the other's half were not sealed.
    """
    about, law = batch(), batch().terms.law
    rows = seal_reports(law.measure(np.full((OWNERS, 2), term)), about, stream)
    parts = {COORDINATOR: rows[:, :CUT], HELPER: rows[:, CUT:]}
    words = {}
    for server, key in KEYS.items():
        opened = open_halves([row.tobytes() for row in parts[server]], about, server, key)
        share, _ = instances.decode_input(law.prio3, server, opened.inputs)
        if isinstance(share, LeaderShare):
            words[server] = share.meas[:, :, 0]
        else:
            words[server] = law.prio3._helper_meas(b"", HELPER, share.seed)[:, :, 0]
    sealed = {
        COORDINATOR: np.ascontiguousarray(parts[HELPER][:, 112:144]).view("<u8"),
        HELPER: np.ascontiguousarray(parts[COORDINATOR][:, 112:144]).view("<u8"),
    }
    both = {server: words[server][:, :4] + sealed[server] for server in parts}
    return words, both


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
    whole = Prio3._helper_meas
    monkeypatch.setattr(Prio3, "_helper_meas", lambda *given: whole(*given) >> np.uint64(1))
    for opened in views(0.0, seeded(1))[0].values():
        assert not looks_uniform(opened)


def test_a_half_that_is_not_sealed_is_noticed(monkeypatch):
    """Near miss: halves that are only wrapped. The helper's is a seed and as uniform as ever; the
    helper reads the coordinator's, too.
    """
    monkeypatch.setattr(
        halves, "seal", lambda plain, to, context, secret: secret + plain + bytes(16)
    )
    monkeypatch.setattr(halves, "unseal", lambda sealed, key, context: sealed[32:-16])
    rows = reports(np.full((4, 2), 1.0))
    law = batch().terms.law
    opened = open_halves([row[CUT:] for row in rows], batch(), HELPER, HELPER_KEY)
    share, _ = instances.decode_input(law.prio3, HELPER, opened.inputs)
    assert isinstance(share, HelperShare)
    context = halves_context()
    mine = law.prio3._helper_meas(context, HELPER, share.seed)
    theirs, _ = instances.decode_input(
        law.prio3, COORDINATOR, np.array([list(row[112 : CUT - 16]) for row in rows], np.uint8)
    )
    assert isinstance(theirs, LeaderShare)
    field = law.prio3.circuit.field
    both = field.add(mine, theirs.meas)
    assert law.prio3.circuit.field.integers(law.prio3.circuit.truncate(both)[0]) == [1 << 20] * 2


def halves_context():
    from tacit.sums.prio3.instances import bound_context

    return bound_context(batch().terms.law.prio3, batch().application)


def test_halves_of_one_owner_are_the_same_alone_and_among_many():
    values = terms(6)
    together = reports(values)
    for i in range(6):
        alone = reports(values[i : i + 1], stream=seeded(2).of(np.array([i])))
        assert alone[0] == together[i]
    assert len(together[0]) == batch().report_size


def test_a_half_opens_for_its_server_and_its_batch_only():
    sent = [report[CUT:] for report in reports(terms(4))]
    assert len(open_halves(sent, batch(), HELPER, HELPER_KEY).places) == 4
    others = [
        batch(question=b"r" * 32),
        batch(number=2),
        batch(attempt=2),
        batch(epsilon=2.0),
        batch(minimum=4),
        batch(coordinator=X25519PrivateKey.generate()),
    ]
    for other in others:
        assert len(open_halves(sent, other, HELPER, HELPER_KEY).places) == 0
    assert len(open_halves(sent, batch(), HELPER, COORDINATOR_KEY).places) == 0
    first = [report[:CUT] for report in reports(terms(4))]
    # of another length, too
    assert len(open_halves(first, batch(), HELPER, COORDINATOR_KEY).places) == 0


def test_a_term_off_the_grid_never_leaves():
    for wrong in ([[-1, 0]], [[0, (1 << 20) + 1]]):
        with pytest.raises(ValueError, match="measurement must be"):
            seal_reports(np.array(wrong), batch(), seeded(1))


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
            lambda: SumTerms(TallyLaw(1.0, 3), b"", bytes(32)),
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
