"""A saved model for others. tacit explain: a page of why it says what it says; tacit export: for
programs that are not tacit, or a card for people.
"""

import shlex
from math import floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from tacit._util.checks import in_digits, one_of
from tacit._util.file_checks import check_file, check_table, check_writable
from tacit._util.stopping import write_whole
from tacit.cli._options import Decimal, Encoding, optional_key
from tacit.cli._output import Screen, table_of, visible

if TYPE_CHECKING:  # a wrong option or a missing file is told before any of it is loaded
    from tacit._util.types import FloatArray
    from tacit.data.table_file import TableFile
    from tacit.estimators.explanation import ColumnCurve, Explainer, Explanation
    from tacit.estimators.guarantee import Guarantee
    from tacit.estimators.measures import Measures
    from tacit.estimators.persistence import SavedModel
    from tacit.render.document import Chart, Document, Section, Table

_MOST = 12  # columns with a chart of their own
_FIRST = 20  # rows whose contributions are shown one by one
_DRAWN = 3  # classes with a line of their own
_ENDINGS = (".onnx", ".json", ".md", ".html")  # of what can be exported

CampaignKey = Annotated[
    str | None, typer.Option(help="Key (hex) of the campaign that must have signed the model.")
]


def explain(
    model: Annotated[Path, typer.Argument(help="A model that tacit fit wrote.")],
    data: Annotated[
        Path | None, typer.Option(help="Your own rows to explain, CSV or parquet.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the page.")] = Path("explained.html"),
    campaign_key: CampaignKey = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    *,
    screen: Screen,
) -> None:
    """Show why a saved model says what it says: each column alone over its public range, and with
    --data what each column adds to the scores of your rows, exactly.

    Nothing on the page comes from owners' rows but through the model, which is public. The first
    rows of DATA are shown one by one: it is your file, and so is the page.

    Example:
        tacit explain model.tacit --data new.csv --out explained.html
    """
    one_of("the ending of --out", out.suffix.lower(), (".html", ".htm"))
    check_file(model, "a model that tacit fit wrote")
    if data is not None:
        check_table(data, written=(decimal, encoding))
    check_writable("--out", out, model, data)
    from tacit.data.table_file import open_rows
    from tacit.estimators.explanation import Explainer
    from tacit.render.pages import write_page

    saved, _ = _read_published(model, campaign_key)
    explainer = Explainer(saved)
    rows = None if data is None else _encode_rows(explainer, open_rows(data, decimal, encoding))
    found = None if rows is None else explainer.explain(rows)
    ranked = _rank(explainer, found)
    command = shlex.join([str(model), *([] if data is None else ["--data", str(data)])])
    said = () if rows is None else _say(explainer, rows[:_FIRST])
    write_page(_page(explainer, ranked, found, said, command), out)
    how = "over the public range" if found is None else f"over {len(found.contributions):,} rows"
    screen.tell(page=out, importances=dict(ranked), measured=how, unit=explainer.unit)
    table = table_of()
    table.add_column("column")
    table.add_column("importance", justify="right")
    for name, value in ranked[:_MOST]:
        table.add_row(escape(visible(name)), in_digits(value))
    screen.say(f"What moves the model most ({explainer.unit}, mean size {how}):")
    screen.console.print(table)
    screen.say(f"page: {out}")


def _encode_rows(explainer: "Explainer", file: "TableFile") -> "FloatArray":
    names = [feature.name for feature in explainer.schema.features]
    file.require(*names)
    return explainer.schema.encode(file.read_text(names), str(file.path)).X


def _say(explainer: "Explainer", rows: "FloatArray") -> tuple[str, ...]:
    """What the model predicts for each row: a class and how likely it is, or a number."""
    if not explainer.schema.labels:
        return tuple(in_digits(float(each), 4) for each in explainer.saved.numbers(rows))
    classes = explainer.schema.classes
    likely = explainer.saved.probabilities(rows)
    return tuple(f"{classes[row.argmax()]} {100 * row.max():.0f} %" for row in likely)


def _rank(explainer: "Explainer", found: "Explanation | None") -> list[tuple[str, float]]:
    """Columns by importance: for given rows, else over their public ranges."""
    if found is None:
        pairs = [(curve.name, curve.importance) for curve in explainer.curves]
    else:
        pairs = list(zip(found.names, found.importances.tolist(), strict=True))
    return sorted(pairs, key=lambda pair: -pair[1])


