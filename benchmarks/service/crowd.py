"""A crowd of owners for the load test: enrolled straight into the database, with reports ready and signed."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import insert

from tacit.campaign.requests import Request, signed_headers
from tacit.cohort import Cohort
from tacit.coordinator.store import Store
from tacit.coordinator.tables import owners
from tacit.learners.invitation import PURPOSE, Invitation, pack
from tacit.streams import secure
from tacit.wire.signed import opened, public_bytes

_ROWS = 4
_PATH = "/v1/report"


@dataclass(frozen=True, eq=False)
class Crowd:
    """Owners by their keys."""

    keys: list[Ed25519PrivateKey]

    @classmethod
    def of(cls, size: int) -> "Crowd":
        return cls([Ed25519PrivateKey.generate() for _ in range(size)])

    def enrol(self, store: Store) -> None:
        """Put everybody into the database: enrolment is not what is measured."""
        rows = [
            {"owner": name, "label": f"owner {at:07d}", "token": f"{at:064x}", "revoked": False, "asked": None}
            for at, name in enumerate(public_bytes(key.public_key()).hex() for key in self.keys)
        ]
        with store.transaction() as connection:
            for start in range(0, len(rows), 10_000):
                connection.execute(insert(owners), rows[start : start + 10_000])

    def reports(self, question: bytes, signing: Path) -> list[bytes]:
        """Everybody's report to a question, honestly drawn from rows of its own."""
        key = Ed25519PrivateKey.from_private_bytes(signing.read_bytes()).public_key()
        invitation = opened(question, Invitation, PURPOSE, key)
        query, n = invitation.query, len(self.keys)
        rng = np.random.default_rng(3)
        X = rng.uniform(-1, 1, size=(n * _ROWS, query.dim))
        cohort = Cohort(X, (X[:, 0] > 0).astype(np.int64), np.arange(n + 1) * _ROWS)
        made = query.release(cohort, np.full(n, query.epsilons[0]), secure())
        digest = invitation.digest
        return [pack(digest, 0, made[at : at + 1]) for at in range(n)]

    def requests(self, reports: list[bytes], start: int, stop: int) -> list[bytes]:
        """HTTP requests of some owners, signed now."""
        now = int(time.time())
        return [
            _posted(body, signed_headers(Request("POST", _PATH, now, body), key))
            for key, body in zip(self.keys[start:stop], reports[start:stop], strict=True)
        ]


def _posted(body: bytes, headers: dict[str, str]) -> bytes:
    lines = [f"POST {_PATH} HTTP/1.1", "host: 127.0.0.1", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
