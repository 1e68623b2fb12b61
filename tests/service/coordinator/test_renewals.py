"""Peers that go by another key from a turn on: both keys sign it, everybody checks it, nothing is
lost; and everybody who should not be able to do that, trying to.
"""

import asyncio
import time
from dataclasses import replace
from itertools import pairwise

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import select

from tacit.service.coordinator.intake import Outcome
from tacit.service.coordinator.records import Records
from tacit.service.coordinator.tables import metadata
from tacit.service.protocol.handshake import Request, request_headers
from tacit.service.protocol.peer_replay import (
    TURN,
    Contradiction,
    Following,
    ForgeryError,
    PeerKeys,
    RenewedContradiction,
    RenewedTurn,
    Turn,
)
from tacit.service.protocol.succession import MOST, Renewal
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import open_signed, public_bytes, sign
from tests.service.coordinator.made import enrol
from tests.service.coordinator.peers import KEY, TOKENS, Trial
from tests.service.coordinator.test_peers import another_report

HERE = public_bytes(KEY.public_key())
ELSEWHERE = public_bytes(Ed25519PrivateKey.generate().public_key())


@pytest.fixture
def trial(tmp_path):
    """One turn is over, and the second is somebody's."""
    made = Trial(tmp_path)
    made.step(3)
    made.speak()
    made.step(2)
    return made


def fresh():
    return Ed25519PrivateKey.generate()


def raw(key):
    return public_bytes(key.public_key())


def statement(old, new, turn, campaign=HERE, by=None):
    """A renewal, signed by both keys, or `by` others."""
    return Renewal(campaign, raw(old), raw(new), turn).sign(*(by or (old, new)))


