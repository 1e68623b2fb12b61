"""A coordinator of two campaigns, each with an open question, and the people around them: invited,
uninvited, revoked, and administrators who may do little.
"""

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
from tacit.service.coordinator.keys import CampaignKeys, add_administrator
from tacit.service.coordinator.records import Records
from tacit.service.coordinator.server import Making, Service, root_of
from tacit.service.coordinator.store import Store
from tacit.service.protocol.guard import Limits
from tacit.service.protocol.handshake import Request, request_headers
from tacit.service.protocol.serving import Watch
from tacit.wire.envelopes import open_signed, public_bytes

HERE, NEXT = "here", "next-door"  # the campaign that strangers try, and the one beside it
_CAMPAIGN = """
kind = "boosting"
name = "strangers {name}"
sample = "sample.csv"
label = "y"
epsilon = 2.0
rounds = 1
owners_per_round = 2
start = 1000
minimum = 2
deadline = 3600
{more}
"""
_CLOSED = 'status_for = "members"\nmodel_for = "administrators"'
# every stranger is to be heard, not put off as one of many
_NO_PUTTING_OFF = Limits(burst=1e9, looks=1e9, asks=1e9)


@dataclass(frozen=True, eq=False)
class Begun:
    """One of the campaigns: its client, key and store, the first administrator's key, and its open
    question.
    """

    client: httpx.AsyncClient
    campaign: bytes
    admin: str
    store: Store
    invitation: Invitation

    def report(self) -> bytes:
        """A report that would count, had the right owner sent it."""
        return report_to(self.invitation)

    def headers(
        self,
        method: str,
        path: str,
        key: Ed25519PrivateKey,
        body: bytes = b"",
        *,
        at: float | None = None,
    ) -> dict[str, str]:
        """Signed now for this campaign, unless it is said otherwise."""
        when = int(time.time() if at is None else at)
        return request_headers(Request(self.campaign, method, path, when, body), key)

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


@dataclass(frozen=True, eq=False)
class Doorstep(Begun):
    """The campaign that strangers try, with the keys of owners: `silent` is invited too, and says
    nothing for long. All of them take part in the `neighbour` too, whose figures are for members
    and whose model is for administrators. `looks` and `admits` are keys of administrators of these
    roles; `withdrawn` and `expired` are tokens, `free` one that is good next door; `watch` has what
    operators see.
    """

    url: str
    trust: ssl.SSLContext
    neighbour: Begun
    invited: Ed25519PrivateKey
    silent: Ed25519PrivateKey
    uninvited: Ed25519PrivateKey
    revoked: Ed25519PrivateKey
    token_of_revoked: bytes
    looks: str
    admits: str
    withdrawn: bytes
    expired: bytes
    free: bytes
    other_authority: Path
    watch: Watch

    @classmethod
    @asynccontextmanager
    async def open(cls, folder: Path, database: str) -> AsyncIterator["Doorstep"]:
        """A coordinator over TLS, both of whose campaigns have asked two owners."""
        _write_files(folder)
        mine, other = Authority.create(folder, "mine"), Authority.create(folder, "other")
        signing = {slug: Ed25519PrivateKey.generate() for slug in (HERE, NEXT)}
        roles = {role: add_administrator(folder / HERE, role, [role]) for role in ("look", "admit")}
        service = Service(
            [folder / "campaigns"],
            database,
            lambda slug: CampaignKeys.of(signing[slug]),
            lambda slug: Making(admin=_admin(slug), administrators=(folder / slug,)),
            _NO_PUTTING_OFF,
        )
        service.mount(service.look())
        trust = ssl.create_default_context(cafile=str(mine.certificate))
        # two to be invited, one revoked, one too late
        keys = [Ed25519PrivateKey.generate() for _ in range(4)]
        with serve(service.app(), mine) as url:
            async with _client(url, HERE, trust) as one, _client(url, NEXT, trust) as two:
                begun, beside = [
                    await _begin(client, slug, signing[slug], service.campaigns[slug].store, keys)
                    for client, slug in ((one, HERE), (two, NEXT))
                ]
                begun.store.add_tokens([_token(5)], expires=time.time() - 1)
                begun.store.add_tokens([_token(6)])
                Records(begun.store).withdraw_tokens()
                beside.store.add_tokens([_token(7)])
                yield cls(
                    **vars(begun),
                    url=f"{url}{root_of(HERE)}",
                    trust=trust,
                    neighbour=beside,
                    invited=keys[0],
                    silent=keys[1],
                    revoked=keys[2],
                    uninvited=keys[3],
                    token_of_revoked=_enrolment(2),
                    looks=roles["look"],
                    admits=roles["admit"],
                    withdrawn=_enrolment(6),
                    expired=_enrolment(5),
                    free=_enrolment(7),
                    other_authority=other.certificate,
                    watch=service.watch,
                )

    async def question(self) -> list[bytes]:
        """The questions of both campaigns as the invited owner gets them now."""
        asked = [await each.send("GET", "/v1/question", self.invited) for each in self.both]
        return [b"" if answer is None else answer.content for answer in asked]

    @property
    def both(self) -> tuple[Begun, Begun]:
        return self, self.neighbour


