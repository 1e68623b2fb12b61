"""Keys that take the place of others in the middle of a campaign.

A new key is named by the one before it, in a statement that both sign; statements make a line, from
the first key, by which a campaign or a helper is known for good, to the one in use. Whoever has
pinned a key of a line follows it to its end, and never back: a line must go on from what was seen
of it before. So a key that was replaced can be stolen and is of no use against those who have seen
its successor.

A campaign signs with Ed25519. A helper's key is one to seal to, of X25519, which owners name in
their policies; it signs its successor by XEdDSA, whose signatures are Ed25519's under the same
point. Signing takes the secret through arithmetic whose time may depend on it: once for each
rotation, on the helper's own machine.

A peer's key is on rosters that others have checked, and what it signed is in their models. So its
renewal names the campaign and the turn from which the new key speaks, and goes to everybody with
that turn.

Secrets of before are kept in the folder `retired` until what was sealed to them is added up; then
they can be deleted.
"""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha512
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from tacit._util.checks import bad, whole
from tacit._util.stopping import alone_in, read_or_create, replace_file
from tacit.wire import WireError, decode, encode, message
from tacit.wire.envelopes import KEY, SIGNATURE, can_seal_to, preimage, public_bytes

PURPOSE = "succession"
SAID = "successions"  # the file of what is said of keys
MOST = 16  # statements in a line
STATEMENTS = "x-tacit-statements"  # the header that says how a campaign's key became what it is
SAID_COUNT = "x-tacit-keys"  # the header that says how many statements there are
_SIGNED = 2 * SIGNATURE  # bytes before a statement: by the old key, by the new one


@message("succession")
@dataclass(frozen=True)
class Succession:
    """`new` takes the place of `old`; what is sealed to whoever has it goes to `sealing` from now
    on, instead of `sealing_before`.
    """

    old: bytes
    new: bytes
    sealing_before: bytes
    sealing: bytes

    def __post_init__(self) -> None:
        for name in ("old", "new", "sealing_before", "sealing"):
            if not len(getattr(self, name)) == KEY:
                raise bad(name, f"{KEY} bytes", len(getattr(self, name)))


@message("successions")
@dataclass(frozen=True)
class Successions:
    """What a campaign says of its keys, and of its helper's: signed statements, in their order."""

    campaign: tuple[bytes, ...] = ()
    helper: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        if not len(self.campaign) + len(self.helper) <= 2 * MOST:
            raise bad("successions", f"at most {MOST} of each", len(self.campaign))

    def of(self, kind: "KeyKind") -> tuple[bytes, ...]:
        """Those about keys of one kind."""
        return self.helper if kind.part == "helper" else self.campaign

    def follows(self, before: "Successions") -> bool:
        """Whether it goes on from what was seen before."""
        mine, seen = (self.campaign, self.helper), (before.campaign, before.helper)
        return all(new[: len(old)] == old for new, old in zip(mine, seen, strict=True))


def read_successions(file: Path) -> Successions:
    """What a file says of keys; nothing if there is none."""
    try:
        return decode(file.read_bytes(), Successions) if file.exists() else Successions()
    except WireError:
        raise WireError(f"{file} is damaged: put the last copy of it back") from None


@dataclass(frozen=True)
class KeyLine:
    """Keys in the order in which they were in use, and the keys to seal to that went with them."""

    keys: tuple[bytes, ...]
    sealing: tuple[bytes, ...]

    @property
    def first(self) -> bytes:
        return self.keys[0]

    @property
    def current(self) -> bytes:
        return self.keys[-1]


@dataclass(frozen=True)
class KeyKind:
    """How keys of one kind are kept, and sign: from a secret of 32 bytes."""

    file: str
    part: str  # of what is said of keys
    publish: Callable[[bytes], tuple[bytes, bytes]]  # the key, and the one to seal to
    sign: Callable[[bytes, bytes], bytes]
    verifier: Callable[[bytes], Ed25519PublicKey]

    def line(self, statements: Sequence[bytes], first: bytes | None = None) -> KeyLine:
        """The line of some statements, which must begin with the key `first` where it is given; a
        `WireError` if one does not follow.
        """
        if not 1 <= len(statements) <= MOST:
            raise WireError(f"what is said of keys must be 1 to {MOST} statements")
        opened = [self._open(statement) for statement in statements]
        keys, sealing = [opened[0].old], [opened[0].sealing_before]
        if first not in (None, keys[0]):
            raise WireError("what is said of keys begins with another than the one that is known")
        for said in opened:
            if (said.old, said.sealing_before) != (keys[-1], sealing[-1]):
                raise WireError("a statement about keys does not follow the one before it")
            is_one = self.part != "helper" or said.sealing == said.new
            if not (is_one and can_seal_to(said.sealing)):
                raise WireError("a statement names a key that nothing can be sealed to")
            keys.append(said.new)
            sealing.append(said.sealing)
        if len(set(keys)) < len(keys):
            raise WireError("a key that was replaced does not come again")
        return KeyLine(tuple(keys), tuple(sealing))

    def state(self, old: bytes, new: bytes) -> bytes:
        """The statement that one secret takes the place of another."""
        before, after = self.publish(old), self.publish(new)
        body = encode(Succession(before[0], after[0], before[1], after[1]))
        said = preimage(PURPOSE, body)
        return self.sign(old, said) + self.sign(new, said) + body

    def _open(self, statement: bytes) -> Succession:
        """What a statement says, if both keys have signed it."""
        said = decode(statement[_SIGNED:], Succession)
        _check_both(statement, PURPOSE, (said.old, said.new), self.verifier)
        return said


