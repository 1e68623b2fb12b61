"""What a coordinator says first: its public key, and the campaign's terms signed with it."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.service.protocol.campaign import CampaignTerms
from tacit.wire import WireError, decode
from tacit.wire.signing import public_bytes, sign, verified

_PURPOSE = "campaign"
_KEY = 32


def greeting(terms: CampaignTerms, key: Ed25519PrivateKey) -> bytes:
    """The bytes that everybody may fetch."""
    return public_bytes(key.public_key()) + sign(terms, _PURPOSE, key)


def greeted(data: bytes, pinned: bytes | None) -> tuple[Ed25519PublicKey, CampaignTerms]:
    """The campaign's key and terms; with a `pinned` key only that one will do."""
    if not len(data) > _KEY:
        raise WireError("not a campaign: too short")
    if pinned is not None and data[:_KEY] != pinned:
        raise WireError(
            f"the campaign's key is {data[:_KEY].hex()}, but {pinned.hex()} is pinned: "
            "another campaign?"
        )
    key = Ed25519PublicKey.from_public_bytes(data[:_KEY])
    return key, decode(verified(data[_KEY:], _PURPOSE, key), CampaignTerms)
