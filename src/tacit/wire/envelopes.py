"""Envelopes of messages: an Ed25519 signature over canonical bytes, and sealing to a public key by
X25519, HKDF-SHA256 and ChaCha20-Poly1305.
"""

from collections.abc import Callable
from typing import TypeVar

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tacit.wire.decoding import LARGEST, decode
from tacit.wire.encoding import WireError, encode

Kind = TypeVar("Kind")
_SIGNATURE = 64


def sign(value: object, purpose: str, key: Ed25519PrivateKey) -> bytes:
    """The signed bytes of a registered object."""
    return sign_bytes(encode(value), purpose, key)


def sign_bytes(body: bytes, purpose: str, key: Ed25519PrivateKey) -> bytes:
    """The signed bytes of a message that is encoded already."""
    return key.sign(preimage(purpose, body)) + body


def open_signed(
    data: bytes,
    kind: Callable[..., Kind],
    purpose: str,
    key: Ed25519PublicKey,
    largest: int = LARGEST,
) -> Kind:
    """The object inside signed bytes, if `key` signed them for this purpose; else a `WireError`.

    >>> from tacit import Number
    >>> secret = Ed25519PrivateKey.generate()
    >>> letter = sign(Number("age", 0.0, 99.0), "example", secret)
    >>> open_signed(letter, Number, "example", secret.public_key())
    Number(name='age', low=0.0, high=99.0)
    """
    return decode(verify(data, purpose, key, largest), kind, largest)


def verify(data: bytes, purpose: str, key: Ed25519PublicKey, largest: int = LARGEST) -> bytes:
    """The message inside signed bytes, not yet parsed, if `key` signed it for this purpose; else
    a `WireError`.
    """
    if not _SIGNATURE < len(data) <= largest + _SIGNATURE:
        raise WireError(
            f"a signed message must be {_SIGNATURE + 1} to {largest + _SIGNATURE} bytes"
        )
    body = data[_SIGNATURE:]
    try:
        key.verify(data[:_SIGNATURE], preimage(purpose, body))
    except InvalidSignature as problem:
        raise WireError(
            "the signature does not belong to this message, purpose and key"
        ) from problem
    return body


def public_bytes(key: Ed25519PublicKey) -> bytes:
    """The 32 bytes that name a public key."""
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def preimage(purpose: str, body: bytes) -> bytes:
    """What is signed: a message, and what it is for."""
    name = f"tacit {purpose}".encode()
    return len(name).to_bytes(2, "little") + name + body


KEY = 32  # bytes of a key, secret or public
OVERHEAD = KEY + 16  # what sealing adds
_NONCE = bytes(12)


def seal(plain: bytes, to: bytes, context: bytes, secret: bytes) -> bytes:
    """`plain` for the holder of the key `to` only; `secret` is 32 fresh bytes that serve for
    nothing else.

    >>> from os import urandom
    >>> bob = X25519PrivateKey.generate()
    >>> sealed = seal(b"hello", bob.public_key().public_bytes_raw(), b"letter", urandom(32))
    >>> unseal(sealed, bob, b"letter")
    b'hello'
    """
    mine = X25519PrivateKey.from_private_bytes(secret)
    made = mine.public_key().public_bytes_raw()
    shared = mine.exchange(X25519PublicKey.from_public_bytes(to))
    return made + ChaCha20Poly1305(_key(shared, made, to)).encrypt(_NONCE, plain, context)


def unseal(sealed: bytes, key: X25519PrivateKey, context: bytes) -> bytes | None:
    """What was sealed; None for bytes that are not sealed to this key in this context. Total: no
    bytes raise.
    """
    if len(sealed) < OVERHEAD:
        return None
    made = sealed[:KEY]
    try:
        shared = key.exchange(X25519PublicKey.from_public_bytes(made))
        cipher = ChaCha20Poly1305(_key(shared, made, key.public_key().public_bytes_raw()))
        return cipher.decrypt(_NONCE, sealed[KEY:], context)
    except (ValueError, InvalidTag):  # a point of low order, or not ours
        return None


def _key(shared: bytes, made: bytes, to: bytes) -> bytes:
    return HKDF(SHA256(), KEY, salt=None, info=b"tacit sealed" + made + to).derive(shared)
