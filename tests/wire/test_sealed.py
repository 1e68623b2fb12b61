"""Sealed bytes open as they are, for one key, in one context, and in no other way."""

from os import urandom

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.wire.envelopes import OVERHEAD, seal, unseal

KEY = X25519PrivateKey.from_private_bytes(bytes(range(32)))
TO = KEY.public_key().public_bytes_raw()
PRIME = 2**255 - 19


@given(st.binary(max_size=60), st.binary(max_size=60))
@settings(deadline=None)
def test_there_and_back(plain, context):
    sealed = seal(plain, TO, context, urandom(32))
    assert len(sealed) == len(plain) + OVERHEAD
    assert unseal(sealed, KEY, context) == plain


def test_sealing_is_a_function_of_its_secret():
    assert seal(b"x", TO, b"", bytes(32)) == seal(b"x", TO, b"", bytes(32))
    assert seal(b"x", TO, b"", bytes(32)) != seal(b"x", TO, b"", bytes([8, *bytes(31)]))


def test_every_changed_bit_and_every_length_is_refused():
    sealed = seal(b"sixteen bytes ok", TO, b"here", urandom(32))
    for bit in range(8 * len(sealed)):
        changed = bytearray(sealed)
        changed[bit // 8] ^= 1 << (bit % 8)
        assert unseal(bytes(changed), KEY, b"here") is None
    for size in range(len(sealed)):
        assert unseal(sealed[:size], KEY, b"here") is None
    assert unseal(sealed + b"\x00", KEY, b"here") is None


def test_another_key_or_context_is_refused():
    sealed = seal(b"x", TO, b"here", urandom(32))
    assert unseal(sealed, X25519PrivateKey.generate(), b"here") is None
    assert unseal(sealed, KEY, b"there") is None


def test_another_encoding_of_the_same_point_is_refused():
    """The curve ignores a point's highest bit, so the shared secret stays; the sealed bytes must
    not open.
    """
    sealed = bytearray(seal(b"x", TO, b"", urandom(32)))
    sealed[31] |= 0x80
    assert unseal(bytes(sealed), KEY, b"") is None


@pytest.mark.parametrize(
    "point", [0, 1, PRIME - 1, PRIME, PRIME + 1], ids=["0", "1", "p-1", "p", "p+1"]
)
def test_points_of_low_order_are_refused_on_both_sides(point):
    low = point.to_bytes(32, "little")
    assert unseal(low + bytes(40), KEY, b"") is None
    with pytest.raises(ValueError):  # noqa: PT011 - the library's own words
        seal(b"x", low, b"", urandom(32))
