"""Keys replaced in the middle of a campaign: nothing is lost, and the model is the same."""

import asyncio
import os
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from unittest.mock import Mock

import httpx
import pytest
from benchmarks.templates import campaigns
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from sqlalchemy import text

from tacit._util.stopping import replace_file
from tacit.cli import app
from tacit.cli.serve import admin_key
from tacit.estimators.persistence import SavedModel, open_model
from tacit.service.coordinator.keys import (
    ROLES,
    Administrator,
    Administrators,
    CampaignKeys,
    add_administrator,
    replace_administrator,
)
from tacit.service.coordinator.peers import Rosters
from tacit.service.coordinator.tables import CLOSED, ENDED, OPEN
from tacit.service.device.client import Link
from tacit.service.device.home import Home
from tacit.service.device.join import RehearsalPart, join
from tacit.service.device.keys import replace_owner_keys
from tacit.service.device.member import Relayed
from tacit.service.helper import Helper, Sheets
from tacit.service.kinds import read_terms
from tacit.service.kinds.peers import PeerSpec
from tacit.service.protocol import succession
from tacit.service.protocol.handshake import greeting, read_greeting
from tacit.service.protocol.peer_replay import ForgeryError
from tacit.service.protocol.succession import (
    CAMPAIGN,
    HELPER,
    KeyRing,
    Successions,
    sign_by_sealing_key,
    verifier_of,
)
from tacit.wire import WireError, decode, encode
from tacit.wire.envelopes import public_bytes
from tests.cli.made import run
from tests.service.coordinator import peers
from tests.service.coordinator.made import folder_of, joining, running
from tests.service.coordinator.test_rehearsal import in_process
from tests.service.coordinator.test_sites import CAMPAIGN as SITES
from tests.service.coordinator.test_two_servers import ALLOWED
from tests.service.coordinator.test_two_servers import CAMPAIGN as TWO_SERVERS
from tests.service.helper.made import client_of

SEED = 7
OWNERS = 60


class Switch(httpx.AsyncBaseTransport):
    """The way to whichever coordinator runs now; after `most` reports no more come through."""

    def __init__(self, most):
        self.app, self.most, self.taken = None, most, 0
        self.answering: set[asyncio.Task[httpx.Response]] = set()

    async def handle_async_request(self, request):
        report = request.url.path in ("/v1/report", "/v1/spoken")
        if self.app is None or (report and self.taken >= self.most):
            raise httpx.ConnectError("away")
        self.taken += report
        task = asyncio.create_task(httpx.ASGITransport(self.app).handle_async_request(request))
        self.answering.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if self.app is not None:
                raise
            raise httpx.ReadError("gone") from None
        finally:
            self.answering.discard(task)

    def stop(self):
        """What is being answered is so no more."""
        self.app = None
        for task in self.answering:
            task.cancel()


class Stage:
    """A coordinator that is stopped in the middle of an open question, and started again."""

    def __init__(self, folder, database, most, **more):
        self.folder, self.database, self.more = folder, database, more
        self.state = folder / "state"
        self.switch = Switch(most)
        self.clients = [
            httpx.AsyncClient(transport=self.switch, base_url="http://localhost") for _ in range(4)
        ]

    def link(self):
        return Link(self.clients, patience=60.0, coin=lambda: 0.0)

    @asynccontextmanager
    async def serve(self):
        keys = CampaignKeys.at(self.state)
        made = running(self.folder, self.database, keys.key, keys=keys, **self.more)
        with made.store.transaction() as connection:
            connection.execute(text("UPDATE campaign SET lease_until = 0"))
        self.service, self.switch.app = made, made.app
        async with made.app.app.router.lifespan_context(made.app.app):
            yield made
            self.switch.stop()
            await asyncio.sleep(0.2)  # what was being answered ends
        made.store.close()

    async def wait(self, done):
        for _ in range(2400):
            if done(self.service.store):
                return
            await asyncio.sleep(0.05)
        raise AssertionError("it never came to that")

    async def run(self, owners, tokens, change):
        """Let owners join, stop when the last report that comes through is here, `change`, and go
        on to the end; how many answered, and the model.
        """
        most = self.switch.most
        async with self.serve() as first:
            first.store.add_tokens(tokens)
            task = asyncio.create_task(join(owners, self.link(), tokens))
            await self.wait(lambda store: is_open_after(store, most) or task.done())
            assert [each.state for each in first.store.questions()][-1] == OPEN
            number = len(first.store.questions())
            before = first.store.reports_of(number)
        await change(self)
        self.switch.most = 1 << 30
        async with self.serve() as second:
            assert before == second.store.reports_of(number)
            answered = await task
            await self.wait(lambda store: store.standing().state == ENDED)
            model = await self.link().call("GET", "/v1/model", None)
            counts = [second.store.counts(each.number) for each in second.store.questions()]
            self.states = [each.state for each in second.store.questions()]
        return answered, counts, open_model(model.content)


