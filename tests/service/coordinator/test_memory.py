"""Memory that is no longer used goes back to the system, holes and all; of a connection that is
closed nothing stays, also where nobody looks for garbage.
"""

import ctypes
import gc
import socket
import ssl
import subprocess
import sys
import time

import httpx
import pytest
from benchmarks.loopback import Authority, serve

from tacit.service.protocol.door import Visitor
from tacit.service.protocol.guard import Guard, Limits
from tacit.service.protocol.web import BoundedProtocol, Reply

HOLES = """
import time
from pathlib import Path
from tacit.service.protocol.serving import settle

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

settle(SECONDS)
before = resident()
blocks = [bytes(5000) for _ in range(40_000)]
kept = blocks[::500]  # free memory between them, never at the end
full = resident()
del blocks
until = time.monotonic() + PATIENCE
while resident() > before + 50 and time.monotonic() < until:
    time.sleep(0.05)
print(before, full, resident(), len(kept))
"""


def megabytes(seconds: float, patience: float) -> list[float]:
    """Resident memory before, with and after two hundred megabytes."""
    code = HOLES.replace("SECONDS", str(seconds)).replace("PATIENCE", str(patience))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()[:3]]


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="this C library has no malloc_trim"
)
def test_holes_are_given_back():
    before, full, after = megabytes(0.1, patience=60.0)
    assert full > before + 150
    assert after < before + 50
    before, _, after = megabytes(1000.0, patience=0.5)
    assert after > before + 100, "nothing to give back: the test would pass without trimming"


async def know_members(headers, body):
    return Reply.of(204 if b"x-member" in headers else 403, b"")


async def nothing(scope, receive, send):
    """No application: all routes are direct."""


def connections():
    """How many connections are in memory, alive or not."""
    return sum(issubclass(type(each), BoundedProtocol | Visitor) for each in gc.get_objects())


@pytest.fixture
def without_garbage_collection():
    gc.disable()
    yield
    gc.enable()


ASK = b"POST /v1/report HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n%s\r\nhi"


@pytest.mark.parametrize(
    "said",
    [ASK % b"x-member: yes\r\n", ASK % b"", b"\0\1 no HTTP\r\n\r\n", b"GET /v1", b""],
    ids=["member", "stranger", "garbage", "half a head", "silent"],
)
def test_of_a_closed_connection_nothing_stays(said, tmp_path, without_garbage_collection):
    authority = Authority.create(tmp_path, "mine")
    trust = ssl.create_default_context(cafile=authority.certificate)
    routes = {("POST", "/v1/report"): know_members}
    before = connections()  # of other tests, in garbage
    with serve(Guard(nothing, Limits(), routes), authority) as url:
        for _ in range(10):
            raw = socket.create_connection(("127.0.0.1", httpx.URL(url).port), timeout=60)
            with trust.wrap_socket(raw, server_hostname="127.0.0.1") as caller:
                caller.sendall(said)
                if said.endswith((b"hi", b"\n")):
                    assert b"HTTP/1.1" in caller.recv(1 << 10)
        until = time.monotonic() + 60.0
        while connections() > before and time.monotonic() < until:
            time.sleep(0.1)
        assert connections() <= before
