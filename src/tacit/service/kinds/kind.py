"""What every kind of campaign has: terms, words, what an owner is told before it joins, a model.

A kind is one file: its terms, a subclass of `CampaignTerms`, public and fixed from the beginning,
and how its campaign file is read, a subclass of `CampaignSpec` (see campaign_file). Coordinator and
devices know of a kind only what is declared here; what a kind does not need it leaves as it is.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

import tacit
from tacit._util.checks import bad, positive, whole
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.public_baseline import fit_public
from tacit.data.cohort import Public
from tacit.data.number_target import LEVELS, Range, steps_of
from tacit.data.schema import Schema
from tacit.data.table import UserTable
from tacit.estimators.guarantee import Guarantee
from tacit.estimators.measures import Measures, measure, measure_numbers
from tacit.estimators.persistence import SavedModel, Stages, attributes_of
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.scores import ScoreModel
from tacit.learners.peers.peer_model import ServedScores
from tacit.learners.query import Query, digest_of, report_size
from tacit.learners.sites.projection import LinearModel
from tacit.mechanisms.streams import Stream, rational, secure, seeded
from tacit.owner.policy import Policy
from tacit.owner.spending import round_up
from tacit.owner.template import QuestionForm, Template, bounds_of, repeat_parts
from tacit.service.protocol.handshake import REHEARSAL, is_rehearsal
from tacit.service.protocol.peer_replay import RelayTerms
from tacit.sums.halves import SumTerms


@dataclass(frozen=True, kw_only=True)
class KindWords:
    """Sentences in which a kind of campaign differs from others, on its page and before one joins.

    `one` and `many` name those who take part, `steps` what the campaign goes by, `asking` how they
    are asked, `leaving` what leaves them, `asks_for` the same in a few words for an owner's preview
    (empty: named after the question), `notion` the guarantee's name, and `not_protected` what it
    does not cover.
    """

    one: str
    many: str
    steps: str
    model: str
    asking: str
    leaving: str
    asks_for: str = ""
    belief: str
    notion: str
    not_protected: tuple[str, ...]

    @property
    def step(self) -> str:
        """One of the steps."""
        return self.steps.removesuffix("s")


ONE_REPORT = (
    "Your rows stay with you. One report leaves your machine, once, after chance has changed it."
)
MEANING = "What a good model says about people like you: it would say the same without you."
OWNERS_NOT_PROTECTED = (
    "That you take part, when your report arrived, and how many owners there are.",
    "You, if an owner is taken to be one of your devices or accounts, and you enrolled with "
    "several.",
    MEANING,
)
RECORDS_NOT_PROTECTED = (
    "Who takes part, what they call themselves here, the epsilon of each, and when reports "
    "arrived. How many records anybody has is protected.",
    "A person with several records, or with records at several places: their epsilons add up.",
)


@dataclass(frozen=True)
class Notes:
    """What an owner's preview says of one kind alone: lines for people, figures for programs."""

    lines: tuple[str, ...] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)


def helper_notes(helper: bytes, policy: Policy, asked: Query | None) -> Notes:
    """What it means that a second server adds up: whom one trusts, and what leaves, if shares are
    `asked` for in this way.
    """
    key = helper.hex()
    pinned = (
        "as your policy does" if key == str(policy.helper).lower() else "but your policy does not"
    )
    lines = (
        f"the campaign trusts the helper {key}, {pinned}: without that you take part in no sum",
    )
    if asked is None:
        return Notes(lines, {"helper": key})
    price = round_up(rational(asked.epsilons[0]))
    said = (
        f"your share leaves in two halves of {report_size(asked)} bytes together, sealed to two "
        "servers, with a proof that it is no longer than anybody's: neither sees it alone, both "
        f"together do. They add halves up, and each adds noise for epsilon {price}"
        + (f" and delta {asked.delta:g}" if asked.delta else "")
    )
    return Notes((said, *lines), {"helper": key, "delta": asked.delta})


Published: TypeAlias = Ensemble | ScoreModel | LinearModel | ServedScores
Guesses: TypeAlias = IntArray | FloatArray  # classes; or levels of a target that is a number


