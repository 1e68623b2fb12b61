"""The other methods of peers over the network: paper D's random stumps, which everybody shares in
every round, and boosted trees that are passed along. And all methods among those that are alike,
which everybody is asked to show once, before it speaks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from tacit._util.checks import bad
from tacit.algorithms.peers import fair_share
from tacit.estimators.peer_methods import DEPTH, Method, epsilon_left, method_of
from tacit.learners.peers.alike import ALIKE, TOLD, CountClasses, few_leaves
from tacit.learners.peers.leaf_counts import CountLeaves, PeerQuery
from tacit.learners.peers.noisy_tree import GrowTree, all_cuts
from tacit.learners.peers.peer_model import Additive, NoisyTrees, ScorePart, Tree
from tacit.owner.policy import Policy
from tacit.owner.template import FreePart, QuestionForm, bounds_of, repeat_parts
from tacit.service.kinds.campaign_file import register
from tacit.service.kinds.kind import KindWords, Notes
from tacit.service.kinds.peers import PeerSpec, PeerTerms, every_attribute
from tacit.wire import encode, message

_STUMP_WORDS = replace(
    PeerTerms.words,
    steps="stumps",
    asking="In every round each participant counts its records by an attribute that is drawn in "
    "public, and sends the counts with noise; everybody checks who signed them. Whoever is silent "
    "is passed over.",
    leaving="Your records stay with you. A few noisy counts leave your machine in every round.",
    asks_for="counts of your records by the values of an attribute that is drawn in public",
)
_TREE_WORDS = replace(
    PeerTerms.words,
    asking="Participants take turns. Whoever has the turn grows a small tree on what the trees "
    "before it get wrong, and sends it with noise in its cuts and counts; everybody checks who "
    "signed it. Whoever is silent is passed over.",
    leaving="Your records stay with you. A small tree, drawn with noise, leaves your machine when "
    "it is your turn.",
    asks_for="a small tree on your records: its cuts, and noisy counts in its leaves",
)


@message("campaign.stumps")
@dataclass(frozen=True, eq=False)
class StumpTerms(PeerTerms):
    """Everybody speaks in each of `rounds` rounds; whoever comes later, in as many after them."""

    kind: ClassVar[str] = "stumps"
    words: ClassVar[KindWords] = _STUMP_WORDS
    method: ClassVar[str] = "stumps"

    @property
    def turns(self) -> int:
        return self.rounds

    @property
    def most_turns(self) -> int:
        return self.rounds

    @property
    def most_parts(self) -> int:
        return super().most_parts + self.rounds * self.start

    def example(self) -> PeerQuery:
        """By the attribute with the most cells, whose answer is longest."""
        cuts = every_attribute(self.cells)
        return CountLeaves(
            round=1,
            attempt=1,
            owners=(0,),
            cells=self.cells,
            cuts=(max(cuts, key=lambda cut: cut.size),),
            model=Additive(),
            menu=(fair_share(self.spent_on_turns, self.rounds),),
        )

    def forms(self) -> tuple[QuestionForm, ...]:
        """What was released so far and the cut differ from question to question."""
        part = ScorePart(1, 0, (0.0,) * max(self.cells.sizes), 0)
        free = (
            self.cuts_part("cuts", every_attribute(self.cells)),
            self.model_part(Additive((part,))),
        )
        form = self.form(free, _LONGER * len(encode(part)), self.rounds)
        return (replace(form, most=form.example.epsilons[-1]),)


_LONGER = 2  # numbers of later parts have more bytes than zeros do
_SCORE = 9  # bytes


@message("campaign.trees")
@dataclass(frozen=True, eq=False)
class TreeTerms(PeerTerms):
    """Turns as in campaigns of peers, in each of which a tree is grown and passed on."""

    kind: ClassVar[str] = "trees"
    words: ClassVar[KindWords] = _TREE_WORDS
    method: ClassVar[str] = "trees"

    @property
    def numbers_asked(self) -> int:
        return sum(size * size for size in self.cells.sizes)  # of each cut all cells of its column

    def example(self) -> PeerQuery:
        return GrowTree(
            round=1,
            attempt=1,
            owners=(0,),
            cells=self.cells,
            depth=DEPTH,
            candidates=all_cuts(self.cells, tuple(range(len(self.cells)))),
            model=NoisyTrees(),
            menu=(fair_share(self.spent_on_turns, self.turns),),
        )

    def forms(self) -> tuple[QuestionForm, ...]:
        """What was released so far, the candidates that a participant has, and the part of epsilon
        differ from turn to turn.
        """
        every = all_cuts(self.cells, tuple(range(len(self.cells))))
        longest = max(every, key=lambda cut: len(cut.leaves))
        nodes = (1 << DEPTH) - 1
        tree = Tree(1, (longest,) * nodes, (0.0,) * (nodes + 1), 0)
        free = (
            self.cuts_part("candidates", every),
            self.model_part(NoisyTrees((tree,))),
            FreePart("menu", "the epsilon of one answer", 1, self.spent_on_turns),
        )
        size = _LONGER * len(encode(tree)) + _SCORE * len(tree.scores)
        return (self.form(free, size, self.most_turns),)


class AmongAlike(PeerTerms):
    """Terms by which each who comes is asked, once, for counts by the attributes `columns`, and
    listens to those that are alike.
    """

    listen_to: ClassVar[str] = ALIKE

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        known = all(0 <= column < len(self.cells) for column in self.columns)
        if not (self.columns and known and len(set(self.columns)) == len(self.columns)):
            raise bad("columns", f"different attributes, of {len(self.cells)}", self.columns)

    @property
    def way(self) -> Method:
        return method_of(self.method, ALIKE, self.columns)

    @property
    def spent_on_turns(self) -> float:
        return epsilon_left(self.epsilon)

    @property
    def answers(self) -> int:
        return 1 + self.most_turns

    @property
    def rounds_expected(self) -> int:
        return self.start * (1 + self.turns)

    def notes(self, policy: Policy, keys: Mapping[str, str]) -> Notes:
        """What it takes to be seated, first."""
        told, turns = fair_share(self.epsilon, TOLD), super().notes(policy, keys)
        names = ", ".join(str(self.schema.features[column].name) for column in self.columns)
        seated = (
            f"before all turns, counts of your records by {names} (epsilon {told:g}) tell in noise "
            "who is alike: you listen to those. Your policy should allow one release more, and "
            "'contrasts' where it lists learners; whoever does not tell is far from nobody"
        )
        return Notes((seated, *turns.lines), turns.figures)

    def forms(self) -> tuple[QuestionForm, ...]:
        """Those of turns, and the question that seats."""
        cuts = [few_leaves(self.cells, column) for column in self.columns]
        price = fair_share(self.epsilon, TOLD)
        example = CountClasses(
            round=1,
            attempt=1,
            owners=(0,),
            cells=self.cells,
            cuts=tuple(cuts),
            model=Additive(),
            menu=(price,),
        )
        free = (*repeat_parts(1), self.cuts_part("cuts", cuts))
        seating = QuestionForm(example, free, bounds_of(example), times=1, most=price)
        return (*super().forms(), seating)


@message("campaign.peers.alike")
@dataclass(frozen=True, eq=False)
class AlikePeerTerms(AmongAlike, PeerTerms):
    """Turns in circles of those that are alike."""

    columns: tuple[int, ...]


@message("campaign.stumps.alike")
@dataclass(frozen=True, eq=False)
class AlikeStumpTerms(AmongAlike, StumpTerms):
    """Stumps in circles of those that are alike."""

    columns: tuple[int, ...]


@message("campaign.trees.alike")
@dataclass(frozen=True, eq=False)
class AlikeTreeTerms(AmongAlike, TreeTerms):
    """Trees in circles of those that are alike."""

    columns: tuple[int, ...]


PeerTerms.alike = AlikePeerTerms
StumpTerms.alike = AlikeStumpTerms
TreeTerms.alike = AlikeTreeTerms


@register
@dataclass(frozen=True, kw_only=True)
class StumpSpec(PeerSpec):
    """Entries of a file of kind "stumps": those of kind "peers"; everybody speaks in every one of
    `rounds` rounds.
    """

    terms: ClassVar[type[PeerTerms]] = StumpTerms


@register
@dataclass(frozen=True, kw_only=True)
class TreeSpec(PeerSpec):
    """Entries of a file of kind "trees": those of kind "peers"."""

    terms: ClassVar[type[PeerTerms]] = TreeTerms
