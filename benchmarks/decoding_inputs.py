"""What is decoded to find the costliest: ordinary messages, and inputs built to do harm."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgpack
import numpy as np

from tacit.algorithms.peers import Peer, Roster
from tacit.audit.staging import LATER_ROUND, SCHEMA, invite, record_queries, share_query
from tacit.data.schema import Category, Number, Schema
from tacit.estimators.own_models import KeptModel
from tacit.estimators.persistence import SavedModel
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import FeatureMap, Rows
from tacit.learners.models.scores import Forest, Linear, ScoreModel, Trees
from tacit.learners.owners.centroid import Centroid
from tacit.learners.owners.gradient import Discriminant
from tacit.learners.owners.logistic import Logistic
from tacit.learners.owners.stump import Stump, StumpModel
from tacit.learners.peers.cells import Cells, Cut
from tacit.learners.peers.leaf_counts import CountLeaves
from tacit.learners.peers.peer_model import Additive, ScorePart
from tacit.learners.query import Invitation
from tacit.service.kinds.boosting import BoostingTerms
from tacit.service.kinds.kind import CampaignTerms
from tacit.service.protocol.peer_replay import Spoken, Turn
from tacit.sums.halves import Batch, SumTerms, TallyLaw
from tacit.sums.protocol import Block, HelperSum
from tacit.wire.codec import VERSION, _class_of, fields_of, plain

KINDS: dict[str, Any] = {
    "question": Invitation,
    "greeting": CampaignTerms,
    "roster": Roster,
    "turn": Turn,
    "spoken": Spoken,
    "block": Block,
    "added": HelperSum,
    "model": SavedModel,
    "own model": KeptModel,
    "schema": Schema,
}
_NUMBERS = (-1, 0, 1, 2, 3, 32, 255, 2**16, 2**20, 2**20 + 1, 2**31, 2**63 - 1, 2**64 - 1, -(2**63))
_FLOATS = (0.0, 5e-324, 1e-300, 1e-4, 0.5, 1.0, 20.0, 700.0, 1e300, -1.0, float("nan"))
_LONGEST = 20_000  # bytes of an input, about


@dataclass(frozen=True, eq=False)
class Made:
    """An input: lists as they travel, or bytes, for one kind of message; `way` says how it was
    made.
    """

    kind: str
    content: Any
    way: str
    data: bytes | None = None


def ordinary() -> list[Any]:
    """Messages as honest parties send them, small and large."""
    rng = np.random.default_rng(3)
    wide = Schema(
        (
            *(Number(f"measurement {i}", 0.0, 100.0 + i) for i in range(12)),
            Category("province", tuple(f"province {i}" for i in range(20))),
        ),
        ("no", "yes"),
    )
    stumps = Ensemble(2, tuple((0.5, StumpModel(i % 3, 0.25, 0, 1)) for i in range(40)))
    tree = Trees(
        np.array([0, -1, -1]),
        np.zeros(3),
        np.array([1, 0, 0]),
        right=np.array([2, 0, 0]),
        value=np.array([0.0, 1.0, -1.0]),
        roots=np.zeros(1, dtype=np.int64),
        classes=np.ones(1, dtype=np.int64),
    )
    scores = ScoreModel(2, (Linear(np.ones((3, 2)), np.zeros(2)), Forest(tree, np.zeros(2))))
    mapped = FeatureMap(Rows(), np.zeros(3), np.eye(3))
    cells = Cells(wide, 8)
    parts = tuple(
        ScorePart(i, i % 12, tuple(rng.normal(size=8).tolist()), i % 3) for i in range(24)
    )
    cuts = tuple(Cut(column, (0, 0, 0, 1, 1, 1, 2, 2)) for column in range(12))
    terms = SumTerms(TallyLaw(2.0, 10), bytes(32), bytes([1]) * 32)
    refined = Discriminant(mapped, scores, 1.0)
    facts = Facts(3, 2, np.array([-0.5, 0.0, 0.5]), np.arange(3))
    asked = ReportTerms("privunit", (0.5, 1.0, 2.0))
    return [
        wide,
        *(
            invite(share_query(learner, "privunit", (0.5, 1.0), LATER_ROUND))
            for learner in (Stump(3), Centroid(), Logistic())
        ),
        invite(
            ShareQuery(
                1, 1, 100, learner=refined, facts=Facts(3, 2), ensemble=Ensemble(2), terms=asked
            )
        ),
        invite(ShareQuery(41, 1, 100, learner=Stump(), facts=facts, ensemble=stumps, terms=asked)),
        *(invite(query) for query in record_queries((0.5, 1.0))),
        invite(
            CountLeaves(25, 1, (3,), cells=cells, cuts=cuts, model=Additive(parts), menu=(0.5,))
        ),
        BoostingTerms(
            "trial",
            SCHEMA,
            "ill",
            start=20,
            minimum=4,
            deadline=60.0,
            sample=bytes(32),
            learner=Stump(),
            facts=facts,
            terms=asked,
            rounds=9,
            owners=9,
            attempts=1,
        ),
        Roster(tuple(Peer(i, bytes([i]) * 32, f"hospital {i}", (0, 1, 2)) for i in range(20))),
        Turn(bytes(600), bytes(200)),
        Spoken(bytes(32), bytes(100)),
        Block(Batch(bytes(32), 3, 1, terms), 0, b"", b""),
        HelperSum(bytes(32), 12, bytes(16)),
        KeptModel(
            cells,
            Additive(parts),
            (1,),
            scale=1.0,
            offset=0.0,
            tables=tuple(np.zeros(8) for _ in range(13)),
        ),
    ]


def hostile_patterns() -> Iterator[Made]:
    """One of each harm that we can think of, in several sizes."""
    for kind in KINDS:
        tag = _tag(KINDS[kind])
        for size in (8, 64, 512, 4096):
            for name, inside in _insides(tag, size):
                yield Made(kind, [VERSION, inside], f"{name} {size}")
        for raw, name in _odd_bytes():
            yield Made(kind, None, name, raw)


def _insides(tag: str, size: int) -> Iterator[tuple[str, Any]]:
    deep: Any = 0
    nested: Any = [tag]
    for _ in range(min(size, 400)):
        deep = [deep]
        nested = [tag, nested, nested] if size <= 8 else [tag, nested]
    yield "deep lists", deep
    yield "one class in itself", nested
    yield "tiny lists", [tag, *([[]] * size)]
    yield "tiny objects", [tag, [["features.rows"]] * size]
    yield "large numbers", [tag, *([2**64 - 1] * size)]
    yield "long text", [tag, "x" * (4 * size)]
    yield "long tag", ["x" * (4 * size)]
    yield "a map", [tag, {str(i): i for i in range(size)}]
    yield "many members", ["ensemble", 2, [[0.5, ["stump.model", 0, 0.0, 0, 1]]] * size]
    yield "ensembles", ["ensemble", 2, [[0.5, ["ensemble", 2, []]]] * size]
    menu = [1e-3 + i * 1e-5 for i in range(min(size, 256))]
    for query in record_queries((1.0,)):
        yield "long menu", plain(invite(_with_menu(query, tuple(menu))))
    wide = plain(invite(share_query(Stump(), "privunit", (1.0,), LATER_ROUND)))
    wide[-1][5][1] = 1 << 20  # type: ignore[index]
    yield "rows of a million numbers", wide


def _with_menu(query: Any, menu: tuple[float, ...]) -> Any:
    made = deepcopy(query)
    object.__setattr__(made, "menu", menu)
    return made


def _odd_bytes() -> Iterator[tuple[bytes, str]]:
    head = bytes((0x92, VERSION))
    yield head + b"\xdd\xff\xff\xff\xff", "a list that claims to be long"
    yield head + b"\xdf\xff\xff\xff\xff", "a map that claims to be long"
    yield head + b"\xc6\xff\xff\xff\xff", "bytes that claim to be long"
    yield head + b"\x91" * 4000, "opening brackets"
    yield head + b"\xc7\x09\x01\x01\xff\xff\xff\xff" + bytes(4), "an array that claims to be long"
    yield head + b"\x93\xa9invitation" + b"\x90" * 4000, "empty lists"


def typed(rng: np.random.Generator) -> Made:
    """A message made from the declared types, with values at random."""
    kind = str(rng.choice(list(KINDS)))
    room = [int(rng.choice((30, 300, 2000)))]
    return Made(kind, [VERSION, _value(KINDS[kind], room, 0, rng)], "made of types")


def _value(hint: Any, room: list[int], depth: int, rng: np.random.Generator) -> Any:
    room[0] -= 1
    if get_origin(hint) in (Union, UnionType):
        members = get_args(hint)
        return _value(members[int(rng.integers(len(members)))], room, depth, rng)
    if rng.random() < 0.02:
        hint = (int, float, str, bytes, NoneType, bool)[int(rng.integers(6))]
    scalars: dict[Any, Any] = {
        int: lambda: _NUMBERS[int(rng.integers(len(_NUMBERS)))],
        float: lambda: _FLOATS[int(rng.integers(len(_FLOATS)))],
        bool: lambda: bool(rng.integers(2)),
        str: lambda: "x" * int(rng.integers(12)),
        bytes: lambda: bytes(32),
        NoneType: lambda: None,
        Any: lambda: int(rng.integers(1 << 40)),
    }
    if hint in scalars:
        return scalars[hint]()
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        count = int(rng.integers(0, 40)) if inner[-1] is Ellipsis else len(inner)
        fits = inner[:1] * count if inner[-1] is Ellipsis else inner
        return [_value(each, room, depth + 1, rng) for each in fits if room[0] > 0]
    if get_origin(hint) is np.ndarray:
        whole = get_args(get_args(hint)[1])[0] is np.int64
        shape = tuple(int(n) for n in rng.integers(1, 6, size=int(rng.integers(1, 3))))
        return plain(np.zeros(shape, dtype=np.int64 if whole else np.float64))
    classes = [cls for cls in _class_of.values() if issubclass(cls, hint)]
    if depth > 12 or not classes:
        return 0
    cls = classes[int(rng.integers(len(classes)))]
    fields = [_value(each, room, depth + 1, rng) for _, each in fields_of(cls)]
    return [_tag(cls), *fields]


def changed(base: Any, rng: np.random.Generator) -> Made:
    """A message with up to three places changed."""
    if not isinstance(base, Made):
        kind = next(name for name, cls in KINDS.items() if isinstance(base, cls))
        base = Made(kind, [VERSION, plain(base)], type(base).__name__)
    if base.data is not None:
        raw = bytearray(base.data)
        raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
        return Made(base.kind, None, base.way, bytes(raw))
    content = deepcopy(base.content)
    for _ in range(int(rng.integers(1, 4))):
        _change(content, rng)
    grown = content if len(msgpack.packb(content)) <= _LONGEST else base.content
    return Made(base.kind, grown, base.way.removesuffix(", changed") + ", changed")


def _change(content: Any, rng: np.random.Generator) -> None:
    """One place, reached by a walk from the top."""
    here = content
    while True:
        place = int(rng.integers(len(here)))
        below = here[place]
        if isinstance(below, list) and below and rng.random() < 0.8:
            here = below
            continue
        break
    match int(rng.integers(6)):
        case 0:
            here[place] = _NUMBERS[int(rng.integers(len(_NUMBERS)))]
        case 1:
            here[place] = _FLOATS[int(rng.integers(len(_FLOATS) - 1))]
        case 2:
            here[place] = [*below, *below] if isinstance(below, list) and below else [below, below]
        case 3:
            here.insert(place, deepcopy(below))
        case 4:
            here[place] = _value(Invitation, [20], 6, rng)
        case _:
            here[place] = [below]


def _tag(cls: Any) -> str:
    return next((tag for tag, each in _class_of.items() if issubclass(each, cls)), "schema")
