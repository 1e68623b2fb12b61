"""An owner's secret, and what comes from it: keys that sign, and numbers that stand for owners.

A gateway holds many owners in one file; deriving all from one secret keeps the folder as small as
for one owner. Nothing derived tells the secret, or one owner's value from another's.
"""

import hmac
import os
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tacit._util.durable import read_or_create

SECRET = 32  # bytes
_DIGITS = 32


@dataclass(frozen=True)
class Identity:
    """The secret of a home."""

    secret: bytes = field(repr=False)

    @classmethod
    def at(cls, folder: Path) -> "Identity":
        """The identity kept in a folder; made on first use, readable by its user alone."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret = read_or_create(folder / "identity", lambda: os.urandom(SECRET))
        if len(secret) != SECRET:
            raise ValueError(
                f"{folder / 'identity'} must hold {SECRET} bytes, got {len(secret)}: damaged?"
            )
        return cls(secret)

    def key(self, name: bytes) -> Ed25519PrivateKey:
        """The signing key that goes by a name."""
        return Ed25519PrivateKey.from_private_bytes(self._derived(b"tacit owner " + name))

    def digest(self, value: str) -> str:
        """What stands for a value: the same for the same value, and nothing to anybody else."""
        keyed = hmac.new(self._derived(b"tacit digest"), value.encode(), "sha256")
        return keyed.hexdigest()[:_DIGITS]

    def _derived(self, info: bytes) -> bytes:
        return HKDF(SHA256(), SECRET, salt=None, info=info).derive(self.secret)
