"""How two parties come to trust each other: addresses, the campaign's key, rehearsals, and requests
that an owner signs.

Services are reached by TLS, unless they are on this machine. What a coordinator says first is its
public key, and the campaign's terms and template signed with it.

A rehearsal is a campaign over the network whose coins can be repeated: reproducible, not private.
It gives, byte for byte, the model that the engine in one process gives for the same rows and seed,
so that everything in between (requests, databases, restarts) can be checked. It cannot be taken for
a campaign: its name says what it is in every question and every line of a ledger, and all ends
refuse to rehearse off this machine. Its sums go to a helper whose key everybody knows.

A request says who asks, when, for what, with which body: headers carry the owner's public key, the
time, and an Ed25519 signature over the campaign's key, method, path, time and the body's hash. A
signature is good in one campaign and for a few minutes; within them a replay changes nothing,
because every call of an owner does the same when it is made twice. The time is that of the other
side, learned from the dates of its answers: a sender whose clock is hours off, or jumps, has to
know by how much. Nothing private rests on it.

Answers are read as they come over the line: never unpacked, never longer than expected. A
compressed answer of a few bytes may mean gigabytes. We ask for plain ones, refuse others, and stop
reading a plain one where it is longer than any honest answer.
"""

import asyncio
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from hashlib import sha256
from http.cookiejar import CookieJar, DefaultCookiePolicy
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize
from urllib.parse import urlsplit

import httpx
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit._util.checks import bad
from tacit.service.protocol.succession import CAMPAIGN, Successions
from tacit.wire import WireError, decode, encode
from tacit.wire.codec import LARGEST
from tacit.wire.envelopes import KEY, public_bytes, sign, verify

LOOPBACK = ("localhost", "127.0.0.1", "::1")
REHEARSAL = "rehearsal: reproducible, not private"
_PURPOSE = "campaign"
TEMPLATE = "template"  # the purpose that templates are signed for
_LENGTH = 4  # bytes of the length of a part


_WHERE = "an address, https://host:port, without ?, # and spaces"


