"""A campaign whose requests somebody else carries: the bytes of one process, and nothing said to
whoever is not the pinned campaign.
"""

import asyncio
import csv
import time
from collections import Counter
from dataclasses import replace

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.estimators.persistence import SavedModel, open_model
from tacit.service.device.carried import LARGEST, CarriedPart, CarriedReply, Courier, Letter
from tacit.service.device.join import RehearsalPart
from tacit.service.kinds.peers import PeerSpec
from tacit.wire import decode, encode
from tacit.wire.envelopes import public_bytes
from tests.service.coordinator import made
from tests.service.coordinator import peers as of_peers
from tests.service.coordinator import test_classifier as a_classifier
from tests.service.coordinator import test_sites as of_sites
from tests.service.coordinator.made import folder_of, joining, running, visiting, write
from tests.service.coordinator.test_rehearsal import SEED, in_process

OWNERS, NODES = 24, 2
TOKENS = [f"token number {i:04d}" for i in range(OWNERS)]
KEY = Ed25519PrivateKey.generate()
FEWER = made.CAMPAIGN.replace("start = 45", f"start = {OWNERS}")


def parts(folder, tokens=TOKENS, nodes=NODES, limits=None):
    """Owners at several nodes, with homes of their own."""
    with (folder / "people.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    each, rows = len(tokens) // nodes, len(table) // nodes
    for node in range(nodes):
        path, first = folder / f"people{node}.csv", node * each
        write(path, table[node * rows : (node + 1) * rows])
        own = joining(folder, RehearsalPart(SEED, first), **(limits or {}))
        own = replace(own, data=path, home=folder / f"owner{node}")
        mine = tuple(tokens[first : first + each])
        yield CarriedPart(own, mine, public_bytes(KEY.public_key()), "http://localhost")


async def carry(courier: Courier, nodes: list[CarriedPart], client: httpx.AsyncClient) -> bytes:
    """Letters to all nodes until there is a model."""
    asked: list[set[str]] = [set() for _ in nodes]
    for _ in range(200):
        for place, node in enumerate(nodes):
            letter = await courier.letter(asked[place])
            reply = await asyncio.to_thread(node.reply_to, letter)
            asked[place] = await courier.take(reply)
        response = await client.get("/v1/model")
        if response.status_code == 200:
            return response.content
    raise AssertionError("no model after two hundred letters")


def carried(service, nodes):
    """What is published when all nodes are carried to."""

    async def main():
        async with visiting(service.app) as client:
            return await carry(Courier(client), list(nodes), client)

    return encode(decode(open_model(asyncio.run(main()))[0], SavedModel).model)


def boosting(folder):
    folder = folder_of(folder, OWNERS, FEWER)
    return folder, TOKENS, {}, lambda: in_process(folder, SEED, 8.0)


def classifier(folder):
    folder = a_classifier.folder_of(folder)
    return folder, a_classifier.TOKENS, {}, lambda: a_classifier.in_process(folder, 8.0).model


def sites(folder):
    folder = of_sites.folder_of(folder, of_sites.CAMPAIGN + 'combine = "feature"\n')
    return folder, of_sites.TOKENS, of_sites.LIMITS, lambda: of_sites.in_process(folder, 2.0)


def peers(folder):
    folder = of_peers.folder_of(folder)
    terms, _ = PeerSpec.read(folder / "campaign.toml").prepare()
    tokens = of_peers.TOKENS[: of_peers.PEERS]
    return (
        folder,
        tokens,
        of_peers.LIMITS,
        lambda: of_peers.in_process(folder, terms)._to_save(),
    )


@pytest.mark.parametrize("kind", [boosting, classifier, sites, peers])
def test_a_carried_campaign_has_the_bytes_of_one_process(tmp_path, kind):
    folder, tokens, limits, expected = kind(tmp_path)
    service = running(folder, key=KEY, rehearsal=SEED)
    service.store.add_tokens(tokens)
    nodes = of_peers.PEERS if kind is peers else NODES
    assert carried(service, parts(folder, tokens, nodes, limits)) == encode(expected())


def test_what_befalls_one_owner_is_nothing_to_the_others(tmp_path):
    """A token that is unknown, and a coordinator that is busy: the others are enrolled, and who was
    told to come again comes again.
    """
    folder = folder_of(tmp_path, OWNERS, FEWER)
    service = running(folder, key=KEY, rehearsal=SEED)
    service.store.add_tokens(TOKENS[1:])
    node = next(parts(folder))

    class Busy(httpx.AsyncBaseTransport):
        """Busy for the second request that is not for everybody, once."""

        requests = 0

        def __init__(self, real):
            self._real = real

        async def handle_async_request(self, request):
            self.requests += request.url.path == "/v1/enrol"
            if self.requests == 2 and request.url.path == "/v1/enrol":
                return httpx.Response(503)
            return await self._real.handle_async_request(request)

    async def main():
        async with visiting(service.app) as client:
            client._transport = Busy(client._transport)
            courier, paths = Courier(client), []
            asked: set[str] = set()
            for _ in range(3):
                reply = await asyncio.to_thread(node.reply_to, await courier.letter(asked))
                asked = await courier.take(reply)
                requests = decode(reply, CarriedReply, LARGEST).requests
                paths.append(Counter(each.path for each in requests))
            return paths

    first, second, third = asyncio.run(main())
    each = OWNERS // NODES
    assert first == {"/v1/enrol": each}
    assert second == {"/v1/enrol": 1, "/v1/question": each - 2}
    assert third["/v1/question"] == each - 1


def test_who_is_not_the_pinned_campaign_hears_nothing(tmp_path, caplog):
    folder = folder_of(tmp_path, OWNERS, FEWER)
    other = running(folder, rehearsal=SEED)  # of the same name, with another key
    node = next(parts(folder))

    async def greet():
        async with visiting(other.app) as client:
            return await Courier(client).letter(set())

    letters = [b"", b"no letter", encode(CarriedReply(())), asyncio.run(greet())]
    for letter in letters:
        assert decode(node.reply_to(letter), CarriedReply, LARGEST).requests == ()
    assert not (folder / "owner0" / "pins").exists()
    assert len(caplog.records) == len(letters)


def test_the_first_letter_is_answered_by_enrolments_alone(tmp_path):
    folder = folder_of(tmp_path, OWNERS, FEWER)
    service = running(folder, key=KEY, rehearsal=SEED)
    node = next(parts(folder))

    async def greet():
        async with visiting(service.app) as client:
            return await Courier(client).letter(set())

    letter = asyncio.run(greet())
    requests = decode(node.reply_to(letter), CarriedReply, LARGEST).requests
    assert [each.path for each in requests] == ["/v1/enrol"] * len(node.tokens)
    assert len({each.owner for each in requests}) == len(node.tokens)
    without = encode(replace(decode(letter, Letter, LARGEST), answers=()))
    (greeting,) = decode(node.reply_to(without), CarriedReply, LARGEST).requests
    assert (greeting.path, greeting.owner) == ("/v1/campaign", "")


def test_a_step_is_three_times_as_long_as_reading_the_rows(tmp_path):
    node = next(parts(folder_of(tmp_path, OWNERS, FEWER)))
    replace(node, step=60.0).check_step()
    with pytest.raises(ValueError, match=r"step must be .* got 1e-06 seconds .* set step = 1 or"):
        replace(node, step=1e-6).check_step()
    for step in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="step must be"):
            replace(node, step=step)
    assert not (tmp_path / "owner0").exists()  # nothing was said or begun


def test_reading_has_a_third_of_a_step_and_a_reply_leaves_between_the_gates_moments(tmp_path):
    folder = folder_of(tmp_path, OWNERS, FEWER)
    service = running(folder, key=KEY, rehearsal=SEED)
    node = replace(next(parts(folder)), step=0.9)
    waiting = replace(node.joining, policy=replace(node.joining.policy, time_step=1))

    async def greet():
        async with visiting(service.app) as client:
            return await Courier(client).letter(set())

    def took(part):
        began = time.monotonic()
        asyncio.run(part._go_on(decode(letter, Letter, LARGEST), began))
        read = time.monotonic() - began
        assert part.reply_to(letter)
        return read, time.monotonic() - began - read

    letter = asyncio.run(greet())
    read, replied = took(replace(node, joining=waiting))
    assert read >= 0.3
    assert replied >= 0.3 + 0.5
