"""Several workers behind one port, and what becomes of them."""

import os
import signal
import socket
import subprocess
import sys
import time

import httpx

SERVED = """
import os
from tacit.service.protocol.serving import Address, serve_forever

async def app(scope, receive, send):
    if scope["type"] == "http":
        body = str(os.getpid()).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

serve_forever(lambda: app, Address(host="127.0.0.1", port=PORT), workers=2)
"""
SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def until(happened):
    """What `happened` returns, once that is something."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if found := happened():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


def workers(port):
    """Who answers, once both do."""
    seen = set()

    def asked():
        try:
            seen.add(int(httpx.get(f"http://127.0.0.1:{port}/").text))
        except httpx.TransportError:
            return None
        return len(seen) == 2

    until(asked)
    return seen


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_worker_that_dies_is_replaced_and_all_end_with_the_supervisor_even_if_it_is_killed():
    port = free_port()
    supervisor = subprocess.Popen([sys.executable, "-c", SERVED.replace("PORT", str(port))])
    now = set()
    try:
        first, second = workers(port)
        os.kill(first, signal.SIGKILL)
        until(lambda: not is_there(first))
        now = workers(port)
        assert second in now
        assert first not in now
        supervisor.kill()
        supervisor.wait(SECONDS)
        until(lambda: not any(is_there(worker) for worker in now))
    finally:
        supervisor.kill()
        supervisor.wait(SECONDS)
        for worker in filter(is_there, now):
            os.kill(worker, signal.SIGKILL)
