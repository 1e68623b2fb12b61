"""A gateway's progress, seen from its requests: how many of its owners are enrolled, and how many reports were sent."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.cli.screen import Screen
from tacit.cli.steps import Bar, bars
from tacit.device.link import Link

_SHOWN = {"/v1/enrol": "owners enrolled", "/v1/report": "reports sent"}


@dataclass
class WatchedLink(Link):
    """A link that tells of every request which was taken."""

    watch: Callable[[str], None] = lambda path: None

    @classmethod
    def of(cls, link: Link, watch: Callable[[str], None]) -> "WatchedLink":
        """The same link, and who is told."""
        return cls(link.clients, link.patience, link.clock, link.news, link.coin, watch)

    async def call(self, method: str, path: str, key: Ed25519PrivateKey | None, body: bytes = b"") -> httpx.Response:
        response = await super().call(method, path, key, body)
        if response.status_code == 200:
            self.watch(path)
        return response


@contextmanager
def watching(screen: Screen, owners: int) -> Iterator[Callable[[str], None]]:
    """A bar for each kind of request as soon as there is one, with the time left until so many owners have made it."""
    counts: dict[str, int] = {}
    with bars(screen) as progress:
        shown = {path: Bar(progress, progress.add_task(what, visible=False)) for path, what in _SHOWN.items()}

        def watch(path: str) -> None:
            if path in shown and owners > 1:
                counts[path] = counts.get(path, 0) + 1
                shown[path](counts[path], max(owners, counts[path]), f"{counts[path]:,} {_SHOWN[path]}")

        yield watch
