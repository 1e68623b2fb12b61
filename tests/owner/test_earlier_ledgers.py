"""Ledgers of earlier versions are brought here: nothing is lost, also by a kill, and old copies are
noticed.
"""

import sqlite3
from fractions import Fraction
from hashlib import blake2b
from itertools import accumulate

import msgpack
import pytest

from tacit.owner import ledger_tables
from tacit.owner.ledger import Ledger, LedgerError
from tacit.owner.ledger_entries import Entry

EMPTY, IDENTITY = bytes(32), bytes(range(16))
TABLE = (
    "CREATE TABLE releases (place INTEGER PRIMARY KEY, owner TEXT NOT NULL, digest BLOB NOT NULL,"
    " campaign TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL, epsilon TEXT NOT NULL,"
    " unit TEXT NOT NULL, what TEXT NOT NULL, how TEXT NOT NULL, report BLOB NOT NULL{more},"
    " head BLOB NOT NULL, UNIQUE (owner, digest))"
)
MORE = {1: (), 2: ("1/50", "1/1000000")}


def line(number, version):
    fields = ("me", bytes([number]) * 32, "study", number, 7, "1/4", "owner", "stump", "privunit")
    return (*fields, b"report %d" % number, *MORE[version])


def link(head, fields):
    packed = msgpack.packb([1, ["entry", *fields]], use_bin_type=True)
    return blake2b(head + packed, digest_size=32).digest()


def earlier(folder, version, count=3, pending=1, behind=0):
    """A ledger of so many releases and its mark, which has the last transaction's; the ledger is
    `behind` by some of them.
    """
    lines = [line(number, version) for number in range(1, count + 1)]
    heads = list(accumulate(lines, link, initial=EMPTY))
    connection = sqlite3.connect(folder / "l.db")
    more = "" if version == 1 else ", rho TEXT NOT NULL, delta TEXT NOT NULL"
    connection.execute(TABLE.format(more=more))
    connection.execute("CREATE TABLE ledger (version INTEGER NOT NULL, identity BLOB NOT NULL)")
    connection.execute("INSERT INTO ledger VALUES (?, ?)", (version, IDENTITY))
    for place in range(count - behind):
        row = (place + 1, *lines[place], heads[place + 1])
        places = ",".join("?" * len(row))
        connection.execute(f"INSERT INTO releases VALUES ({places})", row)  # noqa: S608
    connection.commit()
    connection.close()
    first = count - pending
    entries = [["entry", *fields] for fields in lines[first:]]
    mark = ["mark", IDENTITY, first, heads[first], entries]
    (folder / "l.mark").write_bytes(msgpack.packb([1, mark], use_bin_type=True))


def opened(folder):
    return Ledger(folder / "l.db", folder / "l.mark")


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("behind", [0, 1])
def test_every_release_stays(tmp_path, version, behind):
    """Also the last, where only the mark has it: a kill before there was this version."""
    earlier(tmp_path, version, behind=behind)
    for _ in range(2):  # brought here once, and opened
        entries = opened(tmp_path).entries()
        assert [each.report for each in entries] == [b"report 1", b"report 2", b"report 3"]
        assert {each.cost for each in entries} == {Fraction(1, 4)}
        assert {(each.rho, each.delta) for each in entries} == {MORE[version] or ("0", "0")}
    with opened(tmp_path).transaction() as book:
        assert book.spending_of("me") == (Fraction(3, 4), 3, 0)
        assert book.find("me", bytes([2]) * 32, "a key of now").number == 2


@pytest.mark.parametrize("version", [1, 2])
def test_an_old_copy_is_noticed(tmp_path, version):
    earlier(tmp_path, version, behind=2)
    with pytest.raises(LedgerError, match="put the latest back"):
        opened(tmp_path)


def test_an_old_copy_is_noticed_after_the_latest_was_brought_here(tmp_path):
    earlier(tmp_path, 1)
    copy = (tmp_path / "l.db").read_bytes()
    ledger = opened(tmp_path)
    for number in (4, 5):  # the last transaction alone would be put back from the mark
        with ledger.transaction() as book:
            book.add(Entry(*line(number, 1)))
    ledger.close()
    for file in tmp_path.glob("l.db*"):
        file.unlink()
    (tmp_path / "l.db").write_bytes(copy)
    with pytest.raises(LedgerError, match=r"it has 3 releases, its mark .* knows of 5"):
        opened(tmp_path)


def test_a_changed_line_is_noticed(tmp_path):
    earlier(tmp_path, 1)
    connection = sqlite3.connect(tmp_path / "l.db")
    connection.execute("UPDATE releases SET epsilon = '1/1000' WHERE place = 2")
    connection.commit()
    connection.close()
    for _ in range(2):  # and stays as it is
        with pytest.raises(LedgerError, match="entry 2 was changed"):
            opened(tmp_path)


def test_a_kill_between_mark_and_ledger_loses_nothing(tmp_path, monkeypatch):
    earlier(tmp_path, 1)
    translate = ledger_tables._translate

    def killed(path, heads):
        translate(path, heads)
        raise KeyboardInterrupt

    monkeypatch.setattr(ledger_tables, "_translate", killed)
    with pytest.raises(KeyboardInterrupt):
        opened(tmp_path)
    monkeypatch.undo()
    assert len(opened(tmp_path).entries()) == 3


def test_a_damaged_mark_is_no_mark_of_before(tmp_path):
    earlier(tmp_path, 1)
    (tmp_path / "l.mark").write_bytes(b"\x93\x01\x02\x03")
    with pytest.raises(LedgerError, match="damaged"):
        opened(tmp_path)


def test_a_moved_ledger_of_before_is_adopted(tmp_path):
    earlier(tmp_path, 1)
    (tmp_path / "l.mark").unlink()
    assert len(Ledger.adopt(tmp_path / "l.db", tmp_path / "l.mark").entries()) == 3
