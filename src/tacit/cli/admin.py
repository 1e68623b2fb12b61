"""tacit admin: who has enrolled, what is known of an owner and forgotten, who may do what and did,
and the version of a database's tables. It works on the database of a campaign, wherever that is.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli import add
from tacit.cli._output import Screen

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Look after a campaign: owners, what is known of them, administrators, the database.",
)
Database = Annotated[
    str, typer.Option(help="sqlite:///FILE or postgresql://...", envvar="TACIT_DATABASE")
]
_HERE = "sqlite:///campaign.db"


def owners(
    owner: Annotated[
        str | None, typer.Option(help="All that is known of one: its public key, in hex.")
    ] = None,
    database: Database = _HERE,
    *,
    screen: Screen,
) -> None:
    """List who has enrolled and how each stands, or show all that the database holds of one.

    Example:
        tacit admin owners --database sqlite:///running.db
    """
    records = _records(database)
    if owner is None:
        listed = records.owners()
        screen.tell(owners=listed)
        for each in listed:
            name = f" {each['name']}" if each["name"] else ""
            screen.say(f"{each['owner']}{name}: {each['state']}, answered {each['answered']}")
        return
    known = records.known(owner)
    if known is None:
        raise ValueError(f"nothing is known of owner {owner!r}: see tacit admin owners")
    screen.tell(owners=[known])
    for name, value in known.items():
        screen.say(f"{name.replace('_', ' ')}: {value}")


def forget(
    owner: Annotated[str, typer.Argument(help="The owner's public key, in hex.")],
    database: Database = _HERE,
    *,
    screen: Screen,
) -> None:
    """Leave an owner out and delete what is known of it; what the campaign still needs stays until
    its end, and is named. Counts of reports go down with reports that are deleted.

    Example:
        tacit admin forget OWNER --database sqlite:///running.db
    """
    from tacit.service.coordinator.records import Act

    records = _records(database)
    done = records.forget(owner)
    if done is None:
        raise ValueError(f"nothing is known of owner {owner!r}: see tacit admin owners")
    records.note(Act("operator", "forget", "", "command line", "200"))
    screen.tell(**done)
    screen.say(f"deleted: {', '.join(done['deleted'])}")
    screen.say(f"stays: {'; '.join(done['stays'])}")


def log(database: Database = _HERE, *, screen: Screen) -> None:
    """Print what administrators did, and what they were refused: when, who, what, from where.

    Example:
        tacit admin log --database sqlite:///running.db
    """
    acts = _records(database).acts()
    screen.tell(acts=[act.__dict__ for act in acts])
    for act in acts:
        at = datetime.fromtimestamp(act.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        screen.say(f"{at} {act.who} {act.what} {act.about} from {act.source}: {act.outcome}")


def grant(
    name: Annotated[str, typer.Argument(help="Whom: letters, digits and _.")],
    roles: Annotated[str, typer.Option(help="What it may do: look, steer, admit; with commas.")],
    state: Annotated[
        Path, typer.Option(help="The campaign's folder, as tacit serve has it.")
    ] = Path("campaign"),
    *,
    screen: Screen,
) -> None:
    """Make a key for a new administrator, printed once and kept nowhere; tacit serve knows it when
    it is started again. To take it back delete the line in STATE/administrators.

    Example:
        tacit admin grant ada --roles look,steer
    """
    from tacit.service.coordinator.records import add_administrator

    file = state / "administrators"
    key = add_administrator(file, name, roles.split(","))
    screen.tell(name=name, roles=roles.split(","), key=key, file=file)
    screen.say(f"{name} may {roles.replace(',', ', ')}; its key, told once: {key}")


def database(
    database: Database = _HERE,
    to: Annotated[
        str | None, typer.Option(help="Take the tables back to this version; a copy first!")
    ] = None,
    *,
    screen: Screen,
) -> None:
    """Say which version a database's tables have, or take them back for an earlier release. The
    way here is taken by tacit serve itself.

    Example:
        tacit admin database --database sqlite:///running.db
    """
    from tacit.service.coordinator import migrations
    from tacit.service.coordinator.store import Store

    store = Store(database)
    with store.transaction() as connection:
        if to is not None:
            migrations.downgrade(connection, to)
        now, known = migrations.version(connection), migrations.versions()
    screen.tell(version=now, versions=[migrations.BEFORE, *known])
    screen.say(f"tables of version {now}; this release knows {', '.join(known)}")


def _records(database: str) -> Any:
    """The records of a database that holds a campaign."""
    from tacit.service.coordinator.records import Records

    return Records(find_campaign(database))


def find_campaign(database: str) -> Any:
    """The store of a database that holds a campaign."""
    from sqlalchemy import inspect

    from tacit.service.coordinator.store import Store

    store = Store(database)
    with store.reading() as connection:
        if not inspect(connection).has_table("acts"):
            raise ValueError(
                "the database holds no campaign of this release: name another --database, or "
                "let tacit serve bring it here"
            )
    return store


for _each in (owners, forget, log, grant, database):
    add(app, _each)
