"""The server that does nothing: the coordinator's settings, a route that reads the body and answers constant bytes."""

import argparse

from starlette.types import Receive, Scope, Send

from tacit.coordinator.serving import serve_forever

_BODY = b'{"outcome":"counted"}'
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(_BODY)).encode())]


async def blank(scope: Scope, receive: Receive, send: Send) -> None:
    """What every request gets."""
    if scope["type"] == "lifespan":
        return
    while (await receive()).get("more_body", False):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": _BODY})


def main() -> None:
    """Serve on loopback."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.blank", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    serve_forever(lambda: blank, "127.0.0.1", arguments.port, None, None, arguments.workers)


if __name__ == "__main__":
    main()
