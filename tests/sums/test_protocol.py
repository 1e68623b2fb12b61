"""Two servers over the network without the network: exact sums of those counted, and what is
left out or refused.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import secure, seeded
from tacit.sums.base import SumRefusedError
from tacit.sums.protocol import (
    COORDINATOR,
    SIZES,
    CoordinatorSide,
    HelperSide,
    HelperSum,
    RelayedHalves,
)
from tacit.sums.two_servers import TwoServers
from tacit.wire import WireError, decode, encode
from tests.sums.made import (
    COORDINATOR_KEY,
    HELPER_KEY,
    added_up,
    batch,
    plain,
    reports,
    terms,
    without_noise,
)

CUT = SIZES[COORDINATOR]


def spoilt(report, at):
    """A report with one bit changed."""
    changed = bytearray(report)
    changed[at] ^= 1
    return bytes(changed)


def test_opened_sums_are_those_of_one_process():
    """The same noise tapes give the same sum to the bit as `TwoServers.total`, whatever the
    masks.
    """
    values = terms(30)
    for number in (1, 2):
        about = batch(number=number)
        told = added_up(reports(values, about), about, seeded(7))
        same = TwoServers(epsilon=1.0).total(values, seeded(7).child("tally", number))
        assert told.sums.tolist() == same.sums.tolist()
        assert told.stderr.tolist() == same.stderr.tolist()
        assert told.n == same.n


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from(["fine", "coordinator", "helper", "both"]), min_size=3, max_size=14),
    st.integers(0, 99),
)
def test_drop_outs_at_either_server_leave_the_sum_of_the_others_exact(fates, seed):
    values = terms(len(fates), seed)
    sent = reports(values)
    for place, fate in enumerate(fates):
        if fate in ("coordinator", "both"):
            sent[place] = spoilt(sent[place], seed % CUT)
        if fate in ("helper", "both"):
            sent[place] = spoilt(sent[place], CUT + seed % 64)
    left = [place for place, fate in enumerate(fates) if fate == "fine"]
    if len(left) < 3:
        with pytest.raises(
            SumRefusedError, match=f"minimum=3 owners at both servers, got {len(left)}"
        ):
            added_up(sent)
        return
    answer = added_up(sent)
    assert answer.n == len(left)
    assert without_noise(answer) == plain(values[left])


def test_a_copy_counts_once_at_both_servers():
    """A copied half would count a term twice, with the noise for once."""
    values = terms(5)
    sent = reports(values)
    assert without_noise(added_up([*sent, sent[0], sent[3]])) == plain(values)
    mixed = [*sent, sent[0][:CUT] + sent[1][CUT:]]
    assert without_noise(added_up(mixed)) == plain(values)
    relay = CoordinatorSide(batch(), sent, COORDINATOR_KEY).relay
    doubled = RelayedHalves(relay.batch, relay.halves * 2)  # a coordinator that cheats
    said, once = (HelperSide(each, HELPER_KEY, 1).release(seeded(3)) for each in (doubled, relay))
    assert said.words.tolist() == once.words.tolist()
    assert np.unpackbits(np.frombuffer(said.counted, np.uint8)).sum() == 5


def test_halves_cannot_be_moved_to_another_question():
    sent = reports(terms(5))
    other = batch(question=b"r" * 32)
    with pytest.raises(SumRefusedError, match="got 0"):
        HelperSide(
            replace(CoordinatorSide(batch(), sent, COORDINATOR_KEY).relay, batch=other),
            HELPER_KEY,
            1,
        ).release(secure())
    with pytest.raises(SumRefusedError, match="got 0"):
        added_up(sent, other)
    cheaper = batch(epsilon=50.0)  # the same question with less noise than owners agreed to
    with pytest.raises(SumRefusedError, match="got 0"):
        added_up(sent, cheaper)


def test_the_helper_has_its_own_minimum():
    sent = reports(terms(8))
    assert added_up(sent, minimum=8).n == 8
    with pytest.raises(SumRefusedError, match="minimum=9 owners at both servers, got 8"):
        added_up(sent, minimum=9)


def test_the_helper_adds_up_once():
    helping = HelperSide(
        CoordinatorSide(batch(), reports(terms()), COORDINATOR_KEY).relay, HELPER_KEY, 1
    )
    helping.release(secure())
    with pytest.raises(SumRefusedError, match="once"):
        helping.release(secure())


def test_noise_is_fresh_at_both_servers():
    sent = reports(terms())
    opened = {tuple(added_up(sent, noise=secure()).sums) for _ in range(3)}
    assert len(opened) == 3
    adding = CoordinatorSide(batch(), sent, COORDINATOR_KEY)
    said = HelperSide(adding.relay, HELPER_KEY, 1).release(secure())
    assert len({tuple(adding.open(said, secure()).sums) for _ in range(3)}) == 3


def test_an_answer_about_another_batch_does_not_open():
    adding = CoordinatorSide(batch(), reports(terms()), COORDINATOR_KEY)
    said = HelperSide(adding.relay, HELPER_KEY, 1).release(seeded(3))
    for wrong in (
        replace(said, question=b"r" * 32),
        replace(said, counted=said.counted + b"\x00"),
        replace(said, words=np.zeros(3, np.int64)),
    ):
        with pytest.raises(SumRefusedError, match="not about this batch"):
            adding.open(wrong, secure())
    few = replace(said, counted=b"\x80\x00")  # a helper that leaves nearly everybody out
    with pytest.raises(SumRefusedError, match="got 1"):
        adding.open(few, secure())


def test_what_servers_say_travels():
    relay = CoordinatorSide(batch(), reports(terms()), COORDINATOR_KEY).relay
    assert decode(encode(relay), RelayedHalves) == relay
    said = HelperSide(relay, HELPER_KEY, 1).release(seeded(3))
    again = decode(encode(said), HelperSum)
    assert (again.counted, again.words.tolist()) == (said.counted, said.words.tolist())
    with pytest.raises(WireError):
        decode(encode(relay).replace(relay.halves, relay.halves[:-1]), RelayedHalves)
