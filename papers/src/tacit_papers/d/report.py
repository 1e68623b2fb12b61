"""Paper D again as a document: peers without a server."""

from collections.abc import Sequence
from typing import Any, Literal

from tacit.render.document import (
    SPREAD,
    Chart,
    Document,
    Kind,
    Line,
    Section,
    Table,
    mark_unsound,
    percent,
    percents,
    protection,
)
from tacit_papers.d.edge import EdgeRow, InstallRow
from tacit_papers.d.events import EventRow
from tacit_papers.d.experiment import PeerRow
from tacit_papers.rows_file import select

_TERMS = (
    ("Unit", "the record of a participant, over all rounds together"),
    ("Adjacency", "one record added or removed"),
    ("Adversary", "everybody else, all other participants included"),
    ("Epsilon", "pure, exact, for a participant's whole participation"),
)
_LIMITS = (
    "Who the participants are, which attributes they hold, and the epsilon of each.",
    "The model that a participant holds for itself: it knows that participant's exact rows "
    "and must stay there.",
)
What = Literal["served", "own"]


def report_d(rows: Sequence[Any]) -> Document:
    """Accuracy against epsilon and rounds, served and held; what happens when participants come
    and go.
    """
    peers, events = select(rows, PeerRow), select(rows, EventRow)
    sections = []
    for dataset in dict.fromkeys(row.dataset for row in peers):
        own = [row for row in peers if row.dataset == dataset]
        by_rounds = [
            [row for row in own if row.rounds == rounds]
            for rounds in sorted({row.rounds for row in own}, reverse=True)
        ]
        charts = [_chart(by_rounds[0], "served"), _chart(by_rounds[0], "own"), *_over_rounds(own)]
        sections.append(Section(f"Peers on {dataset}", "", (*charts, *map(_table, by_rounds))))
    sections += [
        _happenings([row for row in events if row.dataset == name])
        for name in dict.fromkeys(row.dataset for row in events)
    ]
    sections += _costs(select(rows, EdgeRow), select(rows, InstallRow))
    claim = (
        "Where tacit's methods really run, each record of a participant is protected by "
        "differential privacy."
    )
    return Document(
        "Paper D again: peers that learn from each other without a server",
        "Participants tell each other noisy counts. Served: the model made of released "
        "numbers only, which anybody may see. Own: what a participant makes of it with its "
        "exact rows, and keeps.",
        (*sections, protection(claim, _TERMS, _LIMITS, {row.unsound for row in peers})),
    )


def _value(row: PeerRow, what: What) -> tuple[float, float] | None:
    mean, std = (row.served, row.served_std) if what == "served" else (row.own, row.own_std)
    return None if mean is None else (mean, std)


def _line(name: str, points: Sequence[tuple[float, PeerRow]], what: What) -> list[Line]:
    known = [(x, *value) for x, row in points if (value := _value(row, what)) is not None]
    if not known:
        return []
    first = points[0][1]
    kind: Kind = (
        "ours" if first.method == "peers in turns" else "paper" if first.unsound else "other"
    )
    return [percents(name, known, kind)]


def _chart(rows: Sequence[PeerRow], what: What) -> Chart:
    """Accuracy against epsilon; what needs no epsilon as levels."""
    private = list(dict.fromkeys(row.method for row in rows if row.epsilon is not None))
    lines: list[Line] = []
    for method in private:
        own = [
            (row.epsilon, row) for row in rows if row.method == method and row.epsilon is not None
        ]
        lines += _line(mark_unsound(method, own[0][1].unsound), own, what)
    for row in rows:
        level = row.served if row.served is not None else row.own
        if row.method not in private and level is not None:
            kind: Kind = "public" if "public rows" in row.method else "other"
            lines.append(Line(row.method, (), (100 * level,), None, kind))
    title = f"{rows[0].dataset}: " + (
        "served, released numbers only" if what == "served" else "held by participants"
    )
    note = f"{rows[0].participants} participants, {rows[0].rounds} rounds. {SPREAD}"
    label = "epsilon of a record, over all rounds"
    return Chart(title, label, "accuracy, %", tuple(lines), x_scale="log", note=note)


