"""What operators watch: alive, ready, counts; nothing that anybody's rows could change."""

import asyncio
import json
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import httpx
from benchmarks.loopback import serve
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.cli._options import JsonFormatter
from tacit.service.protocol import serving
from tacit.service.protocol.door import WHYS, ConnectionLimits
from tacit.service.protocol.handshake import Request, request_headers
from tests.service.coordinator.made import client_of, folder_of, running, visiting

TOKEN, NAME = "token number 0001", "a name that is nobody's business"


def get(watch, path):
    async def main():
        async with client_of(watch.app()) as client:
            return await client.get(path)

    return asyncio.run(main())


def test_alive_is_not_ready_while_the_database_is_away(tmp_path):
    service = running(folder_of(tmp_path))
    assert get(service.watch, "/healthz").json() == {"status": "ok"}
    assert get(service.watch, "/readyz").json() == {"status": "ready"}
    service.store.close()
    for file in tmp_path.glob("c.db*"):
        file.unlink()
    answer = get(service.watch, "/readyz")
    assert (answer.status_code, answer.json()) == (503, {"error": "unavailable"})
    assert get(service.watch, "/healthz").status_code == 200
    counts = get(service.watch, "/metrics")
    assert counts.status_code == 200
    assert "tacit_up 0.0" in counts.text
    assert get(service.watch, "/metrics/").status_code == 404


def test_a_database_that_does_not_answer_is_not_ready_and_is_looked_at_once(monkeypatch):
    monkeypatch.setattr(serving, "_SOON", 0.05)
    looks, going = [], threading.Event()

    def ready():
        looks.append(1)
        going.wait(20)

    watch = serving.Watch(ready)
    assert [get(watch, "/readyz").status_code for _ in range(3)] == [503, 503, 503]
    assert looks == [1]
    assert get(watch, "/healthz").status_code == 200
    looking = watch._looking
    assert looking is not None
    going.set()
    looking.result(20)
    assert get(watch, "/readyz").status_code == 200


def test_requests_batches_and_the_campaign_are_counted_and_nobody_is_named(tmp_path):
    service = running(folder_of(tmp_path))
    service.store.add_tokens([TOKEN])
    key = Ed25519PrivateKey.generate()
    body = f"{TOKEN}\n{NAME}".encode()
    asked = Request(bytes.fromhex(service.fingerprint), "POST", "/v1/enrol", 0, body)

    async def main():
        async with visiting(service.app) as client:
            now = asked._replace(time=int(time.time()))
            found = await client.post("/v1/enrol", content=body, headers=request_headers(now, key))
            assert found.json() == {"enrolled": True}
            await client.get(f"/{NAME}")
            await client.get("/v1/question")
            main_port = await client.get("/metrics")
            assert main_port.status_code == 404  # counts are on a port of their own
            return [(await client.get(path)).status_code for path in ("/healthz", "/readyz")]

    assert asyncio.run(main()) == [200, 200]
    text = get(service.watch, "/metrics").text
    for line in (
        'tacit_requests_total{route="enrol",status="200"} 1.0',
        'tacit_requests_total{route="question",status="401"} 1.0',
        'tacit_requests_total{route="-",status="404"} 2.0',
        'tacit_request_seconds_count{route="enrol"} 1.0',
        'tacit_batch_requests_sum{queue="/v1/enrol"} 1.0',
        'tacit_owners{state="enrolled"} 1.0',
        'tacit_campaign{state="enrolling"} 1.0',
        'tacit_queue_requests{queue="/v1/report"} 0.0',
        "tacit_rounds 0.0",
        "tacit_up 1.0",
    ):
        assert line in text, line
    owner = request_headers(asked, key)["x-tacit-owner"]
    assert not any(secret in text for secret in (NAME, TOKEN, owner))


def test_connections_that_are_refused_are_counted_by_why(tmp_path):
    """Whoever was turned away before there was a request was in no count."""
    service = running(folder_of(tmp_path))
    few = ConnectionLimits(per_address=2, head=0.5, burst=6.0, per_second=0.001)
    with serve(service.app, None, few) as url:
        address = httpx.URL(url)
        made = [socket.create_connection((address.host, address.port)) for _ in range(4)]
        made[-1].sendall(b"no HTTP" + b"\r\n\r\n")
        made += [socket.create_connection((address.host, address.port)) for _ in range(8)]
        ends = time.monotonic() + 20
        wanted = {"pushed out", "unreadable", "too many", "slow"}
        while time.monotonic() < ends:
            text = get(service.watch, "/metrics").text
            counts = re.findall(r'tacit_refused_connections_total{why="([^"]+)"} (\S+)', text)
            assert {why for why, _ in counts} == set(WHYS)  # also those that there are none of
            found = {why for why, count in counts if float(count)}
            if wanted <= found:
                break
            time.sleep(0.1)
        for each in made:
            each.close()
    assert wanted <= found


def test_a_request_has_a_name_in_its_answer_and_in_the_log(tmp_path, caplog):
    service = running(folder_of(tmp_path))

    async def main():
        async with client_of(service.app) as client:
            return [
                (await client.get(path)).headers["x-request-id"] for path in ("/no", "/healthz")
            ]

    with caplog.at_level(logging.INFO, logger="tacit"):
        refused, fine = asyncio.run(main())
    assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]+", refused)
    assert fine != refused
    assert fine.partition("-")[0] == refused.partition("-")[0]  # nothing is drawn for each request
    (record,) = (each for each in caplog.records if each.getMessage() == "refused")
    assert json.loads(JsonFormatter().format(record))["request"] == refused


COUNTING = """
import os
from tacit.service.protocol.serving import Watch
watch = Watch(lambda: None)
for _ in range(3):
    watch.observe("asked", 200, 0.01)
child = os.fork()
if child == 0:
    Watch(lambda: None).observe("asked", 200, 0.01)
    os._exit(0)
os.waitpid(child, 0)
from prometheus_client import generate_latest
print(generate_latest(watch._registry).decode())
"""


def test_counts_of_several_workers_meet(tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", COUNTING],
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 'tacit_requests_total{route="asked",status="200"} 4.0' in found.stdout


def test_whoever_is_refused_fills_no_log(monkeypatch):
    """Every refusal was a line, every failure, too: gigabytes a day for whoever wanted them."""
    now, written = [1000.0], []

    class Kept(logging.Handler):
        def emit(self, record):
            written.append((record.getMessage(), getattr(record, "left_out", 0)))

    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("tacit.service.protocol.waiting.time", clock)
    monkeypatch.setattr(serving.BoundedServer, "run", lambda self, sockets: sockets[0].close())
    monkeypatch.setattr(serving, "settle", lambda: None)
    root, kept = logging.getLogger(), Kept()
    root.addHandler(kept)
    others = {handler: list(handler.filters) for handler in root.handlers}
    try:
        serving.serve_forever(lambda: None, serving.Address(host="127.0.0.1", port=0))
        log = logging.getLogger("tacit.tried")
        for number in range(1000):
            log.warning("refused %d", number)
        assert 0 < len(written) <= 300
        log.warning("something else")
        assert written[-1] == ("something else", 0)
        now[0] += 2.0
        log.warning("refused %d", 1000)
        refused = [each for each in written if each[0] != "something else"]
        assert refused[-1] == ("refused 1000", 1001 - len(refused))
    finally:
        root.removeHandler(kept)
        for handler, filters in others.items():
            handler.filters = filters
