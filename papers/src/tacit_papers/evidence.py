"""The papers' tables of docs/evidence.md, made from rows on disk: `python -m tacit_papers.evidence
out/papers/rows.jsonl docs/evidence.md`.

A table stands between two comments. The first names it and carries a digest of the papers' code
that measured its rows; a test compares that with the code as it is. Nothing between the comments is
typed: a table whose rows are not on disk is left as it is, and named.
"""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tacit_papers.a.published import CURVES
from tacit_papers.a.readings import PublicRow
from tacit_papers.c.experiment import SiteRow
from tacit_papers.claims import counts, reasons
from tacit_papers.d.experiment import EPSILONS, PeerRow
from tacit_papers.registry import KINDS, PAPERS, claims_of
from tacit_papers.runner import read_rows, select
from tacit_papers.shared.curves import CurveRow
from tacit_papers.sources import digest_of_code

_BEGIN = r"<!-- table: ([\w ,]+); code ([0-9a-f]+) -->\n"
_END = "<!-- end of table -->\n"
_ALONE = "chosen by cross-validation"


def claims_by_paper(rows: Sequence[Any]) -> str:
    """How many claims of each paper hold, differ by reason, and are unchecked."""
    lines = ["| paper | hold | differ | unchecked | why they differ |", "|---|---|---|---|---|"]
    for paper in PAPERS:
        own = claims_of([paper], rows)
        found = counts(own)
        why = ", ".join(f"{reason} {count}" for reason, count in reasons(own).items())
        told = (found["holds"], found["differs"], found["unchecked"])
        lines.append(f"| {paper.upper()} | {told[0]} | {told[1]} | {told[2]} | {why} |")
    return "\n".join(lines) + "\n"


def boosting(rows: Sequence[Any]) -> str:
    """Paper A's curves: first and last error, as published, sound, stated, and public rows
    alone.
    """
    lines = [
        "| | epsilon | as published, simulated | sound | stated in the paper | public rows alone |",
        "|---|---|---|---|---|---|",
    ]
    alone = {row.dataset: row.error for row in select(rows, PublicRow, model=_ALONE)}
    found = select(rows, CurveRow, paper="a")
    for dataset, learner, epsilon in CURVES:
        own = [
            row
            for row in found
            if (row.dataset, row.learner, row.epsilon) == (dataset, learner, epsilon)
        ]
        if not own or dataset not in alone:
            raise LookupError(f"curves of {learner} on {dataset}")
        stated = CURVES[dataset, learner, epsilon]
        lines.append(
            f"| boosted {learner}, {dataset} | {'none' if epsilon is None else f'{epsilon:g}'} | "
            f"{_ends(own, 'as published', 'piecewise')} | {_ends(own, 'sound', 'auto')} | "
            f"{100 * stated[0]:.0f} → {100 * stated[1]:.0f} | {100 * alone[dataset]:.1f} |"
        )
    return "\n".join(lines) + "\n"


def _ends(rows: Sequence[CurveRow], variant: str, mechanism: str) -> str:
    """First and last error of a line."""
    own = [row for row in rows if row.variant == variant and row.mechanism in (mechanism, "none")]
    own.sort(key=lambda row: row.learners)
    return f"{100 * own[0].mean:.1f} → {100 * own[-1].mean:.1f}"


def sites(rows: Sequence[Any]) -> str:
    """Paper C on MNIST: error against epsilon."""
    own = select(rows, SiteRow, dataset="mnist", varied="epsilon")
    if not own:
        raise LookupError("sites on mnist")
    epsilons = sorted({row.epsilon for row in own})
    lines = [
        "| epsilon | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |",
        "|---" * (1 + len(epsilons)) + "|",
    ]
    for method in dict.fromkeys(row.method for row in own):
        cells = {row.epsilon: row for row in own if row.method == method}
        values = (f"{100 * cells[e].mean:.1f} ± {100 * cells[e].std:.1f}" for e in epsilons)
        lines.append(f"| {method} | " + " | ".join(values) + " |")
    return "\n".join(lines) + "\n"


def peers(rows: Sequence[Any]) -> str:
    """Paper D: accuracy of random stumps against epsilon, by reading."""
    own = [
        row
        for row in select(rows, PeerRow)
        if row.method.startswith(("random stumps", "passed trees", "peers in turns"))
    ]
    if not own:
        raise LookupError("peers")
    heads = (*(f"{epsilon:g}" for epsilon in EPSILONS), "no noise")
    lines = ["| | " + " | ".join(heads) + " |", "|---" * (1 + len(heads)) + "|"]
    for dataset, method in dict.fromkeys((row.dataset, row.method) for row in own):
        line = [row for row in own if (row.dataset, row.method) == (dataset, method)]
        most = max(row.rounds for row in line)
        cells = {row.epsilon: row for row in line if row.rounds == most}
        for what in ("served", "own"):
            values = [getattr(cells[e], what) if e in cells else None for e in (*EPSILONS, None)]
            if any(value is not None for value in values):
                told = ("" if value is None else f"{100 * value:.1f}" for value in values)
                lines.append(f"| {dataset}: {method}, {what} | " + " | ".join(told) + " |")
    return "\n".join(lines) + "\n"


TABLES: dict[str, Callable[[Sequence[Any]], str]] = {
    "claims": claims_by_paper,
    "paper A": boosting,
    "paper C": sites,
    "paper D": peers,
}
_MODULES = {  # that measure the rows of a table, beside what lays it out
    "claims": ("a.learners", "a.readings", "a.tables", "b.learners", "c.methods", "d.learners"),
    "paper A": ("a.learners", "a.readings", "a.published", "shared.curves", "datasets.words"),
    "paper C": ("c.methods", "c.experiment"),
    "paper D": ("d.learners", "d.experiment", "d.tasks"),
}


def digest_of(table: str) -> str:
    """Of the papers' code that measures a table's rows."""
    return digest_of_code(f"tacit_papers.{name}" for name in _MODULES[table])


def renew(page: str, rows: Sequence[Any]) -> tuple[str, list[str]]:
    """The page with its tables made anew, and what could not be made for want of rows."""
    missing: list[str] = []

    def table(found: re.Match[str]) -> str:
        name = found[1]
        try:
            made = TABLES[name](rows)
        except LookupError as problem:
            missing.append(f"{name}: {problem}")
            return found[0]
        return f"<!-- table: {name}; code {digest_of(name)} -->\n{made}{_END}"

    return re.sub(_BEGIN + r".*?" + re.escape(_END), table, page, flags=re.DOTALL), missing


def tables_of(page: str) -> dict[str, str]:
    """Names of a page's tables, with the digest of the code that made each."""
    return dict(re.findall(_BEGIN, page))


def main(rows: str, page: str) -> None:
    path = Path(page)
    made, missing = renew(path.read_text(encoding="utf-8"), list(read_rows(Path(rows), KINDS)))
    path.write_text(made, encoding="utf-8")
    for line in missing:
        print(f"left as it was, rows are missing: {line}")


if __name__ == "__main__":
    main(*sys.argv[1:])
