"""tacit admin: who has enrolled, what is known of an owner and forgotten, tokens, who may do what
and did; campaigns that are added, ended and archived while others run; and the version of a
database's tables. It works on the database of campaigns, wherever that is.
"""

import os
import secrets
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from tacit.cli import add
from tacit.cli._options import open_vault
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
Which = Annotated[
    str, typer.Option(help="Of a database with several campaigns: which, by its file's name.")
]


def owners(
    owner: Annotated[
        str | None, typer.Option(help="All that is known of one: its public key, in hex.")
    ] = None,
    database: Database = _HERE,
    campaign: Which = "",
    *,
    screen: Screen,
) -> None:
    """List who has enrolled and how each stands, or show all that the database holds of one.

    Example:
        tacit admin owners --database sqlite:///running.db
    """
    records = _records(database, campaign)
    if owner is None:
        listed = records.owners()
        screen.tell(owners=listed)
        for each in listed:
            name = f" {each['name']}" if each["name"] else ""
            screen.say(f"{each['owner']}{name}: {each['state']}, answered {each['answered']}")
        return
    known = records.describe_owner(owner)
    if known is None:
        raise ValueError(f"nothing is known of owner {owner!r}: see tacit admin owners")
    screen.tell(owners=[known])
    for name, value in known.items():
        screen.say(f"{name.replace('_', ' ')}: {value}")


def forget(
    owner: Annotated[str, typer.Argument(help="The owner's public key, in hex.")],
    database: Database = _HERE,
    campaign: Which = "",
    *,
    screen: Screen,
) -> None:
    """Leave an owner out and delete what is known of it; what the campaign still needs stays until
    its end, and is named. Counts of reports go down with reports that are deleted.

    Example:
        tacit admin forget OWNER --database sqlite:///running.db
    """
    from tacit.service.coordinator.records import Act

    records = _records(database, campaign)
    done = records.forget(owner)
    if done is None:
        raise ValueError(f"nothing is known of owner {owner!r}: see tacit admin owners")
    records.note(Act("operator", "forget", "", "command line", "200"))
    screen.tell(**done)
    screen.say(f"deleted: {', '.join(done['deleted'])}")
    screen.say(f"stays: {'; '.join(done['stays'])}")


def log(database: Database = _HERE, campaign: Which = "", *, screen: Screen) -> None:
    """Print what administrators did, and what they were refused: when, who, what, from where. With
    --json it can be kept elsewhere.

    Example:
        tacit admin log --database sqlite:///running.db
    """
    acts = _records(database, campaign).acts()
    screen.tell(acts=[act.__dict__ for act in acts])
    for act in acts:
        screen.say(
            f"{_moment(act.at)} {act.who} {act.what} {act.about} from {act.source}: {act.outcome}"
        )


def grant(
    name: Annotated[str, typer.Argument(help="Whom: letters, digits and _.")],
    roles: Annotated[str, typer.Option(help="What it may do: look, steer, admit; with commas.")],
    state: Annotated[
        Path, typer.Option(help="The campaign's folder, as tacit serve has it.")
    ] = Path("campaign"),
    *,
    screen: Screen,
) -> None:
    """Make a key for a new administrator, printed once and kept nowhere; it holds at once. To take
    it back delete the line in STATE/administrators. With STATE/CAMPAIGN it is for one of several
    campaigns.

    Example:
        tacit admin grant ada --roles look,steer
    """
    from tacit.service.coordinator.keys import add_administrator

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
    from tacit.service.coordinator import tables
    from tacit.service.coordinator.store import Store

    store = Store(database)
    with store.transaction() as connection:
        if to is not None:
            tables.downgrade(connection, to)
        now, known = tables.version(connection), tables.versions()
    screen.tell(version=now, versions=[tables.BEFORE, *known])
    screen.say(f"tables of version {now}; this release knows {', '.join(known)}")


def tokens(
    new: Annotated[int, typer.Option(help="Make so many, and print them.", min=0)] = 0,
    days: Annotated[
        float | None, typer.Option(help="New ones expire after so many days.", min=0)
    ] = None,
    withdraw: Annotated[
        str | None,
        typer.Option(help="Withdraw unused ones: how a token is listed, or all."),
    ] = None,
    database: Database = _HERE,
    campaign: Which = "",
    *,
    screen: Screen,
) -> None:
    """List tokens: when each was made, until when it holds, and who came with it; make new ones, or
    withdraw those that nobody has used. Tokens themselves are kept nowhere: a list has the
    beginning of their hashes.

    Example:
        tacit admin tokens --new 5 --days 30 --database sqlite:///running.db
    """
    from tacit.service.coordinator.records import Act

    records, store = _records(database, campaign), find_campaign(database, campaign)
    made = [secrets.token_urlsafe(24) for _ in range(new)]
    if made:
        until = None if days is None else time.time() + 86400 * days
        store.add_tokens(made, expires=until, maker="operator")
        records.note(Act("operator", "tokens", f"{new} tokens", "command line", "200"))
    if withdraw is not None:
        gone = records.withdraw_tokens("" if withdraw == "all" else withdraw)
        records.note(Act("operator", "withdraw", f"{gone} tokens", "command line", "200"))
        screen.say(f"{gone} tokens were withdrawn")
    listed = records.tokens()
    screen.tell(tokens=listed, new=made)
    for each in listed:
        expires = "" if each["expires"] is None else f", until {_moment(each['expires'])}"
        owner = f" by {each['owner']}" if each["owner"] else ""
        screen.say(f"{each['token']} {each['state']}{owner}{expires}")
    for token in made:
        screen.say(f"new, told once: {token}")


