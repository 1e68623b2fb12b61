"""One owner's part in a campaign, from enrolment to the end: poll, ask the gate, post the
report.
"""

import logging
import sqlite3
from dataclasses import dataclass

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.owner.gate import Reason, RefusedError
from tacit.owner.ledger import LedgerError
from tacit.service.device.client import Link
from tacit.service.device.gate_queue import GateQueue
from tacit.wire.signing import public_bytes

log = logging.getLogger(__name__)
_POLL = 2.0  # seconds, where the coordinator names none
_LONGEST = 3600.0  # seconds, whatever it names
_REFUSED = {403, 401, 400}


class EnrolmentError(RuntimeError):
    """The coordinator does not take this owner: the message says what to look at."""


@dataclass(frozen=True)
class Member:
    """An owner behind a gate, with its key and a link to the coordinator."""

    owner: str
    key: Ed25519PrivateKey
    gate: GateQueue
    link: Link
    held: tuple[int, ...] = ()  # numbers of the attributes that it has, where it matters

    @property
    def name(self) -> str:
        """The owner's public key in hex: its name in the campaign."""
        return public_bytes(self.key.public_key()).hex()

    async def enrol(self, token: str) -> None:
        """Introduce the owner; doing it again with the same token changes nothing."""
        held = ",".join(str(number) for number in self.held)
        response = await self.link.call(
            "POST", "/v1/enrol", self.key, f"{token}\n{self.owner}\n{held}".encode()
        )
        if response.status_code != 200:
            raise EnrolmentError(
                f"owner {self.owner!r} was not enrolled: the token is unknown, or another "
                "owner used it"
            )

    async def take_part(self, once: bool = True) -> int:
        """Answer questions until the campaign ends, or one is answered (`once`); how many were."""
        answered = 0
        while True:
            response = await self.link.call("GET", "/v1/question", self.key)
            if response.status_code == 200:
                self.link.news.tell(response.content)
                try:
                    refusal = await self._answer(response.content)
                except LedgerError as problem:
                    if not isinstance(problem.__cause__, OSError | sqlite3.OperationalError):
                        raise
                    log.warning(
                        "the ledger cannot be written now (a full disk?): nothing was "
                        "released; trying again"
                    )
                else:
                    answered += refusal is None
                    if once and refusal in (None, Reason.SPENT):
                        return answered
            elif response.status_code == 410:
                return answered
            elif response.status_code in _REFUSED:
                raise EnrolmentError(
                    f"owner {self.owner!r} is not enrolled, has left, or was revoked"
                )
            else:
                await self._idle()
            await self.link.news.wait(_pause(response, self.link.coin()))

    async def _answer(self, question: bytes) -> Reason | None:
        """Pass one question to the gate and post what it returns; the reason when the gate
        refuses.
        """
        try:
            report = await self.gate.answer(question, self.owner)
        except RefusedError as refused:
            log.info("refused: %s", refused.reason.name)
            return refused.reason
        status = await self._post(question, report)
        if status != 200:
            log.warning("the report was not counted: status %d", status)
        return None

    async def _post(self, question: bytes, report: bytes) -> int:
        """Send a report until it is safe; the status of the answer."""
        return (await self.link.call("POST", "/v1/report", self.key, report)).status_code

    async def _idle(self) -> None:
        """There was nothing to answer."""


def _pause(response: httpx.Response, coin: float) -> float:
    """On average as long as the coordinator asks us to wait; owners that came together should
    not come so again.
    """
    value = response.headers.get("retry-after", "")
    told = float(value) if value.isascii() and value.isdigit() else _POLL
    return min(told, _LONGEST) * (0.25 + 1.5 * coin)
