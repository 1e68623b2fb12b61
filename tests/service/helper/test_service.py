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
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit import Ball, seeded
from tacit.service.helper import LARGEST
from tacit.sums.halves import Batch, SumTerms, TallyLaw
from tacit.sums.protocol import Checked, CoordinatorSide, HelperSum, SumRequest
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import decode, encode
from tests.service.helper.made import client_of, headers_of, helper, name_of
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
NAME = name_of(CAMPAIGN)


def client(folder, **kwargs):
    return client_of(helper(folder, NAME, **kwargs))


def adding(about=None):
    return CoordinatorSide(about or batch(), COORDINATOR_KEY)


def post(client, body, key=CAMPAIGN, path="/v1/block", to=None, **more):
    return client.post(to or path, content=body, headers=headers_of(body, key, path, **more))


def checked(http, side, sent):
    """One block at both servers; the helper's bytes."""
    response = post(http, encode(side.block(sent)))
    assert response.status_code == 200
    side.take(decode(response.content, Checked))
    return response.content


def summed(http, side):
    return post(http, encode(side.request), path="/v1/sum")


def test_a_sum_over_http(tmp_path):
    http = client(tmp_path, noise=seeded(3))
    told = {"key": public(HELPER_KEY).hex(), "statements": []}
    assert http.get("/v1/key").json() == told
    mine, sent = adding(), reports(terms())
    checked(http, mine, sent[:5])
    checked(http, mine, sent[5:])
    response = summed(http, mine)
    assert response.status_code == 200
    answer = mine.open(decode(response.content, HelperSum), seeded(3))
    assert answer.n == 12
    assert without_noise(answer) == plain(terms())


def test_the_same_block_gets_the_same_bytes_and_counts_once(tmp_path):
    sent, first = reports(terms()), adding()
    http = client(tmp_path)
    said = [checked(http, first, sent[:6]), checked(http, first, sent[6:])]
    again, http = adding(), client(tmp_path)  # both restarted
    assert [checked(http, again, sent[:6]), checked(http, again, sent[6:])] == said
    total = summed(http, again).content
    assert decode(total, HelperSum).counted == 12
    for late in (adding(), adding()):  # also after the release
        assert [checked(http, late, sent[:6]), checked(http, late, sent[6:])] == said
        assert summed(http, late).content == total


def test_other_owners_for_the_same_batch_are_refused(tmp_path):
    """Two sums that differ in one owner would give its term away."""
    http, sent = client(tmp_path), reports(terms())
    mine = adding()
    checked(http, mine, sent)
    fewer = adding()
    assert post(http, encode(fewer.block(sent[1:]))).status_code == 409
    early = adding()
    early._blocks = 2
    assert post(http, encode(early.block(sent))).status_code == 409
    wrong = SumRequest(batch(), 1, 11), SumRequest(batch(), 2, 12), SumRequest(batch(), 0, 0)
    for each in wrong:
        assert post(http, encode(each), path="/v1/sum").status_code == 409
    assert summed(http, mine).status_code == 200
    more = adding()
    more._blocks = 1
    response = post(http, encode(more.block(reports(terms(4, 9), stream=seeded(8)))))
    assert (response.status_code, response.json()) == (409, {"error": "refused"})


def test_a_sum_is_released_with_the_noise_that_halves_were_sealed_for(tmp_path):
    """The same question on cheaper terms is another batch, in which these halves do not open."""
    http, mine = client(tmp_path), adding()
    checked(http, mine, reports(terms()))
    cheap = SumRequest(batch(epsilon=50.0), 1, 12)
    assert post(http, encode(cheap), path="/v1/sum").status_code == 409
    other = batch(helper=X25519PrivateKey.generate())
    assert post(http, encode(SumRequest(other, 0, 0)), path="/v1/sum").status_code == 409


def test_small_batches_are_refused_and_use_nothing_up(tmp_path):
    http, sent = client(tmp_path, minimum=12), reports(terms())
    mine = adding()
    checked(http, mine, sent[1:])
    assert summed(http, mine).status_code == 409
    checked(http, mine, sent[:1])
    assert summed(http, mine).status_code == 200


@pytest.mark.parametrize(
    ("send", "status"),
    [
        (lambda http, body: http.post("/v1/block", content=body[:4000]), 401),
        (lambda http, body: post(http, body[:4000], key=Ed25519PrivateKey.generate()), 403),
        (lambda http, body: post(http, bytes(4097), key=Ed25519PrivateKey.generate()), 413),
        (lambda http, body: post(http, body, at=time.time() - 1000), 401),
        (lambda http, body: post(http, body, path="/v1/other", to="/v1/block"), 401),
        (lambda http, body: post(http, body[:-1]), 400),
        (lambda http, body: post(http, b""), 400),
        (lambda http, body: post(http, bytes(LARGEST + 1)), 413),
        (lambda http, body: http.get("/v1/sum"), 405),
        (lambda http, body: http.get("/v1/released"), 404),
        # it led to whatever host was named
        (lambda http, body: http.get("/v1/key/", headers={"host": "elsewhere"}), 404),
    ],
    ids=[
        "unsigned",
        "stranger",
        "much",
        "old",
        "other path",
        "cut",
        "empty",
        "large",
        "method",
        "path",
        "slash",
    ],
)
def test_strangers_and_damaged_requests_change_nothing(tmp_path, send, status):
    http = client(tmp_path)
    body = encode(adding().block(reports(terms())))
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
                about = Batch(
                    b"q" * 32, 1, 1, SumTerms(TallyLaw(1.0, 3), public(COORDINATOR_KEY), *keys)
                )
                mine = adding(about)
                first = checked(client, mine, reports(terms(), about))
                said.append((first, summed(client, mine).content))
                fewer = adding(about).block(reports(terms(), about)[1:])
                assert post(client, encode(fewer)).status_code == 409
            finally:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
    assert len(keys) == 1
    assert said[0] == said[1]
    assert mine.open(decode(said[1][1], HelperSum), seeded(3)).n == 12
    assert (tmp_path / "sealing.key").stat().st_mode & 0o077 == 0


def test_a_helper_by_itself_reads_sums_of_vectors():
    """In a process that has loaded nothing but the helper."""
    law = VectorTerms.of(Ball(dim=3), 1.0, 1e-6)
    about = Batch(b"q" * 32, 1, 1, SumTerms(law, public(COORDINATOR_KEY), public(HELPER_KEY)))
    body = encode(SumRequest(about, 0, 0))
    program = (
        "import sys; from tacit.service.helper import SumRequest, decode; "
        "print(decode(bytes.fromhex(sys.argv[1]), SumRequest).batch.terms.law.dim)"
    )
    command = [sys.executable, "-c", program, body.hex()]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "3\n"
