"""What peers say to each other through a coordinator that can drop it, but not make it up.

A peer signs its report together with the digest of the question it answers, and so with all that was released before,
which the question holds. The coordinator relays question and signed report to everybody else.
"""

from dataclasses import dataclass

from tacit.checks import bad
from tacit.wire import message

SPOKEN, ROSTER, TURN = "spoken", "roster", "turn"  # purposes of signatures
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
    """A turn that is over: the coordinator's signed invitation, and what the peer signed; empty if it was silent."""

    invitation: bytes
    spoken: bytes
