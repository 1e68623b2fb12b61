"""What a campaign left behind, on both sides: nobody asked twice, nobody counted twice, nobody
charged twice.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from benchmarks.service.stage import TRIAL, Stage, homes
from tacit.cli.serve import signing_key
from tacit.data.owner_names import conform_owners
from tacit.data.table_file import TableFile
from tacit.learners.owners.sum_query import WHAT as SUM
from tacit.learners.owners.sum_query import SumQuery
from tacit.learners.query import PURPOSE, Invitation
from tacit.service.coordinator.keys import CampaignKeys
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import invitations, owners, reports
from tacit.service.device.home import Home
from tacit.wire.envelopes import open_signed, public_bytes

Spoken = tuple[str, int]  # an owner, and the sum that it takes part in; 0 for its one report


@dataclass(frozen=True)
class Evidence:
    """Counts of what must not happen, from the coordinator's database and from every owner's
    ledger.

    Every owner is asked for one report at most, and at most once in each sum, so a second report,
    invitation or charge of an owner is one too many. A report that is not the one in its owner's
    ledger would be forged or damaged.
    """

    invited: int
    counted: int
    counted_twice: int
    asked_twice: int
    charged_twice: int
    not_in_ledger: int

    @property
    def whole(self) -> bool:
        """Whether everybody answered, so that there is a model to compare with."""
        return self.counted == self.invited

    @property
    def sound(self) -> bool:
        return not (
            self.counted_twice or self.asked_twice or self.charged_twice or self.not_in_ledger
        )

    def figures(self) -> dict[str, Any]:
        return {
            "reports counted": self.counted,
            "reports counted twice": self.counted_twice,
            "owners asked twice": self.asked_twice,
            "owners charged twice": self.charged_twice,
            "reports that are in no ledger": self.not_in_ledger,
        }


def evidence(stage: Stage, campaign: str = "") -> Evidence:
    """Read the database and the ledgers of a campaign whose processes have ended."""
    store = Store(stage.database, campaign)
    sums = _sums(stage, store)
    everybody = select(owners.c.id, owners.c.owner).where(store.mine(owners))
    asked_for = select(invitations.c.owner, invitations.c.question).where(store.mine(invitations))
    heard = select(reports.c.owner, reports.c.question, reports.c.data).where(store.mine(reports))
    with store.snapshot() as connection:
        key = {row.id: row.owner for row in connection.execute(everybody)}
        invited = connection.execute(asked_for).all()
        rows = connection.execute(heard).all()
    store.close()
    asked = Counter((key[row.owner], sums[row.question]) for row in invited)
    counted = Counter((key[row.owner], sums[row.question]) for row in rows)
    said = _said(stage, campaign or TRIAL)
    return Evidence(
        invited=len(invited),
        counted=len(rows),
        counted_twice=_twice(counted),
        asked_twice=_twice(asked),
        charged_twice=_twice(Counter({spoken: len(each) for spoken, each in said.items()})),
        not_in_ledger=sum(
            row.data not in said.get((key[row.owner], sums[row.question]), ()) for row in rows
        ),
    )


def _sums(stage: Stage, store: Store) -> dict[int, int]:
    """The questions by number: 0 where one report of a lifetime is asked for, else the
    question's own number.
    """
    key = signing_key(stage.state(store.slug)).public_key()
    asked = {
        each.number: open_signed(each.data, Invitation, PURPOSE, key).query
        for each in store.questions()
    }
    return {number: number if isinstance(query, SumQuery) else 0 for number, query in asked.items()}


def _said(stage: Stage, slug: str) -> dict[Spoken, list[bytes]]:
    """What the ledgers say that every owner has said."""
    said: dict[Spoken, list[bytes]] = {}
    campaign = CampaignKeys.at(stage.state(slug)).first  # which owners' keys are made for
    for folder in sorted(stage.folder.glob(f"{homes(slug)}-*")):
        if (folder / "ledger.db").exists():
            home, number = Home.at(folder), folder.name.removeprefix(f"{homes(slug)}-")
            people = (
                TableFile.open(stage.folder / f"owners-{number}.csv")
                .read_text(["who"])
                .column("who")
            )
            key = {
                home.owner(value): public_bytes(home.key(campaign, value).public_key()).hex()
                for value in conform_owners(people)[0]
            }
            for entry in home.ledger.entries():
                spoken = (key[entry.owner], entry.number if entry.what == SUM else 0)
                said.setdefault(spoken, []).append(entry.report)
            home.ledger.close()
    return said


def _twice(counts: Counter[Spoken]) -> int:
    return sum(count - 1 for count in counts.values() if count > 1)
