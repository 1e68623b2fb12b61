"""A guarantee in plain words, as a section of a report."""

from math import exp

from tacit.estimators.guarantee import Guarantee
from tacit.report.document import Section, Words


def promise(guarantee: Guarantee, title: str = "What is promised, and what is not") -> Section:
    """What the guarantee says, to whom, and what it leaves open."""
    parts = []
    if guarantee.void:
        parts.append(Words(f"This run promises nothing: {guarantee.void}.", "warning"))
    if guarantee.epsilon is not None:
        parts.append(Words(_in_words(guarantee, guarantee.epsilon), "promise", _terms(guarantee, guarantee.epsilon)))
    if guarantee.not_protected:
        parts.append(Words("Not protected:", "limits", items=guarantee.not_protected))
    return Section(title, parts=tuple(parts))


def _in_words(guarantee: Guarantee, epsilon: tuple[float, float]) -> str:
    low, high = epsilon
    odds = f"{exp(high):,.3g}" if exp(high) < 1000 else f"{exp(high):,.0f}"
    same = f", or less for one that chose less than {high:g}" if low != high else ""
    begin = "With coins that nobody knows, it would be this: whatever" if guarantee.void else "Whatever"
    whole = guarantee.unit == guarantee.reporter
    about = f"the rows of one {guarantee.unit}" if whole else f"one {guarantee.unit}"
    what = "its reports" if whole else f"what left its {guarantee.reporter}"
    return (
        f"{begin} somebody believed about {about} before, {what} can change the odds of that belief by a factor of at "
        f"most {odds} (e to the power of {high:g}{same})."
    )


def _terms(guarantee: Guarantee, epsilon: tuple[float, float]) -> tuple[tuple[str, str], ...]:
    low, high = epsilon
    span = f"{low:g}" if low == high else f"{low:g} to {high:g}, as each {guarantee.reporter} chose"
    sums = "" if guarantee.error_epsilon is None else f"; and {guarantee.error_epsilon:g} for all error estimates"
    return (
        ("Epsilon", span + sums),
        ("Unit", guarantee.unit),
        ("Adjacency", guarantee.adjacency),
        ("Adversary", guarantee.adversary),
        ("Mechanism", f"{guarantee.mechanism}, {guarantee.reports} per {guarantee.reporter}"),
        ("Coins", guarantee.stream),
    )
