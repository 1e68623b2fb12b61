"""What the future work of the papers came to, as tables."""

from collections.abc import Sequence

from tacit.render.document import Document, Section, Table, percent
from tacit_papers.ours.more_sites import BOOSTED, MoreSitesRow
from tacit_papers.ours.near_peers import BY_DISTANCE, BY_ERRORS, CHOICES, EVERYBODY, NearRow
from tacit_papers.rows_file import select

_POINT = 0.01  # of accuracy: less may be luck


def report_future(found: Sequence[object]) -> Document:
    """Many sites, near peers, and bytes; what was not measured is left out."""
    sites, peers = select(found, MoreSitesRow), select(found, NearRow)
    sections = []
    if sites:
        text = (
            "Paper C proposes to boost its feature method where sites are many. Both combine the "
            "same private models; in bold where boosting errs less by more than two standard "
            "errors."
        )
        sections.append(Section("Many sites", text, (future_table(sites),)))
    if peers:
        text = (
            "Paper D asks for a private way to tell whose distribution is like one's own, and for "
            "a better trade between accuracy and communication. A tenth of epsilon pays for a "
            "distance between noisy contrasts; those that are near learn among themselves. In bold "
            "where what they serve is more accurate than by the paper's rule by a point, and own "
            "models are not less accurate by two standard errors."
        )
        tables = (near_table(peers), bytes_table(peers))
        sections.append(Section("Near peers", text, tables))
    text = "Each beside its paper's own method, on the same rows."
    return Document("Future work of the papers", text, tuple(sections))


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


def near_table(rows: Sequence[NearRow]) -> Table:
    """Worlds down; for each choice what own models and served ones reach, and bytes."""
    most = max(row.rounds for row in rows)
    lines, strong = list[tuple[str, ...]](), list[int]()
    chosen = [row for row in rows if row.rounds == most]
    for setting in dict.fromkeys((r.dataset, r.method, r.world, r.epsilon) for r in chosen):
        own = {
            row.choice: row
            for row in chosen
            if (row.dataset, row.method, row.world, row.epsilon) == setting
        }
        near, usual = own[BY_DISTANCE], own[BY_ERRORS]
        if near.served > usual.served + _POINT and near.gain > -2 * near.gain_error:
            strong.append(len(lines))
        dataset, method, world, epsilon = setting
        lines.append(
            (
                f"{dataset}, {method}, {world}, epsilon {epsilon:g}",
                *(f"{percent(own[c].served)} ({percent(own[c].own)})" for c in CHOICES),
                f"{100 * near.gain:+.2f} ± {100 * near.gain_error:.2f}",
                "" if near.parted is None else f"{100 * near.parted:.0f} %",
                f"{near.heard / usual.heard:.2f}",
            )
        )
    caption = (
        "Accuracy in % of what is served (of own models); then what own models gain over the "
        "paper's rule, pairs of opposite classes that were parted, and bytes heard as a multiple"
    )
    heads = ("setting", *CHOICES, "gain", "parted", "bytes")
    return Table(caption, heads, tuple(lines), strong=tuple(strong))


def bytes_table(rows: Sequence[NearRow]) -> Table:
    """What bytes buy where all are alike and everybody is heard."""
    alike = [row for row in rows if row.parted is None and row.choice == EVERYBODY]
    alike.sort(key=lambda row: (row.dataset, row.epsilon, row.heard))
    lines = tuple(
        (
            f"{row.dataset}, epsilon {row.epsilon:g}: {row.method}, {row.rounds} rounds",
            f"{row.heard:,.0f}",
            percent(row.served),
            percent(row.own),
        )
        for row in alike
    )
    caption = "Bytes that one participant hears, and accuracy in %: served, own"
    return Table(caption, ("setting", "bytes heard", "served", "own"), lines)
