"""Envelopes of messages: an Ed25519 signature over canonical bytes, sealing to a public key by
X25519, HKDF-SHA256 and ChaCha20-Poly1305, and encryption of what lies on disk by AES-SIV.
"""

import hmac
from collections.abc import Callable
from typing import TypeVar

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESSIV, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tacit.wire.codec import LARGEST, WireError, decode, encode

Kind = TypeVar("Kind")
SIGNATURE = 64  # bytes of it


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
    if not SIGNATURE < len(data) <= largest + SIGNATURE:
        raise WireError(f"a signed message must be {SIGNATURE + 1} to {largest + SIGNATURE} bytes")
    body = data[SIGNATURE:]
    try:
        key.verify(data[:SIGNATURE], preimage(purpose, body))
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
_PRIME = 2**255 - 19  # of the curve that keys lie on
_ANYBODY = X25519PrivateKey.from_private_bytes(bytes(KEY))


def has_one_writing(key: bytes) -> bool:
    """Whether a public key is written as keys are: another writing would be another name for it."""
    return len(key) == KEY and int.from_bytes(key, "little") < _PRIME


def can_seal_to(key: bytes) -> bool:
    """Whether anything can be sealed to a public key: a point of low order has no holder.

    >>> can_seal_to(X25519PrivateKey.generate().public_key().public_bytes_raw())
    True
    >>> can_seal_to(bytes(32)), can_seal_to(bytes([255]) * 32)
    (False, False)
    """
    try:
        _ANYBODY.exchange(X25519PublicKey.from_public_bytes(key))
    except ValueError:
        return False
    return has_one_writing(key)


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


class Vault:
    """Encryption of what lies in a database, with a key of 32 bytes that is kept elsewhere.

    AES-SIV: what was sealed is the same bytes each time for the same place and content, so that a
    database can still say that two names are the same, and a nonce need not be drawn. What is
    sealed for one place opens in no other. Claim: whoever has the database and not the key learns
    lengths, and which contents of one place are equal; whoever changes it is noticed.

    >>> vault = Vault(bytes(32))
    >>> sealed = vault.seal(b"north", "name")
    >>> vault.open(sealed, "name"), vault.open(b"north", "name")
    (b'north', None)
    """

    def __init__(self, secret: bytes) -> None:
        if not len(secret) == KEY:
            raise WireError(f"a storage key must be {KEY} bytes, got {len(secret)}")
        made = HKDF(SHA256(), 3 * KEY, salt=None, info=b"tacit storage").derive(secret)
        self._cipher, self._hash = AESSIV(made[: 2 * KEY]), made[2 * KEY :]

    def seal(self, plain: bytes, place: str) -> bytes:
        return self._cipher.encrypt(plain, [place.encode()])

    def open(self, sealed: bytes, place: str) -> bytes | None:
        """What was sealed; None: it was sealed elsewhere, with another key, or was changed."""
        try:
            return self._cipher.decrypt(sealed, [place.encode()])
        except (InvalidTag, ValueError):
            return None

    def hash(self, text: str) -> str:
        """What stands for a text: nobody without the key can tell which."""
        return hmac.new(self._hash, text.encode(), "sha256").hexdigest()

    @property
    def mark(self) -> bytes:
        """What is written down where something is sealed, to know the key by."""
        return self.seal(b"tacit", "mark")


def check_storage(vault: Vault | None, mark: bytes | None, where: str) -> None:
    """Refuse a place that was sealed with another key than this one, or with one at all."""
    if mark is not None and vault is None:
        raise WireError(
            f"{where} is encrypted: give its key, --storage-key @FILE or TACIT_STORAGE_KEY"
        )
    if mark is not None and vault is not None and vault.open(mark, "mark") is None:
        raise WireError(f"{where} was encrypted with another storage key: give that one")
