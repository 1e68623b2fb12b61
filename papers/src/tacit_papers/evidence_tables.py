"""What the tables of the evidence show, each a function of rows; a table without its rows raises
LookupError.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.render.document import Table, percent
from tacit.render.pages import table_of
from tacit_papers.a.measurements import DEFAULTS, PublicRow, ReadingRow, mean_gaps, stated_errors
from tacit_papers.a.patches import PatchRow, best_patch
from tacit_papers.a.published import CURVES
from tacit_papers.b.hits import CUTS, HitRow, gaps_of_readings
from tacit_papers.b.published import HITS
from tacit_papers.b.readings import SummedReadingRow
from tacit_papers.c.experiment import SiteRow
from tacit_papers.claims import counts, judge_all, reasons
from tacit_papers.d.experiment import EPSILONS, PeerRow
from tacit_papers.evidence_words import (
    ends,
    hospitals_in_words,
    install,
    need,
    problems,
    small_patches,
    smallest_peer,
    sound_leaves,
    theorem,
    units,
)
from tacit_papers.ours.ahead import METHODS, AheadRow, best_of_paper
from tacit_papers.ours.ahead_report import plan_in_words, points, summary
from tacit_papers.ours.future_report import bytes_table, future_table, near_table
from tacit_papers.ours.hospitals import HospitalRow
from tacit_papers.ours.more_sites import MoreSitesRow
from tacit_papers.ours.near_peers import NearRow
from tacit_papers.ours.plan_check import PlanRow
from tacit_papers.ours.trees import TreeRow
from tacit_papers.ours.trees_report import report_trees
from tacit_papers.registry import PAPERS
from tacit_papers.rows_file import CellRow, select
from tacit_papers.shared.curves import CurveRow

_ALONE = "chosen by cross-validation"
_IMAGES = ("mnist", "fashion")


@dataclass(frozen=True)
class MadeTable:
    """How a table is made of rows; the modules of the cells that leave them, and the families of
    the product's golden cases that say the same.
    """

    make: Callable[[Sequence[Any]], str]
    modules: tuple[str, ...]
    golden: tuple[str, ...]


def _heads(epsilons: Iterable[float | None]) -> list[str]:
    return ["no noise" if epsilon is None else f"{epsilon:g}" for epsilon in epsilons]


def claims_by_paper(rows: Sequence[Any]) -> str:
    """How many claims of each paper hold, differ by reason, and are unchecked; every cell of every
    paper must have been measured, since what lacks rows would pass as unchecked.
    """
    heads = select(rows, CellRow)
    done = {json.dumps(head.settings, sort_keys=True) for head in heads}
    for name, each in PAPERS.items():
        seed = next((head.seed for head in heads if head.settings["paper"] == name), 1)
        cells = each.cells(False, seed)
        waiting = [cell for cell in cells if json.dumps(cell.settings, sort_keys=True) not in done]
        if waiting:
            raise LookupError(f"{len(waiting)} of {len(cells)} cells of paper {name.upper()}")
    lines = []
    for paper in (*PAPERS, "all"):
        papers = PAPERS if paper == "all" else [paper]
        own = [each for name in papers for each in judge_all(name, PAPERS[name].statements(), rows)]
        why = ", ".join(f"{reason} {count}" for reason, count in reasons(own).items())
        lines.append((paper.upper(), *map(str, counts(own).values()), why))
    return table_of(("paper", "hold", "differ", "unchecked", "why they differ"), lines)


def boosting(rows: Sequence[Any]) -> str:
    """Paper A's curves: first and last error, as published, sound, stated, and public rows
    alone.
    """
    alone = {row.dataset: row.error for row in need(rows, PublicRow, model=_ALONE)}
    lines = []
    for (dataset, learner, epsilon), stated in CURVES.items():
        own = need(rows, CurveRow, paper="a", dataset=dataset, learner=learner, epsilon=epsilon)
        lines.append(
            (
                f"boosted {learner}, {dataset}",
                "none" if epsilon is None else f"{epsilon:g}",
                _curve_ends(own, "as published", "piecewise"),
                _curve_ends(own, "sound", "auto"),
                f"{100 * stated[0]:.0f} → {100 * stated[1]:.0f}",
                percent(alone[dataset]),
                str(own[0].runs),
            )
        )
    heads = ("", "epsilon", "as published, simulated", "sound", "stated in the paper")
    return table_of((*heads, "public rows alone", "runs"), lines)


def _curve_ends(rows: Sequence[CurveRow], variant: str, mechanism: str) -> str:
    """First and last error of a line."""
    own = [row for row in rows if row.variant == variant and row.mechanism in (mechanism, "none")]
    own.sort(key=lambda row: row.learners)
    return ends(own[0].mean, own[-1].mean)


def readings_a(rows: Sequence[Any]) -> str:
    """Every reading of paper A: its distance from what the paper states, and MNIST's errors."""
    own = need(rows, ReadingRow)
    gaps, lines, strong = mean_gaps(own), list[tuple[str, ...]](), list[int]()
    epsilons = (None, 1.0, 5.0, 7.0)
    for learner in dict.fromkeys(row.learner for row in own):
        for reading in dict.fromkeys(row.reading for row in own if row.learner == learner):
            cells = {
                row.epsilon: ends(row.first, row.last)
                for row in own
                if (row.dataset, row.learner, row.reading) == ("mnist", learner, reading)
            }
            if reading == DEFAULTS[learner]:
                strong.append(len(lines))
            gap = f"{100 * gaps[learner, reading]:.1f}" if (learner, reading) in gaps else ""
            lines.append((learner, reading, gap, *(cells.get(e, "") for e in epsilons)))
        stated = (stated_errors("mnist", learner, epsilon) for epsilon in epsilons)
        printed = (" → ".join(f"{100 * end:.0f}" for end in ends) for ends in stated)
        lines.append((learner, "the paper", "", *printed))
    return table_of(("learner", "reading", "distance", *_heads(epsilons)), lines, strong)


