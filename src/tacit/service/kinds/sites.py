"""Sites that each train one private model, combined with public rows: paper C; or whose records two
servers add up over.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from tacit._util.checks import bad, in_digits, number_of_rounds, one_of, positive, whole
from tacit._util.types import FloatArray
from tacit.algorithms.outlook import MAPS, look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import Population
from tacit.algorithms.refinement import Refined, refine
from tacit.algorithms.site_weights import COMBINE
from tacit.algorithms.sites import (
    SiteEnsembleModel,
    ensemble_of_sites,
    models_of_public,
    projections_of,
    tune_site,
)
from tacit.data.cohort import Public
from tacit.data.number_target import NumberSchema, Range, steps_of
from tacit.data.sample import ColumnRoles
from tacit.estimators.group_planning import GroupPlan, OwnerGroup, plan_sites
from tacit.estimators.guarantee import (
    Guarantee,
    Source,
    site_guarantee,
    summed_sites_guarantee,
)
from tacit.estimators.planning import Plan
from tacit.learners.query import Query
from tacit.learners.sites.losses import loss_of
from tacit.learners.sites.projection import LinearModel, winners
from tacit.learners.sites.train import TrainSite
from tacit.owner.policy import Policy
from tacit.service.kinds.campaign_file import HelpedSpec, register
from tacit.service.kinds.classifier import ClassifierTerms
from tacit.service.kinds.kind import (
    MEANING,
    RECORDS_NOT_PROTECTED,
    CampaignTerms,
    Guesses,
    KindWords,
    Notes,
    Publication,
    Published,
)
from tacit.sums import HOW
from tacit.sums.vector_terms import RecordTerms
from tacit.wire import message

_WORDS = KindWords(
    one="site",
    many="sites",
    steps="steps",
    model="the combined model",
    asking="Every site is asked once for a model of its own records, trained with noise. Sites "
    "that do not answer in time are left out.",
    leaving="Your records stay with you. One linear model leaves your machine, once, trained so "
    "that no single record shows.",
    asks_for="a linear model trained on your records",
    belief="one of your records before seeing it, this report",
    notion="differential privacy for each record",
    not_protected=(
        *RECORDS_NOT_PROTECTED,
        "The data user's own sample: it shows in bounds, projections and weights.",
        MEANING,
    ),
)
_SUMMED_WORDS = replace(
    _WORDS,
    steps="rounds",
    model="the refined model",
    asking="Every site is asked in every round what the model published so far still gets wrong "
    "on its records, added up, out of one budget for all rounds together. Two servers add up over "
    "sites; how much a round counts is how precise its sum is: noise alone changes nothing.",
    leaving="Your records stay with you.",
    asks_for="what the published model still gets wrong on your records, added up",
    not_protected=(
        "Who takes part, what they call themselves here, and when reports arrived. How many "
        "records anybody has is protected.",
        "A person with several records, here or elsewhere: their number times epsilon, at a larger "
        "delta.",
        "The data user's own sample: its model is where this one begins, and shows in it.",
        MEANING,
    ),
)


@message("campaign.sites")
@dataclass(frozen=True, eq=False)
class SiteTerms(CampaignTerms):
    """One question to all sites that have enrolled when it is put. Whoever has not answered in time
    is left out.

    With fewer than `minimum` answers the model is that of the public rows alone.
    """

    kind: ClassVar[str] = "sites"
    words: ClassVar[KindWords] = _WORDS
    summed_words: ClassVar[KindWords | None] = _SUMMED_WORDS

    query: TrainSite
    combine: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.combine not in COMBINE:
            raise bad("combine", f"one of {tuple(COMBINE)}", self.combine)
        if not self.minimum <= self.start:
            raise bad("minimum", f"at most start, {self.start}", self.minimum)
        if not (self.query.dim, self.query.classes) == (self.schema.dim, self.schema.labels):
            raise bad("query", "made for the schema", (self.query.dim, self.query.classes))

    @property
    def owners_needed(self) -> int:
        return self.minimum

    @property
    def has_names(self) -> bool:
        return True

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self.query.epsilons

    @property
    def rounds_expected(self) -> int:
        return 1

    def example(self) -> Query:
        return self.query

    def run(self, public: Public) -> Generator[Any, Any, SiteEnsembleModel]:
        return ensemble_of_sites(self.query, public.X, public.y, self.combine)

    def guesses(self, at: Any, public: Public) -> Sequence[Guesses]:
        """Of a result: each row by parts of the model that were not trained on it, as far as
        that is possible.
        """
        if not isinstance(at, SiteEnsembleModel):
            return []
        return [self._guess(at.unseen_scores)]

    def alone(self, result: SiteEnsembleModel, public: Public) -> Published:
        return LinearModel(self.query.projection, result.public_vectors, self._bounds)

    def alone_guesses(self, result: SiteEnsembleModel | None, public: Public) -> Guesses:
        """What is published where all weights are 0."""
        if result is not None:
            return self._guess(result.public_scores)
        every = models_of_public(self.query, public.X, public.y)
        return self._guess(np.array([each.scores for each in every]).T)

    def _guess(self, scores: FloatArray) -> Guesses:
        """Classes, or levels of the target, by scores (rows, vectors)."""
        return steps_of(scores[:, 0]) if self._bounds else winners(scores)

    @property
    def _bounds(self) -> tuple[float, float] | None:
        """Of a target that is a number."""
        schema = self.schema
        return (schema.range.low, schema.range.high) if isinstance(schema, NumberSchema) else None

    def notes(self, policy: Policy, keys: Mapping[str, str]) -> Notes:
        """Between which bounds a target is read."""
        if self._bounds is None:
            return Notes()
        low, high = self._bounds
        said = (
            f"{self.label} is read as a number from {in_digits(low, 6)} to {in_digits(high, 6)}: "
            "beyond is the bound"
        )
        return Notes(
            (f"{said}, and records without a number are left out",), {"range": [low, high]}
        )

    def weights(self, report: Sequence[Mapping[str, Any]]) -> list[float]:
        """Of each site, the mean over the vectors of the model."""
        return [float(np.mean(np.abs(each["weights"]))) for each in report]

    def publication(self, result: SiteEnsembleModel, public: Public, sums: int) -> Publication:
        heard = len(result.models)
        return Publication(
            estimator="SiteEnsembleRegressor" if self._bounds else "SiteEnsemble",
            model=result.linear(self.query, self._bounds),
            guarantee=site_guarantee(
                self.query,
                result.epsilons if heard else np.array(self.epsilons),
                Source(len(public.y)),
                self.owner_coins,
            ),
            report=[
                {
                    "epsilon": epsilon,
                    "weights": [float(one.weights[place]) for one in result.combined],
                }
                for place, epsilon in enumerate(result.epsilons.tolist())
            ],
            ended=f"{heard} sites answered"
            if heard
            else f"fewer than {self.minimum} sites answered: the sample alone",
            fitted={
                "public_only_score_": result.public_only_score(public.y, self._bounds),
                "query_": self.query,
            },
        )


@message("campaign.sites.sums")
@dataclass(frozen=True, eq=False)
class SummedSiteTerms(ClassifierTerms):
    """`owners` sites that are believed to hold `rows` records each, all of them asked in every
    round for a sum over their records; two servers add up, with noise for one record.

    The algorithm is the classifier's, and takes records for owners.
    """

    kind: ClassVar[str] = SiteTerms.kind
    words: ClassVar[KindWords] = _SUMMED_WORDS

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.query.terms, RecordTerms):
            raise bad("query", "a sum over records", self.query.terms.mechanism)
        if not self.minimum <= self.start:
            raise bad("minimum", f"at most start, {self.start}", self.minimum)

    @property
    def has_names(self) -> bool:
        return True

    @property
    def crowd(self) -> Population:
        return Population(
            self.owners * self.rows,
            self.epsilons[0],
            trust=HOW,
            delta=self.example().delta,
            site_records=self.most,
            site_minimum=self.minimum,
        )

    @property
    def most(self) -> int:
        """Records that a site adds up at most."""
        terms = self.query.terms
        return terms.records if isinstance(terms, RecordTerms) else 0

    def notes(self, policy: Policy, keys: Mapping[str, str]) -> Notes:
        """What sums of two servers mean for a site."""
        told = super().notes(policy, keys)
        line = (
            f"what leaves is a sum over the first {self.most:,} of your records, each shortened to "
            "a public length, and their number: noise hides any one of them, and the number"
        )
        return Notes((line, *told.lines), {**told.figures, "records": self.most})

    def promise(self, result: Refined, public: Public) -> Guarantee:
        return summed_sites_guarantee(
            self.epsilons[0],
            self.example().delta,
            len(result.records),
            Source(len(public.y)),
            stream=self.owner_coins,
            influence=self.query.influence,
        )

    def publication(self, result: Refined, public: Public, sums: int) -> Publication:
        right = result.own.held_out.argmax(axis=1) == public.y
        fitted = {"public_only_score_": float(np.mean(right)), "query_": None}
        made = super().publication(result, public, sums)
        return replace(made, estimator="SiteEnsemble", fitted=fitted, stages=())


_SOUND = ("objective", "output")
_MORE = 4  # times the records that a site is believed to hold it may add up, if nothing is said
# what is of models that sites train by themselves
_ALONE = ("combine", "privacy", "loss", "ridge", "components", "target", "target_range")
_CLASSES, _NUMBERS = _TARGETS = "classes", "numbers"


@register
@dataclass(frozen=True, kw_only=True)
class SiteSpec(HelpedSpec):
    """Entries of a file of kind "sites", beside those of every campaign: parameters are those of
    `SiteEnsemble`.

    epsilon : of each record, for all that its site reports.
    minimum : how many sites must have answered at the deadline; with fewer, the model is that of
    the sample alone.
    records : how many records a site is believed to hold; then a campaign that cannot add to the
    sample is refused before anybody spends anything. Needed with trust = "two servers"; then
        most_records : how many records a site adds up at most (default: four times as many); of
        more, the first. So far one lying site can go.  rounds : of sums.
    target : "classes", or "numbers" as in `SiteEnsembleRegressor`; then target_range, two numbers,
    are the public bounds of the column to predict (default: as the sample shows them).
    """

    terms: ClassVar[type[CampaignTerms]] = SiteTerms

    minimum: int = 1
    records: int | None = None
    most_records: int | None = None
    rounds: int | None = None
    combine: str = "guarded"
    privacy: str = "objective"
    loss: str = "auto"
    ridge: float | None = None
    components: int | None = None
    target: str = "classes"
    target_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.target_range is not None and one_of("target", self.target, _TARGETS) != _NUMBERS:
            raise bad("target_range", f"given with target = {_NUMBERS!r} only", self.target_range)
        one_of("combine", self.combine, COMBINE)
        # what may only be simulated is not asked of anybody
        one_of("privacy", self.privacy, _SOUND)
        super().__post_init__()
        if not self.has_helper:
            if not (self.most_records is None and self.rounds is None):
                raise ValueError(f"most_records and rounds go with trust = {HOW!r} only")
            return
        only = {field.name: field.default for field in fields(self) if field.name in _ALONE}
        for name, value in only.items():
            if getattr(self, name) != value:
                raise bad(name, f"left out with trust = {HOW!r}", getattr(self, name))
        if self.records is None:
            raise ValueError(f"records must be given with trust = {HOW!r}: a site's, about")

    def plan(self, terms: SiteTerms | SummedSiteTerms, public: Public) -> GroupPlan | None:
        if self.records is None or isinstance(terms, SummedSiteTerms):
            return None  # sums were foreseen when terms were made
        group = OwnerGroup(self.start, self.records, float(np.median(self.epsilon)))
        return plan_sites(terms.query, public, self.combine, group)

    @property
    def roles(self) -> ColumnRoles:
        numbers = one_of("target", self.target, _TARGETS) == _NUMBERS
        bounds = None if self.target_range is None else Range(*map(float, self.target_range))
        return replace(super().roles, numbers=numbers, bounds=bounds)

    def prepare(self, sum_key: bytes = b"") -> tuple[SiteTerms | SummedSiteTerms, Public]:
        if self.has_helper:
            return self._prepare_sums(sum_key)
        sample = self.read_sample()
        public = sample.public
        projections = projections_of(public.X, self.components)
        first = TrainSite(
            round=1,
            attempt=1,
            owners=None,
            projection=projections[0],
            loss=loss_of(self.loss, numbers=public.classes == 0),
            labels=public.classes,
            privacy=self.privacy,
            menu=self.epsilon,
            ridge=None if self.ridge is None else positive("ridge", self.ridge),
        )
        query = tune_site(first, public.X, public.y, float(np.median(self.epsilon)), projections)
        made = SiteTerms(**self.common(sample, self.minimum), query=query, combine=self.combine)
        return made, public

    def _prepare_sums(self, sum_key: bytes) -> tuple[SummedSiteTerms, Public]:
        sample, (epsilon,) = self.read_sample(), self.epsilon
        records = whole("records", self.records, 1)
        most = _MORE * records if self.most_records is None else self.most_records
        if not whole("most_records", most, 1) >= records:
            raise bad("most_records", f"at least records, {records}", most)
        crowd = Population(
            self.start * records,
            epsilon,
            trust=HOW,
            delta=self.delta,
            site_records=most,
            site_minimum=self.minimum,
        )
        look = look_ahead(sample.public, fit_public(sample.public), crowd, MAPS)
        if look.why_not:
            raise ValueError(str(Plan.of(look)))
        rounds = look.rounds if self.rounds is None else number_of_rounds(self.rounds)
        asking = refine(sample.public, crowd, "auto", epsilon, rounds=rounds, outlook=look)
        made = SummedSiteTerms(
            **self.common(sample, self.minimum),
            query=next(asking),
            owners=self.start,
            rows=records,
            rounds=rounds,
            features=MAPS,
            maps=None,
            keys=self.keys(sum_key),
            budget=epsilon,
        )
        return made, sample.public
