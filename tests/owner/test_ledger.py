"""The ledger: exact, durable, one after the other, and not to be fooled by an old copy."""

import copy
import multiprocessing
import os
import pickle
import resource
import shutil
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest

from tacit.owner.ledger import Ledger, LedgerError
from tacit.owner.ledger_entries import Entry
from tacit.owner.ledger_marks import Mark, read_mark, write_mark
from tacit.owner.spending import time_of


def entry(number, owner="a", epsilon="1/10"):
    return Entry(
        owner,
        bytes([number]) * 32,
        "trial",
        number,
        1700000000,
        epsilon,
        "owner",
        "stump",
        "duchi",
        b"report",
    )


def opened(folder):
    return Ledger(folder / "l.db", folder / "l.mark")


def write(ledger, *numbers):
    for number in numbers:
        with ledger.transaction() as book:
            book.add(entry(number))


def write_twice(ledger, number):
    with ledger.transaction() as book:
        book.add(entry(number))
        book.add(entry(number))


def copied(folder, name):
    """A copy of the ledger as a careless backup makes it, the mark left alone."""
    for suffix in ("", "-wal", "-shm"):
        if (folder / f"l.db{suffix}").exists():
            shutil.copy(folder / f"l.db{suffix}", folder / f"{name}{suffix}")


def restored(folder, name):
    for suffix in ("", "-wal", "-shm"):
        (folder / f"l.db{suffix}").unlink(missing_ok=True)
        if (folder / f"{name}{suffix}").exists():
            shutil.copy(folder / f"{name}{suffix}", folder / f"l.db{suffix}")


def test_a_glance_keeps_nobody_from_writing_and_a_transaction_sees_what_others_wrote(tmp_path):
    ours, theirs = opened(tmp_path), opened(tmp_path)
    write(ours, 1)
    with ours.glance() as book:
        before = book.head
        write(theirs, 2)
        assert book.find("a", bytes([2]) * 32) == entry(2)
    with ours.transaction() as book:
        assert book.head != before
        assert book.count == 2
        assert book.spending_of("a").releases == 2
        book.add(entry(3))
        assert book.spending_of("a").releases == 3
    with theirs.glance() as book:
        assert book.spending_of("a").releases == 3
    assert theirs.entries() == ours.entries() == [entry(1), entry(2), entry(3)]


def test_what_was_undone_is_not_remembered(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1)
    with pytest.raises(LedgerError, match="UNIQUE"):
        write_twice(ledger, 2)
    with ledger.glance() as book:
        assert (book.count, book.find("a", bytes([2]) * 32)) == (1, None)
    write(ledger, 2)
    assert ledger.entries() == [entry(1), entry(2)]


@pytest.mark.parametrize("epsilon", ["1/0", "-1", "1/2/3", "x", ""])
def test_what_is_no_number_costs_nothing(epsilon):
    with pytest.raises(ValueError, match="rational"):
        entry(1, epsilon=epsilon)


def test_what_is_written_is_there_and_adds_up(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1, 2, 3)
    with opened(tmp_path).transaction() as book:
        assert book.spending_of("a") == (Fraction(3, 10), 3, 0)
        assert book.spending_of("b") == (0, 0, 0)
        assert book.find("a", bytes([2]) * 32) == entry(2)
        assert book.find("b", bytes([2]) * 32) is None
    assert ledger.entries() == [entry(1), entry(2), entry(3)]


def test_a_failed_transaction_leaves_nothing(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1)
    with pytest.raises(LedgerError, match="UNIQUE"):
        write_twice(ledger, 2)
    assert len(ledger.entries()) == 1
    write(ledger, 3)
    assert [each.number for each in opened(tmp_path).entries()] == [1, 3]


def test_a_question_is_written_once(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1)
    with pytest.raises(LedgerError, match="UNIQUE"):
        write(ledger, 1)


def test_an_old_copy_is_refused(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1)
    copied(tmp_path, "old")
    write(ledger, 2, 3)
    ledger.close()
    restored(tmp_path, "old")
    with pytest.raises(
        LedgerError, match=r"not the latest: it has 1 releases, its mark .* knows of 3"
    ):
        opened(tmp_path)


