"""A coordinator under siege: how long honest owners wait while strangers do their worst, beside how
long they wait in quiet.

python -m benchmarks.service.siege

The coordinator is a process of its own, over TLS on loopback; honest owners ask for the question
and report, in turn, again and again on connections that they keep, and every so often on new ones,
from one address; strangers come from others (`--same`: from the same one). Each kind holds
`--strangers` connections, or as many as descriptors allow. What is measured is how long honest
owners wait, how many requests failed, and in the end whether every report is there, once. Before
and after each kind there is a quiet stretch, and what is compared with is the mean of the two, so
that whatever else the machine does is in both. Strangers, who would not compute on the machine they
attack, do here: with `--apart` the coordinator has a processor to itself, and everybody else the
others.
"""

import argparse
import asyncio
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from rich.console import Console

from benchmarks.doorstep import report_to
from benchmarks.loopback import Authority
from benchmarks.service.hostile import KINDS, PATIENCE, Asked, Stream, Target, besiege, connect
from benchmarks.tables import Row, Table, Verdict
from tacit.learners.query import PURPOSE, Invitation
from tacit.service.coordinator.server import coordinator
from tacit.service.coordinator.store import Store
from tacit.service.protocol.door import ConnectionLimits
from tacit.service.protocol.serving import Address, serve_forever
from tacit.wire.envelopes import open_signed, public_bytes
from tacit_papers.evidence_benchmarks import BenchmarkFile

_CAMPAIGN = """
kind = "boosting"
name = "siege"
sample = "sample.csv"
label = "y"
epsilon = 2.0
rounds = 1
owners_per_round = 30
start = 30
minimum = 2
deadline = 86400
"""
_OWNERS = 10  # that report
_HOSTILE = 20  # members that say nothing, so that the question stays open: they attack
_RESERVE = 200  # descriptors for everything else
_PACE = 0.05  # seconds between requests of an honest owner
_NEW = 10  # every so many requests on a new connection
_MANY, _FULL = 2000, 6.0  # connections and seconds of each kind from which on figures count


def _stay_on(processors: set[int]) -> None:
    """Compute on these processors alone; none: wherever there is room."""
    if processors:
        os.sched_setaffinity(0, processors)


class Caller:
    """Somebody honest, on a connection that it keeps."""

    def __init__(self, target: Target) -> None:
        self._target, self._trust = target, target.trust()
        self._stream: Stream | None = None

    async def send(self, asked: Asked) -> tuple[int, bytes]:
        """One signed request; its status, and what came."""
        if self._stream is None:
            self._stream = await connect(self._target, self._trust, "127.0.0.1")
        reader, writer = self._stream
        writer.write(asked.signed())
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        return int(head.split()[1]), await reader.readexactly(int(length or 0))

    async def go_on(self, turn: int) -> bool:
        """What it does again and again; whether that went well."""
        raise NotImplementedError

    @property
    def is_connected(self) -> bool:
        return self._stream is not None

    def hang_up(self) -> None:
        if self._stream is not None:
            self._stream[1].close()
        self._stream = None


