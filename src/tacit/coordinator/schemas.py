"""The shapes of what the coordinator answers, as JSON Schema. All members are always there, and no others."""

from typing import Any

from tacit.coordinator.store import ADDING, CLOSED, ENDED, ENROLLING, OPEN, PAUSED, RUNNING, VOID
from tacit.engines.collector import Outcome

Part = dict[str, Any]
_COUNT = {"type": "integer", "minimum": 0}
_NUMBER = {"type": "number", "minimum": 0}
_TEXT = {"type": "string"}
_OUTCOMES = [outcome.name.lower() for outcome in Outcome]


def _all_of(**members: Part) -> Part:
    return {"type": "object", "required": list(members), "properties": members, "additionalProperties": False}


def _list(of: Part) -> Part:
    return {"type": "array", "items": of}


def _or_null(schema: Part) -> Part:
    return {"anyOf": [schema, {"type": "null"}]}


_ERROR = _all_of(error=_NUMBER, stderr=_NUMBER)
_COUNTS = {"type": "object", "propertyNames": {"enum": _OUTCOMES}, "additionalProperties": _COUNT}
_ANSWER = _all_of(signal=_NUMBER, measured=_or_null(_NUMBER), predicted=_or_null(_NUMBER))
_VOICE = _all_of(name=_TEXT, asked=_COUNT, answered=_COUNT, gone={"type": "boolean"})
_QUESTION = _all_of(
    number=_COUNT,
    what=_TEXT,
    round=_COUNT,
    attempt=_COUNT,
    state={"enum": [OPEN, ADDING, CLOSED, VOID]},
    invited=_COUNT,
    counted=_COUNT,
    outcomes=_COUNTS,
    opened=_NUMBER,
    deadline=_NUMBER,
    answer=_or_null(_ANSWER),
)

SCHEMAS: Part = {
    "Error": _all_of(error=_TEXT),
    "Outcome": _all_of(outcome={"enum": _OUTCOMES}),
    "Status": _all_of(
        name=_TEXT,
        state={"enum": [ENROLLING, RUNNING, PAUSED, ENDED]},
        ended=_TEXT,
        at=_NUMBER,
        owners=_all_of(enrolled=_COUNT, waiting=_COUNT, revoked=_COUNT),
        start=_COUNT,
        needed=_COUNT,
        kind=_TEXT,
        learner=_TEXT,
        unsound=_TEXT,
        mechanism=_TEXT,
        unit=_TEXT,
        adjacency=_TEXT,
        epsilons=_list(_NUMBER),
        answers=_COUNT,
        sum_epsilon=_or_null(_NUMBER),
        rounds=_COUNT,
        owners_per_round=_or_null(_COUNT),
        minimum=_COUNT,
        questions=_list(_QUESTION),
        voices=_list(_VOICE),
        strangers=_COUNTS,
        sample=_COUNT,
        public_model=_TEXT,
        public_only=_or_null(_ERROR),
        majority=_or_null(_ERROR),
        progress=_list(_ERROR),
    ),
}
