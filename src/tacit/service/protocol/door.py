"""Connections, before there is a request: how many, from whom, for how long.

Whoever connects is a stranger. A connection by which a member's signed request came is proven, and
is never asked to make room, but for another of the same member, which has so many at most; it is so
until something that comes by it is refused. Of strangers' connections an address has so many, and
so many new ones a second; when there are more, the oldest go. Handshakes, which cost most, are
begun so many a second: one from where members have come before, one from elsewhere, each in turn by
address; and some more that are for members' places alone. So however many addresses strangers have,
members' new connections wait for each other's, if at all. An address from which too much was
refused, and no member ever came, is greeted late: few a second for all such together, so that a
flood of refusals costs few handshakes. A handshake, the head of a request, and the reading of an
answer have deadlines; a head has a size. So strangers can only push each other out.

Claim: a stranger's connection costs at most a handshake, a head, and what the guard admits of a
body, and ends when one of the deadlines does. Edge: a member that has just connected is a stranger
until its first answer; in that moment others of its own address can push it out, and it comes
again.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from socket import SHUT_RDWR, socket
from typing import Protocol

from tacit._util.checks import bad

VISITOR = "tacit.visitor"  # in the scope of a request: the connection it came by
_AT_ONCE = 32  # connections let in before others have their turn
_NAMES = 10_000  # addresses remembered
_LOOK = 1.0  # seconds between looks at deadlines
_REST = 0.1  # seconds without new connections when the system has no more descriptors
GOODBYE = 1.0  # seconds for the last words of a connection


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    """What connections may take.

    most : open at once.  strangers : of these, unproven.  per_address : of those, from one address.
    per_member : proven by one key; a gateway's many owners share connections, and each proves few.
    burst, per_second : new ones from one address, at once and on and on.
    handshakes : begun in a second, of all addresses in turn; as many at once.
    members_handshakes : the same, besides, from where members have come before.
    refusals, forgiven : refusals that an address may have, and how many are forgiven in a second.
    late_handshakes, late : begun in a second with all addresses that have more, and how many of
    theirs wait for that; when there are so many, others are closed, and push nobody out.
    handshake, head : seconds for TLS, and for the head of a request (a new connection's from the
    beginning).  head_bytes : of a head.  reading : seconds for an answer to be taken.
    proxies : addresses or networks that stand for many, whose connections are limited by `most`
    alone, and may be made before there is a request.
    """

    most: int = 16_384
    strangers: int = 1024
    per_address: int = 128
    per_member: int = 32
    burst: float = 512.0
    per_second: float = 100.0
    handshakes: float = 100.0
    members_handshakes: float = 100.0
    refusals: float = 100.0
    forgiven: float = 0.2
    late_handshakes: float = 20.0
    late: int = 128
    handshake: float = 10.0
    head: float = 10.0
    head_bytes: int = 16 << 10
    reading: float = 60.0
    proxies: tuple[str, ...] = ()


class Deadlines(Protocol):
    """What the door knows of the protocol on a connection."""

    transport: asyncio.Transport

    def is_overdue(self, now: float) -> bool:
        """Whether something has taken too long."""


class Visitor:
    """One connection; `leave` is called when it must make room."""

    def __init__(self, address: str, connection: socket, door: "Door") -> None:
        self.address = address
        self.connection = connection
        self.since = time.monotonic()
        self.room: WaitingRoom | None = None  # where it waits
        self.protocol: Deadlines | None = None  # None: waits, or is shaking hands
        self.is_proven = self.is_proxy = False
        self.member = b""  # whose signature proved it
        self._door = door

    def prove(self, member: bytes = b"") -> None:
        """A member has signed what came by this connection."""
        if not self.is_proven:
            self.is_proven, self.member = True, member
            self._door.trust(self)
            self._door.know(self.address)
            self._door.count(self)

    def doubt(self) -> None:
        """Something that came by this connection was refused: its address has one refusal more, and
        until a member signs again it is like any other. Who was revoked keeps nothing of what
        members have.
        """
        self._door.count_refusal(self)
        if self.is_proven:
            self._door.doubt(self)
            self.is_proven, self.member = False, b""

    def retire(self) -> None:
        """The connection is closed: what it held is free now, before garbage is looked for."""
        self._door.forget(self)
        self.protocol = None

    def waits_since(self, seconds: float) -> bool:
        """Whether it came longer ago than that."""
        return time.monotonic() > self.since + seconds

    def leave(self) -> None:
        """Close the connection now, whatever it is at; of one that waits nothing stays."""
        if self.room is not None:
            self.room.remove(self)
            self.connection.close()
            return
        with suppress(OSError):
            self.connection.shutdown(SHUT_RDWR)


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


class WaitingRoom:
    """Who waits, an address after the other; of one address who came first."""

    def __init__(self) -> None:
        self._of_address: OrderedDict[str, OrderedDict[Visitor, None]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._of_address)

    def __len__(self) -> int:
        return sum(map(len, self._of_address.values()))

    def add(self, visitor: Visitor) -> None:
        self._of_address.setdefault(visitor.address, OrderedDict())[visitor] = None
        visitor.room = self

    def remove(self, visitor: Visitor) -> None:
        """It no longer waits."""
        waiting = self._of_address[visitor.address]
        del waiting[visitor]
        if not waiting:
            del self._of_address[visitor.address]
        visitor.room = None

    def call(self) -> Visitor:
        """Whose turn it is."""
        address, waiting = next(iter(self._of_address.items()))
        visitor = next(iter(waiting))
        self._of_address.move_to_end(address)
        self.remove(visitor)
        return visitor


class Door:
    """Lets connections in at a listening socket; `greet` shakes hands, and begins to listen."""

    def __init__(
        self,
        listening: socket,
        greet: Callable[[Visitor, ConnectionLimits], Awaitable[None]],
        limits: ConnectionLimits,
    ) -> None:
        self._listening = listening
        self._shake_hands = greet
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._visitors: set[Visitor] = set()
        self._strangers: OrderedDict[Visitor, None] = OrderedDict()  # the oldest first
        self._of_address: dict[str, OrderedDict[Visitor, None]] = {}
        self._of_member: dict[bytes, OrderedDict[Visitor, None]] = {}  # proven ones, by key
        # those that wait to be greeted: from where members have come, from elsewhere, and from
        # where too much was refused
        self._near, self._far, self._last = WaitingRoom(), WaitingRoom(), WaitingRoom()
        self._are_near_next = True
        self._members_came_from: OrderedDict[str, None] = OrderedDict()  # the last one last
        self._newcomers = Allowances(limits.burst, limits.per_second)
        self._proxies = [ip_network(each) for each in limits.proxies]
        self._handshakes = Allowances(limits.handshakes, limits.handshakes)
        self._reserved = Allowances(limits.members_handshakes, limits.members_handshakes)
        self._late = Allowances(limits.late_handshakes, limits.late_handshakes)
        self._refusals = Allowances(limits.refusals, limits.forgiven)
        self._greeting: set[asyncio.Task[None]] = set()
        self._is_open, self._is_waiting = True, False
        listening.setblocking(False)
        self._loop.add_reader(listening.fileno(), self._accept)
        self._look()

    # What a server is asked to do at its end
    # ------------------------------------------------------------------------------

    def close(self) -> None:
        """Let nobody in any more."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._listening.fileno())
            for room in (self._near, self._far, self._last):
                while room:
                    room.call().connection.close()

    async def wait_closed(self) -> None:
        for task in self._greeting:
            task.cancel()

    # Visitors
    # ------------------------------------------------------------------------------

    def trust(self, visitor: Visitor) -> None:
        """One stranger less."""
        if self._strangers.pop(visitor, visitor) is None:
            mine = self._of_address[visitor.address]
            del mine[visitor]
            if not mine:
                del self._of_address[visitor.address]

    def count_refusal(self, visitor: Visitor) -> None:
        """One more of its address; a proxy's are of many."""
        if not visitor.is_proxy:
            self._refusals.charge(visitor.address)

    def know(self, address: str) -> None:
        """A member has come from there."""
        self._members_came_from[address] = None
        self._members_came_from.move_to_end(address)
        if len(self._members_came_from) > _NAMES:
            self._members_came_from.popitem(last=False)

    def count(self, visitor: Visitor) -> None:
        """One more of a member, on a connection of its own; of many the oldest goes."""
        if not visitor.member or visitor.is_proxy:
            return
        mine = self._of_member.setdefault(visitor.member, OrderedDict())
        if len(mine) >= self._limits.per_member:
            self._push_out(mine)
        self._of_member.setdefault(visitor.member, mine)[visitor] = None

    def doubt(self, visitor: Visitor) -> None:
        """One stranger more; of too many the oldest go."""
        self._uncount(visitor)
        if visitor in self._visitors and not visitor.is_proxy:
            self._make_room(visitor.address)
            self._strangers[visitor] = None
            self._of_address.setdefault(visitor.address, OrderedDict())[visitor] = None

    def forget(self, visitor: Visitor) -> None:
        self.trust(visitor)
        self._visitors.discard(visitor)
        self._uncount(visitor)

    def _uncount(self, visitor: Visitor) -> None:
        """One less of a member."""
        mine = self._of_member.get(visitor.member, OrderedDict())
        mine.pop(visitor, None)
        if not mine:
            self._of_member.pop(visitor.member, None)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, (host, *_) = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionError):
                return
            except OSError:  # no descriptors left: make room, and rest
                self._push_out(self._strangers)
                self._loop.remove_reader(self._listening.fileno())
                self._loop.call_later(_REST, self._go_on)
                return
            connection.setblocking(False)
            address = network_of(host)
            visitor = Visitor(address, connection, self)
            visitor.is_proxy = self._is_proxy(host)
            room = self._room_of(address)
            is_last = room is self._last and not visitor.is_proxy
            if (is_last and len(room) >= self._limits.late) or not self._has_room(visitor):
                connection.close()
                continue
            self._visitors.add(visitor)
            if visitor.is_proxy:
                self._begin(visitor)
                continue
            self._strangers[visitor] = None
            self._of_address.setdefault(address, OrderedDict())[visitor] = None
            room.add(visitor)
            self._greet_next()

    def _room_of(self, address: str) -> WaitingRoom:
        """Where one from there waits."""
        if address in self._members_came_from:
            return self._near
        return self._far if self._refusals.tokens_left(address) >= 1 else self._last

    def _is_proxy(self, host: str) -> bool:
        """Whether it was named as one."""
        return bool(self._proxies) and any(
            ip_address(plain_host(host)) in each for each in self._proxies
        )

    def _begin(self, visitor: Visitor) -> None:
        task = self._loop.create_task(self._greet(visitor))
        self._greeting.add(task)
        task.add_done_callback(self._greeting.discard)

    def _greet_next(self) -> None:
        """Begin the handshakes that may begin now: near ones as are reserved for them, then near
        and far in turn, where both wait; and few of the last.
        """
        while self._near and self._reserved.take(""):
            self._begin(self._near.call())
        while self._last and self._late.take(""):
            self._begin(self._last.call())
        while (self._near or self._far) and self._handshakes.take(""):
            room = (
                self._near if self._near and (self._are_near_next or not self._far) else self._far
            )
            self._are_near_next = room is self._far
            self._begin(room.call())
        some = self._near or self._far or self._last
        if some and not self._is_waiting and self._is_open:
            self._is_waiting = True
            self._loop.call_later(1 / self._limits.handshakes, self._greet_later)

    def _greet_later(self) -> None:
        self._is_waiting = False
        self._greet_next()

    def _go_on(self) -> None:
        if self._is_open:
            self._loop.add_reader(self._listening.fileno(), self._accept)

    def _has_room(self, visitor: Visitor) -> bool:
        """Whether one more may come; older strangers make room for it."""
        if not visitor.is_proxy:
            if not self._newcomers.take(visitor.address):
                return False
            self._make_room(visitor.address)
        if len(self._visitors) >= self._limits.most:
            return self._push_out(self._strangers)
        return True

    def _make_room(self, address: str) -> None:
        """For one more stranger from there."""
        mine = self._of_address.get(address, OrderedDict())
        if len(mine) >= self._limits.per_address:
            self._push_out(mine)
        if len(self._strangers) >= self._limits.strangers:
            self._push_out(self._strangers)

    def _push_out(self, strangers: OrderedDict[Visitor, None]) -> bool:
        """Close the oldest of some; whether there was one."""
        oldest = next(iter(strangers), None)
        if oldest is None:
            return False
        self.forget(oldest)
        oldest.leave()
        return True

    async def _greet(self, visitor: Visitor) -> None:
        """Shake hands, and begin to listen."""
        try:
            await self._shake_hands(visitor, self._limits)
        except (OSError, TimeoutError, asyncio.CancelledError):  # no TLS, or too slow, or gone
            self.count_refusal(visitor)
            self.forget(visitor)
            visitor.connection.close()

    def _look(self) -> None:
        """Close whoever is past a deadline; look again for as long as the door is open."""
        if self._is_open:
            self._loop.call_later(_LOOK, self._look)
        now = self._loop.time()
        for visitor in list(self._visitors):
            if visitor.protocol is not None and visitor.protocol.is_overdue(now):
                self.count_refusal(visitor)
                visitor.protocol.transport.abort()
            elif visitor.room is not None and visitor.waits_since(self._limits.handshake):
                self.forget(visitor)
                visitor.leave()
