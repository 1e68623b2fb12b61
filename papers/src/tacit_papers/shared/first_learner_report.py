"""First base learners in a document: accuracy against epsilon, or accuracy and error against
owners.
"""

from collections.abc import Iterator, Sequence

from tacit.render.document import Chart, Kind, Line, Section
from tacit.render.sections import SPREAD, named, percents
from tacit_papers.shared.first_learner import FirstRow


def first_sections(rows: Sequence[FirstRow]) -> Iterator[Section]:
    """A section per figure, a chart per data set; where owners vary, they are the axis, and
    errors are shown too.
    """
    for where, learner in dict.fromkeys((row.where, row.learner) for row in rows):
        own = [row for row in rows if (row.where, row.learner) == (where, learner)]
        charts = []
        for dataset in dict.fromkeys(row.dataset for row in own):
            there = [row for row in own if row.dataset == dataset]
            crowd = len({row.owners for row in there if row.variant == "as published"}) > 1
            charts += [_accuracies(there, crowd), *([_errors(there)] if crowd else [])]
        yield Section(f"{where}: the first {learner}", "", tuple(charts))


def _groups(rows: Sequence[FirstRow]) -> Iterator[list[FirstRow]]:
    for key in dict.fromkeys((row.variant, row.mechanism, row.epsilon is None) for row in rows):
        yield [row for row in rows if (row.variant, row.mechanism, row.epsilon is None) == key]


def _name(row: FirstRow) -> str:
    if row.variant == "sample alone":
        return "data user's sample alone"
    if row.variant == "ours":
        return "ours: sample and owners combined"
    return (
        f"{named(row.variant, row.unsound)}, "
        f"{'no privacy' if row.epsilon is None else row.mechanism}"
    )


def _kind(row: FirstRow) -> Kind:
    if row.variant == "sample alone":
        return "public"
    return "other" if row.epsilon is None else "paper" if row.unsound else "ours"


def _accuracies(rows: Sequence[FirstRow], crowd: bool) -> Chart:
    lines = []
    for own in _groups(rows):
        first = own[0]
        if first.variant == "sample alone" or (first.epsilon is None and not crowd):
            lines.append(Line(_name(first), (), (100 * first.mean,), None, _kind(first)))
        else:
            points = sorted(
                (float(row.owners) if crowd else row.epsilon or 0.0, row.mean, row.std)
                for row in own
            )
            lines.append(percents(_name(first), points, _kind(first)))
    label = "owners" if crowd else "epsilon of an owner"
    return Chart(
        f"{rows[0].where}, {rows[0].dataset}: accuracy",
        label,
        "accuracy, %",
        tuple(lines),
        note=SPREAD,
    )


def _errors(rows: Sequence[FirstRow]) -> Chart:
    """What noise does to what the published learner is built from."""
    lines = []
    for own in _groups(rows):
        known = [
            (float(row.owners), row.error, row.error_std) for row in own if row.error is not None
        ]
        if own[0].variant == "as published" and own[0].epsilon is not None and known:
            x, errors, stds = zip(*sorted(known), strict=True)
            lines.append(Line(_name(own[0]), x, errors, stds, "paper"))
    title = (
        f"{rows[0].where}, {rows[0].dataset}: error "
        f"({next(row.measure for row in rows if row.measure)})"
    )
    return Chart(title, "owners", "error", tuple(lines), note=SPREAD, y_scale="log")
