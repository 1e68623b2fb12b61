"""Sentences of the evidence that have figures in them, each a function of rows as its tables are; a
sentence without its rows raises LookupError.
"""

from collections.abc import Sequence
from typing import Any

from tacit.render.document import percent
from tacit.render.pages import table_of
from tacit_papers.a.bound_claims import PRINTED_SCALES
from tacit_papers.a.measurements import TableRow, published_cell
from tacit_papers.a.patches import SMALL, PatchRow, SmallPatchRow, best_patch
from tacit_papers.a.problems import NEAR, ProblemRow, half_of_the_fall, near_the_paper
from tacit_papers.a.published import CURVES, EPSILONS
from tacit_papers.b.published import published_square
from tacit_papers.c.report import hospitals_in_words as say_hospitals
from tacit_papers.c.report import theorem_table
from tacit_papers.c.span import SpanRow
from tacit_papers.claims import unit_factor
from tacit_papers.d.edge import EdgeRow, InstallRow
from tacit_papers.d.experiment import SOUND, SOUND_HALVES, PeerRow
from tacit_papers.ours.hospitals import HospitalRow
from tacit_papers.rows_file import Kind, select
from tacit_papers.shared.first_learner import FirstRow

_WITHIN = 0.05  # of the paper's errors, at both ends


def need(rows: Sequence[Any], kind: type[Kind], **fields: object) -> list[Kind]:
    """Rows of a kind; there must be some."""
    found = select(rows, kind, **fields)
    if not found:
        told = "".join(f", {name} {value}" for name, value in fields.items())
        raise LookupError(f"{kind.__name__}{told}")
    return found


def ends(first: float, last: float) -> str:
    """Two errors in percent, one after the other."""
    return f"{percent(first)} → {percent(last)}"


def small_patches(rows: Sequence[Any]) -> str:
    """What patches as far apart as the paper's give, beside the default."""
    own = need(rows, SmallPatchRow)
    sizes = need(rows, PatchRow, dataset="mnist")
    best = best_patch(need(rows, PatchRow))
    apart = {(row.cell, row.side): row.apart for row in sizes}
    printed = PRINTED_SCALES["mnist", "l2"]
    lines = []
    for row in own:
        stated = CURVES["mnist", row.learner, row.epsilon]
        near = all(
            abs(mine - paper) <= _WITHIN
            for mine, paper in zip((row.first, row.last), stated, strict=True)
        )
        lines.append(
            (
                row.learner,
                "none" if row.epsilon is None else f"{row.epsilon:g}",
                ends(row.first, row.last),
                f"{100 * stated[0]:.0f} → {100 * stated[1]:.0f}",
                "yes" if near else "",
            )
        )
    said = (
        f"The default sets the two digits {apart[best.cell, best.side]:.2f} apart on the data "
        f"user's images (the paper's features: {printed:.2f}), so errors with noise are often "
        "*below* the printed ones; a claim says so where that makes it differ. Patches of "
        f"{SMALL.side} by {SMALL.side} cells of {SMALL.cell} pixels come nearer to those "
        f"({apart[SMALL.cell, SMALL.side]:.2f}), and still do not end where the paper does; "
        f"so cross-validation decides. MNIST with them, as published, {own[0].runs} runs:"
    )
    heads = ("learner", "epsilon", "first → ten", "the paper", "both within five points")
    return f"{said}\n\n{table_of(heads, lines)}"


def problems(rows: Sequence[Any]) -> str:
    """How many problems of `make_classification` fall as the paper's does."""
    own = need(rows, ProblemRow)
    near = near_the_paper(own)
    first, last = CURVES["synthetic", "centroid", None]
    if not near:
        raise LookupError("problems that begin where the paper does")
    least, most = min(row.last for row in near), max(row.last for row in near)
    return (
        f"Of {len(own)} problems of `make_classification` {len(near)} begin within "
        f"{100 * NEAR:.0f} points of the printed {100 * first:.0f}; there ten centroids end at "
        f"{percent(least)} to {percent(most)} (the paper: {100 * last:.0f}), and "
        f"{len(half_of_the_fall(near))} have at least half of the printed fall. So the claim is a "
        "matter of the problem."
    )


def units(rows: Sequence[Any]) -> str:
    """The factors between shares and coefficients, and the ratios of two printed rows."""
    told = ", ".join(f"{factor:.2g} ({name})" for name, factor in _unit_factors(rows).items())
    pair = ("duchi", "piecewise")
    ratios = {
        "IV": [_over(published_cell("IV", "mnist", name, e) for name in pair) for e in EPSILONS],
        "2": [_over(published_square("mnist", name, e) for name in pair) for e in EPSILONS],
    }
    spans = {name: f"{min(own):.2g} to {max(own):.2g}" for name, own in ratios.items()}
    return (
        f"The factors, each from its Laplace row: {told}. Printed errors of Duchi are "
        f"{spans['IV']} times those of Piecewise in Table IV and {spans['2']} in Table 2, over the "
        "same values of epsilon and as many dimensions (MNIST); both laws are known in closed form "
        "and do not depend on the images, so one of the two rows of Piecewise contradicts the "
        "paper's own mechanism."
    )


