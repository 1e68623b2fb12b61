"""tacit ledger: what an owner has released, and what is left."""

import json
from datetime import UTC, datetime
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tacit.cli.options import Json
from tacit.owner.entry import Entry
from tacit.owner.ledger import Ledger
from tacit.owner.policy import Policy

app = typer.Typer(no_args_is_help=True, help="What an owner has released, to whom, for how much, and what is left.")
File = Annotated[Path, typer.Argument(help="The ledger's file.", exists=True, dir_okay=False)]
Mark = Annotated[Path | None, typer.Option(help="The ledger's mark, where it is not in the user's state folder.")]


@app.command()
def show(
    file: File,
    policy: Annotated[Path | None, typer.Option(help="The owner's policy, to show what is left.", exists=True)] = None,
    mark: Mark = None,
    as_json: Json = False,
) -> None:
    """Print every release, after checking that no line was changed and that the file is not an old copy."""
    entries = Ledger(file, mark).entries()
    limit = None if policy is None else Policy.read(policy)
    if as_json:
        typer.echo(json.dumps({"releases": [_figures(entry) for entry in entries], "owners": _owners(entries, limit)}))
        return
    console = Console()
    console.print(_table(entries))
    for owner, figures in _owners(entries, limit).items():
        left = "" if limit is None else f", {figures['left']} left, {figures['releases_left']} more releases allowed"
        console.print(f"{escape(owner)}: epsilon {figures['spent']} spent in {figures['releases']} releases{left}")
    if limit is None:
        console.print("[dim]--policy FILE also shows what is left[/]")


@app.command()
def adopt(file: File, mark: Mark = None) -> None:
    """Take a ledger that was moved here for the latest one, and begin a new mark for it.

    Only for a move on purpose: adopting an old copy gives away what was spent since.
    """
    ledger = Ledger.adopted(file, mark)
    typer.echo(f"{file}: adopted with {len(ledger.entries())} releases; its mark is {ledger.mark}")


def rounded_up(cost: Fraction) -> str:
    """A budget in at most six digits, never less than it is.

    >>> rounded_up(Fraction(1, 3)), rounded_up(Fraction(5, 2))
    ('0.333334', '2.5')
    """
    context = Context(prec=6, rounding=ROUND_CEILING)
    return f"{context.divide(context.create_decimal(cost.numerator), cost.denominator).normalize(context):f}"


def _owners(entries: list[Entry], limit: Policy | None) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for owner in dict.fromkeys(entry.owner for entry in entries):
        costs = [entry.cost for entry in entries if entry.owner == owner]
        spent = sum(costs, Fraction(0))
        found[owner] = {"spent": rounded_up(spent), "releases": len(costs)}
        if limit is not None:
            left = max(limit.epsilon_total - spent, Fraction(0))
            found[owner]["left"] = f"{float(left):.6g}"
            found[owner]["releases_left"] = max(limit.releases - len(costs), 0)
    return found


def _figures(entry: Entry) -> dict[str, object]:
    return {
        "owner": entry.owner,
        "at": _time(entry),
        "campaign": entry.campaign,
        "question": entry.number,
        "digest": entry.digest.hex(),
        "epsilon": entry.epsilon,
        "unit": entry.unit,
        "what": entry.what,
        "how": entry.how,
        "bytes": entry.report.hex(),
    }


def _table(entries: list[Entry]) -> Table:
    table = Table(title=f"{len(entries)} releases", title_justify="left", box=SIMPLE_HEAD)
    for heading in ("when", "owner", "to campaign", "question", "what", "how", "hides", "epsilon", "bytes"):
        table.add_column(heading, justify="right" if heading in ("question", "epsilon", "bytes") else "left")
    for entry in entries:
        question, size = str(entry.number), str(len(entry.report))
        cost = rounded_up(entry.cost)
        who, where = escape(entry.owner), escape(entry.campaign)
        table.add_row(_time(entry), who, where, question, entry.what, entry.how, entry.unit, cost, size)
    return table


def _time(entry: Entry) -> str:
    return datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
