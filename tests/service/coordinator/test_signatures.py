"""Many signatures at once: the verdicts of the library that checks one."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.service.coordinator.intake import signers
from tacit.service.protocol.handshake import Signed, UnsignedError

KEYS = [Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i in range(1, 41)]
SMALL = bytes.fromhex(
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"
)  # a point of order two


def claim(at: int) -> Signed:
    """Signeds of different lengths: one that is read with another's length would be refused."""
    preimage = b"x" * (3 * at) + bytes([at])
    return Signed(KEYS[at].public_key().public_bytes_raw(), KEYS[at].sign(preimage), preimage)


def checked(one: Signed) -> str | None:
    try:
        return one.check()
    except UnsignedError:
        return None


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def damaged(one: Signed, other: Signed) -> list[Signed]:
    """A claim, and everything near it that its owner did not sign."""
    return [
        one,
        *(Signed(one.owner, flipped(one.signature, at), one.preimage) for at in (0, 31, 32, 63)),
        Signed(one.owner, one.signature, flipped(one.preimage, 0)),
        Signed(one.owner, one.signature, one.preimage + b"x"),
        Signed(one.owner, one.signature, one.preimage[:-1]),
        Signed(flipped(one.owner, 0), one.signature, one.preimage),
        Signed(other.owner, one.signature, one.preimage),
        Signed(one.owner, other.signature, one.preimage),
        Signed(one.owner, one.signature[:-1], one.preimage),
        Signed(one.owner, one.signature + b"x", one.preimage),
        Signed(one.owner[:-1], one.signature, one.preimage),
        Signed(one.owner + b"x", one.signature, one.preimage),
        Signed(b"", b"", b""),
    ]


def test_good_claims_have_their_signers_in_order():
    claims = [claim(at) for at in range(len(KEYS))]
    assert signers(claims) == [one.owner.hex() for one in claims]
    assert signers([]) == []


def test_every_verdict_is_that_of_one_at_a_time():
    claims = [each for at in range(1, len(KEYS)) for each in damaged(claim(at), claim(at - 1))]
    found = signers(claims)
    assert found == [checked(one) for one in claims]
    assert sum(owner is not None for owner in found) == len(KEYS) - 1


@pytest.mark.parametrize("preimage", [b"", b"anything"])
def test_keys_with_which_anybody_can_sign_are_nobodys(preimage):
    assert signers([Signed(SMALL, bytes([1]) + bytes(63), preimage)]) == [None]
