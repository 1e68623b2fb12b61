"""Strangers' connections: sizes, deadlines, room; members' stay, and neighbours do not matter."""

import asyncio
import gc
import json
import select
import socket
import ssl
import time
from types import SimpleNamespace

import httpx
import pytest
from benchmarks.loopback import Authority, serve
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.service.coordinator.keys import CampaignKeys
from tacit.service.coordinator.server import Making, Service
from tacit.service.helper import FEW
from tacit.service.protocol.door import VISITOR, ConnectionLimits, Visitor
from tacit.service.protocol.guard import Guard, Limits
from tacit.service.protocol.handshake import OWNER, SIGNATURE, Request, request_headers
from tacit.service.protocol.waiting import check_proxy, network_of
from tacit.service.protocol.web import DATA_HEADERS, Reply
from tacit.wire.envelopes import public_bytes
from tests.service.coordinator.made import ADMIN, CAMPAIGN, client_of, enrol, folder_of, running
from tests.service.helper.made import helper

QUICK = ConnectionLimits(handshake=0.5, head=0.5, reading=1.0)
NARROW = ConnectionLimits(per_address=4, head=600.0)
SIGNED = ("GET", "/v1/question")
LARGE = 1 << 22


async def told(headers, body):
    """A direct route that knows who says `x-member`."""
    return Reply.of(204 if b"x-member" in headers else 403, b"")


async def shown(scope, receive, send):
    """An application that says where a request comes from, and as much as it is asked for."""
    size = int(scope["query_string"] or b"0")
    body = scope["client"][0].encode() + bytes(size)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def lifespan_too(scope, receive, send):
    if scope["type"] == "http":
        await shown(scope, receive, send)


def app(**limits):
    return Guard(lifespan_too, Limits(**limits), {SIGNED: told})


class Caller:
    """A plain connection."""

    def __init__(self, url, source=""):
        address = httpx.URL(url)
        self.socket = socket.create_connection(
            (address.host, address.port), timeout=120, source_address=(source, 0)
        )

    def send(self, data):
        self.socket.sendall(data)
        return self

    def hear(self, answers=1 << 30):
        """All that is said until the other side hangs up, or more than so many answers; empty: it
        said nothing.
        """
        said = b""
        try:
            while piece := self.socket.recv(1 << 16):
                said += piece
                if said.count(b"HTTP/1.1 200") > answers:
                    break
        except ConnectionError:
            pass
        return said

    def hears_something(self):
        """Whether anything has been said by now."""
        return bool(select.select([self.socket], [], [], 0)[0])

    def ask(self, *headers):
        """One request, and the head of its answer: the connection stays."""
        lines = ["GET /v1/question HTTP/1.1", "host: x", *headers, "", ""]
        try:
            return self.send("\r\n".join(lines).encode()).socket.recv(1 << 16)
        except ConnectionError:
            return b""


@pytest.fixture
def call():
    """Callers that are gone when the test is."""
    made = []

    def one(url, source=""):
        made.append(Caller(url, source))
        return made[-1]

    yield one
    for each in made:
        each.socket.close()


def error_in(said):
    head, _, body = said.partition(b"\r\n\r\n")
    for name, value in DATA_HEADERS.items():
        assert f"{name}: {value}".encode() in head
    return int(head.split()[1]), json.loads(body)["error"]


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 10_000,
        b"GET / HTTP/1.1\r\nx: " + b"y" * (1 << 20),
        b"GET /" + b"y" * (1 << 20),
    ],
    ids=["many headers", "an endless one", "an endless path"],
)
def test_a_head_has_a_size(sent, call):
    with serve(app()) as url:
        caller = call(url)
        try:
            caller.send(sent)
        except ConnectionError:
            return  # it hung up while we were still sending
        said = caller.hear()
    assert said == b"" or error_in(said) in ((431, "too large"), (400, "malformed"))


