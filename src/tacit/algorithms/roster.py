"""Who takes part among peers: public, numbered in the order they came, and never renumbered."""

from dataclasses import dataclass

from tacit._util.checks import bad, whole
from tacit.learners.peers.peer_model import Additive
from tacit.wire import message

_KEY = 32  # bytes of an Ed25519 public key


@dataclass(frozen=True)
class Roll:
    """Asks who takes part from now on; the answer is a `Roster`, or None when nobody comes or goes
    any more.

    `model` is what was released so far.
    """

    model: Additive


@message("peer")
@dataclass(frozen=True)
class Peer:
    """A participant: its number, the public key that it signs with, its name, and the attributes
    it holds by number.
    """

    number: int
    key: bytes
    name: str
    held: tuple[int, ...]

    def __post_init__(self) -> None:
        whole("number", self.number, 0)
        if not len(self.key) == _KEY:
            raise bad("key", f"{_KEY} bytes", len(self.key))
        if not (len(self.name) <= 200 and self.name.isprintable()):
            raise bad("name", "at most 200 printable characters", self.name[:20])
        if not (self.held and all(whole("held", column, 0) >= 0 for column in self.held)):
            raise bad("held", "one attribute at least", self.held)


@message("roster")
@dataclass(frozen=True)
class Roster:
    """All that ever came, those who are new since the roster before (from number `first` on),
    and those who left.
    """

    peers: tuple[Peer, ...] = ()
    first: int = 0
    gone: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not tuple(peer.number for peer in self.peers) == tuple(range(len(self.peers))):
            raise ValueError("numbers must count the participants from 0")
        if not len({peer.key for peer in self.peers}) == len(self.peers):
            raise ValueError("keys must be those of different participants")
        if not 0 <= whole("first", self.first, 0) <= len(self.peers):
            raise bad("first", f"at most {len(self.peers)}", self.first)
        if not (
            tuple(sorted(set(self.gone))) == self.gone
            and set(self.gone) <= set(range(len(self.peers)))
        ):
            raise bad("gone", "numbers of participants in rising order", self.gone)

    def follows(self, before: "Roster") -> bool:
        """Whether this may come after `before`: nobody was changed, renumbered or brought back."""
        return (
            self.peers[: self.first] == before.peers
            and set(before.gone) <= set(self.gone)
            and self != before
        )

    @property
    def newcomers(self) -> tuple[Peer, ...]:
        """Those who have not had their turns, and have not left."""
        return tuple(peer for peer in self.peers[self.first :] if peer.number not in self.gone)

    @property
    def present(self) -> int:
        """How many take part."""
        return len(self.peers) - len(self.gone)
