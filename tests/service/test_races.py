"""Two at the same files at the same moment: commands beside each other, and beside what is served.
Of what was done nothing is lost. Each of these tests fails on the code that read a file and wrote
it anew without keeping others out.
"""

import asyncio
import fcntl
import os
from unittest.mock import AsyncMock, Mock

import httpx
import pytest
from benchmarks.templates import campaigns
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.algorithms.peers import Peer, Roster
from tacit.learners.query import PURPOSE, Invitation
from tacit.owner.gate import Reason
from tacit.service.coordinator.keys import (
    Administrators,
    CampaignKeys,
    add_administrator,
    dismiss_administrator,
)
from tacit.service.device.home import Home
from tacit.service.device.keys import replace_owner_keys
from tacit.service.device.member import PeerMember, Relayed
from tacit.service.kinds.peers import PeerTerms
from tacit.service.protocol.peer_replay import ROSTER, ForgeryError
from tacit.service.protocol.succession import CAMPAIGN, HELPER, KeyRing
from tacit.wire.envelopes import sign
from tests.service.coordinator.made import at_once

OTHER = Ed25519PrivateKey.generate()


@pytest.mark.parametrize("kind", [CAMPAIGN, HELPER], ids=["campaign", "helper"])
def test_rotations_at_once_are_one_after_the_other(tmp_path, kind):
    """Both began from one key: what was said ended with a key that neither file had, and a campaign
    could not be served any more.
    """
    first = KeyRing.at(tmp_path, kind).line.current
    said = at_once(
        lambda place: KeyRing.rotate(tmp_path, kind) if place else reread(tmp_path, kind)
    )
    assert [each for each in said if isinstance(each, Exception)] == []
    after = KeyRing.at(tmp_path, kind)
    assert len(after.statements) == 3
    assert after.line.first == first
    assert len(after.secrets) == 4


def reread(folder, kind):
    """As `tacit serve` does that is started meanwhile."""
    for _ in range(100):
        KeyRing.at(folder, kind)


def test_what_a_helper_says_of_its_keys_takes_no_key_of_the_campaign_back(tmp_path):
    """A coordinator that wrote it down wrote what it knew of its own keys beside it: the key that
    had just taken the place of another was nobody's.
    """
    served = CampaignKeys.at(tmp_path / "state")
    KeyRing.rotate(tmp_path / "state", CAMPAIGN)
    helper = KeyRing.at(tmp_path / "helper", HELPER).line.current
    replaced = KeyRing.rotate(tmp_path / "helper", HELPER)

    def hear(place):
        if place == 0:
            served.hear_helper(replaced.statements, helper)
        else:
            KeyRing.rotate(tmp_path / "state", CAMPAIGN)

    for _ in range(5):
        assert at_once(hear, times=3) == [None] * 3
        (tmp_path / "state" / "successions").touch()
    after = CampaignKeys.at(tmp_path / "state")
    assert len(after.before) == 11
    assert after.statements.helper == replaced.statements


def test_administrators_that_are_granted_and_dismissed_at_once(tmp_path):
    """Each wrote the whole file as it had read it: a key that had just been granted was nobody's,
    and one that had been taken back held again.
    """
    file = tmp_path / "administrators"
    for place in range(4):
        add_administrator(file, f"old{place}", ["look"])

    def change(place):
        if place >= 4:
            return add_administrator(file, f"new{place}", ["look"])
        return dismiss_administrator(file, f"old{place}")

    keys = at_once(change, times=8)[4:]
    names = [line.split()[0] for line in file.read_text().splitlines()]
    assert sorted(names) == [f"new{place}" for place in range(4, 8)]
    known = Administrators("x" * 20, [file])
    assert all(known.find(key.encode()) is not None for key in keys)


def test_an_owners_keys_are_replaced_by_one_at_a_time(tmp_path):
    """Two made two of them, of which one was nobody's."""
    home = Home.at(tmp_path / "home")
    another = os.open(home.folder, os.O_RDONLY)
    fcntl.flock(another, fcntl.LOCK_EX)
    try:
        with pytest.raises(ValueError, match="are being replaced"):
            asyncio.run(replace_owner_keys(home, Mock(), None, None))
    finally:
        os.close(another)


def peers_campaign():
    """The campaign, the key that it begins with and the one that takes its place."""
    terms = next(each for each in campaigns() if type(each) is PeerTerms)
    return terms, Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()


def test_a_question_of_before_a_key_was_replaced_is_no_forgery(tmp_path, monkeypatch):
    """A peer that had it when it heard of the new key left for good."""
    terms, old, new = peers_campaign()
    relayed = Relayed(tmp_path, terms.relay, [old.public_key()])
    following = relayed.following
    invitation = Invitation(terms.name, 1, 1, bytes(32), terms.example())
    questions = [sign(invitation, PURPOSE, key) for key in (old, new, OTHER)]

    async def hear(link, key, follow):
        following.renew_key(new.public_key())

    monkeypatch.setattr(relayed, "catch_up", hear)
    mine = Ed25519PrivateKey.generate()
    member = PeerMember("me", mine, Mock(), Mock(), relayed=relayed, rows=Mock(), model=tmp_path)
    assert asyncio.run(member._answer(questions[0])) is Reason.UNREADABLE
    for forged in questions[1:]:  # the next one cannot be put before there is a roster
        with pytest.raises(ForgeryError):
            asyncio.run(member._answer(forged))


def test_what_was_on_its_way_when_a_key_was_replaced_is_fetched_again(tmp_path):
    """A peer that heard of the new key from somebody else of its gateway left for good."""
    terms, old, new = peers_campaign()
    relayed = Relayed(tmp_path, terms.relay, [old.public_key()])
    roster = Roster((Peer(0, bytes(32), "north", (0, 1)),))
    answers = [httpx.Response(200, content=sign(roster, ROSTER, key)) for key in (old, new)]
    link = Mock(call=AsyncMock(side_effect=[*answers, httpx.Response(404)]))

    class Others:
        async def follow(self, headers):
            relayed.following.keys = (new.public_key(),)

    asyncio.run(relayed.catch_up(link, Ed25519PrivateKey.generate(), Others()))
    assert relayed.position == (1, 0)
