"""Peers that learn from each other's noisy counts (paper D), by one of the methods of
`PeerEnsemble`: in turns. The coordinator relays, and learns no more. The other methods, stumps and
trees, are kinds of their own (`peer_methods`).
"""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from math import inf
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from tacit._util.checks import bad, one_of, positive, whole
from tacit._util.types import FloatArray, IntArray
from tacit.algorithms.peers import (
    Attributes,
    Released,
    TurnsTaken,
    fair_share,
    turns_each,
    welcome_newcomers,
)
from tacit.data.cohort import Cohort, Public
from tacit.data.schema import Schema
from tacit.data.table import UserTable
from tacit.estimators.group_planning import GroupPlan, OwnerGroup, plan_peers
from tacit.estimators.guarantee import Source, peer_guarantee
from tacit.estimators.own_models import keep_own
from tacit.estimators.peer_methods import METHODS, Method, OwnTuning
from tacit.learners.peers.alike import (
    ALIKE,
    EVERYBODY,
    LISTENING,
    circles_of,
    served_part,
    telling_columns,
)
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.leaf_counts import CountLeaves, PeerQuery
from tacit.learners.peers.own_model import RHO, RIDGE
from tacit.learners.peers.peer_model import (
    Additive,
    NoisyTrees,
    ScorePart,
    ServedScores,
    SharedStumps,
)
from tacit.learners.query import digest_of
from tacit.mechanisms.streams import Stream, seeded
from tacit.owner.policy import Policy
from tacit.owner.template import FreePart, QuestionForm, bounds_of, part_like, repeat_parts
from tacit.service.kinds.campaign_file import CampaignSpec, register
from tacit.service.kinds.kind import (
    MEANING,
    RECORDS_NOT_PROTECTED,
    CampaignTerms,
    KindWords,
    Notes,
    Publication,
)
from tacit.wire import message

_WORDS = KindWords(
    one="participant",
    many="participants",
    steps="turns",
    model="the served model",
    asking="Participants take turns. Whoever has the turn counts its records by the attribute that "
    "tells most, and sends the counts with noise; everybody checks who signed them. Whoever is "
    "silent is passed over.",
    leaving="Your records stay with you. A few noisy counts leave your machine when it is your "
    "turn.",
    asks_for="the attribute that tells most, and counts of your records by its values",
    belief="whether one record is among yours before seeing them, all your reports together",
    notion="differential privacy for each record",
    not_protected=(
        *RECORDS_NOT_PROTECTED,
        "Replacing a record by another counts as two steps of the adjacency: twice epsilon.",
        "The model that you keep for yourself knows your exact records: it is not to be published.",
        MEANING,
    ),
)


_LATER = 100  # newcomers may add turns, so many times those that were planned
_PART = 64  # bytes of what a turn released, beside its scores
_MOST_NUMBERS = 1 << 21  # of a question: a message has four megabytes
_MOST_PEERS = 1 << 20


