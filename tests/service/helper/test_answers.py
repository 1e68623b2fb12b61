"""A question is answered once, whatever is killed and whoever else is at it."""

import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tacit.service.helper.service import Answers
from tacit.sums.base import SumRefusedError

FORK = multiprocessing.get_context("fork")


def never():
    raise AssertionError("drawn a second time")


def killed_while_drawing(path):
    def draw():
        os.kill(os.getpid(), signal.SIGKILL)
        return b"never sent"

    Answers(path).answer(b"question", b"relay", draw)


def killed_after_answering(path):
    Answers(path).answer(b"question", b"relay", lambda: b"first")
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_same_relay_gets_the_same_answer_and_another_none(tmp_path):
    book = Answers(tmp_path / "b.db")
    assert book.find(b"question", b"relay") is None
    assert book.answer(b"question", b"relay", lambda: b"first") == b"first"
    for again in (book, Answers(tmp_path / "b.db")):
        assert again.answer(b"question", b"relay", never) == b"first"
        assert again.find(b"question", b"relay") == b"first"
        with pytest.raises(SumRefusedError, match="once"):
            again.answer(b"question", b"other halves", never)
        with pytest.raises(SumRefusedError, match="once"):
            again.find(b"question", b"other halves")
    assert book.answer(b"another", b"relay", lambda: b"second") == b"second"


def test_a_refusal_while_drawing_uses_nothing_up(tmp_path):
    book = Answers(tmp_path / "b.db")

    def too_few():
        raise SumRefusedError("too few")

    with pytest.raises(SumRefusedError, match="too few"):
        book.answer(b"question", b"few", too_few)
    assert book.answer(b"question", b"more", lambda: b"first") == b"first"


@pytest.mark.parametrize("work", [killed_while_drawing, killed_after_answering])
def test_a_kill_at_any_moment(tmp_path, work):
    process = FORK.Process(target=work, args=(tmp_path / "b.db",))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    book = Answers(tmp_path / "b.db")
    if work is killed_while_drawing:  # nothing was sent: the next draw is the first
        assert book.answer(b"question", b"relay", lambda: b"next") == b"next"
    else:
        assert book.answer(b"question", b"relay", never) == b"first"


def test_whoever_comes_first_answers_for_all(tmp_path):
    books = [Answers(tmp_path / "b.db") for _ in range(3)]
    with ThreadPoolExecutor(9) as pool:
        tries = [(books[i % 3], str(i).encode()) for i in range(30)]
        said = set(
            pool.map(lambda each: each[0].answer(b"question", b"relay", lambda: each[1]), tries)
        )
    assert len(said) == 1
