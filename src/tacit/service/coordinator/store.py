"""The state of a campaign in a database: SQLite (embedded) or PostgreSQL, by the same statements.

Every change is one transaction, so a coordinator killed at any moment finds a state that was meant.
What must not happen twice is held by the database itself, not by the program: an owner's `asked` is
set once, a question has one number, a report one place. Several workers may share a database; a
report and the closing of its question exclude each other by a lock on the question (SQLite: there
is one writer).

Times are the campaign's own: seconds that some worker drove it, by a clock that never jumps. Clocks
that are put forward or back, and hours in which nobody could answer, neither end a question early
nor keep it open.
"""

import secrets
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Table,
    case,
    delete,
    false,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from tacit.service.coordinator import sql, tables
from tacit.service.coordinator.sql import Database
from tacit.service.coordinator.tables import (
    ADDING,
    COUNTED,
    ENDED,
    ENDING,
    ENROLLING,
    OF_OWNERS,
    OPEN,
    PAUSED,
    RUNNING,
    NoRoomError,
    OverError,
    Question,
    Standing,
    StoreError,
    acts,
    campaign,
    invitations,
    outcomes,
    owners,
    questions,
    reports,
    tokens,
)
from tacit.service.protocol.succession import MOST

COORDINATOR = "coordinator"  # who is said to begin and end a campaign
BEGIN, END, REKEY = "begin", "end", "rekey"
MOST_TOKENS = 4_000_000  # of a campaign that nobody has used
ROOT = "/campaigns/"  # what addresses of campaigns begin with that share one


def prepare(database: Database) -> None:
    """Make the tables, or bring them to this release."""
    with database.transaction() as connection:
        _lock(connection)
        tables.upgrade(connection)
        database.storage.settle(connection)
    database.scrub()


