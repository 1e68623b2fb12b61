"""An owner's patience: what it does when the coordinator is away, busy, slow, or lives by
another clock.
"""

import asyncio
from email.utils import formatdate

import httpx
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.service.device.client import Backoff, Link, UnreachableError
from tacit.service.device.member import _pause
from tacit.service.protocol.handshake import TIME, TheirClock

KEY = Ed25519PrivateKey.generate()
COINS = np.random.default_rng(7)
NOW = 1_800_000_000.0


class Coordinator:
    """Answers what it is told to, one after another; the last again and again. It counts, and no
    time passes.
    """

    def __init__(self, monkeypatch, *answers):
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.pauses: list[float] = []
        monkeypatch.setattr("tacit.service.device.client.asyncio.sleep", self.sleep)
        monkeypatch.setattr("tacit.service.device.client.time.monotonic", lambda: sum(self.pauses))

    async def sleep(self, seconds):
        self.pauses.append(seconds)

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer

    def ask(self, patience, coin, question):
        async def main():
            async with httpx.AsyncClient(
                transport=httpx.MockTransport(self), base_url="http://localhost"
            ) as client:
                return await question(Link([client], patience, coin=coin))

        return asyncio.run(main())

    def call(self, patience=3600.0, key=KEY, coin=COINS.random):
        return self.ask(
            patience,
            coin,
            lambda link: link.call("POST", "/v1/report", key, b"the same bytes"),
        )

    def greet(self):
        return self.ask(3600.0, COINS.random, lambda link: link.greet())


def test_one_that_is_starting_again_is_asked_soon_and_less_and_less_often(monkeypatch):
    there = Coordinator(monkeypatch, *[httpx.ConnectError("refused")] * 12, httpx.Response(200))
    assert there.call().status_code == 200
    assert {request.content for request in there.requests} == {b"the same bytes"}
    bounds = [min(0.2 * 2**n, 60.0) for n in range(12)]
    assert all(
        bound / 2 <= pause < bound for bound, pause in zip(bounds, there.pauses, strict=True)
    )


@pytest.mark.parametrize(
    "answer",
    [
        httpx.ConnectTimeout("handshake"),
        httpx.ReadTimeout("answer"),
        httpx.Response(503),
        httpx.Response(429),
    ],
    ids=["handshake", "answer", "503", "429"],
)
def test_one_that_has_too_much_to_do_is_left_alone_for_seconds_from_the_first_time(
    monkeypatch, answer
):
    there = Coordinator(monkeypatch, answer, answer, answer, answer, httpx.Response(200))
    assert there.call().status_code == 200
    bounds = [8.0, 16.0, 32.0, 60.0]
    assert all(
        bound / 2 <= pause < bound for bound, pause in zip(bounds, there.pauses, strict=True)
    )


def test_fifty_that_gave_up_together_do_not_come_back_together(monkeypatch):
    first, coin = [], np.random.default_rng(50).random
    for _ in range(50):
        there = Coordinator(monkeypatch, httpx.ConnectTimeout("handshake"), httpx.Response(200))
        there.call(coin=coin)
        first.append(there.pauses[0])
    # 50 uniform draws over 4 seconds: more than 25 in one second has a chance of 1 in 6600; the
    # seed is fixed besides
    assert max(sum(second <= pause < second + 1 for pause in first) for second in range(4, 8)) <= 25


def test_a_link_throws_its_own_coins_where_it_is_given_none():
    link, other = Link([httpx.AsyncClient()]), Link([httpx.AsyncClient()])
    assert (
        len({link.coin(), link.coin(), other.coin(), other.coin()}) == 4
    )  # of 53 bits each: never equal by chance


def test_it_stays_away_for_as_long_as_it_is_asked_to(monkeypatch):
    there = Coordinator(
        monkeypatch, httpx.Response(503, headers={"retry-after": "40"}), httpx.Response(200)
    )
    there.call()
    assert 40 <= there.pauses[0] < 80


@pytest.mark.parametrize("odd", ["\N{SUPERSCRIPT TWO}", "9" * 5000, "-3", "1e9", "soon", ""])
def test_odd_headers_are_not_listened_to(monkeypatch, odd):
    """Neither how long to stay away nor what time it is: an answer stays an answer."""
    headers = httpx.Headers(
        {"retry-after": odd, "date": f"Mon, 01 Jan {odd} 00:00:00 GMT"}, "utf-8"
    )
    there = Coordinator(monkeypatch, httpx.Response(503, headers=headers), httpx.Response(200))
    assert there.call().status_code == 200
    assert 0 <= there.pauses[0] < 3600
    clock = TheirClock()
    clock.learn(headers)
    assert abs(clock.ahead) < 1 << 32
    assert 0 <= _pause(httpx.Response(204, headers=headers), Link([], coin=lambda: 1.0)) <= 2 * 3600