def patches(rows: Sequence[Any]) -> str:
    """Sizes of patches, with cross-validated errors of the nearest centroid."""
    own = [row for name in _IMAGES for row in need(rows, PatchRow, dataset=name)]
    datasets = list(dict.fromkeys(row.dataset for row in own))
    sizes = list(dict.fromkeys((row.cell, row.side) for row in own))
    errors = {(row.cell, row.side, row.dataset): percent(row.error) for row in own}
    best = best_patch(own)
    lines = [
        (
            f"{side} by {side} cells of {cell} pixels",
            *(errors.get((cell, side, name), "") for name in datasets),
        )
        for cell, side in sizes
    ]
    return table_of(("patch", *datasets), lines, [sizes.index((best.cell, best.side))])


def readings_b(rows: Sequence[Any]) -> str:
    """Every reading of paper B."""
    own = need(rows, SummedReadingRow)
    epsilons = list(dict.fromkeys(row.epsilon for row in own))
    lines, strong = list[tuple[str, ...]](), list[int]()
    for learner in dict.fromkeys(row.learner for row in own):
        strong.append(len(lines))
        for reading in dict.fromkeys(row.reading for row in own if row.learner == learner):
            found = [row for row in own if (row.learner, row.reading) == (learner, reading)]
            cells = {
                row.epsilon: ends(row.first, row.last) if row.rounds > 1 else percent(row.first)
                for row in found
            }
            turns = "1 round" if found[0].rounds == 1 else f"{found[0].rounds} rounds"
            name = f"{learner}, {found[0].dataset}, {turns}"
            lines.append((name, reading, *(cells.get(epsilon, "") for epsilon in epsilons)))
    return table_of(("method", "reading", *_heads(epsilons)), lines, strong)


def hitting_rates(rows: Sequence[Any]) -> str:
    """Where attributes are cut, by the hitting rates that paper B states."""
    own = need(rows, HitRow, mechanism="piecewise")
    gaps, lines = gaps_of_readings(own), list[tuple[str, ...]]()
    for variant in gaps:
        rates = {
            (row.dataset, row.epsilon, k): percent(rate)
            for row in own
            if row.variant == variant
            for k, rate in ((1, row.top1), (3, row.top3))
        }
        told = (rates.get(key, "") for key in HITS)
        lines.append((CUTS[variant], *told, f"{100 * gaps[variant]:.1f}"))
    lines.append(("the paper", *(f"{100 * rate:.0f}" for rate in HITS.values()), ""))
    heads = (f"{name}, epsilon {epsilon:g}, top {k}" for name, epsilon, k in HITS)
    return table_of(("attributes are cut", *heads, "distance"), lines, [0])


