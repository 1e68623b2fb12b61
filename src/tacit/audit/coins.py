"""Whether a gate's own coins are fresh: for every owner, every question, and after every start.

Coins that are used twice undo the noise. Whoever gets the same coins once under rows that it knows (its own, or a
question whose share everybody knows) reads the other report like a letter. No bound on a single answer shows that, and
a rehearsal cannot either, since it brings its own coins. So here the gate keeps the ones it has.

Owners with equal rows are asked two questions with equal content, at two gateways. PrivUnit names one of 2^64
codewords, 2^64 / N of the names equally likely whatever the rows (N is the number of candidates, below 2^16): fresh
coins give one name twice with probability at most m^2 / 2^49 for m reports, less than 3e-9 for the 1,200 used here.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from tacit.audit.campaign import (
    FIRST_ROUND,
    gateway,
    gathered,
    invite,
    ledger_in,
    names,
    same_rows,
    share_query,
    signed,
)
from tacit.audit.rehearsal import REHEARSAL
from tacit.learners.stump import Stump
from tacit.owner.gate import Gate
from tacit.owner.policy import Policy

_OWNERS = 300
_HEADER = 8  # of a report: version, tag and level


def repeated_coins(kind: type[Gate] = Gate, owners: int = _OWNERS) -> Iterator[str]:
    """Where coins came twice: between owners, between questions, or between starts; nothing is good."""
    query = share_query(Stump(), "privunit", [1.0], FIRST_ROUND)
    policy = Policy(
        epsilon_per_release=Fraction(1),
        epsilon_total=Fraction(2),
        releases=2,
        campaign=REHEARSAL,
        time_step=Fraction(0),
    )
    everybody = names(owners)
    heard: list[list[bytes]] = []
    for _ in range(2):
        with TemporaryDirectory() as folder:
            ledger = ledger_in(Path(folder))
            gate = gateway(kind, gathered([same_rows(1.0, 1, 1)] * owners), policy, ledger)
            for number in (1, 2):
                answers = gate.answers(signed(invite(query, number)), everybody)
                heard.append([a[_HEADER:] for a in answers if isinstance(a, bytes)])
            ledger.close()
    first, second, restarted, _ = (set(reports) for reports in heard)
    if sum(map(len, heard)) < 4 * owners:
        yield f"{4 * owners - sum(map(len, heard))} of {4 * owners} questions were not answered"
    if any(len(set(reports)) < len(reports) for reports in heard):
        yield "owners share coins"
    if first & second:
        yield "questions share coins"
    if first & restarted:
        yield "a gate that is started again repeats its coins"
