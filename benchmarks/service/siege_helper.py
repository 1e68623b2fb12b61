"""A helper under siege: how long campaigns wait for it while strangers, and other campaigns that it
serves, do their worst, beside how long they wait in quiet; in the end whether every sum is there.

python -m benchmarks.service.siege_helper

As `benchmarks.service.siege`: TLS on loopback, the helper as `tacit helper` runs it. Honest
campaigns send their block again and again, which adds nothing after the first time. They are few:
in five seconds of a kind the slowest hundredth of their requests are four, one of each, and a
moment in which the machine does something else is all of them; ten seconds and more tell something.
"""

import argparse
import asyncio
import multiprocessing
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from rich.console import Console

from benchmarks.loopback import Authority
from benchmarks.service.hostile import KINDS, Asked, Target, connect
from benchmarks.service.siege import Caller, under_siege
from benchmarks.tables import Table
from tacit import seeded
from tacit.service.helper import FEW, Helper, Sheets
from tacit.service.protocol.handshake import BOND
from tacit.service.protocol.serving import Address, serve_forever
from tacit.sums.halves import COORDINATOR, Batch, SumTerms, TallyLaw, seal_reports
from tacit.sums.protocol import Block, Checked, CoordinatorSide, HelperSum, SumRequest
from tacit.wire import decode, encode

_HONEST, _HOSTILE = 4, 1  # campaigns
_KINDS = tuple(kind for kind in KINDS if kind != "several members")  # which are one here
_OWNERS = 12  # of each
_OK = 200
_BLOCK, _SUM = "/v1/block", "/v1/sum"


class Campaign(Caller):
    """One at the helper, with a batch of its own."""

    def __init__(self, target: Target, made: "Made") -> None:
        super().__init__(target)
        self._made = made

    async def go_on(self, turn: int) -> bool:
        """Send the block."""
        return (await self.send(self._made.block))[0] == _OK

    async def is_counted(self) -> bool:
        """Whether the sum is of all owners, once."""
        checked = await self.send(self._made.block)
        self._made.side.take(decode(checked[1], Checked))
        status, said = await self.send(self._made.ask(self._made.side.request, _SUM))
        opened = self._made.side.open(decode(said, HelperSum), seeded(3)) if status == _OK else None
        return opened is not None and opened.n == _OWNERS


class Made:
    """A campaign's keys, its side of a batch, and the block that it sends."""

    def __init__(self, number: int, helper: X25519PrivateKey) -> None:
        self._key, mine = Ed25519PrivateKey.generate(), X25519PrivateKey.generate()
        self.name = self._key.public_key().public_bytes_raw()
        law = TallyLaw(1.0, 3)
        publics = (each.public_key().public_bytes_raw() for each in (mine, helper))
        self._secret, self._batch = mine, Batch(bytes([number]) * 32, 1, 1, SumTerms(law, *publics))
        measured = law.measure(np.random.default_rng(number).random((_OWNERS, 2)))
        sealed = [each.tobytes() for each in seal_reports(measured, self._batch, seeded(number))]
        self.side = CoordinatorSide(self._batch, mine)
        self.block = self.ask(self.side.block(sealed), _BLOCK)

    def ask(self, said: Block | SumRequest, path: str) -> Asked:
        """A request of this campaign."""
        bond = self._batch.bond(COORDINATOR, self._secret, self.name).hex()
        key = self._key.private_bytes_raw()
        return Asked(key, self.name, "POST", path, body=encode(said), more=((BOND, bond),))


def _serve(folder: Path, port: int, key: bytes, campaigns: list[str]) -> None:
    here = Address(
        host="127.0.0.1", port=port, certificate=folder / "mine.pem", key=folder / "mine.key"
    )

    def make() -> object:
        sheets = Sheets(folder / "released.db")
        return Helper(X25519PrivateKey.from_private_bytes(key), sheets, campaigns).app()

    serve_forever(make, here, 1, FEW)


def measure(
    folder: Path, strangers: int, seconds: float, kinds: Sequence[str]
) -> tuple[Table, int]:
    """How honest campaigns fared, and how many of their sums are not what they should be."""
    key = X25519PrivateKey.generate()
    campaigns = [Made(at, key) for at in range(_HONEST + _HOSTILE)]
    authority = Authority.create(folder, "mine")
    with Address(host="127.0.0.1", port=0).listen() as listening:
        port = int(listening.getsockname()[1])
    sources = tuple(f"127.0.1.{at}" for at in range(1, 21))
    hostile = tuple(each.block for each in campaigns[_HONEST:])
    target = Target(port, authority.certificate, sources, hostile, _BLOCK)
    names = [each.name.hex() for each in campaigns]
    given = folder, port, key.private_bytes_raw(), names
    served = multiprocessing.Process(target=_serve, args=given)
    served.start()

    async def main() -> tuple[Table, int]:
        for _ in range(200):
            try:
                _, writer = await connect(target, target.trust(), "127.0.0.1")
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.2)
        honest = [Campaign(target, each) for each in campaigns[:_HONEST]]
        table = await under_siege(target, strangers, seconds, honest, kinds)
        lost = sum([not await each.is_counted() for each in honest])
        return table, lost

    try:
        return asyncio.run(main())
    finally:
        served.terminate()
        served.join()


def main() -> None:
    """Print the table; exit status 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.siege_helper")
    parser.add_argument("--strangers", type=int, default=2000, help="hostile connections")
    parser.add_argument("--seconds", type=float, default=15.0, help="of each kind")
    parser.add_argument("--only", action="append", choices=_KINDS, help="kinds of strangers")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tacit-siege-") as folder:
        kinds = given.only or _KINDS
        table, lost = measure(Path(folder), given.strangers, given.seconds, kinds)
    console = Console(width=110, highlight=False)
    table.show(console)
    console.print(f"sums lost: {lost}")
    if lost or not all(row.verdict is None or row.verdict.met for row in table.rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
