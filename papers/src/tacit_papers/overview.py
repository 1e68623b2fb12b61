"""Several papers on one page: how many of their claims hold."""

from collections.abc import Sequence

from tacit.render.document import Document, Figures, Section, Table
from tacit_papers.claims import Claim

VERDICTS = ("holds", "differs", "unchecked")


def overview(claims: Sequence[Claim]) -> Document:
    """Counts over all papers and for each; then every claim."""
    papers = list(dict.fromkeys(claim.paper for claim in claims))
    numbers = {name: _counts([claim for claim in claims if claim.paper == name]) for name in papers}
    rows = tuple(
        (f"paper {name.upper()}", *map(str, numbers[name]), str(sum(numbers[name])))
        for name in papers
    )
    figures = Figures(
        tuple((f"Claims: {verdict}", str(n), f"of {len(claims)}") for verdict, n in _told(claims))
    )
    table = Table("Published claims by paper", ("paper", *VERDICTS, "all"), rows)
    details = (
        (
            claims_section([claim for claim in claims if claim.paper == name]),
            f"What paper {name.upper()} says",
        )
        for name in papers
    )
    return Document(
        "Four papers, measured again",
        "Every table and figure was run again at the papers' settings, where data was at "
        "hand. Each paper has a report "
        "of its own in the folder beside this file.",
        (
            Section("Do the papers' claims hold?", "", (figures, table)),
            *(Section(title, section.text, section.parts) for section, title in details),
        ),
    )


def _counts(claims: Sequence[Claim]) -> list[int]:
    return [sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS]


def _told(claims: Sequence[Claim]) -> list[tuple[str, int]]:
    return list(zip(VERDICTS, _counts(claims), strict=True))


def claims_section(claims: Sequence[Claim]) -> Section:
    """Claims with their verdicts, those that differ first; and how many of each kind there are."""
    order = ("differs", "unchecked", "holds")
    hold, differ, unchecked = (
        sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS
    )
    rows = tuple(
        (claim.where, claim.text, claim.published, claim.measured, claim.verdict, claim.why)
        for claim in sorted(claims, key=lambda claim: order.index(claim.verdict))
    )
    columns = ("where", "claim", "published", "measured", "verdict", "why")
    text = (
        f"Of {len(claims)} published claims {hold} hold, {differ} differ, {unchecked} "
        "could not "
        "be checked."
    )
    return Section("Published claims", text, (Table("Claims and verdicts", columns, rows),))