def _lock(connection: Connection) -> None:
    """Until the end of the transaction no other worker begins anything; however long tables take
    that are brought to this release, others wait.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
        # the number is "tacit" in hexadecimal digits
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7461636974)")


class Store:
    """One campaign in a database: that of a `slug`; without one, the only one there is."""

    def __init__(self, database: str | Database, slug: str = "") -> None:
        self._database = Database(database) if isinstance(database, str) else database
        self.slug = slug
        self._id: int | None = None
        self._key: bytes | None = None  # of the worker that signs what is written here

    @property
    def id(self) -> int:
        """The campaign's number in the database."""
        if self._id is None:
            known = self._database.campaigns()
            mine = [each for each, slug in known.items() if self.slug in ("", slug)]
            if len(mine) != 1:
                there = ", ".join(slug for slug in known.values() if slug) or "none by name"
                raise StoreError(f"name a campaign of the database: it has {there}")
            (self._id,) = mine
        return self._id

    @property
    def place(self) -> str:
        """What its addresses begin with; nothing, where it is served alone."""
        slug = self._database.campaigns()[self.id]
        return f"{ROOT}{slug}" if slug else ""

    @property
    def storage(self) -> sql.Storage:
        """How what deserves it lies in the database."""
        return self._database.storage

    def mine(self, table: Table) -> ColumnElement[bool]:
        """Rows of this campaign."""
        return (campaign.c.id if table is campaign else table.c.campaign) == self.id

    def transaction(self) -> AbstractContextManager[Connection]:
        """One transaction: all of it, or nothing."""
        return self._database.transaction()

    def snapshot(self) -> AbstractContextManager[Connection]:
        """One transaction that only reads: in SQLite it waits for no writer."""
        return self._database.snapshot()

    def database_figures(self) -> dict[tuple[str, str, str], dict[str, float]]:
        """How the database fares, for operators."""
        return self._database.figures()

    def scrub(self) -> None:
        """Have nothing on disk that was deleted or written over."""
        self._database.scrub()

    def close(self) -> None:
        self._database.close()

    # The campaign
    # ------------------------------------------------------------------------------------

    def create_or_resume(self, name: str, terms: bytes, key: bytes) -> None:
        """Begin the campaign, or take it up again; other terms or another public key than it was
        begun with are refused. A campaign is its key; no two of a database have one name. What is
        signed is written from here on for as long as nobody has replaced the key.
        """
        self._key = key
        with self.transaction() as connection:
            _lock(connection)
            tables.upgrade(connection)
            self.storage.settle(connection)
            known = connection.execute(select(campaign).where(campaign.c.key == key)).first()
            if known is None:
                known = connection.execute(select(campaign).where(self._is_taken(name))).first()
                if known is not None and self.slug and known.slug not in ("", self.slug):
                    raise StoreError(f"campaign {known.slug} has the name {name!r}: give another")
            if known is None:
                begun = {"name": name, "state": ENROLLING, "terms": terms, "key": key}
                added = insert(campaign).values(slug=self.slug, **begun).returning(campaign.c.id)
                self._id = connection.execute(added).scalar_one()
                return
            self._check(known, name, terms, key)
            proven = known.key or tables.verify_key(connection, known.id, key)
            values = {"key": proven, "slug": self.slug or known.slug}
            connection.execute(update(campaign).where(campaign.c.id == known.id).values(**values))
            self._id = known.id
        self.scrub()

    def hold_key(self, connection: Connection) -> None:
        """Until the end of the transaction nobody replaces the key that this worker signs with;
        `StoreError`: somebody has, and nobody would listen to it any more.
        """
        held = select(campaign.c.key).where(self.mine(campaign)).with_for_update(read=True)
        if self._key not in (None, connection.execute(held).scalar_one()):
            raise StoreError("the campaign's key was replaced: stop this worker, and start it anew")

    def _is_taken(self, name: str) -> ColumnElement[bool]:
        """Campaigns that a new one of this name cannot be beside; one of before databases belonged
        to a key is alone in its own.
        """
        here = campaign.c.slug == self.slug if self.slug else false()
        return here | (campaign.c.name == name) | (func.length(campaign.c.key) == 0)

    @staticmethod
    def _check(known: Row[Any], name: str, terms: bytes, key: bytes) -> None:
        """Refuse to take a campaign up as another."""
        if (known.name, known.terms) != (name, terms):
            raise StoreError(
                f"the database holds campaign {known.name!r} on other terms; give another "
                "database, or those terms"
            )
        if known.key and known.key != key:
            raise StoreError(
                f"the database holds campaign {known.name!r} of the key {known.key.hex()}, "
                f"and the state folder has {key.hex()}: give the --state that it was begun "
                "with; owners would refuse every question of another key"
            )

    def standing(self) -> Standing:
        with self.snapshot() as connection:
            row = connection.execute(select(campaign).where(self.mine(campaign))).one()
        return Standing(
            name=row.name,
            state=row.state,
            worked=row.worked,
            ended=row.ended,
            terms=row.terms,
            key=row.key,
            model=row.model,
            progress=row.progress,
            archive=row.archive,
        )

    def begin(self) -> bool:
        """Enough have enrolled, or nobody waits for more; False: it is not enrolling."""
        return self._move(campaign.c.state == ENROLLING, BEGIN, state=RUNNING)

    def pause(self) -> bool:
        """Put no new question until `go_on`; False: it is paused already, or has ended."""
        return self._move(
            campaign.c.state.in_((ENROLLING, RUNNING)), state=PAUSED, resumes=campaign.c.state
        )

    def go_on(self) -> bool:
        """Back to what it was before the pause; False: it is not paused."""
        return self._move(campaign.c.state == PAUSED, state=campaign.c.resumes)

    def finish(self) -> bool:
        """Ask nothing more, and publish what there is; False: it has ended, or is about to."""
        here = campaign.c.state.in_((ENROLLING, RUNNING, PAUSED))
        return self._move(here, state=ENDING)

    def archive(self, figures: str) -> bool:
        """Keep the model and these last figures of a campaign that has ended, and nothing about
        anybody who took part; False: it has not ended, or is archived.
        """
        with self.transaction() as connection:
            here = (campaign.c.state == ENDED) & campaign.c.archive.is_(None)
            kept = update(campaign).where(self.mine(campaign), here).values(archive=figures)
            if not connection.execute(kept).rowcount:
                return False
            for table in OF_OWNERS:
                connection.execute(delete(table).where(self.mine(table)))
            return True

    def end(self, ended: str, model: bytes) -> bool:
        """It is over, whatever it was; an ended one stays as it is (False)."""
        return self._move(campaign.c.state != ENDED, END, state=ENDED, ended=ended, model=model)

    def _move(self, here: ColumnElement[bool], what: str = "", **values: Any) -> bool:
        """Change the campaign's state where it is `here`; whether it was. The log says `what`."""
        with self.transaction() as connection:
            moved = update(campaign).where(self.mine(campaign), here).values(**values)
            done = bool(connection.execute(moved).rowcount)
            if done and what:
                row = {"campaign": self.id, "at": time.time(), "who": COORDINATOR, "what": what}
                connection.execute(insert(acts).values(**row, about="", source="", outcome="200"))
            return done

    def moments(self) -> dict[str, float]:
        """When it began and when it ended, in seconds since 1970, as far as that is so."""
        mine = self.mine(acts) & (acts.c.who == COORDINATOR)
        with self.snapshot() as connection:
            found = connection.execute(select(acts.c.what, acts.c.at).where(mine)).all()
        return {row.what: row.at for row in found}

    def set_progress(self, progress: str) -> None:
        """What anybody may see of how far it has come."""
        with self.transaction() as connection:
            mine = update(campaign).where(self.mine(campaign))
            connection.execute(mine.values(progress=progress))

    def lease(self, worker: str, seconds: float, worked: float = 0.0) -> float | None:
        """The campaign's time, if this worker may drive now; None: another drives.

        `worked` are the seconds since it last asked: they become time of the campaign if it drove
        all along. A lease of one that died runs out, also when the clock was put back. One whose
        key was replaced drives no more.
        """
        now = time.time()
        with self.transaction() as connection:
            mine, until = campaign.c.lease == worker, campaign.c.lease_until
            free = mine | (until < now) | (until > now + 2 * seconds)
            if self._key is not None:
                free &= campaign.c.key == self._key
            passed = campaign.c.worked + case((mine, worked), else_=0.0)
            taken = (
                update(campaign)
                .where(self.mine(campaign), free)
                .values(lease=worker, lease_until=now + seconds, worked=passed)
            )
            return connection.execute(taken.returning(campaign.c.worked)).scalar()

    # Owners
    # ------------------------------------------------------------------------------------------

    def add_tokens(
        self, new: Sequence[str], *, expires: float | None = None, maker: str = ""
    ) -> None:
        """Allow as many owners to enrol, until a moment (seconds since 1970); only hashes are
        kept. A token that is there already stays as it is. `OverError` after the end, `NoRoomError`
        where there is no room.
        """
        with self.transaction() as connection:
            # nobody ends or archives it meanwhile: a token that came after would let somebody in
            mine = select(campaign.c.state, campaign.c.name).where(self.mine(campaign))
            state, name = connection.execute(mine.with_for_update(read=True)).one()
            if state == ENDED:
                raise OverError(f"campaign {name!r} has ended: nobody can take part any more")
            self._check_room(len(new))
            added = sql.upsert(connection, tokens).on_conflict_do_nothing()
            every = {"campaign": self.id, "made": time.time(), "expires": expires, "maker": maker}
            # in the order of everybody who adds, uses or deletes some: none waits for another
            hidden = sorted(self.hide(token) for token in new)
            connection.execute(added, [{**every, "token": token} for token in hidden])

    def make_tokens(self, new: int, *, expires: float | None = None, maker: str = "") -> list[str]:
        """So many; none is made where there is no room for all."""
        with self.transaction():
            made = [secrets.token_urlsafe(24) for _ in range(self._check_room(new))]
            if made:
                self.add_tokens(made, expires=expires, maker=maker)
        return made

    def _check_room(self, new: int) -> int:
        unused = self.mine(tokens) & tokens.c.used.is_(False)
        with self.snapshot() as connection:
            counted = select(func.count()).select_from(tokens).where(unused)
            if connection.execute(counted).scalar_one() + new > MOST_TOKENS:
                raise NoRoomError(
                    f"{MOST_TOKENS:,} tokens may be unused: withdraw some, or make fewer"
                )
        return new

    def hide(self, token: str) -> str:
        """What is kept of a token."""
        return self.storage.hide_token(tables.token_hash(token))

    def revoke(self, owner: str) -> bool:
        """Leave an owner out from now on, with its reports to questions that are still open;
        whether there is one.
        """
        with self.transaction() as connection:
            return sql.leave_out(connection, self.id, owner) is not None

    def rekey(self, owner: str, new: str) -> bool:
        """Have an owner go by another key, with all that it was asked and said; whether it goes by
        that one now, also when it was done before. A key that was revoked is nobody's any more; an
        owner has as many as a campaign has, so that it does not fill the log.
        """
        if self.is_revoked(owner) is None and self.is_revoked(new) is None:
            return False  # of strangers, before anything is locked
        with self.transaction() as connection:
            mine = self.mine(owners) & owners.c.owner.in_((owner, new))
            known = connection.execute(select(owners.c.owner, owners.c.revoked).where(mine)).all()
            if len(known) != 1 or known[0].revoked:
                return False
            if known[0].owner == owner != new:
                before = self.mine(acts) & (acts.c.about == owner) & (acts.c.what == REKEY)
                times = select(func.count()).select_from(acts).where(before)
                if not connection.execute(times).scalar_one() < MOST:
                    return False
                return rename(connection, self.id, owner, new)
            return True

    def is_member(self, owner: str) -> bool:
        """Whether it has enrolled and was not revoked, or may still read an archive."""
        with self.snapshot() as connection:
            names = owner, tables.reader_name(self.id, owner)
            live = select(owners.c.id).where(owners.c.owner.in_(names), self._is_present())
            return connection.execute(live).first() is not None

    def is_revoked(self, owner: str) -> bool | None:
        """Whether an owner was revoked, or left; None: there is none."""
        with self.snapshot() as connection:
            this = self.mine(owners) & (owners.c.owner == owner)
            found = connection.execute(select(owners.c.revoked).where(this)).scalar()
            return None if found is None else bool(found)

    def owner_counts(self) -> dict[str, int]:
        """How many owners have come, how many of them were never asked, how many are revoked."""
        waiting = owners.c.asked.is_(None) & owners.c.revoked.is_(False)
        counts = {
            "waiting": func.count().filter(waiting),
            "revoked": func.count().filter(owners.c.revoked.is_(True)),
        }
        columns = [
            func.count().label("enrolled"),
            *(count.label(name) for name, count in counts.items()),
        ]
        with self.snapshot() as connection:
            counted = select(*columns).select_from(owners).where(self.mine(owners))
            return dict(connection.execute(counted).one()._mapping)

    def owners_waiting(self) -> list[int]:
        """The numbers of owners that were never asked, in the order they came."""
        with self.snapshot() as connection:
            fresh = select(owners.c.id).where(owners.c.asked.is_(None), self._is_present())
            return list(connection.execute(fresh.order_by(owners.c.id)).scalars())

    def labels(self) -> dict[int, str]:
        """What every owner calls itself, by number."""
        with self.snapshot() as connection:
            named = select(owners.c.id, owners.c.label).where(self.mine(owners))
            rows = connection.execute(named)
            return {row.id: self.storage.open_name(row.label) for row in rows}

    def owners_present(self) -> list[int]:
        """The numbers of all owners that are not revoked."""
        with self.snapshot() as connection:
            live = select(owners.c.id).where(self._is_present()).order_by(owners.c.id)
            return list(connection.execute(live).scalars())

    def _is_present(self) -> ColumnElement[bool]:
        """Owners of the campaign that were not revoked."""
        return self.mine(owners) & owners.c.revoked.is_(False)

    # Questions
    # ---------------------------------------------------------------------------------------

    def ask(self, question: Question, invited: Sequence[int], spend: bool) -> None:
        """Open a question to some owners. With `spend` each is asked here for the first and last
        time.
        """
        with self.transaction() as connection:
            self.hold_key(connection)
            put = {"campaign": self.id, **question.__dict__}
            connection.execute(insert(questions).values(**put))
            if spend:
                spent = sql.spend(connection, self.id, question.number, invited)
                if spent != len(invited):
                    raise StoreError(
                        f"{len(invited) - spent} of {len(invited)} owners were asked before"
                    )
            sql.invite(connection, self.id, question.number, invited)

    def questions(self) -> list[Question]:
        with self.snapshot() as connection:
            columns = [questions.c[each.name] for each in fields(Question)]
            mine = select(*columns).where(self.mine(questions)).order_by(questions.c.number)
            return [Question(**row._mapping) for row in connection.execute(mine)]

    def close_question(self, number: int, state: str, answer: bytes | None = None) -> None:
        """No report counts after this; one that is closed or void stays so. The lock waits for
        those being written.
        """
        with self.transaction() as connection:
            this = self.mine(questions) & (questions.c.number == number)
            connection.execute(select(questions.c.state).where(this).with_for_update()).one()
            open_still = this & questions.c.state.in_((OPEN, ADDING))
            connection.execute(
                update(questions).where(open_still).values(state=state, answer=answer)
            )

    def extend_question(self, number: int, deadline: float) -> None:
        """Keep an open question open until then."""
        with self.transaction() as connection:
            this = self.mine(questions) & (questions.c.number == number)
            still = this & (questions.c.state == OPEN)
            connection.execute(update(questions).where(still).values(deadline=deadline))

    def counts(self, number: int) -> tuple[int, int]:
        """How many owners a question was put to, and how many reports it has."""
        with self.snapshot() as connection:
            asked, heard = (
                select(func.count()).select_from(table).where(self.about(table, number))
                for table in (invitations, reports)
            )
            return connection.execute(asked).scalar_one(), connection.execute(heard).scalar_one()

    def about(self, table: Table, number: int) -> ColumnElement[bool]:
        """Rows about a question."""
        return self.mine(table) & (table.c.question == number)

    def is_anybody_left(self, number: int) -> bool:
        """Whether anybody whom a question was put to is still there."""
        with self.snapshot() as connection:
            asked = select(owners.c.id).join(invitations, invitations.c.owner == owners.c.id)
            there = asked.where(self.about(invitations, number), owners.c.revoked.is_(False))
            return connection.execute(there).first() is not None

    def reports_of(self, number: int, part: slice = slice(None)) -> list[tuple[int, bytes]]:
        """The reports to a question, or a part of them, with their owners' numbers, in the order of
        owners.
        """
        with self.snapshot() as connection:
            mine = select(reports.c.owner, reports.c.data).where(self.about(reports, number))
            mine = mine.order_by(reports.c.owner)
            if part.stop is not None:
                mine = mine.offset(part.start).limit(part.stop - part.start)
            rows = connection.execute(mine).all()
        opened = self.storage.open_report
        return [(row.owner, opened(row.data, number, row.owner)) for row in rows]

    def outcomes(self) -> dict[int, dict[str, int]]:
        """What became of the reports to every question."""
        with self.snapshot() as connection:
            left_out = connection.execute(select(outcomes).where(self.mine(outcomes))).all()
            each = select(reports.c.question, func.count()).where(self.mine(reports))
            counted = connection.execute(each.group_by(reports.c.question)).all()
        found = {question: {COUNTED: count} for question, count in counted}
        for row in left_out:
            found.setdefault(row.question, {})[row.outcome] = row._mapping["count"]
        return found


def rename(connection: Connection, number: int, owner: str, new: str) -> bool:
    """Have an owner of a campaign go by another key, in what was done, too; and note that. False:
    another worker was faster, and nobody goes by the old one, or somebody else by the new one.
    """
    mine = update(owners).where(owners.c.campaign == number, owners.c.owner == owner)
    mine = mine.where(owners.c.revoked.is_(False))
    try:
        with connection.begin_nested():
            if not connection.execute(mine.values(owner=new)).rowcount:
                return False
    except IntegrityError:
        return False
    named = update(acts).where(acts.c.campaign == number, acts.c.about == owner)
    connection.execute(named.values(about=new))
    row = {"campaign": number, "at": time.time(), "who": "owner", "what": REKEY, "about": new}
    connection.execute(insert(acts).values(**row, source="", outcome="200"))
    return True
