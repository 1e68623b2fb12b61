"""Answers over HTTP as they come over the line: never unpacked, never longer than expected.

A compressed answer of a few bytes may mean gigabytes. We ask for plain ones, refuse others, and
stop reading a plain one where it is longer than any honest answer.
"""

import httpx

from tacit.wire.codec import LARGEST

MOST = LARGEST + (1 << 12)  # bytes of an answer: a message with its signature and key
_PLAIN = {"accept-encoding": "identity"}


class UnwantedBodyError(httpx.TransportError):
    """An answer that is compressed, or longer than any honest one."""


async def fetch(
    client: httpx.AsyncClient, method: str, path: str, body: bytes, headers: dict[str, str]
) -> httpx.Response:
    """One request, and its answer read to the end."""
    wanted = {**headers, **_PLAIN}
    async with client.stream(method, path, content=body or None, headers=wanted) as response:
        _only_plain(response)
        read = bytearray()
        async for piece in response.aiter_bytes():
            _add(read, piece)
    return _whole(response, read)


def fetch_blocking(
    client: httpx.Client, method: str, path: str, body: bytes, headers: dict[str, str]
) -> httpx.Response:
    """`fetch` without a loop."""
    wanted = {**headers, **_PLAIN}
    with client.stream(method, path, content=body or None, headers=wanted) as response:
        _only_plain(response)
        read = bytearray()
        for piece in response.iter_bytes():
            _add(read, piece)
    return _whole(response, read)


def _only_plain(response: httpx.Response) -> None:
    if not response.headers.get("content-encoding", "identity").strip().lower() == "identity":
        raise UnwantedBodyError("the answer is compressed, which nobody asked for")


def _add(read: bytearray, piece: bytes) -> None:
    if not len(read) + len(piece) <= MOST:
        raise UnwantedBodyError(f"the answer is longer than {MOST} bytes")
    read += piece


def _whole(response: httpx.Response, read: bytearray) -> httpx.Response:
    return httpx.Response(
        response.status_code,
        headers=response.headers,
        content=bytes(read),
        request=response.request,
    )