def test_what_is_no_http_gets_the_same_kind_of_answer(call):
    with serve(app()) as url:
        assert error_in(call(url).send(b"\x00\x01 nothing\r\n\r\n").hear()) == (400, "malformed")
        large = b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 4000 + b"\r\n"
        assert error_in(call(url).send(large).hear()) == (431, "too large")


def test_a_head_has_so_many_lines(call):
    """Three thousand of them, within the size that a head may have, took thirty times as long as
    the request.
    """
    with serve(app()) as url:
        many = b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a:\r\n" * 3000 + b"\r\n"
        assert error_in(call(url).send(many).hear()) == (431, "too large")
        behind = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
        behind += b"1\r\nx\r\n0\r\n" + b"a:\r\n" * 3000 + b"\r\n"
        assert b" 200 " not in call(url).send(behind).hear()
        some = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n" + b"a: b\r\n" * 90 + b"\r\n"
        assert b" 200 " in call(url).send(some).hear()


def test_a_body_does_not_come_in_crumbs(call):
    """Four thousand pieces of a byte each took the loop ten times as long as one of four thousand,
    and a head that says it is signed is always listened to.
    """
    head = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n"
    with serve(app()) as url:
        assert b" 200 " not in call(url).send(head + b"1\r\nx\r\n" * 4000 + b"0\r\n\r\n").hear()
        few = call(url).send(head + b"1\r\nx\r\n" * 200 + b"0\r\n\r\n").hear()
        assert b" 200 " in few
        pieces = (
            call(url).send(head + (b"28\r\n" + b"x" * 40 + b"\r\n") * 100 + b"0\r\n\r\n").hear()
        )
        assert b" 200 " in pieces


def test_who_says_nothing_or_speaks_slowly_or_does_not_listen_is_hung_up_on(tmp_path, call):
    authority = Authority.create(tmp_path, "mine")
    with serve(app(), None, QUICK) as url, serve(app(), authority, QUICK) as secure:
        began = time.monotonic()
        silent, slow, deaf, handshake = call(url), call(url), call(url), call(secure)
        deaf.send(b"GET /?%d HTTP/1.1\r\n\r\n" % LARGE)
        hung_up = False
        for _ in range(30):
            try:
                slow.send(b"G" if not hung_up else b"")
            except ConnectionError:
                hung_up = True
            time.sleep(0.1)
        assert hung_up
        assert silent.hear() == handshake.hear() == b""
        assert time.monotonic() - began < 100
        assert len(deaf.hear()) < LARGE


def test_strangers_make_room_for_each_other_and_members_stay(call):
    with serve(app(), None, NARROW) as url:
        members = [call(url) for _ in range(3)]
        for each in members:
            assert b" 204 " in each.ask("x-member: yes")
        strangers = [call(url) for _ in range(40)]
        assert b" 204 " in call(url).ask("x-member: yes")  # one more still comes in
        answered = [b"403" in each.ask() for each in strangers]
        assert sum(answered) <= NARROW.per_address
        assert answered[-1]
        assert all(b" 204 " in each.ask("x-member: yes") for each in members)


def test_one_member_does_not_have_every_connection_there_is(call):
    """Proven ones were never asked to make room: one member could have kept all others out."""
    few = ConnectionLimits(per_member=3, most=8, head=600.0)
    greedy, other = ("x-member: yes", "x-tacit-owner: a"), ("x-member: yes", "x-tacit-owner: b")
    with serve(app(), None, few) as url:
        first = call(url)
        assert b" 204 " in first.ask(*other)
        many = []
        for _ in range(12):  # each proven before the next: strangers would make room for it
            many.append(call(url))
            assert b" 204 " in many[-1].ask(*greedy)
        assert [b" 204 " in each.ask(*greedy) for each in many] == [False] * 9 + [True] * 3
        assert b" 204 " in first.ask(*other)
        assert b"403" in call(url).ask()


