"""Damaged and invented reports at the collector: left out or counted, never a crash, memory flat.

For every mechanism, honest reports are taken as they are, with bits flipped, bytes exchanged, cut,
lengthened, or as random bytes behind an honest header; each owner sends one. What is counted must
decode to finite numbers.
"""

from collections import Counter

import numpy as np
from tacit.engines.collector import Collector, Outcome

from reliability.apart import apart, forget_peak, peak
from reliability.campaign import LEARNERS, PRIVATE, Campaign
from reliability.finding import Finding
from tacit import secure
from tacit.learners.invitation import Invitation, pack
from tacit.learners.query import Answer

_BATCH = 1000
_EPSILONS = (0.5, 6.0)
_HEADER = 8
# bytes by which the peak may differ between the first batches and the rest: allocators breathe
_FLAT = 16_000_000
FAULTS = (
    "errors and crashes",
    "counts that do not add up",
    "answers that are not finite",
    "growth of memory",
)


def reports(size: int) -> Finding:
    """The experiment, in bytes over all mechanisms."""
    share = size // len(PRIVATE)
    for name in PRIVATE:
        _mechanism(name, 1, 0)  # compiled here, once
    found = apart(_mechanism, [(name, share, place) for place, name in enumerate(PRIVATE)])
    faults = dict.fromkeys(FAULTS, 0)
    counts: Counter[str] = Counter()
    growth = 0
    for each in found:
        if each is None:
            faults["errors and crashes"] += 1
        else:
            part, outcomes, grown = each
            growth = max(growth, grown)
            counts += outcomes
            for name, number in part.items():
                faults[name] += number
    tried = f"{counts['bytes']:,} bytes in {counts['reports']:,} reports, {len(PRIVATE)} mechanisms"
    figures = {name: float(counts[name]) for name in ("counted", "malformed")}
    return Finding(
        "damaged reports", tried, faults, figures | {"growth of the peak, MB": growth / 1e6}
    )


def _mechanism(name: str, size: int, seed: int) -> tuple[dict[str, int], Counter[str], int]:
    """One mechanism's part: faults, counts, and how much the peak grew after the first batches."""
    rng = np.random.default_rng(seed)
    campaign = Campaign(3)
    invitation = campaign.invitation(1, campaign.query(LEARNERS[1], name, _EPSILONS))
    honest = _honest(campaign, invitation)
    faults, counts = dict.fromkeys(FAULTS, 0), Counter[str]()
    first = 0
    forget_peak()
    for batch in range(10**9):
        if counts["bytes"] >= size:
            break
        data = _damaged(honest, rng)
        collector = Collector(invitation, [str(i) for i in range(_BATCH)])
        for owner, each in enumerate(data):
            try:
                collector.accept(str(owner), each)
            except Exception:
                faults["errors and crashes"] += 1
        faults["counts that do not add up"] += sum(collector.counts.values()) != len(data)
        answer = collector.close()
        if isinstance(answer, Answer):
            faults["counts that do not add up"] += answer.n != collector.counted
            faults["answers that are not finite"] += not np.isfinite(answer.mean).all()
        counts["bytes"] += sum(map(len, data))
        counts["reports"] += len(data)
        counts["counted"] += collector.counted
        counts["malformed"] += collector.counts[Outcome.MALFORMED]
        if batch < 3:
            first = peak()
    grown = max(0, peak() - first)
    faults["growth of memory"] += grown > _FLAT
    return faults, counts, grown


def _honest(campaign: Campaign, invitation: Invitation) -> list[bytes]:
    levels = np.arange(_BATCH) % len(_EPSILONS)
    query = invitation.query
    made = query.release(campaign.cohort(_BATCH), np.array(_EPSILONS)[levels], secure())
    return [pack(invitation.digest, int(level), made[i : i + 1]) for i, level in enumerate(levels)]


def _damaged(honest: list[bytes], rng: np.random.Generator) -> list[bytes]:
    """A batch of reports, a sixth of each kind; damage is drawn for all of them at once."""
    size = len(honest[0])
    data = np.frombuffer(b"".join(honest), dtype=np.uint8).reshape(len(honest), size).copy()
    kind = np.arange(len(honest)) % 6
    rows = np.arange(len(honest))
    place = rng.integers(0, size, len(honest))
    bits = (1 << rng.integers(0, 8, len(honest))).astype(np.uint8)
    flipped, exchanged, invented = kind == 1, kind == 2, kind == 3
    data[rows[flipped], place[flipped]] ^= bits[flipped]
    data[rows[exchanged], place[exchanged]] = rng.integers(0, 256, len(honest), dtype=np.uint8)[
        exchanged
    ]
    noise = rng.integers(0, 256, data.shape, dtype=np.uint8)
    data[invented, _HEADER:] = noise[invented, _HEADER:]  # behind an honest header
    out = [row.tobytes() for row in data]
    for row in rows[kind == 4].tolist():
        out[row] = out[row][: place[row]]
    for row in rows[kind == 5].tolist():
        out[row] = noise[row].tobytes() + out[row][: place[row] % 9]
    return out
