"""Claims as tables, and several papers on one page: how many of their claims hold."""

from collections.abc import Sequence

from tacit.render.document import Document, Figures, Section, Table
from tacit_papers.claims import Claim, counts

_ORDER = ("differs", "unchecked", "holds")  # what to look at comes first


def overview(claims: Sequence[Claim]) -> Document:
    """Counts over all papers and for each; then every claim."""
    papers = {
        name: [claim for claim in claims if claim.paper == name]
        for name in dict.fromkeys(claim.paper for claim in claims)
    }
    total = counts(claims)
    figures = Figures(
        tuple((f"Claims: {verdict}", str(n), f"of {len(claims)}") for verdict, n in total.items())
    )
    rows = tuple(
        (f"paper {name.upper()}", *map(str, counts(own).values()), str(len(own)))
        for name, own in papers.items()
    )
    table = Table("Published claims by paper", ("paper", *total, "all"), rows)
    return Document(
        "Four papers, measured again",
        "Every table and figure was run again at the papers' settings, where data was at hand. "
        "Each paper has a report of its own in the folder beside this file.",
        (
            Section("Do the papers' claims hold?", "", (figures, table)),
            *(
                claims_section(own, f"What paper {name.upper()} says")
                for name, own in papers.items()
            ),
        ),
    )


def claims_section(claims: Sequence[Claim], title: str = "Published claims") -> Section:
    """Claims with their verdicts, and how many of each kind there are."""
    return Section(title, say_counts(claims), (claims_table("Claims and verdicts", claims),))


def claims_table(caption: str, claims: Sequence[Claim]) -> Table:
    """Claims with their verdicts, those that differ first; in brackets why."""
    ordered = sorted(claims, key=lambda claim: _ORDER.index(claim.verdict))
    rows = tuple(
        (
            claim.where,
            claim.text + (f" ({claim.why})" if claim.why else ""),
            claim.published,
            claim.measured,
            claim.verdict,
        )
        for claim in ordered
    )
    return Table(caption, ("where", "claim", "published", "measured", "verdict"), rows)


def say_counts(claims: Sequence[Claim]) -> str:
    """How many claims hold, differ, and could not be checked."""
    found = counts(claims)
    return (
        f"Of {len(claims)} published claims {found['holds']} hold, {found['differs']} differ, "
        f"{found['unchecked']} could not be checked."
    )
