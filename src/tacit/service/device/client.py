"""HTTP to the coordinator: signed requests, patience, and the same bytes again until they are safe.

How long to wait before trying again: longer each time, and never together with others. A
coordinator that refuses connections is starting again, and is back in a moment. One that lets time
run out, or says that it is busy, has too much to do, most of it perhaps for those who gave up and
came again: it is given seconds, not moments, from the first time on.

Owners behind one gateway tell each other when a question is out, so that none sleeps through it.
"""

import asyncio
import logging
import random
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.service.protocol.handshake import (
    Request,
    TheirClock,
    check_url,
    fetch,
    no_cookies,
    request_headers,
    trust,
)

_FIRST, _LONGEST = 0.2, 60.0  # seconds
_BUSY_FIRST = 8.0  # seconds to begin with where the other side is there, and slow


@dataclass
class Backoff:
    """Pauses between tries of one request; `coin` draws from [0, 1)."""

    coin: Callable[[], float]
    bound: float = _FIRST

    def pause(self, busy: bool, asked: float = 0.0) -> float:
        """Seconds to wait now: half the bound and a part of the other half; never less than the
        other side `asked`.
        """
        if busy:
            self.bound = max(self.bound, _BUSY_FIRST)
        bound, self.bound = self.bound, min(2 * self.bound, _LONGEST)
        return max(bound, 2 * asked) * (1 + self.coin()) / 2


class News:
    """Shared by the owners of a gateway: whoever waits is woken when one of them is asked
    something new.
    """

    def __init__(self) -> None:
        self._last = b""
        self._told = asyncio.Event()

    def tell(self, question: bytes) -> None:
        """Wake those that wait, if this is not the question they were woken for the last time."""
        if question != self._last:
            self._last = question
            self._told.set()
            self._told = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Until there is something new, but no longer than so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._told.wait(), seconds)


log = logging.getLogger(__name__)
_BUSY = {408, 425, 429, 503, 504}
TRANSIENT = {*_BUSY, 500, 502}
# what an honest request gets that something on the way changed, or a stranger: so not for ever
_DAMAGED = {400, 401, 404, 405, 411, 413, 414, 431, 501, 505}
_TRIES = 6  # of a request that was damaged on its way
_GREETINGS = 3  # tries, where what comes is no greeting: an address may be wrong as well
# of a gateway, however many owners it has; made as they are needed, each costs a handshake
_CONNECTIONS = 16
_KEEP = 25.0  # seconds that a silent connection is used again; a little less than the coordinator
# seconds for a handshake or an answer: giving up early makes a busy coordinator do it all again
_TIMEOUT = 180.0


def trust_pinned(pins: Collection[bytes]) -> ssl.SSLContext:
    """Trust in certificates with these SHA-256 fingerprints, and in no others.

    A handshake proves that the other side has the key of its certificate, and the fingerprint says
    which certificate: nobody else has to vouch for it, nor for the name of the host.
    """

    class PinnedObject(ssl.SSLObject):
        def do_handshake(self) -> None:
            super().do_handshake()
            if sha256(self.getpeercert(binary_form=True) or b"").digest() not in pins:
                raise ssl.SSLCertVerificationError("CERTIFICATE is not the one that is pinned")

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.sslobject_class = PinnedObject
    return context


class UnreachableError(RuntimeError):
    """The coordinator did not answer for as long as we were patient."""


