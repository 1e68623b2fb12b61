"""Claims on the terminal: what the papers say beside what was measured, and how many hold."""

from collections.abc import Sequence

from rich.console import Console

from tacit.cli.tables import table_of
from tacit.experiments.claims import Claim, counts

_STYLES = {"holds": "green", "differs": "red", "unchecked": "dim"}


def show_claims(claims: Sequence[Claim], console: Console) -> None:
    """A table for each paper, and the counts."""
    for paper in dict.fromkeys(claim.paper for claim in claims):
        own = [claim for claim in claims if claim.paper == paper]
        table = table_of(f"What paper {paper.upper()} says")
        for heading in ("where", "claim", "published", "measured", "verdict"):
            table.add_column(heading, overflow="fold")
        for claim in own:
            text = claim.text + (f" ({claim.why})" if claim.why else "")
            table.add_row(
                claim.where, text, claim.published, claim.measured, claim.verdict, style=_STYLES[claim.verdict]
            )
        console.print(table)
        console.print(f"paper {paper.upper()}: {_told(own)}")
    if len({claim.paper for claim in claims}) > 1:
        console.print(f"all: {_told(claims)}")


def _told(claims: Sequence[Claim]) -> str:
    found = counts(claims)
    return f"{len(claims)} claims, {found['holds']} hold, {found['differs']} differ, {found['unchecked']} unchecked"
