"""Strangers at a coordinator's door, over TLS: how many of each kind were refused, and whether
anything changed.

python -m benchmarks.strangers
"""

import argparse
import asyncio
import json
import os
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rich.console import Console

from benchmarks.doorstep import ADMIN, Doorstep
from benchmarks.tables import Row, Table, Verdict
from tacit.service.coordinator.tables import PAUSED, VOID, Standing
from tacit.service.device.client import Link, UnreachableError
from tacit.service.protocol.handshake import LIFETIME, OWNER

# words of a stack trace
_INSIDE = (b"Traceback", b'File "', b".py", b"sqlalchemy", b"starlette", b"uvicorn")
_LARGE = bytes(2 << 20)


@dataclass
class Tally:
    """What became of the attempts of one kind: statuses (0: the connection was refused), and
    traces seen.
    """

    statuses: list[int] = field(default_factory=list)
    traces: int = 0
    misshapen: int = 0

    def note(self, answer: httpx.Response | None) -> None:
        """Look at an answer the way an outsider would."""
        self.statuses.append(0 if answer is None else answer.status_code)
        if answer is None:
            return
        shown = answer.content + str(answer.headers).encode()
        self.traces += any(word in shown for word in _INSIDE) or "server" in answer.headers
        if answer.status_code >= 400 and answer.headers.get("content-type") == "application/json":
            self.misshapen += set(json.loads(answer.content)) not in ({"error"}, {"outcome"})


@dataclass(frozen=True)
class Strangers(Row):
    """One kind of stranger."""

    sent: int
    refused: int
    statuses: str
    traces: int

    @property
    def cells(self) -> tuple[str, ...]:
        return (str(self.sent), str(self.refused), self.statuses, str(self.traces))


Attempt = Callable[[Doorstep], Awaitable[httpx.Response | None]]


async def report_unenrolled(door: Doorstep) -> httpx.Response | None:
    """A key that nobody enrolled, with a report that would be valid."""
    return await door.send("POST", "/v1/report", Ed25519PrivateKey.generate(), door.report())


async def ask_unenrolled(door: Doorstep) -> httpx.Response | None:
    """A key that nobody enrolled, asking for the question."""
    return await door.send("GET", "/v1/question", Ed25519PrivateKey.generate())


async def report_revoked(door: Doorstep) -> httpx.Response | None:
    """An owner that was left out, with a report that would be valid."""
    return await door.send("POST", "/v1/report", door.revoked, door.report())


async def enrol_revoked(door: Doorstep) -> httpx.Response | None:
    """An owner that was left out, enrolling again with its token."""
    return await door.send("POST", "/v1/enrol", door.revoked, door.token_of_revoked)


async def report_uninvited(door: Doorstep) -> httpx.Response | None:
    """An enrolled owner answering a question that was put to others."""
    return await door.send("POST", "/v1/report", door.uninvited, door.report())


async def impersonate(door: Doorstep) -> httpx.Response | None:
    """An enrolled owner that says it is another."""
    headers = door.headers("POST", "/v1/report", door.uninvited, door.report())
    victim = door.headers("GET", "/v1/question", door.invited)[OWNER]
    return await door.raw("POST", "/v1/report", headers | {OWNER: victim}, door.report())


async def replay_late(door: Doorstep) -> httpx.Response | None:
    """A report as the invited owner signed it, too long ago."""
    body = door.report()
    old = door.headers("POST", "/v1/report", door.invited, body, at=time.time() - LIFETIME - 2)
    return await door.raw("POST", "/v1/report", old, body)


async def replay_elsewhere(door: Doorstep) -> httpx.Response | None:
    """What the invited owner signed just now for one route, sent to another."""
    headers = door.headers("GET", "/v1/question", door.invited)
    return await door.raw("POST", "/v1/report", headers, door.report())


async def replay_abroad(door: Doorstep) -> httpx.Response | None:
    """A report as the invited owner signed it for another campaign."""
    body = door.report()
    headers = door.headers("POST", "/v1/report", door.invited, body, campaign=bytes(32))
    return await door.raw("POST", "/v1/report", headers, body)


async def tamper(door: Doorstep) -> httpx.Response | None:
    """The invited owner's signature over other bytes."""
    headers = door.headers("POST", "/v1/report", door.invited, door.report())
    return await door.raw("POST", "/v1/report", headers, door.report())


async def reuse_token(door: Doorstep) -> httpx.Response | None:
    """A token that somebody else has used."""
    return await door.send("POST", "/v1/enrol", Ed25519PrivateKey.generate(), door.token_of_revoked)


async def send_large(door: Doorstep) -> httpx.Response | None:
    """Two megabytes, announced."""
    return await door.send("POST", "/v1/report", door.invited, _LARGE)


async def stream_large(door: Doorstep) -> httpx.Response | None:
    """Two megabytes in pieces, of no announced length."""

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(_LARGE), 1 << 16):
            yield _LARGE[start : start + (1 << 16)]

    return await door.raw(
        "POST", "/v1/report", door.headers("POST", "/v1/report", door.invited, _LARGE), pieces()
    )


async def send_garbage(door: Doorstep) -> httpx.Response | None:
    """Random bytes, signed by the invited owner itself."""
    return await door.send("POST", "/v1/report", door.invited, os.urandom(1 + os.urandom(1)[0]))


async def send_noise(door: Doorstep) -> httpx.Response | None:
    """Random headers, random path."""
    noise = {
        name: os.urandom(40).hex()
        for name in ("x-tacit-owner", "x-tacit-time", "x-tacit-signature")
    }
    return await door.raw("POST", f"/{os.urandom(6).hex()}", noise, os.urandom(100))


