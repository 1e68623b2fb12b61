"""tacit admin: who has enrolled, what is known of an owner and forgotten, tokens, who may do what
and did; campaigns that are added, ended and archived while others run; and the version of a
database's tables. It works on the database of campaigns, wherever that is.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from tacit._util.checks import bad
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
_FILE = "sqlite:///"
_MINUTE, _CENTURY = 1 / (24 * 60), 36_525  # in days
HERE = f"{_FILE}campaign.db"
StateFolder = Annotated[Path, typer.Option(help="The campaign's folder, as tacit serve has it.")]
Which = Annotated[
    str, typer.Option(help="Of a database with several campaigns: which, by its file's name.")
]


OwnerKey = Annotated[str, typer.Argument(help="The owner's public key, in hex.")]
Limit = Annotated[
    int | None, typer.Option(help="So many lines at most; without --after the last ones.", min=1)
]
After = Annotated[int | None, typer.Option(help="Only lines after this number.", min=0)]


def owners(
    owner: Annotated[
        str | None, typer.Option(help="All that is known of one: its public key, in hex.")
    ] = None,
    limit: Limit = None,
    after: After = None,
    database: Database = HERE,
    campaign: Which = "",
    *,
    screen: Screen,
) -> None:
    """List who has enrolled and how each stands, or show all that the database holds of one.

    Example:
        tacit admin owners --database sqlite:///running.db
    """
    from tacit.service.coordinator.tables import Excerpt

    records = _records(database, campaign)
    if owner is None:
        listed = records.owners(Excerpt(limit, after))
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
    owner: OwnerKey,
    database: Database = HERE,
    campaign: Which = "",
    *,
    screen: Screen,
) -> None:
    """Leave an owner out and delete what is known of it; what the campaign still needs stays until
    its end, and is named. Counts of reports go down with reports that are deleted.

    Example:
        tacit admin forget OWNER --database sqlite:///running.db
    """
    with open_records(database, campaign) as (records, _):
        done = records.forget(owner)
        if done is None:
            raise ValueError(f"nothing is known of owner {owner!r}: see tacit admin owners")
        records.note_command("forget")
    screen.tell(**done)
    screen.say(f"deleted: {', '.join(done['deleted'])}")
    screen.say(f"stays: {'; '.join(done['stays'])}")
    for name in done["again"]:
        screen.say(f"when the campaign has ended: tacit admin forget '{name}' deletes the rest")


def revoke(
    owner: OwnerKey, database: Database = HERE, campaign: Which = "", *, screen: Screen
) -> None:
    """Leave an owner out from now on, with its reports to questions that are still open; what is
    closed has been told to others, and stays. It cannot enrol again.

    Example:
        tacit admin revoke OWNER --database sqlite:///running.db
    """
    with open_records(database, campaign) as (records, store):
        if not store.revoke(owner):
            raise ValueError(f"nothing is known of owner {owner!r}: see tacit admin owners")
        records.note_command("revoke", owner)
    screen.tell(owner=owner, revoked=True)
    screen.say(f"{owner} is left out from now on, with what it said to open questions")


def log(
    limit: Limit = None,
    after: After = None,
    database: Database = HERE,
    campaign: Which = "",
    *,
    screen: Screen,
) -> None:
    """Print what administrators did, and what they were refused: number, when, who, what, from
    where. With --json it can be kept elsewhere, and with --after what has come since.

    Example:
        tacit admin log --limit 20 --database sqlite:///running.db
    """
    from tacit.service.coordinator.tables import Excerpt

    acts = _records(database, campaign).acts(Excerpt(limit, after))
    screen.tell(acts=[act.__dict__ for act in acts])
    for act in acts:
        parts = (act.who, act.what, act.about, f"from {act.source}" if act.source else "")
        line = f"{_moment(act.at)} {' '.join(filter(None, parts))}: {act.outcome}"
        screen.say(f"{act.number} {line}")


def grant(
    name: Annotated[str, typer.Argument(help="Whom: letters, digits and _.")],
    roles: Annotated[str, typer.Option(help="What it may do: look, steer, admit; with commas.")],
    state: StateFolder = Path("campaign"),
    database: Database = HERE,
    *,
    screen: Screen,
) -> None:
    """Make a key for a new administrator, printed once and kept nowhere; it holds at once, until
    tacit admin dismiss. With STATE/CAMPAIGN it is for one of several campaigns.

    Example:
        tacit admin grant ada --roles look,steer
    """
    from tacit.service.coordinator.keys import add_administrator

    if not any((state / each).exists() for each in ("signing.key", "admin.key")):
        made = "a folder that tacit serve has made: STATE or STATE/CAMPAIGN"
        raise bad("state", made, str(state))
    file, given = state / "administrators", roles.split(",")
    with write_down(database, state, "grant", f"{name}: {', '.join(given)}"):
        key = add_administrator(file, name, given)
    screen.tell(name=name, roles=given, key=key, file=file)
    screen.say(f"{name} may {', '.join(given)}; its key, told once: {key}")


def dismiss(
    name: Annotated[str, typer.Argument(help="Whom, as it was granted.")],
    state: StateFolder = Path("campaign"),
    database: Database = HERE,
    *,
    screen: Screen,
) -> None:
    """Take an administrator's key back, at once. The first one's is replaced by tacit identity.

    Example:
        tacit admin dismiss ada
    """
    from tacit.service.coordinator.keys import dismiss_administrator

    with write_down(database, state, "dismiss", name):
        dismiss_administrator(state / "administrators", name)
    screen.tell(name=name)
    screen.say(f"{name} may do nothing any more")


def database(
    database: Database = HERE,
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

    store = Store(_open(database))
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
    database: Database = HERE,
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
    from tacit.service.coordinator.records import OPERATOR, WITHDRAW, is_listed_token

    if withdraw is not None and withdraw != "all" and not is_listed_token(withdraw):
        raise ValueError(f"withdraw must be a token as it is listed, or all, got {withdraw!r}")
    until = expiry(days)
    with open_records(database, campaign) as (records, store):
        if withdraw is not None:  # before new ones are made, which are told to be used
            gone = records.withdraw_tokens("" if withdraw == "all" else withdraw)
            records.note_command(WITHDRAW, f"{gone} tokens")
        made = store.make_tokens(new, expires=until, maker=OPERATOR)
        if made:
            records.note_command("tokens", f"{new} tokens")
        listed = records.tokens()
    if withdraw is not None:
        screen.say(f"{gone} tokens were withdrawn")
    screen.tell(tokens=listed, new=made)
    for each in listed:
        expires = "" if each["expires"] is None else f", until {_moment(each['expires'])}"
        owner = f" by {each['owner']}" if each["owner"] else ""
        screen.say(f"{each['token']} {each['state']}{owner}{expires}")
    for token in made:
        screen.say(f"new, told once: {token}")


def campaigns(database: Database = HERE, *, screen: Screen) -> None:
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
    from tacit.service.coordinator.server import campaign_files, prepare_all
    from tacit.service.kinds import read_spec

    (slug,) = campaign_files([file])
    if (folder / file.name).exists():
        raise ValueError(f"{folder} has a campaign {slug}: give the file another name")
    spec = read_spec(file)
    prepare_all(spec, bytes(32))  # whatever is wrong with it is said here
    named = {name: path for name in spec.paths if (path := getattr(spec, name)) is not None}
    copies = {}
    for name, path in named.items():  # before anything is copied
        if not path.is_file():
            raise ValueError(f"{name} of {file} must be a file that is there, got {path}")
        if not path.is_relative_to(file.parent) or ".." in path.relative_to(file.parent).parts:
            raise ValueError(f"{name} of {file} must lie beside it, or below: bring {path} there")
        copies[path] = there = folder / path.relative_to(file.parent)
        if there.exists() and there.read_bytes() != path.read_bytes():
            raise ValueError(f"{there} is there, and is another: name {path.name} otherwise")
    for path, there in copies.items():
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, there)
    draft = folder / f".{file.name}"
    shutil.copyfile(file, draft)
    draft.rename(folder / file.name)  # all at once, and last
    screen.tell(campaign=slug, files=[file.name, *(path.name for path in copies)])
    screen.say(f"{slug} is in {folder}: a coordinator that serves it begins it within seconds")


def pause(database: Database = HERE, campaign: Which = "", *, screen: Screen) -> None:
    """Put no new question until tacit admin resume; what was asked may still be answered.

    Example:
        tacit admin pause --campaign trial --database sqlite:///running.db
    """
    _steer(database, campaign, "pause", screen)


def resume(database: Database = HERE, campaign: Which = "", *, screen: Screen) -> None:
    """Go on where it was before the pause; a campaign that is enrolling begins, and does not wait
    for more owners.

    Example:
        tacit admin resume --campaign trial --database sqlite:///running.db
    """
    _steer(database, campaign, "resume", screen)


def _steer(database: str, campaign: str, what: str, screen: Screen) -> None:
    with open_records(database, campaign) as (records, store):
        done = store.pause() if what == "pause" else store.go_on() or store.begin()
        name, state = store.standing().name, store.standing().state
        if not done:
            raise ValueError(f"campaign {name!r} is {state}: there is nothing to {what}")
        records.note_command(what)
    screen.tell(name=name, state=state)
    screen.say(f"{name}: {state}")


def end(database: Database = HERE, campaign: Which = "", *, screen: Screen) -> None:
    """End a campaign: nothing more is asked, and what there is is published by the coordinator that
    serves it. It cannot be taken back.

    Example:
        tacit admin end --campaign trial --database sqlite:///running.db
    """
    with open_records(database, campaign) as (records, store):
        if not store.finish():
            raise ValueError(f"campaign {store.standing().name!r} has ended already")
        records.note_command("end")
        name, state = store.standing().name, store.standing().state
    screen.tell(name=name, state=state)
    screen.say(f"{name}: nothing more is asked; its coordinator publishes what there is")


def archive(
    keep_readers: Annotated[
        bool,
        typer.Option(
            "--keep-readers",
            help="Keep hashes of the keys of those who took part: what is for members stays so.",
        ),
    ] = False,
    database: Database = HERE,
    campaign: Which = "",
    *,
    screen: Screen,
) -> None:
    """Keep of a campaign that has ended its model, its last figures and the log of what was done;
    delete owners, tokens, questions and reports. Page and model stay where they are. What the
    campaign's file leaves to members is for administrators from then on, unless --keep-readers.

    Example:
        tacit admin archive --campaign trial --database sqlite:///running.db
    """
    with open_records(database, campaign) as (records, store):
        standing = store.standing()
        if not records.archive(keep_readers=keep_readers):
            state = standing.state if standing.archive is None else "archived already"
            raise ValueError(
                f"campaign {standing.name!r} is {state}: archive what has ended, once; see tacit "
                "admin end"
            )
        records.note_command("archive", "readers are kept" if keep_readers else "")
    screen.tell(name=standing.name, state="archived")
    left = "hashes of their keys, to read what is for members" if keep_readers else "nothing"
    screen.say(f"{standing.name}: model, figures and log stay; of those who took part {left}")


def _moment(at: float) -> str:
    """A moment, in seconds since 1970; whatever no calendar has stays a number."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{at:.0f} seconds after 1970"


