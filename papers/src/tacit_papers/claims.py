"""What a paper says, and whether it is so here: statements are judged from rows, and from
nothing else.

A statement's judge looks rows up and says whether it holds and what was measured. Rows that are not
there make it unchecked, and so do statements that nothing here measures. Claims become tables, of
one paper or of several on one page.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import hypot, prod, sqrt
from typing import Any, Literal, Protocol

from tacit.render.document import Document, Figures, Section, Table
from tacit_papers.rows_file import Kind, select

Verdict = Literal["holds", "differs", "unchecked"]
Reason = Literal[
    "ours better", "ours weaker", "paper contradicts itself", "data replaced", "tolerance"
]  # why a claim differs


class NoRowsError(LookupError):
    """Rows that a judge needs have not been measured."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper beside what was measured; `why` says what to know about a
    difference or a gap, and `reason` of which kind a difference is.
    """

    paper: str
    where: str
    text: str
    published: str
    measured: str
    verdict: Verdict
    why: str
    reason: Reason | None = None


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that can be looked up by kind and fields."""

    all: Sequence[Any]

    def of(self, kind: type[Kind], **fields: object) -> list[Kind]:
        """All rows of a kind with these fields; there must be some."""
        found = select(self.all, kind, **fields)
        if not found:
            wanted = ", ".join(f"{name} {value}" for name, value in fields.items())
            raise NoRowsError(f"not measured: {wanted}")
        return found

    def one(self, kind: type[Kind], **fields: object) -> Kind:
        """The one row of a kind with these fields."""
        found = self.of(kind, **fields)
        if not len(found) == 1:
            raise ValueError(f"fields must name one {kind.__name__}, got {len(found)} for {fields}")
        return found[0]


Judge = Callable[[Rows], tuple[bool, str]]  # whether it holds, and what was measured


@dataclass(frozen=True, eq=False)
class Statement:
    """What a paper says, and how that is judged; no judge: nothing here measures it, and `caution`
    says why.

    `caution` is what to know when it differs, `reason` of which kind that is: known beforehand, or
    told from rows.
    """

    where: str
    text: str
    published: str
    judge: Judge | None
    caution: str = ""
    reason: Reason | Callable[[Rows], Reason] = "tolerance"


def judge_all(paper: str, statements: Iterable[Statement], rows: Sequence[Any]) -> list[Claim]:
    """Every statement of a paper, judged."""
    known = Rows(rows)
    return [_judge(paper, statement, known) for statement in statements]


def counts(claims: Iterable[Claim]) -> dict[Verdict, int]:
    """How many claims hold, differ and are unchecked."""
    found = Counter(claim.verdict for claim in claims)
    return {"holds": found["holds"], "differs": found["differs"], "unchecked": found["unchecked"]}


def reasons(claims: Iterable[Claim]) -> dict[Reason, int]:
    """How many differ, by reason, most first."""
    return dict(Counter(claim.reason for claim in claims if claim.reason).most_common())


def _judge(paper: str, statement: Statement, rows: Rows) -> Claim:
    said = (paper, statement.where, statement.text, statement.published)
    if statement.judge is None:
        return Claim(*said, "", "unchecked", statement.caution)
    try:
        holds, measured = statement.judge(rows)
    except NoRowsError as problem:
        return Claim(*said, "", "unchecked", str(problem))
    except (LookupError, ValueError, ZeroDivisionError) as problem:  # a judge needs more rows
        why = f"rows are not complete ({type(problem).__name__}: {problem})"
        return Claim(*said, "", "unchecked", why)
    if holds:
        return Claim(*said, measured, "holds", "")
    reason = statement.reason
    kind = reason(rows) if callable(reason) else reason
    return Claim(*said, measured, "differs", statement.caution, kind)


def percent(*values: float) -> str:
    """Shares in percent, one after another.

    >>> percent(0.371, 0.17)
    '37.1, 17.0'
    """
    return ", ".join(f"{100 * value:.1f}" for value in values)


def unit_factor(published: Sequence[float], measured: Sequence[float]) -> float:
    """The one factor that takes measured values to the unit of the published ones: the geometric
    mean of their ratios.

    >>> unit_factor([8.0, 2.0], [2.0, 2.0])
    2.0
    """
    ratios = [paper / own for paper, own in zip(published, measured, strict=True)]
    return prod(ratios) ** (1 / len(ratios))


def near(values: Iterable[float], published: Iterable[float], distance: float) -> bool:
    """Whether all values are within a distance of the published ones."""
    return all(
        abs(value - paper) <= distance for value, paper in zip(values, published, strict=True)
    )


def noise(std: float, runs: int, most: float) -> float:
    """What counts as noise of a mean over runs: two standard errors, but never more than `most`,
    the tolerance of the claim itself, so that no spread can make a claim hollow.

    >>> noise(0.03, 9, 0.05), noise(0.5, 9, 0.05)
    (0.02, 0.05)
    """
    return min(2 * std / sqrt(runs), most)


class Spread(Protocol):
    """A mean over runs, and how far these lie apart."""

    @property
    def mean(self) -> float: ...
    @property
    def std(self) -> float: ...
    @property
    def runs(self) -> int: ...


@dataclass(frozen=True)
class Mean:
    """A mean over runs, of rows that have several."""

    mean: float
    std: float
    runs: int


