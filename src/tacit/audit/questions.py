"""A search for questions that break a gate: random ones, and changed copies of those that came
closest.

Every question (hostile_questions.py) is signed and put to the gate, in two worlds: an owner whose
rows make its work long, more of them than count, and one with the opposite. A *strain* says how
much of what is allowed was used; half of the questions are changed copies of the most strained
ones:

    time         processor seconds of the work on rows, over the bound of the question
    memory       bytes that the work took beyond what the process had, over the bound and slack
    certificate  the length of the gradient where a site's training stopped, over its tolerance
    movement     how far one record more moved a site's minimum, over what is proven

Beyond 1 is a finding. So is a row of a site that another record changes in any bit (cancellation),
a minimum of zero that is none, a question that is admitted beyond the policy's bounds, and whatever
an outsider can tell of the two worlds when the gates are deaf (non_interference.py): refusals,
errors, lengths, logs, warnings, sleeps, charges.

The judge of sites shares no code with the training: gradients are computed in extended precision.
"""

import resource
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt
from typing import Any, cast

import numpy as np

from tacit._util.types import FloatArray, IntArray
from tacit.audit.hostile_questions import (
    DELTA,
    SEALING,
    Draft,
    change,
    draw,
    quick_owner,
    slow_owner,
)
from tacit.audit.non_interference import Script, Step, non_interference
from tacit.audit.staging import (
    HELPER,
    REHEARSAL,
    Check,
    SeededGate,
    gateway,
    invite,
    names,
    seeded_kind,
    sign_invitation,
)
from tacit.data.cohort import Cohort
from tacit.learners.query import STEP, Invitation, Query
from tacit.learners.sites.losses import Huber, HuberHinge, Loss
from tacit.learners.sites.train import TrainSite, targets_of
from tacit.mechanisms.streams import SeededStream, seeded
from tacit.owner.gate import Gate
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy
from tacit.owner.worker import Worker
from tacit.wire import WireError, decode, encode

ROWS = 256  # that count; the slow owner has eight times as many
_ROOM = 20_000_000  # steps: what the work on rows may take by its bound
_SLACK = 256 << 20  # bytes that libraries take for themselves
_LONG = 60.0  # seconds: what outlives them is abandoned in the search, too
_TOGETHER = 25  # questions in one run of the deaf gates
_GOALS = ("time", "memory", "certificate", "movement")
_RECORDS = 41  # of a site
_MEASURED = struct.Struct("<dd")  # seconds, bytes
_CAPACITY = 1 << 40  # enough of every budget: charges are compared, not refused


@dataclass
class Search:
    """What was found so far: the most strained draft for each goal, and what broke."""

    worst: dict[str, tuple[float, Draft | None]] = field(
        default_factory=lambda: dict.fromkeys(_GOALS, (0.0, None))
    )
    faults: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def note(self, goal: str, strain: float, draft: Draft) -> None:
        if strain > self.worst[goal][0]:
            self.worst[goal] = strain, draft
        if not strain <= 1:
            self.faults.append(f"{goal} {strain:.3g} times what is allowed: {draft}")

    def propose(self, rng: np.random.Generator) -> Draft:
        known = [draft for _, draft in self.worst.values() if draft is not None]
        if known and rng.random() < 0.5:
            return change(known[int(rng.integers(len(known)))], rng)
        return draw(rng)

    def checks(self) -> Iterator[Check]:
        """One for each goal, and one for what an outsider saw."""
        tried = f"{self.counts['admitted']:,} of {self.counts['drafts']:,} drafts admitted"
        for goal, (strain, draft) in self.worst.items():
            family = "nobody" if draft is None else draft.family
            broken = any(fault.startswith(goal) for fault in self.faults)
            yield Check(
                f"questions: {goal}", not broken, f"at most {strain:.2g} ({family}); {tried}"
            )
        other = [fault for fault in self.faults if not fault.startswith(_GOALS)]
        seen = "; ".join(other[:3]) or "nothing tells two worlds apart"
        yield Check("questions: what an outsider sees", not other, seen)


