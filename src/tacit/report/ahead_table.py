"""The table of the read-me out of rows: one line per task."""

from collections.abc import Sequence

from tacit.report.ahead import AheadRow

_HEAD = (
    "task, owners x rows",
    "paper A's best at epsilon 7",
    "private only, 0.5",
    "private only, 1",
    "public only: 50, 200, 1,000 rows",
    "combined, epsilon 1: 50, 200, 1,000 rows",
)


def markdown_table(rows: Sequence[AheadRow]) -> str:
    """Accuracies in percent, mean and deviation, where owners are alike; private only with most public rows."""
    lines = ["| " + " | ".join(_HEAD) + " |", "|" + "---|" * len(_HEAD)]
    alike = [row for row in rows if row.owners_kind == "alike"]
    for name in dict.fromkeys(row.dataset for row in alike):
        own = [row for row in alike if row.dataset == name]
        papers = [row for row in own if row.method.startswith("paper A")]
        best = max(papers, key=lambda row: row.mean, default=None)
        first = own[0]
        cells = [
            f"{name}, {first.owners:,} x {first.rows_per_owner}",
            "" if best is None else f"{_percent(best)} ({best.method.removeprefix('paper A: ')})",
            *(_largest([r for r in own if (r.method, r.epsilon) == ("private only", eps)]) for eps in (0.5, 1.0)),
            ", ".join(_percent(row) for row in own if row.method == "public only"),
            ", ".join(_percent(row) for row in own if (row.method, row.epsilon) == ("combined", 1.0)),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _percent(row: AheadRow) -> str:
    return f"{100 * row.mean:.1f} ± {100 * row.std:.1f}"


def _largest(rows: Sequence[AheadRow]) -> str:
    return _percent(max(rows, key=lambda row: row.public_rows)) if rows else ""