def report_to(invitation: Invitation) -> bytes:
    """A report of an owner without rows."""
    query = invitation.query
    nobody = Cohort(
        np.zeros((0, query.dim)), np.zeros(0, dtype=np.int64), np.zeros(2, dtype=np.int64)
    )
    epsilon = np.array(query.epsilons[:1])
    return pack(invitation.digest, 0, query.release(nobody, epsilon, secure()))


def _client(url: str, slug: str, trust: ssl.SSLContext) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=f"{url}{root_of(slug)}", verify=trust, timeout=180.0)


async def _begin(
    client: httpx.AsyncClient,
    slug: str,
    key: Ed25519PrivateKey,
    store: Store,
    owners: list[Ed25519PrivateKey],
) -> Begun:
    """A campaign with an open question; anything that fails here is a mistake of ours."""
    found = _Setting(client, public_bytes(key.public_key()), _admin(slug))
    await found.admin("/v1/admin/tokens", "\n".join(_token(place) for place in range(4)))
    for place in range(3):
        await found.send_signed("POST", "/v1/enrol", owners[place], _enrolment(place))
    await found.admin("/v1/admin/revoke", public_bytes(owners[2].public_key()).hex())
    await found.admin("/v1/admin/state", "running")
    question = await found.await_question(owners[0])
    await found.send_signed("POST", "/v1/enrol", owners[3], _enrolment(3))
    invitation = open_signed(question, Invitation, PURPOSE, key.public_key())
    return Begun(client, found.campaign, found.key, store=store, invitation=invitation)


@dataclass(frozen=True)
class _Setting:
    """What is done before strangers come."""

    client: httpx.AsyncClient
    campaign: bytes
    key: str

    async def admin(self, path: str, body: str) -> None:
        (
            await self.client.post(path, content=body, headers={"x-tacit-admin": self.key})
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


def _admin(slug: str) -> str:
    return f"the key of the administrator of {slug}"


def _token(place: int) -> str:
    return f"strangers-token-{place:04d}"


def _enrolment(place: int) -> bytes:
    return f"{_token(place)}\nowner {place}".encode()


def _write_files(folder: Path) -> None:
    campaigns = folder / "campaigns"
    campaigns.mkdir()
    for slug, more in ((HERE, ""), (NEXT, _CLOSED)):
        (campaigns / f"{slug}.toml").write_text(_CAMPAIGN.format(name=slug, more=more))
    rng = np.random.default_rng(1)
    with (campaigns / "sample.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("a", "b", "y"))
        for a, b in rng.normal(size=(60, 2)).tolist():
            writer.writerow((a, b, "yes" if a + b > 0 else "no"))
