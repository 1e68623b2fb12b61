"""What peers say to each other through a coordinator that can drop it, but not make it up.

A peer signs its report together with the digest of the question it answers, and so with all that
was released before, which the question holds. The coordinator relays question and signed report to
everybody else (`Turn`), and says who takes part (`Roster`).

A peer may go by another key from a turn on: what both keys sign about that comes with the turn.

A follower runs the algorithm of the campaign's terms on them from the beginning, and takes in
nothing that does not fit: a roster that changes somebody, a question that the algorithm does not
ask now, a report that the speaker's key did not sign for that very question. What this prevents and
what it does not: peer_replay.md. No sockets and no files here.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tacit._util.checks import bad
from tacit.algorithms.peers import Peer, Released, Roll, Roster
from tacit.data.cohort import Cohort
from tacit.data.schema import Schema
from tacit.learners.peers.leaf_counts import PeerQuery
from tacit.learners.query import PURPOSE, Invitation, Query, digest_of, unpack
from tacit.service.protocol.succession import MOST, Renewal
from tacit.wire import WireError, encode, message
from tacit.wire.envelopes import open_signed, public_bytes

SPOKEN, ROSTER, TURN = "spoken", "roster", "turn"  # purposes of signatures
MOST_RENEWED = 1000  # peers that go by other keys from one turn on
_DIGEST = 32


@message("spoken")
@dataclass(frozen=True)
class Spoken:
    """A report to the question with this digest; a peer signs it for the purpose `SPOKEN`."""

    digest: bytes
    report: bytes

    def __post_init__(self) -> None:
        if not len(self.digest) == _DIGEST:
            raise bad("digest", f"{_DIGEST} bytes", len(self.digest))


@message("turn")
@dataclass(frozen=True)
class Turn:
    """A turn that is over: the coordinator's signed invitation, and what the peer signed; empty
    if it was silent.
    """

    invitation: bytes
    spoken: bytes


@message("turn.renewed")
@dataclass(frozen=True)
class RenewedTurn(Turn):
    """A turn from which on some peers go by other keys, and what these peers' old and new keys
    signed about that.
    """

    renewals: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if not len(self.renewals) <= MOST_RENEWED:
            raise bad("renewals", f"at most {MOST_RENEWED}", len(self.renewals))


@dataclass(frozen=True)
class PeerKeys:
    """The keys that peers of a campaign go by, each after the one that a roster names for good."""

    campaign: bytes
    renewals: tuple[Renewal, ...] = ()  # in the order in which they came

    def renew(self, statements: Iterable[bytes], turn: int) -> "PeerKeys":
        """These, and what is said to hold from a turn on; a `WireError` where it does not follow.

        A key is replaced once, so whoever has an old one can lead nobody elsewhere; a new one is
        nobody's.
        """
        known = self
        for statement in statements:
            said = Renewal.open(statement, self.campaign)
            if said.turn != turn:
                raise WireError("a key was renewed for another turn")
            if said.old in known.old_keys or said.new in known.old_keys | known.new_keys | {
                said.old
            }:
                raise WireError("a key was replaced before, or takes the place of two")
            if not len(known.line(said.new, said)) <= MOST:
                raise WireError(f"a key can be replaced at most {MOST} times")
            known = replace(known, renewals=(*known.renewals, said))
        return known

    @property
    def old_keys(self) -> set[bytes]:
        """Keys that are in use no more."""
        return {said.old for said in self.renewals}

    @property
    def new_keys(self) -> set[bytes]:
        """Keys that took the place of others."""
        return {said.new for said in self.renewals}

    def line(self, key: bytes, *last: Renewal) -> list[Renewal]:
        """How a key came to be in use, beginning with the `last` step."""
        found, before = [], {said.new: said for said in (*self.renewals, *last)}
        while key in before:
            found.append(before[key])
            key = before[key].old
        return found

    def first(self, key: bytes) -> bytes:
        """The key that a roster has for whoever goes by this one."""
        line = self.line(key)
        return line[-1].old if line else key

    def current(self, first: bytes) -> bytes:
        """The key in use of whoever a roster has with this one."""
        after = {said.old: said.new for said in self.renewals}
        while first in after:
            first = after[first]
        return first


@message("contradiction")
@dataclass(frozen=True)
class Contradiction:
    """Two things that the peer with a key signed for one question: proof that it lied, which
    nobody without the key could make.
    """

    key: bytes
    first: bytes
    second: bytes

    @property
    def holds(self) -> bool:
        """Whether it is proof."""
        return self._is_shown_by([self.key])

    def _is_shown_by(self, keys: Sequence[bytes]) -> bool:
        """Whether some of these keys signed both."""
        said = [found for each in (self.first, self.second) for found in _words(each, keys)]
        return (
            len(said) == 2 and said[0].digest == said[1].digest and said[0].report != said[1].report
        )


@message("contradiction.renewed")
@dataclass(frozen=True)
class RenewedContradiction(Contradiction):
    """Of a peer whose key, that of the rosters, was replaced in a campaign: one of its keys signed
    each of the two.
    """

    campaign: bytes
    renewals: tuple[bytes, ...]

    @property
    def holds(self) -> bool:
        line = PeerKeys(self.campaign)
        try:
            for each in self.renewals:
                said = Renewal.open(each, self.campaign)
                if said.old != line.current(self.key):
                    return False
                line = line.renew([each], said.turn)
        except WireError:
            return False
        return self._is_shown_by([self.key, *(said.new for said in line.renewals)])


def _words(data: bytes, keys: Iterable[bytes]) -> Iterator[Spoken]:
    """What is inside of what one of some keys has signed; nothing if none has."""
    for key in keys:
        with suppress(WireError, ValueError):
            yield open_signed(data, Spoken, SPOKEN, Ed25519PublicKey.from_public_bytes(key))


class RelayTerms(Protocol):
    """What coordinator and peers need to know of a campaign that is only relayed: there are so many
    `attributes`, and it waits `newcomers` seconds for somebody to come.
    """

    @property
    def name(self) -> str: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def attributes(self) -> int: ...
    @property
    def newcomers(self) -> float: ...

    def replay(self) -> Generator[Any, Any, Any]:
        """The algorithm, as those who take part run it themselves."""

    def keep_own_model(self, file: Path, rows: Cohort, released: Released, me: int) -> None:
        """Write what participant `me` makes for itself of its own rows and what was released."""


_Kind = TypeVar("_Kind")
_CLOSE = 1e-9  # scores are logarithms: machines may differ in their last bits


class ForgeryError(ValueError):
    """What the coordinator relays does not follow from what peers have signed."""


class Following:
    """Follows a campaign signed with one of `keys`, the first of which it is known by, the last of
    which it signs with now. With `known` only peers with these public keys are accepted; `mine` is
    what the follower itself has said of its keys.
    """

    def __init__(
        self,
        terms: RelayTerms,
        *keys: Ed25519PublicKey,
        known: Collection[bytes] | None = None,
        mine: Collection[bytes] = (),
    ) -> None:
        self._terms = terms
        self.keys = keys
        self._replaced: tuple[Ed25519PublicKey, ...] = ()  # since it began to follow
        self._known = known
        self._peer_keys = PeerKeys(public_bytes(keys[0]))
        self._mine = {each: Renewal.open(each, self._peer_keys.campaign) for each in mine}
        self._algorithm = terms.replay()
        self._now: Roll | PeerQuery = next(self._algorithm)
        self.roster = Roster()
        self.rosters = 0  # taken in so far
        self.turns = 0

    @property
    def key(self) -> Ed25519PublicKey:
        """The one that the campaign signs with now."""
        return self.keys[-1]

    def renew_key(self, key: Ed25519PublicKey) -> None:
        """Go by this key of the campaign alone from now on."""
        if public_bytes(key) != public_bytes(self.key):
            self._replaced += (self.key,)
        self.keys = (key,)

    def is_of_before(self, question: bytes) -> bool:
        """Whether a question was signed with a key that was replaced meanwhile: it is not admitted,
        and nobody lied. The campaign puts it again, signed with the one in use.
        """
        for key in self._replaced:
            with suppress(WireError):
                open_signed(question, Invitation, PURPOSE, key)
                return True
        return False

    @property
    def wants(self) -> str:
        """Where the coordinator has what comes next."""
        return (
            f"/v1/rosters/{self.rosters + 1}" if self.is_settled else f"/v1/turns/{self.turns + 1}"
        )

    @property
    def is_settled(self) -> bool:
        """Whether all turns that were given are over."""
        return isinstance(self._now, Roll)

    @property
    def model(self) -> Released:
        """All that was released so far by those who have not left, as the next question has it;
        when all turns are over, as the method has it.
        """
        return self._now.model

    def first_key(self, key: bytes) -> bytes:
        """The key by which rosters know the follower that goes by this one."""
        return replace(self._peer_keys, renewals=tuple(self._mine.values())).first(key)

    def is_first_turn(self, key: bytes) -> bool:
        """Whether the follower goes by this public key from the turn that is next on, and that one
        is, or may be, its own: another key speaks from the turn after it, and nobody in this one.
        """
        if not any(said.new == key and said.turn == self.turns + 1 for said in self._mine.values()):
            return False
        if self.is_settled:  # whose it is a roster will say
            return True
        return self.roster.peers[_speaker(self._current_query())] == self.me(key)

    def me(self, key: bytes) -> Peer | None:
        """The participant that goes by this public key."""
        first = self.first_key(key)
        return next((peer for peer in self.roster.peers if peer.key == first), None)

    def take(self, data: bytes) -> None:
        """Take in what `wants` asked for, or `ForgeryError`."""
        try:
            if self.is_settled:
                self._take_roster(self._open(data, Roster, ROSTER))
            else:
                self._take_turn(self._open(data, Turn, TURN))
        except (WireError, ValueError) as problem:
            raise ForgeryError(f"{self.wants} cannot be taken in: {problem}") from problem

    def admit(self, question: bytes, key: bytes) -> None:
        """Refuse what is not the campaign's next question, put to the peer with this key;
        `ForgeryError`.
        """
        try:
            self._check_next(question)
        except WireError as problem:
            raise ForgeryError(f"the question does not follow: {problem}") from problem
        speaker = self.roster.peers[_speaker(self._current_query())]
        if self._renew(self._own_renewals()).current(speaker.key) != key:
            raise ForgeryError("the turn is somebody else's, by the roster")

    def _take_roster(self, roster: Roster) -> None:
        if not roster.follows(self.roster):
            raise ForgeryError("a roster changes or drops somebody who was on the one before")
        strange = [
            peer.number
            for peer in roster.peers
            if self._known is not None and peer.key not in self._known
        ]
        if strange:
            raise ForgeryError(
                f"participants {strange} have keys that are not among those you know"
            )
        _check_apart(self._peer_keys, roster)
        self._tell(roster)
        self.roster, self.rosters = roster, self.rosters + 1

    def _take_turn(self, turn: Turn) -> None:
        invitation = self._check_next(turn.invitation)
        query = self._current_query()
        renewals = turn.renewals if isinstance(turn, RenewedTurn) else ()
        keys = self._renew(renewals)
        if not set(self._own_renewals()) <= set(renewals):
            raise ForgeryError("it is kept from others that you go by another key now")
        answer = None
        if turn.spoken:
            speaker = self.roster.peers[_speaker(query)]
            key = Ed25519PublicKey.from_public_bytes(keys.current(speaker.key))
            spoken = open_signed(turn.spoken, Spoken, SPOKEN, key)
            if spoken.digest != invitation.digest:
                raise ForgeryError("a report was signed for another question")
            good, levels, reports = unpack([spoken.report], invitation.digest, query)
            if not good.all():
                raise ForgeryError("a report is not one to its question")
            answer = query.answer(query.collect(reports, np.array(query.epsilons)[levels]))
        self.turns += 1
        self._peer_keys = keys
        self._tell(answer)

    def _renew(self, statements: Iterable[bytes]) -> PeerKeys:
        """The keys that peers go by if the next turn says this of them."""
        keys = self._peer_keys.renew(statements, self.turns + 1)
        _check_apart(keys, self.roster)
        return keys

    def _own_renewals(self) -> list[bytes]:
        """What the follower has said of its keys that holds from the next turn on."""
        return [each for each, said in self._mine.items() if said.turn == self.turns + 1]

    def _check_next(self, question: bytes) -> Invitation:
        """The invitation in signed bytes, if it is the one that the algorithm would put now."""
        query = self._current_query()
        invitation = self._open(question, Invitation, PURPOSE)
        right = (self._terms.name, self.turns + 1, digest_of(self._terms.schema))
        if (invitation.campaign, invitation.number, invitation.schema) != right:
            raise ForgeryError("the question is not the next one of this campaign")
        if not same_question(invitation.query, query):
            raise ForgeryError("the question is not the one that follows from what was released")
        return invitation

    def _open(self, data: bytes, kind: Callable[..., _Kind], purpose: str) -> _Kind:
        """What is inside of what one of the keys has signed."""
        for key in self.keys[:-1]:
            with suppress(WireError):
                return open_signed(data, kind, purpose, key)
        return open_signed(data, kind, purpose, self.key)

    def _current_query(self) -> PeerQuery:
        if not isinstance(self._now, PeerQuery):
            raise ForgeryError("nobody has a turn now")
        return self._now

    def _tell(self, answer: Any) -> None:
        self._now = self._algorithm.send(answer)


def _check_apart(keys: PeerKeys, roster: Roster) -> None:
    """Refuse keys with which two participants would speak by one."""
    if keys.new_keys & {peer.key for peer in roster.peers}:
        raise ForgeryError("a participant goes by the key of another")


def same_question(given: Query, wanted: PeerQuery) -> bool:
    """Whether two questions ask the same: equal but for the last bits of scores that were
    released before.
    """
    if not isinstance(given, PeerQuery) or type(given) is not type(wanted):
        return False
    parts = [query.model.parts for query in (given, wanted)]
    here, there = ([score for part in known for score in part.scores] for known in parts)
    bare = [encode(_without_scores(query)) for query in (given, wanted)]
    return bare[0] == bare[1] and np.allclose(here, there, rtol=_CLOSE, atol=_CLOSE)


def _without_scores(query: Any) -> Any:
    """The question with zeros in place of all scores of its model."""
    bare = tuple(replace(part, scores=(0.0,) * len(part.scores)) for part in query.model.parts)
    return replace(query, model=type(query.model)(bare))


def _speaker(query: PeerQuery) -> int:
    if not isinstance(query.owners, tuple):
        raise ForgeryError("a turn is somebody's")
    return query.owners[0]
