"""A short version of `make faults`: two campaigns on one coordinator, in processes
of their own, killed on both sides."""

import random
import socket
import threading
from collections import Counter

from benchmarks.service.evidence import _twice
from benchmarks.service.faults import Line, campaign, together
from benchmarks.service.people import People
from benchmarks.service.postgres import free_port
from benchmarks.service.proxy import Mischief, Proxy
from benchmarks.service.stage import Plan, owner_process
from benchmarks.service.troubles import owners_up

PLAN = Plan(people=People(2, 3, rows=10), rounds=1, per_round=4, tls=False, neighbour=True)


def killed_on_both_sides(stage, chance):
    owners_up(stage)
    stage.until(lambda: stage.status()["owners"]["enrolled"] >= 1, 120.0, "an owner")
    stage.processes.kill("coordinator")
    stage.processes.kill(owner_process(0))
    stage.start_coordinator()
    stage.start_owners(0)
    stage.up()
    return 2


def test_kills_lose_nothing_and_count_nothing_twice():
    line = campaign("kills", PLAN, "", killed_on_both_sides, random.Random(1))  # noqa: S311 - mischief
    assert line == Line("kills", 2, 2, 0, 0, 0, 0, 0, "yes")
    assert line.sound


def test_what_is_wrong_in_one_campaign_is_wrong_in_all():
    good, bad = Line("x", 3, 1, 0, 0, 0, 0, 0, "yes"), Line("x", 2, 1, 0, 1, 0, 0, 0, "no")
    assert together([good, good]).sound
    assert together([good, bad]) == Line("x", 5, 2, 0, 1, 0, 0, 0, "no")
    assert not together([good, bad]).sound


def test_whoever_spoke_twice_is_counted():
    assert _twice(Counter({("a", 0): 1, ("a", 3): 1, ("b", 0): 3})) == 2


def test_the_proxy_doubles_damages_and_drops():
    heard = []
    server = socket.create_server(("127.0.0.1", 0))

    def answer(connection):
        with connection:
            heard.append(connection.recv(1000))
            connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    def serve():
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            answer(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"

    def through(**mischief):
        heard.clear()
        none = {"doubled": 0.0, "delayed": 0.0, "replayed": 0.0, "damaged": 0.0, "unanswered": 0.0}
        proxy = Proxy(free_port(), server.getsockname()[1], Mischief(**{**none, **mischief}))
        with proxy, socket.create_connection(("127.0.0.1", proxy.port)) as client:
            client.sendall(request)
            return client.recv(1000), list(heard)

    assert through() == (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", [request])
    assert through(doubled=1.0)[1] == [request, request]
    assert through(unanswered=1.0) == (b"", [request])
    (damaged,) = through(damaged=1.0)[1]
    assert len(damaged) == len(request)
    assert sum(a != b for a, b in zip(damaged, request, strict=True)) == 1
    server.shutdown(socket.SHUT_RDWR)  # wakes the thread up
    thread.join()
    server.close()
