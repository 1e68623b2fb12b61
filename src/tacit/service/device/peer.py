"""A peer's part in a campaign: follow, check, speak in turn, sign; and make a model of its own.

What a peer has taken in is kept in its folder, so that a coordinator cannot show it another past
later: each roster and each turn is a file, written once after it was checked, and read again after
a restart.
"""

import asyncio
import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit._util.durable import read_or_create
from tacit.data.cohort import Cohort
from tacit.learners.invitation import PURPOSE, Invitation
from tacit.owner.gate import Reason
from tacit.owner.worker import run_apart
from tacit.service.device.client import Link
from tacit.service.device.member import Follower, Member
from tacit.service.protocol.peer_replay import (
    SPOKEN,
    Following,
    ForgeryError,
    RelayTerms,
    Spoken,
)
from tacit.wire.envelopes import open_signed, public_bytes, sign


class Relayed:
    """A peer's run of the campaign, and its files in `folder`."""

    def __init__(
        self,
        folder: Path,
        terms: RelayTerms,
        keys: Sequence[Ed25519PublicKey],
        known: Collection[bytes] | None = None,
    ) -> None:
        self._folder = folder
        self.terms = terms
        self._turn = asyncio.Lock()  # a gateway holds several peers that follow one campaign
        # what lies here was checked when it came, by the key of then
        self.following = Following(terms, *keys, known=known)
        while self._file.exists():
            self.following.take(self._file.read_bytes())
        self.following.keys = (keys[-1],)

    async def catch_up(
        self, link: Link, key: Ed25519PrivateKey, follow: Follower | None = None
    ) -> None:
        """Fetch and take in all there is, by the keys that `follow` goes by. `ForgeryError`: it
        does not follow.
        """
        async with self._turn:
            while (
                response := await link.call("GET", self.following.wants, key)
            ).status_code == 200:
                if follow is not None:
                    await follow.follow(response.headers)
                data, file = response.content, self._file
                self.following.take(data)
                read_or_create(file, partial(bytes, data))

    @property
    def position(self) -> tuple[int, int]:
        """How far it has come."""
        return self.following.rosters, self.following.turns

    @property
    def _file(self) -> Path:
        """The file of what comes next."""
        return self._folder / self.following.wants.removeprefix("/v1/").replace("/", "-")


log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PeerMember(Member):
    """A participant behind its gate; `rows` are its own, for the model that it keeps in `model`.

    `made` has how far it had come when models were made. They are made beside the polling, in a
    process of their own: how long that takes depends on the exact rows, when to poll does not.
    """

    relayed: Relayed
    rows: Cohort
    model: Path
    made: set[tuple[int, int]] = field(default_factory=set)
    making: list[asyncio.Task[None]] = field(default_factory=list)

    async def take_part(self, once: bool = False) -> int:
        """Answer in turn until the campaign ends; how many questions were answered.
        `ForgeryError`: no more.
        """
        answered = await super().take_part(once=False)
        # nothing is sent after this: when models are done depends on exact rows
        await self.relayed.catch_up(self.link, self.key, self.follow)
        await asyncio.gather(*self.making)
        self._make_model()
        await asyncio.gather(*self.making)
        return answered

    async def _answer(self, question: bytes) -> Reason | None:
        """Answer the next question of the campaign, and no other, and sign what the gate returns
        for all to check.
        """
        await self.relayed.catch_up(self.link, self.key, self.follow)
        self._check_myself()
        self.relayed.following.admit(question, public_bytes(self.key.public_key()))
        return await super()._answer(question)

    async def _post(self, question: bytes, report: bytes) -> int:
        digest = open_signed(question, Invitation, PURPOSE, self.relayed.following.key).digest
        body = sign(Spoken(digest, report), SPOKEN, self.key)
        return (await self.link.call("POST", "/v1/spoken", self.key, body)).status_code

    async def _idle(self) -> None:
        """Take in what others said; when all turns are over, make the own model anew."""
        await self.relayed.catch_up(self.link, self.key, self.follow)
        self._make_model()

    def _make_model(self) -> None:
        mine, now = self._check_myself(), self.relayed.position
        busy = any(not task.done() for task in self.making)
        if mine is not None and self.relayed.following.is_settled and not busy | (now in self.made):
            self.made.add(now)
            self.making.append(asyncio.create_task(self._keep_model(mine)))

    def _check_myself(self) -> int | None:
        """My number; None: I am not on the roster yet. `ForgeryError`: it says something else
        about me.
        """
        mine = self.relayed.following.me(public_bytes(self.key.public_key()))
        if mine is not None and mine.held != self.held:
            raise ForgeryError("the roster says that you hold other attributes than you do")
        return None if mine is None else mine.number

    async def _keep_model(self, me: int) -> None:
        released = self.relayed.following.model
        keep = partial(self.relayed.terms.keep_own_model, self.model, self.rows, released, me)
        if await asyncio.to_thread(run_apart, keep):
            log.info("your own model was written; it knows your rows and is for you alone")
        else:
            log.warning("your own model could not be written to %s", self.model)
