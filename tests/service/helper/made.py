"""A helper in this process, behind an ordinary client."""

import asyncio

import httpx

from tacit.service.helper import Helper, Sheets
from tests.sums.made import HELPER_KEY


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
