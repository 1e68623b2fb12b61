"""From the tables of before there were versions. A database belongs to a campaign's key; it knows
names once, proofs of lies, and what administrators did. It holds several campaigns: every row says
whose it is. Tokens know when they were made and may expire. Keys of tables change, so rows are
copied into tables of the new shape. It may be encrypted, and then knows the key by its mark; only
others can go back.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = None

_WORDS = {
    "sqlite": {"serial": "INTEGER NOT NULL", "bytes": "BLOB"},
    "postgresql": {"serial": "SERIAL NOT NULL", "bytes": "BYTEA"},
}
_NEW = """
CREATE TABLE campaign (id {serial}, slug TEXT DEFAULT '' NOT NULL, name TEXT NOT NULL,
 state TEXT NOT NULL, resumes TEXT NOT NULL, worked FLOAT NOT NULL, ended TEXT NOT NULL,
 terms {bytes} NOT NULL, key {bytes} DEFAULT '' NOT NULL, model {bytes}, progress TEXT NOT NULL,
 archive TEXT, lease TEXT NOT NULL, lease_until FLOAT NOT NULL, PRIMARY KEY (id));
CREATE UNIQUE INDEX campaign_slug ON campaign (slug) WHERE slug != '';
CREATE TABLE owners (id {serial}, campaign INTEGER NOT NULL, owner TEXT NOT NULL,
 label TEXT NOT NULL, held TEXT NOT NULL, token TEXT NOT NULL, revoked BOOLEAN NOT NULL,
 asked INTEGER, PRIMARY KEY (id), FOREIGN KEY(campaign) REFERENCES campaign (id),
 CONSTRAINT owners_owner UNIQUE (campaign, owner),
 CONSTRAINT owners_token UNIQUE (campaign, token));
CREATE UNIQUE INDEX owners_label ON owners (campaign, label) WHERE label != '' AND NOT revoked;
CREATE TABLE tokens (campaign INTEGER NOT NULL, token TEXT NOT NULL, used BOOLEAN NOT NULL,
 made FLOAT DEFAULT '0' NOT NULL, expires FLOAT, maker TEXT DEFAULT '' NOT NULL,
 PRIMARY KEY (campaign, token));
CREATE TABLE questions (campaign INTEGER NOT NULL, number INTEGER NOT NULL, digest {bytes} NOT NULL,
 data {bytes} NOT NULL, state TEXT NOT NULL, opened FLOAT NOT NULL, deadline FLOAT NOT NULL,
 answer {bytes}, PRIMARY KEY (campaign, number),
 CONSTRAINT questions_digest UNIQUE (campaign, digest));
CREATE TABLE invitations (campaign INTEGER NOT NULL, question INTEGER NOT NULL,
 owner INTEGER NOT NULL, PRIMARY KEY (campaign, question, owner),
 FOREIGN KEY(campaign, question) REFERENCES questions (campaign, number),
 FOREIGN KEY(owner) REFERENCES owners (id));
CREATE TABLE reports (campaign INTEGER NOT NULL, question INTEGER NOT NULL, owner INTEGER NOT NULL,
 data {bytes} NOT NULL, received FLOAT NOT NULL, PRIMARY KEY (campaign, question, owner));
CREATE TABLE outcomes (campaign INTEGER NOT NULL, question INTEGER NOT NULL, outcome TEXT NOT NULL,
 count BIGINT NOT NULL, PRIMARY KEY (campaign, question, outcome));
CREATE TABLE rosters (campaign INTEGER NOT NULL, number INTEGER NOT NULL, at FLOAT NOT NULL,
 data {bytes} NOT NULL, PRIMARY KEY (campaign, number));
CREATE TABLE spoken (campaign INTEGER NOT NULL, question INTEGER NOT NULL, data {bytes} NOT NULL,
 PRIMARY KEY (campaign, question),
 FOREIGN KEY(campaign, question) REFERENCES questions (campaign, number));
