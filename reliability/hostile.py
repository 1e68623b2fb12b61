"""Hostile questions: signed with the right key, and built to do harm.

A question is taken apart into the plain lists that travel, some of its places are changed, and it
is signed as it then is: no check of ours has seen it before the gate does. Other questions are
damaged after they were signed.
"""

import time
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np

from reliability.campaign import LEARNERS, PRIVATE, Campaign
from reliability.hostile_anything import anything, other_queries
from reliability.hostile_peers import PEER_CHANGES, is_peers, peer_queries, terms_of_peers
from tacit.learners.query import PURPOSE, Query
from tacit.wire.codec import plain
from tacit.wire.envelopes import preimage

Content = list[Any]  # ["invitation", campaign, number, expires, schema, query]
CAMPAIGN, NUMBER, EXPIRES, SCHEMA, QUERY = 1, 2, 3, 4, 5
OWNERS, LEARNER, FACTS, ENSEMBLE, TERMS = (
    3,
    4,
    5,
    6,
    7,
)  # of ["share", round, attempt, owners, learner, ...]
DIM, CLASSES, VALUES, COLUMNS = 1, 2, 3, 4  # of ["facts", ...]

_INTEGERS = (
    -1,
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    255,
    256,
    2**20,
    2**20 + 1,
    10**9,
    10**13,
    2**31,
    2**63 - 1,
    2**63,
    2**64 - 1,
)
_FLOATS = (
    0.0,
    -0.0,
    5e-324,
    1e-300,
    -1.0,
    0.5,
    1.0,
    700.0,
    -700.0,
    701.0,
    1e6,
    1e150,
    1.7e308,
    -1.7e308,
)
_NOT_NUMBERS = (float("nan"), float("inf"), float("-inf"))
_EPSILONS = (
    1e-5,
    1e-4,
    0.05,
    0.1,
    0.3,
    0.30000000000000004,
    0.5,
    0.7,
    1.0,
    2.0,
    4.0,
    8.0,
    20.0,
    50.0,
    1e6,
    1e300,
)
_HOW_MANY = (0, 1, 1, 1, 1, 1, 2, 2, 2, 3)
_TEXTS = ("", "trial", "other", "x" * 201, "\x00", "a\nb", "\x1b[2J", "[/]", "none", "stump")


