"""What must not be found anywhere: tokens and keys in the database, in logs, in answers."""

import asyncio
import logging
import time

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.service.protocol.handshake import Claim, Request, UnsignedError, request_headers
from tacit.wire.envelopes import public_bytes
from tests.service.coordinator import peers
from tests.service.coordinator.made import ADMIN, enrol, folder_of, running, visiting

TOKEN, LABEL = "token-of-the-clinic-in-town", "The clinic in town"


def test_tokens_and_labels_reach_no_log_and_no_public_answer(tmp_path, caplog):
    service = running(folder_of(tmp_path))
    key, campaign = Ed25519PrivateKey.generate(), bytes.fromhex(service.fingerprint)

    async def main():
        async with visiting(service.app) as client:
            admin = {"x-tacit-admin": ADMIN}
            await client.post("/v1/admin/tokens", content=TOKEN, headers=admin)
            await client.post(
                "/v1/admin/tokens", content=TOKEN, headers=admin
            )  # again: no error, no second chance
            body = f"{TOKEN}\n{LABEL}".encode()
            headers = request_headers(
                Request(campaign, "POST", "/v1/enrol", int(time.time()), body), key
            )
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
    owner = public_bytes(key.public_key()).hex()
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


def test_what_is_signed_for_one_campaign_is_nothing_in_another(tmp_path):
    here = running(folder_of(tmp_path))
    key = Ed25519PrivateKey.generate()
    here.store.add_tokens([TOKEN])
    assert enrol(here.store, public_bytes(key.public_key()).hex(), TOKEN)

    async def main():
        async with visiting(here.app) as client:
            found = []
            for campaign in (bytes(32), bytes.fromhex(here.fingerprint)):
                asked = Request(campaign, "POST", "/v1/leave", int(time.time()), b"leave")
                headers = request_headers(asked, key)
                found.append(await client.post("/v1/leave", content=b"leave", headers=headers))
            return [answer.status_code for answer in found]

    assert asyncio.run(main()) == [401, 200]


def test_numbers_that_no_database_takes_are_not_there(tmp_path, any_database):
    """The proof before the first, of number 0, was a failure of ours with PostgreSQL."""
    service = running(peers.folder_of(tmp_path), any_database)
    key = Ed25519PrivateKey.generate()
    service.store.add_tokens([TOKEN])
    assert enrol(service.store, public_bytes(key.public_key()).hex(), TOKEN, "north")
    numbers = "1", "999999999", "0", "01", "9" * 5000, "1" * 12, "-1", "x"
    paths = [f"/v1/{kind}/{n}" for kind in ("rosters", "turns", "lies") for n in numbers]

    async def main():
        async with visiting(service.app) as client:
            found = []
            for path in paths:
                asked = Request(
                    bytes.fromhex(service.fingerprint), "GET", path, int(time.time()), b""
                )
                found.append(await client.get(path, headers=request_headers(asked, key)))
            return [answer.status_code for answer in found]

    assert asyncio.run(main()) == 3 * [204, 204, 404, 404, 404, 404, 404, 404]


def test_signatures_have_one_spelling_and_no_odd_times():
    key, now = Ed25519PrivateKey.generate(), 1_800_000_000
    campaign, route = bytes(32), ("GET", "/v1/question")
    good = request_headers(Request(campaign, *route, now, b""), key)

    def signer(headers, now):
        return Claim.of(campaign, route, headers, b"").signer(now)

    owner = signer(good, now)
    assert signer(good | {"x-tacit-owner": owner.upper()}, now) == owner
    assert signer(good, now + 300) == owner
    spaced = " ".join(owner[i : i + 2] for i in range(0, 64, 2))
    for odd in (spaced, f" {owner}", "9" * 400, "-" + "9" * 400, "nan", "inf", "1e9", "", "\u0663"):
        for name in ("x-tacit-time", "x-tacit-signature", "x-tacit-owner"):
            try:
                signer(good | {name: odd}, now)
            except UnsignedError:
                continue
            raise AssertionError(f"{name} {odd!r} was accepted")