def _page(
    explainer: "Explainer",
    ranked: list[tuple[str, float]],
    found: "Explanation | None",
    said: tuple[str, ...],
    command: str,
) -> "Document":
    from tacit.render.document import Document, Figures, Section, Table

    saved = explainer.saved
    lead = (
        f"What a prediction of {saved.label or 'the label'} is made of. Every figure is computed "
        "from the published model and its public schema"
        + (", and from your rows." if found else ".")
    )
    if len(explainer.outputs) == 1 and explainer.outputs[0] in map(str, explainer.schema.classes):
        lead += f" Figures with + speak for {explainer.outputs[0]!r}, those with - against it."
    order = [name for name, _ in ranked]
    curves = sorted(explainer.curves, key=lambda curve: order.index(curve.name))[:_MOST]
    top = Figures(tuple((name, in_digits(value), explainer.unit) for name, value in ranked[:4]))
    whole = Table(
        "All columns, by the mean size of what they add",
        ("column", explainer.unit),
        tuple((name, in_digits(value)) for name, value in ranked),
        bars=tuple(value for _, value in ranked),
    )
    sizes = [size for curve in curves for each in curve.changes for size in each[:_DRAWN]]
    ends = (min(sizes, default=0.0), max(sizes, default=0.0))
    alone = Section(
        "Each column alone",
        "What a column changes in the score of a row of which nothing else is known. Of a sum over "
        "columns this is the whole model; where columns act together, rows below tell more. All "
        "are drawn to one scale.",
        tuple(_draw_curve(curve, explainer, ends) for curve in curves),
    )
    sections = [Section("What counts most", parts=(top, whole)), alone]
    if found is not None:
        sections.append(_rows_section(found, said))
    sections.append(_promise_section(saved.guarantee))
    return Document(
        "Why the model says what it says", lead, tuple(sections), f"tacit explain {command}"
    )


def _draw_curve(
    curve: "ColumnCurve", explainer: "Explainer", ends: tuple[float, float]
) -> "Chart | Table":
    """A line over a column's range, or bars of its categories on the scale that all share."""
    from tacit.render.document import Chart, Line, Table

    if not curve.is_ordered:
        rows, most = zip(curve.places, curve.changes, strict=True), max(map(abs, ends))
        cells = tuple((str(place), *(_signed(size, most) for size in each)) for place, each in rows)
        bars = tuple(each[0] for each in curve.changes) if len(explainer.outputs) == 1 else ()
        heading = ("value", *explainer.outputs)
        return Table(f"{curve.name}, {explainer.unit}", heading, cells, bars=bars, ends=ends)
    lines = tuple(
        Line(name, curve.places, tuple(change[place] for change in curve.changes), kind="ours")
        for place, name in enumerate(explainer.outputs[:_DRAWN])
    )
    return Chart(curve.name, curve.name, explainer.unit, lines, y_ends=ends)


def _rows_section(found: "Explanation", said: tuple[str, ...]) -> "Section":
    """What columns add to the first rows, and what the model says of them."""
    from tacit.render.document import Section, Table

    first, is_number = found.contributions[:_FIRST, :, 0], found.unit == found.outputs[0]
    order = (-found.importances).argsort(kind="stable")[:6]
    others, most = len(found.names) > len(order), float(abs(first).max(initial=0.0))
    lines = []
    for number, row in enumerate(first):
        left = [row.sum() - row[order].sum()] if others else []
        score = [] if is_number else [found.start[0] + row.sum()]
        cells = [_signed(each, most) for each in (*row[order], *left, *score)]
        lines.append((str(number + 1), said[number], *cells))
    names = *(found.names[place] for place in order), *(("others",) if others else ())
    table = Table(
        f"Contributions to {found.outputs[0]}" + ("" if is_number else f" ({found.unit})"),
        ("row", "says", *names, *(() if is_number else ("score",))),
        tuple(lines),
    )
    start, exact = float(found.start[0]), "what columns add to it is exact, and makes "
    text = (
        f"Of a row of which nothing is known the model says {in_digits(start, 4)}; {exact}what it "
        "says, held inside the public range."
        if is_number
        else f"A row of which nothing is known has {_signed(start, most)}; {exact}the score, by "
        "which the model says how likely a class is."
    )
    return Section("Your rows, one by one", text, (table,))


