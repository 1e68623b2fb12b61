"""How two parties come to trust each other: addresses, the campaign's key, and rehearsals.

Services are reached by TLS, unless they are on this machine. What a coordinator says first is its
public key, and the campaign's terms signed with it.

A rehearsal is a campaign over the network whose coins can be repeated: reproducible, not private.
It gives, byte for byte, the model that the engine in one process gives for the same rows and seed,
so that everything in between (requests, databases, restarts) can be checked. It cannot be taken for
a campaign: its name says what it is in every question and every line of a ledger, and all ends
refuse to rehearse off this machine. Its sums go to a helper whose key everybody knows.
"""

import ssl
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tacit.wire import WireError
from tacit.wire.envelopes import public_bytes, sign, verified

LOOPBACK = ("localhost", "127.0.0.1", "::1")
REHEARSAL = "rehearsal: reproducible, not private"
_PURPOSE = "campaign"
_KEY = 32  # bytes of a public key


def check_url(name: str, url: str) -> str:
    """`url`, if it begins with https://; plain http is for loopback only.

    >>> check_url("url", "http://127.0.0.1:8000")
    'http://127.0.0.1:8000'
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ValueError(
            f"{name} must begin with https:// (http:// only on this machine), got {url!r}"
        )
    return url


def trust(authority: Path | None) -> ssl.SSLContext | bool:
    """Whom to believe: the certificate given, else those that the machine trusts."""
    return True if authority is None else ssl.create_default_context(cafile=str(authority))


def greeting(terms: object, key: Ed25519PrivateKey) -> bytes:
    """The bytes that everybody may fetch: the key, and the terms signed with it."""
    return public_bytes(key.public_key()) + sign(terms, _PURPOSE, key)


def read_greeting(data: bytes, pinned: bytes | None) -> tuple[Ed25519PublicKey, bytes]:
    """The campaign's key and the bytes of its terms; with a `pinned` key only that one will do."""
    if not len(data) > _KEY:
        raise WireError("not a campaign: too short")
    if pinned is not None and data[:_KEY] != pinned:
        raise WireError(
            f"the campaign's key is {data[:_KEY].hex()}, but {pinned.hex()} is pinned: "
            "another campaign?"
        )
    key = Ed25519PublicKey.from_public_bytes(data[:_KEY])
    return key, verified(data[_KEY:], _PURPOSE, key)


def sum_key(key: Ed25519PrivateKey) -> X25519PrivateKey:
    """The key that owners seal the coordinator's halves to, derived from the campaign's signing
    key.
    """
    raw = HKDF(SHA256(), 32, salt=None, info=b"tacit sum key").derive(key.private_bytes_raw())
    return X25519PrivateKey.from_private_bytes(raw)


def is_rehearsal(name: str) -> bool:
    """Whether a campaign of this name is a rehearsal."""
    return name.startswith(REHEARSAL)


def rehearse_only_here(host: str | None) -> None:
    """Refuse to rehearse with another machine."""
    if host not in LOOPBACK:
        raise ValueError(
            f"a {REHEARSAL}; it must stay on this machine ({', '.join(LOOPBACK)}), got host "
            f"{host!r}"
        )
