"""A coordinator that writes down all that a device sends: bytes, headers, order and moments.

It stands where the network begins, so that what it sees is what any coordinator could see: link,
client, signatures, gate and member are the real ones. It greets, takes whoever enrols, puts its
questions to everybody, relays the turns of a peer that takes part alone, and ends.

`parts` are the roles that a device can have, of every kind of campaign and trust.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.algorithms.gradient_trees import full_tree
from tacit.algorithms.peers import Peer, Roll, Roster
from tacit.audit.staging import COORDINATOR, HELPER, NEVER
from tacit.data.schema import Category, Number, Schema
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import FeatureMap, Rows
from tacit.learners.models.scores import ScoreModel
from tacit.learners.owners.gradient import Gradient, GradientHistogram
from tacit.learners.owners.stump import Stump
from tacit.learners.peers.cells import Cells
from tacit.learners.query import PURPOSE, Invitation, Query, digest_of, unpack
from tacit.learners.sites.losses import LogisticLoss
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import TrainSite
from tacit.mechanisms.spaces import Space
from tacit.service.device.client import Link
from tacit.service.kinds.boosting import BoostingTerms
from tacit.service.kinds.classifier import ClassifierTerms, GradientTreesTerms, PublicMaps
from tacit.service.kinds.kind import CampaignTerms
from tacit.service.kinds.peer_methods import AlikePeerTerms, StumpTerms, TreeTerms
from tacit.service.kinds.peers import PeerTerms
from tacit.service.kinds.sites import SiteTerms, SummedSiteTerms
from tacit.service.protocol.handshake import OWNER, SIGNATURE, TIME, Claim, greeting
from tacit.service.protocol.peer_replay import ROSTER, SPOKEN, TURN, Spoken, Turn
from tacit.sums.halves import SumTerms, TallyLaw
from tacit.sums.vector_terms import RecordTerms, VectorTerms
from tacit.wire.envelopes import open_signed, public_bytes, sign

ADDRESS = "https://coordinator.example"
_PASSING = {TIME.encode(), SIGNATURE.encode()}  # headers that a clock changes; they are verified
REPORTS = ("/v1/report", "/v1/spoken")


SCHEMA = Schema((Number("age", 0, 100), Category("town", ("n", "s"))), ("no", "yes"))


@dataclass(frozen=True)
class SentRequest:
    """One request as it left, and when."""

    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    at: float

    @property
    def is_release(self) -> bool:
        """Whether it carries what a gate released."""
        return self.path in REPORTS

    def visible(self) -> tuple[object, ...]:
        """All of it that may not differ between worlds: of a release the size alone, of a
        signature that it is good.
        """
        headers = tuple(
            (name, b"" if name.lower() in _PASSING else value) for name, value in self.headers
        )
        return self.method, self.path, headers, len(self.body) if self.is_release else self.body


@dataclass(frozen=True)
class Role:
    """A part that a device takes in a campaign, and the questions it is asked there."""

    name: str
    terms: CampaignTerms
    questions: tuple[Query, ...]
    gateway: bool = False


def parts() -> list[Role]:
    """Owners of every kind of campaign, trusting nobody or one of two servers, alone and behind a
    gateway; a site, a peer of each method, and one that is asked who is alike.
    """
    common: dict[str, Any] = {
        "name": "audit",
        "schema": SCHEMA,
        "label": "ill",
        "start": 1,
        "minimum": 1,
        "deadline": 60.0,
        "sample": bytes(32),
    }
    offer, dim = ReportTerms("privunit", (0.5, 1.0)), SCHEMA.dim
    facts = Facts(dim, 2, np.array([0.0, 0.5]), np.array([0, 1]))
    rounds: dict[str, Any] = {"owners": 1, "rounds": 1}
    boosting = BoostingTerms(
        **common, **rounds, attempts=1, learner=Stump(), facts=facts, terms=offer
    )
    judged = replace(boosting, sums=SumTerms(TallyLaw(0.25, 1), COORDINATOR, HELPER))
    stump = Stump().for_sums()
    terms, keys = _sum_terms(stump.space(facts)), (COORDINATOR, HELPER)
    summed = replace(boosting, learner=stump, terms=terms, keys=keys)
    features = FeatureMap(Rows(), np.zeros(dim), np.eye(dim))
    gradient = Gradient(features, np.zeros((features.dim, 2)), 1.0, 1.0)
    share = ShareQuery(
        1, 1, 1, learner=gradient, facts=Facts(dim, 2), ensemble=Ensemble(2), terms=offer
    )
    maps = PublicMaps(
        (digest_of(features.expansion),),
        64,
        dim,
        features=features.dim,
        centre=1.0,
        matrix=1.0,
        reach=8.0,
    )
    linear: dict[str, Any] = {"rows": 1, "features": ("linear",)}
    refined = ClassifierTerms(**common, **rounds, **linear, query=share, maps=maps)
    law = _sum_terms(gradient.space(share.facts))
    added = replace(
        refined, query=replace(share, terms=law), maps=None, keys=(COORDINATOR, HELPER), budget=0.5
    )
    of_records = replace(share, terms=RecordTerms.at_sites(law, 100))
    sums: dict[str, Any] = {"maps": None, "keys": (COORDINATOR, HELPER), "budget": 0.5}
    together = SummedSiteTerms(**common, **rounds, **linear, **sums, query=of_records)
    buds = GradientHistogram(ScoreModel(2), full_tree(0), np.zeros((dim, 1)), 1.0)
    grown = GradientTreesTerms(
        **common, query=replace(share, learner=buds), owners=1, rows=1, trees=1, depth=1
    )
    projection = Projection(np.zeros(dim), np.eye(dim), 1.0)
    train = TrainSite(
        1,
        1,
        None,
        projection=projection,
        loss=LogisticLoss(),
        labels=2,
        privacy="objective",
        menu=(1.0,),
    )
    site = SiteTerms(**common, query=train, combine="guarded")
    turns: dict[str, Any] = {
        "cells": Cells(SCHEMA, 8), "rounds": 2, "epsilon": 1.0, "newcomers": 0.0, "coins": 1
    }  # fmt: skip
    return [
        Role("an owner", boosting, (boosting.example(),)),
        Role("a gateway", boosting, (boosting.example(),), gateway=True),
        Role("an owner that judges", judged, tuple(form.example for form in judged.forms())),
        Role("an owner of summed shares", summed, (summed.example(),)),
        Role("an owner of a classifier", refined, (refined.example(),)),
        Role("an owner of a summed classifier", added, (added.example(),)),
        Role("an owner of growing trees", grown, (grown.example(),)),
        Role("a gateway of summed shares", summed, (summed.example(),), gateway=True),
        Role("a site", site, (site.example(),)),
        Role("a site of sums over records", together, (together.example(),)),
        Role("a peer", PeerTerms(**common, **turns), ()),
        Role("a peer of stumps", StumpTerms(**common, **turns), ()),
        Role("a peer of trees", TreeTerms(**common, **turns), ()),
        Role("a peer among alike ones", AlikePeerTerms(**common, **turns, columns=(0, 1)), ()),
    ]


def _sum_terms(space: Space) -> VectorTerms:
    return VectorTerms.of(space, 0.5, 1e-6, minimum=1)


class Recorder(httpx.AsyncBaseTransport):
    """The far end of a link. `polls` is how often an owner hears that there is nothing to answer
    before the campaign ends.
    """

    def __init__(
        self,
        terms: CampaignTerms,
        key: Ed25519PrivateKey,
        questions: Sequence[Query] = (),
        polls: int = 0,
    ) -> None:
        self.sent: list[SentRequest] = []
        self.handed: list[float] = []  # moments at which questions left
        self._terms, self._key, self._polls = terms, key, polls
        self._campaign = public_bytes(key.public_key())
        self._first = [self._sign(query, number) for number, query in enumerate(questions or [], 1)]
        self._questions: dict[str, list[bytes]] = {}
        self._idle: dict[str, int] = {}
        self._turns = None if terms.relay is None else _Turns(terms, key)

    def link(self) -> Link:
        """A link of one owner or gateway to this coordinator; nobody waits by chance."""
        clients = [httpx.AsyncClient(transport=self, base_url=ADDRESS) for _ in range(4)]
        return Link(clients, coin=lambda: 0.0, shortest=0.0)

    def begin_again(self) -> None:
        """Forget what was sent, and how often there was nothing to answer."""
        self.sent.clear()
        self._idle.clear()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = await request.aread()
        at = time.perf_counter()
        path, headers = request.url.raw_path.decode(), tuple(request.headers.raw)
        self.sent.append(SentRequest(request.method, path, headers, body, at))
        owner = ""
        if path != "/v1/campaign":
            route = request.method, path
            owner = Claim.of(self._campaign, route, request.headers, body).signer(time.time())
        code, content = self._reply(path, owner, body)
        if path == "/v1/question" and code == 200:
            self.handed.append(time.perf_counter())
        return httpx.Response(code, content=content, headers={"retry-after": "0"})

    def _reply(self, path: str, owner: str, body: bytes) -> tuple[int, bytes]:
        if path == "/v1/campaign":
            return 200, greeting(self._terms, self._terms.template(), self._key)
        if path == "/v1/enrol":
            self._questions[owner] = list(self._first)
            if self._turns is not None:
                self._turns.begin(owner, body)
            return 200, b""
        if path == "/v1/question":
            return self._next(owner)
        if self._turns is not None:
            return self._turns.reply(path, owner, body)
        return 200, b""

    def _next(self, owner: str) -> tuple[int, bytes]:
        if self._turns is not None and self._turns.question:
            return 200, self._turns.question
        if self._questions.get(owner):
            return 200, self._questions[owner].pop(0)
        self._idle[owner] = self._idle.get(owner, 0) + 1
        return (204, b"") if self._idle[owner] <= self._polls else (410, b"")

    def _sign(self, query: Query, number: int) -> bytes:
        return sign(_invitation(self._terms, query, number), PURPOSE, self._key)


@dataclass
class _Turns:
    """The relay of a campaign of peers with one participant."""

    terms: CampaignTerms
    key: Ed25519PrivateKey
    question: bytes = b""
    rosters: list[bytes] = field(default_factory=list)
    turns: list[bytes] = field(default_factory=list)

    def begin(self, owner: str, body: bytes) -> None:
        """The roster, once its only participant has enrolled."""
        if self.rosters or self.terms.relay is None:
            return
        _, name, held = body.decode().split("\n")
        numbers = tuple(int(number) for number in held.split(","))
        roster = Roster((Peer(0, bytes.fromhex(owner), name, numbers),))
        self._peer = Ed25519PublicKey.from_public_bytes(bytes.fromhex(owner))
        self.rosters.append(sign(roster, ROSTER, self.key))
        self._algorithm = self.terms.relay.replay()
        next(self._algorithm)
        self._ask(self._algorithm.send(roster))

    def reply(self, path: str, owner: str, body: bytes) -> tuple[int, bytes]:
        kind, _, number = path.removeprefix("/v1/").partition("/")
        if kind == "spoken":
            self._hear(body)
            return 200, body
        known = {"rosters": self.rosters, "turns": self.turns}[kind]
        place = int(number)
        return (200, known[place - 1]) if place <= len(known) else (204, b"")

    def _hear(self, body: bytes) -> None:
        said = open_signed(body, Spoken, SPOKEN, self._peer)
        query = self._invitation.query
        _, levels, reports = unpack([said.report], said.digest, query)
        self.turns.append(sign(Turn(self.question, body), TURN, self.key))
        answer = query.answer(query.collect(reports, np.array(query.epsilons)[levels]))
        self._ask(self._algorithm.send(answer))

    def _ask(self, now: Query | Roll) -> None:
        self.question = b""
        if isinstance(now, Query):
            self._invitation = _invitation(self.terms, now, len(self.turns) + 1)
            self.question = sign(self._invitation, PURPOSE, self.key)


def _invitation(terms: CampaignTerms, query: Query, number: int) -> Invitation:
    return Invitation(terms.name, number, NEVER, digest_of(terms.schema), query)


def owner_of(sent: SentRequest) -> bytes:
    """Who signed a request, as its header says."""
    return dict(sent.headers).get(OWNER.encode(), b"")
