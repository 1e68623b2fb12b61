"""Hostile questions at the gate: nothing out of policy is released, nothing but a refusal is
raised.

Whether an answer was within the policy is judged here, from the question's own plain content, by
other code than the gate's. The work is done in a process of its own, with little memory to spare,
so that a crash is seen as one; in the full run kernels are compiled with their bounds checked, so
that an index out of range is an error and not luck. `python -m reliability.questions COUNT SEED`
prints what one such process found.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path
from time import perf_counter, time
from typing import Any

import numpy as np

from reliability.campaign import NAME, PRIVATE, Campaign, in_memory, ledger_in, limits
from reliability.finding import Finding
from reliability.hostile import CAMPAIGN, EXPIRES, NUMBER, SCHEMA, Fuzz, terms_of
from reliability.hostile_anything import HELPER
from tacit._util.types import FloatArray
from tacit.data.cohort import Cohort
from tacit.learners.query import PURPOSE, Invitation, Query, digest_of, unpack
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import Stream
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.policy import Policy
from tacit.wire.envelopes import open_signed

_PROCESSES = 2
_DAMAGED = 0.3  # of the questions are changed after they were signed
_OWNERS = 3000
_SPARE = 2 << 30  # bytes of address space beyond what is in use at the start
FAULTS = (
    "releases out of policy",
    "errors other than a refusal, and crashes",
    "admitted questions that stumble over rows",
    "reports off the mechanism's grid",
    "charges that differ from what was released",
)
_STRICT = limits(
    epsilon_per_release="0.3",
    epsilon_total="0.7",
    releases=3,
    learners=("stump", "centroid"),
    mechanisms=("privunit", "piecewise", "duchi", "laplace"),
    campaign=NAME,
    largest_share=60,
)
_LAX = limits(
    epsilon_per_release=50,
    epsilon_total=200,
    releases=100,
    units=("owner", "record"),
    helper=HELPER.hex(),
)
_SOUND = (
    *("stump", "centroid", "logistic", "discriminant", "error sum"),
    *("site", "leaves", "tree", "contrasts"),
)
_TRAININGS = ("counts", "objective", "output")
_PRIVATE = (*PRIVATE, *_TRAININGS, "two servers")


class Watched(Gate):
    """A gate that counts what it would otherwise put right in silence."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.stumbles: list[str] = []

    def _release(
        self, query: Query, cohort: Cohort, epsilons: FloatArray, coins: Stream
    ) -> Reports:
        try:
            return super()._release(query, cohort, epsilons, coins)
        except Exception as problem:
            if len(cohort.y):  # trials at owners without rows may fail: that is what they are for
                self.stumbles.append(f"{type(problem).__name__}: {problem}")
            elif isinstance(problem, IndexError):
                self.stumbles.append(f"out of bounds: {problem}")
            raise


