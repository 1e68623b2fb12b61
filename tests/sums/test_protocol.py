"""Two servers over the network without the network: exact sums of those who prove what they add,
and what is left out or refused.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Ball, secure, seeded
from tacit.sums import protocol
from tacit.sums.halves import COORDINATOR, HELPER, SumLaw, TallyLaw
from tacit.sums.protocol import Block, Checked, HelperSide, HelperSum, SumRequest, blocks_of
from tacit.sums.secure_sum import SumRefusedError, TwoServers
from tacit.sums.vector_terms import RecordTerms, VectorTerms
from tacit.wire import WireError, decode, encode
from tests.sums.made import (
    COORDINATOR_KEY,
    HELPER_KEY,
    Pair,
    added_up,
    batch,
    plain,
    reports,
    terms,
    without_noise,
)

CUT, REST = batch().half_size(COORDINATOR), batch().half_size(HELPER)


def spoilt(report, at):
    """A report with one bit changed."""
    changed = bytearray(report)
    changed[at] ^= 1
    return bytes(changed)


def checked_block(sent, about=None):
    """A pair of servers after the first block, and what went between them."""
    pair = Pair(about)
    block = pair.coordinator.block(sent)
    said, counted = pair.helper.check(block, set().intersection)
    return pair, block, said, counted


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


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.sampled_from(["fine", "coordinator", "helper", "both"]), min_size=3, max_size=14),
    st.integers(0, 99),
)
def test_drop_outs_at_either_server_leave_the_sum_of_the_others_exact(fates, seed):
    values = terms(len(fates), seed)
    sent = reports(values)
    for place, fate in enumerate(fates):
        if fate in ("coordinator", "both"):
            sent[place] = spoilt(sent[place], 17 * seed % CUT)
        if fate in ("helper", "both"):
            sent[place] = spoilt(sent[place], CUT + 17 * seed % REST)
    left = [place for place, fate in enumerate(fates) if fate == "fine"]
    if len(left) < 3:
        with pytest.raises(
            SumRefusedError, match=f"minimum=3 owners with valid proofs, got {len(left)}"
        ):
            added_up(sent)
        return
    answer = added_up(sent)
    assert answer.n == len(left)
    assert without_noise(answer) == plain(values[left])


def test_blocks_do_not_matter(monkeypatch):
    values = terms(9)
    sent = reports(values)
    once = added_up(sent).sums.tolist()
    for size in (1, 4, 9):
        monkeypatch.setattr(protocol, "_BLOCK_OWNERS", size)
        assert len(list(blocks_of(sent, batch()))) == -(-9 // size)
        assert added_up(sent).sums.tolist() == once


def test_the_helper_does_not_learn_who_was_who_in_the_question_before():
    """Halves came in the order of owners, question after question."""
    places = []
    for number in (1, 2):
        about = batch(number=number)
        sent = reports(terms(12), about, seeded(number))
        block = Pair(about).coordinator.block(sent)
        places.append([block.pieces.index(report[CUT:]) for report in sent])
        assert block == Pair(about).coordinator.block(sent[::-1])  # whoever collects them
    assert sorted(places[0]) == sorted(places[1]) == list(range(12))
    assert list(range(12)) != places[0] != places[1]


def test_a_copy_counts_once_within_and_across_blocks():
    """A copied half would count a term twice, with the noise for once."""
    values = terms(5)
    sent = reports(values)
    assert without_noise(added_up([*sent, sent[0], sent[3]])) == plain(values)
    mixed = [*sent, sent[0][:CUT] + sent[1][CUT:]]
    assert without_noise(added_up(mixed)) == plain(values)
    pair = Pair()
    assert pair.check(sent) == (5, 5)
    assert pair.check(sent) == (5, 5)
    assert without_noise(pair.open(seeded(3))) == plain(values)


@pytest.mark.parametrize("stolen", ["coordinator", "helper"])
@pytest.mark.parametrize("first", [True, False])
def test_nobody_is_left_out_for_a_copy_of_half_its_report(stolen, first):
    """Whoever sees sealed bytes go by sends one half of them with a half of its own."""
    values = terms(6)
    sent, own = reports(values), reports(terms(6, seed=2), stream=seeded(9))
    pairs = zip(sent, own, strict=True)
    thieves = [
        a[:CUT] + b[CUT:] if stolen == "coordinator" else b[:CUT] + a[CUT:] for a, b in pairs
    ]
    pair = Pair()
    assert pair.check([*thieves, *sent] if first else [*sent, *thieves]) == (6, 6)
    assert pair.check([*thieves, *sent]) == (6, 6)
    assert without_noise(pair.open(seeded(3))) == plain(values)


def test_the_helper_leaves_copies_out_whatever_the_coordinator_says():
    sent = reports(terms(5))
    _, block, _, _ = checked_block(sent)
    pair = Pair()
    doubled = Block(block.batch, 0, block.halves * 2, block.told * 2)  # a coordinator that cheats
    _, counted = pair.helper.check(doubled, set().intersection)
    assert (pair.helper.counted, len(set(counted))) == (5, 5)
    pair.helper.check(replace(block, place=1), set(counted).intersection)
    assert pair.helper.counted == 5


def test_halves_cannot_be_moved_to_another_question():
    sent = reports(terms(5))
    _, block, _, _ = checked_block(sent)
    for other in (
        batch(question=b"r" * 32),
        batch(number=2),
        batch(attempt=2),
        batch(epsilon=50.0),  # the same question with less noise than owners agreed to
    ):
        pair = Pair(other)
        pair.helper.check(replace(block, batch=other), set().intersection)
        assert pair.helper.counted == 0
        with pytest.raises(SumRefusedError, match="got 0"):
            added_up(sent, other)


def test_both_servers_have_one_key_and_nobody_else():
    about = batch()
    keys = {about.verify_key(COORDINATOR, COORDINATOR_KEY), about.verify_key(HELPER, HELPER_KEY)}
    assert len(keys) == 1
    for other in (batch(question=b"r" * 32), batch(epsilon=2.0), batch(attempt=2)):
        assert other.verify_key(HELPER, HELPER_KEY) not in keys
    assert about.verify_key(HELPER, COORDINATOR_KEY) not in keys


def test_the_helper_has_its_own_minimum():
    sent = reports(terms(8))
    assert added_up(sent, minimum=8).n == 8
    with pytest.raises(SumRefusedError, match="minimum=9 owners with valid proofs, got 8"):
        added_up(sent, minimum=9)


def test_noise_is_fresh_at_both_servers():
    sent = reports(terms())
    opened = {tuple(added_up(sent, noise=secure()).sums) for _ in range(3)}
    assert len(opened) == 3
    pair = Pair()
    pair.check(sent)
    said = pair.helper.release(1, secure())
    assert len({tuple(pair.coordinator.open(said, secure()).sums) for _ in range(3)}) == 3
    assert len({pair.helper.release(1, secure()).total for _ in range(3)}) == 3


def test_what_a_lying_helper_says_is_not_believed():
    pair, _, said, _ = checked_block(reports(terms()))
    for wrong in (
        replace(said, batch=b"r" * 32),
        replace(said, place=1),
        replace(said, told=said.told[1:]),
    ):
        with pytest.raises(SumRefusedError, match="not about this block"):
            pair.coordinator.take(wrong)
    pair.coordinator.take(replace(said, told=bytes(len(said.told))))
    assert pair.coordinator.counted == 0  # what it does not show to be proven does not count
    with pytest.raises(SumRefusedError, match="no block"):
        pair.coordinator.take(said)
    pair, _, said, _ = checked_block(reports(terms()))
    pair.coordinator.take(said)
    added = pair.helper.release(1, seeded(3))
    for wrong in (
        replace(added, batch=b"r" * 32),
        replace(added, counted=11),
        replace(added, total=added.total[8:]),
    ):
        with pytest.raises(SumRefusedError, match="not about this batch"):
            pair.coordinator.open(wrong, secure())
    with pytest.raises(SumRefusedError, match="no field elements"):
        pair.coordinator.open(replace(added, total=b"\xff" * len(added.total)), secure())


def test_both_count_the_same_whatever_an_owner_tells_each():
    """Halves of two reports of one owner: other nonces, other parts of the joint randomness."""
    values = terms(6)
    first, second = reports(values), reports(values, stream=seeded(9))
    mixed = [a[:CUT] + b[CUT:] for a, b in zip(first, second, strict=True)]
    pair = Pair()
    assert pair.check([*mixed[:3], *first[3:]]) == (3, 3)
    assert without_noise(pair.open(seeded(3))) == plain(values[3:])


LARGE = VectorTerms.of(Ball(dim=1), 1.0, 1e-6)
LAWS: dict[str, SumLaw] = {
    "error terms": TallyLaw(1.0, 3),
    "shares": LARGE,
    "shares of six bits": replace(LARGE, bits=6),
    "sites of 90 million records": RecordTerms.at_sites(LARGE, 9 * 10**7),
}


@pytest.mark.parametrize("name", LAWS)
def test_no_sum_that_could_wrap_round_is_released(name):
    law = LAWS[name]
    about = replace(batch(), terms=replace(batch().terms, law=law))
    side, p = HelperSide(about, HELPER_KEY), law.prio3.circuit.field.modulus
    fit = p // 4 // law.most
    assert fit >= (10**9 if "sites" not in name else 10**8)
    side.resume(side.total, fit)
    assert len(side.noisy_sum(1, seeded(1))) == law.prio3.circuit.output_len
    side.resume(bytes(len(side.total)), 1)
    with pytest.raises(SumRefusedError, match="could wrap round"):
        side.noisy_sum(1, seeded(1))


def test_no_site_adds_more_than_its_law_says_it_could():
    law = RecordTerms.at_sites(LARGE, 9 * 10**7)
    for numbers in ([law.records * 7], [-law.records * 7]):
        added = law.tell(np.array(numbers), law.records)
        assert np.abs(added).max() <= law.most < 15 * np.abs(added).max()


def test_what_servers_say_travels():
    pair, block, said, _ = checked_block(reports(terms()))
    assert decode(encode(block), Block) == block
    assert decode(encode(said), Checked) == said
    pair.coordinator.take(said)
    request = pair.coordinator.request
    assert decode(encode(request), SumRequest) == request
    assert (request.blocks, request.counted) == (1, 12)
    added = pair.helper.release(1, seeded(3))
    assert decode(encode(added), HelperSum) == added
    with pytest.raises(WireError):
        decode(encode(block).replace(block.halves, block.halves[:-1]), Block)


def test_an_answer_to_nobody_is_none():
    with pytest.raises(SumRefusedError, match="got 0"):
        added_up([])
    pair = Pair()
    assert pair.check([b"", b"x" * 7, bytes(batch().report_size)]) == (0, 0)
    assert pair.check(reports(terms(4))) == (4, 4)
    assert np.isfinite(pair.open(seeded(3)).sums).all()
