"""The coordinator's routes as OpenAPI 3.1, with the shapes of its answers as JSON Schema: all
members are always there, and no others. Tests send what it allows and what it forbids, and hold the
answers against it.
"""

from collections.abc import Sequence
from typing import Any

from tacit import __version__
from tacit.service.coordinator.intake import Outcome
from tacit.service.coordinator.tables import (
    ADDING,
    CLOSED,
    ENDED,
    ENDING,
    ENROLLING,
    OPEN,
    PAUSED,
    RUNNING,
    VOID,
)
from tacit.service.protocol.handshake import OWNER, SIGNATURE, TIME
from tacit.service.protocol.succession import SAID_COUNT
from tacit.service.protocol.web import static_files

Part = dict[str, Any]
_COUNT = {"type": "integer", "minimum": 0}
_NUMBER = {"type": "number", "minimum": 0}
_TEXT = {"type": "string"}
_OUTCOMES = [outcome.name.lower() for outcome in Outcome]


def _all_of(**members: Part) -> Part:
    return {
        "type": "object",
        "required": list(members),
        "properties": members,
        "additionalProperties": False,
    }


def _list(of: Part) -> Part:
    return {"type": "array", "items": of}


def _or_null(schema: Part) -> Part:
    return {"anyOf": [schema, {"type": "null"}]}


_ERROR = _all_of(error=_NUMBER, stderr=_NUMBER)
_COUNTS = {"type": "object", "propertyNames": {"enum": _OUTCOMES}, "additionalProperties": _COUNT}
_ANSWER = _all_of(signal=_NUMBER, measured=_or_null(_NUMBER), predicted=_or_null(_NUMBER))
_YES_NO = {"type": "boolean"}
_VOICE = _all_of(
    name=_TEXT,
    asked=_COUNT,
    answered=_COUNT,
    gone=_YES_NO,
    lied=_YES_NO,
    weight=_or_null(_NUMBER),
)
_ACT = _all_of(
    who=_TEXT, what=_TEXT, about=_TEXT, source=_TEXT, outcome=_TEXT, at=_NUMBER, number=_COUNT
)
_ENROLLED = _all_of(number=_COUNT, owner=_TEXT, name=_TEXT, state=_TEXT, answered=_COUNT)
_GIVEN = _all_of(
    number=_COUNT,
    token=_TEXT,
    made=_NUMBER,
    maker=_TEXT,
    expires=_or_null(_NUMBER),
    state={"enum": ["free", "used", "expired"]},
    owner=_TEXT,
)
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
        key={"type": "string", "pattern": "^[0-9a-f]{64}$"},
        state={"enum": [ENROLLING, RUNNING, PAUSED, ENDING, ENDED]},
        ended=_TEXT,
        archived=_YES_NO,
        at=_NUMBER,
        began_at=_or_null(_NUMBER),
        ended_at=_or_null(_NUMBER),
        owners=_all_of(enrolled=_COUNT, waiting=_COUNT, revoked=_COUNT),
        start=_COUNT,
        needed=_COUNT,
        kind=_TEXT,
        learner=_TEXT,
        unsound=_TEXT,
        mechanism=_TEXT,
        unit=_TEXT,
        adjacency=_TEXT,
        influence=_TEXT,
        epsilons=_list(_NUMBER),
        answers=_COUNT,
        sum_epsilon=_or_null(_NUMBER),
        delta=_NUMBER,
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
        measure=_TEXT,
        plan=_TEXT,
        test=_or_null(_all_of(rows=_COUNT, ours=_ERROR, alone=_ERROR)),
    ),
}


_PURPOSE = """One signed question, one small report per owner: the whole protocol.

Owners sign their requests with their own Ed25519 key: hex of the public key, seconds since 1970 and
hex of the signature over `tacit request`, hex of the campaign's public key, method, path, seconds
and hex of the body's SHA-256, joined by line feeds. Every error is an object with one member,
`error`, and says no more than its kind."""
_SIGNED: list[Part] = [{"owner": [], "time": [], "signature": []}]
_ADMIN: list[Part] = [{"admin": []}]
_BYTES = {"type": "string", "format": "binary"}
_ERRORS = {
    400: "The body is not what this route takes.",
    401: "Not signed by an owner within five minutes, or not the admin key.",
    403: "Not enrolled, revoked, not invited, or without the role.",
    404: "Not there.",
    408: "The body took too long.",
    409: "It contradicts what is already so.",
    410: "It is over.",
    413: "The body is too large.",
    429: "Too many refused requests from this address, or acts of one administrator.",
    503: "Not now; come again with the same bytes.",
    507: "There are as many as may be.",
}


def _ref(name: str) -> Part:
    return {"$ref": f"#/components/schemas/{name}"}


def _content(schema: Part, kind: str = "application/json") -> Part:
    return {"content": {kind: {"schema": schema}}}


def _errors(*codes: int) -> Part:
    return {
        str(code): {"description": _ERRORS[code], **_content(_ref("Error"))}
        for code in sorted((*codes, 429, 503))
    }