def expiry(days: float | None) -> float | None:
    """The moment after so many days, in seconds since 1970; None: never."""
    if days is None or _MINUTE <= days <= _CENTURY:
        return None if days is None else time.time() + 86400 * days
    if days < _MINUTE:
        raise bad("days", "at least a minute, 0.0007: nobody could come with such tokens", days)
    raise bad("days", f"at most {_CENTURY:,}; leave it out for ever", days)


@contextmanager
def open_records(database: str, campaign: str) -> Iterator[tuple[Any, Any]]:
    """The records and the store of a campaign: what is done with them, and what is written down of
    it, is done as a whole or not at all.
    """
    from tacit.service.coordinator.records import Records

    store = find_campaign(database, campaign)
    with store.transaction():
        yield Records(store), store


@contextmanager
def write_down(database: str, state: Path, what: str, about: str) -> Iterator[None]:
    """Something that is done to a folder of keys, written down in the log of the campaigns that it
    is for: of the one that the folder is of, else of all. A file is in no transaction, so it is
    written down before, as begun, and then what became of it: whoever is killed in between leaves
    no act without a line. Where there is no database yet, there is no log yet.
    """
    from tacit.service.coordinator.records import BEGUN, DONE, REFUSED, Records
    from tacit.service.coordinator.store import Store

    if not _is_there(database):
        yield
        return
    opened = _open(database)
    slugs = list(opened.campaigns().values())
    concerned = [state.name] if state.name in slugs else slugs
    logs = [Records(Store(opened, slug)) for slug in concerned]
    begun = [(each, each.note_command(what, about, BEGUN)) for each in logs]
    try:
        yield
    except Exception:
        for each, number in begun:
            each.settle(number, REFUSED)
        raise
    for each, number in begun:
        each.settle(number, DONE)


def _is_there(database: str) -> bool:
    """Whether a database holds campaigns of this release."""
    from sqlalchemy import inspect

    if _is_missing(database):
        return False
    with _open(database).snapshot() as connection:
        return bool(inspect(connection).has_table("storage"))


def _records(database: str, campaign: str = "") -> Any:
    """The records of a campaign in a database."""
    from tacit.service.coordinator.records import Records

    return Records(find_campaign(database, campaign))


def _is_missing(database: str) -> bool:
    """Whether its file is not there: none is made by looking."""
    return database.startswith(_FILE) and not Path(database.removeprefix(_FILE)).exists()


def _open(database: str) -> Any:
    """A database, until the command ends."""
    from tacit.service.coordinator import sql

    if _is_missing(database):
        raise ValueError(f"there is no database {database}: tacit serve makes it")
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


_LOOKED_AFTER = (owners, revoke, forget, tokens, log, grant, dismiss, campaigns, pause, resume)
for _each in (*_LOOKED_AFTER, end, archive, database):
    add(app, _each)
add(app, add_campaign, "add")
