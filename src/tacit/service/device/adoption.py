"""Moving a folder of before there were homes, or a home that was moved on purpose, into a home.

Every release of the old ledger is checked and appended to the home's, in order, with what was
spent: under the home's names for owners, since the old ones were names of files or values of rows.
Two releases to one question under two old names are both kept. Doing it twice changes nothing. Keys
that the folder is enrolled with stay good in its campaign; what a peer took in comes along.
"""

import shutil
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np

from tacit._util.durable import read_or_create
from tacit.data.table import conform_owners
from tacit.owner.ledger import Book, Ledger
from tacit.owner.rollback_guard import Entry
from tacit.service.device.home import Home, Identity, guard_of, guards_of

_DONE = "adopted."  # what the names of files begin with that were moved


def adopt_folder(old: Path, home: Home, column: str | None) -> int:
    """Move the releases, keys and files of an old folder; `column` says that a gateway used it.

    How many releases there were.
    """
    home.settle(column)
    done = "" if (old / "ledger.db").exists() else _DONE
    file, mark = old / f"{done}ledger.db", old / f"{done}ledger.mark"
    ledger = Ledger(file, mark) if mark.exists() else Ledger.adopted(file, mark)
    entries = ledger.entries()
    ledger.close()
    with home.ledger.transaction() as book:
        for entry in entries:
            value = None if column is None else owner_called(entry.owner)
            _append(book, replace(entry, owner=home.owner(value)))
    if (old / "campaign.key").exists() and (old / "identity").exists():
        campaign = (old / "campaign.key").read_bytes()
        name = entries[-1].owner if entries and column is None else ""
        secret = Identity.at(old).secret
        read_or_create(home.moved_identity(campaign), lambda: secret + name.encode())
        home.pin(campaign, "")
        _copy_peer(old, home.peers(campaign))
    for file in old.glob("ledger.*"):  # so that nobody goes on with it
        file.rename(file.with_name(f"{_DONE}{file.name}"))
    return len(entries)


def adopt_home(folder: Path) -> int:
    """Take the ledger of a home that was moved here for the latest; how many releases it has."""
    identity = Identity.at(folder)
    ledger = Ledger.adopted(folder / "ledger.db", guard_of(identity), guards_of(folder))
    return len(ledger.entries())


def owner_called(value: str) -> str:
    """The name under which `conform_owners` knows a value."""
    (name,), _ = conform_owners(np.array([value or None], dtype=object))
    return name


def _append(book: Book, entry: Entry) -> None:
    """Add a release, unless it is there; beside another to the same question, under a digest of
    its own.
    """
    before = book.find(entry.owner, entry.digest)
    if before is not None and before != entry:
        other = blake2b(entry.digest + entry.report, digest_size=len(entry.digest)).digest()
        entry = replace(entry, digest=other)
        before = book.find(entry.owner, other)
    if before is None:
        book.add(entry)


def _copy_peer(old: Path, folder: Path) -> None:
    """What a peer took in, and models of its own."""
    if (old / "relayed").is_dir():
        shutil.copytree(old / "relayed", folder / "relayed", dirs_exist_ok=True)
    for model in old.glob("own-model*.tacit"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        shutil.copy2(model, folder / model.name)
