"""Paper C again as a document: sites that train privately, and an aggregator with public rows."""

from collections.abc import Sequence
from typing import Any

from tacit.render.document import (
    SPREAD,
    Chart,
    Document,
    Kind,
    Line,
    Scaling,
    Section,
    Table,
    mark_unsound,
    percent,
    percents,
    protection,
)
from tacit_papers.c.experiment import SiteRow
from tacit_papers.c.span import SpanRow
from tacit_papers.datasets.heart import SITES
from tacit_papers.ours.hospitals import HospitalRow
from tacit_papers.rows_file import select

_TERMS = (
    ("Unit", "the record of a site"),
    ("Adjacency", "one record replaced, added or removed"),
    ("Adversary", "everybody outside the site, the aggregator and all other sites included"),
    ("Epsilon", "pure, exact, for the one model that a site sends"),
)
_LIMITS = (
    "The aggregator's public rows, from which bounds, projection and weights come.",
    "Who the sites are, how many, and the epsilon of each.",
    "Somebody with several records, or records at several sites, is protected by the sum of "
    "their epsilons.",
)
_POINT = 0.01  # of error: less may be luck with so few patients
_KINDS: dict[str, Kind] = {"ours": "ours", "public rows alone": "public"}


def report_c(rows: Sequence[Any]) -> Document:
    """Error against epsilon, records per site and sites; the four hospitals."""
    curves, hospitals = select(rows, SiteRow), select(rows, HospitalRow)
    sections = []
    for dataset in dict.fromkeys(row.dataset for row in curves):
        own = [row for row in curves if row.dataset == dataset]
        varied = dict.fromkeys(row.varied for row in own)
        parts = [[row for row in own if row.varied == name] for name in varied]
        sections.append(
            Section(f"Sites on {dataset}", "", (*map(_chart, parts), *map(_table, parts)))
        )
    sections += _theorem(select(rows, SpanRow))
    if hospitals:
        sections.append(_hospitals(hospitals))
    claim = (
        "Where tacit's methods really run, each record of a site is protected by differential "
        "privacy."
    )
    unsound = {row.unsound for row in curves} | {row.unsound for row in hospitals}
    return Document(
        "Paper C again: private models of sites, combined with public rows",
        "Each site trains one linear model with differential privacy; an aggregator combines "
        "them with public rows of its own. The line that the paper does not show is drawn too: "
        "the public rows alone.",
        (*sections, protection(claim, _TERMS, _LIMITS, unsound)),
    )


def _theorem(rows: Sequence[SpanRow]) -> list[Section]:
    """Theorem 1, where it was measured."""
    if not rows:
        return []
    text = "Rows of a known law: f* is the best linear model, f*_span the best in the sites' span."
    return [Section("Theorem 1", text, (theorem_table(rows),))]


def theorem_table(rows: Sequence[SpanRow]) -> Table:
    """How far the feature method is from f*_span, and that from f*, over what the theorem names."""
    lines = tuple(
        (
            row.varied,
            str(row.sites),
            f"{row.records:,}",
            f"{row.public:,}",
            "none" if row.epsilon is None else f"{row.epsilon:g}",
            f"{row.estimation:.4f}",
            f"{row.gap:.4f}",
        )
        for row in rows
    )
    sizes = ("varied", "sites", "records", "public rows", "epsilon")
    columns = (*sizes, "method from f*_span", "f*_span from f*")
    caption = f"Squared distances of unit vectors, mean of {rows[0].runs} runs"
    return Table(caption, columns, lines)


def _setting(first: SiteRow) -> str:
    return {
        "epsilon": f"{first.sites} sites of {first.records:,} records",
        "records": f"{first.sites} sites, epsilon {first.epsilon:g}",
        "sites": f"all records shared out, epsilon {first.epsilon:g}",
    }[first.varied]


def _name(row: SiteRow) -> str:
    return mark_unsound(row.method, "" if "no privacy" in row.method else row.unsound)


def _kind(row: SiteRow) -> Kind:
    return _KINDS.get(row.method, "paper" if "published" in row.method else "other")


