"""Owners that introduce themselves, many at a time: a token admits one owner, whoever is faster.

The same owner with the same token again is enrolled still; so a request that is repeated, also to another worker at the
same moment, does no harm. Tokens are locked before anything is read, in the same order by everybody: whoever holds the
lock of a token decides about it alone, and two workers never wait for each other.
"""

import re
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from tacit.coordinator import bulk
from tacit.coordinator.batches import Sent
from tacit.coordinator.store import Store, hashed

_HELD = re.compile(r"(\d{1,6}(,\d{1,6}){0,999})?", re.ASCII)  # numbers of attributes
_LONGEST = 200  # characters of a token, and of a label


class Enrolled(Enum):
    """What became of a request to be enrolled."""

    YES = "yes"
    NO = "no"
    MALFORMED = "malformed"


class Newcomer(NamedTuple):
    """An owner with its token; `held` are the numbers of the attributes that it has, empty: all."""

    owner: str
    token: str
    label: str = ""
    held: str = ""

    @classmethod
    def read(cls, owner: str, body: bytes) -> "Newcomer | None":
        """From the lines of a request; None: malformed."""
        try:
            token, label, *more = (part.decode() for part in body.split(b"\n", 2))
        except ValueError:
            return None
        held = "".join(more)
        good = 1 <= len(token) <= _LONGEST and len(label) <= _LONGEST and (token + label).isprintable()
        return cls(owner, token, label, held) if good and _HELD.fullmatch(held) else None


class Enrolling:
    """Writes newcomers to the store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def enrol(self, batch: Sequence[Sent]) -> list[Enrolled]:
        """What becomes of some requests, in their order."""
        read = [Newcomer.read(owner, body) for owner, body in batch]
        taken = iter(self.admit([newcomer for newcomer in read if newcomer is not None]))
        return [Enrolled.MALFORMED if newcomer is None else next(taken) for newcomer in read]

    def admit(self, newcomers: Sequence[Newcomer]) -> list[Enrolled]:
        """Enrol those whose token nobody has used, each owner once."""
        if not newcomers:
            return []
        hashes = [hashed(newcomer.token) for newcomer in newcomers]
        with self._store.transaction() as connection:
            free = bulk.free_tokens(connection, hashes)
            known = bulk.tokens_of(connection, [newcomer.owner for newcomer in newcomers])
            rows = {}
            for newcomer, token in zip(newcomers, hashes, strict=True):
                if newcomer.owner not in known and token in free:
                    free.remove(token)
                    known[newcomer.owner] = token
                    rows[newcomer.owner] = {
                        "owner": newcomer.owner,
                        "label": newcomer.label,
                        "held": newcomer.held,
                        "token": token,
                    }
            written = bulk.write_owners(connection, [rows[owner] for owner in sorted(rows)])
            bulk.use_tokens(connection, [rows[owner]["token"] for owner in written])
        refused = rows.keys() - written  # came with another token to another worker at the same moment
        return [
            Enrolled.YES if known.get(newcomer.owner) == token and newcomer.owner not in refused else Enrolled.NO
            for newcomer, token in zip(newcomers, hashes, strict=True)
        ]
