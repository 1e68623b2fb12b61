"""Whose turn it is: shares by weight, and members that speak for few places."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tacit.service.protocol.waiting import Acquaintances, WaitingRoom


@dataclass(eq=False)
class One:
    """Whoever waits."""

    address: str
    room: Any = None


def one(address):
    return One(address)


def room_of(weights=lambda address: 1):
    return WaitingRoom[One](weights)


def test_turns_are_as_weights():
    weights = {"a": 1, "b": 3}
    room = room_of(weights.get)
    for _ in range(40):
        for address in weights:
            room.add(one(address))
    assert Counter(room.call().address for _ in range(40)) == {"a": 10, "b": 30}


def test_of_one_address_who_came_first():
    room = room_of()
    came = [one("a") for _ in range(5)]
    for each in came:
        room.add(each)
    room.remove(came[2])
    assert [room.call() for _ in range(4)] == [came[0], came[1], came[3], came[4]]
    assert not room
    assert len(room) == 0


def test_who_comes_now_and_then_is_next_among_those_who_never_cease():
    room = room_of()
    for _ in range(100):
        for address in "abcdefgh":
            room.add(one(address))
    for called in (50, 51, 53):
        for _ in range(called):
            room.call()
        seldom = one("now and then")
        room.add(seldom)
        assert room.call() is seldom


def test_who_has_the_weight_of_many_waits_for_none_that_has_its_turn_once():
    room = room_of(lambda address: 10 if address == "many" else 1)
    for _ in range(100):
        for address in "abcdefghijklmnopqrst":
            room.add(one(address))
    for _ in range(50):
        room.call()
    mine = [one("many") for _ in range(5)]
    for each in mine:
        room.add(each)
    assert [room.call() for _ in range(5)] == mine


def test_who_comes_and_goes_gains_and_leaves_nothing():
    room = room_of()
    for _ in range(1000):
        gone = one("a")
        room.add(gone)
        room.remove(gone)
    assert gone.room is None
    assert not room
    assert not room._line
    for address in ("b", "a", "b", "a"):
        room.add(one(address))
    assert [room.call().address for _ in range(4)] == ["b", "a", "b", "a"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=60))
def test_whoever_waits_is_called_once_and_nobody_else(steps):
    room, waiting = room_of({"a": 1, "b": 2, "c": 5}.get), []
    for address, what in steps:
        if what < 2:
            waiting.append(one(address))
            room.add(waiting[-1])
        elif waiting and what == 2:
            room.remove(waiting.pop())
        elif waiting:
            waiting.remove(room.call())
        assert len(room) == len(waiting)
    assert {room.call() for _ in range(len(room))} == set(waiting)


def test_a_member_speaks_for_the_last_few_of_its_places():
    known = Acquaintances()
    for at in range(20):
        known.meet(b"m", f"place {at}")
    known.meet(b"n", "place 19")
    assert [known.weight(f"place {at}") for at in range(15, 20)] == [0, 1, 1, 1, 2]
    known.meet(b"m", "place 16")  # which it came from before
    assert known.weight("place 16") == 1
    known.disown(b"m")
    known.disown(b"nobody")
    assert [known.weight(f"place {at}") for at in range(15, 20)] == [0, 0, 0, 0, 1]


def test_members_that_are_remembered_are_so_many(monkeypatch):
    monkeypatch.setattr("tacit.service.protocol.waiting._NAMES", 3)
    known = Acquaintances()
    for member in (b"a", b"b", b"a", b"c", b"d"):
        known.meet(member, member.decode())
    assert [known.weight(each) for each in "abcd"] == [1, 0, 1, 1]
