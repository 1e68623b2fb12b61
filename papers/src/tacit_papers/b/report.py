"""Paper B again as a document: what paper A has, votes from sums over all owners, and hitting
rates.
"""

from collections.abc import Iterator, Sequence

from tacit.render.document import Chart, Document, Line, Section
from tacit.render.sections import named, protection
from tacit_papers.a.report import curve_sections
from tacit_papers.b.hits import HitRow
from tacit_papers.claims import Claim
from tacit_papers.overview import claims_section
from tacit_papers.shared.curves import CurveRow, OursRow
from tacit_papers.shared.first_learner import FirstRow
from tacit_papers.shared.first_learner_report import first_sections

_TERMS = (
    (
        "Unit",
        "the owner: its one report and its part of every sum together hide everything about "
        "its rows",
    ),
    ("Adjacency", "any two sets of rows of one owner"),
    (
        "Adversary",
        "whoever sees the reports and all that is made of them, and either server of the sums alone",
    ),
    ("Epsilon", "pure, exact, the one written beside each number; a fifth of it is for the sums"),
)
_LIMITS = (
    "The data user's own sample, from which thresholds come.",
    "Who the owners are, and how many.",
    "Two servers of the sums that work together see every owner's error.",
)


def paper_b(
    firsts: Sequence[FirstRow],
    curves: Sequence[CurveRow],
    ours: Sequence[OursRow],
    hits: Sequence[HitRow],
    claims: Sequence[Claim] = (),
) -> Document:
    """First learners, hitting rates, boosting, and the claims."""
    sections = [claims_section(claims)] if claims else []
    sections += [*first_sections(firsts), *_hits(hits), *curve_sections(curves, (), ours)]
    unsound = (
        {row.unsound for row in firsts}
        | {row.unsound for row in curves}
        | {row.unsound for row in hits}
    )
    claim = (
        "Where the sound variants really run, each owner's rows are protected by differential "
        "privacy."
    )
    return Document(
        "Paper B again: private boosting with sums over all owners",
        "As in paper A each owner speaks once, in noise; votes come from all owners' errors, "
        "added up by two servers "
        "that each add noise. Measured beside published, and against the data user's sample alone.",
        (*sections, protection(claim, _TERMS, _LIMITS, unsound)),
    )


def _hits(rows: Sequence[HitRow]) -> Iterator[Section]:
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset]
        yield Section(f"Hitting rates on {dataset}", "", tuple(_chart(own, k) for k in (1, 3)))


def _chart(rows: Sequence[HitRow], k: int) -> Chart:
    lines = []
    for key in dict.fromkeys((row.variant, row.mechanism) for row in rows):
        own = [row for row in rows if (row.variant, row.mechanism) == key]
        rates = tuple(100 * (row.top1 if k == 1 else row.top3) for row in own)
        if own[0].epsilon is None:
            lines.append(Line("data user's sample alone", (), rates, None, "public"))
        else:
            at = tuple(row.epsilon or 0.0 for row in own)
            name = f"{named(key[0], own[0].unsound)}, {key[1]}"
            lines.append(Line(name, at, rates, None, "paper" if own[0].unsound else "ours"))
    title = (
        f"{rows[0].dataset}: the chosen attribute is one of the {k} best"
        if k > 1
        else f"{rows[0].dataset}: it is the best"
    )
    return Chart(title, "epsilon of an owner", "hitting rate, %", tuple(lines))