def test_members_new_connections_do_not_wait_for_strangers_of_many_addresses(call):
    few = ConnectionLimits(handshakes=2.0, handshake=120.0, head=120.0)  # all take 20 seconds
    with serve(app(), None, few) as url:
        assert b" 204 " in call(url).ask("x-member: yes")
        strangers = [call(url, f"127.0.1.{at}") for at in range(1, 41)]
        for each in strangers:
            each.send(b"GET /v1/question HTTP/1.1\r\nhost: x\r\n\r\n")
        assert b" 204 " in call(url).ask("x-member: yes")
        heard = [each for each in strangers if each.hears_something()]
        assert len(heard) < 30  # one address after the other, it would be the last


def test_handshakes_are_left_for_members_where_strangers_take_all_others(call, monkeypatch):
    stopped = SimpleNamespace(monotonic=lambda: 1000.0)  # no allowance grows
    monkeypatch.setattr("tacit.service.protocol.waiting.time", stopped)
    few = ConnectionLimits(handshakes=4.0, members_handshakes=8.0)
    with serve(app(), None, few) as url:
        assert b" 204 " in call(url).ask("x-member: yes")
        strangers = [call(url, f"127.0.1.{at}") for at in range(1, 11)]
        for each in strangers:
            each.send(b"GET /v1/question HTTP/1.1\r\nhost: x\r\n\r\n")
        for _ in range(8):
            assert b" 204 " in call(url).ask("x-member: yes")
        answered = [each for each in strangers if each.hears_something()]
        assert len(answered) <= 3  # of four, one was for the first member


