"""What a campaign may ask, fixed when an owner joins: consent that binds.

A template follows from the campaign's signed terms. It holds an example of every form of question,
names what of it may differ (`free`) and how large that may be (`bounds`), how often an owner
answers, and what an answer costs. Claim: a question that passes is, but for its free parts, the
example to the byte; nothing about it depends on rows. So the gate refuses, before rows are looked
at and uncharged, whatever the owner was not shown.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from tacit._util.checks import bad, whole
from tacit.learners.invitation import Invitation, digest_of
from tacit.learners.query import Query
from tacit.mechanisms.streams import rational
from tacit.owner.policy import Policy
from tacit.wire import encode, message

ALWAYS_FREE = ("round", "attempt", "owners")
ATTEMPTS = 1000  # a question that too few answered is put again, at most so often


@message("template.bound")
@dataclass(frozen=True)
class Bound:
    """The largest that a size of a question may be."""

    name: str
    most: int


@message("template.question")
@dataclass(frozen=True, eq=False)
class QuestionForm:
    """Questions that are the example but for the fields `free`, within `bounds`.

    An owner answers at most `times`. Where the epsilons on offer are free, `most` is the largest.
    """

    example: Query
    free: tuple[str, ...]
    bounds: tuple[Bound, ...]
    times: int
    most: float

    def __post_init__(self) -> None:
        whole("times", self.times, 1)
        if not set(ALWAYS_FREE) <= set(self.free):
            raise bad("free", f"with {', '.join(ALWAYS_FREE)}", self.free)

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
        if len(query.epsilons) != len(example.epsilons):
            return "it offers other epsilons"
        same = replace(query, **{name: getattr(example, name) for name in self.free})
        if digest_of(same) != digest_of(example):
            return "it differs in what was fixed"
        sizes = sizes_of(query)
        for bound in self.bounds:
            if not sizes[bound.name] <= bound.most:
                return f"its {bound.name} is beyond {bound.most}"
        return ""


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
        """What the reports of the first form cost in all under a policy; None: it allows none."""
        form = self.forms[0]
        level = policy.level(form.example.epsilons, Fraction(0))
        return None if level is None else form.times * rational(form.example.epsilons[level])

    def lines(self) -> list[str]:
        """In plain words, for whoever is asked to agree."""
        said = [
            f"columns used: {', '.join(self.columns)}; to predict {self.label}",
            f"trust: {self.trust}",
        ]
        for form in self.forms:
            query = form.example
            free = [name for name in form.free if name not in ALWAYS_FREE]
            sizes = ", ".join(f"{bound.name} at most {bound.most}" for bound in form.bounds)
            said.append(
                f"may ask at most {form.times} times: {query.what} through {query.how}, unit "
                f"{query.unit}, epsilon at most {form.most:g}; {sizes}"
                + (f"; may differ each time: {', '.join(free)}" if free else "")
            )
        return said


def sizes_of(query: Query) -> dict[str, int]:
    """Sizes that a template bounds."""
    return {
        "round": query.round,
        "attempt": query.attempt,
        "width": query.width,
        "bytes": len(encode(query)),
    }


def bounds_of(example: Query, rounds: int, growth: int = 1) -> tuple[Bound, ...]:
    """Bounds of questions like the example, in so many rounds, whose bytes may grow by so many."""
    sizes = sizes_of(example)
    # rounds and numbers of owners are a few digits longer in later questions
    largest = {"round": rounds, "attempt": ATTEMPTS, "bytes": sizes["bytes"] + 64 + growth}
    return tuple(Bound(name, largest.get(name, size)) for name, size in sizes.items())
