"""A peer's own model is made from exact rows: how long that takes must not show in its polling."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.data.cohort import Cohort
from tacit.service.device.peer import PeerMember

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

    async def catch_up(self, link, key):
        pass


def test_polling_goes_on_while_the_own_model_is_made(tmp_path):
    rows = Cohort(np.zeros((5, 1)), np.zeros(5, dtype=np.int64), np.array([0, 5]))
    given: Any = {"owner": "me", "gate": None, "link": None, "held": (0,), "relayed": Relayed()}
    key = Ed25519PrivateKey.generate()
    member = PeerMember(key=key, rows=rows, model=tmp_path / "own", **given)

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
