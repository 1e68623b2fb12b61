"""The OpenAPI document is complete, and true of the running service whatever is sent:
schemathesis tries it out.
"""

import asyncio
import time
from urllib.parse import urlsplit

import pytest
import schemathesis
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, Phase, given, settings
from requests.auth import AuthBase
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from starlette.routing import Route

from tacit.service.coordinator.openapi import DOCUMENT
from tacit.service.protocol.guard import Limits
from tacit.service.protocol.handshake import Request, request_headers
from tacit.wire.envelopes import public_bytes
from tests.service.coordinator.made import ADMIN, client_of, enrol, running
from tests.service.coordinator.peers import folder_of

KEY, LEAVER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
CAMPAIGN = Ed25519PrivateKey.generate()
CAMPAIGN_KEY = public_bytes(CAMPAIGN.public_key())
OPERATIONS = [(path, method) for path, item in DOCUMENT["paths"].items() for method in item]
BODIES = [
    (path, method)
    for path, method in OPERATIONS
    if "requestBody" in DOCUMENT["paths"][path][method]
]
ANY_BYTES = (
    "/v1/report",
    "/v1/spoken",
    "/v1/decline",
    "/v1/rekey",
)  # no bytes are ruled out by their shape: what is not a report is found out inside
CREDENTIALS = [scheme["name"] for scheme in DOCUMENT["components"]["securitySchemes"].values()]
FEW = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


class Admission(AuthBase):
    """Signs as an enrolled owner, and has the admin key."""

    def __call__(self, request):
        body = request.body or b""
        data = body if isinstance(body, bytes) else body.encode()
        path = urlsplit(request.url).path
        asked = Request(CAMPAIGN_KEY, request.method, path, int(time.time()), data)
        key = LEAVER if path == "/v1/leave" else KEY
        request.headers.update(request_headers(asked, key) | {"x-tacit-admin": ADMIN})
        return request


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Of peers: their campaigns have all routes that there are."""
    made = running(
        folder_of(tmp_path_factory.mktemp("openapi")),
        key=CAMPAIGN,
        limits=Limits(burst=1e9, looks=1e9, asks=1e9),
    )
    for token, key in (("token number 0001", KEY), ("token number 0002", LEAVER)):
        made.store.add_tokens([token])
        assert enrol(made.store, public_bytes(key.public_key()).hex(), token, f"by {token}")
    return made


@pytest.fixture(scope="module")
def schema(service):
    load_all_checks()
    return schemathesis.openapi.from_asgi("/openapi.json", service.app)


def tried(schema, path, method, mode, auth, without=()):
    """Send a dozen requests; every answer must be as the document says. The statuses that came
    back.
    """
    excluded = [CHECKS.get_one(name) for name in ("ignored_auth", "unsupported_method", *without)]
    statuses = set()

    @FEW
    @given(
        case=schema[path][method].as_strategy(
            mode, headers=dict.fromkeys(CREDENTIALS, "set when sent")
        )
    )
    def send(case):
        answer = case.call_and_validate(auth=auth, excluded_checks=excluded)
        assert answer.status_code < 500
        statuses.add(answer.status_code)

    send()
    return statuses


def test_every_route_is_in_the_document(service):
    routes = {
        (path, method.lower())
        for route in service.app.app.routes
        if isinstance(route, Route)
        for path in [
            "/static/{name}"
            if route.path.startswith("/static/")
            else route.path.replace(":int", "")
        ]
        for method in (route.methods or set()) - {"HEAD"}
    }
    assert routes == set(OPERATIONS)


@pytest.mark.parametrize(
    ("path", "method"), OPERATIONS, ids=[" ".join(each) for each in OPERATIONS]
)
def test_what_the_document_allows_is_answered_as_it_says(schema, path, method):
    without = ["positive_data_acceptance"] if path in ANY_BYTES else []
    assert tried(schema, path, method, GenerationMode.POSITIVE, Admission(), without)


@pytest.mark.parametrize(("path", "method"), BODIES, ids=[" ".join(each) for each in BODIES])
def test_what_the_document_forbids_is_refused(schema, path, method):
    if path in ANY_BYTES:
        assert tried(
            schema, path, method, GenerationMode.POSITIVE, Admission(), ["positive_data_acceptance"]
        ) == {400}
    else:
        assert 400 in tried(schema, path, method, GenerationMode.NEGATIVE, Admission())


SECURED = [
    (path, method) for path, method in OPERATIONS if "security" in DOCUMENT["paths"][path][method]
]


@pytest.mark.parametrize(("path", "method"), SECURED, ids=[" ".join(each) for each in SECURED])
def test_without_a_signature_or_key_nothing_is_done(schema, path, method):
    assert tried(
        schema, path, method, GenerationMode.POSITIVE, None, ["positive_data_acceptance"]
    ) == {401}


@pytest.mark.parametrize(
    ("path", "method"), OPERATIONS, ids=[" ".join(each) for each in OPERATIONS]
)
def test_other_methods_are_refused_and_the_right_one_named(service, path, method):
    async def main():
        async with client_of(service.app) as client:
            return await client.request(
                "DELETE", path.replace("{name}", "tacit.css").replace("{number}", "1")
            )

    answer = asyncio.run(main())
    assert (answer.status_code, answer.json()) == (405, {"error": "method"})
    assert method.upper() in answer.headers["allow"]
