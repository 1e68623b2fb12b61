"""What a run depends on, for those who want to repeat it."""

from importlib.metadata import version
from platform import python_version

import tacit


def versions(seed: int) -> tuple[tuple[str, str], ...]:
    """Seed and versions, by name."""
    names = ("numpy", "scipy", "scikit-learn", "numba")
    found = tuple((name, version(name)) for name in names)
    return ("seed", str(seed)), ("tacit", tacit.__version__), ("Python", python_version()), *found
