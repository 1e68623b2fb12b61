"""How all tables on the terminal look: narrow, with one line below the headings."""

from rich.box import SIMPLE_HEAD
from rich.table import Table


def table_of(title: str = "") -> Table:
    """An empty table that spends no columns on its looks: most have to fit 80."""
    return Table(title=title or None, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)


def percent(mean: float, std: float, across: int) -> str:
    """A mean and its deviation in percent; one below the other where many columns stand side by side.

    >>> percent(0.931, 0.012, across=3), percent(0.931, 0.012, across=6)
    ('93.1 ± 1.2', '93.1\\n± 1.2')
    """
    gap = "\n" if across > 4 else " "
    return f"{100 * mean:.1f}{gap}± {100 * std:.1f}"