def sites(dataset: str) -> Callable[[Sequence[Any]], str]:
    """Paper C on one data set: error against epsilon."""

    def make(rows: Sequence[Any]) -> str:
        own = need(rows, SiteRow, dataset=dataset, varied="epsilon")
        epsilons = sorted({row.epsilon for row in own})
        lines = []
        for method in dict.fromkeys(row.method for row in own):
            cells = {row.epsilon: row for row in own if row.method == method}
            values = (percent(cells[e].mean, cells[e].std) if e in cells else "" for e in epsilons)
            lines.append((method, *values))
        return table_of(("epsilon", *_heads(epsilons)), lines)

    return make


def sizes_of_sites(rows: Sequence[Any]) -> str:
    """Paper C on Covertype: error against records of a site, and against sites."""
    lines = []
    for varied in ("records", "sites"):
        own = need(rows, SiteRow, dataset="covertype", varied=varied)
        for method in dict.fromkeys(row.method for row in own):
            line = sorted((row for row in own if row.method == method), key=lambda row: row.at)
            values = " / ".join(percent(row.mean) for row in line)
            lines.append((varied, " / ".join(f"{row.at:,g}" for row in line), method, values))
    return table_of(("over", "from few to many", "method", "test error, %"), lines)


def readings_c(rows: Sequence[Any]) -> str:
    """The two readings of paper C's rule, over epsilon on MNIST."""
    own = need(rows, SiteRow, dataset="mnist", varied="epsilon")
    lines = []
    for reading in ("as published", "as published with Lambda"):
        cells = []
        for method in ("FL feature", "AL average"):
            line = [row for row in own if row.method == f"{method}, {reading}"]
            line.sort(key=lambda row: row.epsilon)
            cells.append(ends(line[0].mean, line[-1].mean))
        lines.append((reading, *cells))
    return table_of(("reading", "feature method", "average"), lines, [0])


def hospitals(rows: Sequence[Any]) -> str:
    """Four hospitals: test error of all patients."""
    own = need(rows, HospitalRow)
    epsilons = sorted({row.epsilon for row in own if row.epsilon is not None})
    lines, strong = list[tuple[str, ...]](), list[int]()
    for method in dict.fromkeys(row.method for row in own):
        cells = {row.epsilon: row for row in own if row.method == method}
        values = [
            percent(cells[e].mean, cells[e].std) if e in cells else "" for e in (None, *epsilons)
        ]
        if method == "ours":
            strong.append(len(lines))
        lines.append((method, *values))
    heads = ("learned from", "nobody is asked", *_heads(epsilons))
    return table_of(heads, lines, strong)


def peers(rows: Sequence[Any]) -> str:
    """Paper D: accuracy against epsilon, after the most rounds."""
    own = need(rows, PeerRow)
    for dataset in ("adult", "gss"):
        need(rows, PeerRow, dataset=dataset, method="peers in turns")
    epsilons = (*EPSILONS, None)
    lines = []
    for dataset, method in dict.fromkeys((row.dataset, row.method) for row in own):
        line = [row for row in own if (row.dataset, row.method) == (dataset, method)]
        for what in ("served", "own"):
            told = _by_epsilon(line, what, epsilons)
            if any(told):
                lines.append((f"{dataset}: {method}, {what}", *told))
    return table_of(("", *_heads(epsilons)), lines)


def _by_epsilon(
    line: Sequence[PeerRow], what: str, epsilons: Sequence[float | None]
) -> tuple[str, ...]:
    """A figure of the rows after the most rounds, by epsilon; empty where there is none."""
    most = max(row.rounds for row in line)
    cells = {row.epsilon: getattr(row, what) for row in line if row.rounds == most}
    values = [cells.get(epsilon) for epsilon in epsilons]
    return tuple("" if value is None else percent(value) for value in values)


def readings_d(rows: Sequence[Any]) -> str:
    """The readings of paper D's leaves: own models, least and largest epsilon, and no noise."""
    lines = []
    for method in dict.fromkeys(row.method for row in need(rows, PeerRow)):
        if method.startswith("random stumps, as published"):
            cells = []
            for dataset in ("adult", "gss"):
                own = need(rows, PeerRow, dataset=dataset, method=method)
                most = max(row.rounds for row in own)
                at = {row.epsilon: row.own or 0.0 for row in own if row.rounds == most}
                cells.append(f"{ends(at[EPSILONS[0]], at[EPSILONS[-1]])} ({percent(at[None])})")
            lines.append((method, *cells))
    return table_of(("reading", "Adult", "GSS"), lines, [0])


