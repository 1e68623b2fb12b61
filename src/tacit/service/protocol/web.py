"""Headers that every answer carries: all of them what a browser shows, some what programs read;
and answers that are ready-made.

Style, scripts and picture of the pages, read from the package once and served from memory.
"""

from collections.abc import Mapping
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message

POLICY = {
    "default-src": "'none'",
    "style-src": "'self'",
    "script-src": "'self'",
    "connect-src": "'self'",
    "img-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{name} {sources}" for name, sources in POLICY.items()),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
    "strict-transport-security": "max-age=31536000",
}
DATA_HEADERS = {
    name: HEADERS[name]
    for name in ("x-content-type-options", "cache-control", "strict-transport-security")
} | {"content-security-policy": "default-src 'none'; frame-ancestors 'none'"}


_DATA = [(name.encode(), value.encode()) for name, value in DATA_HEADERS.items()]
_NO_CONTENT = 204


class Reply(NamedTuple):
    """A reply of a direct route, ready-made: its two messages."""

    start: Message
    rest: Message

    @classmethod
    def of(
        cls,
        status: int,
        body: bytes,
        kind: str = "application/json",
        more: Mapping[str, str] | None = None,
    ) -> "Reply":
        """Some data of a kind, with the headers that every answer carries, and `more`."""
        own = {"content-type": kind} if body else {}
        if status != _NO_CONTENT:
            own["content-length"] = str(len(body))
        headers = [
            (name.encode(), value.encode()) for name, value in {**own, **(more or {})}.items()
        ]
        return cls(
            {"type": "http.response.start", "status": status, "headers": headers + _DATA},
            {"type": "http.response.body", "body": body},
        )


_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def static_files(*packages: str) -> dict[str, tuple[str, bytes]]:
    """Kind and content of the files that some packages keep in a folder named static, by name."""
    found = [file for package in packages for file in (files(package) / "static").iterdir()]
    return {
        file.name: (_KINDS["." + file.name.rpartition(".")[2]], file.read_bytes()) for file in found
    }


def static_routes(*packages: str, under: str = "") -> list[Route]:
    """Routes `under`/static/NAME of these files."""
    kept = static_files(*packages).items()
    return [_route(f"{under}/static/{name}", content, kind) for name, (kind, content) in kept]


def _route(path: str, data: bytes, kind: str) -> Route:
    async def send(request: Request) -> Response:
        return Response(data, media_type=kind)

    return Route(path, send, methods=["GET"])
