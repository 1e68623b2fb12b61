"""Paper A again as a document: its tables and curves, measured beside published."""

from collections.abc import Iterator, Sequence

from tacit.render.document import Chart, Document, Kind, Line, Section, Table
from tacit.render.sections import SPREAD, named, percents, protection
from tacit_papers.a.curves import PublicRow
from tacit_papers.a.tables import TableRow
from tacit_papers.claims import Claim
from tacit_papers.overview import claims_section
from tacit_papers.shared.curves import CurveRow, OursRow
from tacit_papers.shared.first_learner import FirstRow
from tacit_papers.shared.first_learner_report import first_sections

_TERMS = (
    ("Unit", "the owner: its one report hides everything about its rows"),
    ("Adjacency", "any two sets of rows of one owner"),
    ("Adversary", "whoever sees the reports and all that is made of them, the data user included"),
    ("Epsilon", "pure, exact, the one written beside each number; spent once by each owner"),
)
_LIMITS = (
    "The data user's own sample, from which thresholds and the weights of base learners come.",
    "Who the owners are, and how many.",
)


def paper_a(
    curves: Sequence[CurveRow],
    publics: Sequence[PublicRow],
    tables: Sequence[TableRow],
    ours: Sequence[OursRow] = (),
    firsts: Sequence[FirstRow] = (),
    claims: Sequence[Claim] = (),
) -> Document:
    """The curves of every base learner and data set, first learners, Tables II to IV, and the
    claims.
    """
    sections = [claims_section(claims)] if claims else []
    sections += [*curve_sections(curves, publics, ours), *first_sections(firsts)]
    for table, measure in dict.fromkeys((row.table, row.measure) for row in tables):
        cells = [row for row in tables if (row.table, row.measure) == (table, measure)]
        sections.append(Section(f"Table {table}: {_measure(measure)}", "", tuple(_table(cells))))
    unsound = {row.unsound for row in curves}
    claim = (
        "Where the sound variants really run, each owner's rows are protected by local "
        "differential privacy."
    )
    return Document(
        "Paper A again: private boosting across owners",
        "Each owner speaks once, in noise; the data user boosts stumps, centroids or "
        "regressions from what they say. "
        "Measured beside published, as published and in sound variants, and against the data "
        "user's sample alone.",
        (*sections, protection(claim, _TERMS, _LIMITS, unsound)),
    )


def curve_sections(
    curves: Sequence[CurveRow], publics: Sequence[PublicRow], ours: Sequence[OursRow]
) -> Iterator[Section]:
    """A section per data set and base learner: errors for each epsilon, then the votes."""
    for dataset, learner in dict.fromkeys((row.dataset, row.learner) for row in curves):
        own = [row for row in curves if (row.dataset, row.learner) == (dataset, learner)]
        refined = [row for row in ours if (row.dataset, row.learner) == (dataset, learner)]
        alone = [row for row in publics if row.dataset == dataset]
        title = f"Boosted {learner} on {dataset}"
        yield Section(title, "", (*_curves(title, own, alone, refined), *_votes(title, own)))


def _votes(title: str, rows: Sequence[CurveRow]) -> Iterator[Chart]:
    """Weighted errors and votes of base learners, means over the runs that have so many."""
    for label in ("weighted error", "vote"):
        lines = []
        for key in dict.fromkeys((row.variant, row.mechanism, row.epsilon) for row in rows):
            own = [row for row in rows if (row.variant, row.mechanism, row.epsilon) == key]
            values = [
                (float(row.learners), row.error if label == "weighted error" else row.alpha)
                for row in own
            ]
            known = [(x, y) for x, y in values if y is not None]
            if known:
                budget = "no privacy" if key[2] is None else f"{key[1]}, epsilon {key[2]:g}"
                x, y = zip(*known, strict=True)
                lines.append(
                    Line(f"{named(key[0], own[0].unsound)}, {budget}", x, y, None, _kind(own[0]))
                )
        if lines:
            yield Chart(
                f"{title}: {label} of each base learner", "base learner", label, tuple(lines)
            )


