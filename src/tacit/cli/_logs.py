"""Logs of services: events with a few figures, never what was sent.

Messages are constant or hold counts; what happens to a request is told by its route, its status and
the name of an exception. Texts of exceptions and tracebacks are left out, because they may quote
bodies, keys or labels.
"""

import json
import logging
from datetime import UTC, datetime

_FIGURES = (
    "status",
    "route",
    "kind",
    "question",
    "reports",
    "invited",
    "owners",
)  # extra fields that are shown


class LineFormatter(logging.Formatter):
    """One line per event, for people."""

    def format(self, record: logging.LogRecord) -> str:
        event = event_of(record)
        time, level, where, text = (event.pop(name) for name in ("time", "level", "where", "event"))
        return " ".join(
            [time, level, where, text, *(f"{name}={value}" for name, value in event.items())]
        )


class JsonFormatter(logging.Formatter):
    """One JSON object per event, for machines."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(event_of(record))


def event_of(record: logging.LogRecord) -> dict[str, str]:
    """What may be said of an event: no traceback, no text of an exception, no line breaks."""
    event = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "where": record.name,
        "event": " ".join(record.getMessage().splitlines()),
    }
    if record.exc_info and record.exc_info[0] is not None:
        event["event"] = "failed"
        event["kind"] = record.exc_info[0].__name__
    return event | {name: str(getattr(record, name)) for name in _FIGURES if hasattr(record, name)}


def log_to_stderr(as_json: bool) -> None:
    """Send the events of this process to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if as_json else LineFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for noisy in ("httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)  # their lines hold addresses
