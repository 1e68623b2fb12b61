"""What a campaign publishes at its end."""

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

import tacit
from tacit.campaign.peer_terms import PeerTerms
from tacit.campaign.rehearsal import is_rehearsal
from tacit.campaign.site_terms import SiteTerms
from tacit.campaign.terms import CampaignTerms
from tacit.ensembles.open_turns import TurnsTaken
from tacit.ensembles.sites import SiteEnsembleModel
from tacit.estimators.guarantee import Guarantee, site_guarantee
from tacit.estimators.peer_guarantee import peer_guarantee
from tacit.estimators.peer_methods import Plan
from tacit.estimators.saved import SavedModel
from tacit.learners.base import Public
from tacit.learners.ensemble import Ensemble
from tacit.learners.linear import LinearModel
from tacit.learners.served import ServedScores
from tacit.schema import Schema
from tacit.streams import Stream, secure, seeded
from tacit.wire import message


@message("publication")
@dataclass(frozen=True, eq=False)
class Publication:
    """The model, the schema it reads rows by, why it ended, and a hash over all questions in order."""

    name: str
    schema: Schema
    ensemble: Ensemble
    ended: str
    transcript: bytes


def published(terms: CampaignTerms, result: Any, public: Public, questions: tuple[bytes, ...]) -> tuple[str, object]:
    """Why the campaign ended, and what it publishes; `questions` are the digests of those that were answered.

    Models of sites and peers are what `tacit.load` reads.
    """
    transcript = blake2b(b"".join(questions), digest_size=32).digest()
    if isinstance(terms, SiteTerms):
        return _of_sites(terms, result, public, transcript)
    if isinstance(terms, PeerTerms):
        return _of_peers(terms, result, public, transcript)
    return result.ended, Publication(terms.name, terms.schema, result.ensemble, result.ended, transcript)


def _of_sites(terms: SiteTerms, result: SiteEnsembleModel, public: Public, transcript: bytes) -> tuple[str, SavedModel]:
    heard = len(result.models)
    ended = f"{heard} sites answered" if heard else f"fewer than {terms.minimum} sites answered: the sample alone"
    epsilons = result.epsilons if heard else np.array(terms.epsilons)
    guarantee = site_guarantee(terms.query, epsilons, _coins(terms), _source(public, "bounds, projections and weights"))
    report = [
        {"epsilon": epsilon, "weights": [float(one.weights[place]) for one in result.combined]}
        for place, epsilon in enumerate(result.epsilons.tolist())
    ]
    model = result.linear(terms.query)
    return ended, _saved("SiteEnsemble", terms, model, public, guarantee, report, ended, transcript)


def _of_peers(terms: PeerTerms, result: TurnsTaken, public: Public, transcript: bytes) -> tuple[str, SavedModel]:
    spoke = {part.speaker for part in result.model.parts}
    ended = f"{len(result.model.parts)} turns of {len(spoke)} participants"
    plan = Plan(terms.rounds, {0: terms.answers}, {0: terms.epsilon})
    guarantee = peer_guarantee([terms.epsilon], plan, _coins(terms), _source(public, "bounds"), own=False)
    report = [
        {"participant": peer.name, "epsilon": terms.epsilon, "left": peer.number in result.roster.gone}
        for peer in result.roster.peers
    ]
    model = ServedScores(terms.cells, result.model)
    return ended, _saved("PeerEnsemble", terms, model, public, guarantee, report, ended, transcript)


def _saved(
    kind: str,
    terms: CampaignTerms,
    model: LinearModel | ServedScores,
    public: Public,
    guarantee: Guarantee,
    report: list[dict[str, Any]],
    ended: str,
    transcript: bytes,
) -> SavedModel:
    """A model as the estimator `kind` saves it."""
    columns = tuple(str(feature.name) for feature in terms.schema.features)
    frequencies = np.bincount(public.y, minlength=public.classes) / len(public.y)
    written = json.dumps(report)
    return SavedModel(
        tacit.__version__,
        kind,
        terms.schema,
        model,
        frequencies,
        columns,
        len(columns),
        guarantee,
        written,
        ended,
        transcript,
    )


def _coins(terms: CampaignTerms) -> Stream:
    """Where owners' coins came from: their operating systems, except in a rehearsal."""
    return seeded(0) if is_rehearsal(terms.name) else secure()


def _source(public: Public, where: str) -> str:
    return f"The data user's own sample of {len(public.y)} rows shows in {where}."
