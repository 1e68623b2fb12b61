"""Several papers on one page: how many of their claims hold."""

from collections.abc import Sequence
from typing import Protocol

from tacit.report.document import Document, Figures, Section, Table
from tacit.report.shown import VERDICTS, Claim, claims_section


class PapersClaim(Claim, Protocol):
    """A claim that knows its paper."""

    @property
    def paper(self) -> str: ...


def overview(claims: Sequence[PapersClaim]) -> Document:
    """Counts over all papers and for each; then every claim."""
    papers = list(dict.fromkeys(claim.paper for claim in claims))
    numbers = {name: _counts([claim for claim in claims if claim.paper == name]) for name in papers}
    rows = tuple((f"paper {name.upper()}", *map(str, numbers[name]), str(sum(numbers[name]))) for name in papers)
    figures = Figures(tuple((f"Claims: {verdict}", str(n), f"of {len(claims)}") for verdict, n in _told(claims)))
    table = Table("Published claims by paper", ("paper", *VERDICTS, "all"), rows)
    details = (
        (claims_section([claim for claim in claims if claim.paper == name]), f"What paper {name.upper()} says")
        for name in papers
    )
    return Document(
        "Four papers, measured again",
        "Every table and figure was run again at the papers' settings, where data was at hand. Each paper has a report "
        "of its own in the folder beside this file.",
        (
            Section("Do the papers' claims hold?", "", (figures, table)),
            *(Section(title, section.text, section.parts) for section, title in details),
        ),
    )


def _counts(claims: Sequence[PapersClaim]) -> list[int]:
    return [sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS]


def _told(claims: Sequence[PapersClaim]) -> list[tuple[str, int]]:
    return list(zip(VERDICTS, _counts(claims), strict=True))