class Owner(Caller):
    """An owner at a coordinator."""

    def __init__(self, target: Target, campaign: bytes, key: Ed25519PrivateKey) -> None:
        super().__init__(target)
        self._campaign, self._key = campaign, key.private_bytes_raw()
        self.report = b""

    async def call(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """One signed request; its status, and what came."""
        return await self.send(Asked(self._key, self._campaign, method, path, body))

    async def ask_first(self) -> None:
        """Wait for the question, and make the report to it."""
        status, question = await self.call("GET", "/v1/question")
        while status != 200:
            await asyncio.sleep(_PACE)
            status, question = await self.call("GET", "/v1/question")
        key = Ed25519PublicKey.from_public_bytes(self._campaign)
        self.report = report_to(open_signed(question, Invitation, PURPOSE, key))

    async def go_on(self, turn: int) -> bool:
        """Report, or ask for the question, in turn; whether that went well."""
        if turn % 2:
            return (await self.call("GET", "/v1/question"))[0] == 204
        return (await self.call("POST", "/v1/report", self.report))[0] == 200


@dataclass(frozen=True)
class Waits:
    """How long honest owners' requests took: on connections that they had, and on new ones."""

    kept: list[float]
    new: list[float]
    failed: int


async def _wait_times(owners: Sequence[Caller], seconds: float) -> Waits:
    """How long each request of honest owners took in so many seconds, and how many failed."""
    until, failed = time.monotonic() + seconds, 0
    took: dict[bool, list[float]] = {True: [], False: []}

    async def one(owner: Caller) -> None:
        nonlocal failed
        asked = 0
        while time.monotonic() < until:
            began, is_kept = time.monotonic(), owner.is_connected
            try:
                failed += not await owner.go_on(asked)
            except (TimeoutError, OSError, EOFError):
                failed += 1
                owner.hang_up()
            took[is_kept].append(time.monotonic() - began)
            asked += 1
            if asked % _NEW == 0:
                owner.hang_up()
            await asyncio.sleep(_PACE)

    await asyncio.gather(*(one(owner) for owner in owners))
    return Waits(took[True], took[False], failed)


@dataclass(frozen=True)
class SiegeRow(Row):
    """How honest owners fared."""

    requests: int
    failed: int
    seconds: tuple[float, ...]  # all: median, 99 %; of kept connections 99 %; of new ones median
    ratios: tuple[float, float]  # to those in quiet, of the first two

    @property
    def cells(self) -> tuple[str, ...]:
        times = (f"{1000 * each:.1f}" for each in self.seconds)
        ratios = (f"{each:.2f}" for each in self.ratios)
        return (str(self.requests), str(self.failed), *times, *ratios)


def _quantiles(waits: Waits) -> tuple[float, ...]:
    took = waits.kept + waits.new
    parts = ((took, 0.5), (took, 0.99), (waits.kept, 0.99), (waits.new, 0.5))
    return tuple(float(np.quantile(each, at)) for each, at in parts)


def _row(name: str, first: Waits, second: Waits, quiet: SiegeRow | None) -> SiegeRow:
    """The mean of two stretches, beside the quiet ones."""
    both = zip(_quantiles(first), _quantiles(second), strict=True)
    seconds = tuple((one + other) / 2 for one, other in both)
    usual = seconds if quiet is None else quiet.seconds
    ratios = seconds[0] / usual[0], seconds[1] / usual[1]
    stretches = (first,) if first is second else (first, second)
    failed = sum(each.failed for each in stretches)
    requests = sum(len(each.kept + each.new) for each in stretches)
    verdict = Verdict("<= 2x, 0 failed", max(ratios) <= 2 and not failed) if quiet else None
    return SiegeRow(name, verdict, requests, failed, seconds=seconds, ratios=ratios)


def figures(table: Table, lost: int) -> list[dict[str, object]]:
    """What is written of each kind of strangers, beside the quiet stretches before and after it,
    in milliseconds; so many reports were lost in all.
    """
    told = []
    for quiet, row in pairwise(table.rows):
        if isinstance(quiet, SiegeRow) and isinstance(row, SiegeRow) and row.verdict is not None:
            median, late = (1000 * each for each in row.seconds[:2])
            usual, usually_late = (1000 * each for each in quiet.seconds[:2])
            told.append(
                {
                    "strangers": row.name,
                    "requests": row.requests,
                    "failed": row.failed,
                    "median_ms": median,
                    "in_quiet": usual,
                    "99_%_ms": late,
                    "99_%_in_quiet": usually_late,
                    "reports_lost": lost,
                    "goal": f"{row.verdict.goal}, 0 lost",
                    "met": "yes" if row.verdict.met and not lost else "no",
                }
            )
    return told


def _serve(folder: Path, port: int, key: bytes, processors: set[int]) -> None:
    """The coordinator, as `tacit serve` runs it."""
    _stay_on(processors)
    authority = Authority(folder / "mine.pem", folder / "mine.key")
    here = Address(
        host="127.0.0.1", port=port, certificate=authority.certificate, key=authority.key
    )

    def make() -> object:
        signing = Ed25519PrivateKey.from_private_bytes(key)
        url = f"sqlite:///{folder}/campaign.db"
        return coordinator(folder / "campaign.toml", url, signing, "x" * 20).app

    serve_forever(make, here, 1, ConnectionLimits())


async def under_siege(
    target: Target, strangers: int, seconds: float, owners: Sequence[Caller], kinds: Sequence[str]
) -> Table:
    console = Console(width=110, highlight=False)
    rows: list[Row] = []
    await _wait_times(owners, 2.0)  # everything has run once
    before = await _wait_times(owners, seconds)
    for name in kinds:
        attackers = multiprocessing.Process(target=besiege, args=(name, target, strangers))
        attackers.start()
        await asyncio.sleep(3.0)
        try:
            waits = await _wait_times(owners, seconds)
        finally:
            attackers.terminate()
            attackers.join()
        await asyncio.sleep(2.0)
        after = await _wait_times(owners, seconds)
        quiet = _row("quiet, before and after", before, after, None)
        for row in (quiet, _row(name, waits, waits, quiet)):
            rows.append(row)
            console.print(" ".join((row.name, *row.cells)))
        before = after
    heading = (
        "strangers",
        "requests",
        "failed",
        "median",
        "99 %",
        "kept 99 %",
        "new",
        "ratio",
        "of 99 %",
    )
    note = f"{strangers} hostile connections of each kind, {len(owners)} honest owners; ms"
    return Table("siege", "Honest owners under siege, TLS on loopback", heading, rows, note)


def measure(
    folder: Path,
    strangers: int,
    seconds: float,
    kinds: Sequence[str] = tuple(KINDS),
    *,
    same: bool,
    apart: bool,
) -> tuple[Table, int]:
    """Set everything up, and let strangers come; how honest owners fared, and how many of their
    reports were lost.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    strangers = min(strangers, limit - _RESERVE)
    rng = np.random.default_rng(1)
    lines = [f"{a},{b},{'yes' if a + b > 0 else 'no'}" for a, b in rng.normal(size=(60, 2))]
    (folder / "sample.csv").write_text("\n".join(["a,b,y", *lines]))
    (folder / "campaign.toml").write_text(_CAMPAIGN)
    authority = Authority.create(folder, "mine")
    key = Ed25519PrivateKey.generate()
    campaign = public_bytes(key.public_key())
    listening = Address(host="127.0.0.1", port=0).listen()
    port = int(listening.getsockname()[1])
    listening.close()
    sources = ("127.0.0.1",) if same else tuple(f"127.0.1.{at}" for at in range(1, 21))
    keys = [Ed25519PrivateKey.generate() for _ in range(_OWNERS + _HOSTILE)]
    hostile = tuple(
        Asked(each.private_bytes_raw(), campaign, "GET", "/v1/question") for each in keys[_OWNERS:]
    )
    target = Target(port, authority.certificate, sources, hostile, "/v1/report")
    owners = [Owner(target, campaign, each) for each in keys]
    mine, *others = sorted(os.sched_getaffinity(0)) if apart else (0,)
    given = folder, port, key.private_bytes_raw(), {mine} if apart else set[int]()
    served = multiprocessing.Process(target=_serve, args=given)
    served.start()
    _stay_on(set(others))

    async def main() -> tuple[Table, int]:
        tokens = [f"siege token {at:04d}".replace(" ", "-") for at in range(len(owners))]
        for _ in range(200):
            try:
                _, writer = await connect(target, target.trust(), "127.0.0.1")
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.2)
        store = Store(f"sqlite:///{folder}/campaign.db")
        store.add_tokens(tokens)
        for owner, token in zip(owners, tokens, strict=True):
            if (await owner.call("POST", "/v1/enrol", token.encode()))[0] != 200:
                raise RuntimeError("an owner could not be enrolled")
        honest, silent = owners[:_OWNERS], owners[_OWNERS:]
        for owner in silent:
            owner.hang_up()
        for owner in honest:
            await owner.ask_first()
        table = await under_siege(target, strangers, seconds, honest, kinds)
        kept = sorted(report for _, report in store.reports_of(1))
        store.close()
        lost = _OWNERS if kept != sorted(owner.report for owner in honest) else 0
        return replace(table, note=f"{table.note}; reports lost: {lost}"), lost

    try:
        return asyncio.run(main())
    finally:
        served.terminate()
        served.join()


def main() -> None:
    """Print the table, write its rows; exit status 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.siege", description=__doc__)
    parser.add_argument("--strangers", type=int, default=_MANY, help="hostile connections")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each kind")
    parser.add_argument("--only", action="append", choices=KINDS, help="kinds of strangers")
    parser.add_argument("--same", action="store_true", help="from the honest owners' address")
    parser.add_argument("--apart", action="store_true", help="the coordinator has a processor")
    parser.add_argument(
        "--out", type=Path, default=Path("out/siege.json"), help="where to write the rows"
    )
    given = parser.parse_args()
    is_quick = given.seconds < _FULL or given.strangers < _MANY or bool(given.only)
    file = BenchmarkFile.begin(given.out, "siege", quick=is_quick)
    with tempfile.TemporaryDirectory(prefix="tacit-siege-") as folder:
        chosen = {"same": given.same, "apart": given.apart}
        kinds = given.only or tuple(KINDS)
        table, lost = measure(Path(folder), given.strangers, given.seconds, kinds, **chosen)
    table.show(Console(width=110, highlight=False))
    file.write(figures(table, lost), note=table.note, same=given.same, apart=given.apart)
    met = all(row.verdict is None or row.verdict.met for row in table.rows)
    if not met or lost:
        sys.exit(1)


if __name__ == "__main__":
    main()
