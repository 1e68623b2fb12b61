"""A peer's own model is made from exact rows: how long that takes must not show in its polling."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.data.cohort import Cohort
from tacit.service.device.join import join
from tacit.service.device.member import GateQueue, PeerMember

MINE = SimpleNamespace(number=0, held=(0,))


class Terms:
    """Makes a model that takes its time."""

    def keep_own_model(self, path, rows, released, me):
        time.sleep(1.0)
        path.write_text(f"{len(rows.y)} rows")


class Relayed:
    """A campaign in which all turns are over."""

    terms, position = Terms(), (1, 4)
    following = SimpleNamespace(is_settled=True, model=None, me=lambda key: MINE)

    async def catch_up(self, link, key, follow=None):
        pass


def peer(folder, relayed=None, link=None):
    rows = Cohort(np.zeros((5, 1)), np.zeros(5, dtype=np.int64), np.array([0, 5]))
    given: Any = {"owner": "me", "gate": None, "link": link, "held": (0,)}
    key = Ed25519PrivateKey.generate()
    given["relayed"] = relayed or Relayed()
    return PeerMember(key=key, rows=rows, model=folder / "own", **given)


def test_polling_goes_on_while_the_own_model_is_made(tmp_path):
    member = peer(tmp_path)

    async def main():
        polls = []
        for _ in range(5):
            began = time.monotonic()
            await member._idle()
            await asyncio.sleep(0)
            polls.append(time.monotonic() - began)
        there = member.model.exists()
        await asyncio.gather(*member.making)
        return polls, there

    polls, there = asyncio.run(main())
    assert sorted(polls)[2] < 0.2
    assert not there
    assert len(member.making) == 1
    assert member.model.read_text() == "5 rows"


def test_nothing_is_sent_after_a_model_was_made(tmp_path):
    """The end of a campaign comes while the own model is made: what is still to be fetched is
    fetched before, since when it is done depends on rows.
    """
    sent = []

    class Watched(Relayed):
        async def catch_up(self, link, key, follow=None):
            sent.append(time.monotonic())

    class Ended:
        async def call(self, method, path, key, body=b""):
            sent.append(time.monotonic())
            return SimpleNamespace(status_code=410, headers={}, content=b"")

    member = peer(tmp_path, relayed=Watched(), link=Ended())

    closed = []

    async def main():
        await member._idle()
        await member.take_part()
        closed.append(time.monotonic())  # connections end here
        await member.finish()

    began = time.monotonic()
    asyncio.run(main())
    assert len(sent) == 3
    assert max(*sent, *closed) - began < 0.5 < 1.0 < time.monotonic() - began
    assert member.model.exists()


def test_a_gate_does_not_wait_for_models_of_a_gateways_peers(tmp_path):
    """However many make one: threads of the event loop are few, and the gate needs none of them."""

    class Quick:
        def answers(self, question, owners):
            return [b"report"] * len(owners)

    members = [peer(tmp_path / str(i)) for i in range(2)]

    async def main():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        for member in members:
            member.model.parent.mkdir()
            await member._idle()
        await asyncio.sleep(0.1)
        quick: Any = Quick()
        began = time.monotonic()
        await GateQueue(quick).answer(b"question", "me")
        took = time.monotonic() - began
        for member in members:
            for task in member.making:
                task.cancel()
        return took

    assert asyncio.run(main()) < 0.5


def test_connections_are_closed_before_the_last_model_is_made():
    """Else the end of a connection would tell how long it took."""
    done = []

    class Taking:
        owner = "me"

        async def take_part(self, once):
            done.append("took part")
            return 1

        async def finish(self):
            done.append("finished")

    class Closing:
        async def end(self):
            done.append("closed")

    class Brought:
        policy = SimpleNamespace(time_step=0)
        rehearsal = None

        async def members(self, link, pinned):
            terms = SimpleNamespace(once=False, relay="a peers' campaign")
            return SimpleNamespace(terms=terms, began=0.0), [Taking()]

    brought: Any = Brought()
    link: Any = Closing()
    assert asyncio.run(join(brought, link, [])) == 1
    assert done == ["took part", "closed", "finished"]
