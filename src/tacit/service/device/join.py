"""Joining a campaign with a file of one's own: greet, pin, read rows by its schema, answer.

In a rehearsal (protocol/handshake) the gate is the real one, but with coins that can be repeated:
reproducible, not private.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit._util.checks import whole
from tacit.data.cohort import Cohort
from tacit.data.sample import ColumnRoles
from tacit.data.schema import Schema
from tacit.data.table_file import TableFile
from tacit.data.table_rows import read_first, read_owned
from tacit.learners.query import NUMBER, Invitation, Query, digest_of
from tacit.mechanisms.streams import Stream, seeded
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.owner.spending import round_up
from tacit.owner.template import Template
from tacit.service.device.client import Link
from tacit.service.device.home import Home
from tacit.service.device.keys import Consent, KeyFollower, ServerKeys, read_renewals
from tacit.service.device.member import GateQueue, Member, PeerMember, Relayed
from tacit.service.kinds import read_terms
from tacit.service.kinds.kind import CampaignTerms
from tacit.service.protocol.handshake import (
    REHEARSAL,
    TEMPLATE,
    is_rehearsal,
    plain_name,
    read_greeting,
    rehearse_only_here,
)
from tacit.sums.halves import REHEARSAL_HELPER
from tacit.wire.envelopes import open_signed

# seconds: what follows a greeting comes whole multiples later, of owners' rows and of records
SETTLING, SETTLING_RECORDS = 2.0, 10.0
_BLOCK, _COPIES = 1 << 13, 4  # rows that are made numbers of at a time, and what that takes


@dataclass(frozen=True)
class RehearsalPart:
    """An owner's part in a rehearsal: the seed of all, and the number of its first owner among
    all owners.
    """

    seed: int
    first: int = 0

    def __post_init__(self) -> None:
        whole("seed", self.seed, 0)
        whole("first", self.first, 0)


@dataclass(frozen=True)
class Joining:
    """What an owner (or a gateway with many) brings along.

    `data` is read by the campaign's schema: `label` names its column to predict (None: what the
    campaign calls it), `owners` the column that names owners (None: the whole file is one owner).
    `home` holds identity, ledger and pins; `guards` are further places of the ledger's mark.
    `rehearsal` is the part in a rehearsal, None for a campaign; one is refused in place of the
    other. `known` are the public keys of the only other peers to take part with, None: any that the
    coordinator has enrolled.

    What the coordinator is told at enrolment is a public key, a token, and what was typed: for
    sites and peers `name`, for peers that lack some `attributes` those that they hold.
    """

    data: Path
    label: str | None
    policy: Policy
    home: Path
    owners: str | None = None
    rehearsal: RehearsalPart | None = None
    known: frozenset[bytes] | None = None
    name: str | None = None
    attributes: tuple[str, ...] | None = None
    guards: tuple[Path, ...] = ()

    async def members(
        self, link: Link, pinned: bytes | None = None, *, pin: bool = True
    ) -> tuple["_Greeted", list[Member]]:
        """Greet the campaign, pin its key, and make a member of every owner in the file, which is
        read first: how long that takes is not between a greeting and what follows.
        """
        self._file  # noqa: B018 - read now
        key, data, signed, said, campaign = read_greeting(await link.greet(), pinned)
        began = time.monotonic()
        link.campaign = campaign
        terms = read_terms(data)
        template = open_signed(signed, Template, TEMPLATE, key)
        _check_published(template, terms)
        if is_rehearsal(terms.name) != (self.rehearsal is not None):
            raise ValueError(
                f"the campaign is {terms.name!r}: give --rehearsal for a rehearsal, and only then"
            )
        values, cohort = self.rows(terms)
        home = Home.at(self.home, self.guards)
        home.check(campaign, str(link.address), pinned)
        home.settle(self.owners)
        home.check_template(campaign, signed)
        home.check_keys(campaign, said)
        named = [None] if self.owners is None else values
        names = [home.owner(value) for value in named]
        if pin:
            if not home.has_joined(campaign):
                self._consent(template, home.ledger, names, campaign.hex())
            home.pin(campaign, str(link.address), signed)
            home.keep_keys(campaign, said)
        keys = [home.key(campaign, value) for value in named]
        servers = ServerKeys(key, said, campaign, terms.servers)
        greeted = _Greeted(
            terms, template, servers, home=home, cohort=cohort, names=names, keys=keys, began=began
        )
        return greeted, self._members(greeted, link)

    @property
    def _policy(self) -> Policy:
        """What is gone by: the helper of a rehearsal is its own."""
        if self.rehearsal is None:
            return self.policy
        return replace(self.policy, helper=REHEARSAL_HELPER.hex())

    def _consent(self, template: Template, ledger: Ledger, names: Sequence[str], key: str) -> None:
        """Refuse a campaign that the policy bars, or that what is left of a budget does not pay
        for: the owner's own decision, made before anything is sent.
        """
        barred = template.refusal(self._policy)
        if barred:
            raise ValueError(f"{barred}: nothing was sent")
        cost = template.cost(self.policy)
        if cost is None:
            raise ValueError("the policy allows no epsilon that is on offer: nothing was sent")
        with ledger.transaction() as book:
            able = any(template.is_affordable(self.policy, book, name, key) for name in names)
        if not able:
            raise ValueError(
                "what is left of the budget does not pay for the campaign, which may cost epsilon "
                f"{round_up(cost)}: nothing was sent"
            )

    def _members(self, greeted: "_Greeted", link: Link) -> list[Member]:
        terms, names, cohort = greeted.terms, greeted.names, greeted.cohort
        gate = self._gate(greeted, link)
        consent = Consent(greeted.template, self.policy, greeted.home)
        queue, labels = GateQueue(gate), self._labels(terms, names)
        if terms.relay is None:
            follow = KeyFollower(consent, greeted.servers, gate, link)
            return [
                Member(name, key, queue, link, labels[name], follow=follow)
                for name, key in zip(names, greeted.keys, strict=True)
            ]
        folder = greeted.home.peers(greeted.servers.campaign)
        mine = read_renewals(folder, greeted.servers.campaign, greeted.keys)
        known = None if self.known is None else self.known | mine.keys()
        renewed = [each for each in mine.values() if each]
        relayed = Relayed(folder / "relayed", terms.relay, greeted.servers.line, known, renewed)
        follow = KeyFollower(consent, greeted.servers, gate, link, relayed)
        held = terms.attributes_of(self._attributes(terms))
        return [
            PeerMember(
                name,
                key,
                queue,
                link,
                labels[name],
                follow=follow,
                held=held,
                relayed=relayed,
                rows=cohort[place : place + 1],
                model=folder
                / ("own-model.tacit" if len(names) == 1 else f"own-model-{place}.tacit"),
            )
            for place, (name, key) in enumerate(zip(names, greeted.keys, strict=True))
        ]

    def _gate(self, greeted: "_Greeted", link: Link) -> Gate:
        cohort, names, schema = greeted.cohort, greeted.names, greeted.terms.schema
        ledger, servers = greeted.home.ledger, greeted.servers
        template = servers.renew_template(greeted.template)
        given: dict[str, Any] = {"key": servers.key, "clock": link.now, "template": template}
        if self.rehearsal is None:
            made = Gate(cohort, names, schema, self.policy, ledger, **given)
        else:
            rehearse_only_here(link.address.host)
            given["part"] = self.rehearsal
            made = RehearsalGate(cohort, names, schema, self.policy, ledger, **given)
        helpers = servers.successors(self.policy)
        made.renew_keys(servers.key, servers.campaign, template, helpers)
        return made

    def _labels(self, terms: CampaignTerms, names: list[str]) -> dict[str, str]:
        """What each owner is called at the coordinator: nothing, but for sites and peers what was
        typed, with a number where a file has several; in a rehearsal its number among all.
        """
        if self.rehearsal is not None:
            return {name: f"{self.rehearsal.first + i:09d}" for i, name in enumerate(names)}
        if not terms.has_names:
            return dict.fromkeys(names, "")
        if not self.name or not plain_name(self.name):
            raise ValueError(
                f"name must be given: a {terms.words.one} goes by the name that you type with "
                "--name, for all to see"
            )
        told = plain_name(self.name)
        if len(names) == 1:
            return {names[0]: told}
        return {name: f"{told} {i}" for i, name in enumerate(sorted(names), 1)}

    def read_text(self) -> None:
        """Read the whole file as text and keep nothing: what takes longest of reading its rows."""
        self._file.read_text()

    def rows(self, terms: CampaignTerms) -> tuple[list[str], Cohort]:
        """The owners of the file, and their rows by the campaign's schema.

        Every value is read by the schema alone: no row of one owner can change what another's rows
        mean. A row takes as much room as the campaign's schema says: of an owner only the rows that
        the policy lets count are made numbers of, and a schema for which these would take more
        memory than it allows is refused, whatever rows there are.
        """
        self._check_columns(terms)
        most = self.policy.records if terms.has_names else self.policy.rows
        width = terms.schema.dim if terms.relay is None else len(terms.schema.features)
        room = NUMBER * width * (most + _COPIES * min(most, _BLOCK))
        if not room <= self.policy.largest_memory:
            raise ValueError(
                f"the campaign makes {width:,} numbers of a row, and {most:,} rows may "
                f"take more than the policy's largest_memory of {self.policy.largest_memory:,} "
                "bytes: nothing was sent"
            )
        roles = ColumnRoles(self.label or terms.label, self.owners)
        schema = terms.schema_of(self._attributes(terms))
        owned = (
            read_first(self._file, roles, schema, most)
            if terms.relay is None
            else read_owned(self._file, roles, schema, one_owner=True)  # for a model of its own
        )
        labels = terms.schema.encode_labels(owned.labels)
        cohort = Cohort.of(terms.encode_rows(owned.table), labels, owned.owners)
        return list(owned.names) or [""], cohort

    @cached_property
    def _file(self) -> TableFile:
        return TableFile.open(self.data).in_memory()

    def enrolment_facts(self, terms: CampaignTerms) -> dict[str, Any]:
        """What enrolment tells beside a key and a token: nothing that was not typed."""
        if not terms.has_names or self.rehearsal is not None:
            return {}
        attributes = {} if terms.relay is None else {"attributes": self._attributes(terms)}
        return {"name": None if self.name is None else plain_name(self.name), **attributes}

    def _attributes(self, terms: CampaignTerms) -> list[str]:
        """The columns to take part with: those that were typed, else all of the campaign."""
        known = [str(feature.name) for feature in terms.schema.features]
        if self.attributes is None:
            return known
        if not set(self.attributes) <= set(known):
            raise ValueError(
                f"attributes must be among those of the campaign, {', '.join(known)}, got "
                f"{', '.join(sorted(set(self.attributes) - set(known)))}"
            )
        return list(self.attributes)

    def _check_columns(self, terms: CampaignTerms) -> None:
        """The label, the owners' names and a peer's attributes must be among the columns."""
        there = self._file.names
        self._file.require(self.label or terms.label, self.owners)
        lacking = sorted(set(self._attributes(terms)) - set(there))
        if lacking and terms.relay is not None:
            held = ",".join(name for name in self._attributes(terms) if name in there)
            raise ValueError(
                f"{self.data} lacks {', '.join(lacking)}; which attributes you hold is told to all "
                f"participants, so type those to be told: --attributes {held or 'NAMES'}"
            )


@dataclass(frozen=True)
class _Greeted:
    """A campaign that was greeted, when that was, and the owners of a file: names in the ledger,
    and keys.
    """

    terms: CampaignTerms
    template: Template
    servers: ServerKeys
    home: Home
    cohort: Cohort
    names: list[str]
    keys: list[Ed25519PrivateKey]
    began: float


def _check_published(template: Template, terms: CampaignTerms) -> None:
    """Refuse a template that is not about the campaign of these terms, or that says it in words of
    its own: an owner agrees to what it reads.
    """
    columns = tuple(str(feature.name) for feature in terms.schema.features)
    about = terms.name, digest_of(terms.schema), columns, terms.label
    if not (template.campaign, template.schema, template.columns, template.label) == about:
        raise ValueError("the campaign's template is about other columns than its terms")
    if not _words(template) == _words(terms.template()):
        raise ValueError(
            "the campaign's template says in other words what it asks than this program does; "
            "nothing was sent (another version of the program?)"
        )


def _words(template: Template) -> tuple[object, ...]:
    """All that an owner reads of a template beside numbers and names of columns: words of this
    program, never of whoever asks.
    """
    parts = [[(part.path, part.meaning) for part in form.free] for form in template.forms]
    sizes = [[bound.name for bound in form.bounds] for form in template.forms]
    return template.trust, parts, sizes


async def join(joining: Joining, link: Link, tokens: list[str], pinned: bytes | None = None) -> int:
    """Enrol every owner of a file and take part until the campaign ends; how many questions were
    answered. Without tokens owners go on that have enrolled before.
    """
    greeted, members = await joining.members(link, pinned)
    if joining.policy.time_step > 0:  # rows were read meanwhile, few or many
        step = SETTLING_RECORDS if greeted.terms.has_names else SETTLING
        await asyncio.sleep(-(time.monotonic() - greeted.began) % step)
    if tokens and len(tokens) < len(members):
        raise ValueError(f"tokens must be one for each of {len(members)} owners, got {len(tokens)}")
    if joining.rehearsal is None:  # in no order that the rows have
        members.sort(key=lambda member: member.owner)
    given = zip(members, tokens, strict=False)
    await asyncio.gather(*(member.enrol(token) for member, token in given))
    once = greeted.terms.once
    answered = sum(await asyncio.gather(*(member.take_part(once=once) for member in members)))
    if greeted.terms.relay is not None:
        await link.end()  # what is left to do takes as long as rows make it
        await asyncio.gather(*(member.finish() for member in members))
    return answered


class RehearsalGate(Gate):
    """A gate that draws the coins that the engine in one process draws for the same owners."""

    def __init__(
        self,
        cohort: Cohort,
        owners: list[str],
        schema: Schema,
        policy: Policy,
        ledger: Ledger,
        *,
        key: Ed25519PublicKey,
        part: RehearsalPart,
        clock: Callable[[], float] = time.time,
        template: Template | None = None,
    ) -> None:
        if not all(is_rehearsal(entry.campaign) for entry in ledger.entries()):
            raise ValueError(
                f"{ledger.path} is the ledger of a real owner: rehearse with another --home"
            )
        super().__init__(
            cohort, owners, schema, policy, ledger, key=key, clock=clock, template=template
        )
        self._policy = replace(policy, helper=REHEARSAL_HELPER.hex())
        tapes = max(len(owners), 2)  # a question is first tried on two owners without rows
        self._stream = seeded(part.seed).of(np.arange(part.first, part.first + tapes))

    def _objection(self, invitation: Invitation) -> str:
        if not is_rehearsal(invitation.campaign):
            return f"the campaign is no {REHEARSAL}"
        return super()._objection(invitation)

    @property
    def _computes_apart(self) -> bool:
        return False  # rehearsals protect nobody

    def _coins(self, query: Query) -> Stream:
        return self._stream.child("round", query.round, query.attempt)
