"""What outside reviewers found, put back in: nine mutants, C1 to C8 and S1, each of which the audit
must catch, and the parts of the audit that catch them, which must be quiet without.

    python -m reliability.mutants
"""

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.peers import Released
from tacit.audit.clock import CASES, audit_clock, audit_polls, through_member
from tacit.audit.device import audit_budget, audit_device
from tacit.audit.hostile_questions import Draft
from tacit.audit.questions import Search, audit_questions, judge_site
from tacit.audit.recorder import parts
from tacit.audit.staging import Check
from tacit.audit.sum_invitations import audit_invitations
from tacit.learners.query import Invitation, Query
from tacit.learners.sites import losses, perturbation
from tacit.learners.sites.losses import HuberHinge, minimise
from tacit.learners.sites.perturbation import Perturbation
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import TrainSite, targets_of
from tacit.mechanisms.streams import seeded
from tacit.owner.gate import Gate
from tacit.owner.ledger import Book
from tacit.owner.ledger_entries import Entry
from tacit.service.device.client import Link
from tacit.service.device.join import Joining
from tacit.service.device.member import Member, PeerMember


@dataclass(frozen=True)
class Mutant:
    """An old behaviour; `look` runs the part of the audit that must catch it."""

    number: str
    behaviour: str
    part: str
    look: Callable[[bool], list[Check]]  # with the mutant, or without

    def caught(self) -> Check | None:
        """The first check that fails."""
        return next((check for check in self.look(True) if not check.sound), None)

    def alarms(self) -> list[Check]:
        """Checks that fail without the mutant: none."""
        return [check for check in self.look(False) if not check.sound]


# C1: the gate leaves when it is done, at the next step
# ----------------------------------------------------------------------------------------------


class LeavesWhenDone(Gate):
    @property
    def _computes_apart(self) -> bool:
        return False

    def _reports(self, invitation: Invitation, due: list[Any]) -> list[bytes]:
        return self._make_reports(invitation, due)


def _clock(mutated: bool) -> list[Check]:
    kind = LeavesWhenDone if mutated else Gate
    rows = audit_clock(seeded(4), 30, CASES[1:], kind, through_member)
    return [Check(f"clock: {row.name}", row.sound, f"{row.right} of {row.pairs}") for row in rows]


# C2, C3: a site's arithmetic and its zero
# ----------------------------------------------------------------------------------------------


_NAMELESS = Draft("site", 0, 1.0, 0.0, 0.0)


def _by_library(self: Projection, X: FloatArray) -> FloatArray:
    """Rows by a product of matrices, whose last bits depend on how many there are."""
    seen = (np.nan_to_num(X) - self.centre) @ self.directions
    if self.constant:
        seen = np.hstack([seen, np.full((len(seen), 1), self.constant)])
    lengths = np.maximum(np.linalg.norm(seen, axis=1), np.abs(seen).sum(axis=1) / self.l1_bound)
    return np.asarray(seen / np.maximum(lengths, 1.0)[:, np.newaxis])


def _until_it_stalls(
    self: TrainSite, X: FloatArray, y: IntArray, plan: Perturbation, tilts: FloatArray
) -> FloatArray:
    """Newton's method with a line search; zero where it does not reach the tolerance."""
    rows, found = self.projection.see(X), []
    for vector, tilt in enumerate(tilts):
        told = targets_of(y, self.labels, vector)
        f = minimise(rows, told, self.loss, plan.ridge, tilt, tolerance=plan.tolerance)
        slope = rows.T @ self.loss.first(rows @ f, told) + plan.ridge * f + tilt
        found.append(f if np.sqrt(slope @ slope) <= plan.tolerance else np.zeros(len(f)))
    return np.array(found)


def _site(change: Callable[[], AbstractContextManager[object]], mutated: bool) -> list[Check]:
    rng, found = np.random.default_rng(3), Search()
    with change() if mutated else nullcontext():
        for query in _site_questions(rng):
            judge_site(query, _NAMELESS, rng, found)
        for query, records in _sharp_corner():
            judge_site(query, _NAMELESS, rng, found, records)
    return [*found.checks()]


def _site_questions(rng: np.random.Generator) -> Iterator[TrainSite]:
    """Directions that cancel but for the last bits."""
    for _ in range(60):
        directions = np.tile(2.0**19 * rng.uniform(-1, 1, 4), (60, 1))
        projection = Projection(rng.normal(size=60), directions, 2.0)
        yield TrainSite(
            1,
            1,
            None,
            projection=projection,
            loss=HuberHinge(),
            labels=2,
            privacy="output",
            menu=(0.5,),
            ridge=2.0**-40,
        )


def _sharp_corner() -> Iterator[tuple[TrainSite, tuple[FloatArray, IntArray]]]:
    """The one of 4,805 questions at which a search found the old method to stall; a site refuses
    it now, before it has seen a record.
    """
    rng, dim, count = np.random.default_rng(810705405705), 30, 3000
    directions = rng.normal(size=(dim, dim)) * 10 ** rng.uniform(-3, 3)
    X = rng.uniform(-1, 1, (count, dim))
    rng.integers(4)
    X[:] = X[0]
    y = (rng.random(count) < rng.choice([0, 0.5, 1.0])).astype(np.int64)
    projection = Projection(np.zeros(dim), directions, dim**0.5)
    with suppress(ValueError):
        loss = HuberHinge(5.058300977134754e-06)
        yield (
            TrainSite(
                1,
                1,
                None,
                projection=projection,
                loss=loss,
                labels=2,
                privacy="output",
                menu=(0.5,),
                ridge=2.0**-40,
            ),
            (X, y),
        )