@pytest.mark.parametrize("where", ["http:h", "http:h/[::1", "https:x"])
def test_an_answer_that_leads_to_what_is_no_address_is_none(monkeypatch, where):
    """Nobody follows it; the library that looked at it ended the agent."""
    leads = httpx.Response(307, headers={"location": where})
    there = Coordinator(monkeypatch, leads, httpx.Response(200))
    assert there.call().status_code == 200


def test_patience_ends(monkeypatch):
    there = Coordinator(monkeypatch, httpx.ReadTimeout("answer"))
    with pytest.raises(UnreachableError, match="did not answer POST /v1/report in 100 s"):
        there.call(patience=100.0)
    assert sum(there.pauses) <= 100.0


def test_what_is_refused_is_tried_a_few_times_and_not_for_ever(monkeypatch):
    there = Coordinator(monkeypatch, httpx.Response(401))
    assert there.call().status_code == 401
    assert len(there.requests) == 6
    assert there.call(key=None).status_code == 401
    assert (
        len(there.requests) == 7
    )  # nothing was signed: there is nothing that could have been damaged


def test_a_greeting_that_something_on_the_way_changed_is_asked_for_again(monkeypatch):
    there = Coordinator(monkeypatch, httpx.Response(404), httpx.Response(200, content=b"hello"))
    assert there.greet() == b"hello"
    assert len(there.requests) == 2
    away = Coordinator(monkeypatch, httpx.Response(404, content=b"nobody"))
    assert away.greet() == b"nobody"
    assert len(away.requests) == 3
    assert sum(away.pauses) < 1


@pytest.mark.parametrize("hours", [-5.0, 7.0])
def test_a_clock_that_is_off_or_jumps_is_learned_from_the_first_answer(monkeypatch, hours):
    theirs = NOW + 3600.0 * hours
    monkeypatch.setattr("time.time", lambda: NOW)

    def judged():
        good = abs(int(there.requests[-1].headers[TIME]) - theirs) <= 300
        return httpx.Response(
            200 if good else 401, headers={"date": formatdate(theirs, usegmt=True)}
        )

    there = Coordinator(monkeypatch, judged)
    assert there.call().status_code == 200
    assert len(there.requests) == 2
    assert there.pauses[0] < 0.2


def test_seconds_between_clocks_change_nothing(monkeypatch):
    monkeypatch.setattr("time.time", lambda: NOW)
    link = Link([httpx.AsyncClient()])
    link.clock.learn({"date": formatdate(NOW + 20, usegmt=True)})
    assert link.now() == NOW
    link.clock.learn({"date": "yesterday, I think"})
    link.clock.learn({})
    assert link.now() == NOW


def test_connections_are_few_kept_and_given_time(monkeypatch):
    given = {}
    monkeypatch.setattr(
        "tacit.service.device.client.httpx.AsyncClient", lambda **settings: given.update(settings)
    )
    Link.to("http://localhost:1", None)
    assert given["limits"] == httpx.Limits(keepalive_expiry=25.0)
    assert given["timeout"] == 180.0


class Counted:
    """A client, and what it does at a time."""

    def __init__(self):
        self.now = self.most = self.requests = 0
        self.client = httpx.AsyncClient(
            transport=httpx.MockTransport(self), base_url="http://localhost"
        )

    async def __call__(self, request):
        self.now, self.requests = self.now + 1, self.requests + 1
        self.most = max(self.most, self.now)
        for _ in range(5):
            await asyncio.sleep(0)
        self.now -= 1
        return httpx.Response(200)


def test_many_take_turns_and_few_need_few_connections():
    def asked(together, times):
        async def main():
            counted = [Counted() for _ in range(16)]
            link = Link([each.client for each in counted])
            for _ in range(times):
                await asyncio.gather(
                    *(link.call("GET", "/v1/question", None) for _ in range(together))
                )
            await link.close()
            return counted

        return asyncio.run(main())

    assert {each.most for each in asked(100, 1)} == {1}
    assert sum(each.requests > 0 for each in asked(1, 20)) == 1
    assert sum(each.requests > 0 for each in asked(3, 20)) == 3


def test_the_bound_is_a_bound():
    backoff = Backoff(lambda: 0.999)
    assert max(backoff.pause(busy=n % 2 == 0) for n in range(40)) < 60.0


def test_what_a_coordinator_would_have_remembered_is_not():
    """A cookie came back with every request: owners of one machine were known by it."""
    seen = []

    def answer(request):
        seen.append(request.headers.get("cookie"))
        return httpx.Response(200, headers={"set-cookie": "who=me; path=/; max-age=9999"})

    async def main():
        link = Link.to("http://localhost:1", None)
        for client in link.clients:
            client._transport = httpx.MockTransport(answer)
        for _ in range(20):
            await link.call("GET", "/v1/question", KEY)
        await link.close()

    asyncio.run(main())
    assert seen == [None] * 20


def test_nobody_is_asked_to_come_again_at_once():
    """Again and again, without a pause, is what it would have done."""
    again = httpx.Response(204, headers={"retry-after": "0"})
    assert _pause(again, Link([], coin=lambda: 0.0)) >= 0.25
