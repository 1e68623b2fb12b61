"""Strangers at the door of a coordinator of two campaigns on PostgreSQL, over TLS: how many of each
kind were refused, and whether anything changed.

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

from benchmarks.doorstep import Begun, Doorstep
from benchmarks.service.postgres import postgres
from benchmarks.tables import Row, Table, Verdict
from tacit.service.coordinator.records import Records
from tacit.service.coordinator.tables import PAUSED, VOID, Standing
from tacit.service.device.client import Link, UnreachableError
from tacit.service.protocol.handshake import LIFETIME, OWNER

# words of a stack trace
_INSIDE = (b"Traceback", b'File "', b".py", b"sqlalchemy", b"starlette", b"uvicorn")
_LARGE = bytes(2 << 20)
_SILENCE = 0.3  # seconds without another word, after which an answer is whole


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
    """A report as the invited owner signed it for the campaign next door, sent here."""
    body = door.neighbour.report()
    headers = door.neighbour.headers("POST", "/v1/report", door.invited, body)
    return await door.raw("POST", "/v1/report", headers, body)


async def report_abroad(door: Doorstep) -> httpx.Response | None:
    """A report to the question next door, which the invited owner signed for here."""
    return await door.send("POST", "/v1/report", door.invited, door.neighbour.report())


async def leave_abroad(door: Doorstep) -> httpx.Response | None:
    """The invited owner leaves here, sent next door."""
    headers = door.headers("POST", "/v1/leave", door.invited, b"leave")
    return await door.neighbour.raw("POST", "/v1/leave", headers, b"leave")


async def tamper(door: Doorstep) -> httpx.Response | None:
    """The invited owner's signature over other bytes."""
    headers = door.headers("POST", "/v1/report", door.invited, door.report())
    return await door.raw("POST", "/v1/report", headers, door.report())


async def reuse_token(door: Doorstep) -> httpx.Response | None:
    """A token that somebody else has used."""
    return await door.send("POST", "/v1/enrol", Ed25519PrivateKey.generate(), door.token_of_revoked)


async def token_of_neighbour(door: Doorstep) -> httpx.Response | None:
    """A token that is good next door."""
    return await door.send("POST", "/v1/enrol", Ed25519PrivateKey.generate(), door.free)


async def withdrawn_token(door: Doorstep) -> httpx.Response | None:
    """A token that was taken back."""
    return await door.send("POST", "/v1/enrol", Ed25519PrivateKey.generate(), door.withdrawn)


async def expired_token(door: Doorstep) -> httpx.Response | None:
    """A token whose time is over."""
    return await door.send("POST", "/v1/enrol", Ed25519PrivateKey.generate(), door.expired)


async def read_closed_figures(door: Doorstep) -> httpx.Response | None:
    """Figures that are for members, by one who was left out."""
    return await door.neighbour.send("GET", "/v1/status", door.revoked)


async def read_closed_model(door: Doorstep) -> httpx.Response | None:
    """A model that is for administrators, by a member."""
    return await door.neighbour.send("GET", "/v1/model", door.invited)


async def steer_as(door: Doorstep, key: str, path: str, body: str) -> httpx.Response | None:
    return await door.raw("POST", path, {"x-tacit-admin": key}, body.encode())


async def steer_by_looking(door: Doorstep) -> httpx.Response | None:
    """An administrator who may look, and pauses."""
    return await steer_as(door, door.looks, "/v1/admin/state", PAUSED)


async def admit_by_looking(door: Doorstep) -> httpx.Response | None:
    """An administrator who may look, and makes itself a token."""
    return await steer_as(door, door.looks, "/v1/admin/tokens", "a-token-for-a-stranger")


async def look_by_admitting(door: Doorstep) -> httpx.Response | None:
    """An administrator who may admit, and reads who takes part."""
    return await door.raw("GET", "/v1/admin/owners", {"x-tacit-admin": door.admits}, b"")


async def steer_from_next_door(door: Doorstep) -> httpx.Response | None:
    """The administrator of the campaign next door."""
    return await steer_as(door, door.neighbour.admin, "/v1/admin/state", PAUSED)


async def spell_otherwise(door: Doorstep) -> httpx.Response | None:
    """The right key at an address that is spelled otherwise: rules of proxies would not know it."""
    return await steer_as(door, door.admin, "/v1/adm%69n/state", PAUSED)


async def climb_across(door: Doorstep) -> httpx.Response | None:
    """By the address of one campaign into the other."""
    path = "/v1/../../next-door/v1/admin/state"
    return await _speak(
        door,
        f"POST {httpx.URL(door.url).path}{path} HTTP/1.1\r\nhost: x\r\n"
        f"x-tacit-admin: {door.neighbour.admin}\r\ncontent-length: 6\r\n\r\npaused".encode(),
    )