async def send_no_http(door: Doorstep) -> httpx.Response | None:
    """Random bytes where a request should be."""
    address = httpx.URL(door.url)
    reader, writer = await asyncio.open_connection(address.host, address.port, ssl=door.trust)
    writer.write(os.urandom(200) + b"\r\n\r\n")
    said = await reader.read()
    writer.close()
    with suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()
    return httpx.Response(int(said.split(b" ", 2)[1]), content=said) if said else None


async def guess_admin_key(door: Doorstep) -> httpx.Response | None:
    """Somebody who guesses the admin key."""
    return await door.raw(
        "POST", "/v1/admin/state", {"x-tacit-admin": os.urandom(20).hex()}, PAUSED.encode()
    )


async def meet_stranger(door: Doorstep) -> httpx.Response | None:
    """An owner at a door whose certificate it was not told to trust: it must not even speak."""
    link = Link.to(door.url, door.other_authority, patience=5.0)
    try:
        return await link.call("GET", "/v1/question", door.invited)
    except UnreachableError:
        return None
    finally:
        await link.close()


async def report_late(door: Doorstep) -> httpx.Response | None:
    """An invited owner, after the end of its question."""
    return await door.send("POST", "/v1/report", door.silent, door.report())


KINDS: dict[str, tuple[Attempt, tuple[int, ...]]] = {
    "unenrolled, reports": (report_unenrolled, (403,)),
    "unenrolled, asks for the question": (ask_unenrolled, (403,)),
    "revoked, reports": (report_revoked, (403,)),
    "revoked, enrols again": (enrol_revoked, (403,)),
    "enrolled but not invited": (report_uninvited, (403,)),
    "another owner's identity": (impersonate, (401,)),
    "replayed after its time": (replay_late, (401,)),
    "replayed on another route": (replay_elsewhere, (401,)),
    "signed for another campaign": (replay_abroad, (401,)),
    "signature over other bytes": (tamper, (401,)),
    "another's token": (reuse_token, (403,)),
    "oversized, announced": (send_large, (413, 0)),  # 0: it hung up while we were still sending
    "oversized, in pieces": (stream_large, (413, 0)),
    "garbage, well signed": (send_garbage, (400,)),
    "garbage all over": (send_noise, (404,)),
    "no HTTP at all": (send_no_http, (400, 0)),
    "a guessed admin key": (guess_admin_key, (401,)),
    "wrong certificate authority": (meet_stranger, (0,)),
}


async def visit(
    door: Doorstep, attempt: Attempt, expected: tuple[int, ...], name: str, times: int
) -> Strangers:
    """Try one way in some times."""
    tally = Tally()
    for _ in range(times):
        tally.note(await attempt(door))
    refused = sum(status in expected for status in tally.statuses)
    statuses = " ".join(
        str(status or "closed") for status in sorted(set(tally.statuses), reverse=True)
    )
    goal = Verdict("all, 0 traces", refused == times and tally.traces == tally.misshapen == 0)
    return Strangers(
        name=name,
        verdict=goal,
        sent=times,
        refused=refused,
        statuses=statuses,
        traces=tally.traces,
    )


def _standing(door: Doorstep) -> Standing:
    """Where the campaign is, but for its time, which goes on."""
    return replace(door.store.standing(), worked=0.0)


async def strangers(door: Doorstep, times: int) -> Table:
    """Every kind in turn; then whether the question and the count of reports are as they were."""
    before, standing = await door.question(), _standing(door)
    rows = [
        await visit(door, attempt, expected, name, times)
        for name, (attempt, expected) in KINDS.items()
    ]
    unchanged = await door.question() == before and _standing(door) == standing
    clean = door.store.reports_of(1) == []
    body = door.report()
    first, again = [(await door.send("POST", "/v1/report", door.invited, body)) for _ in range(2)]
    honest = [answer is not None and answer.json()["outcome"] for answer in (first, again)] == [
        "counted",
        "repeated",
    ]
    once = len(door.store.reports_of(1)) == 1
    await door.raw("POST", "/v1/admin/state", {"x-tacit-admin": ADMIN}, PAUSED.encode())
    door.store.close_question(1, VOID)
    rows.append(await visit(door, report_late, (410,), "expired: after the question's end", times))
    note = (
        f"question unchanged: {_yes(unchanged)}; reports of strangers that counted: "
        f"{'0' if clean else 'SOME'}; "
        f"the honest owner afterwards: counted once, its replay told so: {_yes(honest and once)}"
    )
    title = (
        "Strangers over TLS on loopback"
        if unchanged and clean and honest and once
        else "Strangers: BROKEN"
    )
    return Table("strangers", title, ("who", "sent", "refused", "statuses", "traces"), rows, note)


def _yes(true: bool) -> str:
    return "yes" if true else "NO"


def measure(folder: Path, times: int) -> Table:
    """Set a coordinator up and let strangers come."""

    async def main() -> Table:
        async with Doorstep.open(folder) as door:
            return await strangers(door, times)

    return asyncio.run(main())


def main() -> None:
    """Print the table; exit status 1 when anybody got in."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strangers", description=__doc__)
    parser.add_argument("--times", type=int, default=50, help="attempts of each kind")
    with tempfile.TemporaryDirectory() as folder:
        table = measure(Path(folder), parser.parse_args().times)
    table.show(Console(width=110, highlight=False))
    if "BROKEN" in table.title or not all(
        row.verdict is not None and row.verdict.met for row in table.rows
    ):
        sys.exit(1)


if __name__ == "__main__":
    main()
