"""First base learners and boosting as sections of a report: what papers A and B both show."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tacit.render.document import (
    SPREAD,
    Chart,
    Kind,
    Line,
    Part,
    Section,
    Table,
    mark_unsound,
    percent,
    percents,
)
from tacit_papers.shared.curves import CurveRow, OursRow
from tacit_papers.shared.first_learner import FirstRow

_ALONE = "data user's sample alone"
_COMBINED = "ours: sample and owners combined"


def first_sections(rows: Sequence[FirstRow]) -> Iterator[Section]:
    """A section per figure, a chart and a table per data set.

    Where owners vary, they are the axis, and errors are shown too.
    """
    for where, learner in dict.fromkeys((row.where, row.learner) for row in rows):
        own = [row for row in rows if (row.where, row.learner) == (where, learner)]
        charts, tables = list[Part](), list[Part]()
        for dataset in dict.fromkeys(row.dataset for row in own):
            there = [row for row in own if row.dataset == dataset]
            by_owners = len({row.owners for row in there if row.variant == "as published"}) > 1
            charts += [_accuracies(there, by_owners), *([_errors(there)] if by_owners else [])]
            tables.append(_accuracy_table(there, by_owners))
        yield Section(f"{where}: the first {learner}", "", (*charts, *tables))


def _groups(rows: Sequence[FirstRow]) -> Iterator[list[FirstRow]]:
    """Rows line by line."""
    for key in dict.fromkeys((row.variant, row.mechanism, row.epsilon is None) for row in rows):
        yield [row for row in rows if (row.variant, row.mechanism, row.epsilon is None) == key]


def _line_name(row: FirstRow) -> str:
    if row.variant == "sample alone":
        return _ALONE
    if row.variant == "ours":
        return _COMBINED
    mechanism = "no privacy" if row.epsilon is None else row.mechanism
    return f"{mark_unsound(row.variant, row.unsound)}, {mechanism}"


def _first_kind(row: FirstRow) -> Kind:
    if row.variant == "sample alone":
        return "public"
    return "other" if row.epsilon is None else "paper" if row.unsound else "ours"


def _place(row: FirstRow, by_owners: bool) -> float:
    return float(row.owners) if by_owners else row.epsilon or 0.0


def _accuracies(rows: Sequence[FirstRow], by_owners: bool) -> Chart:
    lines = []
    for own in _groups(rows):
        first = own[0]
        name, kind = _line_name(first), _first_kind(first)
        if first.variant == "sample alone" or (first.epsilon is None and not by_owners):
            lines.append(Line(name, (), (100 * first.mean,), None, kind))
        else:
            points = sorted((_place(row, by_owners), row.mean, row.std) for row in own)
            lines.append(percents(name, points, kind))
    title = f"{rows[0].where}, {rows[0].dataset}: accuracy"
    label = "owners" if by_owners else "epsilon of an owner"
    return Chart(title, label, "accuracy, %", tuple(lines), note=SPREAD)


def _accuracy_table(rows: Sequence[FirstRow], by_owners: bool) -> Table:
    """Lines down; epsilon across, or numbers of owners where they vary."""
    first = rows[0]
    places = sorted(
        {_place(row, by_owners) for row in rows if by_owners or row.epsilon is not None}
    )
    lines = []
    for own in _groups(rows):
        cells = {_place(row, by_owners): percent(row.mean, row.std) for row in own}
        free = () if by_owners else (cells.pop(0.0, ""),)
        lines.append((_line_name(own[0]), *(cells.get(place, "") for place in places), *free))
    size = "" if by_owners else f"{first.owners:,} owners of {first.rows_per_owner}, "
    axis = "owners" if by_owners else "epsilon"
    caption = (
        f"{first.where}, {first.dataset}: accuracy of the first {first.learner} in %, by {axis}"
    )
    columns = ("line", *(f"{place:,g}" for place in places), *(() if by_owners else ("none",)))
    return Table(f"{caption} ({size}{first.runs} runs)", columns, tuple(lines))


def _errors(rows: Sequence[FirstRow]) -> Chart:
    """What noise does to what the published learner is built from."""
    lines = []
    for own in _groups(rows):
        errors = [
            (float(row.owners), row.error, row.error_std) for row in own if row.error is not None
        ]
        if own[0].variant == "as published" and own[0].epsilon is not None and errors:
            x, means, stds = zip(*sorted(errors), strict=True)
            lines.append(Line(_line_name(own[0]), x, means, stds, "paper"))
    measure = next(row.measure for row in rows if row.measure)
    title = f"{rows[0].where}, {rows[0].dataset}: error ({measure})"
    return Chart(title, "owners", "error", tuple(lines), note=SPREAD, y_scale="log")


def curve_sections(
    curves: Sequence[CurveRow],
    ours: Sequence[OursRow],
    models_alone: Mapping[str, Mapping[str, float]] | None = None,
) -> Iterator[Section]:
    """A section per data set and base learner: errors for each epsilon, votes, end points.

    `models_alone`: by data set, errors of models of the data user's sample where it has several.
    """
    for dataset, learner in dict.fromkeys((row.dataset, row.learner) for row in curves):
        own = [row for row in curves if (row.dataset, row.learner) == (dataset, learner)]
        refined = [row for row in ours if (row.dataset, row.learner) == (dataset, learner)]
        several = (models_alone or {}).get(dataset, {})
        alone = [(f"{_ALONE}: {model}", error) for model, error in several.items()]
        alone = alone or [(_ALONE, error) for error in dict.fromkeys(row.alone for row in refined)]
        title = f"Boosted {learner} on {dataset}"
        charts = (*_error_charts(title, own, alone, refined), *_vote_charts(title, own))
        yield Section(title, "", (*charts, _end_table(title, own, alone, refined)))


def _curves_of(rows: Sequence[CurveRow]) -> Iterator[list[CurveRow]]:
    """Rows curve by curve, by number of base learners."""
    for key in dict.fromkeys((row.variant, row.mechanism, row.epsilon) for row in rows):
        own = (row for row in rows if (row.variant, row.mechanism, row.epsilon) == key)
        yield sorted(own, key=lambda row: row.learners)


def _curve_kind(row: CurveRow) -> Kind:
    return "other" if row.epsilon is None else "paper" if row.unsound else "ours"


def _curve_name(row: CurveRow, budget: str = "") -> str:
    mechanism = "no privacy" if row.epsilon is None else f"{row.mechanism}{budget}"
    return f"{mark_unsound(row.variant, row.unsound)}, {mechanism}"


def _error_charts(
    title: str,
    rows: Sequence[CurveRow],
    alone: Sequence[tuple[str, float]],
    ours: Sequence[OursRow],
) -> Iterator[Chart]:
    """A chart per epsilon: test error against the number of base learners."""
    for epsilon in dict.fromkeys(row.epsilon for row in rows if row.epsilon is not None):
        curves = _curves_of([row for row in rows if row.epsilon in (epsilon, None)])
        lines = [line for curve in curves for line in _error_lines(curve)]
        lines += [Line(name, (), (100 * error,), None, "public") for name, error in alone]
        lines += [
            Line(_COMBINED, (), (100 * own.mean,), None, "ours")
            for own in ours
            if own.epsilon == epsilon
        ]
        name, note = f"{title}, epsilon {epsilon:g}", f"{SPREAD} Crosses: stated in the paper."
        yield Chart(name, "base learners", "test error, %", tuple(lines), note=note)


def _error_lines(curve: Sequence[CurveRow]) -> Iterator[Line]:
    points = ((row.learners, row.mean, row.std) for row in curve)
    yield percents(_curve_name(curve[0]), points, _curve_kind(curve[0]))
    stated = [
        (float(row.learners), 100 * row.published)
        for row in curve
        if row.unsound and row.published is not None
    ]
    if stated:
        x, y = zip(*stated, strict=True)
        mechanism = "no privacy" if curve[0].epsilon is None else curve[0].mechanism
        yield Line(f"stated in the paper, {mechanism}", x, y, None, "published")


def _vote_charts(title: str, rows: Sequence[CurveRow]) -> Iterator[Chart]:
    """Weighted errors and votes of base learners, means over the runs that have so many."""
    for label in ("weighted error", "vote"):
        lines = []
        for curve in _curves_of(rows):
            first = curve[0]
            values = (
                (float(row.learners), row.error if label == "weighted error" else row.alpha)
                for row in curve
            )
            points = [(x, y) for x, y in values if y is not None]
            if points:
                x, y = zip(*points, strict=True)
                name = _curve_name(first, f", epsilon {first.epsilon or 0.0:g}")
                lines.append(Line(name, x, y, None, _curve_kind(first)))
        if lines:
            name = f"{title}: {label} of each base learner"
            yield Chart(name, "base learner", label, tuple(lines))


def _end_table(
    title: str,
    rows: Sequence[CurveRow],
    alone: Iterable[tuple[str, float]],
    ours: Iterable[OursRow],
) -> Table:
    """Lines down; test error after the first and the last base learner."""
    lines = []
    for curve in _curves_of(rows):
        first, last = curve[0], curve[-1]
        stated = [percent(row.published) for row in (first, last) if row.published is not None]
        lines.append(
            (
                _curve_name(first),
                "none" if first.epsilon is None else f"{first.epsilon:g}",
                percent(first.mean, first.std),
                percent(last.mean, last.std),
                " → ".join(stated),
            )
        )
    for own in ours:
        name = f"ours: sample and {own.owners:,} owners, once each"
        lines.append((name, f"{own.epsilon:g}", "", percent(own.mean, own.std), ""))
    lines += [(name, "", "", percent(error), "") for name, error in alone]
    columns = ("method", "epsilon", "first learner", "all learners", "published")
    return Table(f"{title}: test error in %, {rows[0].runs} runs", columns, tuple(lines))
