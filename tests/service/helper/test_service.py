"""The helper over HTTP: who is served, what is refused, and a process that is killed and started
again.
"""

import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import seeded
from tacit.service.helper.service import LARGEST
from tacit.service.protocol.signed_requests import Request, request_headers
from tacit.sums.protocol import Batch, CoordinatorSide, HelperSum, RelayedHalves, SumTerms
from tacit.wire import decode, encode
from tacit.wire.envelopes import public_bytes
from tests.service.helper.made import client_of, helper
from tests.sums.made import (
    COORDINATOR_KEY,
    HELPER_KEY,
    batch,
    plain,
    public,
    reports,
    terms,
    without_noise,
)

CAMPAIGN = Ed25519PrivateKey.generate()
NAME = public_bytes(CAMPAIGN.public_key()).hex()


def client(folder, **kwargs):
    return client_of(helper(folder, NAME, **kwargs))


def adding(n=12):
    return CoordinatorSide(batch(), reports(terms(n)), COORDINATOR_KEY)


def post(client, body, key=CAMPAIGN, path="/v1/sum", at=None):
    asked = Request(
        public_bytes(key.public_key()), "POST", path, int(time.time() if at is None else at), body
    )
    headers = request_headers(asked, key)
    return client.post("/v1/sum", content=body, headers=headers)


def test_a_sum_over_http(tmp_path):
    http = client(tmp_path, noise=seeded(3))
    assert http.get("/v1/key").json() == {"key": public(HELPER_KEY).hex()}
    mine = adding()
    response = post(http, encode(mine.relay))
    assert response.status_code == 200
    answer = mine.open(decode(response.content, HelperSum), seeded(3))
    assert answer.n == 12
    assert without_noise(answer) == plain(terms())


def test_the_same_relay_gets_the_same_bytes_and_another_batch_of_the_question_is_refused(tmp_path):
    relay = adding().relay
    first = post(client(tmp_path), encode(relay)).content
    http = client(tmp_path)  # restarted
    assert post(http, encode(relay)).content == first
    fewer = RelayedHalves(
        relay.batch, relay.halves[64:]
    )  # differs in one owner: would give its term away
    response = post(http, encode(fewer))
    assert (response.status_code, response.json()) == (409, {"error": "refused"})
    other = RelayedHalves(batch(number=2), relay.halves)
    assert post(http, encode(other)).status_code == 409
    assert post(http, encode(relay)).content == first


def test_small_batches_are_refused_and_use_nothing_up(tmp_path):
    http = client(tmp_path, minimum=12)
    relay = adding().relay
    assert post(http, encode(RelayedHalves(relay.batch, relay.halves[64:]))).status_code == 409
    assert post(http, encode(relay)).status_code == 200


@pytest.mark.parametrize(
    ("send", "status"),
    [
        (lambda http, body: http.post("/v1/sum", content=body), 401),
        (lambda http, body: post(http, body, key=Ed25519PrivateKey.generate()), 403),
        (lambda http, body: post(http, body, at=time.time() - 1000), 401),
        (lambda http, body: post(http, body, path="/v1/other"), 401),
        (lambda http, body: post(http, body[:-1]), 400),
        (lambda http, body: post(http, b""), 400),
        (lambda http, body: post(http, bytes(LARGEST + 1)), 413),
        (lambda http, body: http.get("/v1/sum"), 405),
        (lambda http, body: http.get("/v1/released"), 404),
    ],
    ids=["unsigned", "stranger", "old", "other path", "cut", "empty", "large", "method", "path"],
)
def test_strangers_and_damaged_relays_change_nothing(tmp_path, send, status):
    http = client(tmp_path)
    body = encode(adding().relay)
    response = send(http, body)
    assert response.status_code == status
    assert set(response.json()) == {"error"}
    assert post(http, body).status_code == 200


def started(folder, port):
    command = "import sys; from tacit.cli import main; sys.argv[0] = 'tacit'; main()"
    arguments = ["helper", "--state", str(folder), "--port", str(port), "--campaign", NAME]
    return subprocess.Popen([sys.executable, "-c", command, *arguments], stdout=subprocess.DEVNULL)


def told_key(client):
    """The helper's key, as soon as it answers."""
    until = time.monotonic() + 120
    while True:
        try:
            return bytes.fromhex(client.get("/v1/key").json()["key"])
        except httpx.TransportError:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_a_helper_that_is_killed_and_started_again_answers_the_same(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said, keys = [], set()
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        for _ in range(2):
            process = started(tmp_path, port)
            try:
                keys.add(told_key(client))
                about = Batch(b"q" * 32, 1, SumTerms(1.0, 3, public(COORDINATOR_KEY), *keys))
                mine = CoordinatorSide(about, reports(terms(), about), COORDINATOR_KEY)
                said.append(post(client, encode(mine.relay)).content)
                fewer = RelayedHalves(about, mine.relay.halves[64:])
                assert post(client, encode(fewer)).status_code == 409
            finally:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
    assert len(keys) == 1
    assert said[0] == said[1]
    assert mine.open(decode(said[1], HelperSum), seeded(3)).n == 12
    assert (tmp_path / "sealing.key").stat().st_mode & 0o077 == 0
