"""Answers are read as they come: nothing is unpacked, and nothing is read beyond what is honest."""

import asyncio
import gzip

import httpx
import pytest

from tacit.service.protocol import handshake
from tacit.service.protocol.handshake import MOST, UnwantedBodyError, fetch, fetch_blocking


class Endless(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that never ends; it counts what was taken."""

    def __init__(self):
        self.taken = 0

    def __iter__(self):
        while True:
            self.taken += 1 << 16
            yield bytes(1 << 16)

    async def __aiter__(self):
        for piece in self:
            yield piece


def both_ways(answer, check):
    """Ask with a loop and without one."""
    seen = []

    def handle(request):
        seen.append(request)
        return answer()

    transport = httpx.MockTransport(handle)

    async def main():
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await fetch(client, "GET", "/", b"", {})

    check(lambda: asyncio.run(main()))
    with httpx.Client(transport=transport, base_url="http://x") as client:
        check(lambda: fetch_blocking(client, "GET", "/", b"", {}))
    assert [request.headers["accept-encoding"] for request in seen] == ["identity"] * len(seen)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "identity, gzip", "GZIP"])
def test_a_compressed_answer_is_refused_before_it_is_unpacked(coding):
    bomb = gzip.compress(bytes(1 << 20))

    def check(ask):
        with pytest.raises(UnwantedBodyError, match="compressed"):
            ask()

    stream = httpx.ByteStream(bomb)
    both_ways(
        lambda: httpx.Response(200, headers={"content-encoding": coding}, stream=stream), check
    )


def test_an_answer_without_end_is_left_where_it_is_too_long():
    bodies = []

    def answer():
        bodies.append(Endless())
        return httpx.Response(200, stream=bodies[-1])

    def check(ask):
        with pytest.raises(UnwantedBodyError, match="longer than"):
            ask()

    both_ways(answer, check)
    assert all(body.taken <= MOST + (1 << 17) for body in bodies)


def test_a_plain_answer_arrives_whole():
    def check(ask):
        response = ask()
        assert (response.status_code, response.content) == (203, b"said")
        assert response.headers["retry-after"] == "3"

    both_ways(lambda: httpx.Response(203, headers={"retry-after": "3"}, content=b"said"), check)


def test_an_answer_that_comes_byte_by_byte_is_not_waited_for(monkeypatch):
    """Each byte began the time anew."""
    monkeypatch.setattr(handshake, "LONGEST", 0.3, raising=False)

    class Dripping(httpx.AsyncByteStream):
        async def __aiter__(self):
            for _ in range(100):
                yield b"x"
                await asyncio.sleep(0.05)

    async def main():
        transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Dripping()))
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await fetch(client, "GET", "/", b"", {})

    with pytest.raises(httpx.ReadTimeout):
        asyncio.run(main())
