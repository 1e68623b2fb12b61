import sys
import threading

import numpy as np
import pytest
import sklearn
from threadpoolctl import ThreadpoolController

from tacit._util import one_thread as held
from tacit._util.kernels import cores, pieces, spread


@pytest.mark.parametrize(
    ("n", "least", "most"),
    [(0, 1, None), (1, 1, None), (1000, 1, None), (1000, 64, 100), (7, 9, 2)],
)
def test_pieces_cover_everything_once(n, least, most):
    parts = pieces(n, least, most)
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(n))
    assert all(part.stop - part.start <= (most or n) for part in parts)
    assert all(part.stop - part.start >= min(least, most or n) for part in parts[:-1])


def test_every_part_is_done_once():
    done = []
    spread(lambda part: done.append((part.start, part.stop)), pieces(1000, 1, most=7))
    assert sorted(done) == [(start, min(start + 7, 1000)) for start in range(0, 1000, 7)]


@pytest.mark.skipif(cores() < 2, reason="one core needs no other thread")
def test_cores_work_at_the_same_time():
    together = threading.Barrier(2, timeout=20)
    # alone, either would wait for ever
    spread(lambda part: (together.wait(), None)[1], [slice(0, 1), slice(1, 2)])


@pytest.mark.parametrize("wrong", [0, 5])
def test_an_error_in_a_part_reaches_the_caller(wrong):
    def work(part):
        if part.start == wrong:
            raise ValueError("this part")

    with pytest.raises(ValueError, match="this part"):
        spread(work, pieces(10, 1, most=1))


def test_libraries_have_one_thread_within_and_theirs_again_afterwards():
    libraries = ThreadpoolController()
    assert np.linalg.inv(np.eye(2)).any()
    assert len(libraries.info()) > 1

    def counts():
        return {library.num_threads for library in libraries.lib_controllers}

    with libraries.limit(limits=2):
        with held.one_thread():
            assert counts() == {1}
        assert counts() == {2}


def test_libraries_are_looked_for_once_and_again_when_more_have_come(monkeypatch):
    held._libraries.cache_clear()
    with monkeypatch.context() as before:
        before.delitem(sys.modules, sklearn.__name__)
        for _ in range(2):
            held.one_thread()
        assert held._libraries.cache_info().misses == 1
    for _ in range(2):
        held.one_thread()
    assert held._libraries.cache_info().misses == 2
