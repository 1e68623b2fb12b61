"""Thousands of questions chosen to be slow, put to owners with opposite rows: does the moment of an
answer tell which is which?

Each question (hostile_questions.py) fills what the policy admits. It goes to two owners in an order
that a coin decides: `slow`, whose rows make the work long, and `quick`, the opposite; every fifth
also to a `twin` of the quick one. How far quick and twin lie apart is the scheduler's noise, since
nothing tells them apart.

Claim: a gate whose moments do not depend on rows is called unsound with a chance of at most
`FALSE_ALARM`, 1 in 1,000, for each of two things. (1) *Single questions*: those whose slow and
quick answers lie further apart than 999 of 1,000 twins are asked again in pairs, and differ if the
slow one is the later in so many that chance does it once in 1,000 for all of them together. (2)
*All together*: the slow answer is the later one of a pair as often as not, over all pairs and over
those beyond the noise, each by a binomial test of both sides at half the rate. Proof: the order is
a coin's, so times of a pair are exchangeable and every comparison is a fair coin, whatever the
machine does; thresholds are fixed before anybody is asked.

Policies' bounds are small here, so that thousands can be asked: what an answer waits for is its
question's bound, a few hundredths of a second (of sums a few tenths), and the fixed tenth. Lanes
are processes with owners of their own; they mostly sleep.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import binom

from tacit._util.types import BoolArray, FloatArray
from tacit.audit.clock import FALSE_ALARM, through_gate
from tacit.audit.hostile_questions import (
    DELTA,
    EPSILON,
    FAMILIES,
    SEALING,
    Draft,
    quick_owner,
    slow_owner,
)
from tacit.audit.staging import (
    HELPER,
    REHEARSAL,
    Check,
    gateway,
    invite,
    ledger_in,
    sign_invitation,
)
from tacit.learners.owners.sum_query import SealedQuery
from tacit.learners.query import STEP, Query
from tacit.mechanisms.streams import secure
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.policy import Policy

ROWS = 64  # that count, and that the slow owner has
ROOM = 8_000_000  # steps: what the work on rows may take by its bound
_TWINS = 5  # one question in so many is also put to the twin
_PAIRS = 30  # of a question that is asked again
_QUANTILE = 0.999  # of the noise: beyond it, a question is asked again


@dataclass(frozen=True)
class Moments:
    """What the clock showed of so many questions; times in seconds.

    `unprotected` is the median time between the owners' work, had it left when it was done.
    """

    questions: int
    lanes: int
    noise: float
    beyond: int  # slow and quick lie further apart than the noise
    differ: int  # and did so again
    later: int  # of all questions: slow was the later
    later_beyond: int  # of those beyond the noise
    unprotected: float
    apart: float  # median of slow minus quick

    @property
    def sound(self) -> bool:
        return not (
            self.differ
            or is_unfair(self.later, self.questions)
            or is_unfair(self.later_beyond, self.beyond)
        )

    @property
    def check(self) -> Check:
        return Check(
            "by slow questions",
            self.sound,
            f"{self.questions:,} questions in {self.lanes} lanes, slow and quick owners "
            f"{1000 * self.unprotected:.2g} ms apart without the gate; beyond the noise of "
            f"{1000 * self.noise:.3g} ms {self.beyond}, of which {self.differ} differ again; slow "
            f"the later in {self.later} of {self.questions}, beyond the noise in "
            f"{self.later_beyond} of {self.beyond}",
        )


def is_unfair(heads: int, throws: int, chance: float = FALSE_ALARM / 2) -> bool:
    """Whether a fair coin shows so many, or so few, heads with at most this chance.

    >>> is_unfair(5_100, 10_000), is_unfair(5_200, 10_000)
    (False, True)
    """
    fewest = min(heads, throws - heads)
    return throws > 0 and bool(2 * binom.cdf(fewest, throws, 0.5) <= chance)


def audit_moments(
    questions: int, seed: int, lanes: int = 1, kind: type[Gate] = Gate, seconds: float = inf
) -> Moments:
    """So many questions, shared out to lanes; fewer where the seconds are over before."""
    parts = [questions // lanes + (lane < questions % lanes) for lane in range(lanes)]
    seeds = [seed * lanes + lane for lane in range(lanes)]
    given = (parts, seeds, [kind] * lanes, [seconds] * lanes)
    if lanes == 1:
        runs = [run_lane(*each) for each in zip(*given, strict=True)]
    else:
        with ProcessPoolExecutor(lanes, mp_context=get_context("spawn")) as pool:
            runs = list(pool.map(run_lane, *given))
    took = np.concatenate([run for run, _ in runs])
    drafts = [draft for _, each in runs for draft in each]
    slow, quick, twin, unprotected = took.T
    noise = float(np.nanquantile(np.abs(quick - twin), _QUANTILE))
    beyond: BoolArray = np.abs(slow - quick) > noise
    chosen = [drafts[place] for place in np.flatnonzero(beyond)]
    return Moments(
        questions=len(took),
        lanes=lanes,
        noise=noise,
        beyond=len(chosen),
        differ=_ask_again(chosen, seed, kind),
        later=int((slow > quick).sum()),
        later_beyond=int((slow > quick)[beyond].sum()),
        unprotected=float(np.median(unprotected)),
        apart=float(np.median(slow - quick)),
    )


def run_lane(
    count: int, seed: int, kind: type[Gate], seconds: float = inf
) -> tuple[FloatArray, list[Draft]]:
    """(questions, 4): seconds of slow, quick and twin (NaN: not asked) through the gate, and what
    lies between the first two without it; and the questions.
    """
    rng = np.random.default_rng(seed)
    took, drafts, ends = np.zeros((count, 4)), list[Draft](), time.monotonic() + seconds
    order = list[int]()
    with TemporaryDirectory() as folder:
        owners = _Owners(Path(folder), kind, count + len(FAMILIES))
        owners.warm_up()
        for draft, query in _slow_questions(rng):
            if len(drafts) == count or time.monotonic() > ends:
                break
            asked = 2 if len(drafts) % _TWINS else 3
            # who is asked first is later, two times in three: slow and quick are so equally often
            order = order if len(drafts) % 2 else rng.permutation(3).tolist()
            turn = order[:: -1 if len(drafts) % 2 else 1]
            try:
                took[len(drafts), :3] = owners.ask(query, [each for each in turn if each < asked])
            except RefusedError:
                continue
            took[len(drafts), 3] = _between(query)
            drafts.append(draft)
    return took[: len(drafts)], drafts


class _Owners:
    """Slow, quick and twin, each behind a gate."""

    def __init__(self, folder: Path, kind: type[Gate], questions: int) -> None:
        self._number = 0
        policy = Policy(
            epsilon_per_release=Fraction(str(EPSILON)),
            epsilon_total=Fraction(str(EPSILON)) * 2 * (questions + 1),  # counts take two
            delta_total=Fraction(str(DELTA)),
            releases=questions + 1,
            units=("owner", "record"),
            campaign=REHEARSAL,
            helper=HELPER.hex(),
            rows=ROWS,
            records=ROWS,
            longest=Fraction(ROOM + SEALING) * Fraction(str(STEP)),
            time_step=Fraction(1, 100),
        )
        self._gates = []
        for name, cohort in (
            ("slow", slow_owner(ROWS)),
            ("quick", quick_owner()),
            ("twin", quick_owner()),
        ):
            (folder / name).mkdir()
            self._gates.append(gateway(kind, cohort, policy, ledger_in(folder / name)))

    def warm_up(self) -> None:
        """One question of each family: kernels are loaded before time counts."""
        for name in sorted(FAMILIES):
            draft = Draft(name, 1, size=0.1, odd=0.0, late=0.1)
            with suppress(RefusedError):
                self.ask(draft.query(ROOM, ROWS), [0, 1, 2])

    def ask(self, query: Query, order: list[int]) -> list[float]:
        """Seconds that each owner's answer took."""
        self._number += 1
        question = sign_invitation(invite(query, self._number))
        took = [np.nan] * len(self._gates)
        for place in order:
            took[place] = through_gate(self._gates[place], question)
        return took


