"""What a campaign may ask, fixed when an owner joins: consent that binds.

A campaign publishes its template, signed. It holds an example of every form of question, names the
parts of it that may differ (`FreePart`: which objects, how many numbers, how large), how often an
owner answers, and what that costs. Claim: a question that passes is, but for its free parts, the
example to the byte, and its free parts are within their bounds; nothing about it depends on rows.
So the gate refuses, before rows are looked at and uncharged, whatever the owner was not shown.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from tacit._util.checks import bad, in_digits, whole
from tacit.learners.owners.sum_query import SealedQuery
from tacit.learners.query import Invitation, Query, digest_of
from tacit.mechanisms.streams import rational
from tacit.owner.ledger import Book
from tacit.owner.ledger_entries import COUNTS, CampaignId, added_epsilon, budget_used
from tacit.owner.policy import Policy
from tacit.owner.spending import round_up
from tacit.wire import encode, message
from tacit.wire.codec import fields_of, tag_of

ATTEMPTS = 1000  # a question that too few answered is put again, at most so often
_MOST_OWNERS = 1 << 40  # more than there are people


@message("template.bound")
@dataclass(frozen=True)
class Bound:
    """The largest that a size of a question may be."""

    name: str
    most: int


@message("template.part")
@dataclass(frozen=True)
class FreePart:
    """A part of a question that may differ from the example: `path` leads to it, `meaning` says in
    words what it is.

    It is made of at most `numbers` numbers, none larger in size than `largest`, in objects of the
    classes `kinds` (tags of the wire), and of objects with the digests `known`, as they are. Texts
    are no part of it.

    >>> part = FreePart("menu", "the epsilon of one answer", numbers=1, largest=2.0)
    >>> part.objection((1.5,)), part.objection((1.5, 0.1)), part.objection((2.5,))
    ('', 'its menu has more than 1 numbers', 'its menu has a number beyond 2')
    """

    path: str
    meaning: str
    numbers: int
    largest: float
    kinds: tuple[str, ...] = ()
    known: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "largest", float(self.largest))
        if not 0 <= self.largest < inf:
            raise bad("largest", "a finite number, at least 0", self.largest)
        whole("numbers", self.numbers, 0)

    def objection(self, value: Any) -> str:
        """Why this value may not stand there; empty: it may."""
        count = 0
        for found in self._parts(value):
            if isinstance(found, str):
                return f"its {self.path} {found}"
            count += found.size
            if not (np.abs(found) <= self.largest).all():
                return f"its {self.path} has a number beyond {self.largest:g}"
            if not count <= self.numbers:
                return f"its {self.path} has more than {self.numbers} numbers"
        return ""

    def _parts(self, value: Any) -> Iterator[Any]:
        """The numbers in a value, as arrays; a text for what may not be there."""
        match value:
            case None | bool():
                return
            case int() | float() | np.ndarray():
                yield np.asarray(value, dtype=np.float64)
            case tuple():
                for each in value:
                    yield from self._parts(each)
            case _ if is_dataclass(value) and digest_of(value) in self.known:
                return
            case _ if is_dataclass(value) and tag_of(type(value)) in self.kinds:
                for name in _fields(value):
                    yield from self._parts(getattr(value, name))
            case _:
                yield "is made of something else"

    @property
    def words(self) -> str:
        """For whoever is asked to agree."""
        if not self.numbers:
            return f"{self.meaning} (some of those published)"
        size = "a number" if self.numbers == 1 else f"{self.numbers:,} numbers"
        return f"{self.meaning} ({size} up to {in_digits(self.largest, 6)})"


@message("template.question")
@dataclass(frozen=True, eq=False)
class QuestionForm:
    """Questions that are the example but for the parts `free`, and whose sizes are within `bounds`.

    An owner answers at most `times`, at an epsilon of at most `most` each. `total` is what all of
    it costs at most, where that is less than `times` answers at the epsilon of the example. Whoever
    asks says it: of sums, whose law is fixed, it is no less than what they add up to.
    """

    example: Query
    free: tuple[FreePart, ...]
    bounds: tuple[Bound, ...]
    times: int
    most: float
    total: float | None = None

    def __post_init__(self) -> None:
        whole("times", self.times, 1)
        if len({part.path for part in self.free}) < len(self.free):
            raise bad("free", "each part once", [part.path for part in self.free])
        summed = isinstance(self.example, SealedQuery)
        if summed and self.total is not None and not rational(self.total) >= self._added_up:
            raise bad("total", f"what {self.times} sums cost together, or more", self.total)

    @property
    def _added_up(self) -> Fraction:
        """What all sums like the example cost together, as a ledger charges them."""
        query = self.example
        if query.delta:
            return added_epsilon(Fraction(0), self.times * query.rho, query.delta)
        return self.times * rational(query.epsilons[-1])

    def objection(self, query: Query) -> str:
        """Why this is not such a question; empty: it is."""
        example = self.example
        if type(query) is not type(example) or (query.what, query.how) != (
            example.what,
            example.how,
        ):
            return "it asks for something else"
        if not all(rational(epsilon) <= rational(self.most) for epsilon in query.epsilons):
            return f"it offers more than epsilon {self.most:g}"
        differs = _difference(example, query, "", {part.path: part for part in self.free})
        if differs:
            return differs
        sizes = sizes_of(query)
        for bound in self.bounds:
            if not sizes[bound.name] <= bound.most:
                return f"its {bound.name} is beyond {bound.most}"
        return ""

    def cost(self, policy: Policy) -> Fraction | None:
        """What all its answers cost under a policy, at the largest epsilon of the menu that it
        allows; None: it allows none.
        """
        level = policy.level(self.example.epsilons, Fraction(0), how=self.example.how)
        if level is None:
            return None
        every = self.times * rational(self.example.epsilons[level])
        if self.example.delta:  # of sums that cost no epsilon alone, several may
            every = max(every, self._added_up)
        return every if self.total is None else min(every, rational(self.total))


def _difference(example: Any, value: Any, path: str, free: Mapping[str, FreePart]) -> str:
    """Where a value differs from the example, or exceeds what is free; empty: nowhere."""
    if path in free:
        return free[path].objection(value)
    if type(value) is not type(example) or not _is_alike(example, value):
        return f"it differs in what was fixed: {path}"
    inside: Iterable[tuple[str, Any, Any]] = ()
    if is_dataclass(value):
        names = _fields(value)
        paths = (f"{path}.{name}".lstrip(".") for name in names)
        parts = ([getattr(each, name) for name in names] for each in (example, value))
        inside = zip(paths, *parts, strict=True)
    elif isinstance(value, tuple):
        inside = ((f"{path}[]", *pair) for pair in zip(example, value, strict=True))
    found = (_difference(one, other, below, free) for below, one, other in inside)
    return next(filter(None, found), "")


def _fields(value: Any) -> list[str]:
    """Names of what a registered object is made of."""
    kind: Any = type(value)
    return [name for name, _ in fields_of(kind)]


def _is_alike(example: Any, value: Any) -> bool:
    """Whether two values of one type are the same, apart from what is inside of them."""
    if is_dataclass(value):
        return True
    if isinstance(value, tuple):
        return len(value) == len(example)
    if isinstance(value, np.ndarray):
        form = (value.dtype, value.shape) == (example.dtype, example.shape)
        return form and value.tobytes() == example.tobytes()
    return repr(value) == repr(example)  # 0.0 is not -0.0


@message("template")
@dataclass(frozen=True, eq=False)
class Template:
    """All that a campaign may ask of an owner; `trust` says whom the guarantee rests on."""

    campaign: str
    schema: bytes
    columns: tuple[str, ...]
    label: str
    trust: str
    forms: tuple[QuestionForm, ...]

    def __post_init__(self) -> None:
        if not self.forms:
            raise bad("forms", "one at least", self.forms)

    def form_of(self, query: Query) -> QuestionForm | None:
        """The form that this question has."""
        return next((form for form in self.forms if not form.objection(query)), None)

    def objection(self, invitation: Invitation) -> str:
        """Why this question is outside; empty: it is within."""
        if (invitation.campaign, invitation.schema) != (self.campaign, self.schema):
            return "the question is of another campaign than the one that was agreed to"
        reasons = [form.objection(invitation.query) for form in self.forms]
        return "" if "" in reasons else f"the question was not agreed to: {reasons[0]}"

    def cost(self, policy: Policy) -> Fraction | None:
        """What the reports of the first form cost in all under a policy, and with them other
        counts; None: it allows none.
        """
        every = [form.cost(policy) for form in self._needed]
        return None if None in every else sum(filter(None, every), Fraction(0))

    @property
    def _needed(self) -> list[QuestionForm]:
        """Forms that everybody is asked: the first, and counts that go with it. Others, as sums of
        errors are, an owner may leave to others.
        """
        first, *others = self.forms
        return [first, *(form for form in others if form.example.how == COUNTS)]

    def refusal(self, policy: Policy) -> str:
        """Why a policy refuses what everybody is asked, whatever the budget; empty: it does not.
        Which key the helper of a sum goes by is seen when one comes.
        """
        barred = policy.refuse_columns(self.columns, self.label)
        first, *others = self._needed
        for query in (form.example for form in (first, *others)):
            asked = Invitation(self.campaign, 1, 0, self.schema, query)
            known: tuple[bytes, ...] = ()
            if isinstance(query, SealedQuery) and policy.helper is not None:
                known = (query.terms.helper,)
            said = policy.objection(asked, known)
            besides = "" if query is first.example else f" (everybody is asked for {query.what})"
            barred = barred or (said and f"{said}{besides}")
        return barred

    def is_affordable(self, policy: Policy, book: Book, owner: str, key: str) -> bool:
        """Whether what the policy leaves this owner pays for what its reports `cost`, if this is
        the campaign with that key.
        """
        cost, how = self.cost(policy), self.forms[0].example.how
        if cost is None:
            return False
        spent, releases, counts = book.spending_of(owner)
        counts += cost if how == COUNTS else 0
        enough = budget_used(spent + cost, counts) <= policy.epsilon_total
        delta = rational(self.forms[0].example.delta)
        if delta:
            campaign = CampaignId(self.campaign, key)
            enough &= book.delta_of(owner, campaign, delta) <= policy.delta_total
        return enough and releases < policy.releases

    def lines(self) -> list[str]:
        """In plain words, for whoever is asked to agree."""
        said = [
            f"columns used: {', '.join(self.columns)}; to predict {self.label}",
            f"trust: {self.trust}",
        ]
        for form in self.forms:
            query = form.example
            sizes = ", ".join(f"at most {bound.most:,} {bound.name}" for bound in form.bounds)
            times = "once" if form.times == 1 else f"{form.times} times"
            most = round_up(rational(form.most))
            said.append(
                f"may ask at most {times}: {query.what} through {query.how_in_words}, unit "
                f"{query.unit}, epsilon at most {most} each; a question has {sizes}"
            )
            outside = sorted(tag for tag in (*tags_of(query), query.how) if ":" in tag)
            if outside:
                said.append(f"  not of tacit, runs if you installed it: {', '.join(outside)}")
            said.append(f"  may differ: {'; '.join(part.words for part in form.free)}")
        return said


def sizes_of(query: Query) -> dict[str, int]:
    """Sizes that a template bounds."""
    return {"numbers in an answer": query.width, "bytes": len(encode(query))}


def bounds_of(example: Query, growth: int = 0) -> tuple[Bound, ...]:
    """Bounds of questions like the example whose bytes may grow by so many."""
    sizes = sizes_of(example)
    sizes["bytes"] += 64 + growth  # rounds and numbers of owners have more digits later
    return tuple(Bound(name, most) for name, most in sizes.items())


def repeat_parts(rounds: int) -> tuple[FreePart, ...]:
    """What differs in the questions of every campaign: which of so many rounds, which attempt, to
    how many owners or to whom.
    """
    return (
        FreePart("round", "the round", 1, rounds),
        FreePart("attempt", "the attempt", 1, ATTEMPTS),
        FreePart("owners", "who is asked, or how many", 1, _MOST_OWNERS),
    )


def part_like(path: str, meaning: str, example: Any, times: int, largest: float) -> FreePart:
    """A part made of so many objects like the example: of its classes, with as many numbers each.

    >>> from tacit.learners.models.ensemble import Ensemble
    >>> part_like("ensemble", "the model so far", Ensemble(2), 3, 700.0)
    FreePart(path='ensemble', meaning='the model so far', numbers=3, largest=700.0, \
kinds=('ensemble',), known=())
    """
    parts = list(_walk(example))
    numbers = sum(
        int(np.size(each)) for each in parts if isinstance(each, int | float | np.ndarray)
    )
    return FreePart(path, meaning, times * numbers, largest, tags_of(example))


def tags_of(value: Any) -> tuple[str, ...]:
    """The classes that a value is made of, by the tags they travel under, each once."""
    tags = (tag_of(type(each)) for each in _walk(value) if is_dataclass(each))
    return tuple(dict.fromkeys(tag for tag in tags if tag is not None))


def _walk(value: Any) -> Iterator[Any]:
    """A value and all that it is made of, as it travels."""
    todo = [value]
    while todo:
        each = todo.pop()
        yield each
        if is_dataclass(each) and tag_of(type(each)) is not None:
            todo += [getattr(each, name) for name in _fields(each)]
        elif isinstance(each, tuple):
            todo += each