def check_url(name: str, url: str) -> str:
    """`url`, if it begins with https://; plain http is for loopback only.

    >>> check_url("url", "http://127.0.0.1:8000")
    'http://127.0.0.1:8000'
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # which is looked at only now
    except ValueError:
        raise bad(name, _WHERE, url) from None
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise ValueError(
            f"{name} must begin with https:// (http:// only on this machine), got {url!r}"
        )
    # the library above leaves out line ends and tabs, and nobody has such an address
    is_plain = url.isprintable() and " " not in url
    if not (is_plain and parts.hostname) or parts.query or parts.fragment:
        raise bad(name, _WHERE, url)
    return url


def trust(authority: Path | None) -> ssl.SSLContext | bool:
    """Whom to believe: the certificate given, else those that the machine trusts."""
    return True if authority is None else ssl.create_default_context(cafile=str(authority))


class Greeting(NamedTuple):
    """What a campaign says first: the key that it signs with, the bytes of its terms, its template
    as it was signed, by itself, and what is said of keys. Its first key is its name for good.
    """

    key: Ed25519PublicKey
    terms: bytes
    template: bytes
    successions: Successions
    first: bytes


def greeting(
    terms: object, template: object, key: Ed25519PrivateKey, said: Successions | None = None
) -> bytes:
    """The bytes that everybody may fetch: the key, template and terms signed with it, and what is
    said of keys, if there is anything.
    """
    parts = sign(template, TEMPLATE, key), sign(terms, _PURPOSE, key)
    framed = b"".join(len(part).to_bytes(_LENGTH, "little") + part for part in parts)
    rest = b"" if said is None or said == Successions() else encode(said)
    return public_bytes(key.public_key()) + framed + rest


def read_greeting(data: bytes, pinned: bytes | None) -> Greeting:
    """A greeting whose signatures hold; with a `pinned` key only one will do whose keys come from
    that one, or lead to it.
    """
    key, rest = data[:KEY], data[KEY:]
    parts = []
    for _ in range(2):
        end = _LENGTH + int.from_bytes(rest[:_LENGTH], "little")
        parts.append(rest[_LENGTH:end])
        rest = rest[end:]
    if not len(key) == KEY or not all(parts):
        raise WireError(
            "no campaign is at this address: of several that share one, each is at /campaigns/NAME "
            "below it, as the page there says"
        )
    said = decode(rest, Successions) if rest else Successions()
    keys = CAMPAIGN.line(said.campaign).keys if said.campaign else (key,)
    if not keys[-1] == key:
        raise WireError("what the campaign says of its keys leads to another than it signs with")
    if pinned is not None and pinned not in keys:
        raise WireError(
            f"the campaign's key is {key.hex()}, but {pinned.hex()} is pinned: another campaign?"
        )
    public = Ed25519PublicKey.from_public_bytes(key)
    template, terms = parts
    verify(template, TEMPLATE, public)
    return Greeting(public, verify(terms, _PURPOSE, public), template, said, keys[0])


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


OWNER, TIME, SIGNATURE = "x-tacit-owner", "x-tacit-time", "x-tacit-signature"
BOND = "x-tacit-bond"  # shows a helper that the batch of a request is the campaign's that signs
LIFETIME = 300  # seconds either way


_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
_SELECTORS = range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)  # of variants, which nobody sees


def plain_name(name: str) -> str:
    """A name as it is shown: one writing of each letter, one space between words, nothing that
    nobody sees. Two that look the same by these are one.

    >>> plain_name(" St\u3164  \uff2dary\ufe0f ")
    'St Mary'
    """
    seen = "".join(each for each in normalize("NFKC", name) if not _is_blank(each))
    return " ".join(normalize("NFC", seen).split())


def _is_blank(character: str) -> bool:
    return character in _BLANK or any(ord(character) in each for each in _SELECTORS)


class UnsignedError(Exception):
    """A request that nobody known has signed in time; the text is the same for every cause."""

    def __init__(self) -> None:
        super().__init__("the request must be signed by an enrolled owner, within five minutes")


class Request(NamedTuple):
    """What a signature covers; `campaign` is the public key of the campaign that it is for."""

    campaign: bytes
    method: str
    path: str
    time: int
    body: bytes

    @property
    def preimage(self) -> bytes:
        parts = (
            "tacit request",
            self.campaign.hex(),
            self.method,
            self.path,
            str(self.time),
            sha256(self.body).hexdigest(),
        )
        return "\n".join(parts).encode()


def request_headers(request: Request, key: Ed25519PrivateKey) -> dict[str, str]:
    """The headers that an owner sends."""
    return {
        OWNER: public_bytes(key.public_key()).hex(),
        TIME: str(request.time),
        SIGNATURE: key.sign(request.preimage).hex(),
    }


class Signed(NamedTuple):
    """Bytes, and who is said to have signed them."""

    owner: bytes
    signature: bytes
    preimage: bytes

    def check(self) -> str:
        """The owner (its public key in hex: one spelling of a name), or `UnsignedError`."""
        try:
            Ed25519PublicKey.from_public_bytes(self.owner).verify(self.signature, self.preimage)
        except (ValueError, InvalidSignature):
            raise UnsignedError from None
        return self.owner.hex()


NOBODY = Signed(b"", b"", b"")


class Claim(NamedTuple):
    """A request as it came to a campaign, with the headers that say who signed it: nothing has
    been looked at yet.
    """

    campaign: bytes
    method: str
    path: str
    owner: str
    time: str
    signature: str
    body: bytes

    @classmethod
    def of(
        cls, campaign: bytes, route: tuple[str, str], headers: Mapping[str, str], body: bytes
    ) -> "Claim":
        owner, at, signature = (headers.get(name, "") for name in (OWNER, TIME, SIGNATURE))
        return cls(campaign, *route, owner=owner, time=at, signature=signature, body=body)

    def read(self, now: float) -> Signed:
        """What is claimed; signed by nobody if it is too old, too new or cannot be read."""
        try:
            time = int(self.time)
            # a key has one spelling: whoever counts by it counts all of its owner's
            if len(self.owner) == 2 * KEY and now - LIFETIME <= time <= now + LIFETIME:
                asked = Request(self.campaign, self.method, self.path, time, self.body)
                preimage = asked.preimage
                return Signed(bytes.fromhex(self.owner), bytes.fromhex(self.signature), preimage)
        except ValueError:
            pass
        return NOBODY

    def signer(self, now: float) -> str:
        """The owner (its public key in hex) that signed the request, or `UnsignedError`."""
        return self.read(now).check()


_DRIFT = 30.0  # seconds that clocks may differ: dates are whole seconds, and answers take a while


@dataclass
class TheirClock:
    """Seconds since 1970 as the other side counts them; `ahead` is by how much it is ahead of
    ours.
    """

    ahead: float = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def learn(self, headers: Mapping[str, str]) -> None:
        """Look at the date of an answer; also when one of the clocks has jumped since the last."""
        try:
            theirs = parsedate_to_datetime(headers["date"]).timestamp()
        except (KeyError, ValueError, OverflowError):
            return
        off = theirs - time.time()
        if abs(off - self.ahead) > _DRIFT:
            self.ahead = off


MOST = LARGEST + (1 << 12)  # bytes of an answer: a message with its signature and key
LONGEST = 600.0  # seconds for all of an answer: who sends a byte a minute is not waited for
_PLAIN = {"accept-encoding": "identity"}


def no_cookies() -> CookieJar:
    """What a client keeps of cookies: none. They would be told with every request, and whoever set
    them would know owners of one machine by them.
    """
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


class UnwantedBodyError(httpx.TransportError):
    """An answer that is compressed, longer than any honest one, or leads to what is no address."""


@contextmanager
def _leading_somewhere() -> Iterator[None]:
    """An address to go to instead is looked at by the library, though nobody follows it."""
    try:
        yield
    except httpx.InvalidURL:
        raise UnwantedBodyError("the answer leads to what is no address") from None


async def fetch(
    client: httpx.AsyncClient, method: str, path: str, body: bytes, headers: dict[str, str]
) -> httpx.Response:
    """One request, and its answer read to the end."""
    wanted, read = {**headers, **_PLAIN}, bytearray()
    try:
        with _leading_somewhere():
            async with (
                asyncio.timeout(LONGEST),
                client.stream(method, path, content=body or None, headers=wanted) as response,
            ):
                _only_plain(response)
                async for piece in response.aiter_bytes():
                    _add(read, piece)
    except TimeoutError:
        raise httpx.ReadTimeout(f"the answer was not whole after {LONGEST:g} s") from None
    return _whole(response, read)


def fetch_blocking(
    client: httpx.Client, method: str, path: str, body: bytes, headers: dict[str, str]
) -> httpx.Response:
    """`fetch` without a loop, and without an end where the other side goes on for ever."""
    wanted, read = {**headers, **_PLAIN}, bytearray()
    with (
        _leading_somewhere(),
        client.stream(method, path, content=body or None, headers=wanted) as response,
    ):
        _only_plain(response)
        for piece in response.iter_bytes():
            _add(read, piece)
    return _whole(response, read)


def _only_plain(response: httpx.Response) -> None:
    if not response.headers.get("content-encoding", "identity").strip().lower() == "identity":
        raise UnwantedBodyError("the answer is compressed, which nobody asked for")


def _add(read: bytearray, piece: bytes) -> None:
    if not len(read) + len(piece) <= MOST:
        raise UnwantedBodyError(f"the answer is longer than {MOST} bytes")
    read += piece


def _whole(response: httpx.Response, read: bytearray) -> httpx.Response:
    return httpx.Response(
        response.status_code,
        headers=response.headers,
        content=bytes(read),
        request=response.request,
    )
