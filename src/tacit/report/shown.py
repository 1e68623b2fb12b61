"""Small pieces that documents are put together from."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from tacit.report.document import Kind, Line, Section, Table, Words

VERDICTS = ("holds", "differs", "unchecked")
SPREAD = "Bars: one standard deviation over runs."


class Claim(Protocol):
    """What a paper says, what was found, and whether that agrees."""

    @property
    def where(self) -> str: ...

    @property
    def text(self) -> str: ...

    @property
    def published(self) -> str: ...

    @property
    def measured(self) -> str: ...

    @property
    def verdict(self) -> str: ...

    @property
    def why(self) -> str: ...


def percent(mean: float, std: float | None = None) -> str:
    """A share for people.

    >>> percent(0.123, 0.004), percent(0.5)
    ('12.3 ± 0.4', '50.0')
    """
    return f"{100 * mean:.1f}" + ("" if std is None else f" ± {100 * std:.1f}")


def percents(name: str, points: Iterable[tuple[float, float, float]], kind: Kind) -> Line:
    """A line of shares in percent: (x, mean, standard deviation)."""
    x, means, stds = zip(*points, strict=True)
    return Line(name, tuple(x), tuple(100 * mean for mean in means), tuple(100 * std for std in stds), kind)


def named(method: str, unsound: str) -> str:
    """A method's name, with the mark of one that may only be simulated."""
    return f"{method} (unsound)" if unsound else method


def claims_section(claims: Sequence[Claim]) -> Section:
    """Claims with their verdicts, those that differ first; and how many of each kind there are."""
    order = ("differs", "unchecked", "holds")
    hold, differ, unchecked = (sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS)
    rows = tuple(
        (claim.where, claim.text, claim.published, claim.measured, claim.verdict, claim.why)
        for claim in sorted(claims, key=lambda claim: order.index(claim.verdict))
    )
    columns = ("where", "claim", "published", "measured", "verdict", "why")
    text = f"Of {len(claims)} published claims {hold} hold, {differ} differ, {unchecked} could not be checked."
    return Section("Published claims", text, (Table("Claims and verdicts", columns, rows),))


def protection(
    claim: str, terms: tuple[tuple[str, str], ...], limits: tuple[str, ...], unsound: Iterable[str]
) -> Section:
    """What the methods promise where they really run, what they do not, and why some may only be simulated."""
    reasons = tuple(sorted({reason for reason in unsound if reason}))
    parts = [
        Words(
            "All numbers here come from seeded simulations: reproducible, not private. Public data only was used.",
            "warning",
        ),
        Words(claim, "promise", terms),
        Words("Not protected, whatever the method:", "limits", items=limits),
    ]
    if reasons:
        text = "Methods marked unsound are there for comparison and cannot run at an owner. Why:"
        parts.append(Words(text, "limits", items=reasons))
    return Section("What is promised, and what is not", parts=tuple(parts))
