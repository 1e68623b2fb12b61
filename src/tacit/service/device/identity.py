"""An owner's keys: one secret in a folder, a key for each owner derived from it.

A gateway holds many owners in one file; deriving their keys from one secret keeps the folder as
small as for one owner.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tacit._util.durable import read_or_create
from tacit.wire.signing import public_bytes

_SECRET = 32


@dataclass(frozen=True)
class Identity:
    """The secret of a folder, and the key of each owner in it."""

    secret: bytes = field(repr=False)

    @classmethod
    def at(cls, folder: Path) -> "Identity":
        """The identity kept in a folder; made on first use, readable by its user alone."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        secret = read_or_create(folder / "identity", lambda: os.urandom(_SECRET))
        if len(secret) != _SECRET:
            raise ValueError(
                f"{folder / 'identity'} must hold {_SECRET} bytes, got {len(secret)}: damaged?"
            )
        return cls(secret)

    def key(self, owner: str) -> Ed25519PrivateKey:
        """The signing key of one owner."""
        derived = HKDF(SHA256(), _SECRET, salt=None, info=b"tacit owner " + owner.encode()).derive(
            self.secret
        )
        return Ed25519PrivateKey.from_private_bytes(derived)

    def name(self, owner: str) -> str:
        """The public key of one owner, in hex: its name in the campaign."""
        return public_bytes(self.key(owner).public_key()).hex()