def campaigns(database: Database = _HERE, *, screen: Screen) -> None:
    """List the campaigns of a database, and how each stands.

    Example:
        tacit admin campaigns --database sqlite:///running.db
    """
    find_campaign(database, any_of_them=True)
    listed = [
        {
            "campaign": slug,
            "name": (now := find_campaign(database, slug).standing()).name,
            "state": "archived" if now.archive is not None else now.state,
        }
        for slug in _open(database).campaigns().values()
    ]
    screen.tell(campaigns=listed)
    for each in listed:
        screen.say(f"{each['campaign'] or '(the only one)'}: {each['name']}, {each['state']}")


def add_campaign(
    file: Annotated[Path, typer.Argument(help="The campaign file (TOML).", exists=True)],
    folder: Annotated[
        Path, typer.Argument(help="The folder that tacit serve has.", exists=True, file_okay=False)
    ],
    *,
    screen: Screen,
) -> None:
    """Check a campaign file, and put it with the tables that it names into the folder that a
    coordinator serves; within seconds it is served, and others go on meanwhile.

    Example:
        tacit admin add trial.toml campaigns
    """
    from tacit.service.coordinator.server import campaign_files
    from tacit.service.kinds import read_spec

    (slug,) = campaign_files([file])
    if slug in campaign_files([folder]):
        raise ValueError(f"{folder} has a campaign {slug}: give the file another name")
    spec = read_spec(file)
    spec.prepare(bytes(32))  # whatever is wrong with it is said here
    beside = [path for name in spec.paths if (path := getattr(spec, name)) is not None]
    for path in beside:
        there = folder / path.relative_to(file.parent)
        if there.exists() and there.read_bytes() != path.read_bytes():
            raise ValueError(f"{there} is there, and is another: name {path.name} otherwise")
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, there)
    draft = folder / f".{file.name}"
    shutil.copyfile(file, draft)
    draft.rename(folder / file.name)  # all at once, and last
    screen.tell(campaign=slug, files=[file.name, *(path.name for path in beside)])
    screen.say(f"{slug} is in {folder}: a coordinator that serves it begins it within seconds")


def end(database: Database = _HERE, campaign: Which = "", *, screen: Screen) -> None:
    """End a campaign: nothing more is asked, and what there is is published by the coordinator that
    serves it. It cannot be taken back.

    Example:
        tacit admin end --campaign trial --database sqlite:///running.db
    """
    from tacit.service.coordinator.records import Act

    store = find_campaign(database, campaign)
    if not store.finish():
        raise ValueError(f"campaign {store.standing().name!r} has ended already")
    _records(database, campaign).note(Act("operator", "end", "", "command line", "200"))
    name, state = store.standing().name, store.standing().state
    screen.tell(name=name, state=state)
    screen.say(f"{name}: nothing more is asked; its coordinator publishes what there is")


def archive(database: Database = _HERE, campaign: Which = "", *, screen: Screen) -> None:
    """Keep of a campaign that has ended its model, its last figures and the log of what was done;
    delete owners, tokens, questions and reports. Page and model stay where they are.

    Example:
        tacit admin archive --campaign trial --database sqlite:///running.db
    """
    from tacit.service.coordinator.records import Act

    records, store = _records(database, campaign), find_campaign(database, campaign)
    standing = store.standing()
    if not records.archive():
        raise ValueError(
            f"campaign {standing.name!r} is {standing.state}: archive what has ended, once; see "
            "tacit admin end"
        )
    records.note(Act("operator", "archive", "", "command line", "200"))
    screen.tell(name=standing.name, state="archived")
    screen.say(f"{standing.name}: model, figures and log stay; of those who took part nothing")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _records(database: str, campaign: str = "") -> Any:
    """The records of a campaign in a database."""
    from tacit.service.coordinator.records import Records

    return Records(find_campaign(database, campaign))


def _open(database: str) -> Any:
    """A database, until the command ends."""
    from tacit.service.coordinator import sql

    opened = sql.Database(database, open_vault(os.environ.get("TACIT_STORAGE_KEY")))
    context = click.get_current_context(silent=True)
    if context is not None:
        context.call_on_close(opened.close)
    return opened


def find_campaign(database: str, campaign: str = "", *, any_of_them: bool = False) -> Any:
    """The store of a campaign in a database: the one of this name, else the only one. The key of an
    encrypted database is in TACIT_STORAGE_KEY.
    """
    from sqlalchemy import inspect

    from tacit.service.coordinator.store import Store

    store = Store(_open(database), campaign)
    with store.snapshot() as connection:
        if not inspect(connection).has_table("storage"):
            raise ValueError(
                "the database holds no campaign of this release: name another --database, or "
                "let tacit serve bring it here"
            )
        store.storage.check(connection)
    if not any_of_them:
        try:
            _ = store.id
        except RuntimeError as problem:
            raise ValueError(f"campaign: {problem}") from problem
    return store


for _each in (owners, forget, tokens, log, grant, campaigns, end, archive, database):
    add(app, _each)
add(app, add_campaign, "add")
