"""The audit of a device: all that it sends, in worlds that differ in everything but the person.

Rows, their number, names and order of columns, the name of the file and its format differ; the home
is the same, so that keys are. `tacit join` runs whole, and a recorder (recorder.py) stands where
the network begins. Whatever differs between worlds before a release is a finding: bytes, sizes,
headers, order. Of a release only the size is compared: the rest is the mechanism's, and charged.

The budget of a person is watched from the same place: the epsilons of all reports that reach
coordinators, however the file is called, whatever becomes of the folder, are added up.
"""

import asyncio
import csv
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pyarrow import parquet

from tacit.audit.recorder import Recorder, Role, SentRequest, owner_of, parts
from tacit.audit.staging import HELPER, Check
from tacit.owner.ledger import LedgerError
from tacit.owner.policy import Policy
from tacit.service.device.home import Home
from tacit.service.device.join import Joining, join

_TYPED = "north"  # the name that a site or peer types
_MANY = 300  # rows
Table = Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class World:
    """A file as a person may have it: its name says the format; `label` and `owners` are typed."""

    file: str
    table: Table
    label: str | None = None
    owners: str = "who"
    delimiter: str = ","

    def write(self, folder: Path) -> Path:
        path = folder / self.file
        if path.suffix == ".parquet":
            parquet.write_table(
                pa.table({name: list(each) for name, each in self.table.items()}), path
            )
            return path
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter=self.delimiter)
            writer.writerow(self.table)
            writer.writerows(zip(*self.table.values(), strict=True))
        return path


@cache
def worlds() -> tuple[World, ...]:
    """Two owners each, as far as a gateway is concerned; all else differs."""
    rng = np.random.default_rng(5)
    names = ["zoë", "17.0"]
    many: Table = {
        "secret": ["HIV"] * _MANY,
        "outcome": rng.choice(["no", "yes"], _MANY).tolist(),
        "patient name": [names[i % 2] for i in range(_MANY)],
        "town": ["s"] * _MANY,
        "age": rng.uniform(0, 100, _MANY).tolist(),
    }
    few: Table = {
        "who": ["Ada <ada@x.org>", "B"],
        "age": [41, 3],
        "town": ["n", "n"],
        "ill": ["yes", "yes"],
    }
    odd: Table = {
        "town": ["", "elsewhere", "s", "n"],
        "ill": ["no", "no", "yes", "no"],
        "age": ["", "1e400", "-5", "nan"],
        "who": ["x", "y", "x", "y"],
    }
    return (
        World("a.csv", few),
        World("diagnosis HIV.parquet", many, "outcome", "patient name"),
        World("患者 żółć.csv", odd, delimiter=";"),
        World("a.parquet", {**few, "age": [99, 98], "ill": ["no", "no"]}),
    )


POLICY = Policy(
    epsilon_per_release=Fraction(1),
    epsilon_total=Fraction(1),
    delta_total=Fraction(1, 1000),
    helper=HELPER.hex(),
    releases=9,
    units=("owner", "record"),
    time_step=Fraction(1, 100),
    records=2 * _MANY,
    rows=2 * _MANY,
)


@contextmanager
def person(folder: Path) -> Iterator[Path]:
    """A person's home in a folder, and a state folder that is not the user's own."""
    with patch.dict(os.environ, {"XDG_STATE_HOME": str(folder / "state")}):
        yield folder / "home"


def take_part(
    joining: Joining, recorder: Recorder, tokens: int = 2, pinned: bytes | None = None
) -> list[SentRequest]:
    """Join as `tacit join` does, to the end; all that was sent."""

    async def run() -> None:
        link = recorder.link()
        try:
            await join(joining, link, [f"token {i}" for i in range(tokens)], pinned)
        finally:
            await link.close()

    asyncio.run(run())
    return recorder.sent


def audit_device(
    kind: type[Joining] = Joining, takes: Sequence[Role] | None = None
) -> Iterator[Check]:
    """What a device sends, part by part, and what a person's budget comes to."""
    for part in parts() if takes is None else takes:
        yield _compare(part, kind)
    if takes is None:
        yield audit_budget(kind)


