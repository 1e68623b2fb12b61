"""Values of a user's own file that a model cannot take as they are, told by column. Never for owners' rows."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tacit.schema import Encoded, Schema

_SHOWN = 5


def misfits(encoded: Encoded, schema: Schema) -> Counter[str]:
    """How many values of each column were missing, unknown or beyond the bounds; columns without any are left out."""
    return +Counter({feature.name: count for feature, count in zip(schema.features, encoded.moved_by, strict=True)})


def misfits_line(found: Mapping[str, int], path: Path) -> str:
    """The worst columns in one line; empty where everything fits.

    >>> misfits_line({"age": 1, "town": 1200}, Path("new.csv"))
    'values of new.csv that are missing, unknown to the model or beyond its bounds: town 1,200, age 1'
    """
    if not found:
        return ""
    worst = ", ".join(f"{name} {count:,}" for name, count in Counter(found).most_common(_SHOWN))
    others = len(found) - _SHOWN
    more = f" and {others} more column{'' if others == 1 else 's'}" if others > 0 else ""
    return f"values of {path} that are missing, unknown to the model or beyond its bounds: {worst}{more}"
