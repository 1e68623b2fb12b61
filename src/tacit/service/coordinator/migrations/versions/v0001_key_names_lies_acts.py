"""A database belongs to a campaign's key; names once; proofs of lies; what administrators did."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """From the tables of before there were versions."""
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


def downgrade() -> None:
    """Back to them; names that were told apart stay so."""
    op.drop_table("acts")
    op.drop_table("contradictions")
    op.drop_index("owners_label", "owners")
    op.drop_column("campaign", "key")


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
