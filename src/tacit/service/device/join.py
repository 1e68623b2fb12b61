"""Joining a campaign with a file of one's own: greet, pin, read rows by the campaign's schema,
answer.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tacit._util.durable import read_or_create
from tacit.data import column_names, conform, conform_labels, conform_owners, read_rows
from tacit.data.cohort import Cohort
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.service.device.client import Link
from tacit.service.device.gate_queue import GateQueue
from tacit.service.device.identity import Identity
from tacit.service.device.member import Member
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
        held = terms.attributes_of(self._columns(terms))
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
        schema = terms.schema_of(self._columns(terms))
        label = self.label or terms.label
        wanted = [feature.name for feature in schema.features] + [label]
        wanted += [] if self.owners is None else [self.owners]
        raw = read_rows(self.data, wanted)
        labels = terms.schema.encode_labels(conform_labels(raw.column(label), terms.schema))
        if self.owners is None:
            owner, names = np.zeros(len(raw), dtype=np.int64), [self.data.stem]
        else:
            names, owner = conform_owners(raw.column(self.owners))
        table = conform(raw, schema, str(self.data))
        return names, Cohort.of(terms.encode_rows(table), labels, owner)

    def _columns(self, terms: CampaignTerms) -> list[str]:
        """The columns of the file, if the label and the owners' names are among them."""
        there = column_names(self.data)
        for name in (self.label or terms.label, self.owners):
            if name is not None and name not in there:
                raise ValueError(
                    f"column {name!r} is not in {self.data}; it has {', '.join(there)}"
                )
        return there


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