def _signed(value: float, most: float) -> str:
    """A figure among others up to this size, with its sign unless it is next to nothing.

    >>> _signed(0.5, 2.0), _signed(-0.004, 2.0), _signed(-1.25, 2.0), _signed(-1250.4, 1e4)
    ('+0.50', '0.00', '-1.25', '-1,250')
    """
    usual = most == 0 or 0.1 <= most < 100
    decimals = 2 if usual else max(0, 2 - floor(log10(most)))
    shown = f"{value:+,.{decimals}f}"
    return shown if shown.strip("+-0.,") else shown.lstrip("+-")


def _promise_section(promise: "Guarantee") -> "Section":
    from tacit.render.document import Paragraph, Section

    first = Paragraph(promise.headline, "warning" if promise.void else "promise", promise.terms)
    parts: tuple[Paragraph, ...] = (first,)
    if promise.not_protected:
        parts += (Paragraph("Not protected:", "limits", items=promise.not_protected),)
    return Section("What owners were promised", parts=parts)


def _read_published(model: Path, key: str | None) -> "tuple[SavedModel, str | None]":
    """The model in a file, and who signed it; a peer's own one is for itself alone."""
    from tacit.estimators.persistence import SavedModel, read_model

    saved, signer = read_model(model, optional_key(key))
    if not isinstance(saved, SavedModel):
        raise ValueError(f"{model} is a peer's own model: give the one that is served")
    return saved, signer


def export(
    model: Annotated[Path, typer.Argument(help="A model that tacit fit wrote.")],
    out: Annotated[
        Path,
        typer.Option(help="By its ending: .onnx, .json (sums over columns), .md or .html (card)."),
    ],
    use: Annotated[str, typer.Option(help="Of a card: what the model is meant for.")] = "",
    test: Annotated[
        Path | None, typer.Option(help="Of a card: rows with labels to measure on.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Their column with the right answer; default: the model's.")
    ] = None,
    campaign_key: CampaignKey = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    *,
    screen: Screen,
) -> None:
    """Write a saved model for programs that are not tacit (ONNX from raw columns to
    probabilities, JSON of linear models and sums of tables), or a card for people: guarantee,
    columns, influence of one report, what was measured, what it is meant for.

    Example:
        tacit export model.tacit --out model.onnx
    """
    ending = one_of("the ending of --out", out.suffix.lower(), _ENDINGS)
    if ending in (".onnx", ".json") and (use or test is not None):
        raise ValueError(
            f"--use and --test are of a card, .md or .html; {out} has no place for them"
        )
    if label is not None and test is None:
        raise ValueError(f"--label {label} needs --test FILE, whose column it is")
    check_file(model, "a model that tacit fit wrote")
    if test is not None:
        check_table(test, label, written=(decimal, encoding))
    check_writable("--out", out, model, test)
    saved, signer = _read_published(model, campaign_key)
    if ending == ".onnx":
        from tacit.estimators.export import write_onnx

        write_onnx(saved, out)
    elif ending == ".json":
        from tacit.estimators.export import json_form

        write_whole(out, json_form(saved).encode())
    else:
        from tacit.data.table_file import open_rows
        from tacit.estimators.export import CardFacts, card_of
        from tacit.render.pages import write_markdown, write_page

        rows = None if test is None else open_rows(test, decimal, encoding)
        measured = (None, None) if rows is None else _measure(saved, rows, label)
        card = card_of(saved, CardFacts(use, *measured))
        (write_page if ending == ".html" else write_markdown)(card, out)
    screen.tell(out=out, kind=saved.kind, signed_by=signer)
    screen.say(f"{saved.kind}: {out}")


def _measure(
    saved: "SavedModel", test: "TableFile", label: str | None
) -> "tuple[Measures, Measures | None]":
    """The model on rows of a file, and where its stages are known the data user's rows alone."""
    from tacit.data.table_rows import read_labelled, read_targets
    from tacit.estimators.measures import measure, measure_numbers
    from tacit.learners.models.scores import ScoreModel

    named = label or saved.label
    if not named:
        raise ValueError("--label is missing: the model does not know the name of its column")
    if not saved.schema.labels:
        table, targets = read_targets(test, named, saved.schema)
        return measure_numbers(saved.numbers(saved.schema.encode(table).X), targets), None
    table, classes = read_labelled(test, named, saved.schema)
    rows, last = saved.schema.encode(table).X, saved.model
    stages = saved.stages.models(last) if isinstance(last, ScoreModel) else ()
    alone = measure(stages[0].probabilities(rows), classes) if len(stages) > 1 else None
    return measure(saved.probabilities(rows), classes), alone
