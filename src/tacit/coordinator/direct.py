"""What every owner does, and all at the same time: enrol, ask for the question, report.

These are direct routes of the guard, with ready-made answers. Each request waits for its batch, whose signatures are
checked in one loop and whose work is one transaction, and is answered after the commit.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import TypeVar

from tacit.campaign.requests import OWNER, SIGNATURE, TIME, Claim, UnsignedError
from tacit.coordinator.asking import Asking
from tacit.coordinator.batches import Batches, BusyError
from tacit.coordinator.enrolling import Enrolled, Enrolling
from tacit.coordinator.guard import Answer, Direct
from tacit.coordinator.intake import Intake
from tacit.coordinator.store import Store
from tacit.engines.collector import Outcome

ENROL, QUESTION, REPORT = ("POST", "/v1/enrol"), ("GET", "/v1/question"), ("POST", "/v1/report")
STATUS = {
    Outcome.COUNTED: 200,
    Outcome.REPEATED: 200,
    Outcome.CONTRADICTED: 409,
    Outcome.STRANGE: 403,
    Outcome.MALFORMED: 400,
    Outcome.LATE: 410,
}
_SIGNED = OWNER.encode(), TIME.encode(), SIGNATURE.encode()
_COUNTED = {
    what: Answer.of(status, b'{"outcome":"%s"}' % what.name.lower().encode()) for what, status in STATUS.items()
}
_ENROLLED = {
    Enrolled.YES: Answer.of(200, b'{"enrolled":true}'),
    Enrolled.NO: Answer.of(403, b'{"error":"forbidden"}'),
    Enrolled.MALFORMED: Answer.of(400, b'{"error":"malformed"}'),
}
_BUSY = Answer.of(503, b'{"error":"busy"}')
_UNSIGNED = Answer.of(401, b'{"error":"unsigned"}')
Said = TypeVar("Said")


class OwnerRoutes:
    """The three calls of an owner; `reports` is where reports that come by other ways go, too."""

    def __init__(self, store: Store, intake: Intake) -> None:
        self.reports = Batches(intake.write)
        self._newcomers = Batches(Enrolling(store).enrol)
        self._asking = Batches(Asking(store).answers)

    def routes(self) -> dict[tuple[str, str], Direct]:
        """By method and path."""
        return {ENROL: self.enrol, QUESTION: self.question, REPORT: self.report}

    async def run(self) -> None:
        """Work on what comes, for as long as the service lives."""
        await asyncio.gather(self.reports.run(), self._newcomers.run(), self._asking.run())

    async def enrol(self, headers: Mapping[bytes, bytes], body: bytes) -> Answer:
        return await _told(self._newcomers, _claim(ENROL, headers, body), _ENROLLED.__getitem__)

    async def question(self, headers: Mapping[bytes, bytes], body: bytes) -> Answer:
        return await _told(self._asking, _claim(QUESTION, headers, body), lambda answer: answer)

    async def report(self, headers: Mapping[bytes, bytes], body: bytes) -> Answer:
        return await _told(self.reports, _claim(REPORT, headers, body), _COUNTED.__getitem__)


def _claim(route: tuple[str, str], headers: Mapping[bytes, bytes], body: bytes) -> Claim:
    owner, at, signature = [headers.get(name, b"").decode("latin-1") for name in _SIGNED]
    return Claim(*route, owner, at, signature, body)


async def _told(batches: Batches[Said], claim: Claim, answer: Callable[[Said], Answer]) -> Answer:
    """What a request gets when it is done, or was not signed, or cannot be done now."""
    try:
        return answer(await batches.put(claim, claim.body))
    except UnsignedError:
        return _UNSIGNED
    except BusyError:
        return _BUSY
