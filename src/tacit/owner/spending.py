"""What an owner has spent and has left, in figures: for the owner's own eyes, never rounded in its
favour.
"""

from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

from tacit.owner.ledger_entries import COUNTS, Entry, budget_used
from tacit.owner.policy import Policy


def round_up(cost: Fraction) -> str:
    """A budget in at most six digits, never less than it is.

    >>> round_up(Fraction(1, 3)), round_up(Fraction(5, 2))
    ('0.333334', '2.5')
    """
    return _digits(cost, ROUND_CEILING)


def round_down(left: Fraction) -> str:
    """What is left in at most six digits, never more than it is.

    >>> round_down(Fraction(2, 3)), round_down(Fraction(0))
    ('0.666666', '0')
    """
    return _digits(left, ROUND_FLOOR)


def owners(entries: list[Entry], limit: Policy | None) -> dict[str, dict[str, object]]:
    """What each owner has spent, and what the policy leaves it; by name."""
    found: dict[str, dict[str, object]] = {}
    charged: dict[str, list[Entry]] = {}
    for entry in entries:
        charged.setdefault(entry.owner, []).append(entry)
    for owner, costs in sorted(charged.items()):
        counts = sum((entry.cost for entry in costs if entry.how == COUNTS), Fraction(0))
        spent = budget_used(sum((entry.cost for entry in costs), Fraction(0)), counts)
        paid = sum(entry.is_paid for entry in costs)
        found[owner] = {"spent": round_up(spent), "releases": paid}
        deltas = {(entry.campaign, entry.key, Fraction(entry.delta)) for entry in costs}
        found[owner]["delta"] = round_up(sum((each for *_, each in deltas), Fraction(0)))
        if limit is not None:
            found[owner]["left"] = round_down(max(limit.epsilon_total - spent, Fraction(0)))
            found[owner]["releases_left"] = max(limit.releases - paid, 0)
    return found


def figures(entry: Entry) -> dict[str, object]:
    """One release."""
    return {
        "owner": entry.owner,
        "at": time_of(entry),
        "campaign": entry.campaign,
        "key": entry.key,
        "question": entry.number,
        "digest": entry.digest.hex(),
        "epsilon": entry.epsilon,
        "rho": entry.rho,
        "delta": entry.delta,
        "unit": entry.unit,
        "what": entry.what,
        "how": entry.how,
        "bytes": entry.report.hex(),
    }


def time_of(entry: Entry) -> str:
    """When it was released, by the owner's clock; seconds since 1970 where a calendar has no such
    day.
    """
    try:
        return datetime.fromtimestamp(entry.at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return f"{entry.at} s"


def _digits(value: Fraction, rounding: str) -> str:
    context = Context(prec=6, rounding=rounding)
    digits = context.divide(context.create_decimal(value.numerator), value.denominator)
    return f"{digits.normalize(context):f}"