def guesses_of(model: Published, X: FloatArray) -> Guesses:
    """The classes that a model gives to encoded rows, or levels of their target."""
    if isinstance(model, Ensemble):
        return model.predict(X)
    if isinstance(model, LinearModel) and model.bounds is not None:
        return steps_of(model.scores(X)[:, 0])
    return np.asarray(np.argmax(model.probabilities(X), axis=1))


def measures_of(model: Published, rows: Public, sample: Public) -> Measures:
    """What people measure of a model on rows that it has not seen; `sample` is the data user's, by
    whose frequencies an ensemble without members speaks.
    """
    if isinstance(model, LinearModel) and model.bounds is not None:
        bounds = Range(*model.bounds)
        told = bounds.numbers(model.scores(rows.X)[:, 0])
        return measure_numbers(told, bounds.stretch(2 * rows.y / LEVELS - 1))
    if isinstance(model, Ensemble):
        return measure(model.parts(model.votes(rows.X), _frequencies(sample)), rows.y)
    return measure(model.probabilities(rows.X), rows.y)


def _frequencies(public: Public) -> FloatArray:
    """Of the classes in the sample; none where the target is a number."""
    counts = np.bincount(public.y if public.classes else [], minlength=public.classes)
    return np.asarray(counts / len(public.y))


@dataclass(frozen=True, kw_only=True)
class Publication:
    """What a campaign ends with, as the estimator of this name would save it.

    `report` has one entry for each round, site or participant; `ended` says why it ended. `fitted`
    are attributes that the estimator has beside the model, `stages` the models after each round.
    """

    estimator: str
    model: Published
    guarantee: Guarantee
    report: Sequence[Mapping[str, Any]]
    ended: str
    fitted: Mapping[str, Any] = field(default_factory=dict)
    stages: tuple[ScoreModel, ...] = ()