def test_where_too_much_was_refused_strangers_are_greeted_late(call, monkeypatch):
    """Who was refused came again at once, and every time a handshake was made for it."""
    now = [1000.0]
    monkeypatch.setattr(
        "tacit.service.protocol.waiting.time", SimpleNamespace(monotonic=lambda: now[0])
    )
    few = ConnectionLimits(refusals=3, forgiven=0.1, late_handshakes=2.0)
    with serve(app(), None, few) as url:
        assert b" 204 " in call(url).ask("x-member: yes")
        hostile = "127.0.1.1"
        for sent in (b"\x00garbage\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"y" * (1 << 17)):
            call(url, hostile).send(sent).hear()
        assert b"403" in call(url, hostile).ask()
        crowd = [call(url, hostile) for _ in range(6)]
        for each in crowd:
            each.send(b"GET /v1/question HTTP/1.1\r\nhost: x\r\n\r\n")
        assert [b"403" in each.socket.recv(1 << 16) for each in crowd[:2]] == [True, True]
        # others are greeted as ever, and so is where members come from, whatever is refused there
        assert b"403" in call(url, "127.0.1.2").ask()
        for _ in range(6):
            assert b"403" in call(url).ask()
        assert not any(each.hears_something() for each in crowd[2:])
        now[0] += 1.0
        assert [b"403" in each.socket.recv(1 << 16) for each in crowd[2:4]] == [True, True]
        now[0] += 70.0  # who waited has been hung up on; what was refused is forgiven
        assert b"403" in call(url, hostile).ask()


def test_who_is_greeted_late_pushes_nobody_out(call, monkeypatch):
    """Of many strangers the oldest went, also one on a slow line for those who only came again."""
    stopped = SimpleNamespace(monotonic=lambda: 1000.0)
    monkeypatch.setattr("tacit.service.protocol.waiting.time", stopped)
    few = ConnectionLimits(refusals=1, late_handshakes=1.0, late=3, strangers=6, head=600.0)
    with serve(app(), None, few) as url:
        hostile = "127.0.1.1"
        assert b"403" in call(url, hostile).ask()
        slow = call(url, "127.0.1.2").send(b"GET /v1/question HTTP/1.1\r\n")
        crowd = [call(url, hostile) for _ in range(30)]
        assert {each.hear() for each in crowd[4:]} == {b""}  # one was greeted, and three wait
        assert b"403" in slow.send(b"host: x\r\n\r\n").socket.recv(1 << 16)


def wait_for(caller, seconds=5.0):
    """Whether anything is said in that time."""
    return bool(select.select([caller.socket], [], [], seconds)[0])


def test_one_member_from_many_addresses_takes_the_turns_of_few(call, monkeypatch):
    """Every address that a member had come from had its turn: with twenty of them one member made
    its neighbours' new connections wait for half a second.
    """
    now = [1000.0]
    monkeypatch.setattr(
        "tacit.service.protocol.waiting.time", SimpleNamespace(monotonic=lambda: now[0])
    )
    few = ConnectionLimits(handshakes=21.0, members_handshakes=0.5)
    greedy, other = ("x-member: yes", "x-tacit-owner: a"), ("x-member: yes", "x-tacit-owner: b")
    with serve(app(), None, few) as url:
        addresses = [f"127.0.1.{at}" for at in range(1, 21)]
        for address in addresses:
            assert b" 204 " in call(url, address).ask(*greedy)
        assert b" 204 " in call(url).ask(*other)  # which was the last handshake for now
        for address in addresses:
            call(url, address).send(b"GET /v1/question HTTP/1.1\r\nhost: x\r\n\r\n")
        mine = call(url).send(b"GET /v1/question HTTP/1.1\r\nhost: x\r\n\r\n")
        for _ in range(100):  # until all of them have been let in, and wait
            visitors = [each for each in gc.get_objects() if type(each) is Visitor]
            if sum(each.room is not None for each in visitors) == len(addresses) + 1:
                break
            time.sleep(0.05)
        now[0] += 10.5 / 21  # five for strangers' places, five for members'
        assert wait_for(mine)


@pytest.mark.parametrize("stays", [True, False], ids=["on many", "on ever new ones"])
def test_a_member_that_comes_without_end_is_greeted_late(call, monkeypatch, stays):
    """Its connections had as many handshakes as all other members' together."""
    stopped = SimpleNamespace(monotonic=lambda: 1000.0)
    monkeypatch.setattr("tacit.service.protocol.waiting.time", stopped)
    few = ConnectionLimits(
        per_member=3 if stays else 32,
        proofs=64.0 if stays else 3.0,
        refusals=2,
        late_handshakes=1.0,
    )
    greedy, other = ("x-member: yes", "x-tacit-owner: a"), ("x-member: yes", "x-tacit-owner: b")
    with serve(app(), None, few) as url:
        assert b" 204 " in call(url).ask(*other)
        for _ in range(5):
            caller = call(url, "127.0.1.1")
            assert b" 204 " in caller.ask(*greedy)
            if not stays:
                caller.socket.close()
        crowd = [call(url, "127.0.1.1") for _ in range(4)]
        for each in crowd:
            each.send(b"GET /v1/question HTTP/1.1\r\nhost: x\r\n\r\n")
        assert wait_for(crowd[0])
        for source in ("127.0.0.1", "127.0.1.2"):  # others are greeted as ever
            assert b" 204 " in call(url, source).ask(*other)
        assert not any(each.hears_something() for each in crowd[1:])


def test_of_strangers_that_made_room_nothing_waits_on(call, monkeypatch):
    stopped = SimpleNamespace(monotonic=lambda: 1000.0)  # no handshake begins after the first
    monkeypatch.setattr("tacit.service.protocol.waiting.time", stopped)
    few = ConnectionLimits(handshakes=1.0, strangers=8)
    before = {id(each) for each in gc.get_objects() if issubclass(type(each), Visitor)}
    with serve(app(), None, few) as url:
        strangers = [call(url, f"127.0.1.{at}") for at in range(1, 61)]
        assert {each.hear() for each in strangers[:-8]} == {b""}  # they were hung up on
        kept = [each for each in gc.get_objects() if issubclass(type(each), Visitor)]
        assert len([each for each in kept if id(each) not in before]) <= 9  # one shook hands
        assert not any(each.hears_something() for each in strangers[-8:])


def test_who_waits_longer_than_a_handshake_may_take_is_hung_up_on(call):
    few = ConnectionLimits(handshakes=1.0, handshake=0.1, burst=600.0)
    with serve(app(), None, few) as url:
        crowd = [call(url, f"127.0.1.{at}") for at in range(1, 201)]
        assert crowd[-1].hear() == b""  # its turn would have been in two hundred seconds


def test_a_named_proxy_has_as_many_as_there_are_and_makes_them_before_it_needs_them(call):
    limits = ConnectionLimits(per_address=2, strangers=3, burst=1, head=0.2, proxies=("127.0.0.1",))
    with serve(app(), None, limits) as url:
        pool = [call(url) for _ in range(20)]
        time.sleep(2.5)  # longer than strangers may be silent
        assert all(b"403" in each.ask() for each in pool)


def test_new_connections_of_an_address_are_so_many_a_second(call):
    few = ConnectionLimits(burst=5, per_second=0.001)
    with serve(app(), None, few) as url:
        answered = [b"403" in call(url).ask() for _ in range(8)]
    assert answered == [True] * 5 + [False] * 3


@pytest.mark.parametrize(("proxies", "seen"), [((), "127.0.0.1"), (("127.0.0.1",), "9.9.9.9")])
def test_who_a_stranger_says_it_comes_from_is_believed_of_a_named_proxy_alone(proxies, seen):
    with serve(app(), None, ConnectionLimits(proxies=proxies, burst=1)) as url:
        found = [httpx.get(url, headers={"x-forwarded-for": "9.9.9.9"}).text for _ in range(1)]
    assert found == [seen]


def test_members_are_not_put_off_for_their_neighbours():
    async def main():
        async with client_of(app(burst=2, per_second=0.001)) as client:
            found = [await client.get("/v1/question") for _ in range(3)]
            signed = {SIGNATURE: "signed"}
            found.append(await client.get("/v1/question", headers=signed))
            found.append(await client.get("/v1/question", headers=signed | {"x-member": "yes"}))
            return [answer.status_code for answer in found]

    assert asyncio.run(main()) == [403, 403, 429, 429, 204]


def test_members_leave_from_where_neighbours_are_put_off(tmp_path, monkeypatch):
    """What batches do not answer (to leave, to go by another key, figures for members) was not
    heard there, however well it was signed.
    """
    stopped = SimpleNamespace(monotonic=lambda: 1000.0)  # no allowance grows
    monkeypatch.setattr("tacit.service.protocol.waiting.time", stopped)
    made = running(folder_of(tmp_path, text=f'{CAMPAIGN}\nstatus_for = "members"\n'))
    made.store.add_tokens(["a token of sixteen"])
    key, campaign = Ed25519PrivateKey.generate(), bytes.fromhex(made.fingerprint)
    assert enrol(made.store, public_bytes(key.public_key()).hex(), "a token of sixteen")

    def signed(method, path, body=b"", by=key):
        return request_headers(Request(campaign, method, path, int(time.time()), body), by)

    with serve(made.app) as url:
        with httpx.Client(base_url=url, timeout=60) as stranger:
            while stranger.get("/nothing").status_code == 404:
                pass
            assert stranger.get("/v1/status").status_code == 429
            forged = signed("GET", "/v1/status", by=Ed25519PrivateKey.generate())
            answer = stranger.get("/v1/status", headers=forged)
            assert answer.status_code == 403
            assert answer.headers["connection"] == "close"  # the next one costs a handshake
        with httpx.Client(base_url=url, timeout=60) as member:
            assert member.get("/v1/status", headers=signed("GET", "/v1/status")).is_success
        with httpx.Client(base_url=url, timeout=60) as member:
            headers = signed("POST", "/v1/leave", b"leave")
            assert member.post("/v1/leave", headers=headers, content=b"leave").is_success


def test_who_looks_without_end_keeps_nobody_from_looking_now_and_then(call):
    """Only refusals were counted: pages and figures were shown as fast as anybody asked."""
    limits = {"looks": 8.0, "looks_per_second": 0.001, "look_share": 0.5, "own_looks": (2.0, 0.001)}
    look = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"

    def looks(times, source=""):
        said = [call(url, source).send(look).hear() for _ in range(times)]
        return [int(each.split()[1]) for each in said]

    with serve(app(**limits)) as url:
        assert looks(8, "127.0.1.1") == [200] * 6 + [429] * 2  # two of its own, half of the eight
        assert looks(8, "127.0.1.2") == [200] * 6 + [429] * 2
        assert looks(3, "127.0.1.3") == [200] * 2 + [429]  # nothing is left, but its own
        member = call(url, "127.0.1.1")
        for _ in range(5):  # who signs, and what comes by its connection, is not a stranger's look
            assert b" 204 " in member.ask("x-member: yes")
            assert b"HTTP/1.1 200" in member.send(
                look.replace(b"close", b"keep-alive")
            ).socket.recv(1 << 16)


def test_a_member_that_asks_without_end_waits_for_its_answers(monkeypatch):
    """One member on thirty-two connections had as much of the service as all others together; a
    second for each answer, whatever else it had asked, was still as much as fifty others take.
    """
    stopped = SimpleNamespace(monotonic=lambda: 1000.0)
    monkeypatch.setattr("tacit.service.protocol.waiting.time", stopped)
    rested = []

    async def rest(seconds):
        rested.append(seconds)

    monkeypatch.setattr("tacit.service.protocol.guard.asyncio.sleep", rest)

    async def main():
        async with client_of(app(asks=3.0, asks_per_second=0.5)) as client:
            for owner, times in (("aa", 3), ("bb", 2), ("AA", 7)):
                for _ in range(times):
                    headers = {"x-member": "yes", OWNER: owner}
                    answer = await client.get("/v1/question", headers=headers)
                    assert answer.status_code == 204
            before = len(rested)
            for _ in range(5):  # of a name that a stranger says nothing is taken
                assert (await client.get("/v1/question", headers={OWNER: "bb"})).status_code == 403
            await client.get("/v1/question", headers={"x-member": "yes", OWNER: "bb"})
            return before

    assert asyncio.run(main()) == 7
    assert rested == [2.0, 4.0, 6.0, 8.0, 10.0, 10.0, 10.0]  # one in two seconds, of all of them


def test_a_member_looks_as_often_as_it_asks(call, monkeypatch):
    """Pages by a connection that a member had proven were not counted as anybody's."""
    monkeypatch.setattr("tacit.service.protocol.guard._REST", 2.0)
    few = {"asks": 3.0, "asks_per_second": 0.001}
    with serve(app(**few)) as url:
        member, began = call(url), time.monotonic()
        assert b" 204 " in member.ask("x-member: yes", "x-tacit-owner: aa")
        look = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
        for _ in range(3):
            assert b"HTTP/1.1 200" in member.send(look).socket.recv(1 << 16)
        assert time.monotonic() - began >= 2.0


@pytest.mark.parametrize("several", [False, True])
def test_an_administrator_is_not_put_off_for_its_neighbours(tmp_path, several):
    """Strangers behind one address with an administrator kept it from pausing anything."""
    folder, limits = folder_of(tmp_path), Limits(burst=2, per_second=0.001)
    if several:
        service = Service(
            [folder],
            f"sqlite:///{folder}/c.db",
            lambda slug: CampaignKeys.of(Ed25519PrivateKey.generate()),
            lambda slug: Making(admin=ADMIN),
            limits,
        )
        service.mount(service.look())
        made, root = service.app(), "/campaigns/campaign"
    else:
        service = running(folder, limits=limits)
        made, root = service.app, ""

    async def main():
        async with client_of(made) as client:
            found = [await client.get("/nowhere") for _ in range(3)]
            for key in ("a guess", ADMIN):
                headers = {"x-tacit-admin": key}
                state = f"{root}/v1/admin/state"
                found.append(await client.post(state, content=b"paused", headers=headers))
                found.append(await client.get(f"{root}/v1/status", headers=headers))
            return [answer.status_code for answer in found]

    assert asyncio.run(main()) == [404, 404, 429, 429, 429, 200, 429]
    service.close()


def test_owners_routes_take_four_kilobytes_and_administrators_more(tmp_path):
    service = running(folder_of(tmp_path))
    cases = [
        ("/v1/report", 4097, {}),
        ("/v1/leave", 4097, {}),
        ("/v1/enrol", 8193, {}),
        ("/v1/admin/tokens", 4097, {"x-tacit-admin": "guessed"}),
        ("/v1/admin/tokens", 100_000, {"x-tacit-admin": ADMIN}),
    ]

    async def main():
        async with client_of(service.app) as client:
            found = [
                await client.post(path, content=b"x" * size, headers=headers)
                for path, size, headers in cases
            ]
            return [answer.status_code for answer in found]

    assert asyncio.run(main()) == [413, 413, 413, 413, 400]


def test_silent_strangers_do_not_stop_the_helper(tmp_path, call):
    authority = Authority.create(tmp_path, "mine")
    trust = ssl.create_default_context(cafile=str(authority.certificate))
    with serve(helper(tmp_path).app(), authority, FEW) as url:
        for _ in range(60):
            call(url)
        assert httpx.get(f"{url}/v1/key", verify=trust, timeout=10).status_code == 200


def test_requests_are_not_piled_up_on_a_connection(call):
    """One piece of 200 KB with thousands of requests: each was kept, with its scope, until those
    before it were answered.
    """

    async def slow(scope, receive, send):
        if scope["type"] == "http":
            made.append(scope["path"])
            await asyncio.sleep(0.2)
            await shown(scope, receive, send)

    made = list[str]()
    with serve(Guard(slow, Limits())) as url:
        said = call(url).send(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n" * 8000).hear(answers=12)
    assert said.count(b"HTTP/1.1 200") <= 12  # it was hung up on a second later
    assert len(made) <= 12


def test_an_answer_is_written_as_it_is_taken(call):
    """Whoever asked for a model and did not listen had all of it wait in memory."""
    waiting = []

    async def large(scope, receive, send):
        if scope["type"] == "http":
            visitor = scope[VISITOR]
            asyncio.get_running_loop().call_later(
                0.3, lambda: waiting.append(visitor.protocol.transport.get_write_buffer_size())
            )
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": bytes(8 * LARGE)})

    with serve(Guard(large, Limits())) as url:
        deaf = call(url).send(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        until = time.monotonic() + 60
        while not waiting and time.monotonic() < until:
            time.sleep(0.05)
        assert waiting[0] < 1 << 18
        whole = 0
        while whole < 8 * LARGE:
            whole += len(deaf.socket.recv(1 << 20))


def test_a_header_of_ours_comes_once(call):
    with serve(app()) as url:
        assert b" 204 " in call(url).ask("x-member: yes", "x-member: yes")  # others may
        assert b" 400 " in call(url).ask("x-member: yes", "x-tacit-owner: a", "X-Tacit-Owner: b")


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("::ffff:192.0.2.7", "192.0.2.7"),  # IPv4 at a socket for both
        ("64:ff9b::c000:207", "192.0.2.7"),  # IPv4 by way of a translator
        ("fe80::1%eth0", "fe80::/64"),
        ("203.0.113.9:4711", "203.0.113.9:4711"),  # what proxies say
        ("no: address", "no: address"),
        ("y" * 10_000, "y" * 64),
    ],
)
def test_what_counts_as_one_address(host, network):
    assert network_of(host) == network


def test_neighbours_by_ipv4_are_told_apart_at_a_socket_for_both(call):
    """All of IPv4 was one address there: one stranger used up what everybody may."""
    few = ConnectionLimits(burst=3, per_second=0.001)
    with serve(app(), None, few, host="::") as url:
        here = url.replace("[::]", "127.0.0.1")
        assert [b"403" in call(here, "127.0.1.1").ask() for _ in range(4)] == [True] * 3 + [False]
        assert b"403" in call(here, "127.0.1.2").ask()


def test_a_proxy_that_says_nonsense_is_answered():
    odd = {"x-forwarded-for": "a:b:c"}
    networks = ConnectionLimits(proxies=("127.0.0.0/8",))
    with serve(app(), None, networks) as url:
        assert httpx.get(url, headers=odd).text == "a:b:c"
        assert httpx.get(url, headers={"x-forwarded-for": "9.9.9.9"}).text == "9.9.9.9"


@pytest.mark.parametrize("text", ["*", "nonsense", "10.0.0.0/99", ""])
def test_a_proxy_is_an_address_or_a_network(text):
    with pytest.raises(ValueError, match="trusted proxy must be an address or a network"):
        check_proxy(text)


def test_a_key_in_other_writings_has_no_more_connections(tmp_path, call):
    """Connections are counted by the key that signs: spaces between its digits made it another."""
    service, key = running(folder_of(tmp_path)), Ed25519PrivateKey.generate()
    service.store.add_tokens(["token number 0000"])
    assert enrol(service.store, public_bytes(key.public_key()).hex(), "token number 0000")
    asked = Request(bytes.fromhex(service.fingerprint), *SIGNED, int(time.time()), b"")
    headers = request_headers(asked, key)
    owner = headers.pop(OWNER)

    def spelled(spaces):
        lines = headers | {OWNER: owner[: 2 * spaces] + " " + owner[2 * spaces :]}
        return [f"{name}: {value}" for name, value in lines.items()]

    with serve(service.app, limits=ConnectionLimits(per_member=2, head=600.0)) as url:
        callers = [call(url) for _ in range(6)]
        said = [caller.ask(*spelled(at)) for at, caller in enumerate(callers)]
        assert b" 204 " in said[0]  # a space before it is none
        assert all(b" 401 " in each for each in said[1:])


def test_who_is_refused_is_a_stranger_again(call):
    """A connection was a member's for as long as it lasted: who had been revoked could go on for
    ever, and was never put off.
    """
    with serve(app(burst=5, per_second=0.001)) as url:
        caller = call(url)
        assert b" 204 " in caller.ask("x-member: yes")
        said = [caller.ask() for _ in range(8)]
        assert [b" 429 " in each or not each for each in said] == [False] * 5 + [True] * 3


def test_who_is_refused_makes_room_and_may_come_back(call):
    with serve(app(), limits=ConnectionLimits(per_address=2, head=600.0)) as url:
        first, second = call(url), call(url)
        for each in (first, second):
            assert b" 204 " in each.ask("x-member: yes")
        assert b" 403 " in first.ask()
        assert b" 204 " in first.ask("x-member: yes")  # and is a member's again
        assert b" 403 " in second.ask()
        others = [call(url) for _ in range(2)]
        assert all(b" 403 " in each.ask() for each in others)
        assert second.hear() == b""  # the oldest of the strangers
        assert b" 204 " in first.ask("x-member: yes")


def test_a_proxys_connection_is_nobodys(call):
    """One member's request by a proxy's connection let everybody else who comes by it go on."""
    limits = ConnectionLimits(proxies=("127.0.0.1",))
    with serve(app(burst=5, per_second=0.001), limits=limits) as url:
        caller = call(url)
        assert b" 204 " in caller.ask("x-member: yes", "x-forwarded-for: 192.0.2.1")
        said = [caller.ask("x-forwarded-for: 192.0.2.9") for _ in range(7)]
        assert [b" 429 " in each or not each for each in said] == [False] * 5 + [True] * 2
