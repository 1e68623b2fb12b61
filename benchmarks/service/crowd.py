"""A crowd of owners for the load test: what each of them sends, ready and signed."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.data.cohort import Cohort
from tacit.learners.query import PURPOSE, Invitation, pack
from tacit.mechanisms.streams import secure
from tacit.service.coordinator.owner_api import ENROL, QUESTION, REPORT
from tacit.service.protocol.handshake import Request, request_headers
from tacit.wire.envelopes import open_signed, public_bytes

_ROWS = 4


@dataclass(frozen=True, eq=False)
class Crowd:
    """Owners by their keys, and the campaign (its public key) that they take part in."""

    keys: list[Ed25519PrivateKey]
    campaign: Ed25519PublicKey

    @classmethod
    def of(cls, size: int, signing: Path) -> "Crowd":
        """So many, in the campaign whose signing key is in a file."""
        campaign = Ed25519PrivateKey.from_private_bytes(signing.read_bytes()).public_key()
        return cls([Ed25519PrivateKey.generate() for _ in range(size)], campaign)

    @property
    def tokens(self) -> list[str]:
        """What each of them needs to be let in."""
        return [f"token of owner {at:07d}" for at in range(len(self.keys))]

    def reports(self, question: bytes) -> list[bytes]:
        """Everybody's report to a question, honestly drawn from rows of its own."""
        invitation = open_signed(question, Invitation, PURPOSE, self.campaign)
        query, n = invitation.query, len(self.keys)
        rng = np.random.default_rng(3)
        X = rng.uniform(-1, 1, size=(n * _ROWS, query.dim))
        cohort = Cohort(X, (X[:, 0] > 0).astype(np.int64), np.arange(n + 1) * _ROWS)
        made = query.release(cohort, np.full(n, query.epsilons[0]), secure())
        digest = invitation.digest
        return [pack(digest, 0, made[at : at + 1]) for at in range(n)]

    def enrolments(self) -> "Requests":
        """Everybody's first request."""
        return self._requests(ENROL, [token.encode() for token in self.tokens])

    def asking(self) -> "Requests":
        """Everybody's second: is there a question?"""
        return self._requests(QUESTION, [b""] * len(self.keys))

    def reporting(self, reports: list[bytes]) -> "Requests":
        """Everybody's third and last."""
        return self._requests(REPORT, reports)

    def _requests(self, route: tuple[str, str], bodies: list[bytes]) -> "Requests":
        return Requests(self.keys, public_bytes(self.campaign), route, bodies)


@dataclass(frozen=True, eq=False)
class Requests:
    """One request of every owner."""

    keys: list[Ed25519PrivateKey]
    campaign: bytes
    route: tuple[str, str]
    bodies: list[bytes]

    def __len__(self) -> int:
        return len(self.keys)

    def signed(self, start: int, stop: int) -> list[bytes]:
        """HTTP requests of some owners, signed now."""
        now = int(time.time())
        return [
            self._text(body, request_headers(Request(self.campaign, *self.route, now, body), key))
            for key, body in zip(self.keys[start:stop], self.bodies[start:stop], strict=True)
        ]

    def _text(self, body: bytes, headers: dict[str, str]) -> bytes:
        lines = [" ".join([*self.route, "HTTP/1.1"]), "host: 127.0.0.1"]
        lines += [f"content-length: {len(body)}"] if body else []
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body
