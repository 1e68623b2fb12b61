"""What a peer has taken in, kept in its folder: a coordinator cannot show it another past later.

Each roster and each turn is a file, written once after it was checked, and read again after a restart.
"""

import asyncio
from collections.abc import Collection
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.campaign.following import Following
from tacit.campaign.peer_terms import PeerTerms
from tacit.device.link import Link
from tacit.durable import kept


class Relayed:
    """A peer's run of the campaign, and its files in `folder`."""

    def __init__(
        self, folder: Path, terms: PeerTerms, key: Ed25519PublicKey, known: Collection[bytes] | None = None
    ) -> None:
        self._folder = folder
        self._turn = asyncio.Lock()  # a gateway holds several peers that follow one campaign
        self.following = Following(terms, key, known)
        while self._file.exists():
            self.following.take(self._file.read_bytes())

    async def catch_up(self, link: Link, key: Ed25519PrivateKey) -> None:
        """Fetch and take in all there is. `ForgeryError`: it does not follow."""
        async with self._turn:
            while (response := await link.call("GET", self.following.wants, key)).status_code == 200:
                data, file = response.content, self._file
                self.following.take(data)
                kept(file, partial(bytes, data))

    @property
    def position(self) -> tuple[int, int]:
        """How far it has come."""
        return self.following.rosters, self.following.turns

    @property
    def _file(self) -> Path:
        """The file of what comes next."""
        return self._folder / self.following.wants.removeprefix("/v1/").replace("/", "-")