def _unit_factors(rows: Sequence[Any]) -> dict[str, float]:
    """Of Table IV and of B's Table 2, by data set."""
    factors = {}
    for dataset in ("mnist", "fashion", "brazil"):
        laplace = need(
            rows, TableRow, table="IV", dataset=dataset, mechanism="laplace", measure="mse"
        )
        pairs = [(row.published_mean, row.mean) for row in laplace if row.published_mean]
        factors[f"Table IV, {dataset}"] = unit_factor(*zip(*pairs, strict=True))
    for dataset in ("mnist", "fashion"):
        line = {"mechanism": "laplace", "variant": "as published"}
        own = need(rows, FirstRow, paper="b", where="Table 2, Fig. 2", dataset=dataset, **line)
        squares = [(published_square(dataset, "laplace", row.epsilon or 0.0), row) for row in own]
        known = [(cell.mean, row.error) for cell, row in squares if cell and row.error]
        factors[f"B's Table 2, {dataset}"] = unit_factor(*zip(*known, strict=True))
    return factors


def _over(pair: Any) -> float:
    """The ratio of two published means."""
    one, other = pair
    return float(one.mean / other.mean)


def theorem(rows: Sequence[Any]) -> str:
    """Theorem 1 of paper C over what it names."""
    table = theorem_table(need(rows, SpanRow))
    return table_of(table.columns, table.rows)


def hospitals_in_words(rows: Sequence[Any]) -> str:
    """What the table of hospitals says."""
    return say_hospitals(need(rows, HospitalRow))


def smallest_peer(rows: Sequence[Any]) -> str:
    """What peers bring to a participant, and to the one with the fewest rows."""
    alone = need(rows, PeerRow, dataset="adult", method="each participant alone")[0]
    turns = {
        row.epsilon: row for row in need(rows, PeerRow, dataset="adult", method="peers in turns")
    }
    most = max(row.rounds for row in turns.values())
    least, one = (
        need(rows, PeerRow, dataset="adult", method="peers in turns", epsilon=e, rounds=most)[0]
        for e in (0.1, 1.0)
    )
    told = [row.smallest for row in (alone, least, one)]
    known = [value for value in told if value is not None]
    if len(known) < len(told) or alone.own is None or one.own is None:
        raise LookupError("what the smallest participant holds")
    return (
        "Honest lesson: a participant with thousands of rows of the same population gains little "
        f"from its peers ({percent(alone.own)} alone, {percent(one.own)} with them at epsilon 1); "
        "what peers buy is a model that may be *served*, and help for small participants: the "
        f"smallest of the {alone.participants} ({alone.fewest:,.0f} rows on average) goes from "
        f"{percent(known[0])} alone to {percent(known[1])} at epsilon 0.1 and {percent(known[2])} "
        "at epsilon 1."
    )


def sound_leaves(rows: Sequence[Any]) -> str:
    """What the sound stumps serve, by how an attribute is cut."""
    lines = []
    for method in (SOUND, SOUND_HALVES):
        cells = []
        for dataset in ("adult", "gss"):
            own = need(rows, PeerRow, dataset=dataset, method=method)
            most = max(row.rounds for row in own)
            at = {row.epsilon: row.served or 0.0 for row in own if row.rounds == most}
            private = [epsilon for epsilon in at if epsilon is not None]
            cells.append(f"{ends(at[min(private)], at[max(private)])} ({percent(at[None])})")
        lines.append((method, *cells))
    return table_of(("served", "Adult", "GSS"), lines, [0])


def install(rows: Sequence[Any]) -> str:
    """What a plain install weighs."""
    packages = list(dict.fromkeys(need(rows, InstallRow)))
    total = need(rows, EdgeRow)[0].installed
    heavy = ", ".join(f"{row.package} {row.megabytes:.0f}" for row in packages[:6])
    least = sum(row.megabytes for row in packages if row.needed)
    return (
        f"A plain install weighs {total:.0f} megabytes: {heavy} "
        "(`tacit reproduce d`, section *What a participant pays*). What a participant runs needs "
        f"NumPy and numba (with llvmlite) for its exact noise, {least:.0f} megabytes with nothing "
        "else, so no selection of these packages is below 200."
    )
