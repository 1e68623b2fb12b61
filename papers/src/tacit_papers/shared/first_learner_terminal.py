"""First base learners on the terminal: accuracy by mechanism, over epsilon or over owners."""

from collections.abc import Iterator, Sequence

from rich.table import Table

from tacit.cli._screen import percent, table_of
from tacit_papers.shared.first_learner import FirstRow


def first_tables(rows: Sequence[FirstRow]) -> Iterator[Table]:
    """A table per figure and data set."""
    for where, dataset in dict.fromkeys((row.where, row.dataset) for row in rows):
        yield _table([row for row in rows if (row.where, row.dataset) == (where, dataset)])


def _table(rows: list[FirstRow]) -> Table:
    """Lines down, epsilon (or numbers of owners, where they vary) across; accuracy in percent
    with its spread.
    """
    first = rows[0]
    crowd = len({row.owners for row in rows}) > 1
    flat = [row for row in rows if row.epsilon is None and not crowd]
    moving = [row for row in rows if row not in flat]
    levels = "; ".join(f"{_name(row)} {100 * row.mean:.1f}" for row in flat)
    size = "" if crowd else f", {first.owners:,} owners of {first.rows_per_owner}"
    title = (
        f"{first.where}, {first.dataset}: accuracy of the first {first.learner} in %{size}, "
        f"{first.runs} runs\n{levels}"
    )
    table = table_of(title.strip())
    table.add_column("owners" if crowd else "epsilon")
    places = sorted({_at(row, crowd) for row in moving})
    for place in places:
        table.add_column(f"{place:g}", justify="right", no_wrap=True)
    for name in dict.fromkeys(_name(row) for row in moving):
        cells = {_at(row, crowd): row for row in moving if _name(row) == name}
        each = (
            percent(cells[p].mean, cells[p].std, len(places)) if p in cells else "" for p in places
        )
        table.add_row(name, *each)
    return table


def _at(row: FirstRow, crowd: bool) -> float:
    return float(row.owners) if crowd else row.epsilon or 0.0


def _name(row: FirstRow) -> str:
    if row.variant in ("ours", "sample alone"):
        return row.variant
    mechanism = "no privacy" if row.epsilon is None else row.mechanism
    return f"{row.variant}{' (unsound)' if row.unsound else ''}, {mechanism}"