def is_open_after(store, most):
    """Whether a question is open and stays so, and so many reports are here."""
    asked = store.questions()
    if not asked or asked[-1].state != OPEN:
        return False
    invited, heard = store.counts(asked[-1].number)
    return heard < invited and reports(store) == most


def reports(store):
    return sum(store.counts(each.number)[1] for each in store.questions())


async def rotate_campaign(stage):
    found = run(app, ["identity", "campaign", "--state", str(stage.state)])
    assert found.exit_code == 0, found.output


def test_a_campaigns_key_is_replaced_twice_and_the_model_is_the_same(tmp_path, any_database):
    folder = folder_of(tmp_path)
    file = folder / "campaign.toml"
    file.write_text(file.read_text().replace("start = 45", f"start = {OWNERS}"))
    stage = Stage(folder, any_database, most=6, rehearsal=SEED)
    tokens = [f"token number {i:04d}" for i in range(OWNERS)]
    first = KeyRing.at(stage.state, CAMPAIGN).line.current

    async def twice(stage):
        await rotate_campaign(stage)
        await rotate_campaign(stage)

    owners = joining(folder, RehearsalPart(SEED))
    answered, counts, (model, signed_by) = asyncio.run(stage.run(owners, tokens, twice))
    assert answered == sum(heard for _, heard in counts)
    assert all(invited == heard for invited, heard in counts)  # nobody's answer was lost
    published = decode(model, SavedModel)
    assert encode(published.model) == encode(in_process(folder, SEED, 8.0))
    ring = KeyRing.at(stage.state, CAMPAIGN)
    assert signed_by == ring.line.current
    assert (len(ring.before), ring.line.first) == (2, first)
    home = Home.at(folder / "owner")
    assert home.has_joined(first)
    entries = home.ledger.entries()
    assert len(entries) == answered  # each paid once
    assert {entry.key for entry in entries} == {first.hex()}  # to one campaign, by its first key


def test_peers_follow_a_key_that_is_replaced_between_turns(tmp_path, monkeypatch):
    """What they took in before was signed with the key of then, and lies in their files."""
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, coin: 0.05)
    monkeypatch.setattr(Rosters, "is_over", lambda self, asked, now: len(self.read()) == 1)
    folder = peers.folder_of(tmp_path)
    stage = Stage(folder, f"sqlite:///{folder}/c.db", most=2, rehearsal=SEED)
    founders = joining(folder, RehearsalPart(SEED), **peers.LIMITS)
    tokens = peers.TOKENS[: peers.PEERS]
    answered, counts, (model, _) = asyncio.run(stage.run(founders, tokens, rotate_campaign))
    assert (answered, counts) == (6, [(1, 1)] * 6)
    terms = PeerSpec.read(folder / "campaign.toml").prepare()[0]
    published = decode(model, SavedModel)
    assert encode(published.model) == encode(peers.in_process(folder, terms)._to_save())
    # an agent that is started again reads files of both keys
    keys = CampaignKeys.at(stage.state)
    relayed = Home.at(folder / "owner").peers(keys.first) / "relayed"
    line = [Ed25519PublicKey.from_public_bytes(key) for key in (keys.first, *keys.before[1:])]
    line.append(keys.key.public_key())
    rehearsed = terms.rehearsal(SEED)
    assert Relayed(relayed, rehearsed, line).position == (1, 6)
    with pytest.raises(ForgeryError):
        Relayed(relayed, rehearsed, line[-1:])