class Judge:
    """Asks hostile questions and holds the answers against the policy."""

    def __init__(self, classes: int, policy: Policy, folder: Path, seed: int) -> None:
        self.campaign, self.policy = Campaign(classes), policy
        self.rng = np.random.default_rng(seed)
        self.fuzz = Fuzz(self.campaign, self.rng)
        self.owners = [f"owner {i}" for i in range(_OWNERS)]
        folder.mkdir()
        self.folder = folder
        self.gate = self.campaign.gate(self.owners, policy, ledger_in(folder), Watched)
        self.faults: Counter[str] = Counter(dict.fromkeys(FAULTS, 0))
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.spent: dict[str, list[Fraction]] = defaultdict(list)
        self.slowest = 0.0

    def ask(self) -> None:
        if self.rng.random() < _DAMAGED:
            content, data = None, self.fuzz.damaged()
        else:
            content = self.fuzz.hostile()
            data = self.fuzz.signed(content)
        owner = self.owners[int(self.rng.integers(_OWNERS))]
        began = perf_counter()
        try:
            report = self.gate.answer(data, owner)
        except RefusedError as refused:
            self.counts[f"refused: {refused.reason.name.lower()}"] += 1
        except Exception as problem:
            self._fault(
                "errors other than a refusal, and crashes", f"{type(problem).__name__}: {problem}"
            )
        else:
            self.counts["answered"] += 1
            self._hold(content, data, owner, report)
        self.slowest = max(self.slowest, perf_counter() - began)

    def _hold(self, content: Any, data: bytes, owner: str, report: bytes) -> None:
        """Whether an answer is allowed, told from the plain content of the question and from
        what was heard before.
        """
        if content is None:
            self._fault("releases out of policy", "the question was changed after it was signed")
            return
        policy, schema = self.policy, self.campaign.schema
        invitation = open_signed(data, Invitation, PURPOSE, self.campaign.key.public_key())
        what, how, epsilons, dim, classes, width = terms_of(content, invitation.query)
        good, levels, _ = unpack([report], invitation.digest, invitation.query)
        if not good.all():
            self._fault(
                "reports off the mechanism's grid", f"{what} through {how}, {len(report)} bytes"
            )
            return
        epsilon = Fraction(repr(epsilons[int(levels[0])]))
        spent = self.spent[owner]
        wrong = [
            content[CAMPAIGN] != (policy.campaign or content[CAMPAIGN]),
            not time() < content[EXPIRES],
            content[SCHEMA] != digest_of(schema),
            not 1 <= content[NUMBER] < 1 << 63,
            (dim, classes) != (schema.dim, len(schema.classes)),
            what not in (policy.learners or _SOUND),
            how not in (policy.mechanisms or _PRIVATE),
            ("record" if how in _TRAININGS else "owner") not in policy.units,
            not 0 < epsilon <= policy.epsilon_per_release,
            not sum(spent, epsilon) <= policy.epsilon_total,
            not len(spent) < policy.releases,
            width > policy.largest_share,
        ]
        spent.append(epsilon)
        if any(wrong):
            self._fault("releases out of policy", f"rules {np.flatnonzero(wrong).tolist()}")

    def _fault(self, name: str, note: str) -> None:
        self.faults[name] += 1
        self.notes.append(f"{name}: {note}")

    def close(self) -> None:
        """The ledger against what was heard."""
        for note in self.gate.stumbles:  # type: ignore[attr-defined]
            self._fault("admitted questions that stumble over rows", note)
        charged: dict[str, list[Fraction]] = defaultdict(list)
        for entry in ledger_in(self.folder).entries():
            charged[entry.owner].append(Fraction(entry.epsilon))
        heard = {owner: costs for owner, costs in self.spent.items() if costs}
        self.faults["charges that differ from what was released"] += sum(
            charged.get(owner) != heard.get(owner) for owner in charged.keys() | heard.keys()
        )


def process(count: int, seed: int) -> dict[str, Any]:
    """One process's part."""
    with in_memory() as name:
        judges = [
            Judge(classes, policy, Path(name) / f"{classes} {place}", seed + 10 * classes + place)
            for classes in (2, 3)
            for place, policy in enumerate((_STRICT, _LAX))
        ]
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _SPARE, resource.RLIM_INFINITY))
        for number in range(count):
            judges[number % len(judges)].ask()
        for judge in judges:
            judge.close()
    return {
        "faults": dict(sum((judge.faults for judge in judges), Counter()) | Counter()),
        "counts": dict(sum((judge.counts for judge in judges), Counter())),
        "notes": [note for judge in judges for note in judge.notes][:20],
        "slowest": max(judge.slowest for judge in judges),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def questions(count: int, bounds_checked: bool) -> Finding:
    """The experiment, in a few processes."""
    faults = dict.fromkeys(FAULTS, 0)
    counts: Counter[str] = Counter()
    slowest = 0.0
    with tempfile.TemporaryDirectory(prefix="tacit") as compiled:
        paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
        checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": compiled} if bounds_checked else {}
        parts = [count // _PROCESSES + (place < count % _PROCESSES) for place in range(_PROCESSES)]
        running = [
            subprocess.Popen(
                [sys.executable, "-m", "reliability.questions", str(part), str(1000 * place)],
                env=os.environ | {"PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"} | checked,
                stdout=subprocess.PIPE,
            )
            for place, part in enumerate(parts)
        ]
        for child in running:
            written, _ = child.communicate()
            if child.returncode:
                faults["errors other than a refusal, and crashes"] += 1
                continue
            found = json.loads(written)
            for name, number in found["faults"].items():
                faults[name] += number
            counts += Counter(found["counts"])
            slowest = max(slowest, found["slowest"])
            for note in found["notes"]:
                print(note, file=sys.stderr)
    figures = {name: float(number) for name, number in sorted(counts.items())}
    checked_text = ", bounds of kernels checked" if bounds_checked else ""
    tried = f"{count:,} questions, {1 - _DAMAGED:.0%} signed with the right key{checked_text}"
    return Finding(
        "hostile questions", tried, faults, figures | {"slowest question, seconds": slowest}
    )


if __name__ == "__main__":
    print(json.dumps(process(int(sys.argv[1]), int(sys.argv[2]))))
