"""The server that does nothing: the coordinator's settings, a route that reads the body and
answers the same bytes.
"""

import argparse
from pathlib import Path

from starlette.types import Receive, Scope, Send

from tacit.service.protocol.door import ConnectionLimits
from tacit.service.protocol.serving import Address, serve_forever
from tacit.service.protocol.web import Reply

_START, _REST = Reply.of(200, b'{"outcome":"counted"}')


async def blank(scope: Scope, receive: Receive, send: Send) -> None:
    """What every request gets."""
    if scope["type"] == "lifespan":
        return
    while (await receive()).get("more_body", False):
        pass
    await send(_START)
    await send(_REST)


def main() -> None:
    """Serve on loopback."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service.blank", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--certificate", type=Path)
    parser.add_argument("--key", type=Path)
    given = parser.parse_args()
    here = Address(host="127.0.0.1", port=given.port, certificate=given.certificate, key=given.key)
    limits = ConnectionLimits(proxies=("127.0.0.1",))  # all of a crowd come from there
    serve_forever(lambda: blank, here, given.workers, limits)


if __name__ == "__main__":
    main()
