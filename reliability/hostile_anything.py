"""Hostile questions of every other kind: honest ones in which any place at all may be exchanged.

A place keeps its type (a number stays a number, an array an array), because those are the changes
that a decoder lets through and that kernels then meet: other shapes, other columns, other sizes.
"""

from typing import Any

import msgpack
import numpy as np

from reliability.campaign import Campaign
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.models.features import Expansion, FeatureMap, Products, Rows, Waves
from tacit.learners.models.scores import Forest, Leaves, Linear, Mapped, ScoreModel, Trees
from tacit.learners.owners.gradient import Discriminant
from tacit.learners.owners.sum_query import SumQuery
from tacit.learners.query import Query
from tacit.learners.sites.losses import HuberHinge, LogisticLoss
from tacit.learners.sites.projection import Projection
from tacit.learners.sites.train import TrainSite
from tacit.sums.halves import SumTerms, TallyLaw

HELPER = bytes(range(32))
_WHOLE = (-2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 9, 255, 2**16, 2**20, 2**31, 2**40, 2**63 - 1)
_REAL = (0.0, 1e-300, 1e-9, 0.5, -1.0, 3.0, 1e3, 1e9, 1e150, -1.7e308)


def other_queries(campaign: Campaign) -> list[Query]:
    """Discriminants over every kind of feature, ensembles of every kind of score, sites, and
    sums.
    """
    dim, classes, menu = campaign.schema.dim, campaign.classes, (0.1, 0.3)
    rng = np.random.default_rng(classes)
    trees = _trees(classes)
    centre, axes = np.zeros(dim), rng.normal(size=(dim, 2))
    expansions: tuple[Expansion, ...] = (
        Rows(),
        Products(centre, axes),
        Waves(centre, axes),
        Leaves(trees),
    )
    maps = [FeatureMap(each, *_affine(each.width(dim), rng)) for each in expansions]
    linear = Linear(rng.normal(size=(dim, classes)), np.zeros(classes))
    terms = (
        linear,
        Forest(trees, np.zeros(classes)),
        Mapped(maps[1], rng.normal(size=(maps[1].dim, classes))),
    )
    model = ScoreModel(classes, terms)
    facts, ensemble = Facts(dim, classes), Ensemble(classes, (*campaign.members(), (0.5, model)))
    queries: list[Query] = [
        ShareQuery(
            1,
            1,
            10,
            learner=Discriminant(each, model, 1.0),
            facts=facts,
            ensemble=ensemble,
            terms=ReportTerms(mechanism, menu),
        )
        for each, mechanism in zip(maps, ("privunit", "duchi", "piecewise", "laplace"), strict=True)
    ]
    projection = Projection(centre, rng.normal(size=(dim, 3)), 1.5, 0.5)
    queries += [
        TrainSite(
            1,
            1,
            None,
            projection=projection,
            loss=loss,
            labels=classes,
            privacy=privacy,
            menu=(0.3, 2.0),
        )
        for privacy, loss in (("objective", HuberHinge()), ("output", LogisticLoss()))
    ]
    summed = SumTerms(TallyLaw(0.3, 10), bytes(32), HELPER)
    return [
        *queries,
        SumQuery(4, 1, None, columns=dim, model=model, ensemble=ensemble, number=1, terms=summed),
    ]


def _trees(classes: int) -> Trees:
    """Two public trees of three nodes."""
    column = np.array([0, -1, -1, 3, -1, -1])
    left, right = np.array([1, 0, 0, 4, 0, 0]), np.array([2, 0, 0, 5, 0, 0])
    roots = np.array([0, 3])
    return Trees(
        column,
        np.zeros(6),
        left,
        right=right,
        value=np.arange(6.0),
        roots=roots,
        classes=np.array([0, classes - 1]),
    )


def _affine(width: int, rng: np.random.Generator) -> tuple[Any, Any]:
    return np.zeros(width), rng.normal(size=(width, 3))


def anything(content: list[Any], rng: np.random.Generator) -> None:
    """Exchange one place somewhere inside the query for another of its type."""
    part, place = content, len(content) - 1
    while isinstance(part[place], list) and part[place] and rng.random() < 0.95:
        part = part[place]
        place = int(rng.integers(len(part)))
    part[place] = _other(part[place], rng)


def _other(value: Any, rng: np.random.Generator) -> Any:
    if isinstance(value, bool) or value is None:
        return None if value else True
    if isinstance(value, int):
        return int(rng.choice(_WHOLE[:12] if rng.random() < 0.7 else _WHOLE))
    if isinstance(value, float):
        return float(rng.choice(_REAL))
    if isinstance(value, bytes):
        return rng.bytes(len(value))
    if isinstance(value, msgpack.ExtType):
        return _array(value, rng)
    if isinstance(value, list):
        return value[:-1] if rng.random() < 0.5 else [*value, *value[-1:]]
    return value


def _array(value: msgpack.ExtType, rng: np.random.Generator) -> msgpack.ExtType:
    """Another array of the same type: one value, one axis or its whole shape exchanged."""
    axes = value.data[0]
    shape = [int.from_bytes(value.data[1 + 4 * a : 5 + 4 * a], "little") for a in range(axes)]
    array = (
        np.frombuffer(value.data, "<i8" if value.code == 2 else "<f8", offset=1 + 4 * axes)
        .reshape(shape)
        .copy()
    )
    match int(rng.integers(4)):
        case 0 if array.size:
            array.flat[int(rng.integers(array.size))] = rng.choice(
                _WHOLE if value.code == 2 else _REAL
            )
        case 1:
            along = int(rng.integers(axes))
            array = np.concatenate([array] * int(rng.choice([2, 2, 50])), axis=along)
        case 2:
            along = int(rng.integers(axes))
            array = (
                np.take(array, range(max(1, array.shape[along] // 2)), axis=along)
                if array.size
                else array
            )
        case _:
            array = (
                array.T
                if axes > 1 and rng.random() < 0.7
                else array.reshape(-1, 1)
                if axes == 1
                else array.ravel()
            )
    array = np.ascontiguousarray(array)
    lengths = b"".join(length.to_bytes(4, "little") for length in array.shape)
    return msgpack.ExtType(value.code, bytes([array.ndim]) + lengths + array.tobytes())
