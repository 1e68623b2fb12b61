"""Claims on the terminal: what the papers say beside what was measured, and how many hold."""

from collections.abc import Sequence

from rich.console import Console

from tacit.cli.tables import table_of
from tacit.experiments.claims import Claim, counts

_STYLES = {"holds": "green", "differs": "red"}


def show_claims(claims: Sequence[Claim], console: Console) -> None:
    """For each paper the claims that could be checked, and the counts; of several papers only what differs."""
    papers = list(dict.fromkeys(claim.paper for claim in claims))
    for paper in papers:
        own = [claim for claim in claims if claim.paper == paper]
        shown = ("differs",) if len(papers) > 1 else ("holds", "differs")
        table = table_of(f"What paper {paper.upper()} says" + (", where it differs" if len(papers) > 1 else ""))
        for heading in ("where", "claim", "published", "measured", "verdict"):
            table.add_column(heading, overflow="fold")
        for claim in own:
            text = claim.text + (f" ({claim.why})" if claim.why else "")
            if claim.verdict in shown:
                table.add_row(
                    claim.where, text, claim.published, claim.measured, claim.verdict, style=_STYLES[claim.verdict]
                )
        if table.row_count:
            console.print(table)
        console.print(f"paper {paper.upper()}: {_told(own)}")
    if len(papers) > 1:
        console.print(f"all: {_told(claims)}")


def _told(claims: Sequence[Claim]) -> str:
    found = counts(claims)
    checked = f"{len(claims)} claims, {found['holds']} hold, {found['differs']} differ"
    return f"{checked}, {found['unchecked']} unchecked for want of rows"
