"""A database may be encrypted: it knows the key by its mark. Only others can go back."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "storage",
        sa.Column("one", sa.Integer, primary_key=True),
        sa.Column("mark", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    if op.get_bind().execute(sa.text("SELECT count(*) FROM storage")).scalar_one():
        raise ValueError("an encrypted database cannot go back: earlier releases do not read it")
    op.drop_table("storage")
