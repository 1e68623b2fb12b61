"""Joining a campaign with a file of one's own: greet, pin, read rows by the campaign's schema,
answer.
"""

import asyncio
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tacit._util.durable import read_or_create
from tacit.data.cohort import Cohort
from tacit.data.owned import read_owned
from tacit.data.sample import ColumnRoles
from tacit.data.table_file import TableFile
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.service.device.client import Link
from tacit.service.device.member import GateQueue, Identity, Member
from tacit.service.device.peer import PeerMember, Relayed
from tacit.service.device.rehearsal_gate import RehearsalGate, RehearsalPart
from tacit.service.kinds.kind import CampaignTerms
from tacit.service.kinds.registry import read_terms
from tacit.service.protocol.handshake import is_rehearsal, read_greeting, rehearse_only_here
from tacit.wire.signing import public_bytes


@dataclass(frozen=True)
class Joining:
    """What an owner (or a gateway with many) brings along.

    `data` is read by the campaign's schema: `label` names its column to predict (None: what the
    campaign calls it), `owners` the column that names owners (None: the whole file is one owner).
    `state` holds identity, ledger and the pinned key. `rehearsal` is the part in a rehearsal, None
    for a campaign; one is refused in place of the other. `known` are the public keys of the only
    other peers to take part with, None: any that the coordinator has enrolled.
    """

    data: Path
    label: str | None
    policy: Policy
    state: Path
    owners: str | None = None
    rehearsal: RehearsalPart | None = None
    known: frozenset[bytes] | None = None

    async def members(
        self, link: Link, pinned: bytes | None = None
    ) -> tuple[CampaignTerms, list[Member]]:
        """Greet the campaign, pin its key, and make a member of every owner in the file."""
        pin = self.state / "campaign.key"
        response = await link.call("GET", "/v1/campaign", None)
        key, data = read_greeting(response.content, pinned)
        if pin.exists():
            read_greeting(response.content, pin.read_bytes())
        terms = read_terms(data)
        if is_rehearsal(terms.name) != (self.rehearsal is not None):
            raise ValueError(
                f"the campaign is {terms.name!r}: give --rehearsal for a rehearsal, and only then"
            )
        read_or_create(pin, lambda: response.content[:32])
        names, cohort = self.rows(terms)
        ledger = Ledger(self.state / "ledger.db", self.state / "ledger.mark")
        if self.rehearsal is None:
            gate = Gate(cohort, names, terms.schema, self.policy, ledger, key=key, clock=link.now)
        else:
            rehearse_only_here(link.address.host)
            gate = RehearsalGate(
                cohort,
                names,
                terms.schema,
                self.policy,
                ledger,
                key=key,
                part=self.rehearsal,
                clock=link.now,
            )
        queue, identity = GateQueue(gate), Identity.at(self.state)
        keys = {name: identity.key(name) for name in names}
        if terms.relay is None:
            return terms, [Member(name, keys[name], queue, link) for name in names]
        mine = {public_bytes(each.public_key()) for each in keys.values()}
        known = None if self.known is None else self.known | mine
        relayed = Relayed(self.state / "relayed", terms.relay, key, known)
        held = terms.attributes_of(self._file.names)
        return terms, [
            PeerMember(
                name,
                keys[name],
                queue,
                link,
                held=held,
                relayed=relayed,
                rows=cohort[place : place + 1],
                model=self.state
                / ("own-model.tacit" if len(names) == 1 else f"own-model-{place}.tacit"),
            )
            for place, name in enumerate(names)
        ]

    def rows(self, terms: CampaignTerms) -> tuple[list[str], Cohort]:
        """The owners of the file, and their rows by the campaign's schema.

        Every value is read by the schema alone: no row of one owner can change what another's rows
        mean.
        """
        roles = ColumnRoles(self.label or terms.label, self.owners)
        self._file.require(roles.label, roles.owner)
        schema = terms.schema_of(self._file.names)
        owned = read_owned(self._file, roles, schema, one_owner=True)
        labels = terms.schema.encode_labels(owned.labels)
        cohort = Cohort.of(terms.encode_rows(owned.table), labels, owned.owners)
        return list(owned.names) or [self.data.stem], cohort

    @cached_property
    def _file(self) -> TableFile:
        return TableFile.open(self.data)


async def join(joining: Joining, link: Link, tokens: list[str], pinned: bytes | None = None) -> int:
    """Enrol every owner of a file and take part until the campaign ends; how many questions were
    answered.
    """
    terms, members = await joining.members(link, pinned)
    if len(tokens) < len(members):
        raise ValueError(f"tokens must be one for each of {len(members)} owners, got {len(tokens)}")
    given = zip(members, tokens[: len(members)], strict=True)
    await asyncio.gather(*(member.enrol(token) for member, token in given))
    return sum(await asyncio.gather(*(member.take_part(once=terms.once) for member in members)))
