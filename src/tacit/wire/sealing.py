"""Messages sealed to a public key: X25519, HKDF-SHA256, ChaCha20-Poly1305.

Sealed bytes are 32 bytes of a public key made for this message alone, then the encrypted message
with its tag. The encryption's key comes from the shared secret and from both public keys, so that
not even another encoding of the same point opens; the context is authenticated with the message. So
sealed bytes open only as they are, for the one they were made for, in the context they were made
in. A key serves one message, therefore the nonce may be zero.
"""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY = 32  # bytes of a key, secret or public
OVERHEAD = KEY + 16  # what sealing adds
_NONCE = bytes(12)


def seal(plain: bytes, to: bytes, context: bytes, secret: bytes) -> bytes:
    """`plain` for the holder of the key `to` only; `secret` is 32 fresh bytes that serve for
    nothing else.

    >>> from os import urandom
    >>> bob = X25519PrivateKey.generate()
    >>> unseal(seal(b"hello", bob.public_key().public_bytes_raw(), b"letter", urandom(32)), bob, b"letter")
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
