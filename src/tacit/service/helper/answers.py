"""What a helper has released, durably: a question is answered once, and the same answer repeated
ever after.

Claim: of what has been sent there is an entry, whatever is killed and whenever; no question has two
answers, also with several processes on one file. An answer is drawn under the write lock, committed
with full synchronisation, and only then returned. Edges: a full disk is an error before anything is
sent. An old copy of the file, put back, forgets what was released since: never restore it; begin
with a new key instead.
"""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from tacit._util.durable import use_journal
from tacit.sums.base import SumRefusedError


class Answers:
    """Releases on disk."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        use_journal(self._connection)
        with self._transaction():
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS releases "
                "(question BLOB PRIMARY KEY, relay BLOB NOT NULL, answer BLOB NOT NULL) "
                "WITHOUT ROWID"
            )

    def find(self, question: bytes, relay: bytes) -> bytes | None:
        """The answer that was given; None: none yet. Other halves than it was given for are a
        `SumRefusedError`.
        """
        with self._transaction():
            return self._find(question, relay)

    def answer(self, question: bytes, relay: bytes, draw: Callable[[], bytes]) -> bytes:
        """The answer that was given, or the one that `draw` gives now, once and for all."""
        with self._transaction():
            found = self._find(question, relay)
            if found is None:
                found = draw()
                row = question, _digest(relay), found
                self._connection.execute(
                    "INSERT INTO releases (question, relay, answer) VALUES (?, ?, ?)", row
                )
            return found

    def close(self) -> None:
        self._connection.close()

    def _find(self, question: bytes, relay: bytes) -> bytes | None:
        wanted = "SELECT relay, answer FROM releases WHERE question = ?"
        known = self._connection.execute(wanted, (question,)).fetchone()
        if known is None:
            return None
        if known[0] != _digest(relay):
            raise SumRefusedError(
                "this question was answered for other halves; a helper releases a batch once"
            )
        return bytes(known[1])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:  # threads of this process; BEGIN IMMEDIATE keeps processes apart
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _digest(relay: bytes) -> bytes:
    return blake2b(relay, digest_size=32).digest()