def _chart(rows: Sequence[SiteRow]) -> Chart:
    lines = []
    for method in dict.fromkeys(row.method for row in rows):
        own = sorted((row for row in rows if row.method == method), key=lambda row: row.at)
        lines.append(
            percents(_name(own[0]), ((row.at, row.mean, row.std) for row in own), _kind(own[0]))
        )
    first = rows[0]
    label = {"records": "records per site"}.get(first.varied, first.varied)
    title = f"{first.dataset}: error against {label}"
    scale: Scaling = "log" if first.varied == "records" else "linear"
    note = f"{_setting(first)}. {SPREAD}"
    return Chart(title, label, "test error, %", tuple(lines), x_scale=scale, note=note)


def _table(rows: Sequence[SiteRow]) -> Table:
    first, places = rows[0], list(dict.fromkeys(row.at for row in rows))
    methods = list(dict.fromkeys(row.method for row in rows))
    lines = []
    for method in methods:
        cells = {row.at: row for row in rows if row.method == method}
        texts = (
            percent(cells[place].mean, cells[place].std) if place in cells else ""
            for place in places
        )
        lines.append((_name(next(iter(cells.values()))), *texts))
    strong = tuple(number for number, method in enumerate(methods) if method == "ours")
    caption = (
        f"{first.dataset}: test error in %, by {first.varied} ({_setting(first)}; "
        f"{first.runs} runs)"
    )
    return Table(
        caption, ("method", *(f"{place:,g}" for place in places)), tuple(lines), strong=strong
    )


def _hospitals(rows: Sequence[HospitalRow]) -> Section:
    """A chart of error against epsilon, with levels to compare; and every number."""
    cells = tuple(
        (
            row.method,
            "" if row.epsilon is None else f"{row.epsilon:g}",
            percent(row.mean, row.std),
            *(percent(error) for error in row.by_site),
        )
        for row in rows
    )
    strong = tuple(number for number, row in enumerate(rows) if row.method == "ours")
    columns = ("learned from", "epsilon", "all patients", *SITES)
    caption = (
        f"Test error in %, {rows[0].runs} runs; everybody is tested on the same patients of "
        "all hospitals"
    )
    text = (
        "The public rows are some patients of one hospital, as if they had agreed to it. "
        + hospitals_in_words(rows)
    )
    private = any(row.epsilon is not None for row in rows)
    charts = [_hospital_chart(rows)] if private else []
    table = Table(caption, columns, cells, strong=strong)
    return Section("Four hospitals", text, (*charts, table))


def hospitals_in_words(rows: Sequence[HospitalRow]) -> str:
    """What the rows say, in sentences made of them."""
    (alone,) = (row for row in rows if row.method == "public rows alone")
    said = [f"Public rows alone err in {100 * alone.mean:.1f} % ({alone.runs} splits)."]
    for method, name in (
        ("ours", "The guarded default"),
        ("feature, exact", "The feature method, which trusts the sites,"),
    ):
        own = [row for row in rows if row.method == method and row.epsilon is not None]
        if not own:
            continue
        errors = ", ".join(f"{100 * row.mean:.1f}" for row in own)
        at = ", ".join(f"{row.epsilon:g}" for row in own)
        said.append(f"{name} errs in {errors} % at epsilon {at}: {_beside(own, alone)}.")
    return " ".join(said)


def _beside(own: Sequence[HospitalRow], alone: HospitalRow) -> str:
    """Where rows are better than public rows alone, within a point of them, or worse."""
    places: dict[str, list[str]] = {}
    for row in own:
        gap = row.mean - alone.mean
        word = "better" if gap < -_POINT else "worse" if gap > _POINT else "within a point"
        places.setdefault(word, []).append(f"{row.epsilon:g}")
    if len(places) == 1:
        return f"{next(iter(places))} {'of' if 'within a point' in places else 'than'} them"
    return ", ".join(f"{word} at {' and '.join(where)}" for word, where in places.items())


def _hospital_chart(rows: Sequence[HospitalRow]) -> Chart:
    lines: list[Line] = []
    for method in dict.fromkeys(row.method for row in rows if row.epsilon is not None):
        own = [
            (row.epsilon, row.mean, row.std)
            for row in rows
            if row.method == method and row.epsilon is not None
        ]
        lines.append(percents(method, own, "ours" if method == "ours" else "other"))
    for row in rows:
        if row.method in ("public rows alone", "all records in one place"):
            kind: Kind = "public" if row.method == "public rows alone" else "other"
            lines.append(Line(row.method, (), (100 * row.mean,), None, kind))
    title = "Four hospitals, heart disease"
    return Chart(title, "epsilon", "test error, %", tuple(lines), x_scale="log", note=SPREAD)
