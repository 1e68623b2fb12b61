"""Work in a process of its own: it ends by its deadline and its memory, and says nothing else."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import uvloop

from tacit.owner.worker import Worker


def echo(request):
    return request[::-1]


def hog(request):
    match request:
        case b"sleep":
            time.sleep(60)
        case b"spin":
            while True:
                pass
        case b"memory":
            return bytes(np.ones(1 << 28)[:1].astype(np.uint8))  # 2 GiB
        case b"fail":
            raise RuntimeError("a value of somebody's rows")
        case b"die":
            os.abort()
        case b"shout":
            print("a value of somebody's rows", flush=True)
            os.write(2, b"and another")
            return b"said"
        case b"files":
            here = "/proc/self/fd"
            there = [each for each in os.listdir(here) if os.path.lexists(f"{here}/{each}")]
            return b" ".join(os.readlink(f"{here}/{each}").encode() for each in there)
    return request


def alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_is_computed_comes_back_whole():
    worker = Worker(echo, echo)
    for size in (0, 1, 70_000, 3_000_000):
        data = os.urandom(size)
        assert worker.compute(data, 20.0, 1 << 24) == worker.prepare(data) == data[::-1]


@pytest.mark.parametrize("request_", [b"sleep", b"spin", b"memory", b"fail", b"die"])
def test_what_is_abandoned_is_nothing_and_the_next_is_not_touched_by_it(request_):
    worker = Worker(echo, hog)
    began = time.monotonic()
    assert worker.compute(request_, 0.5, 1 << 24) is None
    assert time.monotonic() - began < 50.0  # asleep, it would have taken a minute
    assert worker.compute(b"quick", 20.0, 1 << 24) == b"quick"


def test_nothing_is_printed_and_no_file_of_the_gate_is_there(capfd, tmp_path):
    with open(tmp_path / "ledger", "w"):
        worker = Worker(echo, hog)
        assert worker.compute(b"shout", 20.0, 1 << 24) == b"said"
        open_files = worker.compute(b"files", 20.0, 1 << 24)
    assert capfd.readouterr() == ("", "")
    assert open_files is not None
    # its pipes and those that libraries make for themselves after a fork
    assert {each.split(b":")[0] for each in open_files.split()} == {b"/dev/null", b"pipe"}


def test_a_worker_waits_for_its_children_where_its_program_does_not():
    """A program whose children are reaped by the system (a daemon's habit) has answers all the
    same.
    """
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert Worker(echo, echo).compute(b"ab", 20.0, 1 << 24) == b"ba"
    finally:
        signal.signal(signal.SIGCHLD, before)


def run_a_loop_of_another_kind():
    """uvloop, which makes pipes of its own anew in every process that is forked after."""

    async def wait_for_a_child():
        child = await asyncio.create_subprocess_exec("true")
        await child.wait()

    loop = uvloop.new_event_loop()
    loop.run_until_complete(wait_for_a_child())
    loop.close()


def open_many_files():
    return [os.dup(0) for _ in range(1100)]


def work_after(habit):
    """In a process of its own, which keeps the habit."""
    kept = habit()
    worker = Worker(echo, echo)
    print([worker.compute(b"ab", 20.0, 1 << 24) for _ in range(3)])
    del kept


@pytest.mark.parametrize("habit", [run_a_loop_of_another_kind, open_many_files])
def test_a_worker_works_whatever_its_program_did_before(habit):
    program = f"from tests.owner.test_worker import *; work_after({habit.__name__})"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.strip() == "[b'ba', b'ba', b'ba']"


def test_a_worker_that_is_gone_is_replaced():
    worker = Worker(lambda request: os._exit(3), echo)
    assert worker.prepare(b"end") is None
    assert worker.compute(b"ab", 20.0, 1 << 24) == b"ba"


def test_a_worker_ends_with_whoever_holds_it():
    worker = Worker(lambda _: str(os.getpid()).encode(), echo)
    process = int(worker.prepare(b"") or 0)
    assert alive(process)
    del worker
    gc.collect()
    assert not alive(process)