async def two_lengths(door: Doorstep) -> httpx.Response | None:
    """A body of two lengths: one for a proxy, one for us."""
    return await _speak(door, _steering(door, "content-length: 6\r\ncontent-length: 2"))


async def length_and_pieces(door: Doorstep) -> httpx.Response | None:
    """A body that has a length, and comes in pieces."""
    return await _speak(door, _steering(door, "content-length: 6\r\ntransfer-encoding: chunked"))


async def odd_pieces(door: Doorstep) -> httpx.Response | None:
    """A body in pieces of a size that is none."""
    return await _speak(
        door, _steering(door, "transfer-encoding: chunked", "-6\r\npaused\r\n0\r\n\r\n")
    )


async def two_keys(door: Doorstep) -> httpx.Response | None:
    """A wrong admin key, and behind it the right one."""
    two = f"content-length: 6\r\nx-tacit-admin: guessed\r\nx-tacit-admin: {door.admin}"
    return await _speak(door, _steering(door, two, key="guessed"))


async def pipeline(door: Doorstep) -> httpx.Response | None:
    """A second request behind a first one that is refused."""
    first = _steering(door, "content-length: 6", key="guessed")
    return await _speak(door, first + _steering(door, "content-length: 6", key="guessed as well"))


async def old_http(door: Doorstep) -> httpx.Response | None:
    """HTTP/1.0, without a host."""
    asked = _steering(door, "content-length: 6", key="guessed").replace(b"HTTP/1.1", b"HTTP/1.0")
    return await _speak(door, asked)


async def key_after_the_body(door: Doorstep) -> httpx.Response | None:
    """The right admin key, where no proxy looks for it: behind the pieces of a body."""
    behind = f"6\r\n{PAUSED}\r\n0\r\nx-tacit-admin: {door.admin}\r\n\r\n"
    return await _speak(door, _steering(door, "transfer-encoding: chunked", behind, key="guessed"))


async def address_with_a_mark(door: Doorstep) -> httpx.Response | None:
    """The right key at an address with something behind it that most cut off."""
    return await _speak(door, _steering(door, "content-length: 6").replace(b" HTTP", b"# HTTP", 1))


async def whole_address(door: Doorstep) -> httpx.Response | None:
    """The right key at a whole address, of another host."""
    asked = _steering(door, "content-length: 6")
    return await _speak(door, asked.replace(b"POST ", b"POST http://elsewhere", 1))


async def another_protocol(door: Doorstep) -> httpx.Response | None:
    """The right key, and a body beside the wish for another protocol."""
    wish = "connection: upgrade\r\nupgrade: h2c\r\ncontent-length: 6"
    return await _speak(door, _steering(door, wish))


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
    return await _speak(door, os.urandom(200) + b"\r\n\r\n")


async def _speak(door: Doorstep, said: bytes) -> httpx.Response | None:
    """Any bytes, over TLS; the first line and the last body of what comes back."""
    address = httpx.URL(door.url)
    reader, writer = await asyncio.open_connection(address.host, address.port, ssl=door.trust)
    writer.write(said)
    answer = b""
    with suppress(TimeoutError, ConnectionError, ssl.SSLError):
        async with asyncio.timeout(_SILENCE):
            while piece := await reader.read(1 << 16):
                answer += piece
    writer.close()
    with suppress(ConnectionError, ssl.SSLError):
        await writer.wait_closed()
    return httpx.Response(int(answer.split(b" ", 2)[1]), content=answer) if answer else None