def renew(trial, old, body):
    """The status of a request, signed by the old key, to go by another."""

    async def work():
        transport = httpx.ASGITransport(trial.service.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            asked = Request(HERE, "POST", "/v1/rekey", int(time.time()), body)
            headers = request_headers(asked, old)
            return (await client.post("/v1/rekey", content=body, headers=headers)).status_code

    return asyncio.run(work())


def renewed(trial, name, turn):
    """Have a peer go by another key; its key of before."""
    old, new = trial.keys[name], fresh()
    assert renew(trial, old, statement(old, new, turn)) == 200
    trial.keys[name] = new
    return old


def test_a_new_key_speaks_from_its_turn_on_and_everybody_follows(trial):
    name, _ = trial.turn()
    old = renewed(trial, name, 2)
    first, *_ = trial.relayed().roster.peers
    spoke = trial.play()
    assert (len(spoke), spoke.count(name)) == (5, 2)
    after = trial.relayed()
    assert trial.store.standing().ended == "6 turns of 3 participants"
    assert encode(trial.model().model.scores) == encode(after.model)
    assert first in after.roster.peers  # rosters know it by the key that it came with
    assert raw(old) in {peer.key for peer in after.roster.peers}
    assert after.roster.gone == ()
    acts = [(act.what, act.about) for act in Records(trial.store).acts()]
    assert ("rekey", trial.owner(name)) in acts
    assert ("enrol", raw(old).hex()) not in acts  # who is listed goes by the key of now


def test_by_the_old_key_nothing_is_had_any_more(trial):
    name, question = trial.turn()
    old = renewed(trial, name, 2)
    word, _ = trial.signed(name, question, key=old)
    new, trial.keys[name] = trial.keys[name], old
    assert trial.post(name, word) is Outcome.STRANGE
    assert trial.turn() == (None, b"")
    trial.keys[name] = new
    assert trial.post(name, word) is Outcome.MALFORMED  # nor inside of a request of the new one
    assert trial.post(name, trial.signed(name, question)[0]) is Outcome.COUNTED


def test_a_key_that_has_spoken_in_a_turn_is_replaced_from_the_next_on(trial):
    name, question = trial.turn()
    word, report = trial.signed(name, question)
    assert trial.post(name, word) is Outcome.COUNTED
    old, new = trial.keys[name], fresh()
    assert renew(trial, old, statement(old, new, 2)) == 409
    assert renew(trial, old, statement(old, new, 3)) == 200
    trial.keys[name] = new
    # the same report under the new key's signature is no second word
    assert trial.post(name, trial.signed(name, question, report)[0]) is Outcome.REPEATED
    assert len(trial.play()) == 4
    assert encode(trial.model().model.scores) == encode(trial.relayed().model)


def test_a_new_key_does_not_speak_in_a_turn_before_its_own(trial):
    name, question = trial.turn()
    old = trial.keys[name]
    trial.keys[name] = fresh()
    assert renew(trial, old, statement(old, trial.keys[name], 3)) == 200
    word, _ = trial.signed(name, question)
    assert trial.post(name, word) is Outcome.STRANGE
    trial.late()
    assert len(trial.play()) == 4
    assert encode(trial.model().model.scores) == encode(trial.relayed().model)


def test_who_has_come_and_is_on_no_roster_yet_may_go_by_another_key(trial):
    trial.enrol("person 003")
    old = renewed(trial, "person 003", 2)
    spoke = trial.play()
    assert spoke.count("person 003") == 1
    after = trial.relayed()
    assert after.roster.peers[3].key == raw(old)
    assert encode(trial.model().model.scores) == encode(after.model)


# Who should not be able to
# --------------------------------------------------------------------------------


def test_a_renewal_that_is_refused_changes_nothing(trial):
    mine, theirs = trial.keys["person 000"], trial.keys["person 001"]
    thief, new = fresh(), fresh()
    before = Records(trial.store).owners()
    for attack, old, body, status in (
        ("of another campaign", mine, statement(mine, new, 2, campaign=ELSEWHERE), 400),
        ("not signed by the old key", mine, statement(mine, new, 2, by=(thief, new)), 400),
        ("not signed by the new key", mine, statement(mine, new, 2, by=(mine, thief)), 400),
        ("of somebody else's key", theirs, statement(mine, new, 2), 400),
        ("of a stranger", thief, statement(thief, new, 2), 403),
        ("to a participant's key", mine, statement(mine, theirs, 2), 403),
        ("for a turn that is over", mine, statement(mine, new, 1), 409),
        ("for a turn far away", mine, statement(mine, new, 4), 409),
        ("in a body that is none", mine, b"renewal", 400),
    ):
        assert renew(trial, old, body) == status, attack
        assert Records(trial.store).owners() == before, attack
    assert len(trial.play()) == 5
    assert renew(trial, mine, statement(mine, new, 7)) == 410  # after the last turn


def test_a_key_is_replaced_once_and_never_comes_back(trial):
    name, _ = trial.turn()
    old, new = trial.keys[name], fresh()
    said = statement(old, new, 2)
    assert renew(trial, old, said) == 200
    assert renew(trial, old, said) == 200  # the same again: nobody heard that it was taken
    assert renew(trial, old, statement(old, fresh(), 2)) == 403
    assert renew(trial, old, statement(old, fresh(), 3)) == 403
    assert renew(trial, new, statement(new, fresh(), 2)) == 409  # one key a turn
    assert renew(trial, new, statement(new, old, 3)) == 403
    trial.keys[name] = new
    # a newcomer with the old key, and a token of its own, is not taken for anybody
    assert enrol(trial.store, raw(old).hex(), TOKENS[-1], "thief")
    spoke = trial.play()
    assert len(spoke) == 5
    assert len(trial.relayed().roster.peers) == 3
    assert encode(trial.model().model.scores) == encode(trial.relayed().model)
    assert renew(trial, new, statement(new, fresh(), 7)) == 410  # after the last turn


def test_after_so_many_keys_it_ends():
    keys = [fresh() for _ in range(MOST + 2)]
    line = PeerKeys(HERE)
    for turn, (old, new) in enumerate(pairwise(keys[:-1]), start=1):
        line = line.renew([statement(old, new, turn)], turn)
    assert (line.first(raw(keys[-2])), line.current(raw(keys[0]))) == (raw(keys[0]), raw(keys[-2]))
    with pytest.raises(WireError, match="at most 16 times"):
        line.renew([statement(keys[-2], keys[-1], MOST + 1)], MOST + 1)


# A coordinator that forges, or keeps things to itself
# --------------------------------------------------------------------------------


def follow_to_second(trial, **more):
    following = Following(trial.terms, KEY.public_key(), **more)
    following.take(trial.rosters.roster(1))
    following.take(trial.rosters.turn(1))
    return following


def test_what_is_said_of_keys_is_checked_before_a_word_of_the_new_one_is_taken_in(trial):
    name, question = trial.turn()
    old = renewed(trial, name, 2)
    new = trial.keys[name]
    trial.speak()
    trial.step(2)
    honest = open_signed(trial.rosters.turn(2), Turn, TURN, KEY.public_key())
    assert isinstance(honest, RenewedTurn)
    (said,) = honest.renewals
    other = next(key for each, key in trial.keys.items() if each != name)
    by_thief, elsewhere = statement(old, new, 2, by=(other, new)), statement(old, new, 2, ELSEWHERE)
    forged: list[tuple[Turn, str]] = [
        (Turn(honest.invitation, honest.spoken), "signature does not belong"),
        (replace(honest, spoken=trial.signed(name, question, key=old)[0]), "does not belong"),
        (replace(honest, renewals=(by_thief,)), "not signed by both"),
        (replace(honest, renewals=(elsewhere,)), "another campaign"),
        (replace(honest, renewals=(statement(old, new, 3),)), "another turn"),
        (replace(honest, renewals=(said, statement(old, fresh(), 2))), "was replaced before"),
        (replace(honest, renewals=(statement(old, other, 2),)), "the key of another"),
    ]
    following = follow_to_second(trial)
    before = following.model
    for turn, why in forged:
        with pytest.raises(ForgeryError, match=why):
            following.take(sign(turn, TURN, KEY))
        assert following.model == before
    following.take(sign(honest, TURN, KEY))  # the honest one still can be taken in
    assert len(following.model.parts) == 2


def test_a_peer_notices_that_its_renewal_is_kept_from_the_others(trial):
    """Who has stolen the old key and runs the coordinator speaks on with it, to all but one."""
    name, question = trial.turn()
    old, new = trial.keys[name], fresh()
    stolen, _ = trial.signed(name, question, key=old)
    mine = [statement(old, new, 2)]
    follow_to_second(trial, mine=mine).admit(question, raw(new))
    with pytest.raises(ForgeryError, match="somebody else's"):
        follow_to_second(trial, mine=mine).admit(question, raw(old))
    me = follow_to_second(trial, mine=mine)
    assert me.me(raw(new)).name == name
    with pytest.raises(ForgeryError, match="kept from others"):
        me.take(sign(Turn(question, stolen), TURN, KEY))


def test_nobody_comes_with_a_key_that_took_the_place_of_anothers(trial):
    name, _ = trial.turn()
    renewed(trial, name, 2)
    trial.play()
    after = trial.relayed()
    twin = replace(after.roster.peers[0], number=3, key=raw(trial.keys[name]), name="twin")
    wrong = replace(after.roster, peers=(*after.roster.peers, twin), first=3)
    with pytest.raises(ForgeryError, match="the key of another"):
        after.take(sign(wrong, "roster", KEY))


# Lies
# --------------------------------------------------------------------------------


def test_a_peer_that_says_two_things_by_two_keys_is_shown_to_have_lied(trial):
    liar, question = trial.turn()
    first, _ = trial.signed(liar, question)
    assert trial.post(liar, first) is Outcome.COUNTED
    old = renewed(trial, liar, 3)
    second, _ = trial.signed(liar, question, another_report(trial, question, liar))
    assert trial.post(liar, second) is Outcome.CONTRADICTED
    assert trial.post(liar, second) is Outcome.STRANGE
    assert liar not in trial.play()
    after = trial.relayed()
    assert [after.roster.peers[number].name for number in after.roster.gone] == [liar]
    assert encode(trial.model().model.scores) == encode(after.model)
    proof = decode(trial.rosters.lie(1), Contradiction)
    assert isinstance(proof, RenewedContradiction)
    assert (proof.key, proof.first, proof.second) == (raw(old), first, second)
    assert proof.holds
    other = statement(old, trial.keys[liar], 3, campaign=ELSEWHERE)
    for broken in (
        replace(proof, renewals=()),
        replace(proof, renewals=(other,)),
        replace(proof, campaign=ELSEWHERE),
        replace(proof, renewals=proof.renewals * 2),
        replace(proof, second=first),
        replace(proof, key=raw(trial.keys[liar])),
    ):
        assert not broken.holds


def test_a_peer_that_left_and_is_forgotten_leaves_the_campaign_to_the_others(trial):
    liar, question = trial.turn()
    trial.post(liar, trial.signed(liar, question)[0])
    renewed(trial, liar, 3)
    second, _ = trial.signed(liar, question, another_report(trial, question, liar))
    assert trial.post(liar, second) is Outcome.CONTRADICTED
    gone = trial.owner(liar)
    known = Records(trial.store).describe_owner(gone) or {}
    assert known["renewals"] == 1
    done = Records(trial.store).forget(gone) or {}
    assert any("signed of its keys" in each for each in done["stays"])
    assert trial.rosters.lie(1) is None
    del trial.keys[liar]
    assert len(trial.play()) == 3  # of six turns one was before, and two are nobody's now
    after = trial.relayed()
    assert [after.roster.peers[number].name for number in after.roster.gone] == [liar]
    assert encode(trial.model().model.scores) == encode(after.model)


def test_who_is_forgotten_after_the_end_is_on_no_roster_any_more(trial):
    """Its name and the key that it came with lay there, though both were said to be deleted."""
    records = Records(trial.store)
    known = {each: records.describe_owner(trial.owner(each)) or {} for each in trial.keys}
    (gone,) = (each for each, about in known.items() if about.get("reports"))
    first = trial.owner(gone)

    def kept():
        """Where anything of it is, but the published model, in which peers have names."""
        words = bytes.fromhex(first), first.encode(), gone.encode()
        with trial.store.snapshot() as connection:
            values = [
                (table.name, value if isinstance(value, bytes) else str(value).encode())
                for table in metadata.sorted_tables
                for row in connection.execute(select(table))
                for value in row
            ]
        return {name for name, value in values if any(each in value for each in words)}

    assert kept() >= {"owners", "rosters"}
    done = records.forget(first) or {}
    assert any("rosters, until" in each for each in done["stays"])
    assert done["again"] == [f"forgotten {list(trial.keys).index(gone) + 1}"]
    del trial.keys[gone]
    trial.play()
    assert trial.store.standing().state == "ended"
    assert "rosters" in kept()
    after = records.forget(*done["again"]) or {}
    assert "rosters, with all who were on them" in after["deleted"]
    assert after["again"] == []
    assert kept() <= {"campaign"}
    # who comes late is told nothing, rather than of a turn in which nobody spoke
    assert trial.rosters.roster(1) is trial.rosters.turn(1) is trial.rosters.turn(2) is None


def test_what_a_stranger_says_of_keys_is_not_parsed(trial, monkeypatch):
    """It was, on the loop, before anybody knew whose it is."""
    read = []
    monkeypatch.setattr(Renewal, "open", classmethod(lambda cls, *said: read.append(said)))
    stranger, new = fresh(), fresh()
    assert renew(trial, stranger, statement(stranger, new, 3)) == 403
    assert read == []
