"""Connections, before there is a request: how many, from whom, for how long.

Whoever connects is a stranger. A connection by which a member's signed request came is proven, and
is never asked to make room, but for another of the same member, which has so many at most; it is so
until something that comes by it is refused. Of strangers' connections an address has so many, and
so many new ones a second; when there are more, the oldest go. Handshakes, which cost most, are
begun so many a second: one from where members have come before, one from elsewhere, each in turn by
address, with as many turns as members speak for it; and some more that are for members' places
alone. So however many addresses strangers have, members' new connections wait for each other's, if
at all. A member that keeps coming anew, or on more connections than it may have, speaks for no
address any more. One from which too much was refused, and for which nobody speaks, is greeted late:
few a second for all such together, so that floods of refusals, and of one member's connections,
cost few handshakes. A handshake, the head of a request, and the reading of an
answer have deadlines; a head has a size. So strangers can only push each other out.

Claim: a stranger's connection costs at most a handshake, a head, and what the guard admits of a
body, and ends when one of the deadlines does. Edge: a member that has just connected is a stranger
until its first answer; in that moment others of its own address can push it out, and it comes
again, and its handshake stands in line with theirs.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from socket import SHUT_RDWR, socket
from typing import Protocol

from tacit.service.protocol.waiting import (
    Acquaintances,
    Allowances,
    WaitingRoom,
    network_of,
    now,
    plain_host,
)

VISITOR = "tacit.visitor"  # in the scope of a request: the connection it came by
_AT_ONCE = 32  # connections let in before others have their turn
_LOOK = 1.0  # seconds between looks at deadlines
_REST = 0.1  # seconds without new connections when the system has no more descriptors
GOODBYE = 1.0  # seconds for the last words of a connection
# why connections are closed that are not at their end
LATE, MANY, PUSHED_OUT, NO_HANDSHAKE = "late", "too many", "pushed out", "no handshake"
SLOW, WAITED, UNREADABLE, RECORDS = "slow", "waited too long", "unreadable", "records of TLS"
WHYS = LATE, MANY, PUSHED_OUT, NO_HANDSHAKE, SLOW, WAITED, UNREADABLE, RECORDS


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    """What connections may take.

    most : open at once.  strangers : of these, unproven.  per_address : of those, from one address.
    per_member : proven by one key; a gateway's many owners share connections, and each proves few.
    proofs, proofs_per_second : new ones of one key, at once and on and on, while it still speaks
    for where it comes from.
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
    proofs: float = 64.0
    proofs_per_second: float = 4.0
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
        self.since = now()
        self.room: WaitingRoom[Visitor] | None = None  # where it waits
        self.protocol: Deadlines | None = None  # None: waits, or is shaking hands
        self.is_proven = self.is_proxy = False
        self.member = b""  # whose signature proved it
        self._door = door

    def prove(self, member: bytes = b"") -> None:
        """A member has signed what came by this connection."""
        if not self.is_proven:
            self.is_proven, self.member = True, member
            self._door.trust(self)
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

    def refuse(self, why: str) -> None:
        """What came by this connection is not listened to any more."""
        self._door.refused(why)
        self.doubt()

    def retire(self) -> None:
        """The connection is closed: what it held is free now, before garbage is looked for."""
        self._door.forget(self)
        self.protocol = None

    def waits_since(self, seconds: float) -> bool:
        """Whether it came longer ago than that."""
        return now() > self.since + seconds

    def leave(self) -> None:
        """Close the connection now, whatever it is at; of one that waits nothing stays."""
        if self.room is not None:
            self.room.remove(self)
            self.connection.close()
            return
        with suppress(OSError):
            self.connection.shutdown(SHUT_RDWR)


class Door:
    """Lets connections in at a listening socket; `greet` shakes hands, and begins to listen."""

    def __init__(
        self,
        listening: socket,
        greet: Callable[[Visitor, ConnectionLimits], Awaitable[None]],
        limits: ConnectionLimits,
        refused: Callable[[str], None] = lambda why: None,
    ) -> None:
        self.refused = refused  # is told why a connection was closed that was not at its end
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
        self._known = Acquaintances()
        self._near, self._far, self._last = (
            WaitingRoom[Visitor](self._known.weight),
            WaitingRoom[Visitor](),
            WaitingRoom[Visitor](),
        )
        self._are_near_next = True
        self._proofs = Allowances(limits.proofs, limits.proofs_per_second)
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

    def count(self, visitor: Visitor) -> None:
        """One more of a member, on a connection of its own; of many the oldest goes. Its member
        speaks for where it came from, unless it comes too often: then for nothing, and each time is
        like something that was refused.
        """
        if visitor.is_proxy:
            return
        member, name = visitor.member, visitor.member.decode("latin-1")
        mine = self._of_member.get(member, OrderedDict())
        is_often = bool(member) and not self._proofs.tokens_left(name) >= 1
        if is_often or (member and len(mine) >= self._limits.per_member):
            self._known.disown(member)
            self.count_refusal(visitor)
        else:
            self._known.meet(member, visitor.address)
        if member:
            self._proofs.charge(name)
            if len(mine) >= self._limits.per_member:
                self._push_out(mine)
            self._of_member.setdefault(member, mine)[visitor] = None

    def doubt(self, visitor: Visitor) -> None:
        """One stranger more; of too many the oldest go. A member that is often refused comes too
        often, too.
        """
        self._uncount(visitor)
        self._proofs.charge(visitor.member.decode("latin-1"))
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
                self.refused(LATE if is_last else MANY)
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

    def _room_of(self, address: str) -> WaitingRoom[Visitor]:
        """Where one from there waits."""
        if self._known.weight(address):
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
        self.refused(PUSHED_OUT)
        self.forget(oldest)
        oldest.leave()
        return True

    async def _greet(self, visitor: Visitor) -> None:
        """Shake hands, and begin to listen."""
        try:
            await self._shake_hands(visitor, self._limits)
        except (OSError, TimeoutError, asyncio.CancelledError):  # no TLS, or too slow, or gone
            self.refused(NO_HANDSHAKE)
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
                self.refused(SLOW)
                self.count_refusal(visitor)
                visitor.protocol.transport.abort()
            elif visitor.room is not None and visitor.waits_since(self._limits.handshake):
                self.refused(WAITED)
                self.forget(visitor)
                visitor.leave()
