"""How often owners should ask: all that wait, together, about two hundred times a second."""

import time

from tacit.coordinator.store import Store

_RATE = 200  # questions a second, from everybody
_SHORTEST, _LONGEST = 2, 600  # seconds
_FRESH = 5.0  # seconds that a count is good for


class Pace:
    """Seconds to wait before asking again, by how many owners wait."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seconds = _SHORTEST
        self._until = 0.0

    def seconds(self) -> int:
        now = time.monotonic()
        if now > self._until:
            self._until = now + _FRESH
            self._seconds = min(max(self._store.enrolled()["waiting"] // _RATE, _SHORTEST), _LONGEST)
        return self._seconds
