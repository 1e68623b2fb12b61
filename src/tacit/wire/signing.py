"""Messages with an Ed25519 signature over their canonical bytes.

Signed bytes are: 64 bytes of signature, then the message. What is signed is a purpose (so that a
signature for one thing cannot serve for another), and the message. Nothing is parsed before the
signature holds.
"""

from collections.abc import Callable
from typing import TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tacit.wire.codec import LARGEST, WireError, decode, encode

Kind = TypeVar("Kind")
_SIGNATURE = 64


def sign(value: object, purpose: str, key: Ed25519PrivateKey) -> bytes:
    """The signed bytes of a registered object."""
    body = encode(value)
    return key.sign(_preimage(purpose, body)) + body


def opened(
    data: bytes,
    kind: Callable[..., Kind],
    purpose: str,
    key: Ed25519PublicKey,
    largest: int = LARGEST,
) -> Kind:
    """The object inside signed bytes, if `key` signed them for this purpose; else a `WireError`.

    >>> from tacit import Number
    >>> secret = Ed25519PrivateKey.generate()
    >>> opened(sign(Number("age", 0.0, 99.0), "example", secret), Number, "example", secret.public_key())
    Number(name='age', low=0.0, high=99.0)
    """
    return decode(verified(data, purpose, key, largest), kind, largest)


def verified(data: bytes, purpose: str, key: Ed25519PublicKey, largest: int = LARGEST) -> bytes:
    """The message inside signed bytes, not yet parsed, if `key` signed it for this purpose; else
    a `WireError`.
    """
    if not _SIGNATURE < len(data) <= largest + _SIGNATURE:
        raise WireError(
            f"a signed message must be {_SIGNATURE + 1} to {largest + _SIGNATURE} bytes"
        )
    body = data[_SIGNATURE:]
    try:
        key.verify(data[:_SIGNATURE], _preimage(purpose, body))
    except InvalidSignature as problem:
        raise WireError(
            "the signature does not belong to this message, purpose and key"
        ) from problem
    return body


def public_bytes(key: Ed25519PublicKey) -> bytes:
    """The 32 bytes that name a public key."""
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def _preimage(purpose: str, body: bytes) -> bytes:
    name = f"tacit {purpose}".encode()
    return len(name).to_bytes(2, "little") + name + body