@dataclass(frozen=True, eq=False)
class CampaignTerms(ABC):
    """A campaign begins when `start` owners have enrolled; a question lasts at most `deadline`
    seconds.

    A question needs `minimum` reports. `label` is what the data user calls the column to predict,
    `sample` the digest of the data user's own sample.
    """

    kind: ClassVar[str]
    words: ClassVar[KindWords]
    summed_words: ClassVar[KindWords | None] = None  # where two servers add up; None: the same

    name: str
    schema: Schema
    label: str
    start: int
    minimum: int
    deadline: float
    sample: bytes

    def __post_init__(self) -> None:
        for name in ("name", "label"):
            text = getattr(self, name)
            if not (1 <= len(text) <= 200 and text.isprintable()):
                raise bad(name, "a name of 1 to 200 printable characters", text[:20])
        for column in self.schema.features:  # owners are shown them before they agree
            if not str(column.name).isprintable():
                raise bad("columns", "names of printable characters", str(column.name)[:20])
        for name in ("start", "minimum"):
            whole(name, getattr(self, name), 1)
        positive("deadline", self.deadline)

    # What is asked
    # -----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def epsilons(self) -> tuple[float, ...]:
        """What an owner may choose to spend on all its reports, sums aside."""

    @property
    @abstractmethod
    def owners_needed(self) -> int:
        """How many owners the first question needs: with fewer it waits, also when it was told
        to begin.
        """

    @property
    @abstractmethod
    def rounds_expected(self) -> int:
        """How many rounds there will be, as far as is known at the beginning."""

    @property
    def answers(self) -> int:
        """How many reports an owner gives at most, sums over all owners aside."""
        return 1

    @property
    def has_names(self) -> bool:
        """Whether those who take part go by a name, which they type themselves."""
        return False

    @property
    def once(self) -> bool:
        """Whether an owner is asked at most once."""
        return True

    @property
    def servers(self) -> tuple[bytes, bytes] | None:
        """The keys of coordinator and helper, where two servers add up; None: nowhere."""
        return None if self.sum_terms is None else self.sum_terms.keys

    @property
    def sum_terms(self) -> SumTerms | None:
        """On what terms sums of errors over all owners are asked; None: there are none."""
        return None

    @property
    def sum_attempts(self) -> int:
        """How many sums in a row may be void before the campaign ends."""
        return 0

    @property
    def relay(self) -> RelayTerms | None:
        """What participants need to check each other, where the coordinator only relays."""
        return None

    @abstractmethod
    def example(self) -> Query:
        """A question as it may come first: what an owner is shown before it joins."""

    @property
    def trust(self) -> str:
        """On whom the guarantee rests, in words."""
        return "nobody but your own machine"

    def forms(self) -> tuple[QuestionForm, ...]:
        """All forms that its questions have; those of the first form are the ones that cost."""
        example, free = self.example(), repeat_parts(self.rounds_expected)
        most = example.epsilons[-1]
        return (QuestionForm(example, free, bounds_of(example), self.answers, most),)

    def template(self) -> Template:
        """What an owner agrees to by joining."""
        columns = tuple(str(feature.name) for feature in self.schema.features)
        schema = digest_of(self.schema)
        return Template(
            self.name, schema, columns, label=self.label, trust=self.trust, forms=self.forms()
        )

    # How it runs, and what it publishes
    # --------------------------------------------------------------

    @abstractmethod
    def run(self, public: Public) -> Generator[Any, Any, Any]:
        """The algorithm that the campaign runs, from its beginning; `public` is the data user's
        sample.
        """

    @abstractmethod
    def guesses(self, at: Any, public: Public) -> Sequence[Guesses]:
        """What the model says of the sample, after each round, as a question or a result `at`
        knows it.
        """

    @abstractmethod
    def publication(self, result: Any, public: Public, sums: int) -> Publication:
        """What the algorithm's result becomes; `sums` were asked of all owners."""

    def alone(self, result: Any, public: Public) -> Published:
        """The model of the sample alone that a result is to be compared with."""
        return fit_public(public).model

    def alone_guesses(self, result: Any, public: Public) -> Guesses | None:
        """What this model says of the sample, each row unseen, at a result or (None) at the
        beginning; None: as `fit_public` says.
        """
        return None

    def weights(self, report: Sequence[Mapping[str, Any]]) -> list[float] | None:
        """From what is published: how much each that answered weighs, in the order of their names;
        None: nobody is weighed by itself.
        """
        return None

    def publish(
        self, result: Any, public: Public, questions: Sequence[bytes], sums: int = 0
    ) -> SavedModel:
        """The model of a campaign that has ended; `questions` are the digests of those that were
        answered.
        """
        content = self.publication(result, public, sums)
        columns = tuple(str(feature.name) for feature in self.schema.features)
        return SavedModel(
            program=tacit.__version__,
            kind=content.estimator,
            schema=self.schema,
            model=content.model,
            frequencies=_frequencies(public),
            names=columns,
            columns=len(columns),
            guarantee=content.guarantee.of_model,
            report=json.dumps(content.report),
            ended=content.ended,
            transcript=blake2b(b"".join(questions), digest_size=32).digest(),
            label=self.label,
            stages=Stages.of(content.stages),
            attributes=attributes_of(content.fitted),
        )

    # For whoever takes part
    # --------------------------------------------------------------------------

    def notes(self, policy: Policy, keys: Mapping[str, str]) -> Notes:
        """What an owner with this policy should know before it joins, beyond what is said of
        every kind; `keys` are the public keys of the owners in its file, by name.
        """
        return Notes()

    def schema_of(self, columns: Collection[str]) -> Schema:
        """The part of the schema that a file with these columns is read by: all of it."""
        return self.schema

    def encode_rows(self, table: UserTable) -> FloatArray:
        """Rows that were read by `schema_of`, as the algorithm takes them."""
        return self.schema.encode(table).X

    def attributes_of(self, columns: Collection[str]) -> tuple[int, ...]:
        """The numbers of the attributes that a file with these columns holds; none: all."""
        return ()

    # Rehearsals
    # --------------------------------------------------------------------------------------

    def rehearsal(self, seed: int) -> Self:
        """The same campaign, named as a rehearsal, with public coins from its seed."""
        return replace(self, name=f"{REHEARSAL}: {self.name}").with_public_coins(seed)

    def with_public_coins(self, seed: int) -> Self:
        """The same terms with everything that is secret or drawn in a campaign from the seed."""
        return self

    @property
    def owner_coins(self) -> Stream:
        """Where owners' coins come from: their operating systems, except in a rehearsal."""
        return seeded(0) if is_rehearsal(self.name) else secure()