def test_a_copy_that_is_one_transaction_old_is_put_right(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1)
    copied(tmp_path, "old")
    write(ledger, 2)
    ledger.close()
    restored(tmp_path, "old")
    assert [each.number for each in opened(tmp_path).entries()] == [1, 2]
    assert opened(tmp_path).entries()[1].report == b"report"


def test_a_deleted_or_exchanged_ledger_is_refused(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1, 2)
    ledger.close()
    for suffix in ("", "-wal", "-shm"):
        (tmp_path / f"l.db{suffix}").unlink(missing_ok=True)
    with pytest.raises(LedgerError, match=r"it has 0 releases, its mark .* knows of 2"):
        opened(tmp_path)


def deleted(folder, *names):
    for name in names:
        for suffix in ("", "-wal", "-shm"):
            (folder / f"{name}{suffix}").unlink(missing_ok=True)


@pytest.mark.parametrize("lost", [("l.db", "l.mark"), ("l.db",), ("l.mark",)])
@pytest.mark.parametrize("releases", [0, 2])
def test_a_ledger_that_was_begun_is_not_begun_anew(tmp_path, lost, releases):
    """With file and mark both gone nothing shows that anything was spent: one has to say so."""
    ledger = opened(tmp_path)
    write(ledger, *range(1, releases + 1))
    ledger.close()
    assert Ledger(tmp_path / "l.db", tmp_path / "l.mark", begun=True).entries() == ledger.entries()
    ledger.close()
    deleted(tmp_path, *lost)
    with pytest.raises(LedgerError, match="has lost"):
        Ledger(tmp_path / "l.db", tmp_path / "l.mark", begun=True)
    if len(lost) == 2:
        assert opened(tmp_path).entries() == []  # the bound of a ledger by itself


def test_a_second_mark_keeps_a_ledger_from_beginning_anew(tmp_path):
    (tmp_path / "token").mkdir()
    also = [tmp_path / "token" / "mark"]
    ledger = Ledger(tmp_path / "l.db", tmp_path / "l.mark", also)
    write(ledger, 1)
    ledger.close()
    deleted(tmp_path, "l.db", "l.mark")
    with pytest.raises(LedgerError, match="not the latest: it has 0 releases"):
        Ledger(tmp_path / "l.db", tmp_path / "l.mark", also)


def test_a_mark_that_is_a_link_is_kept_where_the_link_leads(tmp_path):
    """A mark on a share through a link became a file beside the ledger with the first release, and
    went back in time with it.
    """
    (tmp_path / "share").mkdir()
    (tmp_path / "l.mark").symlink_to(tmp_path / "share" / "mark")
    ledger = opened(tmp_path)
    write(ledger, 1)
    copied(tmp_path, "old")
    write(ledger, 2, 3)
    ledger.close()
    assert (tmp_path / "l.mark").is_symlink()
    kept = read_mark(tmp_path / "share" / "mark")
    assert kept is not None
    assert kept.mark.final[0] == 3
    restored(tmp_path, "old")
    with pytest.raises(LedgerError, match="not the latest"):
        opened(tmp_path)


def test_a_missing_mark_is_noticed_and_can_be_adopted_on_purpose(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1)
    (tmp_path / "l.mark").unlink()
    with pytest.raises(LedgerError, match="tacit ledger adopt"):
        write(ledger, 2)
    assert len(Ledger.adopt(tmp_path / "l.db", tmp_path / "l.mark").entries()) == 1
    write(opened(tmp_path), 2)
    with pytest.raises(LedgerError, match="cannot be adopted"):
        Ledger.adopt(tmp_path / "nothing.db")


def test_a_damaged_mark_is_noticed(tmp_path):
    write(opened(tmp_path), 1)
    (tmp_path / "l.mark").write_bytes(b"garbage")
    with pytest.raises(LedgerError, match="damaged"):
        opened(tmp_path)


def test_a_mark_of_the_past_is_noticed(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1)
    shutil.copy(tmp_path / "l.mark", tmp_path / "old.mark")
    write(ledger, 2, 3)
    shutil.copy(tmp_path / "old.mark", tmp_path / "l.mark")
    with pytest.raises(LedgerError, match="not the latest"):
        opened(tmp_path)