def _slow_questions(rng: np.random.Generator) -> Iterator[tuple[Draft, Query]]:
    """The slowest by its bound of a few drafts, family after family."""
    names = sorted(FAMILIES)
    for number in range(1 << 40):
        best: tuple[float, Draft, Query] | None = None
        for _ in range(3):
            seed = int(rng.integers(1 << 40))
            draft = Draft(names[number % len(names)], seed, size=0.45, odd=0.0, late=0.1)
            query = draft.query(ROOM, ROWS)
            seconds = query.cost(ROWS).seconds
            most = ROOM + SEALING * isinstance(query, SealedQuery)
            if seconds <= most * STEP and (best is None or seconds > best[0]):
                best = seconds, draft, query
        if best is not None:
            yield best[1:]


def _between(query: Query) -> float:
    """How much longer the slow owner's work takes: what an unprotected gate would show."""
    took = []
    for cohort in (slow_owner(ROWS), quick_owner()):
        began = time.thread_time()
        with np.errstate(all="ignore"):
            query.release(cohort, query.epsilons[0], secure())
        took.append(time.thread_time() - began)
    return took[0] - took[1]


def _ask_again(drafts: list[Draft], seed: int, kind: type[Gate]) -> int:
    """How many questions keep slow and quick apart, in either order."""
    if not drafts:
        return 0
    rng = np.random.default_rng(seed)
    differ = 0
    with TemporaryDirectory() as folder:
        owners = _Owners(Path(folder), kind, _PAIRS * len(drafts) + len(FAMILIES))
        owners.warm_up()
        for draft in drafts:
            query = draft.query(ROOM, ROWS)
            took = np.array(
                [owners.ask(query, rng.permutation(2).tolist())[:2] for _ in range(_PAIRS)]
            )
            later = int((took[:, 0] > took[:, 1]).sum())
            differ += is_unfair(later, _PAIRS, FALSE_ALARM / len(drafts))
    return differ
