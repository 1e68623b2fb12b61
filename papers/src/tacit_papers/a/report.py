"""Paper A again as a document: its tables and curves, measured beside published."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacit.render.document import SPREAD, Chart, Document, Line, Section, Table, percent, protection
from tacit_papers.a.bounds import BoundRow, RoundCostRow
from tacit_papers.a.coefficients import CoefficientRow
from tacit_papers.a.measurements import (
    DEFAULTS,
    PublicRow,
    ReadingRow,
    TableRow,
    mean_gaps,
    stated_errors,
)
from tacit_papers.a.patches import SMALL, PatchRow, SmallPatchRow, best_patch
from tacit_papers.a.problems import ProblemRow, near_the_paper
from tacit_papers.a.published import CURVES
from tacit_papers.a.splitting import SplitRow
from tacit_papers.rows_file import select
from tacit_papers.shared.curves import CurveRow, OursRow
from tacit_papers.shared.first_learner import FirstRow
from tacit_papers.shared.report import curve_sections, first_sections

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
_RULE = (
    "of errors on rows held out of training to those that the paper states, over all data sets; "
    "the reading with the least is the default."
)
_MEASURES = {
    "l2": "distance to the exact centroids",
    "square": "mean squared error of impurities",
    "mse": "mean squared error",
    "rmse": "root mean squared error",
}


def report_a(rows: Sequence[Any]) -> Document:
    """The curves of every base learner and data set, first learners, Tables II to IV."""
    curves, tables = select(rows, CurveRow, paper="a"), select(rows, TableRow)
    alone: dict[str, dict[str, float]] = {}
    for row in select(rows, PublicRow):
        alone.setdefault(row.dataset, {})[row.model] = row.error
    claim = (
        "Where the sound variants really run, each owner's rows are protected by local "
        "differential privacy."
    )
    return Document(
        "Paper A again: private boosting across owners",
        "Each owner speaks once, in noise; the data user boosts stumps, centroids or "
        "regressions from what they say. Measured beside published, as published and in sound "
        "variants, and against the data user's sample alone.",
        (
            *curve_sections(curves, select(rows, OursRow, paper="a"), alone),
            *first_sections(select(rows, FirstRow, paper="a")),
            *_table_sections(tables),
            *_bound_sections(select(rows, BoundRow), select(rows, RoundCostRow)),
            *_splitting(select(rows, SplitRow)),
            *_coefficients(select(rows, CoefficientRow)),
            *_reading_sections(select(rows, ReadingRow)),
            *_patch_sections(select(rows, PatchRow)),
            *_small_patches(select(rows, SmallPatchRow)),
            *_problems(select(rows, ProblemRow)),
            protection(claim, _TERMS, _LIMITS, {row.unsound for row in curves}),
        ),
    )


def _table_sections(tables: Sequence[TableRow]) -> Iterator[Section]:
    """A section per table and measure: a chart per data set, and all cells."""
    for table, measure in dict.fromkeys((row.table, row.measure) for row in tables):
        rows = [row for row in tables if (row.table, row.measure) == (table, measure)]
        title = f"Table {table}: {_MEASURES[measure]}"
        charts = (
            _chart([row for row in rows if row.dataset == dataset])
            for dataset in dict.fromkeys(row.dataset for row in rows)
        )
        yield Section(title, "", (*charts, _table(title, rows)))


def _chart(rows: Sequence[TableRow]) -> Chart:
    """Mechanisms of one data set, and what was printed of them."""
    lines = []
    for mechanism in dict.fromkeys(row.mechanism for row in rows):
        own = [row for row in rows if row.mechanism == mechanism]
        x, means, stds = zip(*((row.epsilon, row.mean, row.std) for row in own), strict=True)
        lines.append(Line(mechanism, x, means, stds, "paper"))
        printed = [
            (row.epsilon, row.published_mean) for row in own if row.published_mean is not None
        ]
        if printed:
            x, y = zip(*printed, strict=True)
            lines.append(Line(f"{mechanism}, published", x, y, None, "published"))
    first = rows[0]
    title, label = f"Table {first.table}, {first.dataset}", _MEASURES[first.measure]
    return Chart(title, "epsilon", label, tuple(lines), note=SPREAD, y_scale="log")


def _table(title: str, rows: Sequence[TableRow]) -> Table:
    """Mechanisms of every data set down, budgets across."""
    epsilons = sorted({row.epsilon for row in rows})
    lines = []
    for dataset, mechanism in dict.fromkeys((row.dataset, row.mechanism) for row in rows):
        own = [row for row in rows if (row.dataset, row.mechanism) == (dataset, mechanism)]
        cells = {row.epsilon: _cell(row) for row in own}
        holds = f"{sum(row.holds for row in own)} of {len(own)}"
        lines.append((f"{dataset}, {mechanism}", *(cells.get(e, "") for e in epsilons), holds))
    columns = ("data set, mechanism", *(f"eps {epsilon:g}" for epsilon in epsilons), "order holds")
    note = f"Mean, standard deviation, (published); {rows[0].runs} runs."
    return Table(title, columns, tuple(lines), note)


def _cell(row: TableRow) -> str:
    printed = "" if row.published_mean is None else f" ({row.published_mean:.3g})"
    return f"{row.mean:.3g} ± {row.std:.2g}{printed}"


def _reading_sections(rows: Sequence[ReadingRow]) -> Iterator[Section]:
    """How the paper is read: every reading of a base learner, beside what the paper states."""
    gaps = mean_gaps(rows)
    for learner in dict.fromkeys(row.learner for row in rows):
        own = [row for row in rows if row.learner == learner]
        distances = {
            reading: f"{100 * gaps[learner, reading]:.1f}" if (learner, reading) in gaps else ""
            for reading in dict.fromkeys(row.reading for row in own)
        }
        tables = (
            _reading_table([row for row in own if row.dataset == dataset], distances)
            for dataset in dict.fromkeys(row.dataset for row in own)
        )
        text = f"Test errors in %, first → last base learner. Mean distance, in points: {_RULE}"
        yield Section(f"How we read it: {learner}", text, tuple(tables))


def _reading_table(rows: Sequence[ReadingRow], distances: Mapping[str, str]) -> Table:
    """Readings of one data set down, epsilon across."""
    first, epsilons = rows[0], list(dict.fromkeys(row.epsilon for row in rows))
    lines: list[tuple[str, ...]] = []
    for reading, distance in distances.items():
        cells = {row.epsilon: _ends(row.first, row.last) for row in rows if row.reading == reading}
        lines.append((reading, distance, *(cells.get(epsilon, "") for epsilon in epsilons)))
    stated = (stated_errors(first.dataset, first.learner, epsilon) for epsilon in epsilons)
    printed = (" → ".join(map(percent, ends)) for ends in stated)
    lines.append(("the paper states", "", *printed))
    caption = f"Readings of the boosted {first.learner}, {first.dataset}, {first.runs} runs"
    heads = ("no noise" if epsilon is None else f"eps {epsilon:g}" for epsilon in epsilons)
    strong = (list(distances).index(DEFAULTS[first.learner]),)
    return Table(caption, ("reading", "distance", *heads), tuple(lines), strong=strong)


def _bound_sections(bounds: Sequence[BoundRow], costs: Sequence[RoundCostRow]) -> Iterator[Section]:
    """The error of means and what releasing them costs."""
    if not bounds:
        return
    errors = tuple(
        (
            row.varied,
            str(row.dimensions),
            f"{row.owners:,}",
            f"{row.epsilon:g}",
            f"{row.error:.3g}",
            f"{row.error / row.bound:.2f}",
        )
        for row in bounds
    )
    prices = tuple(
        (str(row.dimensions), f"{row.owners:,}", f"{1e3 * row.seconds:.0f} ms", str(row.bytes))
        for row in costs
    )
    yield Section(
        "Bounds and costs",
        "The largest error over coordinates of a mean released through Piecewise, and the same "
        "over sqrt(d log d) / (epsilon sqrt(H)); what it costs when every number is released.",
        (
            Table(
                f"Errors, mean of {bounds[0].runs} runs",
                ("varied", "d", "owners", "epsilon", "error", "over the bound"),
                errors,
            ),
            Table("Costs of all owners", ("d", "owners", "processor", "bytes each"), prices),
        ),
    )


def _splitting(rows: Sequence[SplitRow]) -> Iterator[Section]:
    """What sampling attributes saves."""
    if not rows:
        return
    lines = tuple((str(row.dimensions), f"{row.sampled:.3g}", f"{row.split:.3g}") for row in rows)
    caption = f"The largest error of a mean over coordinates, mean of {rows[0].runs} runs"
    columns = ("d", "Algorithm 3", "epsilon / d for each attribute")
    yield Section("Why attributes are sampled", "", (Table(caption, columns, lines),))


def _coefficients(rows: Sequence[CoefficientRow]) -> Iterator[Section]:
    """How far regressions move over rounds."""
    if not rows:
        return
    lines = tuple(
        (
            row.dataset,
            "none" if row.epsilon is None else f"{row.epsilon:g}",
            str(row.learners),
            f"{row.cosine:.3f}",
            percent(row.reached),
        )
        for row in rows
    )
    caption = f"Cosine with the coefficients of the first regression, {rows[0].runs} runs"
    columns = ("data set", "epsilon", "regression", "cosine", "% of runs have it")
    yield Section("Coefficients over rounds", "", (Table(caption, columns, lines),))


def _patch_sections(rows: Sequence[PatchRow]) -> Iterator[Section]:
    """How large patches are: every size with its cross-validated errors."""
    if not rows:
        return
    datasets = list(dict.fromkeys(row.dataset for row in rows))
    sizes = list(dict.fromkeys((row.cell, row.side) for row in rows))
    errors = {(row.cell, row.side, row.dataset): percent(row.error) for row in rows}
    lines = tuple(
        (
            f"{side} by {side} cells of {cell} pixels",
            *(errors.get((cell, side, name), "") for name in datasets),
        )
        for cell, side in sizes
    )
    best = best_patch(rows)
    caption = f"Error of the nearest centroid in %, cross-validated on {rows[0].images} images"
    strong = (sizes.index((best.cell, best.side)),)
    yield Section(
        "How we read it: visual words",
        "The paper does not say how large a patch is. The size with the least mean error on the "
        "data user's images is the default; no other image has a say.",
        (Table(caption, ("patch", *datasets), lines, strong=strong),),
    )


def _small_patches(rows: Sequence[SmallPatchRow]) -> Iterator[Section]:
    """What smaller patches, whose classes are less far apart, would give."""
    if not rows:
        return
    lines = tuple(
        (
            row.learner,
            "none" if row.epsilon is None else f"{row.epsilon:g}",
            _ends(row.first, row.last),
            _ends(*CURVES["mnist", row.learner, row.epsilon]),
        )
        for row in rows
    )
    caption = f"MNIST, test error in % as published, {rows[0].runs} runs"
    columns = ("learner", "epsilon", "first → last", "the paper")
    text = f"Patches of {SMALL.side} by {SMALL.side} cells of {SMALL.cell} pixels."
    yield Section("How we read it: smaller patches", text, (Table(caption, columns, lines),))


def _problems(rows: Sequence[ProblemRow]) -> Iterator[Section]:
    """Problems of `make_classification` that begin where the paper's does."""
    near = near_the_paper(rows)
    if not near:
        return
    lines = tuple((str(row.problem), _ends(row.first, row.last)) for row in near)
    caption = f"Boosted centroids without noise, test error in %: {len(near)} of {len(rows)}"
    text = "The paper does not say which problem it drew; these begin within two points of its."
    table = Table(caption, ("problem", "first → ten"), lines)
    yield Section("How we read it: synthetic rows", text, (table,))


def _ends(first: float, last: float) -> str:
    return f"{percent(first)} → {percent(last)}"
