"""HTTP to the coordinator: signed requests, patience, and the same bytes again until they are safe."""

import asyncio
import logging
import random
import ssl
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.campaign.address import checked_url, trust
from tacit.campaign.requests import Request, signed_headers

log = logging.getLogger(__name__)
_FIRST, _LONGEST = 0.2, 30.0  # seconds between tries
_TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
_DAMAGED = {400, 401, 404, 405, 411, 413, 414, 431, 501, 505}  # what an honest request gets that something changed,
_TRIES = 6  # or a stranger: so not for ever
_CONNECTIONS = 8  # of a gateway, however many owners it has
_KEEP = 25.0  # seconds that a silent connection is used again; a little less than at the coordinator
_DRIFT = 30.0  # seconds that clocks may differ


class UnreachableError(RuntimeError):
    """The coordinator did not answer for as long as we were patient."""


@dataclass
class Link:
    """A connection to one coordinator. `patience` is how many seconds to go on trying."""

    client: httpx.AsyncClient
    patience: float = 3600.0
    skew: float = 0.0  # seconds that the coordinator's clock is ahead of ours

    @classmethod
    def to(cls, url: str, authority: Path | None, patience: float = 3600.0) -> "Link":
        """A link to `https://...`; plain http is for loopback only. `authority` is a certificate to trust."""
        limits = httpx.Limits(max_connections=_CONNECTIONS, keepalive_expiry=_KEEP)
        address, verify = checked_url("url", url), trust(authority)
        return cls(httpx.AsyncClient(base_url=address, verify=verify, timeout=30.0, limits=limits), patience)

    async def call(self, method: str, path: str, key: Ed25519PrivateKey | None, body: bytes = b"") -> httpx.Response:
        """One request, again and again while the other side is away; the bytes stay the same."""
        pause, until, tries = _FIRST, time.monotonic() + self.patience, 0
        while True:
            response = await self._once(method, path, key, body)
            if response is not None and response.status_code not in _TRANSIENT:
                tries += 1
                if key is None or response.status_code not in _DAMAGED or tries >= _TRIES:
                    return response
            if time.monotonic() + pause > until:
                raise UnreachableError(f"{self.client.base_url} did not answer {method} {path} in {self.patience:g} s")
            await asyncio.sleep(pause * random.SystemRandom().uniform(0.5, 1.0))  # owners come back spread out
            pause = min(2 * pause, _LONGEST)

    async def _once(self, method: str, path: str, key: Ed25519PrivateKey | None, body: bytes) -> httpx.Response | None:
        headers = {}
        if key is not None:
            headers = signed_headers(Request(method, path, int(self.now()), body), key)
        try:
            response = await self.client.request(method, path, content=body or None, headers=headers)
        except (httpx.TransportError, ssl.SSLError) as problem:
            if isinstance(problem.__cause__, ssl.SSLCertVerificationError) or "CERTIFICATE" in str(problem):
                raise UnreachableError(f"{self.client.base_url}: its certificate is not trusted") from problem
            log.info("the coordinator is away (%s)", type(problem).__name__)
            return None
        self._learn_skew(response)
        return response

    def now(self) -> float:
        """The time at the coordinator, whatever our own clock says."""
        return time.time() + self.skew

    def _learn_skew(self, response: httpx.Response) -> None:
        """Remember by how much the clocks differ, if they do; also when ours jumps."""
        try:
            theirs = parsedate_to_datetime(response.headers["date"]).timestamp()
        except (KeyError, ValueError):
            return
        off = theirs - time.time()
        if abs(off - self.skew) > _DRIFT:
            self.skew = off

    async def close(self) -> None:
        await self.client.aclose()
