"""The audit with a real clock: can an asker tell two owners apart by when their answers come?

Two gates hold rows as far apart as the work on them can be: for one the question is slow, for the
other quick. Both are asked the same questions in pairs, in an order that a coin decides, and an
outsider notes how long each answer took. It guesses that the slower answer of a pair is the one of
the owner whose rows are slow.

Claim: a gate whose moments do not depend on rows is called unsound with a chance of at most
`FALSE_ALARM` for each case. Proof: then the two times of a pair are exchangeable, because a coin
decided their order, so every guess is right with chance 1/2 whatever the machine does, and the
number of right ones is binomial; the threshold is its quantile, fixed before anybody is asked.

`through_member` is a door for the clock at the coordinator: a member with its link polls, hands the
question to the gate, and posts what it says; time runs from the question's leaving the coordinator
to the report's arrival there. A peer makes a model of its own from exact rows when all turns are
over: `audit_polls` lets two peers do so again and again, one with few records and one with many,
in pairs, and looks at when the coordinator hears from them.
"""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from scipy.stats import binom

from tacit.audit.device import POLICY, Table, World, person
from tacit.audit.recorder import ADDRESS, Recorder, parts
from tacit.audit.staging import (
    DIM,
    FIRST_ROUND,
    REHEARSAL,
    Check,
    gateway,
    invite,
    ledger_in,
    names,
    sign_invitation,
)
from tacit.data.cohort import Cohort
from tacit.learners.learner import Facts, Learner, ReportTerms, ShareQuery
from tacit.learners.models.features import FeatureMap, Rows
from tacit.learners.models.scores import Forest, ScoreModel, Trees
from tacit.learners.owners.gradient import Discriminant
from tacit.mechanisms.streams import SeededStream
from tacit.owner.gate import Gate
from tacit.owner.policy import Policy
from tacit.service.device.client import Link
from tacit.service.device.join import Joining
from tacit.service.device.member import GateQueue, Member, PeerMember

FALSE_ALARM = 0.001  # of one audit of a sound device
_EPSILON = 0.01  # of a question
_ROWS = 200  # that count, by the policy, and that the slow owner has
_STEP = Fraction(1, 1000)  # seconds: far less than the work on slow rows, which takes some of it
_TREES, _CHAIN = 200, 200  # of a question that takes long


@dataclass(frozen=True)
class ClockCase:
    """A question, and two owners: one whose rows make it slow, one whose rows do not."""

    name: str
    learner: Learner
    slow: Cohort
    quick: Cohort

    @property
    def query(self) -> ShareQuery:
        terms = ReportTerms("privunit", (_EPSILON,))
        return ShareQuery(
            1, 1, None, learner=self.learner, facts=Facts(DIM, 2), ensemble=FIRST_ROUND, terms=terms
        )


@dataclass(frozen=True)
class ClockRow:
    """How many of `pairs` guesses were right; from `threshold` on it is no accident."""

    name: str
    pairs: int
    right: int
    threshold: int
    apart: float  # seconds between the owners' median answers

    @property
    def sound(self) -> bool:
        return self.right < self.threshold

    @property
    def check(self) -> Check:
        seen = f"{self.right} of {self.pairs} pairs told apart; {self.threshold} are no accident"
        return Check(f"by {self.name}", self.sound, f"{seen} (99.9 %)")


def owner(value: float, rows: int) -> Cohort:
    """One owner whose rows are all alike, of both classes in turn."""
    return Cohort(np.full((rows, DIM), value), np.arange(rows) % 2, np.array([0, rows]))


def long_walks(trees: int, length: int) -> Learner:
    """Many trees over one chain of questions, which only rows with x0 > 1/4 walk to its end."""
    nodes = length + 2
    column = np.zeros(nodes, dtype=np.int64)
    cut, left, right = np.full(nodes, 9.0), np.arange(1, nodes + 1), np.full(nodes, nodes - 1)
    cut[0], left[0], right[0] = 0.25, nodes - 1, 1
    column[-1], left[-1], right[-1] = -1, 0, 0
    roots = np.zeros(trees, dtype=np.int64)
    forest = Trees(
        column, cut, left, right=right, value=np.zeros(nodes), roots=roots, classes=roots
    )
    features = FeatureMap(Rows(), np.zeros(DIM), np.eye(DIM))
    return Discriminant(features, ScoreModel(2, (Forest(forest, np.zeros(2)),)), 1.0)


CASES = (
    ClockCase("one value", long_walks(_TREES, _CHAIN), owner(0.9, _ROWS), owner(-0.9, _ROWS)),
    ClockCase("number of rows", long_walks(_TREES, _CHAIN), owner(0.9, _ROWS), owner(0.9, 1)),
)


Door = Callable[[Gate, bytes], float]  # puts a question to a gate: seconds until the answer


def through_gate(gate: Gate, question: bytes) -> float:
    """Asked directly."""
    began = time.perf_counter()
    gate.answer(question)
    return time.perf_counter() - began


def audit_clock(
    stream: SeededStream,
    pairs: int = 20,
    cases: Sequence[ClockCase] = CASES,
    kind: type[Gate] = Gate,
    door: Door = through_gate,
) -> Iterator[ClockRow]:
    """Ask a kind of gate, in so many pairs for each case."""
    for case in cases:
        with TemporaryDirectory() as folder:
            yield _audit_case(
                case, pairs, stream.child(case.name), kind=kind, door=door, folder=Path(folder)
            )