def test_peers_go_by_other_keys_in_the_middle_and_the_model_is_the_same(
    tmp_path, database, monkeypatch
):
    """Of a gateway, while its agent is stopped; killed once after the coordinator has taken them,
    and done again.
    """
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, coin: 0.05)
    monkeypatch.setattr(Rosters, "is_over", lambda self, asked, now: len(self.read()) == 1)
    folder = peers.folder_of(tmp_path)
    stage = Stage(folder, database, most=2, rehearsal=SEED)
    founders = joining(folder, RehearsalPart(SEED), **peers.LIMITS)
    tokens, table = peers.TOKENS[: peers.PEERS], (folder / "people.csv", "who")
    names = [f"person {number:03d}" for number in range(peers.PEERS)]

    async def main():
        async with stage.serve() as service:
            service.store.add_tokens(tokens)
            task = asyncio.create_task(join(founders, stage.link(), tokens))
            await stage.wait(lambda store: is_open_after(store, 2))
            task.cancel()
            home, campaign = Home.at(folder / "owner"), CampaignKeys.at(stage.state).first
            old = [public_bytes(home.key(campaign, name).public_key()) for name in names]
            with monkeypatch.context() as killed:
                killed.setattr(Home, "renew_key", Mock(side_effect=EOFError))
                with pytest.raises(EOFError):
                    await replace_owner_keys(home, stage.link(), table, None)
            assert old == [public_bytes(home.key(campaign, name).public_key()) for name in names]
            assert await replace_owner_keys(home, stage.link(), table, None) == len(names)
            new = [public_bytes(home.key(campaign, name).public_key()) for name in names]
            assert not set(old) & set(new)
            stage.switch.most = 1 << 30
            await join(founders, stage.link(), [])
            await stage.wait(lambda store: store.standing().state == ENDED)
            with pytest.raises(ValueError, match="campaign is over"):
                await replace_owner_keys(home, stage.link(), table, None)
            return await stage.link().call("GET", "/v1/model", None), service.store.owner_counts()

    model, counts = asyncio.run(main())
    assert (counts["enrolled"], counts["revoked"]) == (3, 0)
    terms = PeerSpec.read(folder / "campaign.toml").prepare()[0]
    published = decode(open_model(model.content)[0], SavedModel)
    assert encode(published.model) == encode(peers.in_process(folder, terms)._to_save())
    assert len(Home.at(folder / "owner").ledger.entries()) == 6  # each paid once


def test_a_key_that_is_to_speak_in_an_open_turn_is_not_replaced_again(
    tmp_path, database, monkeypatch
):
    """It was, from the next turn on, without a word: nobody spoke in the one that was open."""
    monkeypatch.setattr("tacit.service.device.member._pause", lambda response, coin: 0.05)
    monkeypatch.setattr(Rosters, "is_over", lambda self, asked, now: len(self.read()) == 1)
    folder = peers.folder_of(tmp_path)
    stage = Stage(folder, database, most=2, rehearsal=SEED)
    founders = joining(folder, RehearsalPart(SEED), **peers.LIMITS)
    tokens, table = peers.TOKENS[: peers.PEERS], (folder / "people.csv", "who")

    async def main():
        async with stage.serve() as service:
            service.store.add_tokens(tokens)
            task = asyncio.create_task(join(founders, stage.link(), tokens))
            await stage.wait(lambda store: is_open_after(store, 2))
            task.cancel()
            home, campaign = Home.at(folder / "owner"), CampaignKeys.at(stage.state).first
            assert await replace_owner_keys(home, stage.link(), table, None) == peers.PEERS
            before = (home.key(campaign, "person 000"), service.store.owners_present())
            with pytest.raises(
                ValueError, match="a key was replaced from turn 3 on, which is open"
            ):
                await replace_owner_keys(home, stage.link(), table, None)
            after = (home.key(campaign, "person 000"), service.store.owners_present())
            assert public_bytes(before[0].public_key()) == public_bytes(after[0].public_key())
            assert before[1] == after[1]
            stage.switch.most = 4
            task = asyncio.create_task(join(founders, stage.link(), []))
            await stage.wait(lambda store: is_open_after(store, 4))
            task.cancel()
            assert await replace_owner_keys(home, stage.link(), table, None) == peers.PEERS
            stage.switch.most = 1 << 30
            await join(founders, stage.link(), [])
            await stage.wait(lambda store: store.standing().state == ENDED)
            return [service.store.counts(each.number)[1] for each in service.store.questions()]

    assert asyncio.run(main()) == [1] * 6  # no turn was lost


def test_who_has_seen_a_key_replaced_does_not_go_back(tmp_path):
    """The first key is stolen, and signs another successor, or says that there was none."""
    folder = folder_of(tmp_path)
    state = folder / "state"
    stolen = CampaignKeys.at(state)
    service = running(folder, key=stolen.key, keys=stolen)
    service.store.close()
    said = CAMPAIGN.state(stolen.key.private_bytes_raw(), os.urandom(32))
    KeyRing.rotate(state, CAMPAIGN)
    keys = CampaignKeys.at(state)
    service = running(folder, key=keys.key, keys=keys)

    async def members(app):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await joining(folder).members(Link([client]))

    asyncio.run(members(service.app))
    assert (folder / "owner" / "pins" / f"{keys.first.hex()}.keys").exists()
    terms = read_terms(service.store.standing().terms)
    service.store.close()
    back = running(folder, f"sqlite:///{folder}/other.db", key=stolen.key)
    with pytest.raises(ValueError, match="does not come from the last one seen"):
        asyncio.run(members(back.app))
    back.store.close()
    with pytest.raises(WireError, match="leads to another"):
        read_greeting(greeting(terms, terms.template(), stolen.key, Successions((said,))), None)