def audit_questions(
    count: int,
    seed: int = 1,
    kind: type[Gate] = Gate,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Search:
    """Search among so many drafts; `progress` hears how many are done."""
    rng, found = np.random.default_rng(seed), Search()
    laboratory = _Laboratory(kind)
    admitted: list[Query] = []
    for number in range(count):
        progress(number, count)
        draft = found.propose(rng)
        found.counts["drafts"] += 1
        try:
            query = draft.query(2 * _ROOM, ROWS)  # some of them beyond what is allowed
            question = sign_invitation(invite(query))
        except (ValueError, WireError):
            continue
        if not laboratory.admits(question):
            continue
        found.counts["admitted"] += 1
        excess = laboratory.policy.too_costly(query)
        if excess:
            found.faults.append(f"admitted although {excess}: {draft}")
        admitted.append(query)
        try:
            for goal, strain in laboratory.measure(query):
                found.note(goal, strain, draft)
        except _WorkError as problem:
            found.faults.append(f"work on rows fails ({problem}): {draft}")
        if isinstance(query, TrainSite):
            judge_site(query, draft, rng, found)
        if len(admitted) == _TOGETHER:
            found.faults += _differences(admitted, kind, seeded(seed))
            admitted.clear()
    if admitted:
        found.faults += _differences(admitted, kind, seeded(seed))
    return found


def _policy(**more: Any) -> Policy:
    return Policy(
        epsilon_per_release=Fraction(1),
        epsilon_total=Fraction(_CAPACITY),
        delta_total=Fraction(str(DELTA)),
        releases=_CAPACITY,
        units=("owner", "record"),
        campaign=REHEARSAL,
        helper=HELPER.hex(),
        rows=ROWS,
        records=ROWS,
        **more,
    )


class _WorkError(Exception):
    """Why the work on made-up rows failed."""


class _Laboratory:
    """Two gates whose work on rows is done where time and memory can be measured."""

    def __init__(self, kind: type[Gate]) -> None:
        seeded_gate: type[SeededGate] = seeded_kind(kind)
        longest = Fraction(_ROOM + SEALING) * Fraction(str(STEP))
        self.policy = _policy(time_step=Fraction(0), longest=longest)
        coins, unused = seeded(1), cast(Ledger, None)  # nothing is released here
        self._gates = [
            gateway(seeded_gate, cohort, self.policy, unused, stream=coins)
            for cohort in (slow_owner(8 * ROWS), quick_owner())
        ]
        self._worker = Worker(self._warm_up, self._run)

    def admits(self, question: bytes) -> bool:
        """Whether the gate would answer."""
        try:
            self._gates[0]._admit(question)
        except Exception:
            return False
        return True

    def measure(self, query: Query) -> Iterator[tuple[str, float]]:
        """Strains of time and memory of the work on the slow owner's rows."""
        request, cost = encode(invite(query)), query.cost(ROWS)
        self._worker.prepare(request)
        said = self._worker.compute(request, _LONG, 1 << 33)
        if said is None:
            yield "time", np.inf
            return
        if len(said) != _MEASURED.size:
            raise _WorkError(said.decode())
        seconds, memory = _MEASURED.unpack(said)
        allowed = float(self.policy.moment(query, 1))
        yield "time", seconds / allowed
        yield "memory", memory / (cost.memory + _SLACK)

    def _warm_up(self, request: bytes) -> bytes:
        """Load kernels; in the worker."""
        invitation = decode(request, Invitation)
        _work(self._gates[1], invitation.query)
        return b""

    def _run(self, request: bytes) -> bytes:
        """Processor seconds and bytes of the slow owner's report, or why there is none; in a
        process of its own.
        """
        try:
            invitation = decode(request, Invitation)
            before, began = _largest(), time.process_time()
            _work(self._gates[0], invitation.query)
        except Exception as problem:
            return f"{type(problem).__name__}: {problem}".encode()
        return _MEASURED.pack(time.process_time() - began, _largest() - before)


def _work(gate: Gate, query: Query) -> None:
    """What a gate does with its owner's rows."""
    epsilons = np.array(query.epsilons[:1])
    gate._release(query, gate._first[query.unit], epsilons, gate._coins(query))


def _largest() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _differences(queries: list[Query], kind: type[Gate], stream: SeededStream) -> list[str]:
    """What an outsider can tell of two worlds when the gates are deaf."""
    steps = [
        Step(query.what, sign_invitation(invite(query, number)), names(1))
        for number, query in enumerate(queries, 1)
    ]
    asked = Script(_policy(time_step=Fraction(1, 2)), steps)
    data: dict[str, Cohort] = {"slow": slow_owner(8 * ROWS), "quick": quick_owner()}
    return [str(each) for each in non_interference(stream, asked, kind, data)]


# Sites
# ------------------------------------------------------------------------------------------------


def judge_site(
    query: TrainSite,
    draft: Draft,
    rng: np.random.Generator,
    found: Search,
    records: tuple[FloatArray, IntArray] | None = None,
) -> None:
    """Train on some records and on one more, with the same tilt."""
    plan = query.plan(query.menu[0])
    X, y = site_records(rng, query.dim) if records is None else records
    tilt = rng.laplace(size=query.projection.dim) * float(rng.choice([0, 1, 10])) * plan.tilt_size
    longest = 0.0 if plan.descent is None else plan.descent.tilt  # beyond, rows play no part
    tilt *= min(1.0, 0.999 * longest / max(float(np.linalg.norm(tilt)), 1e-300))
    seen = [query.projection.see(X[:-1]), query.projection.see(X)]
    if seen[1][:-1].tobytes() != seen[0].tobytes():
        found.faults.append(f"rows of a site that another record changed: {draft}")
    minima = [
        query._minima(X[:count], y[:count], plan, tilt[np.newaxis])[0]
        for count in (len(X) - 1, len(X))
    ]
    for rows, f in zip(seen, minima, strict=True):
        told = targets_of(y[: len(rows)], query.labels, 0)
        length = gradient_length(rows, told, query.loss, ridge=plan.ridge, tilt=tilt, f=f)
        if not length <= plan.tolerance and not f.any():
            found.faults.append(f"a zero that is no minimum: {draft}")
        found.note("certificate", length / plan.tolerance, draft)
    apart = float(np.linalg.norm(minima[0] - minima[1])) * plan.ridge
    found.note("movement", apart / (2 * query.loss.slope + 2 * plan.tolerance), draft)


def site_records(rng: np.random.Generator, dim: int) -> tuple[FloatArray, IntArray]:
    """Records of some shape: spread out, all alike, at corners, tiny, with gaps."""
    X = rng.uniform(-1, 1, (int(rng.integers(1, _RECORDS)), dim))
    shape = rng.integers(5)
    if shape == 1:
        X[:] = X[0]
    elif shape == 2:
        X = np.sign(X)
    elif shape == 3:
        X *= 10.0 ** rng.uniform(-300, 0, (len(X), 1))
    elif shape == 4:
        X[rng.random(X.shape) < 0.2] = np.nan
    y = (rng.random(len(X)) < rng.choice([0.0, 0.5, 1.0])).astype(np.int64)
    return X, y


def gradient_length(
    rows: FloatArray, targets: FloatArray, loss: Loss, ridge: float, tilt: FloatArray, f: FloatArray
) -> float:
    """Of J at f, in extended precision."""
    x, t, point = (part.astype(np.longdouble) for part in (rows, targets, f))
    z = x @ point
    if isinstance(loss, HuberHinge):
        slopes = -t * np.clip((1 - t * z + loss.h) / (2 * np.longdouble(loss.h)), 0, 1)
    elif isinstance(loss, Huber):
        slopes = np.clip(z - t, -loss.h, loss.h)
    else:
        slopes = -t / (1 + np.exp(np.clip(t * z, -1e4, 1e4)))
    gradient = slopes @ x + np.longdouble(ridge) * point + tilt
    return float(sqrt(gradient @ gradient))
