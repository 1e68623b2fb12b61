"""POST /v1/report: what everybody does once, and all at the same time."""

from collections.abc import Mapping

from tacit.campaign.requests import OWNER, SIGNATURE, TIME, Claim, UnsignedError
from tacit.coordinator.batches import Batches, BusyError
from tacit.coordinator.guard import Answer
from tacit.engines.collector import Outcome

PATH = "/v1/report"
STATUS = {
    Outcome.COUNTED: 200,
    Outcome.REPEATED: 200,
    Outcome.CONTRADICTED: 409,
    Outcome.STRANGE: 403,
    Outcome.MALFORMED: 400,
    Outcome.LATE: 410,
}
_SIGNED = OWNER.encode(), TIME.encode(), SIGNATURE.encode()
_ANSWERS = {
    what: Answer.of(status, b'{"outcome":"%s"}' % what.name.lower().encode()) for what, status in STATUS.items()
}
_BUSY = Answer.of(503, b'{"error":"busy"}')
_UNSIGNED = Answer.of(401, b'{"error":"unsigned"}')


class Reporting:
    """A direct route of the guard; whoever sends is answered when the report is in the database."""

    def __init__(self, batches: Batches) -> None:
        self._batches = batches

    async def report(self, headers: Mapping[bytes, bytes], body: bytes) -> Answer:
        """What becomes of a report."""
        owner, at, signature = [headers.get(name, b"").decode("latin-1") for name in _SIGNED]
        claim = Claim("POST", PATH, owner, at, signature, body)
        try:
            return _ANSWERS[await self._batches.put(claim, body)]
        except UnsignedError:
            return _UNSIGNED
        except BusyError:
            return _BUSY
