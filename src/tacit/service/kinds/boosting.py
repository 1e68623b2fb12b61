"""Boosting over owners that are asked once each: papers A and B."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tacit._util.checks import bad, number_of_rounds, one_of, positive, whole
from tacit._util.types import IntArray
from tacit.algorithms.boosting import AllOwners, Boosted, Judge, OwnSample, Schedule, boost
from tacit.algorithms.public_baseline import fit_public
from tacit.data.cohort import Public
from tacit.estimators.guarantee import Source, boosting_guarantee, under_two_servers
from tacit.learners.learner import Facts, Learner, ReportTerms, ShareQuery, Tally
from tacit.learners.models.ensemble import LOUDEST, Ensemble
from tacit.learners.owners import learner_of
from tacit.learners.owners.sum_query import SharesQuery, SumQuery
from tacit.learners.query import Answer, Query
from tacit.owner.policy import Policy
from tacit.owner.template import FreePart, QuestionForm, bounds_of, part_like, repeat_parts
from tacit.service.kinds.campaign_file import HelpedSpec, register
from tacit.service.kinds.kind import (
    ONE_REPORT,
    OWNERS_NOT_PROTECTED,
    CampaignTerms,
    KindWords,
    Notes,
    Publication,
    helper_notes,
)
from tacit.sums import HOW
from tacit.sums.discrete_gaussian import all_of
from tacit.sums.halves import COORDINATOR, HELPER, REHEARSAL_HELPER, Batch, SumTerms, TallyLaw
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import encode, message

_WORDS = KindWords(
    one="owner",
    many="owners",
    steps="rounds",
    model="the ensemble",
    asking="Each question goes to owners that were never asked before. Asked means spent, also "
    "without an answer.",
    leaving=ONE_REPORT,
    belief="your rows before seeing it, this report",
    notion="local differential privacy",
    not_protected=(
        "The data user's own sample: it shows in thresholds and votes.",
        *OWNERS_NOT_PROTECTED,
    ),
)


@message("campaign.boosting")
@dataclass(frozen=True, eq=False)
class BoostingTerms(CampaignTerms):
    """Rounds of `owners` owners each. A question with fewer reports than `minimum` is void, and
    others are asked.

    The data user's sample judges base models, unless `sums` says on what terms all owners do, by a
    sum after every round. Where two servers add up shares, `keys` are those of coordinator and
    helper.
    """

    kind: ClassVar[str] = "boosting"
    words: ClassVar[KindWords] = _WORDS

    learner: Learner
    facts: Facts
    terms: ReportTerms | VectorTerms
    rounds: int
    owners: int
    attempts: int
    sums: SumTerms | None = None
    keys: tuple[bytes, bytes] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        number_of_rounds(self.rounds)
        for name in ("owners", "attempts"):
            whole(name, getattr(self, name), 1)
        if not self.minimum <= self.owners:
            raise bad("minimum", f"at most owners per round, {self.owners}", self.minimum)
        if self.sums is not None and not self.sums.law.minimum <= self.start:
            raise bad("minimum of a sum", f"at most start, {self.start}", self.sums.law.minimum)
        if (self.keys is None) == isinstance(self.terms, VectorTerms):
            raise bad("keys", "given with terms of a sum of two servers, and only then", self.keys)
        if not (self.facts.dim, self.facts.classes) == (self.schema.dim, len(self.schema.classes)):
            raise bad("facts", "made for the schema", (self.facts.dim, self.facts.classes))

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self.terms.epsilons

    @property
    def owners_needed(self) -> int:
        return max(self.owners, 0 if self.sums is None else self.sums.law.minimum)

    @property
    def servers(self) -> tuple[bytes, bytes] | None:
        return super().servers if self.keys is None else self.keys

    @property
    def rounds_expected(self) -> int:
        return self.rounds

    @property
    def once(self) -> bool:
        return self.sums is None  # sums are asked of everybody, again and again

    @property
    def sum_terms(self) -> SumTerms | None:
        return self.sums

    @property
    def sum_attempts(self) -> int:
        return self.attempts

    def example(self) -> Query:
        asked = self._first
        return asked if self.keys is None else SharesQuery.of(asked, 1, self.keys)

    @property
    def _first(self) -> ShareQuery:
        return ShareQuery(
            round=1,
            attempt=1,
            owners=self.owners,
            learner=self.learner,
            facts=self.facts,
            ensemble=Ensemble(self.facts.classes),
            terms=self.terms,
        )

    @property
    def trust(self) -> str:
        if self.keys is not None:
            return "your own machine, and that one of two servers, the helper, is honest"
        if self.sums is None:
            return super().trust
        return "your own machine; for sums that one of two servers, the helper, is honest"

    def forms(self) -> tuple[QuestionForm, ...]:
        """The ensemble grows by a model each round; sums ask how wrong the next one is."""
        (form,) = super().forms()
        none = np.zeros(self.learner.space(self.facts).dim)
        model = self.learner.learn(self._first, Answer(none, none + np.inf, 1))
        one = Ensemble(self.facts.classes).plus(0.0, model)
        said = "the ensemble published so far"
        published = part_like("ensemble", said, one, self.rounds, self._largest)
        growth = self.rounds * (_VOTE + len(encode(one)))
        bounds = bounds_of(form.example, growth)
        free = (*form.free, published)
        if self.keys is not None:
            free = (*free, FreePart("number", "which sum it is", 1, _MOST_SUMS))
        asked = replace(form, free=free, bounds=bounds)
        if self.sums is None:
            return (asked,)
        times = self.rounds * self.attempts
        example = SumQuery.of(Tally(model, Ensemble(one.classes)), self.facts.dim, 1, 1, self.sums)
        free = (
            *repeat_parts(self.rounds + 1),
            published,
            part_like("model", "the model that is judged", model, 1, self._largest),
            FreePart("number", "which sum it is", 1, times),
        )
        epsilon = self.sums.law.price
        return asked, QuestionForm(example, free, bounds_of(example, growth), times, epsilon)

    @property
    def _largest(self) -> float:
        """The largest number that a published model can have: a vote, or what reports decode to."""
        furthest = _SUMMED
        if self.keys is None:
            furthest = float(self._first.mechanism(np.array(self.epsilons)).spans.max())
        facts = float(np.abs(self.facts.values).max(initial=0.0))
        return max(LOUDEST, furthest, facts, self.facts.dim, self.facts.classes)

    def run(self, public: Public) -> Generator[Any, Any, Boosted]:
        return self.algorithm(OwnSample(public) if self.sums is None else AllOwners())

    def algorithm(self, judge: Judge) -> Generator[Any, Any, Boosted]:
        """Boosting with this judge."""
        schedule = Schedule(self.rounds, self.owners, self.attempts)
        return boost(self.learner, self.facts, self.terms, judge, schedule)

    def guesses(self, at: Any, public: Public) -> Sequence[IntArray]:
        ensemble: Ensemble = at.ensemble
        return [np.argmax(votes, axis=1) for votes in ensemble.staged_votes(public.X)]

    def publication(self, result: Boosted, public: Public, sums: int) -> Publication:
        guarantee = boosting_guarantee(
            self.learner.unsound,
            self.terms.mechanism,
            np.array(self.epsilons),
            error_epsilon=None if self.sums is None else all_of(self.sums.law.price, sums),
            source=Source(len(public.y)),
            stream=self.owner_coins,
            influence=self.example().influence,
        )
        if isinstance(self.terms, VectorTerms):
            guarantee = under_two_servers(guarantee, self.terms.epsilon, self.terms.delta, 1)
        return Publication(
            estimator="PrivateBoosting",
            model=result.ensemble,
            guarantee=guarantee,
            report=[asdict(record) for record in result.records],
            ended=result.ended,
            fitted={"public_only_score_": fit_public(public).accuracy, "facts_": self.facts},
        )

    def notes(self, policy: Policy, keys: Mapping[str, str]) -> Notes:
        """What sums of two servers mean for an owner."""
        if self.servers is None:
            return Notes()
        helped = helper_notes(
            self.servers[HELPER], policy, None if self.keys is None else self.example()
        )
        if self.sums is None:
            return helped
        size = Batch(bytes(32), 1, 1, self.sums).report_size
        line = (
            f"after every round: a sum over all owners of how wrong the model is, {size} bytes "
            "sealed in two halves to two servers, with a proof that it is in range, each time at "
            f"epsilon {self.sums.law.price:g} and as one more release"
        )
        figures = {"sum_epsilon": self.sums.law.price, **helped.figures}
        return Notes((line, *helped.lines), figures)

    def with_public_coins(self, seed: int) -> Self:
        public = REHEARSAL_HELPER
        sums = None if self.sums is None else replace(self.sums, helper=public)
        return replace(self, sums=sums, keys=self.keys and (self.keys[COORDINATOR], public))


_VOTE = 32  # bytes of a vote, and of numbers that are longer in another model
_MOST_SUMS = 1 << 40
_SUMMED = 1e6  # the largest mean that two servers add up to, noise included


@register
@dataclass(frozen=True, kw_only=True)
class BoostingSpec(HelpedSpec):
    """Entries of a file of kind "boosting", beside those of every campaign.

    learner, mechanism, rounds, attempts : as in `PrivateBoosting`.
    owners_per_round : how many owners a round asks.  minimum : reports that a round needs.
    error : who judges base models: "public" (the sample) or "owners" (all of them, by a sum after
    every round); then
        error_epsilon : what each sum costs every owner; sums add up.  error_minimum : reports that
        a sum needs.
    """

    terms: ClassVar[type[CampaignTerms]] = BoostingTerms

    learner: str = "centroid"
    mechanism: str = "auto"
    rounds: int = 10
    owners_per_round: int
    minimum: int = 2
    attempts: int = 5
    error: str = "public"
    error_epsilon: float | None = None
    error_minimum: int = 10

    @property
    def has_helper(self) -> bool:
        return super().has_helper or self.error == "owners"

    def __post_init__(self) -> None:
        one_of("error", self.error, ("public", "owners"))
        if not (self.error_epsilon is not None) == (self.error == "owners"):
            raise ValueError("error_epsilon must be given with error = 'owners', and only then")
        super().__post_init__()

    def prepare(self, sum_key: bytes = b"") -> tuple[BoostingTerms, Public]:
        sample = self.read_sample()
        learner = learner_of(self.learner)
        if self.trust == HOW:
            learner = learner.for_sums()
        facts = learner.facts(sample.public)
        made = BoostingTerms(
            **self.common(sample, self.minimum),
            learner=learner,
            facts=facts,
            terms=self.terms_of(learner.space(facts), self.mechanism, self.minimum),
            rounds=self.rounds,
            owners=self.owners_per_round,
            attempts=self.attempts,
            sums=self._sums(sum_key),
            keys=self.keys(sum_key) if self.trust == HOW else None,
        )
        return made, sample.public

    def _sums(self, sum_key: bytes) -> SumTerms | None:
        if self.error_epsilon is None:
            return None
        epsilon = positive("error_epsilon", self.error_epsilon)
        return SumTerms(TallyLaw(epsilon, self.error_minimum), *self.keys(sum_key))