def test_a_kill_between_mark_and_commit_loses_nothing(tmp_path):
    """The mark is ahead by one transaction: the ledger takes the entries from it, bytes and all."""
    ledger = opened(tmp_path)
    write(ledger, 1)
    seen = read_mark(tmp_path / "l.mark")
    assert seen is not None
    mark = seen.mark
    count, head = mark.final
    write_mark(tmp_path / "l.mark", Mark(mark.ledger, count, head, (entry(2),)))
    assert [each.number for each in opened(tmp_path).entries()] == [1, 2]


def test_a_ledger_that_is_open_looks_at_its_mark_every_time(tmp_path):
    """A mark that is not decoded again is still compared byte by byte with what lies there."""
    ledger = opened(tmp_path)
    write(ledger, 1)
    before = (tmp_path / "l.mark").read_bytes()
    write(ledger, 2)
    after = (tmp_path / "l.mark").read_bytes()
    (tmp_path / "l.mark").write_bytes(before)
    with pytest.raises(LedgerError, match="not the latest"):
        write(ledger, 3)
    (tmp_path / "l.mark").unlink()
    with pytest.raises(LedgerError, match="is missing"):
        write(ledger, 3)
    (tmp_path / "l.mark").write_bytes(after[:-1])
    with pytest.raises(LedgerError, match="damaged"):
        write(ledger, 3)
    (tmp_path / "l.mark").write_bytes(after)
    write(ledger, 3)
    assert [each.number for each in opened(tmp_path).entries()] == [1, 2, 3]


class Killed(BaseException):
    """A kill, as far as the files can tell."""


def test_kills_in_a_row_between_mark_and_commit_lose_nothing(tmp_path, monkeypatch):
    """What is put back from the mark is committed before the mark is written over."""
    ledgers = [opened(tmp_path) for _ in range(3)]
    write(ledgers[0], 1)

    def written_then_killed(path, mark):
        write_mark(path, mark)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("tacit.owner.ledger.write_mark", written_then_killed)
        for number, ledger in enumerate(ledgers, 2):
            with pytest.raises(Killed):
                write(ledger, number)
    assert [each.number for each in opened(tmp_path).entries()] == [1, 2, 3, 4]


def test_drafts_of_marks_do_not_pile_up(tmp_path):
    write(opened(tmp_path), 1)
    (tmp_path / "l.mark.draft").write_bytes(b"left behind by a kill")
    write(opened(tmp_path), 2)
    assert sorted(path.name for path in tmp_path.iterdir() if "mark" in path.name) == ["l.mark"]


def test_a_changed_line_is_noticed(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1, 2)
    ledger.close()
    connection = sqlite3.connect(tmp_path / "l.db")
    connection.execute("UPDATE releases SET epsilon = '1/1000' WHERE number = 1")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="entry 1 was changed"):
        opened(tmp_path)  # before a budget is read from it


def changed(folder, words):
    connection = sqlite3.connect(folder / "l.db")
    connection.execute(words)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("UPDATE releases SET epsilon = 'nothing' WHERE number = 2", "entry 2 was changed"),
        ("UPDATE releases SET owner = 'b' WHERE number = 1", "entry 1 was changed"),
        ("DELETE FROM releases WHERE number = 2", "entry 2 was changed"),
        ("DELETE FROM releases WHERE number > 2", "not the latest"),
    ],
)
def test_the_chain_is_checked_when_a_ledger_is_opened(tmp_path, words, why):
    ledger = opened(tmp_path)
    write(ledger, 1)
    with ledger.transaction() as book:
        for number in (2, 3, 4):
            book.add(entry(number))
    write(ledger, 5)
    ledger.close()
    changed(tmp_path, words)
    with pytest.raises(LedgerError, match=why):
        opened(tmp_path)


def guarded(folder, *also):
    return Ledger(folder / "l.db", folder / "l.mark", also)


