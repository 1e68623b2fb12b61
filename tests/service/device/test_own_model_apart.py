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
    """Makes a model that is done when the test says so, or after a minute."""

    def keep_own_model(self, path, rows, released, me):
        until = time.monotonic() + 60.0
        while not end_of(path).exists() and time.monotonic() < until:
            time.sleep(0.01)
        path.write_text(f"{len(rows.y)} rows")


def end_of(path):
    """A file that says that the model may be done; what makes it is another process."""
    return path.with_name("done")


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
        for _ in range(5):
            await member._idle()
            await asyncio.sleep(0)
        there = member.model.exists()
        end_of(member.model).touch()
        await asyncio.gather(*member.making)
        return there

    assert not asyncio.run(main())
    assert len(member.making) == 1
    assert member.model.read_text() == "5 rows"


def test_nothing_is_sent_after_a_model_was_made(tmp_path):
    """The end of a campaign comes while the own model is made: what is still to be fetched is
    fetched before, since when it is done depends on rows.
    """
    done = []

    class Watched(Relayed):
        async def catch_up(self, link, key, follow=None):
            done.append("sent")

    class Ended:
        async def call(self, method, path, key, body=b""):
            done.append("sent")
            return SimpleNamespace(status_code=410, headers={}, content=b"")

    member = peer(tmp_path, relayed=Watched(), link=Ended())

    async def main():
        await member._idle()
        await member.take_part()
        done.append("made" if member.model.exists() else "closed")  # connections end here
        end_of(member.model).touch()
        await member.finish()

    asyncio.run(main())
    assert done == ["sent", "sent", "sent", "closed"]
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
        await asyncio.sleep(0.1)  # both of the loop's threads are busy
        quick: Any = Quick()
        said = await GateQueue(quick).answer(b"question", "me")
        there = [member.model.exists() for member in members]
        for member in members:
            end_of(member.model).touch()
            await asyncio.gather(*member.making)
        return said, there

    assert asyncio.run(main()) == (b"report", [False, False])
    assert all(member.model.exists() for member in members)


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