def test_a_pin_leads_to_the_key_in_use_from_anywhere_in_the_line(tmp_path):
    first = KeyRing.at(tmp_path, CAMPAIGN)
    rings = [first, *(KeyRing.rotate(tmp_path, CAMPAIGN) for _ in range(2))]
    keys = CampaignKeys.at(tmp_path)
    terms = campaigns()[0]
    said = greeting(terms, terms.template(), keys.key, keys.statements)
    for ring in rings:
        assert read_greeting(said, ring.line.current).first == rings[0].line.current
    with pytest.raises(WireError, match="is pinned: another campaign"):
        read_greeting(said, os.urandom(32))
    one, two = keys.statements.campaign
    short = greeting(terms, terms.template(), keys.key, Successions((two,)))
    with pytest.raises(WireError, match="is pinned"):
        read_greeting(short, first.line.current)
    changed = one[:-1] + bytes([one[-1] ^ 1])
    for wrong in ((one,), (two, one), (one, one), (changed, two)):
        with pytest.raises(WireError):
            read_greeting(greeting(terms, terms.template(), keys.key, Successions(wrong)), None)


def test_helper_and_campaign_are_replaced_while_halves_are_sealed_to_the_keys_of_before(tmp_path):
    folder = folder_of(tmp_path, owners=16, text=TWO_SERVERS)
    state, theirs = folder / "state", folder / "helper"
    ring = KeyRing.at(theirs, HELPER)
    file = folder / "campaign.toml"
    text_of = file.read_text().splitlines()
    named = [line for line in text_of if not line.startswith(("helper_key", "rounds"))]
    file.write_text("\n".join([*named, f'helper_key = "{ring.line.first.hex()}"', "rounds = 1"]))
    campaign = KeyRing.at(state, CAMPAIGN).line.first.hex()

    def helper():
        ring = KeyRing.at(theirs, HELPER)
        key = X25519PrivateKey.from_private_bytes(ring.secret)
        return Helper(key, Sheets(theirs / "released.db"), [campaign], ring=ring)

    class Changing(httpx.BaseTransport):
        def __init__(self):
            self.made = helper()

        def handle_request(self, request):
            return client_of(self.made)._transport.handle_request(request)

    way = Changing()
    client = httpx.Client(transport=way, base_url="http://localhost")
    stage = Stage(folder, f"sqlite:///{folder}/c.db", most=5, helper=client)
    tokens = [f"token number {i:04d}" for i in range(16)]
    allowed = {**ALLOWED, "helper": ring.line.first.hex()}

    async def both(stage):
        found = run(app, ["identity", "helper", "--state", str(theirs)])
        assert found.exit_code == 0, found.output
        await rotate_campaign(stage)
        way.made = helper()

    owners = joining(folder, **allowed)
    answered, counts, _ = asyncio.run(stage.run(owners, tokens, both))
    assert answered == sum(heard for _, heard in counts)
    assert (
        stage.states[0] == CLOSED
    )  # what was sealed to the keys of before was opened and added up
    assert counts[0] == (14, 14)
    # what would be asked now is sealed to the keys of now, and owners know
    keys = CampaignKeys.at(state)
    assert keys.sealing_keys(ring.line.first)[0] != keys.first_sealing


def test_an_owner_goes_by_another_key_and_its_budget_stays(tmp_path, any_database):
    folder = folder_of(
        tmp_path, text=SITES.replace("start = 4", "start = 1").replace("m = 2", "m = 1")
    )
    one = replace(
        joining(folder, epsilon_per_release=2, epsilon_total=2, units=("record",)), owners=None
    )
    stage = Stage(folder, any_database, most=0)

    async def renewed(stage):
        async with stage.serve():
            home = Home.at(folder / "owner")
            campaign = CampaignKeys.at(stage.state).first
            old = home.key(campaign, None)
            link = stage.link()
            assert await replace_owner_keys(home, link, None, None) == 1
            new = home.key(campaign, None)
            assert new.public_key() != old.public_key()
            assert home.owner(None) == "me"
            # by the old key nothing is had any more
            assert (await link.call("GET", "/v1/question", old)).status_code == 403
            assert (await link.call("GET", "/v1/question", new)).status_code in (200, 204)

    async def main():
        async with stage.serve() as service:
            service.store.add_tokens(["token number 0000"])
            task = asyncio.create_task(join(one, stage.link(), ["token number 0000"]))
            await stage.wait(lambda store: store.questions())
            task.cancel()
        await renewed(stage)
        stage.switch.most = 9
        async with stage.serve() as service:
            assert await join(one, stage.link(), []) == 1
            await stage.wait(lambda store: store.standing().state == ENDED)
            assert service.store.counts(1) == (1, 1)
            assert service.store.owner_counts()["enrolled"] == 1
        assert len(Home.at(folder / "owner").ledger.entries()) == 1

    asyncio.run(main())


