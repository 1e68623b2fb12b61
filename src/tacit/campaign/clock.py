"""The other side's clock, learned from the dates of its answers: whoever signs a request names the time that is there.

Nothing private rests on it. A signature is good for a few minutes by the clock of whoever reads it, so a sender whose
clock is hours off, or jumps, has to know by how much.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

_DRIFT = 30.0  # seconds that clocks may differ: dates are whole seconds, and answers take a while


@dataclass
class TheirClock:
    """Seconds since 1970 as the other side counts them; `ahead` is by how much it is ahead of ours."""

    ahead: float = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def learn(self, headers: Mapping[str, str]) -> None:
        """Look at the date of an answer; also when one of the clocks has jumped since the last."""
        try:
            theirs = parsedate_to_datetime(headers["date"]).timestamp()
        except (KeyError, ValueError):
            return
        off = theirs - time.time()
        if abs(off - self.ahead) > _DRIFT:
            self.ahead = off
