"""A batch is released once, whatever is killed and whoever else is at it."""

import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tacit.service.helper import Helper, Sheets
from tacit.sums.protocol import CoordinatorSide
from tacit.sums.secure_sum import SumRefusedError
from tacit.wire import encode
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
