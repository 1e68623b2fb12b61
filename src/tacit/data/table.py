"""A table in memory: named columns, as small as a data frame can be."""

from dataclasses import dataclass, field
from typing import overload

from tacit._util.types import AnyArray, BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class UserTable:
    """Named columns of equal length: numbers (missing: NaN) or objects (missing: None).

    `left_out` says of columns that are neither numbers nor text what they are. Estimators take it
    like a data frame.

    >>> import numpy as np
    >>> table = UserTable({"age": np.array([30.0, 41.0]), "town": np.array(["n", None], dtype=object)})
    >>> len(table), table.shape, table["town"].tolist(), table[np.array([1])]["age"].tolist()
    (2, (2, 2), ['n', None], [41.0])
    """

    columns: dict[str, AnyArray]
    left_out: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.columns)

    @overload
    def __getitem__(self, wanted: str) -> AnyArray: ...
    @overload
    def __getitem__(self, wanted: slice | IntArray | BoolArray) -> "UserTable": ...
    def __getitem__(self, wanted: str | slice | IntArray | BoolArray) -> "AnyArray | UserTable":
        """One column by its name, or some rows."""
        if isinstance(wanted, str):
            return self.columns[wanted]
        return UserTable(
            {name: column[wanted] for name, column in self.columns.items()}, self.left_out
        )

    def column(self, name: str) -> AnyArray:
        """One column, or an error that names the columns there are."""
        if name in self.left_out:
            raise ValueError(
                f"column {name!r} cannot be used: it holds {self.left_out[name]}, not numbers "
                "or text; choose another"
            )
        if name not in self.columns:
            raise ValueError(
                f"column {name!r} is not in the table; it has {', '.join(self.columns)}"
            )
        return self.columns[name]

    def without(self, *names: str | None) -> dict[str, AnyArray]:
        """All columns but these."""
        return {name: column for name, column in self.columns.items() if name not in names}

    def __repr__(self) -> str:
        return f"UserTable({', '.join(self.columns)})"
