"""What a campaign publishes at its end: a model that `tacit.load` opens, with what was promised
inside.
"""

import json
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

import numpy as np

import tacit
from tacit.algorithms.boosting import Boosted
from tacit.algorithms.peer_turns import TurnsTaken
from tacit.algorithms.refinement import Refined
from tacit.algorithms.sites import SiteEnsembleModel
from tacit.data.sample import Public
from tacit.estimators.guarantee import (
    Guarantee,
    Source,
    boosting_guarantee,
    classifier_guarantee,
    peer_guarantee,
    site_guarantee,
)
from tacit.estimators.persistence import SavedModel
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.scores import ScoreModel
from tacit.learners.peers.peer_model import ServedScores
from tacit.learners.sites.projection import LinearModel
from tacit.mechanisms.streams import Stream, secure, seeded
from tacit.service.kinds.boosting import BoostingTerms
from tacit.service.kinds.classifier import ClassifierTerms
from tacit.service.kinds.peers import PeerTerms
from tacit.service.kinds.sites import SiteTerms
from tacit.service.protocol.campaign import CampaignTerms
from tacit.service.protocol.rehearsal import is_rehearsal


def published(
    terms: CampaignTerms, result: Any, public: Public, questions: tuple[bytes, ...], sums: int = 0
) -> SavedModel:
    """The model of a campaign that has ended, as its estimator in one process would save it.

    `questions` are the digests of those that were answered, `sums` how many sums were asked of all
    owners.
    """
    transcript = blake2b(b"".join(questions), digest_size=32).digest()
    match terms:
        case ClassifierTerms():
            return _of_classifier(terms, result, public, transcript)
        case BoostingTerms():
            return _of_boosting(terms, result, public, transcript, sums)
        case SiteTerms():
            return _of_sites(terms, result, public, transcript)
        case PeerTerms():
            return _of_peers(terms, result, public, transcript)
    raise TypeError(f"a campaign of kind {terms.kind!r} publishes nothing")


def _of_classifier(
    terms: ClassifierTerms, result: Refined, public: Public, transcript: bytes
) -> SavedModel:
    asked = terms.query.terms
    guarantee = classifier_guarantee(
        asked.mechanism, np.array(asked.epsilons), Source(len(public.y)), _coins(terms)
    )
    report = [asdict(record) for record in result.records]
    return _saved(
        "PrivateClassifier",
        terms,
        result.model,
        public,
        guarantee,
        report,
        result.ended,
        transcript,
    )


def _of_boosting(
    terms: BoostingTerms, result: Boosted, public: Public, transcript: bytes, sums: int
) -> SavedModel:
    asked = terms.terms
    guarantee = boosting_guarantee(
        terms.learner.unsound,
        asked.mechanism,
        np.array(asked.epsilons),
        error_epsilon=None if terms.sums is None else sums * terms.sums.epsilon,
        source=Source(len(public.y)),
        stream=_coins(terms),
    )
    report = [asdict(record) for record in result.records]
    return _saved(
        "PrivateBoosting",
        terms,
        result.ensemble,
        public,
        guarantee,
        report,
        result.ended,
        transcript,
    )


def _of_sites(
    terms: SiteTerms, result: SiteEnsembleModel, public: Public, transcript: bytes
) -> SavedModel:
    heard = len(result.models)
    ended = (
        f"{heard} sites answered"
        if heard
        else f"fewer than {terms.minimum} sites answered: the sample alone"
    )
    epsilons = result.epsilons if heard else np.array(terms.epsilons)
    guarantee = site_guarantee(terms.query, epsilons, Source(len(public.y)), _coins(terms))
    report = [
        {"epsilon": epsilon, "weights": [float(one.weights[place]) for one in result.combined]}
        for place, epsilon in enumerate(result.epsilons.tolist())
    ]
    model = result.linear(terms.query)
    return _saved("SiteEnsemble", terms, model, public, guarantee, report, ended, transcript)


def _of_peers(
    terms: PeerTerms, result: TurnsTaken, public: Public, transcript: bytes
) -> SavedModel:
    spoke = {part.speaker for part in result.model.parts}
    ended = f"{len(result.model.parts)} turns of {len(spoke)} participants"
    guarantee = peer_guarantee([terms.epsilon], terms.answers, Source(len(public.y)), _coins(terms))
    report = [
        {
            "participant": peer.name,
            "epsilon": terms.epsilon,
            "left": peer.number in result.roster.gone,
        }
        for peer in result.roster.peers
    ]
    model = ServedScores(terms.cells, result.model)
    return _saved("PeerEnsemble", terms, model, public, guarantee, report, ended, transcript)


def _saved(
    kind: str,
    terms: CampaignTerms,
    model: Ensemble | ScoreModel | LinearModel | ServedScores,
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
        guarantee.published,
        written,
        ended,
        transcript,
        terms.label,
    )


def _coins(terms: CampaignTerms) -> Stream:
    """Where owners' coins came from: their operating systems, except in a rehearsal."""
    return seeded(0) if is_rehearsal(terms.name) else secure()
