"""Campaigns that ask a helper at the same time: each has its share of the work."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from benchmarks.loopback import serve
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.service.helper import Helper, Sheets
from tacit.service.protocol import waiting
from tacit.sums.protocol import Block
from tacit.wire import encode
from tests.service.helper.made import bond_of, headers_of, name_of
from tests.sums.made import COORDINATOR_KEY, HELPER_KEY, batch

BUSY, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
BUSY_SUMS = X25519PrivateKey.generate()  # the busy campaign's coordinator


class Slow(Helper):
    """A helper whose work takes a while; how long it was at work for the busy campaign."""

    spent = 0.0

    def check(self, body, speaker):
        began = time.monotonic()
        time.sleep(0.05)
        if speaker.campaign == name_of(BUSY):
            self.spent += time.monotonic() - began
        return super().check(body, speaker)


def test_a_campaign_that_never_stops_leaves_time_to_others(tmp_path):
    """It had two threads at work all the time, beside which those of others waited."""
    names = name_of(BUSY), name_of(OTHER)
    made = Slow(HELPER_KEY, Sheets(tmp_path / "released.db"), names)
    blocks = {
        key: encode(Block(batch(coordinator=sums), 0, b"", b""))
        for key, sums in ((BUSY, BUSY_SUMS), (OTHER, COORDINATOR_KEY))
    }
    bonds = bond_of(blocks[BUSY], names[0], BUSY_SUMS), bond_of(blocks[OTHER], names[1])
    with serve(made.app(), None) as url, ThreadPoolExecutor(8) as pool:

        def ask_until(key, bond, pause, until):
            answers: list[int] = []
            with httpx.Client(timeout=60) as http:
                while not answers or time.monotonic() < until:
                    headers = headers_of(blocks[key], key, bond=bond)
                    said = http.post(f"{url}/v1/block", content=blocks[key], headers=headers)
                    answers.append(said.status_code)
                    time.sleep(pause)
            return answers

        assert ask_until(OTHER, bonds[1], 0.0, 0.0) == [200]
        made.spent, began = 0.0, time.monotonic()
        until = began + 2.0
        busy = [pool.submit(ask_until, BUSY, bonds[0], 0.0, until) for _ in range(6)]
        other = pool.submit(ask_until, OTHER, bonds[1], 0.05, until)
        for asked in (*busy, other):
            assert set(asked.result(timeout=60)) == {200}
        assert 0.3 < made.spent / (time.monotonic() - began) < 1.4


class Clock:
    """Time that passes when somebody waits."""

    def __init__(self, monkeypatch):
        self.at = 100.0
        monkeypatch.setattr(waiting, "now", lambda: self.at)
        monkeypatch.setattr(asyncio, "sleep", self.sleep)

    async def sleep(self, seconds):
        self.at += seconds


@pytest.mark.parametrize(
    ("beside", "processors", "seconds"),
    [(0, 1, 10.0), (1, 1, 20.0), (1, 2, 10.0), (4, 2, 20.0), (4, 4, 12.5), (9, 64, 10.0)],
)
def test_a_share_is_of_the_processors(monkeypatch, beside, processors, seconds):
    """Ten pieces of work, a second each, one after the other: twice as long at most."""
    clock, turns = Clock(monkeypatch), waiting.Turns(2, processors)

    async def work(name):
        async with turns.turn_of(name):
            clock.at += 1.0

    async def main():
        begun = clock.at
        for _ in range(10):
            for other in range(beside):
                turns.forget(f"{other}")
                async with turns.turn_of(f"{other}"):
                    pass
            await work("busy")
        return clock.at - begun

    took = asyncio.run(main())
    assert took + seconds / 10 - 1.0 == pytest.approx(seconds)  # after the last nobody rests


def test_who_was_alone_owes_nothing_and_who_is_again_waits_for_nobody(monkeypatch):
    clock, turns = Clock(monkeypatch), waiting.Turns(2, 1)

    async def main():
        begun = clock.at
        for _ in range(5):
            async with turns.turn_of("alone"):
                clock.at += 1.0
        async with turns.turn_of("other"):
            pass
        async with turns.turn_of("alone"):
            assert clock.at == begun + 5.0
            clock.at += 1.0
        clock.at += 20.0  # nobody else asks any more
        async with turns.turn_of("alone"):
            assert clock.at == begun + 26.0

    asyncio.run(main())
    assert turns.names == {"alone", "other"}
