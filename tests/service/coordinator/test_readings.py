"""Requests that two readers on the way read differently: a proxy decides by one reading, and we by
another. They are refused, or read as the first would.
"""

import json
import socket
import time

import httpx
import pytest
from benchmarks.loopback import serve
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from tacit.service.protocol.guard import Guard, Limits, leave_to_guard
from tests.service.coordinator.made import ADMIN, folder_of, running


async def show(request):
    """What an application makes of a request, after it has read the body."""
    body = await request.body()
    keys = request.headers.getlist("x-tacit-admin")
    return JSONResponse({"body": body.decode("latin-1"), "keys": keys})


def app():
    routes = [Route("/shown", show, methods=["GET", "POST"])]
    return Guard(Starlette(routes=routes, exception_handlers={Exception: leave_to_guard}), Limits())


@pytest.fixture(scope="module")
def url():
    with serve(app()) as address:
        yield address


def speak(url, *parts, pause=0.2):
    """All that is said to some bytes, sent one after the other, until it is silent for long, or
    hangs up; and whether it did.
    """
    address, said = httpx.URL(url), b""
    with socket.create_connection((address.host, address.port), timeout=120) as caller:
        for place, part in enumerate(parts):
            time.sleep(pause if place else 0)
            caller.sendall(part)
        caller.settimeout(3)
        try:
            while piece := caller.recv(1 << 16):
                said += piece
        except ConnectionError:
            return said, True
        except TimeoutError:
            return said, False
    return said, True


def statuses(said):
    return [int(part[:3]) for part in said.split(b"HTTP/1.1 ")[1:]]


def content(said):
    return json.loads(said.rpartition(b"\r\n\r\n")[2])


def head(*lines, first="POST /shown HTTP/1.1"):
    return "\r\n".join([first, "host: x", *lines, "", ""]).encode()


PIECES = b"2\r\nhi\r\n0\r\n"


@pytest.mark.parametrize("given", [(), ("x-tacit-admin: guessed",)])
def test_what_comes_after_a_body_is_no_header(url, given):
    """Trailers were added to the headers while the body was read: a key that no proxy saw, and a
    second one that the guard had not.
    """
    sent = head("transfer-encoding: chunked", *given) + PIECES
    said, _ = speak(url, sent, b"x-tacit-admin: the key\r\n\r\n")
    assert statuses(said) == [200]
    assert content(said) == {"body": "hi", "keys": [each.partition(": ")[2] for each in given]}


def test_an_administrators_key_does_not_come_after_the_body(tmp_path):
    service = running(folder_of(tmp_path))
    sent = head("transfer-encoding: chunked", first="POST /v1/admin/state HTTP/1.1")
    with serve(service.app) as here:
        said, _ = speak(
            here, sent + b"6\r\npaused\r\n0\r\n", f"x-tacit-admin: {ADMIN}\r\n\r\n".encode()
        )
    assert statuses(said) == [401]
    assert service.store.standing().state == "enrolling"


@pytest.mark.parametrize(
    "target",
    ["/shown#", "/shown#/other", "http://elsewhere/shown", "http://me:it@x:9/shown", "x/shown"],
)
def test_an_address_is_written_in_one_way(url, target):
    """A fragment and a whole address were cut off: rules of a proxy about paths did not hold."""
    said, gone = speak(url, head(first=f"GET {target} HTTP/1.1"))
    assert (statuses(said), gone) == ([400], True)


def test_a_body_is_not_left_out_where_another_protocol_is_asked_for(url):
    """The parser skips it: what was signed, or judged by its length, was not what was read."""
    sent = head("connection: upgrade", "upgrade: h2c", "content-length: 2") + b"hi"
    said, gone = speak(url, sent)
    assert (statuses(said), gone) == ([400], True)


