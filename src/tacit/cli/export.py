"""tacit export: a saved model for programs that are not tacit, or a card for people."""

from pathlib import Path
from typing import Annotated

import typer

from tacit._util.checks import one_of
from tacit.cli._options import check_file, optional_key
from tacit.cli._output import Screen, writable

_ENDINGS = (".onnx", ".json", ".md", ".html")


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
    campaign_key: Annotated[
        str | None,
        typer.Option(help="Key (hex) of the campaign that must have signed the model."),
    ] = None,
    *,
    screen: Screen,
) -> None:
    """Write a saved model for programs that are not tacit (ONNX from raw columns to
    probabilities, JSON of linear models and sums of tables), or a card for people: guarantee,
    columns, influence of one report, what was measured, what it is meant for.

    Example:
        tacit export model.tacit --out model.onnx
    """
    ending = one_of("the ending of --out", out.suffix, _ENDINGS)
    check_file(model, "a model that tacit fit wrote")
    if test is not None:
        check_file(test)
    writable("--out", out)
    from tacit.cli.predict import read_saved
    from tacit.estimators.persistence import SavedModel

    saved, signer = read_saved(model, optional_key(campaign_key))
    if not isinstance(saved, SavedModel):
        raise ValueError(f"{model} is a peer's own model: export the one that is served")
    if ending == ".onnx":
        from tacit.estimators.onnx_export import write_onnx

        write_onnx(saved, out)
    elif ending == ".json":
        from tacit.estimators.travel import json_form

        out.write_text(json_form(saved), encoding="utf-8")
    else:
        from tacit.estimators.travel import CardFacts, card_of
        from tacit.render.pages import write_markdown, write_page

        measured = () if test is None else _measure(saved, test, label)
        card = card_of(saved, CardFacts(use, measured))
        (write_page if ending == ".html" else write_markdown)(card, out)
    screen.tell(out=out, kind=saved.kind, signed_by=signer)
    screen.say(f"{saved.kind}: {out}")


def _measure(saved: object, test: Path, label: str | None) -> tuple[tuple[str, str], ...]:
    """Accuracy on rows of a file, with its error, and how many they are."""
    from tacit.data.table_file import TableFile, read_labelled
    from tacit.estimators.measures import measure
    from tacit.estimators.persistence import SavedModel

    if not isinstance(saved, SavedModel):
        raise TypeError("a saved model is needed")
    named = label or saved.label
    if not named:
        raise ValueError("--label is missing: the model does not know the name of its column")
    table, classes = read_labelled(TableFile.open(test), named, saved.schema)
    found = measure(saved.probabilities(saved.schema.encode(table).X), classes)
    return (("rows", f"{found.rows:,}"), *((each.name, str(each)) for each in found.figures))
