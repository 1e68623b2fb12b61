"""Peers may go by other keys: what their old and new keys signed is kept for the others."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Nobody has renewed a key yet."""
    op.create_table(
        "renewals",
        sa.Column("campaign", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("old", sa.Text, primary_key=True),
        sa.Column("owner", sa.Integer, sa.ForeignKey("owners.id"), nullable=False),
        sa.Column("turn", sa.Integer, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """Back to when peers kept the keys that they came with; where one did not, nothing is done."""
    there = op.get_bind().execute(sa.text("SELECT count(*) FROM renewals")).scalar_one()
    if there:
        raise ValueError(
            f"peers have renewed {there} keys, which an earlier release does not know: the "
            "database cannot be taken back"
        )
    op.drop_table("renewals")