CREATE TABLE contradictions (campaign INTEGER NOT NULL, question INTEGER NOT NULL,
 owner INTEGER NOT NULL, first {bytes} NOT NULL, second {bytes} NOT NULL,
 PRIMARY KEY (campaign, question),
 FOREIGN KEY(campaign, question) REFERENCES questions (campaign, number),
 FOREIGN KEY(owner) REFERENCES owners (id));
CREATE TABLE acts (number {serial}, campaign INTEGER NOT NULL, at FLOAT NOT NULL, who TEXT NOT NULL,
 what TEXT NOT NULL, about TEXT NOT NULL, source TEXT NOT NULL, outcome TEXT NOT NULL,
 PRIMARY KEY (number))
"""
_OLD = """
CREATE TABLE campaign (one {serial}, name TEXT NOT NULL, state TEXT NOT NULL, resumes TEXT NOT NULL,
 worked FLOAT NOT NULL, ended TEXT NOT NULL, terms {bytes} NOT NULL,
 key {bytes} DEFAULT '' NOT NULL, model {bytes}, progress TEXT NOT NULL,
 lease TEXT NOT NULL, lease_until FLOAT NOT NULL, PRIMARY KEY (one));
CREATE TABLE owners (id {serial}, owner TEXT NOT NULL, label TEXT NOT NULL, held TEXT NOT NULL,
 token TEXT NOT NULL, revoked BOOLEAN NOT NULL, asked INTEGER, PRIMARY KEY (id), UNIQUE (owner),
 UNIQUE (token));
CREATE UNIQUE INDEX owners_label ON owners (label) WHERE label != '' AND NOT revoked;
CREATE TABLE tokens (token TEXT NOT NULL, used BOOLEAN NOT NULL, PRIMARY KEY (token));
CREATE TABLE questions (number INTEGER NOT NULL, digest {bytes} NOT NULL, data {bytes} NOT NULL,
 state TEXT NOT NULL, opened FLOAT NOT NULL, deadline FLOAT NOT NULL, answer {bytes},
 PRIMARY KEY (number), UNIQUE (digest));
CREATE TABLE invitations (question INTEGER NOT NULL, owner INTEGER NOT NULL,
 PRIMARY KEY (question, owner), FOREIGN KEY(question) REFERENCES questions (number),
 FOREIGN KEY(owner) REFERENCES owners (id));
CREATE TABLE reports (question INTEGER NOT NULL, owner INTEGER NOT NULL, data {bytes} NOT NULL,
 received FLOAT NOT NULL, PRIMARY KEY (question, owner));
CREATE TABLE outcomes (question INTEGER NOT NULL, outcome TEXT NOT NULL, count BIGINT NOT NULL,
 PRIMARY KEY (question, outcome));
CREATE TABLE rosters (number INTEGER NOT NULL, at FLOAT NOT NULL, data {bytes} NOT NULL,
 PRIMARY KEY (number));
CREATE TABLE spoken (question INTEGER NOT NULL, data {bytes} NOT NULL, PRIMARY KEY (question),
 FOREIGN KEY(question) REFERENCES questions (number));
CREATE TABLE contradictions (question INTEGER NOT NULL, owner INTEGER NOT NULL,
 first {bytes} NOT NULL, second {bytes} NOT NULL, PRIMARY KEY (question),
 FOREIGN KEY(question) REFERENCES questions (number), FOREIGN KEY(owner) REFERENCES owners (id));
CREATE TABLE acts (number {serial}, at FLOAT NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL,
 about TEXT NOT NULL, source TEXT NOT NULL, outcome TEXT NOT NULL, PRIMARY KEY (number))
