"""Templates to HTML, with everything escaped that comes from outside a template: what the pages of
coordinator, owner and report are made with.
"""

from datetime import UTC, datetime

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined


def environment(package: str) -> Environment:
    """The templates of a package, and the common ones; a name that a template misspells is an
    error.
    """
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("tacit.render")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": number, "moment": moment}
    return made


def number(value: float | None) -> str:
    """A figure in three digits; a dash where there is none.

    >>> number(0.123456), number(12), number(1234567)
    ('0.123', '12', '1,234,567')
    """
    if value is None:
        return "\N{EN DASH}"
    return f"{value:,}" if isinstance(value, int) or value >= 1000 else f"{value:.3g}"


def moment(seconds: float) -> str:
    """A time for people and machines alike.

    >>> moment(0)
    '1970-01-01 00:00:00 UTC'
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
