"""Limits, headers and the one shape of errors, at the edge of the service."""

import asyncio
import logging
from types import SimpleNamespace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tacit.service.protocol.guard import Guard, Limits, leave_to_guard
from tacit.service.protocol.web import DATA_HEADERS, HEADERS, Reply

SENT = "what the stranger sent"


async def taken(request: Request):
    return JSONResponse({"bytes": len(await request.body())})


async def broken(request: Request):
    raise RuntimeError(SENT)


async def direct(headers, body):
    """A direct route: answers with the status that it is sent."""
    if body == b"broken":
        raise RuntimeError(SENT)
    return Reply.of(int(body), b'{"said":"%s"}' % headers[b"x-said"])


def client_of(**limits):
    routes = [Route("/taken", taken, methods=["POST"]), Route("/broken", broken)]
    app = Guard(
        Starlette(routes=routes, exception_handlers={Exception: leave_to_guard}),
        Limits(**{"body": 1000, "seconds": 5, **limits}),
        {("POST", "/direct"): direct},
    )
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://x")


def answers(requests, **limits):
    async def main():
        async with client_of(**limits) as client:
            return [await client.request(method, path, **more) for method, path, more in requests]

    return asyncio.run(main())


async def pieces(count, size=100, pause=0.0):
    for _ in range(count):
        await asyncio.sleep(pause)
        yield bytes(size)


@pytest.mark.parametrize("path", ["/t%61ken", "/taken%2F", "/%2e%2e/taken", "/taken%00", "/%C3%A4"])
def test_an_address_has_one_spelling(path):
    """A proxy that lets some paths through and not others need know no other."""
    (answer,) = answers([("POST", path, {"content": b"x"})])
    assert (answer.status_code, answer.json()) == (404, {"error": "not found"})
    (plain,) = answers([("POST", "/taken?said=%61", {"content": b"x"})])
    assert plain.status_code == 200


def test_bodies_up_to_the_limit_arrive_whole():
    (announced,) = answers([("POST", "/taken", {"content": bytes(1000)})])
    (streamed,) = answers([("POST", "/taken", {"content": pieces(10)})])
    assert announced.json() == streamed.json() == {"bytes": 1000}


@pytest.mark.parametrize(
    "content", [lambda: bytes(1001), lambda: pieces(11)], ids=["announced", "streamed"]
)
def test_larger_ones_are_refused(content):
    (answer,) = answers([("POST", "/taken", {"content": content()})])
    assert (answer.status_code, answer.json()) == (413, {"error": "too large"})


@pytest.mark.parametrize("length", ["-1", "1e3", "9" * 5000, "", "٣"])
def test_lengths_that_are_none_are_malformed(length):
    header = {"content-length": length.encode()}
    (answer,) = answers([("POST", "/taken", {"content": b"x", "headers": header})])
    assert (answer.status_code, answer.json()) == (400, {"error": "malformed"})


def test_slow_bodies_are_given_up():
    (answer,) = answers([("POST", "/taken", {"content": pieces(100, 1, 0.05)})], seconds=0.2)
    assert (answer.status_code, answer.json()) == (408, {"error": "too slow"})
    assert answer.headers["connection"] == "close"


def test_what_breaks_inside_is_not_told(caplog):
    with caplog.at_level(logging.INFO):
        (answer,) = answers([("GET", "/broken", {})])
    assert (answer.status_code, answer.json()) == (503, {"error": "unavailable"})
    assert SENT not in caplog.text
    (told,) = (record for record in caplog.records if record.levelno == logging.ERROR)
    assert (told.getMessage(), vars(told)["kind"], told.exc_info) == (
        "failed",
        "RuntimeError",
        None,
    )


def test_an_address_that_keeps_being_refused_is_put_off_and_let_in_again(monkeypatch):
    found = answers(
        [*[("GET", "/nowhere", {})] * 3, ("POST", "/taken", {"content": b"x"})],
        burst=3,
        per_second=0.001,
    )
    assert [answer.status_code for answer in found] == [404, 404, 404, 429]
    assert found[-1].json() == {"error": "too many"}

    now = [0.0]
    monkeypatch.setattr(
        "tacit.service.protocol.waiting.time", SimpleNamespace(monotonic=lambda: now[0])
    )

    async def main():
        async with client_of(burst=1, per_second=10) as client:
            found = []
            for now[0] in (0.0, 0.09, 0.11):
                found.append(await client.get("/nowhere"))
            return found

    assert [answer.status_code for answer in asyncio.run(main())] == [404, 429, 404]


def test_every_answer_carries_the_headers():
    cases = [
        ("GET", "/nowhere", {}),
        ("GET", "/taken", {}),
        ("GET", "/broken", {}),
        ("POST", "/taken", {"content": bytes(2000)}),
        ("POST", "/taken", {"content": b"x"}),
    ]
    found = answers(cases, burst=4, per_second=0.001)
    assert [answer.status_code for answer in found] == [404, 405, 503, 413, 200]
    for answer in [*found, *answers([("GET", "/taken", {})], burst=0, per_second=0.001)]:
        kind = answer.headers["content-type"]
        wanted = DATA_HEADERS if kind == "application/json" else HEADERS
        assert wanted.items() <= dict(answer.headers).items()
    assert {answer.headers["content-type"] for answer in found} == {
        "application/json",
        "text/plain; charset=utf-8",
    }


def told(body, path="/direct", method="POST"):
    return method, path, {"content": body, "headers": {"x-said": "so"}}


def test_direct_routes_get_headers_and_body_and_their_answers_carry_the_headers():
    good, refused = answers([told(b"200"), told(b"403")])
    assert (good.status_code, good.json()) == (200, {"said": "so"})
    assert (refused.status_code, refused.json()) == (403, {"said": "so"})
    for answer in (good, refused):
        assert DATA_HEADERS.items() <= dict(answer.headers).items()
    assert [
        each.status_code for each in answers([told(b"200", method="PUT"), told(b"200", "/direct/")])
    ] == [404, 404]


def test_the_limits_hold_before_direct_routes_too(caplog):
    large, slow = b"2" * 1001, pieces(100, 1, 0.05)
    assert [each.status_code for each in answers([told(large)])] == [413]
    assert [each.status_code for each in answers([told(slow)], seconds=0.2)] == [408]
    caplog.clear()
    with caplog.at_level(logging.INFO):
        found = answers(
            [told(b"200"), told(b"401"), told(b"403"), told(b"200")], burst=2, per_second=0.001
        )
        assert [each.status_code for each in found] == [200, 401, 403, 429]
        (broken,) = answers([told(b"broken")])
    assert (broken.status_code, broken.json()) == (503, {"error": "unavailable"})
    assert SENT not in caplog.text
    routes = [
        (record.getMessage(), vars(record).get("route"))
        for record in caplog.records
        if record.name.startswith("tacit")
    ]
    assert routes == [("refused", "direct"), ("refused", "direct"), ("failed", "direct")]


def test_scripts_and_styles_come_from_the_service_alone():
    for headers in (HEADERS, DATA_HEADERS):
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "data:" not in policy


def test_a_sender_that_hangs_up_is_no_error(caplog):
    said = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        said.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/taken",
        "headers": [(b"content-length", b"5")],
        "client": None,
    }
    asyncio.run(Guard(Starlette(), Limits())(scope, receive, send))
    assert said == []
    assert not caplog.records
