"""What a campaign keeps in its database: the tables, the same in SQLite and PostgreSQL, and the
states that a campaign and its questions are in.
"""

from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

ENROLLING, RUNNING, PAUSED, ENDED = "enrolling", "running", "paused", "ended"
OPEN, ADDING, CLOSED, VOID = "open", "adding", "closed", "void"
COUNTED = "counted"


@dataclass(frozen=True)
class Question:
    """A question as it stands; `opened` and `deadline` are in the campaign's time."""

    number: int
    digest: bytes
    data: bytes
    state: str
    opened: float
    deadline: float
    answer: bytes | None


@dataclass(frozen=True)
class Standing:
    """Where the campaign is; `worked` is its time, `key` its public key."""

    name: str
    state: str
    worked: float
    ended: str
    terms: bytes
    key: bytes
    model: bytes | None
    progress: str


metadata = MetaData()
NOTHING_YET = "{}"  # progress of a campaign that no driver has looked at

campaign = Table(
    "campaign",
    metadata,
    Column("one", Integer, primary_key=True),  # a database holds one campaign
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),  # enrolling, running, paused, ended
    Column("resumes", Text, nullable=False, default=""),  # the state that a pause goes back to
    # the campaign's time: seconds that somebody drove it
    Column("worked", Float, nullable=False, default=0.0),
    Column("ended", Text, nullable=False, default=""),
    # canonical bytes: a restart with other terms is refused
    Column("terms", LargeBinary, nullable=False),
    # the campaign's public key: so is another key; empty in tables that were brought here
    Column("key", LargeBinary, nullable=False, server_default=""),
    Column("model", LargeBinary, nullable=True),
    Column("progress", Text, nullable=False, default=NOTHING_YET),
    Column("lease", Text, nullable=False, default=""),  # which worker drives,
    Column("lease_until", Float, nullable=False, default=0.0),  # and until when
)

owners = Table(
    "owners",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("owner", Text, nullable=False, unique=True),  # its public key, in hex
    Column("label", Text, nullable=False, default=""),
    # numbers of the attributes it has; empty: all
    Column("held", Text, nullable=False, default=""),
    Column("token", Text, nullable=False, unique=True),  # the hash of the token it came with
    Column("revoked", Boolean, nullable=False, default=False),
    Column("asked", Integer, nullable=True),  # the question that spent it: asked means spent
)
# those who go by a name are few, and no two of them by the same
_named = text("label != '' AND NOT revoked")
Index("owners_label", owners.c.label, unique=True, sqlite_where=_named, postgresql_where=_named)

tokens = Table(
    "tokens",
    metadata,
    Column("token", Text, primary_key=True),  # a hash; tokens themselves are kept nowhere
    Column("used", Boolean, nullable=False, default=False),
)

questions = Table(
    "questions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("digest", LargeBinary, nullable=False, unique=True),
    Column("data", LargeBinary, nullable=False),  # the signed invitation
    Column("state", Text, nullable=False),  # open, adding (two servers are at it), closed, void
    Column("opened", Float, nullable=False),  # in the campaign's time, as is the deadline
    Column("deadline", Float, nullable=False),
    Column("answer", LargeBinary, nullable=True),  # what the algorithm was told: the transcript
)

invitations = Table(
    "invitations",
    metadata,
    Column("question", Integer, ForeignKey("questions.number"), primary_key=True),
    Column("owner", Integer, ForeignKey("owners.id"), primary_key=True),
)

# without foreign keys: a report is written where its invitation was read, and those are never
# deleted
reports = Table(
    "reports",
    metadata,
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("owner", Integer, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
    Column("received", Float, nullable=False),
)

outcomes = Table(
    "outcomes",
    metadata,
    Column("question", Integer, primary_key=True, autoincrement=False),
    Column("outcome", Text, primary_key=True),
    Column("count", BigInteger, nullable=False),
)

rosters = Table(
    "rosters",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Float, nullable=False),  # in the campaign's time
    Column("data", LargeBinary, nullable=False),  # the signed roster
)

spoken = Table(
    "spoken",
    metadata,
    Column("question", Integer, ForeignKey("questions.number"), primary_key=True),
    Column("data", LargeBinary, nullable=False),  # what the peer signed, for the others
)

# two words of one peer about one question: proof that it lied, each signed by the peer
contradictions = Table(
    "contradictions",
    metadata,
    Column("question", Integer, ForeignKey("questions.number"), primary_key=True),
    Column("owner", Integer, ForeignKey("owners.id"), nullable=False),
    Column("first", LargeBinary, nullable=False),
    Column("second", LargeBinary, nullable=False),
)

# what administrators did, and what they were refused: who, when, what, from where
acts = Table(
    "acts",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),  # seconds since 1970
    Column("who", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("outcome", Text, nullable=False),
)