def find_first(statements: Sequence[bytes], keys: Collection[str]) -> int | None:
    """The place of the first statement that says of one of some keys (hex) that it was replaced;
    None: none does. Nothing is verified, `WireError` where one cannot be read.
    """
    old = (decode(each[_SIGNED:], Succession).old.hex() for each in statements[:MOST])
    return next((place for place, key in enumerate(old) if key in keys), None)


def _check_both(
    statement: bytes,
    purpose: str,
    keys: tuple[bytes, bytes],
    verifier: Callable[[bytes], Ed25519PublicKey],
) -> None:
    """Refuse a statement that is not signed by an old and a new key; `WireError`."""
    said = preimage(purpose, statement[_SIGNED:])
    signatures = statement[:SIGNATURE], statement[SIGNATURE:_SIGNED]
    try:
        for key, signature in zip(keys, signatures, strict=True):
            verifier(key).verify(signature, said)
    except (InvalidSignature, ValueError):
        raise WireError("a statement about keys is not signed by both of them") from None


def sum_key(key: Ed25519PrivateKey) -> X25519PrivateKey:
    """The key that owners seal the coordinator's halves to, derived from the campaign's signing
    key.
    """
    raw = HKDF(SHA256(), 32, salt=None, info=b"tacit sum key").derive(key.private_bytes_raw())
    return X25519PrivateKey.from_private_bytes(raw)


def _publish_campaign(secret: bytes) -> tuple[bytes, bytes]:
    key = Ed25519PrivateKey.from_private_bytes(secret)
    return public_bytes(key.public_key()), sum_key(key).public_key().public_bytes_raw()


def _publish_helper(secret: bytes) -> tuple[bytes, bytes]:
    public = X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
    return public, public


def agree(campaign: bytes, old: bytes, new: Ed25519PrivateKey) -> bytes:
    """What an owner sends to go by another key in a campaign: the key, and its signature."""
    public = public_bytes(new.public_key())
    return public + new.sign(preimage(_OWNER, campaign + old + public))


def new_key(campaign: bytes, old: bytes, body: bytes) -> bytes:
    """The key that has agreed to take the place of an owner's old one in a campaign; else a
    `WireError`.
    """
    public, signature = body[:KEY], body[KEY:]
    try:
        key = Ed25519PublicKey.from_public_bytes(public)
        key.verify(signature, preimage(_OWNER, campaign + old + public))
    except (InvalidSignature, ValueError):
        raise WireError("a new key must agree to take the place of the old one") from None
    return public


@message("renewal")
@dataclass(frozen=True)
class Renewal:
    """In the campaign that is known by a key, a peer goes by `new` in the place of `old` from a
    turn on; both sign. What it signs for turns before that one it signs with `old`.
    """

    campaign: bytes
    old: bytes
    new: bytes
    turn: int

    def __post_init__(self) -> None:
        for name in ("campaign", "old", "new"):
            if not len(getattr(self, name)) == KEY:
                raise bad(name, f"{KEY} bytes", len(getattr(self, name)))
        whole("turn", self.turn, 1)

    def sign(self, old: Ed25519PrivateKey, new: Ed25519PrivateKey) -> bytes:
        """The statement, by both keys."""
        body = encode(self)
        said = preimage(_PEER, body)
        return old.sign(said) + new.sign(said) + body

    @classmethod
    def open(cls, statement: bytes, campaign: bytes) -> "Renewal":
        """What a statement says, if both keys have signed it for this campaign; else a
        `WireError`.
        """
        said = decode(statement[_SIGNED:], cls)
        if said.campaign != campaign:
            raise WireError("a key was renewed in another campaign")
        _check_both(statement, _PEER, (said.old, said.new), Ed25519PublicKey.from_public_bytes)
        return said


_OWNER, _PEER = "owner's succession", "peer's renewal"  # purposes of signatures
_PRIME = 2**255 - 19  # of Curve25519, and the order of its points
_ORDER = 2**252 + 27742317777372353535851937790883648493
_FIRST_HASH = b"\xfe" + 31 * b"\xff"  # what the hash that makes a nonce begins with


