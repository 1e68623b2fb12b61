"""Who waits, and whose turn it is: allowances by name, addresses and how they are written, where
members have come from, a line in which members have equal shares, and turns at work that takes
long.

A member speaks for the last few addresses that it came from, and for none while it comes on more
connections than anybody needs. Of those that wait an address has its turn as often as members speak
for it; one for which nobody does, once. So one member, from however many addresses it comes, takes
the turns of few, and others never wait for more than their share.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from heapq import heappop, heappush
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_network
from itertools import count
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tacit._util.checks import bad

_NAMES = 10_000  # names remembered
_PLACES = 4  # addresses that one member speaks for
_BESIDE = 10.0  # seconds for which whoever asked counts as one that asks
_LEAST = 0.5  # of a processor, that anybody has, however many ask


def now() -> float:
    """Seconds of a clock that never jumps."""
    return time.monotonic()


class Allowances:
    """So many at once and so many a second, for each of some names."""

    def __init__(self, burst: float, per_second: float) -> None:
        self._burst, self._per_second = burst, per_second
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # by name: left, when

    def tokens_left(self, name: str) -> float:
        left, at = self._left.get(name, (self._burst, 0.0))
        return min(self._burst, left + (time.monotonic() - at) * self._per_second)

    def charge(self, name: str) -> None:
        """One less."""
        self._left[name] = self.tokens_left(name) - 1, time.monotonic()
        self._left.move_to_end(name)
        if len(self._left) > _NAMES:
            self._left.popitem(last=False)

    def take(self, name: str) -> bool:
        """One, if there is one left."""
        there = self.tokens_left(name) >= 1
        if there:
            self.charge(name)
        return there


_FORMS = IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96")  # of IPv4, as IPv6 writes it
_LONGEST_NAME = 64  # characters of what stands where an address should


def plain_host(host: str) -> str:
    """An address as it is written where it belongs: one of IPv4 that came by IPv6, which is how
    both arrive at one socket, is one of IPv4.

    >>> plain_host("::ffff:192.0.2.7"), plain_host("64:ff9b::c000:207"), plain_host("2001:db8::1")
    ('192.0.2.7', '192.0.2.7', '2001:db8::1')
    """
    if ":" not in host:
        return host[:_LONGEST_NAME]
    try:
        address = IPv6Address(host.partition("%")[0])
    except ValueError:  # whatever a proxy says
        return host[:_LONGEST_NAME]
    if any(address in form for form in _FORMS):
        return str(IPv4Address(address.packed[-4:]))
    return str(address)


def network_of(host: str) -> str:
    """What counts as one address: of the long ones the half that a site is given.

    >>> network_of("192.0.2.7"), network_of("2001:db8:1:2:3:4:5:6"), network_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8:1:2::/64', '192.0.2.7')
    """
    plain = plain_host(host)
    if ":" not in plain:
        return plain
    with suppress(ValueError):
        return str(IPv6Network((IPv6Address(plain), 64), strict=False))
    return plain


def check_proxy(text: str) -> str:
    """The address, or the network, of a proxy; ValueError: it is none."""
    try:
        ip_network(text)
    except ValueError:
        raise bad("trusted proxy", "an address or a network (10.0.0.0/8)", text) from None
    return text


class Waiting(Protocol):
    """Whoever waits, and from where; in which room, if it does."""

    address: str
    room: Any


class Acquaintances:
    """Where members have come from: each speaks for the last few of its addresses."""

    def __init__(self) -> None:
        self._places: OrderedDict[bytes, OrderedDict[str, None]] = OrderedDict()  # by member
        self._speaking: dict[str, int] = {}  # by address: members that speak for it

    def weight(self, address: str) -> int:
        """How many members speak for it."""
        return self._speaking.get(address, 0)

    def meet(self, member: bytes, address: str) -> None:
        """A member has come from there."""
        places = self._places.setdefault(member, OrderedDict())
        self._places.move_to_end(member)
        if address not in places:
            self._speaking[address] = self.weight(address) + 1
        places[address] = None
        places.move_to_end(address)
        if len(places) > _PLACES:
            self._fall_silent(places.popitem(last=False)[0])
        if len(self._places) > _NAMES:
            self.disown(next(iter(self._places)))

    def disown(self, member: bytes) -> None:
        """It speaks for no address any more."""
        for address in self._places.pop(member, ()):
            self._fall_silent(address)

    def _fall_silent(self, address: str) -> None:
        self._speaking[address] -= 1
        if not self._speaking[address]:
            del self._speaking[address]


class _Turn(NamedTuple):
    """Of an address: when it ends, whether others of it had one just before, and when it came."""

    end: float
    is_another: bool
    ticket: int
    begin: float
    address: str


V = TypeVar("V", bound=Waiting)


class WaitingRoom(Generic[V]):
    """Who waits; addresses have turns as they have weights, and of one address who came first.

    A turn of an address begins where the line is now, or where its last one ended, and is as long
    as one over its weight; whose turn ends first is next (fair queueing), of those that end
    together who has not waited before. So of two that never cease to come one with twice the weight
    has twice the turns, and one that comes now and then is next when it comes.
    """

    def __init__(self, weight: Callable[[str], int] = lambda address: 1) -> None:
        self._weight = weight
        self._of_address: dict[str, OrderedDict[V, None]] = {}
        self._turns: dict[str, _Turn] = {}  # of those that wait
        self._line: list[_Turn] = []  # a heap of these, and some that left
        self._ends: OrderedDict[str, float] = OrderedDict()  # of last turns, by address
        self._at = 0.0  # where the turn began of whoever was called last
        self._ticket = count()

    def __bool__(self) -> bool:
        return bool(self._of_address)

    def __len__(self) -> int:
        return sum(map(len, self._of_address.values()))

    def add(self, visitor: V) -> None:
        address = visitor.address
        if address not in self._of_address:
            self._of_address[address] = OrderedDict()
            self._queue(address, is_new=True)
        self._of_address[address][visitor] = None
        visitor.room = self

    def remove(self, visitor: V) -> None:
        """It no longer waits."""
        waiting = self._of_address[visitor.address]
        del waiting[visitor]
        if not waiting:
            del self._of_address[visitor.address], self._turns[visitor.address]
        visitor.room = None
        if len(self._line) > 2 * len(self._turns):
            self._line = sorted(self._turns.values())

    def call(self) -> V:
        """Whose turn it is."""
        turn = heappop(self._line)
        while self._turns.get(turn.address) is not turn:  # it left before it was called
            turn = heappop(self._line)
        address = turn.address
        self._at = max(self._at, turn.begin)
        self._ends[address] = turn.end
        self._ends.move_to_end(address)
        if len(self._ends) > _NAMES:
            self._ends.popitem(last=False)
        visitor = next(iter(self._of_address[address]))
        self._queue(address, is_new=False)
        self.remove(visitor)
        return visitor

    def _queue(self, address: str, *, is_new: bool) -> None:
        """For the next turn of an address."""
        begin = max(self._at, self._ends.get(address, 0.0))
        end = begin + 1 / max(self._weight(address), 1)
        turn = self._turns[address] = _Turn(end, not is_new, next(self._ticket), begin, address)
        heappush(self._line, turn)


class Turns:
    """Turns at work that takes long: so many at once for each name, and for as long as others ask
    beside it no more of the time than its share: of the processors, but at least half of one and at
    most one. Who is alone, or asks now and then, never waits. So one that asks without end leaves
    time to those that do not, and threads that would compute beside it have it.
    """

    def __init__(self, at_once: int, processors: int) -> None:
        self._at_once, self._processors = at_once, processors
        self._slots: dict[str, asyncio.Semaphore] = {}
        self._asked: dict[str, float] = {}  # when each asked last
        self._due: dict[str, float] = {}  # when each has had no more than its share

    @asynccontextmanager
    async def turn_of(self, name: str) -> AsyncIterator[None]:
        """Wait for a turn; what is done inside is what it takes."""
        self._asked[name] = now()
        async with self._slots.setdefault(name, asyncio.Semaphore(self._at_once)):
            while self._share and (early := self._due.get(name, 0.0) - now()) > 0:
                await asyncio.sleep(min(early, 1.0))
            began = now()
            try:
                yield
            finally:
                if share := self._share:
                    before = max(self._due.get(name, 0.0), began)
                    self._due[name] = before + (now() - began) / share

    @property
    def names(self) -> set[str]:
        """Who has asked."""
        return set(self._asked)

    def forget(self, name: str) -> None:
        """Nobody goes by that name any more."""
        for known in (self._slots, self._asked, self._due):
            known.pop(name, None)

    @property
    def _share(self) -> float:
        """Seconds a second that each may take while others ask as well; 0: nobody does."""
        beside = sum(asked > now() - _BESIDE for asked in self._asked.values())
        return min(max(self._processors / beside, _LEAST), 1.0) if beside > 1 else 0.0
