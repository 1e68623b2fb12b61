"""The data user's own model, refined by owners that each speak at most once, over the network: the
classifier, and trees grown from owners' answers.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tacit._util.checks import bad, number_of_rounds, one_of, whole
from tacit._util.types import IntArray
from tacit.algorithms.combination import Combination
from tacit.algorithms.gradient_trees import LARGEST_LEAF, Growth, full_tree, grow
from tacit.algorithms.outlook import MAPS, Outlook, look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.question import DELTA, Population
from tacit.algorithms.refinement import Refined, refine
from tacit.data.cohort import Public
from tacit.estimators.guarantee import (
    Guarantee,
    Source,
    classifier_guarantee,
    under_two_servers,
)
from tacit.estimators.planning import Plan
from tacit.learners.learner import ShareQuery
from tacit.learners.owners.gradient import Gradient
from tacit.learners.owners.metric_gradient import MetricGradient
from tacit.learners.owners.sum_query import SharesQuery
from tacit.learners.query import Query, digest_of
from tacit.owner.policy import Policy
from tacit.owner.template import FreePart, QuestionForm, bounds_of
from tacit.service.kinds.campaign_file import CampaignSpec, HelpedSpec, register
from tacit.service.kinds.kind import (
    ONE_REPORT,
    OWNERS_NOT_PROTECTED,
    CampaignTerms,
    KindWords,
    Notes,
    Publication,
    Published,
    helper_notes,
)
from tacit.sums import HOW, NOBODY
from tacit.sums.halves import COORDINATOR, HELPER, REHEARSAL_HELPER
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import encode, message

_WORDS = KindWords(
    one="owner",
    many="owners",
    steps="rounds",
    model="the refined model",
    asking="Owners are asked what the model published so far still gets wrong, each once. Asked "
    "means spent, also without an answer. How much a round counts is how precise its answer is: "
    "noise alone changes nothing.",
    leaving=ONE_REPORT,
    asks_for="what the published model still gets wrong on your rows",
    belief="your rows before seeing it, this report",
    notion="local differential privacy",
    not_protected=(
        "The data user's own sample: its model is where this one begins, and shows in it.",
        *OWNERS_NOT_PROTECTED,
    ),
)
_SUMMED_WORDS = replace(
    _WORDS,
    asking="Everybody is asked in every round what the model published so far still gets wrong, "
    "out of one budget for all rounds together. Two servers add up; how much a round counts is how "
    "precise its sum is: noise alone changes nothing.",
    notion="differential privacy",
)


@message("campaign.classifier.maps")
@dataclass(frozen=True)
class PublicMaps:
    """What the features of a campaign's questions are made of: expansions by their digests, `bytes`
    long in all, which make `width` numbers of a row, and of these at most `features` features;
    the largest numbers in their centres and matrices, and how far a public row reaches at most.
    """

    expansions: tuple[bytes, ...]
    bytes: int
    width: int
    features: int
    centre: float
    matrix: float
    reach: float

    @classmethod
    def of(cls, look: Outlook, public: Public) -> "PublicMaps":
        """Of the basis of an outlook, which was fitted to public rows. A row reaches no farther
        than the root of 2 times its largest feature, because squares of scales add up to 1; scores
        of models that have not seen a row may be a few times those that have.
        """
        if not isinstance(look.combination, Combination):
            raise TypeError("questions of a campaign are made of the features of a basis")
        basis = look.combination.basis
        groups = basis.groups
        return cls(
            expansions=tuple(digest_of(group.expansion) for group in groups),
            bytes=sum(len(encode(group.expansion)) for group in groups),
            width=sum(len(group.centre) for group in groups),
            features=basis.dim,
            centre=max(float(np.abs(group.centre).max()) for group in groups),
            matrix=max(float(np.abs(group.matrix).max(initial=0.0)) for group in groups),
            reach=8 * float(np.abs(basis.transform(public.X)).max()),
        )


@dataclass(frozen=True, eq=False)
class RefinedTerms(CampaignTerms):
    """`owners` owners in all, believed to hold `rows` rows each; `query` is the first question."""

    words: ClassVar[KindWords] = _WORDS
    summed_words: ClassVar[KindWords | None] = _SUMMED_WORDS

    query: ShareQuery
    owners: int
    rows: int

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("owners", "rows"):
            whole(name, getattr(self, name), 1)
        if not self.owners <= self.start:
            raise bad("owners", f"at most start, {self.start}", self.owners)
        if not self.minimum <= self.owners_needed:
            raise bad(
                "minimum", f"at most the owners of a round, {self.owners_needed}", self.minimum
            )
        facts = self.query.facts
        if not (facts.dim, facts.classes) == (self.schema.dim, len(self.schema.classes)):
            raise bad("query", "made for the schema", (facts.dim, facts.classes))

    @property
    def owners_needed(self) -> int:
        return max(1, self.owners // self.rounds_expected)

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self.query.epsilons

    @property
    def crowd(self) -> Population:
        """Those to be asked, as predictions see them."""
        return Population(self.owners, float(np.median(self.epsilons)), self.rows)

    def example(self) -> Query:
        return self.query

    @property
    def influence(self) -> str:
        """What one report to the widest question could do, in words."""
        return self.query.influence

    def guesses(self, at: Any, public: Public) -> Sequence[IntArray]:
        """Of a result: each row by models that have not seen it."""
        if not isinstance(at, Refined):
            return []
        return [np.argmax(scores, axis=1) for scores in at.held_out[1:]]

    def alone(self, result: Refined, public: Public) -> Published:
        return result.own.model

    def promise(self, result: Refined, public: Public) -> Guarantee:
        """What the model of a result promises to owners."""
        return classifier_guarantee(
            self.query.terms.mechanism,
            np.array(self.epsilons),
            Source(len(public.y)),
            self.owner_coins,
            self.influence,
        )

    def publication(self, result: Refined, public: Public, sums: int) -> Publication:
        return Publication(
            estimator="PrivateClassifier",
            model=result.model,
            guarantee=self.promise(result, public),
            report=[asdict(record) for record in result.records],
            ended=result.ended,
            fitted={
                "public_only_score_": result.own.accuracy,
                "public_model_": result.own.name,
                "predicted_gain_": result.predicted_gain,
            },
            stages=result.stages,
        )


@message("campaign.classifier")
@dataclass(frozen=True, eq=False)
class ClassifierTerms(RefinedTerms):
    """`rounds` rounds over all owners; `maps` says what later questions may be made of.

    A question with fewer reports than `minimum` is void, and others are asked. `features` are the
    feature maps that the data user may choose from. Where two servers add up shares, `keys` are
    those of coordinator and helper, everybody is asked in every round by the same features (`maps`
    is None), and `budget` is the epsilon of all rounds together.
    """

    kind: ClassVar[str] = "classifier"

    rounds: int
    features: tuple[str, ...]
    maps: "PublicMaps | None"
    keys: tuple[bytes, bytes] | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        number_of_rounds(self.rounds)
        super().__post_init__()
        summed = isinstance(self.query.terms, VectorTerms)
        given = (self.maps is None, self.keys is not None, self.budget is not None)
        if not all(each == summed for each in given):
            raise ValueError("keys and budget must be given for sums of two servers, and only then")

    @property
    def owners_needed(self) -> int:
        if isinstance(self.query.terms, VectorTerms):
            return max(self.minimum, self.query.terms.minimum)
        return super().owners_needed

    @property
    def epsilons(self) -> tuple[float, ...]:
        return self.query.epsilons if self.budget is None else (self.budget,)

    @property
    def answers(self) -> int:
        return 1 if self.keys is None else self.rounds

    @property
    def once(self) -> bool:
        return self.keys is None

    @property
    def servers(self) -> tuple[bytes, bytes] | None:
        return self.keys

    @property
    def sum_attempts(self) -> int:
        return 0 if self.keys is None else _ATTEMPTS

    @property
    def trust(self) -> str:
        if self.keys is None:
            return super().trust
        return "your own machine, and that one of two servers, the helper, is honest"

    @property
    def rounds_expected(self) -> int:
        return self.rounds

    @property
    def crowd(self) -> Population:
        """Those to be asked, as predictions see them."""
        trust, delta = (NOBODY, DELTA) if self.keys is None else (HOW, self.example().delta)
        epsilon = float(np.median(self.epsilons))
        return Population(self.owners, epsilon, self.rows, trust, delta)

    def example(self) -> Query:
        return self.query if self.keys is None else SharesQuery.of(self.query, 1, self.keys)

    def forms(self) -> tuple[QuestionForm, ...]:
        """The published model is part of what an owner computes with: it differs each round. Its
        features are made of the same maps, of which some may be left out.
        """
        (form,), maps, classes = super().forms(), self.maps, len(self.schema.classes)
        if maps is None:
            return (self._summed_form(form),)
        largest, features = maps.reach, "learner.features"
        free = (
            FreePart(
                f"{features}.expansion",
                "which public features are used",
                numbers=0,
                largest=0.0,
                kinds=("features.joined",),
                known=maps.expansions,
            ),
            FreePart(f"{features}.centre", "their centre", maps.width, maps.centre),
            FreePart(f"{features}.matrix", "their scales", maps.width * maps.features, maps.matrix),
            FreePart(f"{features}.level", "the scale of the constant", 1, 1.0),
            FreePart("learner.weights", "the model so far", maps.features * classes, _SCORES),
            FreePart("learner.reach", "for how much a row counts", 1, largest),
            FreePart("learner.radius", "for how much an owner counts", 1, largest),
        )
        numbers = (classes - 1) * maps.features
        growth = maps.bytes + 8 * sum(part.numbers for part in free)
        sizes = {bound.name: bound for bound in bounds_of(self.query, growth)}
        width = replace(sizes.pop("numbers in an answer"), most=numbers)
        return (replace(form, free=(*form.free, *free), bounds=(width, *sizes.values())),)

    def _summed_form(self, form: QuestionForm) -> QuestionForm:
        """The same features in every round; the model, how long a share may be, and along which
        axes how much of it is said, differ.
        """
        learner = self.query.learner
        if not isinstance(learner, Gradient):
            raise TypeError("sums of a classifier are of gradients")
        metric: tuple[FreePart, ...] = ()
        if isinstance(learner, MetricGradient):
            sizes = learner.axes.size, learner.parts.size
            metric = (
                FreePart("learner.axes", "along which of their axes", sizes[0], _UNIT),
                FreePart("learner.parts", "how much is said along each", sizes[1], _SCORES),
            )
        free = (
            *metric,
            FreePart("learner.weights", "the model so far", learner.weights.size, _SCORES),
            FreePart("learner.radius", "for how much an owner counts", 1, _SCORES),
            FreePart("terms.law.radius", "the longest share", 1, _SCORES),
            FreePart("terms.law.step", "the step that shares are rounded to", 1, _SCORES),
            FreePart("number", "which sum it is", 1, _MOST_SUMS),
        )
        bounds = bounds_of(form.example, 8 * sum(part.numbers for part in free))
        return replace(form, free=(*form.free, *free), bounds=bounds, total=self.budget)

    def run(self, public: Public) -> Generator[Any, Any, Refined]:
        return refine(
            public,
            self.crowd,
            self.query.terms.mechanism,
            np.array(self.epsilons),
            maps=self.features,
            rounds=self.rounds,
        )

    def promise(self, result: Refined, public: Public) -> Guarantee:
        guarantee = super().promise(result, public)
        if self.budget is None:
            return guarantee
        delta, asked = self.example().delta, max(1, len(result.records))
        return under_two_servers(guarantee, self.budget, delta, asked)

    def notes(self, policy: Policy, keys: Mapping[str, str]) -> Notes:
        """What sums of two servers mean for an owner."""
        if self.keys is None:
            return Notes()
        return helper_notes(self.keys[HELPER], policy, self.example())

    def with_public_coins(self, seed: int) -> Self:
        keys = None if self.keys is None else (self.keys[COORDINATOR], REHEARSAL_HELPER)
        return replace(self, keys=keys)


_ATTEMPTS = 3  # deadlines that a sum of too few owners waits for more
_MOST_SUMS = 1 << 20
_UNIT = 1.01  # the largest number of an axis, whose length is 1 but for rounding
_SCORES = 1e6  # the largest weight of a feature: scores beyond are certainties
_FEATURES = ("auto", "linear", "products", "waves", "leaves")


@register
@dataclass(frozen=True, kw_only=True)
class ClassifierSpec(HelpedSpec):
    """Entries of a file of kind "classifier", which is the default, beside those of every campaign.

    owners : how many owners are asked in all, each once.  rows_per_owner : how many rows one is
    believed to hold. features, mechanism, rounds : as in `PrivateClassifier`.  minimum : reports
    that a round needs.
    """

    terms: ClassVar[type[CampaignTerms]] = ClassifierTerms

    owners: int
    rows_per_owner: int = 1
    features: str = "auto"
    mechanism: str = "auto"
    rounds: int | None = None
    minimum: int = 2

    def prepare(self, sum_key: bytes = b"") -> tuple[ClassifierTerms, Public]:
        sample = self.read_sample()
        features = one_of("features", self.features, _FEATURES)
        maps = None if features == "auto" else (features,)
        owners, rows = (
            whole("owners", self.owners, 1),
            whole("rows_per_owner", self.rows_per_owner, 1),
        )
        crowd = Population(owners, float(np.median(self.epsilon)), rows, self.trust, self.delta)
        look = look_ahead(sample.public, fit_public(sample.public), crowd, maps)
        if look.why_not:
            raise ValueError(str(Plan.of(look)))
        rounds = look.rounds if self.rounds is None else number_of_rounds(self.rounds)
        asking = refine(
            sample.public,
            crowd,
            self.mechanism,
            np.array(self.epsilon),
            rounds=rounds,
            outlook=look,
        )
        made = ClassifierTerms(
            **self.common(sample, self.minimum),
            query=next(asking),
            owners=owners,
            rows=rows,
            rounds=rounds,
            features=_maps_of(look),
            maps=None if crowd.summed else PublicMaps.of(look, sample.public),
            keys=self.keys(sum_key) if crowd.summed else None,
            budget=self.epsilon[0] if crowd.summed else None,
        )
        return made, sample.public


def _maps_of(look: Outlook) -> tuple[str, ...]:
    """The feature maps that questions are made of; of sums they are the same for everybody."""
    belief = look.combination
    return tuple(belief.maps) if isinstance(belief, Combination) else MAPS


@message("campaign.gradient trees")
@dataclass(frozen=True, eq=False)
class GradientTreesTerms(RefinedTerms):
    """`trees` trees of `depth` levels on the own model; each level asks owners of its own."""

    kind: ClassVar[str] = "gradient trees"

    trees: int
    depth: int

    def __post_init__(self) -> None:
        for name, most in (("trees", _MOST_TREES), ("depth", _DEEPEST)):
            if not whole(name, getattr(self, name), 1) <= most:
                raise bad(name, f"at most {most}", getattr(self, name))
        super().__post_init__()

    @property
    def rounds_expected(self) -> int:
        return self.trees * self.depth

    def forms(self) -> tuple[QuestionForm, ...]:
        """The data user's own model and the edges of bins stay as they are; to it come trees as
        they are grown, and the one that is growing.
        """
        (form,) = super().forms()
        learner: Any = self.query.learner
        nodes, columns = 2 ** (self.depth + 1) - 1, len(learner.edges)
        edges = float(np.abs(learner.edges).max(initial=0.0))
        largest = max(LARGEST_LEAF, edges, columns, nodes)
        each = _OF_A_NODE * nodes + _OF_A_TREE
        free = (
            FreePart(
                "learner.model",
                "your own and the trees grown so far",
                self.trees * each + 1,
                largest,
                kinds=("scores", "term.forest", "public.trees"),
                known=tuple(digest_of(term) for term in learner.model.terms),
            ),
            FreePart("learner.tree", "the tree that grows", each, largest, ("public.trees",)),
            FreePart("learner.radius", "for how much an owner counts", 1, 1.0),
        )
        growth = _BYTES * sum(part.numbers for part in free) + self.trees * _HEADING
        sizes = {bound.name: bound for bound in bounds_of(self.query, growth)}
        width = replace(sizes.pop("numbers in an answer"), most=self._widest.width)
        return (replace(form, free=(*form.free, *free), bounds=(width, *sizes.values())),)

    @property
    def influence(self) -> str:
        return self._widest.influence

    @property
    def _widest(self) -> ShareQuery:
        """The last question of a tree, by its form."""
        buds: Any = self.query.learner
        return replace(self.query, learner=replace(buds, tree=full_tree(self.depth - 1)))

    def run(self, public: Public) -> Generator[Any, Any, Refined]:
        terms, growth = self.query.terms, Growth(self.trees, self.depth)
        return grow(public, self.crowd, terms.mechanism, np.array(self.epsilons), growth)


_MOST_TREES, _DEEPEST = 100, 6
_OF_A_NODE, _OF_A_TREE = 5, 6  # numbers: column, cut, children, value; root, class, level, heat
_BYTES, _HEADING = 9, 256  # of a number, and of the names of a tree's parts


@register
@dataclass(frozen=True, kw_only=True)
class GradientTreesSpec(CampaignSpec):
    """Entries of a file of kind "gradient trees", beside those of every campaign: two classes.

    owners : how many owners are asked in all, each once.  rows_per_owner : how many rows one is
    believed to hold. mechanism : as in `PrivateClassifier`.  trees, depth : how much to grow; each
    level of each tree asks owners of its own.  minimum : reports that a level needs.
    """

    terms: ClassVar[type[CampaignTerms]] = GradientTreesTerms

    owners: int
    rows_per_owner: int = 1
    mechanism: str = "auto"
    trees: int = 4
    depth: int = 3
    minimum: int = 2

    def prepare(self, sum_key: bytes = b"") -> tuple[GradientTreesTerms, Public]:
        sample, rows = self.read_sample(), whole("rows_per_owner", self.rows_per_owner, 1)
        owners = whole("owners", self.owners, 1)
        growth = Growth(whole("trees", self.trees, 1), whole("depth", self.depth, 1))
        crowd = Population(owners, float(np.median(self.epsilon)), rows)
        asking = grow(sample.public, crowd, self.mechanism, np.array(self.epsilon), growth)
        made = GradientTreesTerms(
            **self.common(sample, self.minimum),
            query=next(asking),
            owners=owners,
            rows=rows,
            trees=growth.trees,
            depth=growth.depth,
        )
        return made, sample.public