def _compare(part: Role, kind: type[Joining]) -> Check:
    """One part, taken in every world."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    seen: list[list[tuple[object, ...]]] = []
    with TemporaryDirectory() as name:
        root = Path(name)
        with person(root / "made") as home:
            Home.at(home).ledger.close()
        for number, world in enumerate(worlds()):
            folder = root / f"world {number}"
            shutil.copytree(root / "made", folder)
            with person(folder) as home:
                file = world.write(folder)
                owners = world.owners if part.gateway else None
                typed = _TYPED if part.terms.has_names else None
                joining = kind(file, world.label, POLICY, home, owners, name=typed)
                seen.append(_visible(take_part(joining, Recorder(part.terms, key, part.questions))))
    said = f"{len(seen[0])} requests in each of {len(seen)} worlds"
    for one, other in pairwise(seen):
        if one != other:
            return Check(f"what {part.name} sends", False, f"{said}: {_difference(one, other)}")
    released = sum(path in ("/v1/report", "/v1/spoken") for _, path, *_ in seen[0])
    if not released:
        return Check(f"what {part.name} sends", False, f"{said}: nothing was released")
    return Check(f"what {part.name} sends", True, f"{said}, {released} releases: nothing differs")


def _visible(sent: Sequence[SentRequest]) -> list[tuple[object, ...]]:
    """What may not differ; owners of a gateway by the order in which they come, since their keys
    are made of what names them.
    """
    order: dict[bytes, bytes] = {}
    for each in sent:
        order.setdefault(owner_of(each), b"owner %d" % len(order))
    several = len(order) > 2  # nobody, and more than one
    return [
        replace(
            each,
            headers=tuple(
                (name, order.get(value, value) if several else value)
                for name, value in each.headers
            ),
        ).visible()
        for each in sent
    ]


def _difference(one: Sequence[tuple[object, ...]], other: Sequence[tuple[object, ...]]) -> str:
    for before, after in zip(one, other, strict=False):
        if before != after:
            first = next((a, b) for a, b in zip(before, after, strict=True) if a != b)
            return f"{before[1]} {first[0]!r} against {first[1]!r}"
    return f"{len(one)} requests against {len(other)}"


def audit_budget(kind: type[Joining] = Joining) -> Check:
    """One person, asked again and again: after the file was renamed, written in another format,
    by a second campaign, with a home that was put back, with a ledger that was lost.
    """
    part, heard = parts()[0], dict[str, Fraction]()
    rows = worlds()[0]
    with TemporaryDirectory() as name:
        folder = Path(name)
        with person(folder) as home:
            Home.at(home).ledger.close()
            shutil.copytree(home, folder / "before")
            ways = {
                "first": rows,
                "renamed": replace(rows, file="export 2.csv"),
                "another format": replace(rows, file="export.parquet"),
                "a second campaign": rows,
                "a home put back": rows,
                "a lost ledger": rows,
            }
            for number, (way, world) in enumerate(ways.items(), 1):
                if way == "a home put back":
                    shutil.rmtree(home)
                    shutil.copytree(folder / "before", home)
                if way == "a lost ledger":
                    for lost in home.rglob("ledger.db*"):
                        lost.unlink()
                joining = kind(world.write(folder), world.label, POLICY, home)
                heard[way] = _audible_epsilon(
                    joining, part, number, another=way == "a second campaign"
                )
    total = sum(heard.values(), Fraction(0))
    ways_told = ", ".join(f"{way} {epsilon}" for way, epsilon in heard.items())
    fits = 0 < total <= POLICY.epsilon_total
    return Check(
        "budget of a person", fits, f"epsilon {total} of {POLICY.epsilon_total}: {ways_told}"
    )


def _audible_epsilon(joining: Joining, part: Role, number: int, *, another: bool) -> Fraction:
    """The epsilon of what reaches a coordinator that puts a question nobody has put before."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([7 if another else 8]) * 32)
    query = replace(part.questions[0], attempt=number)
    recorder = Recorder(part.terms, key, [query])
    pinned = key.public_key().public_bytes_raw()
    with suppress(LedgerError, ValueError):
        take_part(joining, recorder, pinned=pinned)
    levels = [sent.body[7] for sent in recorder.sent if sent.is_release]
    return sum((Fraction(str(query.epsilons[level])) for level in levels), Fraction(0))
