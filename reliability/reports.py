"""Damaged and invented reports at the coordinator's intake, on a real database: left out or
counted, never a crash, memory flat.

For every mechanism, honest reports are taken as they are, with bits flipped, bytes exchanged, cut,
lengthened, or as random bytes behind an honest header; each owner sends one to each question. What
is counted is read back from the database as the driver reads it, and must give finite numbers.
"""

from collections import Counter
from pathlib import Path

import numpy as np

from reliability.apart import apart, forget_peak, peak
from reliability.campaign import LEARNERS, PRIVATE, Campaign, in_memory
from reliability.finding import Finding
from tacit import secure
from tacit.learners.query import PURPOSE, Answer, Invitation, pack
from tacit.service.coordinator.answers import read_reports
from tacit.service.coordinator.intake import Intake, Outcome
from tacit.service.coordinator.owner_api import Admission, Enrolment, Newcomer
from tacit.service.coordinator.store import Store
from tacit.service.coordinator.tables import CLOSED, OPEN, Question
from tacit.wire.envelopes import sign

_BATCH = 1000
NAMES = [f"{number:064x}" for number in range(_BATCH)]
_WARM = 3  # batches after which memory should no longer grow
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
    query = campaign.query(LEARNERS[1], name, _EPSILONS)
    faults, counts = dict.fromkeys(FAULTS, 0), Counter[str]()
    told: Counter[Outcome] = Counter()
    first = 0
    forget_peak()
    with in_memory() as folder:
        store = _store(Path(folder))
        intake = Intake(store, campaign.key.public_key())
        for number in range(1, 10**9):
            if counts["bytes"] >= size:
                break
            invitation = campaign.invitation(number, query)
            question = _ask(store, campaign, invitation)
            data = _damaged(_honest(campaign, invitation), rng)
            try:
                outcomes = Counter(intake.write(list(zip(NAMES, data, strict=True))))
                store.close_question(number, CLOSED)
                told.update(outcomes)
                faults["counts that do not add up"] += _written(store) != told
                _check(store, question, invitation, outcomes[Outcome.COUNTED], faults)
            except Exception:
                faults["errors and crashes"] += 1
            counts["bytes"] += sum(map(len, data))
            counts["reports"] += len(data)
            if number <= _WARM:
                first = peak()
        store.close()
    counts["counted"], counts["malformed"] = told[Outcome.COUNTED], told[Outcome.MALFORMED]
    grown = max(0, peak() - first)
    faults["growth of memory"] += grown > _FLAT
    return faults, counts, grown


def _store(folder: Path) -> Store:
    """A database in which everybody has enrolled."""
    store = Store(f"sqlite:///{folder}/campaign.db")
    store.create_or_resume("trial", b"terms", b"key")
    store.add_tokens(NAMES)
    enrolled = Enrolment(store).admit([Newcomer(name, name) for name in NAMES])
    if set(enrolled) != {Admission.YES}:
        raise RuntimeError("not everybody could be enrolled")
    return store


def _ask(store: Store, campaign: Campaign, invitation: Invitation) -> Question:
    """Put a question to everybody."""
    question = Question(
        number=invitation.number,
        digest=invitation.digest,
        data=sign(invitation, PURPOSE, campaign.key),
        state=OPEN,
        opened=0.0,
        deadline=1.0,
        answer=None,
    )
    store.ask(question, store.owners_present(), spend=False)
    return question


def _written(store: Store) -> Counter[Outcome]:
    """What became of all reports, as the database has it."""
    written: Counter[Outcome] = Counter()
    for outcomes in store.outcomes().values():
        written.update({Outcome[name.upper()]: count for name, count in outcomes.items()})
    return written


def _check(
    store: Store, question: Question, invitation: Invitation, counted: int, faults: dict[str, int]
) -> None:
    """Read a question's reports as the driver does."""
    reports, epsilons = read_reports(store, question, invitation.query)
    faults["counts that do not add up"] += len(reports) != counted
    answer = invitation.query.answer(invitation.query.collect(reports, epsilons))
    if isinstance(answer, Answer):
        faults["answers that are not finite"] += not np.isfinite(answer.mean).all()


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