def _get(what: str, content: Part, *errors: int, **more: Any) -> Part:
    answers = {"200": {"description": what, **content}, **_errors(*errors)}
    return {"get": {"summary": what, "responses": answers, **more}}


def _post(what: str, body: Part, answer: Part, *errors: int, **more: Any) -> Part:
    done = {"200": {"description": "Done.", **_content(answer)}}
    answers = done | _errors(400, 401, 408, 413, *errors)
    return {
        "post": {
            "summary": what,
            "requestBody": {"required": True, **body},
            "responses": answers,
            **more,
        }
    }


def _query(name: str, about: str, pattern: str) -> Part:
    schema = {"type": "string", "pattern": pattern}
    return {"name": name, "in": "query", "required": False, "description": about, "schema": schema}


_EXPIRES = _query(
    "expires",
    "Until when they hold, in seconds since 1970; without it they do not expire.",
    "^[0-9]{0,12}$",
)
_LINES = [
    _query("limit", "Lines at most; without it a hundred.", "^([1-9][0-9]{0,2}|1000)$"),
    _query("after", "Only lines after this number, the first of them.", "^[0-9]{1,9}$"),
    _query("before", "Only lines before this number; the last of them.", "^[0-9]{1,9}$"),
]


def _list_for_admins(what: str, name: str, each: Part) -> Part:
    """A list for administrators: its last lines, unless they say which."""
    content = _content(_all_of(**{name: _list(each)}))
    return _get(what, content, *(400, 401, 403), security=_ADMIN, parameters=_LINES)


def _line(pattern: str) -> Part:
    return _content({"type": "string", "pattern": pattern}, "text/plain")


def _question() -> Part:
    route = _get(
        "The signed question that this owner is invited to.",
        _content(_BYTES, "application/octet-stream"),
        *(401, 403),
        security=_SIGNED,
    )
    number = {"type": "string", "pattern": "^[0-9]+$"}
    said = "How many times keys were replaced, if any; fetch /v1/campaign if you know of fewer."
    keys = {SAID_COUNT: {"description": said, "schema": number}}
    seconds = {"retry-after": {"description": "Seconds to wait.", "schema": number}, **keys}
    route["get"]["responses"]["200"]["headers"] = keys
    route["get"]["responses"] |= {
        "204": {"description": "Nothing to answer now; ask again.", "headers": seconds},
        "410": {"description": "The campaign has ended.", "headers": seconds},
    }
    return route


def _report(what: str) -> Part:
    answers = {
        str(code): {
            "description": _ERRORS.get(code, "It counts, once."),
            **_content(_ref("Outcome")),
        }
        for code in (200, 400, 403, 409, 410)
    }
    answers["400"] |= _content({"oneOf": [_ref("Outcome"), _ref("Error")]})
    route = _post(
        f"{what}; the answer comes after it is safe. The same bytes again change nothing.",
        _content(_BYTES, "application/octet-stream"),
        _ref("Outcome"),
        security=_SIGNED,
    )
    route["post"]["responses"] |= answers
    return route


def _relay(what: str) -> Part:
    number = {
        "name": "number",
        "in": "path",
        "required": True,
        "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999},
    }
    route = _get(
        f"{what} In campaigns of peers alone.",
        _content(_BYTES, "application/octet-stream"),
        *(401, 403, 404),
        security=_SIGNED,
        parameters=[number],
    )
    route["get"]["responses"]["204"] = {
        "description": "There is none yet, or after the end none any more."
    }
    return route


def _static() -> Part:
    names = static_files("tacit.render", "tacit.service.coordinator")
    name = {"name": "name", "in": "path", "required": True, "schema": {"enum": sorted(names)}}
    contents = {kind: {"schema": {"type": "string"}} for kind, _ in names.values()}
    return _get(
        "Style, scripts and picture of the page.", {"content": contents}, 404, parameters=[name]
    )


def _header(name: str, what: str) -> Part:
    return {"type": "apiKey", "in": "header", "name": name, "description": what}