def exceeds(one: Spread, other: Spread) -> bool:
    """Whether one mean is above another by more than two standard errors of their difference, taken
    as if runs were independent: those that share their owners are not, so on the safe side.

    >>> exceeds(Mean(0.6, 0.03, 9), Mean(0.5, 0.03, 9)), exceeds(Mean(0.6, 0.3, 9), Mean(0.5, 0, 9))
    (True, False)
    """
    error = hypot(one.std / sqrt(one.runs), other.std / sqrt(other.runs))
    return one.mean - other.mean > 2 * error


def average(points: Sequence[Spread]) -> Mean:
    """The mean over several points, which have the same owners in every run: spreads are taken to
    go together, on the safe side.

    >>> average([Mean(0.5, 0.02, 9), Mean(0.75, 0.04, 9)])
    Mean(mean=0.625, std=0.03, runs=9)
    """
    count = len(points)
    std = sum(point.std for point in points) / count
    return Mean(sum(point.mean for point in points) / count, std, points[0].runs)


def climbs(points: Sequence[Spread]) -> bool:
    """Whether the last mean is above the first, and none below the one before it, all by more than
    noise.

    >>> up, down = Mean(0.6, 0.01, 9), Mean(0.5, 0.01, 9)
    >>> climbs([down, up, up]), climbs([down, up, down]), climbs([down, down])
    (True, False, False)
    """
    back = any(exceeds(before, after) for before, after in pairwise(points))
    return exceeds(points[-1], points[0]) and not back


def sinks(points: Sequence[Spread]) -> bool:
    """The same downwards."""
    return climbs(points[::-1])


def moves(ends: Sequence[float], published: Sequence[float]) -> bool:
    """Whether a value moves as published from first to last: that way, and at least half as far.

    >>> moves([0.35, 0.15], [0.37, 0.17]), moves([0.077, 0.077], [0.09, 0.04])
    (True, False)
    """
    own, paper = ends[-1] - ends[0], published[-1] - published[0]
    return own * paper > 0 and abs(own) >= abs(paper) / 2


def falls(values: Sequence[float], slack: float = 0.0) -> bool:
    """Whether the last value is below the first and no step goes up by more than `slack`.

    >>> falls([3.0, 2.0, 2.5, 1.0], slack=0.5), falls([3.0, 2.0, 2.5, 1.0])
    (True, False)
    """
    steps = pairwise(values)
    return values[-1] < values[0] and all(after <= before + slack for before, after in steps)


_ORDER = ("differs", "unchecked", "holds")  # what to look at comes first


def overview(claims: Sequence[Claim]) -> Document:
    """Counts over all papers and for each; then every claim."""
    papers = {
        name: [claim for claim in claims if claim.paper == name]
        for name in dict.fromkeys(claim.paper for claim in claims)
    }
    total = counts(claims)
    figures = Figures(
        tuple((f"Claims: {verdict}", str(n), f"of {len(claims)}") for verdict, n in total.items())
    )
    rows = tuple(
        (f"paper {name.upper()}", *map(str, counts(own).values()), str(len(own)))
        for name, own in papers.items()
    )
    table = Table("Published claims by paper", ("paper", *total, "all"), rows)
    return Document(
        "Four papers, measured again",
        "Every table and figure was run again at the papers' settings, where data was at hand. "
        "Each paper has a report of its own in the folder beside this file.",
        (
            Section("Do the papers' claims hold?", "", (figures, table)),
            *(
                claims_section(own, f"What paper {name.upper()} says")
                for name, own in papers.items()
            ),
        ),
    )


def claims_section(claims: Sequence[Claim], title: str = "Published claims") -> Section:
    """Claims with their verdicts, and how many of each kind there are; those that could not be
    checked are folded away where others were.
    """
    checked = [claim for claim in claims if claim.verdict != "unchecked"]
    others = [claim for claim in claims if claim.verdict == "unchecked"]
    tables = [claims_table("Claims and verdicts", checked)] if checked else []
    if others:
        caption = "Claims that could not be checked"
        folded = f"{len(others)} that could not be checked, and why" if checked else ""
        tables.append(replace(claims_table(caption, others), folded=folded))
    return Section(title, say_counts(claims), tuple(tables))


def claims_table(caption: str, claims: Sequence[Claim]) -> Table:
    """Claims with their verdicts, those that differ first; in brackets why."""
    ordered = sorted(claims, key=lambda claim: _ORDER.index(claim.verdict))
    rows = tuple(
        (
            claim.where,
            claim.text + (f" ({claim.why})" if claim.why else ""),
            claim.published,
            claim.measured,
            claim.verdict + (f": {claim.reason}" if claim.reason else ""),
        )
        for claim in ordered
    )
    return Table(caption, ("where", "claim", "published", "measured", "verdict"), rows)


def say_counts(claims: Sequence[Claim]) -> str:
    """How many claims hold, differ, and could not be checked."""
    found = counts(claims)
    return (
        f"Of {len(claims)} published claims {found['holds']} hold, {found['differs']} differ, "
        f"{found['unchecked']} could not be checked." + _say_reasons(reasons(claims))
    )


def _say_reasons(found: Mapping[Reason, int]) -> str:
    """Why those differ that do, in one sentence; nothing where none does."""
    told = ", ".join(f"{reason} ({count})" for reason, count in found.items())
    return f" Why they differ: {told}." if told else ""
