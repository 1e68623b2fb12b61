"""Paper B again as a document: Table 2, first learners, hitting rates, votes from sums over all."""

from collections.abc import Iterator, Sequence
from typing import Any

from tacit.render.document import (
    Chart,
    Document,
    Line,
    Section,
    Table,
    mark_unsound,
    percent,
    protection,
)
from tacit_papers.b.hits import HitRow
from tacit_papers.b.published import published_square
from tacit_papers.b.readings import SummedReadingRow
from tacit_papers.rows_file import select
from tacit_papers.shared.curves import CurveRow, OursRow
from tacit_papers.shared.first_learner import FirstRow
from tacit_papers.shared.report import curve_sections, first_sections

_TERMS = (
    (
        "Unit",
        "the owner: its one report and its part of every sum together hide everything about "
        "its rows",
    ),
    ("Adjacency", "any two sets of rows of one owner"),
    (
        "Adversary",
        "whoever sees the reports and all that is made of them, and either server of the sums "
        "alone",
    ),
    ("Epsilon", "pure, exact, the one written beside each number; a fifth of it is for the sums"),
)
_LIMITS = (
    "The data user's own sample, from which thresholds come.",
    "Who the owners are, and how many.",
    "Two servers of the sums that work together see every owner's error.",
)


def report_b(rows: Sequence[Any]) -> Document:
    """Table 2, first learners, hitting rates and boosting."""
    firsts, curves = select(rows, FirstRow, paper="b"), select(rows, CurveRow, paper="b")
    hits = select(rows, HitRow)
    unsound = {row.unsound for row in firsts} | {row.unsound for row in curves}
    unsound |= {row.unsound for row in hits}
    claim = (
        "Where the sound variants really run, each owner's rows are protected by differential "
        "privacy."
    )
    return Document(
        "Paper B again: private boosting with sums over all owners",
        "As in paper A each owner speaks once, in noise; votes come from all owners' errors, "
        "added up by two servers that each add noise. Measured beside published, and against "
        "the data user's sample alone.",
        (
            *_square_sections(firsts),
            *first_sections(firsts),
            *_hit_sections(hits),
            *curve_sections(curves, select(rows, OursRow, paper="b")),
            *_reading_sections(select(rows, SummedReadingRow)),
            protection(claim, _TERMS, _LIMITS, unsound),
        ),
    )


def _square_sections(rows: Sequence[FirstRow]) -> Iterator[Section]:
    """Table 2, where it was measured."""
    squares = [
        row
        for row in rows
        if row.where.startswith("Table 2")
        and row.variant == "as published"
        and row.epsilon is not None
    ]
    datasets = dict.fromkeys(row.dataset for row in squares)
    tables = (_squares([row for row in squares if row.dataset == name]) for name in datasets)
    if squares:
        yield Section("Table 2: what noise does to coefficients", "", tuple(tables))


def _squares(rows: Sequence[FirstRow]) -> Table:
    """Mechanisms down, epsilon across, published values in brackets."""
    first, epsilons = rows[0], sorted({row.epsilon or 0.0 for row in rows})
    lines = []
    for mechanism in dict.fromkeys(row.mechanism for row in rows):
        cells = {row.epsilon: _square(row) for row in rows if row.mechanism == mechanism}
        lines.append((mechanism, *(cells.get(epsilon, "") for epsilon in epsilons)))
    title = f"Table 2, {first.dataset}: mean squared error of coefficients"
    columns = ("mechanism", *(f"eps {epsilon:g}" for epsilon in epsilons))
    note = f"Mean, standard deviation, (published); {first.owners:,} owners, {first.runs} runs."
    return Table(title, columns, tuple(lines), note)


def _square(row: FirstRow) -> str:
    paper = published_square(row.dataset, row.mechanism, row.epsilon or 0.0)
    printed = "" if paper is None else f" ({paper.mean:.3g})"
    return f"{row.error or 0.0:.3g} ± {row.error_std:.1g}{printed}"


def _reading_sections(rows: Sequence[SummedReadingRow]) -> Iterator[Section]:
    """How the paper is read: every reading of every base learner."""
    if not rows:
        return
    epsilons = list(dict.fromkeys(row.epsilon for row in rows))
    lines = []
    for learner, reading in dict.fromkeys((row.learner, row.reading) for row in rows):
        own = [row for row in rows if (row.learner, row.reading) == (learner, reading)]
        cells = {row.epsilon: f"{percent(row.first)} → {percent(row.last)}" for row in own}
        first = own[0]
        name = f"{learner}, {first.dataset}, {first.rounds} rounds, {first.runs} runs"
        lines.append((name, reading, *(cells.get(epsilon, "") for epsilon in epsilons)))
    heads = ("no noise" if epsilon is None else f"eps {epsilon:g}" for epsilon in epsilons)
    table = Table(
        "Readings: test errors in %, first → last", ("method", "reading", *heads), tuple(lines)
    )
    text = (
        "What the text leaves open is read as paper A's own figures ask for: the first reading of "
        "each method."
    )
    yield Section("How we read it", text, (table,))


def _hit_sections(rows: Sequence[HitRow]) -> Iterator[Section]:
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset]
        charts = (_hit_chart(own, k) for k in (1, 3))
        yield Section(f"Hitting rates on {dataset}", "", (*charts, _hit_table(own)))


def _hit_lines(rows: Sequence[HitRow]) -> Iterator[tuple[str, list[HitRow]]]:
    """Rows line by line, with the name of the line."""
    for variant, mechanism in dict.fromkeys((row.variant, row.mechanism) for row in rows):
        own = [row for row in rows if (row.variant, row.mechanism) == (variant, mechanism)]
        alone = own[0].epsilon is None
        name = f"{mark_unsound(variant, own[0].unsound)}, {mechanism}"
        yield "data user's sample alone" if alone else name, own


def _hit_chart(rows: Sequence[HitRow], k: int) -> Chart:
    lines = []
    for name, own in _hit_lines(rows):
        rates = tuple(100 * (row.top1 if k == 1 else row.top3) for row in own)
        if own[0].epsilon is None:
            lines.append(Line(name, (), rates, None, "public"))
        else:
            at = tuple(row.epsilon or 0.0 for row in own)
            lines.append(Line(name, at, rates, None, "paper" if own[0].unsound else "ours"))
    what = "it is the best" if k == 1 else f"the chosen attribute is one of the {k} best"
    title = f"{rows[0].dataset}: {what}"
    return Chart(title, "epsilon of an owner", "hitting rate, %", tuple(lines))


def _hit_table(rows: Sequence[HitRow]) -> Table:
    """Lines down, epsilon across: top 1 / top 3."""
    first = rows[0]
    epsilons = (*sorted({row.epsilon for row in rows if row.epsilon is not None}), None)
    lines = []
    for name, own in _hit_lines(rows):
        cells = {row.epsilon: f"{100 * row.top1:.0f} / {100 * row.top3:.0f}" for row in own}
        lines.append((name, *(cells.get(epsilon, "") for epsilon in epsilons)))
    caption = f"{first.dataset}: hitting rate of the best attribute in %, top 1 / top 3"
    columns = ("line", *("none" if e is None else f"eps {e:g}" for e in epsilons))
    return Table(f"{caption}, {first.owners:,} owners", columns, tuple(lines))
