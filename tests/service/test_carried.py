"""A campaign whose requests somebody else carries: the bytes of one process, and nothing said to
whoever is not the pinned campaign.
"""

import asyncio
import csv
import time
from dataclasses import replace

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.estimators.persistence import SavedModel, open_model
from tacit.service.device.carried import LARGEST, CarriedPart, CarriedReply, Courier, Letter
from tacit.service.device.join import RehearsalPart
from tacit.wire import decode, encode
from tacit.wire.envelopes import public_bytes
from tests.service.coordinator.made import folder_of, joining, running, visiting, write
from tests.service.coordinator.test_rehearsal import SEED, in_process

OWNERS, NODES = 45, 3
TOKENS = [f"token number {i:04d}" for i in range(OWNERS)]
KEY = Ed25519PrivateKey.generate()


def parts(folder):
    """Owners at three nodes, with homes of their own."""
    with (folder / "people.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    each, rows = OWNERS // NODES, len(table) // NODES
    for node in range(NODES):
        path, first = folder / f"people{node}.csv", node * each
        write(path, table[node * rows : (node + 1) * rows])
        own = joining(folder, RehearsalPart(SEED, first))
        own = replace(own, data=path, home=folder / f"owner{node}")
        tokens = tuple(TOKENS[first : first + each])
        yield CarriedPart(own, tokens, public_bytes(KEY.public_key()), "http://localhost")


async def carry(courier: Courier, nodes: list[CarriedPart], client: httpx.AsyncClient) -> bytes:
    """Letters to all nodes until there is a model."""
    asked: list[set[str]] = [set() for _ in nodes]
    for _ in range(30):
        for place, node in enumerate(nodes):
            letter = await courier.letter(asked[place])
            reply = await asyncio.to_thread(node.reply_to, letter)
            asked[place] = await courier.take(reply)
        response = await client.get("/v1/model")
        if response.status_code == 200:
            return response.content
    raise AssertionError("no model after thirty letters")


def test_a_carried_campaign_has_the_bytes_of_one_process(tmp_path):
    folder = folder_of(tmp_path, OWNERS)
    service = running(folder, key=KEY, rehearsal=SEED)
    service.store.add_tokens(TOKENS)

    async def main():
        async with visiting(service.app) as client:
            return await carry(Courier(client), list(parts(folder)), client)

    published = decode(open_model(asyncio.run(main()))[0], SavedModel)
    assert encode(published.model) == encode(in_process(folder, SEED, 8.0))


def test_who_is_not_the_pinned_campaign_hears_nothing(tmp_path, caplog):
    folder = folder_of(tmp_path, OWNERS)
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
    folder = folder_of(tmp_path, OWNERS)
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
    node = next(parts(folder_of(tmp_path, OWNERS)))
    replace(node, step=60.0).check_step()
    with pytest.raises(ValueError, match=r"step must be .* got 1e-06 seconds .* set step = 1 or"):
        replace(node, step=1e-6).check_step()
    for step in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="step must be"):
            replace(node, step=step)
    assert not (tmp_path / "owner0").exists()  # nothing was said or begun


def test_reading_has_a_third_of_a_step_and_a_reply_leaves_between_the_gates_moments(tmp_path):
    folder = folder_of(tmp_path, OWNERS)
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
