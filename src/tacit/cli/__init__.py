"""The command line; one file per command."""

import sys
from typing import Annotated

import typer

import tacit
from tacit.cli.audit import audit
from tacit.cli.demo import demo
from tacit.cli.helper import helper
from tacit.cli.join import join
from tacit.cli.ledger import app as ledger
from tacit.cli.reproduce import reproduce
from tacit.cli.serve import serve
from tacit.owner.ledger import LedgerError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Many owners train one model; each speaks once, in noise it can prove.",
)
for command in (demo, audit, reproduce, serve, helper, join):
    app.command()(command)
app.add_typer(ledger, name="ledger")


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


def main() -> None:
    """Run a command; a bad parameter is one line, not a traceback."""
    try:
        app()
    except (ValueError, LedgerError, ModuleNotFoundError) as problem:
        typer.echo(f"tacit: {problem}", err=True)
        sys.exit(2)