@message("campaign.peers")
@dataclass(frozen=True, eq=False)
class PeerTerms(CampaignTerms):
    """Those who have enrolled when it begins take turns, about `rounds` in all; whoever comes
    later, after them.

    `epsilon` is what a record may cost in all. The campaign waits `newcomers` seconds after the
    last turn was given for somebody to come; `coins` is the public seed that the order of turns is
    drawn with. The data user's sample gives the schema, and is what the page measures the served
    model on: nothing else of it enters.
    """

    kind: ClassVar[str] = "peers"
    words: ClassVar[KindWords] = _WORDS

    method: ClassVar[str] = "turns"  # of `PeerEnsemble`
    listen_to: ClassVar[str] = EVERYBODY
    alike: ClassVar[Callable[..., "PeerTerms"]]  # the terms among those that are alike

    cells: Cells
    rounds: int
    epsilon: float
    newcomers: float
    coins: int

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("rounds", self.rounds, 1)
        whole("coins", self.coins, 0)
        positive("epsilon", self.epsilon)
        if not 0 <= self.newcomers < inf:
            raise bad("newcomers", "a finite number of seconds", self.newcomers)
        if not (self.cells.schema == self.schema and len(self.schema.classes) == 2):
            raise bad("cells", "made for the schema, with two classes", len(self.schema.classes))
        if not self.numbers_asked <= _MOST_NUMBERS:
            wanted = f"so few that a question has at most {_MOST_NUMBERS:,} numbers"
            raise bad("cells", wanted, self.numbers_asked)

    @property
    def numbers_asked(self) -> int:
        """What a question has of numbers, one for each cell of what is counted: terms of a few
        bytes may mean billions, which nobody could send, and everybody would make who reads them.
        """
        return sum(self.cells.sizes)

    @property
    def has_names(self) -> bool:
        return True

    @property
    def epsilons(self) -> tuple[float, ...]:
        return (self.epsilon,)

    @property
    def owners_needed(self) -> int:
        return 1

    @property
    def rounds_expected(self) -> int:
        return self.start * self.answers

    @property
    def answers(self) -> int:
        return self.turns

    @property
    def turns(self) -> int:
        """How often a participant speaks if those who begin are all who come."""
        return turns_each(self.rounds, self.start, self.spent_on_turns)

    @property
    def most_turns(self) -> int:
        """How often it speaks at most: as if it were alone."""
        return turns_each(self.rounds, 1, self.spent_on_turns)

    @property
    def once(self) -> bool:
        return False

    @property
    def relay(self) -> Self:
        return self

    def example(self) -> PeerQuery:
        return CountLeaves(
            round=1,
            attempt=1,
            owners=(0,),
            cells=self.cells,
            cuts=every_attribute(self.cells),
            model=Additive(),
            menu=(fair_share(self.spent_on_turns, self.turns),),
        )

    @property
    def influence(self) -> str:
        """What one report to the widest question could do."""
        return max((form.example for form in self.forms()), key=lambda q: q.width).influence

    @property
    def trust(self) -> str:
        return "your own machine; the coordinator only relays what participants sign"

    def forms(self) -> tuple[QuestionForm, ...]:
        """What was released so far, the cuts and the part of epsilon differ from turn to turn."""
        scores = (0.0,) * max(self.cells.sizes)
        free = (
            self.cuts_part("cuts", every_attribute(self.cells)),
            self.model_part(Additive((ScorePart(1, 0, scores, 0),))),
            FreePart("menu", "the epsilon of one answer", 1, self.spent_on_turns),
        )
        return (self.form(free, _PART + 16 * len(scores), self.most_turns),)

    @property
    def most_parts(self) -> int:
        """How many parts a model may have, those of newcomers among them."""
        return self.rounds * _LATER

    def form(self, free: tuple[FreePart, ...], size: int, times: int) -> QuestionForm:
        """Questions like the example but for these parts, whose model grows by `size` bytes with
        every part, and which are put to one participant so many times.
        """
        example = self.example()
        bounds = bounds_of(example, growth=self.most_parts * size)
        repeated = (*repeat_parts(self.most_parts), *free)
        most = self.spent_on_turns
        return QuestionForm(example, repeated, bounds, times, most, total=most)

    def cuts_part(self, path: str, cuts: Sequence[Cut]) -> FreePart:
        """A part made of some of these cuts, as they are."""
        known = tuple(digest_of(cut) for cut in cuts)
        return FreePart(path, "which attributes are counted", numbers=0, largest=0.0, known=known)

    def model_part(self, one: Additive | NoisyTrees) -> FreePart:
        """A model of as many parts as there may be, each of which is like the only one of this."""
        said = "what participants released so far"
        return part_like("model", said, one, self.most_parts, _MOST_PEERS)

    def run(self, public: Public) -> Generator[Any, Any, TurnsTaken]:
        return self.replay()

    @property
    def way(self) -> Method:
        """The method of `PeerEnsemble`, and whom participants listen to."""
        return METHODS[self.method]

    def replay(self) -> Generator[Any, Any, TurnsTaken]:
        method = self.way

        def speak(
            present: int, held: Attributes, coins: Stream, known: Released
        ) -> Generator[Any, Any, Any]:
            plan = method.plan(dict.fromkeys(held, self.epsilon), self.rounds, present)
            return method.algorithm(self.cells, held, plan, coins, known)

        return welcome_newcomers(method.nothing, speak, seeded(self.coins))

    def guesses(self, at: Any, public: Public) -> Sequence[IntArray]:
        cells = self.cells.read(public.X)
        parts = served_model(at.model).parts
        scores = np.cumsum([part.score(cells) for part in parts], axis=0)
        return [(each > 0).astype(np.int64) for each in scores]

    def publication(self, result: TurnsTaken, public: Public, sums: int) -> Publication:
        served = served_model(result.model)
        parts = served.parts
        return Publication(
            estimator="PeerEnsemble",
            model=ServedScores(self.cells, served),
            guarantee=peer_guarantee(
                [self.epsilon],
                self.answers,
                Source(len(public.y)),
                self.owner_coins,
                self.influence,
                listen_to=self.listen_to,
            ),
            report=[
                {
                    "participant": peer.name,
                    "epsilon": self.epsilon,
                    "left": peer.number in result.roster.gone,
                }
                for peer in result.roster.peers
            ],
            ended=f"{len(parts)} turns of {len({part.speaker for part in parts})} participants"
            + _others(result.model),
            fitted={"released_": result.model},
        )

    def notes(self, policy: Policy, keys: Mapping[str, str]) -> Notes:
        """What turns mean for a participant."""
        return Notes(
            (
                f"the more take part, the less often you speak, at up to epsilon {self.epsilon:g} "
                "each time: your policy should allow that per release",
                *(f"the others may pin {name!r} by its key {key}" for name, key in keys.items()),
                "a model of your own rows and of what the others released stays in your folder",
            )
        )

    def schema_of(self, columns: Collection[str]) -> Schema:
        """A participant may lack attributes, but not all of them."""
        held = tuple(feature for feature in self.schema.features if feature.name in columns)
        if not held:
            raise ValueError(f"the file has no column of the campaign; it has {', '.join(columns)}")
        return Schema(held, self.schema.classes)

    def encode_rows(self, table: UserTable) -> FloatArray:
        return self.cells.encode(table.columns)

    def attributes_of(self, columns: Collection[str]) -> tuple[int, ...]:
        return self.cells.columns_of([feature.name for feature in self.schema_of(columns).features])

    @property
    def attributes(self) -> int:
        return len(self.cells)

    def keep_own_model(self, file: Path, rows: Cohort, released: Released, me: int) -> None:
        """Make a model of a participant's own rows and of what was released, and write it."""
        own = self.way.own(self.cells, rows, released, OwnTuning(RHO, RIDGE), me)
        keep_own(file, self.cells, own)

    def with_public_coins(self, seed: int) -> Self:
        return replace(self, coins=seed)

    def among_alike(self, columns: tuple[int, ...]) -> "PeerTerms":
        """The same campaign among those that are alike in these attributes."""
        same = {field.name: getattr(self, field.name) for field in fields(self)}
        return self.alike(**same, columns=columns)

    @property
    def spent_on_turns(self) -> float:
        """What a record may cost in all turns of its participant."""
        return self.epsilon


