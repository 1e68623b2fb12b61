"""Statements for many owners at once: one text and a few parameters, however many there are.

A list travels as one parameter, an array in PostgreSQL and JSON in SQLite, so that statements are parsed once and never
meet a limit of parameters.
"""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, text

_PLACES = {
    "postgresql": text("SELECT owner, place FROM owners WHERE owner = ANY(:names) AND NOT revoked"),
    "sqlite": text(
        "SELECT owner, place FROM owners WHERE owner IN (SELECT value FROM json_each(:names)) AND NOT revoked"
    ),
}
_INVITED = (
    "SELECT i.owner, r.data FROM invitations i "
    "LEFT JOIN reports r ON r.question = i.question AND r.owner = i.owner WHERE i.question = :question AND i.owner "
)
_HEARD = {
    "postgresql": text(_INVITED + "= ANY(:places)"),
    "sqlite": text(_INVITED + "IN (SELECT value FROM json_each(:places))"),  # noqa: S608 - constants
}
_ADD = {
    "postgresql": text(
        "INSERT INTO reports (question, owner, data, received) SELECT :question, place, data, :now "
        "FROM unnest(CAST(:places AS integer[]), CAST(:data AS bytea[])) AS sent (place, data) "
        "ON CONFLICT DO NOTHING RETURNING owner"
    ),
    "sqlite": text(
        "INSERT INTO reports (question, owner, data, received) VALUES (:question, :place, :data, :now) "
        "ON CONFLICT DO NOTHING"
    ),
}
_SPEND = {
    "postgresql": text(
        "UPDATE owners SET asked = :question WHERE place = ANY(:places) AND asked IS NULL AND NOT revoked"
    ),
    "sqlite": text(
        "UPDATE owners SET asked = :question WHERE place IN (SELECT value FROM json_each(:places)) "
        "AND asked IS NULL AND NOT revoked"
    ),
}


def places_of(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    """The places of owners that are enrolled and not revoked."""
    kind = connection.dialect.name
    rows = connection.execute(_PLACES[kind], {"names": _list(kind, names)})
    return {row.owner: row.place for row in rows}


def heard_from(connection: Connection, question: int, places: Sequence[int]) -> dict[int, bytes | None]:
    """Which of some owners were invited to a question, and what they have said already (None: nothing yet)."""
    kind = connection.dialect.name
    rows = connection.execute(_HEARD[kind], {"question": question, "places": _list(kind, places)})
    return {row.owner: row.data for row in rows}


def add_reports(connection: Connection, question: int, reports: dict[int, bytes], now: float) -> set[int]:
    """Write reports by place; the places whose report is the first. Another worker may have been faster with some."""
    if connection.dialect.name == "sqlite":  # one writer: what was not there when this transaction began is not there
        rows = [{"question": question, "place": place, "data": data, "now": now} for place, data in reports.items()]
        connection.execute(_ADD["sqlite"], rows)
        return set(reports)
    places = sorted(reports)  # the same order in every worker: two that wait for each other would wait for ever
    given = {"question": question, "places": places, "data": [reports[place] for place in places], "now": now}
    return set(connection.execute(_ADD["postgresql"], given).scalars())


def spend(connection: Connection, question: int, places: Sequence[int]) -> int:
    """Mark owners as asked, each for the first and only time; how many could be."""
    kind = connection.dialect.name
    return connection.execute(_SPEND[kind], {"question": question, "places": _list(kind, places)}).rowcount


def _list(kind: str, values: Sequence[int] | Sequence[str]) -> object:
    return list(values) if kind == "postgresql" else json.dumps(list(values))
