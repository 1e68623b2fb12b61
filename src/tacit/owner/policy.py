"""What an owner allows, decided before any question comes, by the owner alone.

Budgets are exact: decimals of the file become rationals, and every comparison is between rationals.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tacit._util.checks import bad, whole
from tacit._util.settings import read_settings
from tacit.learners.owners.sum_query import SealedQuery
from tacit.learners.query import Invitation, Query
from tacit.mechanisms.registry import PRIVATE_NAMES, mechanism_by_name
from tacit.mechanisms.streams import rational
from tacit.owner.ledger_entries import COUNTS, budget_used
from tacit.sums import HOW

_LARGEST_QUERY = 1 << 20  # bytes, unless a policy says otherwise


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Limits on what may leave.

    epsilon_per_release, epsilon_total : budgets, exact; give strings, decimals or whole numbers.
    delta_total : what the deltas of all campaigns may add up to, exact; 0 allows pure epsilon only.
    releases : how many questions may be answered in all.
    columns, labels : columns that may be used, and predicted; None allows every one.
    columns_never : columns that may be neither.
    learners, mechanisms : names that are allowed; None allows every sound one.
    units : whose change must be hidden: "owner" (everything this owner has) or "record" (each of
    its rows).
    largest_share : numbers that a share may have.  largest_query : bytes that a question may have.
    campaign : the only campaign to take part in; None: any that the pinned key signs.
    helper : the key (hex) of the second server to trust in sums over all owners, from those who run
    it; None: take part
        in no such sum, because a coordinator that names its own second server would see your terms.
    rows, records : how many rows of an owner count, the first so many: `rows` where the unit is the
    owner, `records` where it is the record. Public: how long an answer takes is computed from it.
    longest, largest_memory : seconds and bytes that an answer may take by the bound of its
    question; a question that may take more is refused.
    time_step : answers leave at the moment that the question, `rows` and `records` name, so that
    how long they took tells nothing; what takes no rows (refusals, answers that are repeated) after
    a multiple of this many seconds. 0: as soon as it is there, without that protection, for trials.

    >>> policy = Policy(epsilon_per_release="0.5", epsilon_total=1, releases=2)
    >>> policy.level((0.25, 0.5, 2.0), spent=Fraction(0))
    1
    >>> policy.level((0.25, 0.5), spent=Fraction(3, 4))
    0
    """

    epsilon_per_release: Fraction
    epsilon_total: Fraction
    delta_total: Fraction = Fraction(0)
    releases: int = 1
    columns: tuple[str, ...] | None = None
    columns_never: tuple[str, ...] = ()
    labels: tuple[str, ...] | None = None
    learners: tuple[str, ...] | None = None
    mechanisms: tuple[str, ...] | None = None
    units: tuple[str, ...] = ("owner",)
    largest_share: int = 1 << 20
    largest_query: int = _LARGEST_QUERY
    campaign: str | None = None
    helper: str | None = None
    time_step: Fraction = Fraction(1, 10)
    rows: int = 1 << 10
    records: int = 1 << 16
    longest: Fraction = Fraction(300)
    largest_memory: int = 1 << 31

    def __post_init__(self) -> None:
        for name in ("epsilon_per_release", "epsilon_total", "delta_total", "time_step", "longest"):
            object.__setattr__(self, name, exact(name, getattr(self, name)))
        self._check_numbers()
        self._check_names()
        named: object = self.campaign
        if not (named is None or (isinstance(named, str) and named)):
            raise bad("campaign", "the name of a campaign", self.campaign)
        if self.helper is not None and not _KEY.fullmatch(str(self.helper)):
            raise bad("helper", "a public key, 64 hexadecimal digits", self.helper)

    def _check_names(self) -> None:
        for name in ("learners", "mechanisms", "units", "columns", "columns_never", "labels"):
            given = getattr(self, name)
            if given is not None:
                listed = isinstance(given, list | tuple)
                if not (listed and all(isinstance(each, str) for each in given)):
                    raise bad(name, "a list of names", given)
                object.__setattr__(self, name, tuple(given))
        if self.mechanisms is not None and not set(self.mechanisms) <= _KNOWN:
            strange = [each for each in self.mechanisms if each not in _KNOWN]
            if not all(mechanism_by_name(each) == each != "none" for each in strange):
                raise bad("mechanisms", f"among {sorted(_KNOWN)}", self.mechanisms)
        if not (self.units and set(self.units) <= {"owner", "record"}):
            raise bad("units", "of 'owner' and 'record'", self.units)

    def _check_numbers(self) -> None:
        for name in ("epsilon_per_release", "epsilon_total"):
            if not getattr(self, name) > 0:
                raise bad(name, "> 0", str(getattr(self, name)))
        if not 0 <= self.delta_total < Fraction(1, 2):
            raise bad("delta_total", "at least 0 and below 1/2", str(self.delta_total))
        if not 0 <= self.time_step <= 3600:
            raise bad("time_step", "0 to 3600 seconds", str(self.time_step))
        if not 0 < self.longest <= 86400:
            raise bad("longest", "above 0, at most 86400 seconds", str(self.longest))
        for name in _COUNTS:
            whole(name, getattr(self, name), 1)

    @classmethod
    def read(cls, path: str | Path) -> "Policy":
        """From a TOML file; a name that is not known is refused, so that a misspelt limit is not
        lost.
        """
        content = read_settings(Path(path), "policy", Decimal)
        known = {field.name for field in fields(cls)}
        if not set(content) <= known:
            raise ValueError(
                f"{path}: unknown names {sorted(set(content) - known)}; known are {sorted(known)}"
            )
        missing = {"epsilon_per_release", "epsilon_total"} - set(content)
        if missing:
            raise ValueError(f"{path}: {', '.join(sorted(missing))} must be given")
        try:
            return cls(**content)
        except ValueError as problem:
            raise ValueError(f"{path}: {problem}") from None

    def level(
        self,
        epsilons: tuple[float, ...],
        spent: Fraction,
        counts: Fraction = Fraction(0),
        how: str = "",
    ) -> int | None:
        """The place of the largest epsilon on offer that is allowed after `spent`, of which
        `counts` went for counts, if this release is made as `how` says; None: none is.
        """
        for place in reversed(range(len(epsilons))):
            epsilon = rational(epsilons[place])
            then = budget_used(spent + epsilon, counts + epsilon if how == COUNTS else counts)
            if epsilon <= self.epsilon_per_release and then <= self.epsilon_total:
                return place
        return None

    def pays(
        self, query: Query, cost: Fraction, spent: Fraction, counts: Fraction, delta: Fraction
    ) -> bool:
        """Whether an answer with a delta may be given that adds `cost` to the epsilon `spent`, of
        which `counts` went for counts, when the deltas of all campaigns then add up to `delta`.
        """
        (single,) = map(rational, query.epsilons)
        fits = budget_used(spent + cost, counts) <= self.epsilon_total
        return fits and single <= self.epsilon_per_release and delta <= self.delta_total

    def refuse_columns(self, columns: Collection[str], label: str) -> str:
        """Why these columns may not be used, or this one predicted; empty: they may."""
        barred = {*columns, label} & set(self.columns_never)
        if self.columns is not None:
            barred |= set(columns) - set(self.columns)
        if barred:
            return f"the policy does not allow the columns {', '.join(sorted(barred))}"
        if self.labels is not None and label not in self.labels:
            return f"the policy does not allow to predict {label}"
        return ""

    def rows_of(self, query: Query) -> int:
        """How many rows of an owner count for a question."""
        return self.records if query.unit == "record" else self.rows

    def moment(self, query: Query, owners: int) -> Fraction:
        """Seconds after which the answers of so many owners are done, whatever their rows: a
        function of question and policy, with time for answering as from no rows instead, and some
        for what is not counted.
        """
        cost = query.cost(self.rows_of(query)) + query.cost(0)
        return OVERHEAD + Fraction(cost.times(owners).seconds)

    def too_costly(self, query: Query) -> str:
        """Why an answer may take too much, by the bound of its question; empty: it does not."""
        cost = query.cost(self.rows_of(query))
        if not cost.seconds <= self.longest:
            return f"an answer may take longer than {float(self.longest):g} s"
        if not cost.memory <= self.largest_memory:
            return f"an answer may take more than {self.largest_memory} bytes of memory"
        return ""

    def objection(self, invitation: Invitation, successors: Collection[bytes] = ()) -> str:
        """Why this question may not be answered whatever the budget; empty: it may. No rows are
        looked at. `successors` are keys that took the place of the helper's, as it says itself.
        """
        query = invitation.query
        if query.unsound:
            return "the query may only be simulated"
        if self.campaign is not None and invitation.campaign != self.campaign:
            return "the campaign is not the one that the policy names"
        if query.unit not in self.units:
            return f"the policy does not allow the unit {query.unit!r}"
        if self.learners is not None and query.what not in self.learners:
            return "the policy does not allow this learner"
        if self.mechanisms is not None and query.how not in self.mechanisms:
            return "the policy does not allow this mechanism"
        if not query.width <= self.largest_share:
            return f"a share may have at most {self.largest_share} numbers"
        trusted = {str(self.helper).lower(), *(key.hex() for key in successors)}
        if isinstance(query, SealedQuery) and query.terms.helper.hex() not in trusted:
            return "the policy does not name the second server of this sum as its helper"
        if not rational(query.delta) <= self.delta_total:
            return f"the policy allows a delta of at most {float(self.delta_total):g}"
        return ""


