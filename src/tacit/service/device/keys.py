"""The keys of a campaign and its helper, as an owner follows them from those that it has pinned;
and its own, in whose place it puts others.

What was agreed to stays what it is: a key that took the place of another, as both have signed, is
taken for that one, in the signatures of questions, in the template and in the policy. A key that
was replaced is never gone back to, because what was seen of keys is kept in the home.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit._util.stopping import alone_in, replace_file
from tacit.data.sample import ColumnRoles
from tacit.data.table_file import TableFile
from tacit.data.table_rows import read_owned
from tacit.learners.owners.sum_query import SealedQuery
from tacit.owner.gate import Gate
from tacit.owner.policy import Policy
from tacit.owner.template import QuestionForm, Template
from tacit.service.device.client import Link
from tacit.service.device.home import Home
from tacit.service.device.member import Relayed
from tacit.service.kinds import read_terms
from tacit.service.protocol.handshake import read_greeting
from tacit.service.protocol.succession import (
    CAMPAIGN,
    HELPER,
    MOST,
    SAID_COUNT,
    Renewal,
    Successions,
    agree,
)
from tacit.sums.halves import SumTerms
from tacit.wire.envelopes import public_bytes

_DONE, _ANOTHER_TURN, _OVER = 200, 409, 410  # statuses
_RENEWALS = "renewals"  # the folder of what a peer has said of its own keys
_TRIES = 5  # to say it before a turn that is not over


@dataclass(frozen=True)
class ServerKeys:
    """The keys of a campaign and its helper as they were followed: `key` signs questions now,
    `campaign` is the first, `first` are those that the terms name.
    """

    key: Ed25519PublicKey
    said: Successions
    campaign: bytes
    first: tuple[bytes, bytes] | None

    @property
    def line(self) -> list[Ed25519PublicKey]:
        """All keys that have signed for the campaign, in their order."""
        if not self.said.campaign:
            return [self.key]
        keys = CAMPAIGN.line(self.said.campaign, self.campaign).keys
        return [Ed25519PublicKey.from_public_bytes(key) for key in keys]

    @cached_property
    def helpers(self) -> tuple[bytes, ...]:
        """The keys that the helper has had; a `WireError` if one does not follow."""
        if self.first is None or not self.said.helper:
            return () if self.first is None else self.first[1:]
        return HELPER.line(self.said.helper, self.first[1]).keys

    def renew_template(self, template: Template) -> Template:
        """What was agreed to, with halves sealed to the keys of now, or to those of before: a
        question that was open when they were replaced is still the one that was put.
        """
        if self.first is None or self.said == Successions():
            return template
        campaign = CAMPAIGN.line(self.said.campaign).sealing if self.said.campaign else ()
        pairs = product((campaign or self.first[:1])[::-1], self.helpers[::-1])
        return replace(
            template,
            forms=tuple(
                _with_sealing_keys(form, *pair) for pair in pairs for form in template.forms
            ),
        )

    def successors(self, policy: Policy) -> tuple[bytes, ...]:
        """Keys that took the place of the helper's that a policy names; none of before it."""
        named = b"" if policy.helper is None else bytes.fromhex(policy.helper)
        return self.helpers[self.helpers.index(named) + 1 :] if named in self.helpers else ()


def _with_sealing_keys(form: QuestionForm, coordinator: bytes, helper: bytes) -> QuestionForm:
    example: Any = form.example
    if not isinstance(form.example, SealedQuery):
        return form
    terms = SumTerms(example.terms.law, coordinator, helper)
    return replace(form, example=replace(example, terms=terms))


class Consent(NamedTuple):
    """What an owner agreed to, by which policy, and where it is kept."""

    template: Template
    policy: Policy
    home: Home


class KeyFollower:
    """Has gate and peer go by the keys of now, when the coordinator says that there are more."""

    def __init__(
        self,
        consent: Consent,
        servers: ServerKeys,
        gate: Gate,
        link: Link,
        relayed: Relayed | None = None,
    ) -> None:
        self._consent, self._servers, self._gate, self._link = consent, servers, gate, link
        self._relayed = relayed
        self._turn = asyncio.Lock()  # of many owners one asks for all

    async def follow(self, headers: Mapping[str, str]) -> None:
        """Look at what came with an answer; nothing but a greeting that follows changes a key."""
        async with self._turn:
            said = self._servers.said
            known = str(len(said.campaign) + len(said.helper))
            if headers.get(SAID_COUNT, known) == known:
                return
            campaign, home = self._servers.campaign, self._consent.home
            key, _, signed, said, _ = read_greeting(await self._link.greet(), campaign)
            home.check_keys(campaign, said)
            home.check_template(campaign, signed)
            servers = ServerKeys(key, said, campaign, self._servers.first)
            template = servers.renew_template(self._consent.template)
            helpers = servers.successors(self._consent.policy)
            self._gate.renew_keys(servers.key, campaign, template, helpers)
            home.keep_keys(campaign, said)
            if self._relayed is not None:
                self._relayed.following.renew_key(servers.key)
            self._servers = servers