DOCUMENT: Part = {
    "openapi": "3.1.0",
    "info": {"title": "tacit coordinator", "version": __version__, "description": _PURPOSE},
    "paths": {
        "/": _get("The campaign for people.", _content({"type": "string"}, "text/html")),
        "/static/{name}": _static(),
        "/openapi.json": _get("This document.", _content({"type": "object"})),
        "/healthz": _get("Whether the process answers.", _content(_all_of(status={"const": "ok"}))),
        "/readyz": _get(
            "Whether it can work: the database answers.",
            _content(_all_of(status={"const": "ready"})),
        ),
        "/v1/status": _get(
            "The campaign in figures; where it says so, for members or administrators alone.",
            _content(_ref("Status")),
            *(401, 403),
        ),
        "/v1/campaign": _get(
            "The campaign's public key (32 bytes) and its signed terms.",
            _content(_BYTES, "application/octet-stream"),
        ),
        "/v1/model": _get(
            "The published model, signed with the campaign's key; where it says so, for members or "
            "administrators alone.",
            _content(_BYTES, "application/octet-stream"),
            *(401, 403, 404),
        ),
        "/v1/enrol": _post(
            "Enrol with a one-time token: the token; sites and peers add a line with a name, "
            "peers one of attributes they hold.",
            _line(r"^[!-~]{1,200}(\n[ -~]{0,200}(\n([0-9]{1,6}(,[0-9]{1,6}){0,999})?)?)?$"),
            _all_of(enrolled={"const": True}),
            403,
            security=_SIGNED,
        ),
        "/v1/question": _question(),
        "/v1/report": _report("A report"),
        "/v1/spoken": _report("A peer's report with the question's digest, signed for all others"),
        "/v1/decline": _report(
            "The digest (32 bytes) of a question that the owner's policy forbids, which is not "
            "waited for any more"
        ),
        "/v1/rosters/{number}": _relay(
            "Who takes part among peers: the first, second, ... signed roster."
        ),
        "/v1/turns/{number}": _relay(
            "A turn that is over: the question, what the peer signed, and which peers go by other "
            "keys from it on."
        ),
        "/v1/lies/{number}": _relay(
            "Proof that a peer lied: its key, two reports that it signed for one question, and, "
            "where it has gone by other keys, what both signed of each."
        ),
        "/v1/leave": _post(
            "Leave the campaign: not to be asked again. A report to an open question is taken out; "
            "what was released stays known.",
            _content({"const": "leave"}, "text/plain"),
            _all_of(left={"const": True}),
            403,
            security=_SIGNED,
        ),
        "/v1/rekey": _post(
            "Go by another key from now on: its 32 bytes, and its signature that it agrees. Among "
            "peers: a renewal from a turn on, signed by both keys; 409: name another turn, 410: it "
            "is over.",
            _content(_BYTES, "application/octet-stream"),
            _all_of(rekeyed={"const": True}),
            *(403, 409, 410),
            security=_SIGNED,
        ),
        "/v1/admin/tokens": _post(
            "Allow more owners: one new token in a line, 16 to 200 characters each.",
            _line(r"^[!-~]{16,200}(\n[!-~]{16,200})*\n?$"),
            _all_of(tokens={"type": "integer", "minimum": 1}),
            *(403, 409, 507),
            security=_ADMIN,
            parameters=[_EXPIRES],
        )
        | _list_for_admins(
            "Tokens by the beginning of their hashes, and how each stands.", "tokens", _GIVEN
        ),
        "/v1/admin/owners": _list_for_admins(
            "Who has enrolled, and how each stands.", "owners", _ENROLLED
        ),
        "/v1/admin/withdraw": _post(
            "Withdraw tokens that nobody has used: all, or by the beginning of their hash.",
            _line("^(all|[0-9a-f]{12,64})$"),
            _all_of(withdrawn=_COUNT),
            403,
            security=_ADMIN,
        ),
        "/v1/admin/revoke": _post(
            "Leave an owner out from now on, with its reports to open questions: its public key in "
            "hex.",
            _line("^[0-9a-f]{64}$"),
            _all_of(revoked={"const": True}),
            *(403, 404),
            security=_ADMIN,
        ),
        "/v1/admin/acts": _list_for_admins(
            "What administrators did, and what they were refused.", "acts", _ACT
        ),
        "/v1/admin/state": _post(
            "Pause, or go on where it was; what is enrolling and told to run begins. Or end it: "
            "nothing more is asked, and what there is is published.",
            _content({"enum": [RUNNING, PAUSED, ENDED]}, "text/plain"),
            _all_of(state={"enum": [ENROLLING, RUNNING, PAUSED, ENDING]}),
            *(403, 409),
            security=_ADMIN,
        ),
    },
    "components": {
        "schemas": SCHEMAS,
        "securitySchemes": {
            "owner": _header(OWNER, "The owner's public key, in hex."),
            "time": _header(TIME, "Seconds since 1970."),
            "signature": _header(SIGNATURE, "The signature, in hex."),
            "admin": _header("x-tacit-admin", "The administrator's key."),
        },
    },
}


_LISTED = _all_of(
    campaign=_TEXT,
    address=_TEXT,
    name=_TEXT,
    key=_TEXT,
    kind=_TEXT,
    state={"enum": [ENROLLING, RUNNING, PAUSED, ENDING, ENDED, None]},  # None: not for everybody
    archived={"type": ["boolean", "null"]},
)


def document_of(campaigns: Sequence[str]) -> Part:
    """The routes of several campaigns: those of each, under its address, and the list of all."""
    which = {"default": campaigns[0] if campaigns else "none", "enum": [*campaigns] or ["none"]}
    server = {"url": "/campaigns/{campaign}", "variables": {"campaign": which}}
    listed = _get("All campaigns.", _content(_all_of(campaigns=_list(_LISTED))))
    paths = {**DOCUMENT["paths"], "/v1/campaigns": {**listed, "servers": [{"url": "/"}]}}
    return {**DOCUMENT, "servers": [server], "paths": paths}