class Fuzz:
    """Endless hostile questions for one campaign, drawn with `rng`."""

    def __init__(self, campaign: Campaign, rng: np.random.Generator) -> None:
        self._campaign, self._rng = campaign, rng
        self._bases: list[Query] = [
            campaign.query(each, how) for each in LEARNERS for how in (*PRIVATE, "none")
        ]
        self._bases += 3 * peer_queries(campaign) + 3 * other_queries(campaign)
        self._number = 0

    def damaged(self) -> bytes:
        """A signed question, changed after it was signed, or bytes out of nowhere."""
        rng = self._rng
        data = bytearray(self.signed(self.fresh()))
        match int(rng.integers(5)):
            case 0:
                place = int(rng.integers(8 * len(data)))
                data[place // 8] ^= 1 << place % 8
            case 1:
                place = int(rng.integers(len(data)))
                data[place] ^= int(rng.integers(1, 256))
            case 2:
                data = data[: int(rng.integers(len(data)))]
            case 3:
                place = int(rng.integers(len(data) + 1))
                data[place:place] = rng.bytes(int(rng.integers(1, 9)))
            case _:
                data = bytearray(rng.bytes(int(rng.integers(300))))
        return bytes(data)

    def fresh(self) -> Content:
        """An honest question, taken apart."""
        self._number += 1
        query = self._bases[int(self._rng.integers(len(self._bases)))]
        content: Content = plain(self._campaign.invitation(self._number, query))  # type: ignore[assignment]
        return content

    def hostile(self) -> Content:
        """A question with up to three of its places changed; one in ten as it is."""
        content = self.fresh()
        inside = (
            INSIDE
            if is_shares(content)
            else PEER_CHANGES * 2
            if is_peers(content)
            else (anything,) * 6
        )
        changes = (*OUTSIDE, *inside, anything, anything, _shape)
        chosen = self._rng.choice(
            len(changes), size=int(_pick(self._rng, _HOW_MANY)), replace=False
        )
        for change in sorted(chosen.tolist()):  # the one that breaks the shape comes last
            changes[change](content, self._rng)
        return content

    def signed(self, content: Content) -> bytes:
        """The bytes of a question that was taken apart, signed with the right key."""
        body: bytes = msgpack.packb([1, content], use_bin_type=True)
        return self._campaign.key.sign(preimage(PURPOSE, body)) + body


def _pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _number(rng: np.random.Generator) -> Any:
    """A number as hostile as it gets; seldom not even a number."""
    kinds: tuple[tuple[Any, ...], ...] = (
        _INTEGERS,
        _FLOATS,
        _FLOATS,
        _NOT_NUMBERS,
        (None, True, "1", b"1"),
    )
    return _pick(rng, kinds[int(rng.integers(len(kinds)))])


def _array(
    rng: np.random.Generator, code: int, values: Any, shape: tuple[int, ...] | None = None
) -> msgpack.ExtType:
    """An array as it travels, whose shape may be a lie."""
    array = np.asarray(values, dtype={1: "<f8", 2: "<i8"}.get(code, "<f8"))
    said = array.shape if shape is None else shape
    lengths = b"".join((length % 2**32).to_bytes(4, "little") for length in said)
    return msgpack.ExtType(code, bytes([len(said)]) + lengths + array.tobytes())


def _campaign(content: Content, rng: np.random.Generator) -> None:
    content[CAMPAIGN] = _pick(rng, _TEXTS)


def _numbers(content: Content, rng: np.random.Generator) -> None:
    content[NUMBER] = _pick(rng, _INTEGERS)


def _expired(content: Content, rng: np.random.Generator) -> None:
    content[EXPIRES] = _pick(rng, (*_INTEGERS, int(time.time()) - 1, int(time.time()) + 10**6))


def _schema(content: Content, rng: np.random.Generator) -> None:
    content[SCHEMA] = rng.bytes(int(_pick(rng, (0, 16, 31, 32, 33))))


def _counts(content: Content, rng: np.random.Generator) -> None:
    content[QUERY][int(rng.integers(1, OWNERS + 1))] = _pick(rng, (*_INTEGERS, None))


def _learner(content: Content, rng: np.random.Generator) -> None:
    choices = (
        ["stump", _number(rng)],
        ["stump", 2**40],
        ["centroid"],
        ["logistic", _number(rng), _number(rng)],
        ["logistic", 1e-308, 1e99],
        ["logistic", 1e300, 1e-99],
        ["stump, as published", 1],
        ["schema", [], []],
        ["nobody"],
    )
    content[QUERY][LEARNER] = _pick(rng, choices)


def _sizes(content: Content, rng: np.random.Generator) -> None:
    facts = content[QUERY][FACTS]
    if rng.random() < 0.5:
        facts[DIM] = _pick(rng, _INTEGERS)
    else:
        facts[CLASSES] = _pick(rng, (*_INTEGERS, 20_000, 65_536))
        if rng.random() < 0.7:
            content[QUERY][ENSEMBLE][1] = facts[CLASSES]


def _cuts(content: Content, rng: np.random.Generator) -> None:
    """Columns beyond the rows, values that are no numbers, arrays of other lengths than they
    say.
    """
    facts = content[QUERY][FACTS]
    n = int(_pick(rng, (0, 1, 5, 5, 5, 40, 4000)))
    dim = facts[DIM] if type(facts[DIM]) is int and 0 < facts[DIM] < 100 else 5
    columns = rng.integers(0, dim, n)
    values: Any = rng.uniform(-1, 1, n)
    if n and rng.random() < 0.3:
        columns[int(rng.integers(n))] = _pick(rng, (-1, -5, dim, dim + 1, 2**31, 2**62, -(2**62)))
    if n and rng.random() < 0.3:
        values[int(rng.integers(n))] = _pick(rng, (*_FLOATS, *_NOT_NUMBERS))
    if rng.random() < 0.2:
        values = values[: n // 2]
    lies = ((n, 1), (1, n), (2**32 - 1,), (n, 0), (n + 1,), ())
    facts[VALUES] = _array(rng, 1, values, _pick(rng, lies) if rng.random() < 0.1 else None)
    code = 2 if rng.random() < 0.9 else int(_pick(rng, (1, 7)))
    facts[COLUMNS] = _array(rng, code, columns, _pick(rng, lies) if rng.random() < 0.1 else None)


def _model(rng: np.random.Generator) -> Any:
    rows, columns = int(_pick(rng, (0, 1, 2, 3, 9))), int(_pick(rng, (0, 1, 5, 6, 7)))
    numbers = rng.normal(size=(rows, columns)) * float(_pick(rng, (1.0, 1e150, 1e300)))
    small = (-1, 0, 0, 1, 1, 2, 4, 5, 2**31, 2**63)
    choices = (
        ["stump.model", _pick(rng, small), _number(rng), _pick(rng, small), _pick(rng, small)],
        [
            "stump.model",
            _pick(rng, small),
            float(rng.uniform(-1, 1)),
            _pick(rng, small),
            _pick(rng, small),
        ],
        ["centroid.model", _array(rng, 1, numbers)],
        ["linear.model", _array(rng, 1, numbers)],
        ["stump", 1],
        ["ensemble", int(_pick(rng, (2, 10**10))), []],
        _nested(int(_pick(rng, (1, 3, 100, 300)))),
    )
    return _pick(rng, choices)


def _nested(depth: int) -> Any:
    ensemble: Any = ["ensemble", 2, []]
    for _ in range(depth):
        ensemble = ["ensemble", 2, [[0.5, ensemble]]]
    return ensemble


def _members(content: Content, rng: np.random.Generator) -> None:
    members = content[QUERY][ENSEMBLE][2]
    alpha = _number(rng) if rng.random() < 0.2 else float(rng.uniform(-700, 700))
    member = [alpha, _model(rng) if rng.random() < 0.7 else members[0][1] if members else None]
    count = int(_pick(rng, (1, 1, 1, 3, 200)))
    content[QUERY][ENSEMBLE][2] = [*members, *[member] * count]


def _terms(content: Content, rng: np.random.Generator) -> None:
    terms = content[QUERY][TERMS]
    if rng.random() < 0.4:
        terms[1] = _pick(rng, (*PRIVATE, "none", "auto", "", "objective"))
        return
    many = int(_pick(rng, (0, 1, 1, 2, 2, 3, 5, 16, 257)))
    epsilons = [float(value) for value in rng.choice(_EPSILONS, size=min(many, 5), replace=False)]
    if many > 5:
        epsilons = (0.05 + 0.001 * np.arange(many)).tolist()
    terms[2] = sorted(epsilons) if rng.random() < 0.9 else [*epsilons, _number(rng)]


def _shape(content: Content, rng: np.random.Generator) -> None:
    """A place that is missing, doubled, or something else altogether."""
    part = content
    while rng.random() < 0.6 and any(isinstance(each, list) for each in part):
        part = _pick(rng, [each for each in part if isinstance(each, list)])
    if part:
        place = int(rng.integers(len(part)))
        match int(rng.integers(3)):
            case 0:
                del part[place]
            case 1:
                part.insert(place, part[place])
            case _:
                part[place] = _number(rng)


Changes = tuple[Callable[[Content, np.random.Generator], None], ...]
OUTSIDE: Changes = (_campaign, _numbers, _expired, _schema, _counts)
INSIDE: Changes = (_learner, _sizes, _cuts, _members, _members, _terms, _terms)


def is_shares(content: Content) -> bool:
    """Whether it asks for a share of stumps, centroids or regressions."""
    return bool(content[QUERY][0] == "share" and content[QUERY][LEARNER][0] != "discriminant")


def terms_of(content: Content, decoded: Query) -> tuple[str, str, Any, int, int, int]:
    """What is asked, how, the epsilons, numbers of a row, classes, numbers of a share.

    Told from the plain content; for kinds that have their own way to say it, from the query that
    came out of it.
    """
    query = content[QUERY]
    if is_peers(content):
        return terms_of_peers(query)
    if not is_shares(content):
        return (
            decoded.what,
            decoded.how,
            decoded.epsilons,
            decoded.dim,
            decoded.classes,
            decoded.width,
        )
    name, facts = query[LEARNER][0], query[FACTS]
    dim, classes = facts[DIM], facts[CLASSES]
    targets = 1 if classes == 2 else classes
    if name == "stump":
        width = 2 * targets * int.from_bytes(facts[VALUES].data[1:5], "little")
    else:
        width = (targets if name == "logistic" else classes) * (dim + 1)
    return name, query[TERMS][1], query[TERMS][2], dim, classes, width
