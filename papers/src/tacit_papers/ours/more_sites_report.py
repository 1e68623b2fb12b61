"""What the future work of the papers came to, as tables."""

from collections.abc import Sequence

from tacit.render.document import Document, Section, Table, percent
from tacit_papers.ours.more_sites import BOOSTED, MoreSitesRow
from tacit_papers.runner import select


def report_future(found: Sequence[object]) -> Document:
    """One line per setting and method."""
    table = future_table(select(found, MoreSitesRow))
    text = (
        "Paper C proposes to boost its feature method where sites are many. Both combine the same "
        "private models; in bold where boosting errs less by more than two standard errors."
    )
    return Document("Future work of the papers", text, (Section("Many sites", "", (table,)),))


def future_table(rows: Sequence[MoreSitesRow]) -> Table:
    """Settings down, methods across, and what boosting saves."""
    lines, strong = list[tuple[str, ...]](), list[int]()
    methods = list(dict.fromkeys(row.method for row in rows))
    settings = dict.fromkeys((r.dataset, r.sites, r.records, r.public, r.epsilon) for r in rows)
    for setting in settings:
        own = {
            row.method: row
            for row in rows
            if (row.dataset, row.sites, row.records, row.public, row.epsilon) == setting
        }
        boosted = own[BOOSTED]
        if boosted.saved > 2 * boosted.saved_error:
            strong.append(len(lines))
        dataset, sites, records, public, epsilon = setting
        lines.append(
            (
                f"{dataset}, {sites} sites of {records}, {public} public rows, epsilon {epsilon:g}",
                *(percent(own[method].mean, own[method].std) for method in methods),
                f"{100 * boosted.saved:+.2f} ± {100 * boosted.saved_error:.2f}",
            )
        )
    caption = (
        "Test error in %, mean and standard deviation over runs; last: points that boosting saves"
    )
    return Table(caption, ("setting", *methods, "saved"), tuple(lines), strong=tuple(strong))