def _steering(door: Doorstep, headers: str, body: str = PAUSED, key: str | None = None) -> bytes:
    """The bytes of a request to pause, with the right key unless another is given."""
    head = f"POST {httpx.URL(door.url).path}/v1/admin/state HTTP/1.1\r\nhost: x\r\n"
    return f"{head}x-tacit-admin: {key or door.admin}\r\n{headers}\r\n\r\n{body}".encode()


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
    "signed for the campaign next door": (replay_abroad, (401,)),
    "a report to the question next door": (report_abroad, (400,)),
    "leaves here, sent next door": (leave_abroad, (401,)),
    "signature over other bytes": (tamper, (401,)),
    "another's token": (reuse_token, (403,)),
    "a token of the campaign next door": (token_of_neighbour, (403,)),
    "a token that was withdrawn": (withdrawn_token, (403,)),
    "a token that has expired": (expired_token, (403,)),
    "figures for members, revoked": (read_closed_figures, (403,)),
    "model for administrators, a member": (read_closed_model, (401,)),
    "oversized, announced": (send_large, (413, 0)),  # 0: it hung up while we were still sending
    "oversized, in pieces": (stream_large, (413, 0)),
    "garbage, well signed": (send_garbage, (400,)),
    "garbage all over": (send_noise, (404,)),
    "no HTTP at all": (send_no_http, (400, 0)),
    "a body of two lengths": (two_lengths, (400, 0)),
    "a body of a length, in pieces": (length_and_pieces, (400, 0)),
    "a body in odd pieces": (odd_pieces, (400, 0)),
    "the right key behind the body": (key_after_the_body, (401,)),
    "an address with a mark behind it": (address_with_a_mark, (400, 0)),
    "a whole address": (whole_address, (400, 0)),
    "another protocol, with a body": (another_protocol, (400, 0)),
    "an address spelled otherwise": (spell_otherwise, (404,)),
    "from one campaign into the other": (climb_across, (404,)),
    "a guessed admin key": (guess_admin_key, (401,)),
    "a guessed key before the right one": (two_keys, (401, 400)),
    "guesses behind each other": (pipeline, (401,)),
    "guesses in HTTP/1.0": (old_http, (401,)),
    "may look, steers": (steer_by_looking, (403,)),
    "may look, admits": (admit_by_looking, (403,)),
    "may admit, looks": (look_by_admitting, (403,)),
    "the administrator next door": (steer_from_next_door, (401,)),
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


def _standing(door: Doorstep) -> list[tuple[Standing, dict[str, int], int]]:
    """Where both campaigns are, but for their time, which goes on; owners, and tokens."""
    return [
        (
            replace(each.store.standing(), worked=0.0),
            each.store.owner_counts(),
            len(Records(each.store).tokens()),
        )
        for each in door.both
    ]


async def strangers(
    door: Doorstep, times: int, say: Callable[[str], None] = lambda _: None
) -> Table:
    """Every kind in turn; then whether the question and the count of reports are as they were."""
    before, standing = await door.question(), _standing(door)
    rows = list[Strangers]()
    for name, (attempt, expected) in KINDS.items():
        began = time.monotonic()
        rows.append(await visit(door, attempt, expected, name, times))
        say(f"{name}: {rows[-1].refused} of {times} refused, {time.monotonic() - began:.1f} s")
    unchanged = await door.question() == before and _standing(door) == standing
    clean = [each.store.reports_of(1) for each in door.both] == [[], []]
    honest = [await _count_once(door, each) for each in door.both] == [True, True]
    once = [len(each.store.reports_of(1)) for each in door.both] == [1, 1]
    await steer_as(door, door.admin, "/v1/admin/state", PAUSED)
    door.store.close_question(1, VOID)
    rows.append(await visit(door, report_late, (410,), "expired: after the question's end", times))
    note = (
        f"both questions, states, owners, tokens unchanged: {_yes(unchanged)}; reports of "
        f"strangers that counted: {'0' if clean else 'SOME'}; "
        f"the honest owner afterwards, in both: counted once, its replay told so: "
        f"{_yes(honest and once)}"
    )
    title = (
        "Strangers at two campaigns, over TLS on loopback"
        if unchanged and clean and honest and once
        else "Strangers: BROKEN"
    )
    return Table("strangers", title, ("who", "sent", "refused", "statuses", "traces"), rows, note)


async def _count_once(door: Doorstep, campaign: Begun) -> bool:
    """Whether the invited owner's report counts in a campaign, and the same again does not."""
    body = campaign.report()
    both = [await campaign.send("POST", "/v1/report", door.invited, body) for _ in range(2)]
    said = [answer is not None and answer.json()["outcome"] for answer in both]
    return said == ["counted", "repeated"]


def _yes(true: bool) -> str:
    return "yes" if true else "NO"


def measure(
    folder: Path, database: str, times: int, say: Callable[[str], None] = lambda _: None
) -> Table:
    """Set a coordinator up and let strangers come; each kind is said when it has been."""

    async def main() -> Table:
        async with Doorstep.open(folder, database) as door:
            return await strangers(door, times, say)

    return asyncio.run(main())


def main() -> None:
    """Print the table; exit status 1 when anybody got in."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.strangers", description=__doc__)
    parser.add_argument("--times", type=int, default=50, help="attempts of each kind")
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder, postgres("fsync=off") as server:
        table = measure(Path(folder), server.fresh(), times, lambda said: print(said, flush=True))
    table.show(Console(width=110, highlight=False))
    if "BROKEN" in table.title or not all(
        row.verdict is not None and row.verdict.met for row in table.rows
    ):
        sys.exit(1)


if __name__ == "__main__":
    main()
