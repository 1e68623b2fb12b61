"""Non-interference: with the mechanism deaf and the coins fixed, nothing that can be observed
depends on rows.

The same questions are put to gateways of the same owners with very different rows: valid ones for
every learner and mechanism, repeated, expired, forged, forbidden and too expensive ones, several
owners at once, a gate started again. The gates are deaf (staging.py): what they release comes
from no rows, but the real release has run. Then every answer and its length, refusal, error, log
record, warning, printed character, file, socket, sleep and line of the ledger must be the same, in
the same order. What differs is a leak that no epsilon accounts for.

Not seen: how long things really take (the clock stands still), and what the machine itself gives
away.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product, zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.audit.side_effects import NOON, Sighting, watch
from tacit.audit.staging import (
    DIM,
    FIRST_ROUND,
    LATER_ROUND,
    REHEARSAL,
    SCHEMA,
    DeafGate,
    gateway,
    gather,
    invite,
    key,
    ledger_in,
    names,
    record_queries,
    same_rows,
    seeded_kind,
    share_query,
    sign_invitation,
)
from tacit.data.cohort import Cohort
from tacit.learners.learner import Learner
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump
from tacit.learners.query import PURPOSE, Query
from tacit.mechanisms.registry import PRIVATE_NAMES
from tacit.mechanisms.streams import SeededStream
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.policy import Policy
from tacit.wire import encode
from tacit.wire.envelopes import sign

LEARNERS: tuple[Learner, ...] = (Stump(), Centroid(), Logistic())
MENU = (0.5, 1.0)  # two levels: what is left of a budget decides between them
_OWNERS = names(3)


@dataclass(frozen=True)
class Difference:
    """Something that can be told from outside: at which step, where it shows, and what it was
    for two data sets.
    """

    step: str
    where: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.step}: {self.where} {self.one[:80]!r} against {self.other[:80]!r}"


@dataclass(frozen=True)
class Step:
    """A question to some owners, perhaps after the gate was started again."""

    name: str
    question: bytes
    owners: Sequence[str] = tuple(_OWNERS)
    restart: bool = False


def data_sets() -> dict[str, Cohort]:
    """The same three owners with rows as different as can be."""
    rng = np.random.default_rng(3)
    wild = np.array([1e308, -1e308, 1e-308, np.inf, -np.inf, np.nan, 0.0, 1.0, -1.0])
    some = Cohort(rng.uniform(-1, 1, (12, DIM)), np.arange(12) % 2, np.array([0, 4, 8, 12]))
    many = Cohort(
        rng.uniform(-1, 1, (900, DIM)), rng.integers(0, 2, 900), np.array([0, 300, 600, 900])
    )
    return {
        "some rows": some,
        "no rows": gather([same_rows(0.0, 0, 0)] * 3),
        "one row": gather([same_rows(1.0, 1, 1)] * 3),
        "one class": gather([same_rows(-1.0, 0, 7)] * 3),
        "many rows": many,
        "uneven": gather([same_rows(0.0, 0, 0), same_rows(-1.0, 1, 1), same_rows(1.0, 0, 200)]),
        "extreme values": Cohort(
            np.array([np.roll(wild, i)[:DIM] for i in range(9)]),
            np.arange(9) % 2,
            np.array([0, 3, 6, 9]),
        ),
    }


@dataclass(frozen=True)
class Script:
    """What is asked, and the policy that allows just so much of it."""

    policy: Policy
    steps: Sequence[Step]


def script(
    learners: Sequence[Learner] = LEARNERS,
    mechanisms: Sequence[str] = PRIVATE_NAMES,
    others: Sequence[Query] = tuple(record_queries(MENU)),
) -> Script:
    """Every learner through every mechanism, the other queries, and all that must be refused."""
    number = 0

    def ask(learner: Learner, mechanism: str, menu: Sequence[float] = MENU, **terms: Any) -> bytes:
        nonlocal number
        number += 1
        ensemble = LATER_ROUND if number % 2 else FIRST_ROUND
        return sign_invitation(
            invite(share_query(learner, mechanism, menu, ensemble), number, **terms)
        )

    kinds = list(product(learners, mechanisms))
    plain = share_query(learners[0], mechanisms[0], (1.0,), FIRST_ROUND)
    stranger = Ed25519PrivateKey.from_private_bytes(bytes(32))
    elsewhere = replace(invite(plain), schema=bytes(32))
    valid = [Step(f"{learner.name} through {how}", ask(learner, how)) for learner, how in kinds]
    valid += [
        Step(f"{each.what} by {each.how}", sign_invitation(invite(each, 1000 + i)))
        for i, each in enumerate(others)
    ]
    last = [Step(f"the budget ends, {i}", ask(*kinds[i % len(kinds)])) for i in range(4)]
    bad = [
        Step("nothing", b""),
        Step("noise", bytes(range(256))),
        Step("forged", sign(invite(plain), PURPOSE, stranger)),
        Step("another purpose", sign(invite(plain), "ledger", key())),
        Step("not an invitation", sign(SCHEMA, PURPOSE, key())),
        Step("cut short", valid[0].question[:-1]),
        Step("one byte more", valid[0].question + b"\0"),
        Step("expired", ask(*kinds[0], expires=int(NOON))),
        Step("another campaign", ask(*kinds[0], campaign="another")),
        Step("another schema", sign_invitation(elsewhere)),
        Step("no privacy", ask(learners[0], "none")),
        Step("too wide", ask(Stump(cuts=12), mechanisms[0])),
        Step("too expensive", ask(*kinds[0], menu=(1.5,))),
        Step("too much to ask", ask(*kinds[0], menu=tuple(1 + i / 1000 for i in range(250)))),
    ]
    first, *rest = valid
    steps = [
        *bad,
        Step("one owner", first.question, _OWNERS[:1]),
        Step("nobody", first.question, ()),
        Step("a stranger", first.question, ("nobody",)),
        Step("all owners", first.question),
        Step("in another order", first.question, _OWNERS[::-1]),
        *rest,
        replace(first, name="repeated after a start", restart=True),
        *last,
        *(replace(each, name=f"{each.name} again") for each in bad),
        replace(first, name="repeated at the end"),
    ]
    policy = Policy(
        epsilon_per_release=Fraction(1),
        epsilon_total=len(valid) + Fraction(5, 2),
        releases=len(valid) + 4,
        units=("owner", "record"),
        campaign=REHEARSAL,
        largest_share=60,
        largest_query=2000,
        time_step=Fraction(1, 2),
    )
    return Script(policy, steps)


def non_interference(
    stream: SeededStream,
    asked: Script | None = None,
    kind: type[Gate] = Gate,
    data: Mapping[str, Cohort] | None = None,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[Difference]:
    """Everything that differs between data sets; nothing is good. `progress` hears how many data
    sets are done.
    """
    asked = script() if asked is None else asked
    cohorts = data_sets() if data is None else data
    # kernels are compiled before anybody watches
    warm = replace(asked, policy=replace(asked.policy, time_step=Fraction(0)))
    perform(kind, next(iter(cohorts.values())), warm, stream, lambda _: nullcontext([]))
    seen = list[tuple[str, list[tuple[str, list[Sighting]]]]]()
    for name, each in cohorts.items():
        progress(len(seen) + 1, len(cohorts) + 1)
        seen.append((name, perform(kind, each, asked, stream)))
    (first, expected), *rest = seen
    for name, found in rest:
        for (step, one), (_, other) in zip(expected, found, strict=True):
            for where, before, after in _apart(one, other):
                yield Difference(step, where, f"{first}: {before}", f"{name}: {after}")


def _apart(one: list[Sighting], other: list[Sighting]) -> Iterator[tuple[str, str, str]]:
    """The first difference in each place; in the order of things, if there is none but that."""
    found = False
    for where in dict.fromkeys(place for place, _ in one + other):
        pairs = zip_longest(
            *([what for place, what in each if place == where] for each in (one, other))
        )
        for before, after in pairs:
            if before != after:
                found = True
                yield where, str(before), str(after)
                break
    if one != other and not found:
        yield "order", repr([place for place, _ in one]), repr([place for place, _ in other])


def perform(
    kind: type[Gate],
    cohort: Cohort,
    asked: Script,
    stream: SeededStream,
    watch: Callable[[Path], AbstractContextManager[list[Sighting]]] = watch,
) -> list[tuple[str, list[Sighting]]]:
    """Everything seen at each step, and at the end the ledger."""
    story: list[tuple[str, list[Sighting]]] = []
    with TemporaryDirectory() as folder:
        desk = Path(folder)
        ledger = ledger_in(desk)

        def open_gate(life: int) -> Gate:
            deaf, coins = seeded_kind(kind, DeafGate), stream.child("life", life)
            return gateway(deaf, cohort, asked.policy, ledger, stream=coins)

        gate = open_gate(0)
        for place, step in enumerate(asked.steps):
            with watch(desk) as seen:
                if step.restart:
                    gate = open_gate(place)
                answers = _observe(gate, step)
            story.append((step.name, [*seen, *answers, ("gate", repr(gate))]))
        lines = [("ledger", encode(each).hex()) for each in ledger.entries()]
        ledger.close()
        story.append(
            ("at the end", [*lines, ("files", repr(sorted(each.name for each in desk.iterdir())))])
        )
    return story


def _observe(gate: Gate, step: Step) -> list[Sighting]:
    """What the asker is told: answers and refusals in their places, or an error with all that
    hangs on it.
    """
    try:
        answers = gate.answers(step.question, step.owners)
        return [
            ("answer", _words(each) if isinstance(each, RefusedError) else each.hex())
            for each in answers
        ]
    except Exception as problem:
        return [("error", _words(problem))]


def _words(problem: BaseException | None) -> str:
    if problem is None:
        return ""
    notes = getattr(problem, "__notes__", [])
    behind = _words(problem.__cause__ or problem.__context__)
    return f"{type(problem).__name__}{problem.args!r} {vars(problem)!r} {notes!r} {behind}".rstrip()
