"""A helper in this process, behind an ordinary client, and what campaigns send it."""

import asyncio
import time
from contextlib import suppress

import httpx

from tacit.service.helper import Helper, Sheets, Speaker
from tacit.service.protocol.handshake import BOND, Request, request_headers
from tacit.service.protocol.succession import STATEMENTS
from tacit.sums.halves import COORDINATOR
from tacit.sums.protocol import Block, SumRequest
from tacit.wire import WireError, decode
from tacit.wire.envelopes import public_bytes
from tests.sums.made import COORDINATOR_KEY, HELPER_KEY


class InProcess(httpx.BaseTransport):
    """Requests of a client without async, answered by an ASGI application here."""

    def __init__(self, app):
        self._app = app

    def handle_request(self, request):
        async def main():
            async with httpx.AsyncClient(transport=httpx.ASGITransport(self._app)) as client:
                body = request.read()
                response = await client.request(
                    request.method, request.url, content=body, headers=request.headers
                )
                return httpx.Response(
                    response.status_code, headers=response.headers, content=response.content
                )

        return asyncio.run(main())


def helper(folder, *campaigns, **kwargs):
    return Helper(HELPER_KEY, Sheets(folder / "released.db"), campaigns, **kwargs)


def client_of(made):
    return httpx.Client(transport=InProcess(made.app()), base_url="http://localhost")


def name_of(key):
    return public_bytes(key.public_key()).hex()


def bond_of(body, campaign, key=COORDINATOR_KEY):
    """What shows that a batch is this campaign's; nothing, where no batch can be read."""
    for batch in (lambda: decode(body, Block).batch, lambda: decode(body, SumRequest).batch):
        with suppress(WireError):
            return batch().bond(COORDINATOR, key, bytes.fromhex(campaign)).hex()
    return ""


def speaker_of(body, campaign):
    return Speaker(campaign, bond_of(body, campaign))


def headers_of(body, key, path="/v1/block", *, at=None, bond=None, statements=()):
    """What a campaign with this key sends with a request; its batches have the coordinator's key
    of `tests.sums.made`.
    """
    campaign = public_bytes(key.public_key())
    asked = Request(campaign, "POST", path, int(time.time() if at is None else at), body)
    bond = bond_of(body, campaign.hex()) if bond is None else bond
    said = {STATEMENTS: ",".join(each.hex() for each in statements)} if statements else {}
    return request_headers(asked, key) | {BOND: bond} | said