def _over_rounds(rows: Sequence[PeerRow]) -> list[Chart]:
    """Accuracy of own models against rounds, for every epsilon at which rounds were varied."""
    charts = []
    for epsilon in sorted({row.epsilon for row in rows if row.epsilon is not None}):
        at = [row for row in rows if row.epsilon == epsilon]
        lines: list[Line] = []
        for method in dict.fromkeys(row.method for row in at):
            own = sorted(
                ((float(row.rounds), row) for row in at if row.method == method),
                key=lambda pair: pair[0],
            )
            if len(own) > 1:
                lines += _line(mark_unsound(method, own[0][1].unsound), own, "own")
        if lines:
            title = f"{rows[0].dataset}: against rounds, epsilon {epsilon:g}"
            charts.append(
                Chart(title, "rounds", "accuracy of own models, %", tuple(lines), note=SPREAD)
            )
    return charts


def _table(rows: Sequence[PeerRow]) -> Table:
    epsilons = sorted({row.epsilon for row in rows if row.epsilon is not None})
    lines: list[tuple[str, ...]] = []
    strong: list[int] = []
    for method in dict.fromkeys(row.method for row in rows):
        cells = {row.epsilon: row for row in rows if row.method == method}
        for what in ("served", "own"):
            values = [_value(cells[e], what) if e in cells else None for e in (*epsilons, None)]
            if any(values):
                if method == "peers in turns":
                    strong.append(len(lines))
                name = f"{mark_unsound(method, next(iter(cells.values())).unsound)}, {what}"
                lines.append(
                    (name, *("" if value is None else percent(*value) for value in values))
                )
    first = rows[0]
    caption = (
        f"{first.dataset}: accuracy in % by epsilon ({first.rounds} rounds, {first.runs} runs)"
    )
    columns = ("method, model", *(f"{epsilon:g}" for epsilon in epsilons), "no noise")
    return Table(caption, columns, tuple(lines), strong=tuple(strong))


def _costs(rows: Sequence[EdgeRow], packages: Sequence[InstallRow]) -> list[Section]:
    """What a participant pays."""
    if not rows:
        return []
    lines = tuple(
        (
            row.dataset,
            f"{row.rows:,}",
            str(row.attributes),
            str(row.participants),
            str(row.rounds),
            f"{row.seconds:.3f} s",
            f"{row.megabytes:.1f} MB",
            f"{row.sent:,}",
            f"{row.heard:,}",
        )
        for row in rows
    )
    sizes = ("data", "rows", "attributes", "participants", "rounds")
    columns = (*sizes, "processor", "memory", "sent", "heard")
    caption = "Random stumps, sound: one participant over all rounds; sent and heard in bytes"
    text = f"A plain install weighs {rows[0].installed:.0f} megabytes with all that it needs."
    weights = tuple((row.package, f"{row.megabytes:.1f}") for row in dict.fromkeys(packages))
    installed = Table("What is installed, in megabytes", ("package", "MB"), weights)
    return [Section("What a participant pays", text, (Table(caption, columns, lines), installed))]


def _happenings(rows: Sequence[EventRow]) -> Section:
    cells = tuple(
        (
            row.event,
            row.method,
            percent(row.served),
            percent(row.own),
            f"{100 * row.left_out:.0f} %",
        )
        for row in rows
    )
    columns = ("event", "method", "served", "own", "left it out")
    caption = (
        f"Accuracy in %, epsilon {rows[0].epsilon:g}; last: share of the others that left "
        "the participant out"
    )
    return Section(
        f"When one of them comes, goes or is poisoned: {rows[0].dataset}",
        "",
        (Table(caption, columns, cells),),
    )