def served_model(released: Released) -> Additive | NoisyTrees:
    """The sum that may be served."""
    part = served_part(released, Additive())
    return part.model if isinstance(part, SharedStumps) else part


def _others(released: Released) -> str:
    """What is to be said of circles whose models are not served."""
    more = circles_of(released, ())[1:]
    return f"; {sum(map(len, more))} learned apart" if more else ""


def every_attribute(cells: Cells) -> tuple[Cut, ...]:
    """The cut of each attribute into all of its cells."""
    return tuple(cells.every_cell(column) for column in range(len(cells)))


@register
@dataclass(frozen=True, kw_only=True)
class PeerSpec(CampaignSpec):
    """Entries of a file of kind "peers", beside those of every campaign; two classes.

    epsilon : one number: of each record, for all turns of its participant.
    rounds : about how many turns there are.  bins : cells that a number's range is cut into.
    listen_to : "alike" or "everybody", as in `PeerEnsemble`.
    newcomers : seconds that the campaign waits for newcomers after the last turn was given; 0: it
    ends then. records : how many records a participant is believed to hold; then a campaign whose
    model will not beat that of the sample alone is refused before anybody spends anything.
    """

    terms: ClassVar[type[PeerTerms]] = PeerTerms

    rounds: int = 30
    bins: int = 16
    listen_to: str = ALIKE
    newcomers: float = 0.0
    records: int | None = None

    def __post_init__(self) -> None:
        if not len(self.epsilon) == 1:
            raise bad("epsilon", "one number: all participants have the same", self.epsilon)
        one_of("listen_to", self.listen_to, LISTENING)

    def plan(self, terms: PeerTerms, public: Public) -> GroupPlan | None:
        if self.records is None:
            return None
        group = OwnerGroup(self.start, self.records, self.epsilon[0])
        return plan_peers(
            terms.kind, terms.cells, self.rounds, public, group, listen_to=self.listen_to
        )

    def prepare(self, sum_key: bytes = b"") -> tuple[PeerTerms, Public]:
        sample = self.read_sample()
        coins = blake2b(self.name.encode() + sample.digest, digest_size=7).digest()
        made = self.terms(
            **self.common(sample, 1),
            cells=Cells(sample.schema, self.bins),
            rounds=self.rounds,
            epsilon=self.epsilon[0],
            newcomers=float(self.newcomers),
            coins=int.from_bytes(coins, "little"),
        )
        if self.listen_to == EVERYBODY:
            return made, sample.public
        return made.among_alike(telling_columns(made.cells, sample.public)), sample.public
