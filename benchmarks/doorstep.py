"""A coordinator with one open question, and the people around it: invited, uninvited, revoked."""

import asyncio
import csv
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.loopback import Authority, serve
from tacit.data.cohort import Cohort
from tacit.learners.query import PURPOSE, Invitation, pack
from tacit.mechanisms.streams import secure
from tacit.service.coordinator.server import coordinator
from tacit.service.coordinator.store import Store
from tacit.service.protocol.guard import Limits
from tacit.service.protocol.handshake import Request, request_headers
from tacit.wire.envelopes import open_signed, public_bytes

ADMIN = "the administrator's key"
_CAMPAIGN = """
kind = "boosting"
name = "strangers"
sample = "sample.csv"
label = "y"
epsilon = 2.0
rounds = 1
owners_per_round = 2
start = 1000
minimum = 2
deadline = 3600
"""
_NO_PUTTING_OFF = Limits(burst=1e9)  # every stranger is to be heard, not put off as one of many


@dataclass(frozen=True, eq=False)
class Doorstep:
    """The service's address and store, and the keys of owners: `silent` is invited too, and says
    nothing for long.
    """

    url: str
    client: httpx.AsyncClient
    trust: ssl.SSLContext
    store: Store
    campaign: bytes
    invitation: Invitation
    invited: Ed25519PrivateKey
    silent: Ed25519PrivateKey
    uninvited: Ed25519PrivateKey
    revoked: Ed25519PrivateKey
    token_of_revoked: bytes
    other_authority: Path

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path) -> AsyncIterator["Doorstep"]:
        """A coordinator over TLS whose first question is open to two owners."""
        _write_sample(folder / "sample.csv")
        (folder / "campaign.toml").write_text(_CAMPAIGN)
        mine, other = Authority.create(folder, "mine"), Authority.create(folder, "other")
        key = Ed25519PrivateKey.generate()
        made = coordinator(
            folder / "campaign.toml",
            f"sqlite:///{folder}/campaign.db",
            key,
            ADMIN,
            limits=_NO_PUTTING_OFF,
        )
        trust = ssl.create_default_context(cafile=str(mine.certificate))
        # two to be invited, one revoked, one too late
        keys = [Ed25519PrivateKey.generate() for _ in range(4)]
        with serve(made.app, mine) as url:
            async with httpx.AsyncClient(base_url=url, verify=trust, timeout=30.0) as client:
                found = _Setting(client, public_bytes(key.public_key()))
                await found.admin(
                    "/v1/admin/tokens", "\n".join(_token(place) for place in range(4))
                )
                for place in range(3):
                    await found.send_signed("POST", "/v1/enrol", keys[place], _enrolment(place))
                await found.admin("/v1/admin/revoke", found.name(keys[2]))
                await found.admin("/v1/admin/state", "running")
                question = await found.await_question(keys[0])
                await found.send_signed("POST", "/v1/enrol", keys[3], _enrolment(3))
                invitation = open_signed(question, Invitation, PURPOSE, key.public_key())
                yield cls(
                    url=url,
                    client=client,
                    trust=trust,
                    store=made.store,
                    campaign=found.campaign,
                    invitation=invitation,
                    invited=keys[0],
                    silent=keys[1],
                    revoked=keys[2],
                    uninvited=keys[3],
                    token_of_revoked=_enrolment(2),
                    other_authority=other.certificate,
                )

    def report(self) -> bytes:
        """A report that would count, had the right owner sent it: of an owner without rows."""
        query = self.invitation.query
        nobody = Cohort(
            np.zeros((0, query.dim)), np.zeros(0, dtype=np.int64), np.zeros(2, dtype=np.int64)
        )
        return pack(
            self.invitation.digest, 0, query.release(nobody, np.array(query.epsilons[:1]), secure())
        )

    async def question(self) -> bytes:
        """The question as the invited owner gets it now."""
        answer = await self.send("GET", "/v1/question", self.invited)
        return b"" if answer is None else answer.content

    def headers(
        self,
        method: str,
        path: str,
        key: Ed25519PrivateKey,
        body: bytes = b"",
        *,
        at: float | None = None,
        campaign: bytes = b"",
    ) -> dict[str, str]:
        """Signed now for this campaign, unless it is said otherwise."""
        when = int(time.time() if at is None else at)
        return request_headers(Request(campaign or self.campaign, method, path, when, body), key)

    async def send(
        self, method: str, path: str, key: Ed25519PrivateKey, body: bytes = b""
    ) -> httpx.Response | None:
        """A well-signed request; None when the connection was closed on us."""
        return await self.raw(method, path, self.headers(method, path, key, body), body)

    async def raw(
        self, method: str, path: str, headers: dict[str, str], body: bytes | AsyncIterator[bytes]
    ) -> httpx.Response | None:
        """A request with any headers."""
        try:
            return await self.client.request(method, path, headers=headers, content=body or None)
        except httpx.TransportError:
            return None


@dataclass(frozen=True)
class _Setting:
    """What is done before strangers come; anything that fails here is a mistake of ours."""

    client: httpx.AsyncClient
    campaign: bytes

    @staticmethod
    def name(key: Ed25519PrivateKey) -> str:
        return public_bytes(key.public_key()).hex()

    async def admin(self, path: str, body: str) -> None:
        (
            await self.client.post(path, content=body, headers={"x-tacit-admin": ADMIN})
        ).raise_for_status()

    async def send_signed(
        self, method: str, path: str, key: Ed25519PrivateKey, body: bytes = b""
    ) -> httpx.Response:
        asked = Request(self.campaign, method, path, int(time.time()), body)
        headers = request_headers(asked, key)
        answer = await self.client.request(method, path, headers=headers, content=body or None)
        return answer.raise_for_status()

    async def await_question(self, key: Ed25519PrivateKey) -> bytes:
        """The question, as soon as it has been put."""
        while True:
            answer = await self.send_signed("GET", "/v1/question", key)
            if answer.status_code == 200:
                return answer.content
            await asyncio.sleep(0.1)


def _token(place: int) -> str:
    return f"strangers-token-{place:04d}"


def _enrolment(place: int) -> bytes:
    return f"{_token(place)}\nowner {place}".encode()


def _write_sample(path: Path) -> None:
    rng = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("a", "b", "y"))
        for a, b in rng.normal(size=(60, 2)).tolist():
            writer.writerow((a, b, "yes" if a + b > 0 else "no"))