def test_a_connection_is_not_kept_on_which_nothing_is_heard_any_more(url):
    """After an upgrade that was not made nothing was parsed: whoever had the connection of a proxy
    next was not answered.
    """
    asked = head("connection: upgrade", "upgrade: websocket", first="GET /shown HTTP/1.1")
    said, gone = speak(url, asked, head(first="GET /shown HTTP/1.1"))
    assert (statuses(said), gone) == ([200], True)
    assert b"connection: close" in said


def test_a_request_is_for_one_host(url):
    said, _ = speak(url, head("host: y", first="GET /shown HTTP/1.1"))
    assert statuses(said) == [400]


BODY = ("content-length: 2",)


@pytest.mark.parametrize(
    "sent",
    [
        head("x-tacit-admin: a", " folded", *BODY) + b"hi",
        head("x-tacit-admin : a", *BODY) + b"hi",
        head("x-y: a\rx-tacit-admin: b", *BODY) + b"hi",
        head("x-tacit-admin: a\0b", *BODY) + b"hi",
        head(*BODY).replace(b"\r\n", b"\n") + b"hi",
        head("content-length: +2") + b"hi",
        head("content-length: 2, 2") + b"hi",
        head("content-length: 0x2") + b"hi",
        head("transfer-encoding: chunked, identity") + PIECES + b"\r\n",
        head("transfer-encoding: xchunked", *BODY) + b"hi",
        head("transfer-encoding: \x0bchunked", *BODY) + b"hi",
        head("transfer-encoding: chunked", "transfer-encoding: identity") + PIECES + b"\r\n",
        head("transfer-encoding: chunked") + b"FFFFFFFFFFFFFFFFFF\r\nhi\r\n0\r\n\r\n",
        head("transfer-encoding: chunked") + b"2 \r\nhi\r\n0\r\n\r\n",
        head("transfer-encoding: chunked") + b"2\nhi\n0\n\n",
        head("transfer-encoding: chunked") + b"2;\n\r\nhi\r\n0\r\n\r\n",
        head("cookie: " + "y" * (1 << 15)),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        head(first="CONNECT elsewhere:443 HTTP/1.1"),
        head(first="post /shown HTTP/1.1"),
        "GET /sh\u00f6wn HTTP/1.1\r\nhost: x\r\n\r\n".encode(),
    ],
)
def test_what_readers_disagree_about_is_refused_and_hung_up_on(url, sent):
    """Folded headers, lengths and pieces that are none, ends of lines, endless cookies."""
    said, gone = speak(url, sent)
    assert gone
    assert statuses(said) in ([400], [431], [])


def test_a_request_inside_a_body_is_a_body(url):
    inside = head(first="POST /shown HTTP/1.1")
    said, _ = speak(
        url, head(f"content-length: {len(inside)}", first="GET /shown HTTP/1.1") + inside
    )
    assert statuses(said) == [200]
    assert content(said)["body"] == inside.decode()


def test_one_byte_at_a_time_is_heard_to_a_limit(url):
    """Small records: a request in a hundred pieces is one; endless ones are hung up on."""
    asked = head("x-y: z", first="GET /shown HTTP/1.1")
    said, _ = speak(url, *[bytes([each]) for each in asked], pause=0.002)
    assert statuses(said) == [200]
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port), timeout=120) as caller:
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        caller.sendall(b"GET /shown HTTP/1.1\r\nx-y: ")
        sent = 0
        try:
            while sent < 5000:
                caller.sendall(b"y")
                sent += 1
                time.sleep(0.001)
        except ConnectionError:
            pass
    assert sent < 5000


def test_who_has_ended_its_side_is_no_error(url, caplog):
    """Half-closed, in the head, in the body, and after a request."""
    for sent in (
        b"GET /sh",
        head("content-length: 9") + b"half",
        head(first="GET /shown HTTP/1.1"),
    ):
        address = httpx.URL(url)
        with socket.create_connection((address.host, address.port), timeout=120) as caller:
            caller.sendall(sent)
            caller.shutdown(socket.SHUT_WR)
            while caller.recv(1 << 16):
                pass
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert httpx.get(f"{url}/shown").status_code == 200
