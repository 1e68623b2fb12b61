"""tacit demo: true against estimated means of a population."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from tacit.cli.options import Json, Seed
from tacit.experiments.means import DIM, estimate_means
from tacit.report.means import draw_means


def demo(
    owners: Annotated[int, typer.Option(help="How many owners take part.", min=100)] = 50_000,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of each owner.")] = 1.0,
    seed: Seed = 1,
    out: Annotated[Path, typer.Option(help="Where to draw the picture.")] = Path("out/demo.png"),
    as_json: Json = False,
) -> None:
    """Perturb a population of owners and show true against estimated means."""
    truth, rows, why = estimate_means(owners, epsilon, seed)
    if as_json:
        figures = [
            {"mechanism": row.name, "bytes": row.bytes_per_owner, "error": row.error, "predicted": row.predicted}
            for row in rows
        ]
        typer.echo(json.dumps({"owners": owners, "epsilon": epsilon, "seed": seed, "rows": figures}))
        return
    console = Console()
    title = f"{owners:,} owners, {DIM} coordinates, epsilon {epsilon:g} each"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for heading in ("mechanism", "bytes", "first mean: true → estimate", "error", "predicted"):
        table.add_column(heading, justify="left" if heading == "mechanism" else "right", no_wrap=True)
    for row in rows:
        first = f"{truth[0]:.3f} → {row.mean[0]:.3f} ± {2 * row.stderr[0]:.3f}"
        table.add_row(row.name, str(row.bytes_per_owner), first, f"{row.error:.3f}", f"{row.predicted:.3f}")
    console.print(table)
    console.print("bytes: of one owner's report. error: distance of estimated and true means;")
    console.print("predicted: the same by formula, known before anything is collected.\n")
    console.print(f"Chosen by formula: {why}.\n")
    console.print(f"Guarantee: unit owner, epsilon {epsilon:g} between any two shares, against all who see a report.")
    console.print("This run is seeded: reproducible, not private. Releases use tacit.secure(), which has no seed.")
    try:
        draw_means(truth, rows, f"What {owners:,} owners tell at epsilon {epsilon:g}: true means and estimates", out)
    except ModuleNotFoundError:
        console.print("No picture: matplotlib is missing; pip install 'tacit[plot]' adds it.", markup=False)
    else:
        console.print(f"Picture: {out}")