def test_the_newest_of_several_marks_counts(tmp_path):
    token = tmp_path / "token" / "l.mark"
    with pytest.raises(LedgerError, match="not mounted"):
        guarded(tmp_path, token)
    token.parent.mkdir()
    ledger = guarded(tmp_path, token)
    write(ledger, 1)
    copied(tmp_path, "old")
    shutil.copy(tmp_path / "l.mark", tmp_path / "old.mark")
    write(ledger, 2, 3)
    ledger.close()
    restored(tmp_path, "old")
    shutil.copy(tmp_path / "old.mark", tmp_path / "l.mark")  # the whole folder was put back
    assert len(opened(tmp_path).entries()) == 1  # which nothing on it can notice
    with pytest.raises(LedgerError, match=r"it has 1 releases, its mark .* knows of 3"):
        guarded(tmp_path, token)


def test_a_mark_that_is_missing_is_written_where_another_vouches(tmp_path):
    write(opened(tmp_path), 1)
    (tmp_path / "token").mkdir()
    guarded(tmp_path, tmp_path / "token" / "m").close()
    (tmp_path / "l.mark").unlink()
    write(guarded(tmp_path, tmp_path / "token" / "m"), 2)
    assert (tmp_path / "l.mark").read_bytes() == (tmp_path / "token" / "m").read_bytes()


def test_a_mark_of_another_ledger_is_refused(tmp_path):
    write(opened(tmp_path), 1)
    (tmp_path / "other").mkdir()
    write(opened(tmp_path / "other"), 1, 2)
    with pytest.raises(LedgerError, match="not the latest"):
        guarded(tmp_path, tmp_path / "other" / "l.mark")


@pytest.mark.parametrize("at", [0, 1700000000, 253402300800, 2**62, -(2**62)])
def test_any_date_can_be_shown(at):
    assert time_of(replace(entry(1), at=at))


def test_ledgers_are_not_copied(tmp_path):
    ledger = opened(tmp_path)
    for copier in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="two budgets"):
            copier(ledger)


def test_files_are_the_owners_alone(tmp_path):
    write(opened(tmp_path), 1)
    for name in ("l.db", "l.mark"):
        assert (tmp_path / name).stat().st_mode & 0o077 == 0


def test_the_mark_is_kept_in_the_state_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ledger = Ledger(tmp_path / "l.db")
    write(ledger, 1)
    assert ledger.mark.parent == tmp_path / "state" / "tacit"
    assert ledger.mark.exists()


def spend(folder, first, budget, results):
    """Release as long as the budget lasts, competing with others."""
    ledger = opened(folder)
    done = 0
    for number in range(first, first + 20):
        with ledger.transaction() as book:
            if book.spending_of("a")[0] + Fraction(1, 10) <= budget:
                book.add(entry(number))
                done += 1
    results.put(done)


def test_processes_on_one_file_never_overspend(tmp_path):
    opened(tmp_path).close()
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [
        context.Process(target=spend, args=(tmp_path, 50 * n, Fraction(3), results), daemon=True)
        for n in range(3)
    ]
    for worker in workers:
        worker.start()
    done = [results.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    assert sum(done) == 30 == len(opened(tmp_path).entries())


def test_threads_take_turns(tmp_path):
    ledger = opened(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: write(ledger, number), range(40)))
    assert sorted(each.number for each in ledger.entries()) == list(range(40))


def test_a_fork_opens_its_own_connection(tmp_path):
    ledger = opened(tmp_path)
    write(ledger, 1)
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        try:
            write(ledger, 2)
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    write(ledger, 3)
    assert [each.number for each in ledger.entries()] == [1, 2, 3]


def fill(folder, room):
    """A disk with so much room: the system itself refuses to write more. Answers what is in the
    ledger after.
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    ledger = opened(folder)
    write(ledger, 1)
    size = max(path.stat().st_size for path in folder.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
    written = 1
    for number in range(2, 200):
        try:
            write(ledger, number)
        except LedgerError:
            break
        written += 1
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    after = opened(folder).entries()
    os._exit(0 if 1 < written < 199 and written <= len(after) <= written + 1 else 1)


@pytest.mark.parametrize("room", [20_000, 60_000])
def test_a_full_disk_releases_nothing_and_loses_nothing(tmp_path, room):
    context = multiprocessing.get_context("fork")
    worker = context.Process(target=fill, args=(tmp_path, room))
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0
    write(opened(tmp_path), 250)