@dataclass
class Link:
    """A link to one coordinator, of one owner or of all behind a gateway.

    `clients` are for one request at a time each: httpx looks at every connection of a client at
    every request. `patience` is how many seconds to go on trying; `coin` draws from [0, 1), so that
    owners do not come together.
    """

    clients: Sequence[httpx.AsyncClient]
    patience: float = 3600.0
    campaign: bytes = b""  # the key of the campaign that requests are signed for
    clock: TheirClock = field(default_factory=TheirClock)
    news: News = field(default_factory=News)
    became: Counter[str] = field(default_factory=Counter)  # of questions: answered, refused why
    _free: asyncio.LifoQueue[httpx.AsyncClient] = field(
        default_factory=asyncio.LifoQueue, init=False, repr=False
    )
    coin: Callable[[], float] = field(default=random.SystemRandom().random, repr=False)
    made_here: bool = False  # the clients, and for nobody else
    shortest: float = 1.0  # seconds on average between two looks, whatever the coordinator says

    def __post_init__(self) -> None:
        for client in self.clients:
            self._free.put_nowait(client)

    @property
    def address(self) -> httpx.URL:
        """Of the coordinator."""
        return self.clients[0].base_url

    @classmethod
    def to(
        cls,
        url: str,
        authority: Path | None,
        patience: float = 3600.0,
        pins: Collection[bytes] = (),
    ) -> "Link":
        """A link to `https://...`; plain http is for loopback only. `authority` is a certificate
        to trust; `pins` are fingerprints of the only certificates that the address may show.
        """
        address, limits = check_url("url", url), httpx.Limits(keepalive_expiry=_KEEP)
        # one for all: it reads many certificates
        verify = trust_pinned(pins) if pins else httpx.create_ssl_context(trust(authority))
        clients = [
            httpx.AsyncClient(
                base_url=address,
                verify=verify,
                timeout=_TIMEOUT,
                limits=limits,
                cookies=no_cookies(),
            )
            for _ in range(_CONNECTIONS)
        ]
        return cls(clients, patience, made_here=True)

    async def call(
        self, method: str, path: str, key: Ed25519PrivateKey | None, body: bytes = b""
    ) -> httpx.Response:
        """One request, again and again while the other side is away; the bytes stay the same."""
        until, tries, backoff = time.monotonic() + self.patience, 0, Backoff(self.coin)
        while True:
            response = await self._once(method, path, key, body)
            code = response.status_code if isinstance(response, httpx.Response) else 0
            if isinstance(response, httpx.Response) and code not in TRANSIENT:
                tries += 1
                if key is None or code not in _DAMAGED or tries >= _TRIES:
                    return response
            busy = code in _BUSY or isinstance(response, httpx.TimeoutException)
            pause = backoff.pause(busy, _seconds_to_wait(response))
            if time.monotonic() + pause > until:
                raise UnreachableError(
                    f"{self.address} did not answer {method} {path} in {self.patience:g} s"
                )
            await asyncio.sleep(pause)

    async def greet(self) -> bytes:
        """What the campaign says first; asked again a few times where the answer is an error, since
        something on the way may have changed the request, and nobody signs this one.
        """
        backoff = Backoff(self.coin)
        response = await self.call("GET", "/v1/campaign", None)
        for _ in range(_GREETINGS - 1):
            if response.status_code == 200:
                break
            await asyncio.sleep(backoff.pause(busy=False))
            response = await self.call("GET", "/v1/campaign", None)
        return response.content

    async def _once(
        self, method: str, path: str, key: Ed25519PrivateKey | None, body: bytes
    ) -> httpx.Response | Exception:
        """One try: the answer, or why there is none."""
        try:
            async with self._client() as client:
                signed = Request(self.campaign, method, path, int(self.now()), body)
                headers = {} if key is None else request_headers(signed, key)
                response = await fetch(client, method, path, body, headers)
        except (httpx.TransportError, ssl.SSLError) as problem:
            if isinstance(problem.__cause__, ssl.SSLCertVerificationError) or "CERTIFICATE" in str(
                problem
            ):
                raise UnreachableError(
                    f"{self.address}: its certificate is not trusted"
                ) from problem
            log.info("the coordinator is away (%s)", type(problem).__name__)
            return problem
        self.clock.learn(response.headers)
        return response

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        """One that nobody uses, the last used first; owners of a gateway wait for each other as
        long as it takes.
        """
        client = await self._free.get()
        try:
            yield client
        finally:
            self._free.put_nowait(client)

    def now(self) -> float:
        """The time at the coordinator, whatever our own clock says."""
        return self.clock.now()

    async def end(self) -> None:
        """Close all connections, but those that others use, too."""
        if self.made_here:
            await self.close()

    async def close(self) -> None:
        for client in self.clients:
            await client.aclose()


def _seconds_to_wait(response: httpx.Response | Exception) -> float:
    """How many seconds the other side asks us to stay away."""
    value = response.headers.get("retry-after", "") if isinstance(response, httpx.Response) else ""
    return min(float(value), _TIMEOUT) if value.isascii() and value.isdigit() else 0.0