_COUNTS = ("releases", "largest_share", "largest_query", "rows", "records", "largest_memory")
OVERHEAD = Fraction(1, 10)  # seconds: two processes, and a busy machine
_TRAININGS = (
    "objective",
    "output",
    "counts",
)  # private training and counting, where the unit is a record
_KNOWN = {*PRIVATE_NAMES, *_TRAININGS, HOW}
_KEY = re.compile("[0-9a-fA-F]{64}")
_DIGITS = 400  # of a budget, before and after the point: as many as a ledger's line may have


def exact(name: str, value: Any) -> Fraction:
    """A budget as a rational; binary floats are refused, because 0.1 is not a tenth.

    >>> exact("epsilon", "0.1"), exact("epsilon", Decimal("1.5"))
    (Fraction(1, 10), Fraction(3, 2))
    """
    if isinstance(value, Fraction | Decimal | str) or (
        isinstance(value, int) and not isinstance(value, bool)
    ):
        try:
            if _is_short(value):
                return Fraction(value)
        except (ValueError, ArithmeticError):
            pass
    raise bad(name, "an exact number: a whole number, a decimal, or a string such as '0.1'", value)


def _is_short(value: Fraction | Decimal | str | int) -> bool:
    """Whether a number has few enough digits to be computed with: 1e999999999, which is ten
    letters, would fill the memory.
    """
    if isinstance(value, str):
        if not len(value) <= _DIGITS:
            return False
        value = Fraction(value) if "/" in value else Decimal(value)
    if isinstance(value, Decimal):
        last = value.as_tuple().exponent
        return isinstance(last, int) and last >= -_DIGITS and value.adjusted() <= _DIGITS
    return max(abs(value.numerator), value.denominator).bit_length() <= 4 * _DIGITS