def _curves(
    title: str, rows: Sequence[CurveRow], publics: Sequence[PublicRow], ours: Sequence[OursRow]
) -> Iterator[Chart]:
    """A chart per epsilon: test error against the number of base learners."""
    for epsilon in dict.fromkeys(row.epsilon for row in rows if row.epsilon is not None):
        shown = [row for row in rows if row.epsilon in (epsilon, None)]
        lines: list[Line] = []
        for key in dict.fromkeys((row.variant, row.mechanism) for row in shown):
            lines += _lines([row for row in shown if (row.variant, row.mechanism) == key])
        lines += [
            Line(f"data user's sample alone: {r.model}", (), (100 * r.error,), None, "public")
            for r in publics
        ]
        for own in ours:
            if own.epsilon == epsilon:
                lines.append(
                    Line("ours: sample and owners combined", (), (100 * own.mean,), None, "ours")
                )
                if not publics:
                    lines.append(
                        Line("data user's sample alone", (), (100 * own.alone,), None, "public")
                    )
        name = f"{title}, epsilon {epsilon:g}"
        yield Chart(
            name,
            "base learners",
            "test error, %",
            tuple(lines),
            note=f"{SPREAD} Crosses: stated in the paper.",
        )


def _kind(row: CurveRow) -> Kind:
    return "other" if row.epsilon is None else "paper" if row.unsound else "ours"


def _lines(rows: Sequence[CurveRow]) -> Iterator[Line]:
    first = rows[0]
    mechanism = "no privacy" if first.epsilon is None else first.mechanism
    kind = _kind(first)
    name = f"{named(first.variant, first.unsound)}, {mechanism}"
    yield percents(name, ((row.learners, row.mean, row.std) for row in rows), kind)
    stated = [
        (float(row.learners), 100 * row.published)
        for row in rows
        if row.unsound and row.published is not None
    ]
    if stated:
        x, y = zip(*stated, strict=True)
        yield Line(f"stated in the paper, {mechanism}", x, y, None, "published")


def _table(rows: Sequence[TableRow]) -> Iterator[Chart | Table]:
    """A chart per data set, and all cells with the published ones in brackets."""
    mechanisms = list(dict.fromkeys(row.mechanism for row in rows))
    for dataset in dict.fromkeys(row.dataset for row in rows):
        own = [row for row in rows if row.dataset == dataset]
        lines = [
            _measured([row for row in own if row.mechanism == mechanism])
            for mechanism in mechanisms
        ]
        for mechanism in mechanisms:
            printed = [
                (row.epsilon, row.published_mean)
                for row in own
                if row.mechanism == mechanism and row.published_mean is not None
            ]
            if printed:
                x, y = zip(*printed, strict=True)
                lines.append(Line(f"{mechanism}, published", x, y, None, "published"))
        yield Chart(
            f"Table {own[0].table}, {dataset}",
            "epsilon",
            _measure(own[0].measure),
            tuple(lines),
            note=SPREAD,
            y_scale="log",
        )
    epsilons = sorted({row.epsilon for row in rows})
    lines_of_text = []
    for dataset, mechanism in dict.fromkeys((row.dataset, row.mechanism) for row in rows):
        cells = {
            row.epsilon: row for row in rows if (row.dataset, row.mechanism) == (dataset, mechanism)
        }
        holds = f"{sum(row.holds for row in cells.values())} of {len(cells)}"
        lines_of_text.append(
            (f"{dataset}, {mechanism}", *(_cell(cells.get(e)) for e in epsilons), holds)
        )
    columns = (
        "data set, mechanism",
        *(f"epsilon {epsilon:g}" for epsilon in epsilons),
        "order holds",
    )
    note = "Mean, standard deviation; in brackets what the paper printed."
    yield Table(
        f"Table {rows[0].table}: {_measure(rows[0].measure)}", columns, tuple(lines_of_text), note
    )


def _measured(rows: Sequence[TableRow]) -> Line:
    x, means, stds = zip(*((row.epsilon, row.mean, row.std) for row in rows), strict=True)
    return Line(rows[0].mechanism, x, means, stds, "paper")


def _cell(row: TableRow | None) -> str:
    if row is None:
        return ""
    printed = "" if row.published_mean is None else f" ({row.published_mean:.3g})"
    return f"{row.mean:.3g} ± {row.std:.2g}{printed}"


def _measure(name: str) -> str:
    return {
        "l2": "distance to the exact centroids",
        "mse": "mean squared error",
        "rmse": "root mean squared error",
    }.get(name, name)
