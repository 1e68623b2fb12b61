"""What must not be found anywhere: tokens and keys in the database, in logs, in answers."""

import asyncio
import logging
import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.service.protocol.signed_requests import Request, UnsignedError, request_headers, signer
from tests.service.coordinator.made import ADMIN, folder_of, running, visiting

TOKEN, LABEL = "token-of-the-clinic-in-town", "The clinic in town"


def test_tokens_and_labels_reach_no_log_and_no_public_answer(tmp_path, caplog):
    service = running(folder_of(tmp_path))
    key = Ed25519PrivateKey.generate()

    async def main():
        async with visiting(service.app) as client:
            admin = {"x-tacit-admin": ADMIN}
            await client.post("/v1/admin/tokens", content=TOKEN, headers=admin)
            await client.post(
                "/v1/admin/tokens", content=TOKEN, headers=admin
            )  # again: no error, no second chance
            body = f"{TOKEN}\n{LABEL}".encode()
            headers = request_headers(Request("POST", "/v1/enrol", int(time.time()), body), key)
            enrolled = await client.post("/v1/enrol", content=body, headers=headers)
            await client.post("/v1/enrol", content=body)
            shown = [
                await client.get(path)
                for path in ("/", "/v1/status", "/v1/campaign", "/openapi.json")
            ]
            return enrolled, shown

    with caplog.at_level(logging.DEBUG, logger="tacit"):
        enrolled, shown = asyncio.run(main())
    assert enrolled.json() == {"enrolled": True}
    owner = request_headers(Request("GET", "/", 0, b""), key)["x-tacit-owner"]
    logged = "".join(
        f"{vars(record)}" for record in caplog.records if record.name.startswith("tacit")
    )
    assert "refused" in logged
    for secret in (TOKEN, LABEL, ADMIN, owner):
        assert secret not in logged
        assert all(secret not in answer.text for answer in shown)
    service.store.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("c.db*"))
    assert LABEL.encode() in kept  # so this search finds what is there
    assert TOKEN.encode() not in kept
    assert ADMIN.encode() not in kept


def test_signatures_have_one_spelling_and_no_odd_times():
    key, now = Ed25519PrivateKey.generate(), 1_800_000_000
    good = request_headers(Request("GET", "/v1/question", now, b""), key)
    owner = signer("GET", "/v1/question", good, b"", now)
    spaced = " ".join(owner[i : i + 2] for i in range(0, 64, 2)).upper()
    assert signer("GET", "/v1/question", good | {"x-tacit-owner": spaced}, b"", now) == owner
    assert signer("GET", "/v1/question", good, b"", now + 300) == owner
    for odd in ("9" * 400, "-" + "9" * 400, "nan", "inf", "1e9", "", "\u0663"):
        for name in ("x-tacit-time", "x-tacit-signature", "x-tacit-owner"):
            try:
                signer("GET", "/v1/question", good | {name: odd}, b"", now)
            except UnsignedError:
                continue
            raise AssertionError(f"{name} {odd!r} was accepted")
