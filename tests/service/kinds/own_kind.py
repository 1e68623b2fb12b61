"""Bagging as a kind of campaign: a centroid model from each group of owners, with equal votes."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tacit.estimators.guarantee import Source, boosting_guarantee
from tacit.learners.learner import ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners.centroid import Centroid
from tacit.learners.query import Answer
from tacit.service.kinds.boosting import BoostingTerms
from tacit.service.kinds.campaign_file import CampaignSpec, register
from tacit.service.kinds.kind import CampaignTerms, KindWords, Publication
from tacit.wire import message


@message("campaign.bagging")
@dataclass(frozen=True, eq=False)
class BaggingTerms(CampaignTerms):
    """`groups` questions, each to owners that were never asked before; `query` is the first."""

    kind: ClassVar[str] = "bagging"
    words: ClassVar[KindWords] = replace(BoostingTerms.words, steps="groups", model="the bag")
    query: ShareQuery
    groups: int
    epsilons = property(lambda self: self.query.epsilons)
    owners_needed = property(lambda self: self.query.owners)
    rounds_expected = property(lambda self: self.groups)

    def example(self):
        return self.query

    def run(self, public):
        bag = self.query.ensemble
        for number in range(1, self.groups + 1):
            answer = yield replace(self.query, round=number)
            if not isinstance(answer, Answer):
                break
            bag = bag.plus(1.0, self.query.learner.learn(self.query, answer))
        return bag

    def guesses(self, at, public):
        bag = at if isinstance(at, Ensemble) else at.ensemble
        return [np.argmax(votes, axis=1) for votes in bag.staged_votes(public.X)]

    def publication(self, result, public, sums):
        how, coins = self.query.how, self.owner_coins
        of, epsilons = Source(len(public.y)), np.array(self.epsilons)
        promise = boosting_guarantee("", how, epsilons, error_epsilon=None, source=of, stream=coins)
        return Publication(
            estimator="PrivateBoosting",
            model=result,
            guarantee=promise,
            report=[{"group": number + 1} for number in range(len(result))],
            ended=f"{len(result)} of {self.groups} groups",
        )


@register
@dataclass(frozen=True, kw_only=True)
class BaggingSpec(CampaignSpec):
    """Entries: how many groups there are, and how many owners are in one."""

    terms: ClassVar[type[CampaignTerms]] = BaggingTerms

    groups: int
    owners_per_group: int

    def prepare(self, sum_key=b""):
        sample, learner = self.read_sample(), Centroid()
        facts = learner.facts(sample.public)
        terms = ReportTerms.of("auto", learner.space(facts), np.array(self.epsilon))
        asked = 1, 1, self.owners_per_group
        query = ShareQuery(*asked, learner, facts, Ensemble(facts.classes), terms)
        common = self.common(sample, minimum=2)
        return BaggingTerms(**common, query=query, groups=self.groups), sample.public
