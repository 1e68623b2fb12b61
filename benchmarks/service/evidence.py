"""What a campaign left behind, on both sides: nobody asked twice, nobody counted twice, nobody charged twice."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from benchmarks.service.stage import Stage
from tacit.coordinator.store import Store
from tacit.coordinator.tables import invitations, owners, reports
from tacit.owner.ledger import Ledger


@dataclass(frozen=True)
class Evidence:
    """Counts of what must not happen, from the coordinator's database and from every owner's ledger.

    Every owner is asked at most once, so a second report, invitation or charge of an owner is one too many. A report
    that is not the one in its owner's ledger would be forged or damaged.
    """

    counted: int
    counted_twice: int
    asked_twice: int
    charged_twice: int
    not_in_ledger: int

    @property
    def sound(self) -> bool:
        return not (self.counted_twice or self.asked_twice or self.charged_twice or self.not_in_ledger)

    def figures(self) -> dict[str, Any]:
        return {
            "reports counted": self.counted,
            "reports counted twice": self.counted_twice,
            "owners asked twice": self.asked_twice,
            "owners charged twice": self.charged_twice,
            "reports that are in no ledger": self.not_in_ledger,
        }


def evidence(stage: Stage) -> Evidence:
    """Read the database and the ledgers of a campaign whose processes have ended."""
    store = Store(stage.database)
    with store.reading() as connection:
        label = {row.place: row.label for row in connection.execute(select(owners.c.place, owners.c.label))}
        asked = Counter(label[place] for place in connection.execute(select(invitations.c.owner)).scalars())
        rows = connection.execute(select(reports.c.owner, reports.c.data)).all()
    store.close()
    counted = Counter(label[row.owner] for row in rows)
    said: dict[str, list[bytes]] = {}
    for folder in sorted(stage.folder.glob("owner-*")):
        if (folder / "ledger.db").exists():
            ledger = Ledger(folder / "ledger.db", folder / "ledger.mark")
            for entry in ledger.entries():
                said.setdefault(entry.owner, []).append(entry.report)
            ledger.close()
    return Evidence(
        counted=len(rows),
        counted_twice=sum(count - 1 for count in counted.values()),
        asked_twice=sum(count > 1 for count in asked.values()),
        charged_twice=sum(len(each) > 1 for each in said.values()),
        not_in_ledger=sum(row.data not in said.get(label[row.owner], ()) for row in rows),
    )
