"""How long to wait before trying again: longer each time, and never together with others.

A coordinator that refuses connections is starting again, and is back in a moment. One that lets time run out, or says
that it is busy, has too much to do, most of it perhaps for those who gave up and came again: it is given seconds, not
moments, from the first time on.
"""

from collections.abc import Callable
from dataclasses import dataclass

_FIRST, _LONGEST = 0.2, 60.0  # seconds
_BUSY = 8.0  # seconds to begin with where the other side is there, and slow


@dataclass
class Backoff:
    """Pauses between tries of one request; `coin` draws from [0, 1)."""

    coin: Callable[[], float]
    bound: float = _FIRST

    def pause(self, busy: bool, asked: float = 0.0) -> float:
        """Seconds to wait now: half the bound and a part of the other half; never less than the other side `asked`."""
        if busy:
            self.bound = max(self.bound, _BUSY)
        bound, self.bound = self.bound, min(2 * self.bound, _LONGEST)
        return max(bound, 2 * asked) * (1 + self.coin()) / 2
