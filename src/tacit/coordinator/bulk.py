"""Statements for many owners at once: one text and a few parameters, however many there are.

A list travels as one text, with commas for PostgreSQL and as JSON for SQLite, so that statements are parsed once, never
meet a limit of parameters, and nothing is done for each element but to join them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

_SEAT = (
    "SELECT o.owner, i.owner AS place, r.data FROM owners o "
    "LEFT JOIN invitations i ON i.question = :question AND i.owner = o.place "
    "LEFT JOIN reports r ON r.question = :question AND r.owner = i.owner WHERE NOT o.revoked AND o.owner "
)
_SEATS = {
    "postgresql": text(_SEAT + "= ANY(string_to_array(:names, ','))"),
    "sqlite": text(_SEAT + "IN (SELECT value FROM json_each(:names))"),  # noqa: S608 - constants
}
_WRITE = {
    "postgresql": text(
        "INSERT INTO reports (question, owner, data, received) "
        "SELECT :question, CAST(place AS integer), decode(data, 'hex'), :now "
        "FROM unnest(string_to_array(:places, ','), string_to_array(:data, ',')) AS sent (place, data) "
        "ON CONFLICT DO NOTHING RETURNING owner"
    ),
    "sqlite": text("INSERT INTO reports (question, owner, data, received) VALUES (:question, :place, :data, :now)"),
}
_SPEND = {
    "postgresql": text(
        "UPDATE owners SET asked = :question "
        "WHERE place = ANY(CAST(string_to_array(:places, ',') AS integer[])) AND asked IS NULL AND NOT revoked"
    ),
    "sqlite": text(
        "UPDATE owners SET asked = :question WHERE place IN (SELECT value FROM json_each(:places)) "
        "AND asked IS NULL AND NOT revoked"
    ),
}


@dataclass(frozen=True, slots=True)
class Seat:
    """How an owner stands to a question: its place if it was invited, and its report if that is here."""

    place: int | None
    report: bytes | None


def seats(connection: Connection, question: int, names: Sequence[str]) -> dict[str, Seat]:
    """How some owners stand to a question; those that are not enrolled, or revoked, are left out."""
    kind = connection.dialect.name
    rows = connection.execute(_SEATS[kind], {"question": question, "names": _list(kind, names)})
    return {owner: Seat(place, data) for owner, place, data in rows.all()}


def write_reports(connection: Connection, question: int, reports: dict[int, bytes], now: float) -> set[int]:
    """Write reports by place; the places whose report is the first. Another worker may have been faster with some."""
    if connection.dialect.name == "sqlite":  # one writer: what was not there when this transaction began is not there
        rows = [{"question": question, "place": place, "data": data, "now": now} for place, data in reports.items()]
        connection.execute(_WRITE["sqlite"], rows)
        return set(reports)
    places = sorted(reports)  # the same order in every worker: two that wait for each other would wait for ever
    data = ",".join(reports[place].hex() for place in places)
    given = {"question": question, "places": _list("postgresql", places), "data": data, "now": now}
    return {place for (place,) in connection.execute(_WRITE["postgresql"], given).all()}


def spend(connection: Connection, question: int, places: Sequence[int]) -> int:
    """Mark owners as asked, each for the first and only time; how many could be."""
    kind = connection.dialect.name
    return connection.execute(_SPEND[kind], {"question": question, "places": _list(kind, places)}).rowcount


def _list(kind: str, values: Sequence[int] | Sequence[str]) -> str:
    """Numbers, or words without commas, in one text."""
    return ",".join(map(str, values)) if kind == "postgresql" else json.dumps(list(values))