def _audit_case(
    case: ClockCase,
    pairs: int,
    stream: SeededStream,
    kind: type[Gate],
    door: Door,
    folder: Path,
) -> ClockRow:
    gates = [
        gateway(kind, cohort, _policy(pairs), ledger_in(_make_folder(folder / str(number))))
        for number, cohort in enumerate((case.slow, case.quick))
    ]
    for gate in gates:  # kernels are compiled before time counts
        door(gate, sign_invitation(invite(case.query, 1)))
    numbers = [iter(range(2, 2 + pairs)) for _ in gates]

    def ask(world: int) -> float:
        return door(gates[world], sign_invitation(invite(case.query, next(numbers[world]))))

    return compare_pairs(case.name, (partial(ask, 0), partial(ask, 1)), pairs, stream)


def compare_pairs(
    name: str,
    worlds: tuple[Callable[[], float], Callable[[], float]],
    pairs: int,
    stream: SeededStream,
) -> ClockRow:
    """Time the slow world and the quick one in pairs, in an order that a coin decides."""
    coins = stream.words(np.arange(pairs), 0, 1)[:, 0] & np.uint64(1)
    took = np.zeros((pairs, 2))
    for pair, coin in enumerate(coins.tolist()):
        for world in (coin, 1 - coin):
            took[pair, world] = worlds[world]()
    slow, quick = np.median(took, axis=0).tolist()
    right = int(np.count_nonzero(took[:, 0] > took[:, 1]))
    return ClockRow(name, pairs, right, threshold(pairs), slow - quick)


def threshold(pairs: int) -> int:
    """The least number of right guesses that chance reaches with at most `FALSE_ALARM`.

    >>> threshold(20)
    18
    """
    return int(binom.isf(FALSE_ALARM, pairs, 0.5)) + 1


def _policy(pairs: int) -> Policy:
    return Policy(
        epsilon_per_release=Fraction(str(_EPSILON)),
        epsilon_total=Fraction(str(_EPSILON)) * (pairs + 1),
        releases=pairs + 1,
        campaign=REHEARSAL,
        rows=_ROWS,
        time_step=_STEP,
    )


def _make_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


_FEW, _MANY = 20, 40_000  # records of the two peers
_POLLS = 3  # in which nothing is asked, after the last question


class _Asker(httpx.AsyncBaseTransport):
    """Hands out one question, and notes when the report comes."""

    def __init__(self, question: bytes) -> None:
        self._question = question
        self.handed, self.came = 0.0, 0.0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        if request.url.path == "/v1/question":
            self.handed = time.perf_counter()
            return httpx.Response(200, content=self._question)
        self.came = time.perf_counter()
        return httpx.Response(200)


def through_member(gate: Gate, question: bytes) -> float:
    """Seconds from a question's leaving the coordinator to its report's arrival."""
    asker = _Asker(question)

    async def take_part() -> None:
        link = Link([httpx.AsyncClient(transport=asker, base_url=ADDRESS)])
        key = Ed25519PrivateKey.from_private_bytes(bytes(32))
        try:
            await Member(names(1)[0], key, GateQueue(gate), link).take_part(once=True)
        finally:
            await link.close()

    asyncio.run(take_part())
    return asker.came - asker.handed


def audit_polls(
    stream: SeededStream, pairs: int = 14, kind: type[Joining] = Joining
) -> Iterator[ClockRow]:
    """Whether polls tell how many records a peer has."""
    with ExitStack() as stack:
        many, few = (stack.enter_context(_settle(count, kind)) for count in (_MANY, _FEW))
        yield compare_pairs("records of a peer, by its polls", (many, few), pairs, stream)


@contextmanager
def _settle(records: int, kind: type[Joining]) -> Iterator[Callable[[], float]]:
    """A peer that has spoken; asked, it polls until the campaign ends, and makes its own model."""
    part = next(each for each in parts() if each.terms.relay is not None)
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    recorder = Recorder(part.terms, key, polls=_POLLS)
    with TemporaryDirectory() as name, person(Path(name)) as home:
        file = World("records.csv", _records(records)).write(Path(name))
        joining = kind(file, None, POLICY, home, name="north")

        async def begin() -> PeerMember:
            _, (member,) = await joining.members(recorder.link())
            await member.enrol("token")
            await member.take_part()
            if not isinstance(member, PeerMember):
                raise TypeError("a campaign of peers has peers")
            return member

        member = asyncio.run(begin())

        def poll() -> float:
            recorder.begin_again()
            member.made.clear()
            member.making.clear()
            asyncio.run(member.take_part())
            return recorder.sent[-1].at - recorder.sent[0].at

        yield poll


def _records(count: int) -> Table:
    rng = np.random.default_rng(count)
    ages = rng.uniform(0, 100, count)
    return {
        "age": ages.tolist(),
        "town": rng.choice(["n", "s"], count).tolist(),
        "ill": np.where(ages + 20 * rng.normal(size=count) > 50, "yes", "no").tolist(),
    }
