"""A batch is released once, whatever is killed and whoever else is at it."""

import multiprocessing
import os
import shutil
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import pytest

from tacit import seeded
from tacit.service.helper import Helper, Sheets, mark_of
from tacit.sums.protocol import Block, Checked, CoordinatorSide, HelperSide, HelperSum
from tacit.sums.secure_sum import SumRefusedError
from tacit.wire import decode, encode
from tests.service.helper.made import speaker_of
from tests.sums.made import COORDINATOR_KEY, HELPER_KEY, batch, reports, terms

FORK = multiprocessing.get_context("fork")


def never():
    raise AssertionError("drawn a second time")


def answer(path, request, draw):
    sheets = Sheets(path)
    with sheets.transaction():
        return sheets.answer(b"batch", request, "ab" * 32, draw)


def killed_while_drawing(path):
    def draw():
        os.kill(os.getpid(), signal.SIGKILL)
        return b"never sent"

    answer(path, b"request", draw)


def killed_after_answering(path):
    answer(path, b"request", lambda: b"first")
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_same_request_gets_the_same_answer_and_another_none(tmp_path):
    path = tmp_path / "b.db"
    assert answer(path, b"request", lambda: b"first") == b"first"
    assert answer(path, b"request", never) == b"first"
    with pytest.raises(SumRefusedError, match="once"):
        answer(path, b"other owners", never)


def test_a_refusal_while_drawing_uses_nothing_up(tmp_path):
    def too_few():
        raise SumRefusedError("too few")

    path = tmp_path / "b.db"
    with pytest.raises(SumRefusedError, match="too few"):
        answer(path, b"few", too_few)
    assert answer(path, b"more", lambda: b"first") == b"first"


@pytest.mark.parametrize("work", [killed_while_drawing, killed_after_answering])
def test_a_kill_at_any_moment(tmp_path, work):
    path = tmp_path / "b.db"
    process = FORK.Process(target=work, args=(path,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    if work is killed_while_drawing:  # nothing was sent: the next draw is the first
        assert answer(path, b"request", lambda: b"next") == b"next"
    else:
        assert answer(path, b"request", never) == b"first"


def test_a_block_that_comes_many_times_at_once_counts_once(tmp_path):
    helpers = [Helper(HELPER_KEY, Sheets(tmp_path / "b.db"), []) for _ in range(3)]
    side = CoordinatorSide(batch(), COORDINATOR_KEY)
    body = encode(side.block(reports(terms())))
    speaker = speaker_of(body, "ab" * 32)
    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(lambda i: helpers[i % 3].check(body, speaker), range(9)))
    assert len(set(said)) == 1
    assert [counted for _, counted in Sheets(tmp_path / "b.db").sums_of(batch().digest)] == [12]


def released(path, request=b"request"):
    """One more release."""
    sheets = Sheets(path)
    with sheets.transaction():
        sheets.answer(request, request, "ab" * 32, lambda: request)
    sheets.keep_mark()
    sheets.close()


@pytest.mark.parametrize("lost", ["an old copy", "nothing is left"])
def test_a_helper_does_not_begin_anew_where_it_has_forgotten_what_it_released(tmp_path, lost):
    """The same key and no file, or an old one: each sum once more, with fresh noise to average."""
    path, old = tmp_path / "released.db", tmp_path / "old.db"
    released(path, b"first")
    shutil.copy(path, old)
    released(path, b"second")
    for file in tmp_path.glob("released.*"):
        file.unlink()
    if lost == "an old copy":
        shutil.copy(old, path)
    for _ in range(2):
        with pytest.raises(
            ValueError, match=r"is not the latest: it has \d releases of 2.*new key"
        ):
            Sheets(path)


def test_the_file_of_before_there_were_marks_is_taken_as_it_is(tmp_path):
    path = tmp_path / "released.db"
    released(path, b"first")
    mark_of(path).unlink()
    Sheets(path).close()
    assert mark_of(path).read_text() == "1"
    mark_of(path).write_text("not a number")
    with pytest.raises(ValueError, match="must hold a number of releases"):
        Sheets(path)


def test_a_kill_between_a_release_and_its_mark_loses_nothing(tmp_path):
    path = tmp_path / "released.db"
    assert answer(path, b"request", lambda: b"first") == b"first"  # and no mark is kept
    assert mark_of(path).read_text() == "0"
    assert answer(path, b"request", never) == b"first"
    assert mark_of(path).read_text() == "1"


def test_nothing_is_told_before_it_is_marked(tmp_path, monkeypatch):
    """Where the mark cannot be written, a release is not told; later it is the same."""
    path = tmp_path / "b.db"
    helper = Helper(HELPER_KEY, Sheets(path), [])
    side = CoordinatorSide(batch(), COORDINATOR_KEY)
    body = encode(side.block(reports(terms())))
    side.take(decode(helper.check(body, speaker_of(body, "ab" * 32)), Checked))
    asked = encode(side.request)

    def full(_path, _content):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tacit.service.helper.replace_file", full)
        with pytest.raises(OSError, match="no space"):
            helper.total(asked, speaker_of(asked, "ab" * 32))
    said = helper.total(asked, speaker_of(asked, "ab" * 32))
    assert mark_of(path).read_text() == "1"
    assert Helper(HELPER_KEY, Sheets(path), []).total(asked, speaker_of(asked, "ab" * 32)) == said


def killed_when(path, body, asked, moment):
    """A helper that dies at a moment of its work on a block and then on a sum."""

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    deadly = {
        "verified, not written down": "add_block",
        "written down, not committed": "_charge",
        "released, not marked": "keep_mark",
    }
    helper, speaker = Helper(HELPER_KEY, Sheets(path), []), speaker_of(body, "ab" * 32)
    with patch.object(Sheets, deadly.get(moment, "ping"), die):
        helper.check(body, speaker)
        if moment == "counted, not answered":
            die()
        helper.total(asked, speaker)
        die()  # released and marked, not answered


MOMENTS = {
    "verified, not written down": 0,
    "written down, not committed": 0,
    "counted, not answered": 0,
    "released, not marked": 1,
    "released and marked, not answered": 1,
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_helper_killed_at_any_moment_counts_once_and_releases_once(tmp_path, moment):
    path, sent = tmp_path / "b.db", reports(terms())
    side = CoordinatorSide(batch(), COORDINATOR_KEY)
    body = encode(side.block(sent))
    speaker = speaker_of(body, "ab" * 32)
    told = HelperSide(batch(), HELPER_KEY).check(decode(body, Block), set().intersection)[0]
    side.take(told)
    asked = encode(side.request)
    process = FORK.Process(target=killed_when, args=(path, body, asked, moment))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    with sqlite3.connect(path) as connection:
        released = connection.execute("SELECT answer FROM releases").fetchall()
    assert len(released) == MOMENTS[moment]
    again = Helper(HELPER_KEY, Sheets(path), [])
    assert again.check(body, speaker) == encode(told)
    said = again.total(asked, speaker)
    assert [bytes(answer) for (answer,) in released] in ([], [said])
    assert decode(said, HelperSum).counted == 12
    late = CoordinatorSide(batch(), COORDINATOR_KEY)
    late._blocks = 1
    more = encode(late.block(reports(terms(4, 9), stream=seeded(8))))  # halves after the release
    with pytest.raises(SumRefusedError, match="after the release"):
        again.check(more, speaker)
