"""The command line: `tacit demo`, `tacit audit`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

import tacit
from tacit.audit.mechanisms import AuditRow, audit_mechanisms
from tacit.experiments.means import DIM, estimate_means
from tacit.mechanisms.choose import PRIVATE
from tacit.report.means import draw_means
from tacit.streams import seeded

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Many owners train one model; each speaks once, in noise it can prove.",
)

_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
_Seed = Annotated[int, typer.Option(help="Seed of the simulation: reproducible, not private.", min=0)]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"tacit {tacit.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of every command."""


@app.command()
def demo(
    owners: Annotated[int, typer.Option(help="How many owners take part.", min=100)] = 50_000,
    epsilon: Annotated[float, typer.Option(help="Privacy budget of each owner.")] = 1.0,
    seed: _Seed = 1,
    out: Annotated[Path, typer.Option(help="Where to draw the picture.")] = Path("out/demo.png"),
    as_json: _Json = False,
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


@app.command()
def audit(
    epsilon: Annotated[list[float] | None, typer.Option(help="Repeat for several; default 0.5, 1, 3, 5.")] = None,
    dim: Annotated[list[int] | None, typer.Option(help="Repeat for several; default 1 and 4.", min=1)] = None,
    reports: Annotated[int, typer.Option(help="Reports drawn per input.", min=10_000)] = 200_000,
    seed: _Seed = 1,
    as_json: _Json = False,
) -> None:
    """Check the mechanisms from outside: exact tables, proven lower bounds of epsilon, bias and variance.

    Exit status 1 if any of them fails.
    """
    epsilons, dims = epsilon or [0.5, 1.0, 3.0, 5.0], dim or [1, 4]
    console = Console(stderr=as_json)
    work = audit_mechanisms(epsilons, dims, reports, seeded(seed))
    count = len(PRIVATE) * len(epsilons) * len(dims)
    rows = list(track(work, "auditing", total=count, console=console, transient=True))
    if as_json:
        typer.echo(json.dumps([_figures(row) for row in rows]))
    else:
        console.print(_audit_table(rows))
        console.print("exact: ln of the worst probability ratio, from whole numbers (small tables enumerated whole).")
        console.print("proven: what samples show epsilon to be at least, with 99.9 % confidence.")
        console.print(f"bias, variance: standard errors from the claim; more than {rows[0].found.limit_z:.1f} fails.")
    if not all(row.sound for row in rows):
        raise typer.Exit(1)


def _figures(row: AuditRow) -> dict[str, object]:
    return {
        "mechanism": row.mechanism,
        "dim": row.dim,
        "claimed": row.epsilon,
        "exact": row.spent,
        "proven": row.found.measured,
        "bias_z": row.found.bias_z,
        "variance_z": row.found.variance_z,
        "sound": row.sound,
    }


def _audit_table(rows: list[AuditRow]) -> Table:
    table = Table(title="Epsilon: claimed, exact, and proven from samples", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("mechanism", "dim", "claimed", "exact", "proven", "bias", "variance", "verdict"):
        table.add_column(heading, justify="left" if heading == "mechanism" else "right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.mechanism,
            str(row.dim),
            f"{row.epsilon:g}",
            f"{row.spent:.6f}",
            f"{row.found.measured:.3f}",
            f"{row.found.bias_z:.1f}",
            f"{row.found.variance_z:.1f}",
            "sound" if row.sound else "[bold red]FAILS[/]",
        )
    return table


def main() -> None:
    """Run a command; a bad parameter is one line, not a traceback."""
    try:
        app()
    except ValueError as problem:
        typer.echo(f"tacit: {problem}", err=True)
        sys.exit(2)