def sign_by_sealing_key(secret: bytes, said: bytes) -> bytes:
    """An XEdDSA signature by the secret of an X25519 key.

    >>> secret = os.urandom(32)
    >>> public = X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()
    >>> verifier_of(public).verify(sign_by_sealing_key(secret, b"hello"), b"hello")
    """
    from nacl.bindings import crypto_scalarmult_ed25519_base_noclamp as times_base

    scalar = int.from_bytes(secret, "little") & ~7 & ((1 << 255) - 1) | 1 << 254
    point = times_base((scalar % _ORDER).to_bytes(32, "little"))
    scalar = -scalar % _ORDER if point[31] & 128 else scalar % _ORDER
    point = point[:31] + bytes([point[31] & 127])
    seed = _FIRST_HASH + scalar.to_bytes(32, "little") + said + os.urandom(64)
    nonce = int.from_bytes(sha512(seed).digest(), "little") % _ORDER
    commitment = times_base(nonce.to_bytes(32, "little"))
    challenge = int.from_bytes(sha512(commitment + point + said).digest(), "little")
    return commitment + ((nonce + challenge * scalar) % _ORDER).to_bytes(32, "little")


def verifier_of(public: bytes) -> Ed25519PublicKey:
    """The Ed25519 key that has the same point as an X25519 key, with the sign 0."""
    u = int.from_bytes(public, "little") % (1 << 255)
    y = (u - 1) * pow(u + 1, -1, _PRIME) % _PRIME
    return Ed25519PublicKey.from_public_bytes(y.to_bytes(32, "little"))


CAMPAIGN = KeyKind(
    "signing.key",
    "campaign",
    _publish_campaign,
    lambda secret, said: Ed25519PrivateKey.from_private_bytes(secret).sign(said),
    Ed25519PublicKey.from_public_bytes,
)
HELPER = KeyKind("sealing.key", "helper", _publish_helper, sign_by_sealing_key, verifier_of)


@dataclass(frozen=True)
class KeyRing:
    """The secrets of a line that are still there, by their public keys to seal to, and the
    statements; `secret` is the one in use.
    """

    secret: bytes = field(repr=False)
    line: KeyLine
    statements: tuple[bytes, ...] = ()
    secrets: dict[bytes, bytes] = field(default_factory=dict, repr=False)

    @property
    def before(self) -> tuple[bytes, ...]:
        """Keys that were replaced."""
        return self.line.keys[:-1]

    @classmethod
    def of(cls, kind: KeyKind, secret: bytes) -> "KeyRing":
        """Of a key that took nobody's place."""
        key, sealing = kind.publish(secret)
        return cls(secret, KeyLine((key,), (sealing,)), (), {sealing: secret})

    @classmethod
    def at(cls, folder: Path, kind: KeyKind) -> "KeyRing":
        """The keys in a folder; the first is made on first use."""
        with alone_in(folder):
            return cls._read(folder, kind)

    @classmethod
    def _read(cls, folder: Path, kind: KeyKind) -> "KeyRing":
        secret = read_or_create(folder / kind.file, lambda: os.urandom(KEY))
        if len(secret) != KEY:
            raise ValueError(
                f"{folder / kind.file} must hold {KEY} bytes, got {len(secret)}: damaged? put the "
                "last copy of it back"
            )
        said = folder / SAID
        statements = read_successions(said).of(kind)
        if not statements:
            return cls.of(kind, secret)
        line = kind.line(statements)
        following = folder / f"{kind.file}.next"
        if kind.publish(secret)[0] != line.current and following.exists():
            secret = following.read_bytes()  # killed after it was said, before it was in use
            replace_file(folder / kind.file, secret)
        if kind.publish(secret)[0] != line.current:
            raise ValueError(
                f"{folder / kind.file} is not the key that {said} ends with: put both back from "
                "the same moment"
            )
        kept = [file.read_bytes() for file in (folder / "retired").glob("*.key")]
        secrets = {kind.publish(each)[1]: each for each in (*kept, secret)}
        return cls(secret, line, statements, secrets)

    @classmethod
    def rotate(cls, folder: Path, kind: KeyKind) -> "KeyRing":
        """Put a new key in the place of the present one. Whoever is killed in the middle has done
        it or not: the statement decides, and is there before the new key is in use. Of two at once
        the second replaces the key of the first.
        """
        with alone_in(folder):
            ring = cls._read(folder, kind)
            if not len(ring.statements) < MOST:
                raise ValueError(f"a key can be replaced at most {MOST} times")
            fresh = os.urandom(KEY)
            name = ring.line.current.hex()[:16]
            read_or_create(folder / "retired" / f"{name}.key", lambda: ring.secret)
            replace_file(folder / f"{kind.file}.next", fresh)
            statements = (*ring.statements, kind.state(ring.secret, fresh))
            said = replace(read_successions(folder / SAID), **{kind.part: statements})
            replace_file(folder / SAID, encode(said))
            replace_file(folder / kind.file, fresh)
            (folder / f"{kind.file}.next").unlink()
            return cls._read(folder, kind)
