"""tacit audit: the mechanisms, checked from outside."""

import json
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import track
from rich.table import Table

from tacit.audit.mechanisms import AuditRow, audit_mechanisms
from tacit.cli.options import Json, Seed
from tacit.mechanisms.choose import PRIVATE
from tacit.streams import seeded


def audit(
    epsilon: Annotated[list[float] | None, typer.Option(help="Repeat for several; default 0.5, 1, 3, 5.")] = None,
    dim: Annotated[list[int] | None, typer.Option(help="Repeat for several; default 1 and 4.", min=1)] = None,
    reports: Annotated[int, typer.Option(help="Reports drawn per input.", min=10_000)] = 200_000,
    seed: Seed = 1,
    as_json: Json = False,
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