def ahead(rows: Sequence[Any]) -> str:
    """One line per task."""
    alike = need(rows, AheadRow, owners_kind="alike")
    table, runs = summary(alike), dict[str, set[int]]()
    for row in alike:
        runs.setdefault(row.dataset, set()).add(row.runs)
    told = zip(table.rows, runs.values(), strict=True)
    counted = [(*line, _span(counts)) for line, counts in told]
    return table_of((*table.columns, "runs"), counted)


def _span(counts: Iterable[int]) -> str:
    """One number, or from where to where.

    >>> _span([3, 3]), _span([2, 3])
    ('3', '2 to 3')
    """
    least, most = min(counts), max(counts)
    return str(least) if least == most else f"{least} to {most}"


def trusts(rows: Sequence[Any]) -> str:
    """Accuracy by whom owners trust and epsilon, and how far it is above public rows alone."""
    own = [row for row in need(rows, AheadRow, owners_kind="alike") if row.method in METHODS]
    sizes = sorted({row.public_rows for row in own})
    lines = []
    for name, epsilon in dict.fromkeys((row.dataset, row.epsilon) for row in own):
        cells = {
            (row.method, row.public_rows): f"{percent(row.mean)} "
            f"({points(row.rise, row.rise_error, row.runs, digits=1)})"
            for row in own
            if (row.dataset, row.epsilon) == (name, epsilon)
        }
        told = (cells.get((method, size), "") for size in sizes for method in METHODS)
        lines.append((name, f"{epsilon:g}", *told))
    heads = (f"{size:,} rows, {trust}" for size in sizes for trust in METHODS.values())
    return table_of(("task", "epsilon", *heads), lines)


def one_against_seven(rows: Sequence[Any]) -> str:
    """Private only at epsilon 1 beside the best of paper A's learners at epsilon 7."""
    lines = []
    for name in dict.fromkeys(row.dataset for row in need(rows, AheadRow, owners_kind="alike")):
        own = select(rows, AheadRow, dataset=name, owners_kind="alike")
        best = best_of_paper(own, name)
        private = [row for row in own if (row.method, row.epsilon) == ("private only", 1.0)]
        if best is not None and private:
            ours = max(private, key=lambda row: row.public_rows)
            method = best.method.removeprefix("paper A: ")
            lines.append(
                (
                    name,
                    percent(ours.mean, ours.std if ours.runs > 1 else None),
                    f"{percent(best.mean, best.std if best.runs > 1 else None)} ({method})",
                    f"{100 * (ours.mean - best.mean):+.1f}",
                    str(ours.runs),
                )
            )
    if not lines:
        raise LookupError("paper A's learners at epsilon 7")
    heads = ("task", "private only, epsilon 1", "paper A's best, epsilon 7", "points ahead", "runs")
    return table_of(heads, lines)


def plan(rows: Sequence[Any]) -> str:
    """Points above the data user's own model at epsilon 1: predicted, and measured."""
    own = need(rows, PlanRow, epsilon=1.0)
    sizes = sorted({row.public_rows for row in own})
    lines = []
    for name, trust in dict.fromkeys((row.dataset, row.trust) for row in own):
        cells = {
            row.public_rows: f"{100 * row.predicted:+.2f} → "
            f"{points(row.measured, row.measured_error, row.runs)}"
            for row in own
            if (row.dataset, row.trust) == (name, trust)
        }
        lines.append((name, trust, *(cells.get(size, "") for size in sizes)))
    heads = ("task", "trust", *(f"{size:,} public rows" for size in sizes))
    return f"{table_of(heads, lines)}\n\n{plan_in_words(need(rows, PlanRow))}\n"


def skewed_owners(rows: Sequence[Any]) -> str:
    """Owners that are not alike, at epsilon 1, with the most public rows."""
    own = [row for row in need(rows, AheadRow) if row.epsilon in (None, 1.0)]
    kinds = list(dict.fromkeys(row.owners_kind for row in own))
    if len(kinds) < 2:
        raise LookupError("owners that are not alike")
    lines = []
    for name in dict.fromkeys(row.dataset for row in own if row.owners_kind != "alike"):
        there = [row for row in own if row.dataset == name]
        for method, cells in _by_kind(there).items():
            if len(cells) > 1:
                lines.append((f"{name}: {method}", *(cells.get(kind, "") for kind in kinds)))
    return table_of(("", *kinds), lines)


