"""A coordinator as an owner sees it, honest or not: it asks what it likes, and keeps every byte."""

import asyncio
from fractions import Fraction

import httpx
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import Number, Schema
from tacit.learners.learner import Facts, ReportTerms
from tacit.learners.owners.stump import Stump
from tacit.learners.query import PURPOSE, Invitation, digest_of
from tacit.owner.policy import Policy
from tacit.service.device.client import Link
from tacit.service.device.join import Joining, join
from tacit.service.kinds.boosting import BoostingTerms
from tacit.service.protocol.handshake import greeting
from tacit.wire.envelopes import sign

SCHEMA = Schema((Number("age", 0, 100),), ("no", "yes"))
ONE = Fraction(1)
POLICY = Policy(epsilon_per_release=ONE, epsilon_total=ONE, releases=9, time_step=Fraction(0))
FOREVER = 1 << 40


def terms_of(name):
    facts = Facts(1, 2, np.array([0.0]), np.array([0]))
    return BoostingTerms(
        name, SCHEMA, "ill", 2, 1, 60.0, bytes(32), Stump(), facts,
        ReportTerms("privunit", (1.0,)), 1, 1, 1,
    )  # fmt: skip


class Watching(Link):
    """In place of a link: greets, puts one question to everybody, and writes down what comes."""

    def __init__(self, name="trial", terms=None, address="https://host"):
        self.key = Ed25519PrivateKey.generate()
        self.terms = terms or terms_of(name)
        self.template = None  # another one than that of its terms
        super().__init__([httpx.AsyncClient(base_url=address)], coin=lambda: 0.0)
        self.seen, self._asked = [], set()
        asked = Invitation(name, 1, FOREVER, digest_of(self.terms.schema), self.terms.example())
        self.question = sign(asked, PURPOSE, self.key)

    async def call(self, method, path, key, body=b""):
        who = b"" if key is None else key.public_key().public_bytes_raw()
        self.seen.append((method, path, who, body))
        wait = {"retry-after": "0"}
        if path == "/v1/campaign":
            said = greeting(self.terms, self.template or self.terms.template(), self.key)
            return httpx.Response(200, content=said, headers=wait)
        if path == "/v1/question":
            first = who not in self._asked
            self._asked.add(who)
            return httpx.Response(
                200 if first else 410, content=self.question if first else b"", headers=wait
            )
        return httpx.Response(200, headers=wait)

    def forget(self):
        """Ask everybody again."""
        self._asked.clear()

    def bodies(self, path):
        return [body for _, where, _, body in self.seen if where == path]

    def reports(self):
        return len(self.bodies("/v1/report"))


def run(coordinator, data, home, owners=None, *, pinned=None, tokens=9, **more):
    """Take part; how many questions were answered."""
    joining = Joining(data, None, more.pop("policy", POLICY), home, owners, **more)
    words = [f"token {i}" for i in range(tokens)]
    return asyncio.run(join(joining, coordinator, words, pinned))