"""
# what both have, those first that others refer to
_COLUMNS = {
    "campaign": "name, state, resumes, worked, ended, terms, key, model, progress, lease, "
    "lease_until",
    "owners": "id, owner, label, held, token, revoked, asked",
    "questions": "number, digest, data, state, opened, deadline, answer",
    "tokens": "token, used",
    "invitations": "question, owner",
    "reports": "question, owner, data, received",
    "outcomes": "question, outcome, count",
    "rosters": "number, at, data",
    "spoken": "question, data",
    "contradictions": "question, owner, first, second",
    "acts": "number, at, who, what, about, source, outcome",
}


def upgrade() -> None:
    """What was the only campaign becomes number 1."""
    _add_what_was_missing()
    _move(_NEW, "id", "campaign")
    op.create_table(
        "storage",
        sa.Column("one", sa.Integer, primary_key=True),
        sa.Column("mark", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """Back to one campaign in a database; names that were told apart stay so. Where there are
    several, or it is encrypted, nothing is done.
    """
    if op.get_bind().execute(sa.text("SELECT count(*) FROM storage")).scalar_one():
        raise ValueError("an encrypted database cannot go back: earlier releases do not read it")
    there = op.get_bind().execute(sa.text("SELECT count(*) FROM campaign")).scalar_one()
    if there > 1:
        raise ValueError(
            f"the database holds {there} campaigns, and an earlier release knows one: it cannot "
            "be taken back"
        )
    op.drop_table("storage")
    op.drop_index("campaign_slug", "campaign")
    _move(_OLD, "one", "")
    op.drop_table("acts")
    op.drop_table("contradictions")
    op.drop_index("owners_label", "owners")
    op.drop_column("campaign", "key")


def _add_what_was_missing() -> None:
    """A campaign's key, names told apart, lies and acts."""
    # empty: whoever takes the campaign up next says which key it is, and its questions must bear
    # it out
    op.add_column("campaign", sa.Column("key", sa.LargeBinary, nullable=False, server_default=""))
    _tell_names_apart()
    named = sa.text("label != '' AND NOT revoked")
    op.create_index(
        "owners_label",
        "owners",
        ["label"],
        unique=True,
        sqlite_where=named,
        postgresql_where=named,
    )
    op.create_table(
        "contradictions",
        sa.Column("question", sa.Integer, sa.ForeignKey("questions.number"), primary_key=True),
        sa.Column("owner", sa.Integer, sa.ForeignKey("owners.id"), nullable=False),
        sa.Column("first", sa.LargeBinary, nullable=False),
        sa.Column("second", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "acts",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
    )


def _move(tables: str, number: str, whose: str) -> None:
    """Make tables, and copy all rows into them; each says `whose` it is by the campaign's number,
    which is 1.
    """
    op.drop_index("owners_label", "owners")
    for name in _COLUMNS:
        op.rename_table(name, f"before_{name}")
    dialect = op.get_bind().dialect.name
    for statement in tables.format(**_WORDS[dialect]).split(";"):
        op.execute(statement)
    for name, columns in _COLUMNS.items():
        added = number if name == "campaign" else whose
        into, out = (f"{added}, {columns}", f"1, {columns}") if added else (columns, columns)
        op.execute(f"INSERT INTO {name} ({into}) SELECT {out} FROM before_{name}")  # noqa: S608 - constants of this file
    for name in reversed(_COLUMNS):
        op.drop_table(f"before_{name}")
    if dialect == "postgresql":  # numbers go on after those that are there
        for name, column in {"campaign": number, "owners": "id", "acts": "number"}.items():
            last = f"(SELECT coalesce(max({column}), 0) + 1 FROM {name})"  # noqa: S608
            serial = f"pg_get_serial_sequence('{name}', '{column}')"
            op.execute(f"SELECT setval({serial}, {last}, false)")


def _tell_names_apart() -> None:
    """Two that went by one name get numbers. In the order of names they stay where they were, so
    that sums in that order stay what they are.
    """
    seen: dict[str, int] = {}
    connection = op.get_bind()
    rows = "SELECT id, label FROM owners WHERE label != '' AND NOT revoked ORDER BY id"
    for owner_id, label in connection.execute(sa.text(rows)).all():
        seen[label] = seen.get(label, 0) + 1
        if seen[label] > 1:
            renamed = sa.text("UPDATE owners SET label = :label WHERE id = :id")
            connection.execute(renamed, {"label": f"{label} ({seen[label]})", "id": owner_id})