def _by_kind(there: Sequence[AheadRow]) -> dict[str, dict[str, str]]:
    """Accuracies with the most public rows, by method and kind of owners."""
    most = max(row.public_rows for row in there)
    cells: dict[str, dict[str, str]] = {row.method: {} for row in there}
    for row in there:
        if row.public_rows == most:
            cells[row.method][row.owners_kind] = percent(row.mean)
    return cells


def gradient_trees(rows: Sequence[Any]) -> str:
    """Private gradient boosting beside the default."""
    (table,) = report_trees(need(rows, TreeRow)).sections[0].parts
    if not isinstance(table, Table):
        raise LookupError("the verdict on trees")
    return table_of(table.columns, table.rows, table.strong)


def many_sites(rows: Sequence[Any]) -> str:
    """Paper C's future work."""
    table = future_table(need(rows, MoreSitesRow))
    return table_of(table.columns, table.rows, table.strong)


def near_peers(rows: Sequence[Any]) -> str:
    """Paper D's future work: whom to listen to."""
    table = near_table(need(rows, NearRow))
    return table_of(table.columns, table.rows, table.strong)


def bytes_of_peers(rows: Sequence[Any]) -> str:
    """Paper D's future work: what bytes buy."""
    table = bytes_table(list(dict.fromkeys(need(rows, NearRow))))
    return table_of(table.columns, table.rows)


_A = ("a.experiment",)
_B, _C, _D = ("b.experiment",), ("c.experiment",), ("d.experiment",)
_BOOSTING = ("fit boosting", "mechanism")
_AHEAD = ("fit classifier", "fit boosting", "mechanism")
TABLES: dict[str, MadeTable] = {
    "claims": MadeTable(
        claims_by_paper,
        (*_A, *_B, *_C, *_D, "a.claims", "b.claims", "c.claims", "d.claims"),
        ("fit boosting", "fit sites", "fit peers", "mechanism"),
    ),
    "paper A": MadeTable(boosting, _A, _BOOSTING),
    "readings A": MadeTable(readings_a, ("a.measurements",), ("mechanism",)),
    "patches": MadeTable(patches, ("a.patches",), ()),
    "small patches": MadeTable(small_patches, ("a.patches",), ("mechanism",)),
    "problems": MadeTable(problems, ("a.problems",), ()),
    "units": MadeTable(units, ("a.measurements", "b.experiment"), ("mechanism",)),
    "hitting rates": MadeTable(hitting_rates, ("b.hits",), ("mechanism",)),
    "readings B": MadeTable(readings_b, ("b.readings",), ("mechanism",)),
    "paper C, mnist": MadeTable(sites("mnist"), _C, ("fit sites",)),
    "paper C, covertype": MadeTable(sites("covertype"), _C, ("fit sites",)),
    "paper C, sizes": MadeTable(sizes_of_sites, _C, ("fit sites",)),
    "theorem": MadeTable(theorem, ("c.span",), ("fit sites",)),
    "readings C": MadeTable(readings_c, _C, ("fit sites",)),
    "hospitals": MadeTable(hospitals, _C, ("fit sites",)),
    "hospitals in words": MadeTable(hospitals_in_words, _C, ("fit sites",)),
    "paper D": MadeTable(peers, _D, ("fit peers", "fit sites")),
    "smallest peer": MadeTable(smallest_peer, _D, ("fit peers",)),
    "sound leaves": MadeTable(sound_leaves, _D, ("fit peers",)),
    "install": MadeTable(install, ("d.edge",), ()),
    "readings D": MadeTable(readings_d, _D, ("fit peers",)),
    "ahead": MadeTable(ahead, ("ours.ahead",), _AHEAD),
    "both trusts": MadeTable(trusts, ("ours.ahead",), _AHEAD),
    "one against seven": MadeTable(one_against_seven, ("ours.ahead",), _AHEAD),
    "plan": MadeTable(plan, ("ours.plan_check",), (*_AHEAD, "plans")),
    "skewed owners": MadeTable(skewed_owners, ("ours.ahead",), _AHEAD),
    "many sites": MadeTable(many_sites, ("ours.more_sites",), ("fit sites",)),
    "near peers": MadeTable(near_peers, ("ours.near_peers",), ("fit peers", "fit alike")),
    "bytes of peers": MadeTable(bytes_of_peers, ("ours.near_peers",), ("fit peers",)),
    "trees": MadeTable(gradient_trees, ("ours.trees",), ("fit classifier",)),
}