async def replace_owner_keys(
    home: Home, link: Link, table: tuple[Path, str] | None, pinned: bytes | None
) -> int:
    """Have every owner of a home go by another key in a campaign; of a gateway, those in the column
    of a table. How many there are.

    The new secret is on disk before anybody hears of it and in use when all have been taken, so it
    can be done again after a kill: who has gone over already stays so. Two at once would make two
    of it, of which one is nobody's.
    """
    with ExitStack() as held:
        try:
            held.enter_context(alone_in(home.folder, wait=False))
        except BlockingIOError:
            raise ValueError(
                f"keys of {home.folder} are being replaced: nothing was sent"
            ) from None
        return await _replace_keys(home, link, table, pinned)


async def _replace_keys(
    home: Home, link: Link, table: tuple[Path, str] | None, pinned: bytes | None
) -> int:
    greeted = read_greeting(await link.greet(), pinned)
    campaign = link.campaign = greeted.first
    if not home.has_joined(campaign):
        raise ValueError(f"{home.folder} has not joined that campaign: nothing was sent")
    terms = read_terms(greeted.terms)
    values: list[str | None] = [None]
    if table is not None:
        roles = ColumnRoles(terms.label, table[1])
        values = list(read_owned(TableFile.open(table[0]), roles, terms.schema).names)
    home.settle(None if table is None else table[1])
    home.check_keys(campaign, greeted.successions)
    pairs = [
        (home.key(campaign, value), home.key(campaign, value, following=True)) for value in values
    ]
    if terms.relay is None:
        for old, new in pairs:
            body = agree(campaign, public_bytes(old.public_key()), new)
            _check(await _say(link, old, body))
    else:
        folder = home.peers(campaign)
        mine = read_renewals(folder, campaign, [old for old, _ in pairs])
        line = ServerKeys(greeted.key, greeted.successions, campaign, None).line
        said = [each for each in mine.values() if each]
        relayed = Relayed(folder / "relayed", terms.relay, line, mine=said)
        await _check_turn(relayed, link, folder, pairs)
        for pair in pairs:
            await _renew(relayed, link, folder, *pair)
    home.renew_key(campaign)
    return len(values)


async def _check_turn(
    relayed: Relayed,
    link: Link,
    folder: Path,
    pairs: list[tuple[Ed25519PrivateKey, Ed25519PrivateKey]],
) -> None:
    """Refuse to replace a key from whose first turn on nobody would speak in it: one turn is the
    first of one key. Nothing was sent of any of them.
    """
    for key in pairs[0]:  # the coordinator may know either: this may be done again
        await relayed.catch_up(link, key)
    for old, _ in pairs:
        before = public_bytes(old.public_key())
        again = _file_of(folder, before).exists()
        if not again and relayed.following.is_first_turn(before):
            raise ValueError(
                f"a key was replaced from turn {relayed.following.turns + 1} on, which is open and "
                "may be its own: by another one it would not speak in it, and the turn be lost. "
                "Let tacit join speak, and try again when the turn is over; nothing was sent"
            )


def _file_of(folder: Path, before: bytes) -> Path:
    """What a key and the one in its place have signed, in a folder of a peer's."""
    return folder / _RENEWALS / before.hex()


async def _renew(
    relayed: Relayed, link: Link, folder: Path, old: Ed25519PrivateKey, new: Ed25519PrivateKey
) -> None:
    """Have a peer go by another key from the turn that comes next on, as it follows them itself; if
    it has spoken in that one already, from the turn after it.

    What both keys sign is on disk before it is sent. It is made anew only where it was refused, so
    a peer never signs two that could be taken.
    """
    before, after = (public_bytes(key.public_key()) for key in (old, new))
    file = _file_of(folder, before)
    status = await _say(link, old, file.read_bytes()) if file.exists() else _ANOTHER_TURN
    for _ in range(_TRIES):
        if status != _ANOTHER_TURN:
            break
        await relayed.catch_up(link, old)
        for ahead in (1, 2):
            turn = relayed.following.turns + ahead
            statement = Renewal(link.campaign, before, after, turn).sign(old, new)
            replace_file(file, statement)
            status = await _say(link, old, statement)
            if status != _ANOTHER_TURN:
                break
    _check(status)


async def _say(link: Link, old: Ed25519PrivateKey, body: bytes) -> int:
    """Tell the coordinator of a key that takes the place of another; the status of its answer."""
    return (await link.call("POST", "/v1/rekey", old, body)).status_code


def _check(status: int) -> None:
    """Refuse to go on where the coordinator did not take a key."""
    if status == _ANOTHER_TURN:
        raise ValueError(
            "your key was replaced since the last turn, or turns end faster than this program "
            "follows them: try again after the next"
        )
    if status == _OVER:
        raise ValueError("the campaign is over: its keys are of no more use")
    if status != _DONE:
        raise ValueError(
            "the coordinator does not know the key that is to be replaced (has it left?), or it "
            f"was replaced {MOST} times, as often as keys may be"
        )


def read_renewals(
    folder: Path, campaign: bytes, keys: Iterable[Ed25519PrivateKey]
) -> dict[bytes, bytes]:
    """The public keys that peers of a home go by and went by in a campaign, each with what it and
    its successor have signed; nothing for those in use. What does not lead to a key in use was
    never taken.
    """
    every = [file.read_bytes() for file in sorted((folder / _RENEWALS).glob("[0-9a-f]*"))]
    before = {
        said.new: (said.old, each) for each in every for said in [Renewal.open(each, campaign)]
    }
    found: dict[bytes, bytes] = {}
    for key in keys:
        public, statement = public_bytes(key.public_key()), b""
        found[public] = statement
        while public in before:
            public, statement = before[public]
            found[public] = statement
    return found