def _library_product() -> AbstractContextManager[object]:
    return patch.object(Projection, "see", _by_library)


@contextmanager
def _stalling() -> Iterator[None]:
    """The old method, and the bounds of the old questions."""
    with (
        patch.object(losses, "_LEAST_H", 1e-12),
        patch.object(perturbation, "_LEAST_RIDGE", 2.0**-10),
        patch.object(perturbation, "LEAST_ROWS", 1),
        patch.object(TrainSite, "_minima", _until_it_stalls),
    ):
        yield


# C4, C5, C6: who an owner is, and what enrolment says
# ----------------------------------------------------------------------------------------------


class NamedByFile(Joining):
    """The ledger's owner is the file's name."""

    def _members(self, greeted: Any, link: Link) -> list[Member]:
        return super()._members(replace(greeted, names=[self.data.name]), link)


class FolderPerCampaign(Joining):
    """Each campaign has a folder of its own, with a ledger; one that is lost begins anew."""

    async def members(self, link: Link, pinned: bytes | None = None, *, pin: bool = True) -> Any:
        folder = self.home / (pinned or b"first").hex()
        if folder.exists() and not (folder / "ledger.db").exists():
            shutil.rmtree(folder)
        moved: Any = replace(self, home=folder)
        return await Joining.members(moved, link, pinned, pin=pin)


class TellsNames(Joining):
    """Enrolment sends what names the owner: the value in the column, or the file's name."""

    def _members(self, greeted: Any, link: Link) -> list[Member]:
        members = super()._members(greeted, link)
        values = [self.data.stem] * len(members) if self.owners is None else self._values(greeted)
        return [replace(member, label=value) for member, value in zip(members, values, strict=True)]

    def _values(self, greeted: Any) -> list[str]:
        return self.rows(greeted.terms)[0]


def _budget(kind: type[Joining], mutated: bool) -> list[Check]:
    return [audit_budget(kind if mutated else Joining)]


def _enrolment(mutated: bool) -> list[Check]:
    kind = TellsNames if mutated else Joining
    return list(audit_device(kind, parts()[:1]))


# C7, C8: memory, and a peer's own model
# ----------------------------------------------------------------------------------------------


class Unbounded(Gate):
    """All rows count, and no question is too much."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._first = dict.fromkeys(self._first, self._cohort)

    def _excess(self, query: Query) -> str:
        return ""


def _memory(mutated: bool) -> list[Check]:
    return list(audit_questions(30, 2, Unbounded if mutated else Gate).checks())


async def _keep_at_once(self: PeerMember, me: int, released: Released) -> None:
    """Where polls wait for it."""
    self.relayed.terms.keep_own_model(self.model, self.rows, released, me)


def _polls(mutated: bool) -> list[Check]:
    with patch.object(PeerMember, "_keep_model", _keep_at_once) if mutated else nullcontext():
        rows = list(audit_polls(seeded(5), 14))
    return [Check(row.name, row.sound, f"{row.right} of {row.pairs}") for row in rows]


# S1: sums of two servers
# ----------------------------------------------------------------------------------------------


class AnswersInvitations(Gate):
    """A sum is known by the invitation that it came in."""

    def _answered(self, book: Book, owner: str, invitation: Invitation) -> Entry | None:
        return book.find(owner, invitation.digest, self._pin)

    def _entry(self, invitation: Invitation, *given: Any) -> Entry:
        return replace(super()._entry(invitation, *given), digest=invitation.digest)


def _invitations(mutated: bool) -> list[Check]:
    return [audit_invitations(AnswersInvitations if mutated else Gate)]


MUTANTS = (
    Mutant("C1", "the gate leaves when it is done", "clock, through gate and member", _clock),
    Mutant(
        "C2",
        "rows of a site by a library's product",
        "questions: cancellation",
        lambda mutated: _site(_library_product, mutated),
    ),
    Mutant(
        "C3",
        "training stalls, and says zero",
        "questions: certificate",
        lambda mutated: _site(_stalling, mutated),
    ),
    Mutant(
        "C4",
        "an owner is the name of its file",
        "device: budget",
        lambda mutated: _budget(NamedByFile, mutated),
    ),
    Mutant(
        "C5",
        "a folder and a ledger for each campaign, a lost one begins anew",
        "device: budget",
        lambda mutated: _budget(FolderPerCampaign, mutated),
    ),
    Mutant("C6", "enrolment sends names", "device: what is sent", _enrolment),
    Mutant("C7", "work and memory without a bound", "questions: time, memory", _memory),
    Mutant("C8", "a peer's own model before the next poll", "clock: polls", _polls),
    Mutant("S1", "a half for every invitation to one sum", "sums: invitations", _invitations),
)


def main() -> None:
    """Exit with 1 unless every mutant is caught and nothing else is."""
    parser = argparse.ArgumentParser(prog="python -m reliability.mutants", description=__doc__)
    parser.add_argument("--only", action="append", help="C1 to C8, S1; repeat for several")
    chosen = parser.parse_args().only
    table = Table("", "put back in", "part of the audit", "caught by", "without it")
    good = True
    for mutant in MUTANTS:
        if chosen and mutant.number not in chosen:
            continue
        caught, alarms = mutant.caught(), mutant.alarms()
        good &= caught is not None and not alarms
        said = "NOT CAUGHT" if caught is None else f"{caught.name}: {caught.seen[:80]}"
        table.add_row(
            mutant.number, mutant.behaviour, mutant.part, said, "ALARM" if alarms else "quiet"
        )
    Console(width=160, highlight=False).print(table)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