def test_an_administrators_key_is_replaced_with_its_roles(tmp_path):
    file = tmp_path / "administrators"
    old = add_administrator(file, "ada", ["look", "steer"])
    first = admin_key(tmp_path)
    serving = Administrators(tmp_path / "admin.key", [file])
    assert serving.find(first.encode()) == Administrator("admin", ROLES)
    for name in ("ada", "admin"):
        found = run(app, ["identity", "administrator", name, "--state", str(tmp_path)])
        assert found.exit_code == 0, found.output
    assert serving.find(first.encode()) is None  # without a restart
    assert serving.find(admin_key(tmp_path).encode()) == Administrator("admin", ROLES)
    (tmp_path / "admin.key").write_text("\n")
    assert serving.find(b"") is None
    replace_administrator(tmp_path, "admin")
    now = Administrators(admin_key(tmp_path), [file])
    assert now.find(old.encode()) is None
    assert now.find(first.encode()) is None
    assert now.find(admin_key(tmp_path).encode()) == Administrator("admin", ROLES)
    found = run(app, ["identity", "administrator", "ada", "--state", str(tmp_path)])
    key = found.output.split()[-1].encode()
    assert Administrators("x", [file]).find(key) == Administrator("ada", ("look", "steer"))
    gone = run(app, ["identity", "administrator", "eve", "--state", str(tmp_path)])
    assert "that of an administrator" in str(gone.exception)


def test_a_sealing_key_signs_as_ed25519_and_near_misses_are_refused():
    for _ in range(20):  # both signs of a point
        secret = os.urandom(32)
        public = X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
        signature = sign_by_sealing_key(secret, b"new key")
        verifier_of(public).verify(signature, b"new key")
        flipped = signature[:-1] + bytes([signature[-1] ^ 1])
        for wrong in (flipped, signature[32:] + signature[:32]):
            with pytest.raises(InvalidSignature):
                verifier_of(public).verify(wrong, b"new key")
        with pytest.raises(InvalidSignature):
            verifier_of(public).verify(signature, b"other key")


@pytest.mark.parametrize("kind", [CAMPAIGN, HELPER], ids=["campaign", "helper"])
def test_a_rotation_that_is_killed_was_done_or_not(tmp_path, kind, monkeypatch):
    """Killed before each of its writes in turn: what is found afterwards is one key or the next,
    never none, and halves sealed to either can be opened.
    """
    original = replace_file
    for stop in range(4):
        folder = tmp_path / str(stop)
        before = KeyRing.at(folder, kind)
        writes: list[object] = []

        def write(path, content, stop=stop, writes=writes):
            if len(writes) == stop:
                raise KeyboardInterrupt
            writes.append(path)
            original(path, content)

        monkeypatch.setattr(succession, "replace_file", write)
        with suppress(KeyboardInterrupt):
            KeyRing.rotate(folder, kind)
        monkeypatch.setattr(succession, "replace_file", original)
        after = KeyRing.at(folder, kind)
        assert after.line.first == before.line.current
        assert len(after.before) == (stop >= 2)
        assert before.line.sealing[0] in after.secrets
        assert KeyRing.rotate(folder, kind).line.keys[: len(after.line.keys)] == after.line.keys


def test_a_damaged_file_of_keys_is_named(tmp_path):
    """What was told was "not a message of version 1", and of a key how long such keys are."""
    KeyRing.at(tmp_path, CAMPAIGN)
    (tmp_path / "successions").write_bytes(b"damaged")
    with pytest.raises(ValueError, match="successions is damaged: put the last copy of it back"):
        KeyRing.at(tmp_path, CAMPAIGN)
    (tmp_path / "signing.key").write_bytes(b"short")
    with pytest.raises(ValueError, match=r"signing\.key must hold 32 bytes, got 5"):
        KeyRing.at(tmp_path, CAMPAIGN)
