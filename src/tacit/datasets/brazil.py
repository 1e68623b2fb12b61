"""GENERATED: a census in the shape of the Brazil extract of paper A. No row is a person.

The IPUMS extract may not be passed on, so people are drawn here from a small model (`census.py`): age and eight
categorical attributes, 67 dimensions after k-1 one-hot encoding, and an income. Shares of states are about those of the
census of 2010, effects on income about those in the household survey of 2015; the rest is plausible, not measured.
Use it for speed, memory and learning curves at the paper's size; conclude nothing about Brazil.

Row i of a part is a function of (seed, part, i): it reads 12 numbers at place 12 i of a counter-based stream (Philox).
So any block size gives the same rows, and memory is that of one block.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from tacit.checks import bad, whole
from tacit.datasets import census
from tacit.datasets.split import Part, Split
from tacit.types import AnyArray, FloatArray, IntArray

_NUMBERS = 12  # uniform numbers for one row: three steps of Philox, which makes four words at a step
_Name: TypeAlias = Literal["train", "test", "public"]
_PARTS: tuple[_Name, ...] = ("train", "test", "public")
_CHUNK = 100_000  # public rows at once when their mean income is taken, whatever the caller's block is


def brazil(train: int = 120_000, test: int = 20_000, public: int = 10_000, seed: int = 0) -> Split:
    """GENERATED census with 67 dimensions; the class says whether income is above the mean income of the public part.

    The paper's sizes are 12e6, 2e6 and 1e5; its training part alone would be 6.4 GB, so read that from `brazil_blocks`,
    which gives the same rows, and for the same `public` the same classes.
    """
    sizes = {part: whole(part, rows, 1) for part, rows in zip(_PARTS, (train, test, public), strict=True)}
    parts = {part: next(brazil_blocks(rows, rows, seed, public, part)) for part, rows in sizes.items()}
    return Split.of("brazil (generated)", parts["train"], parts["public"], parts["test"])


def brazil_blocks(
    rows: int,
    block: int = 100_000,
    seed: int = 0,
    public: int = 100_000,
    part: _Name = "train",
) -> Iterator[Part]:
    """Pairs (X, y) of at most `block` rows each, `rows` in all; the rows do not depend on `block`.

    `public` is the number of public rows whose mean income divides the classes.
    """
    rows, block, seed = whole("rows", rows, 1), whole("block", block, 1), whole("seed", seed, 0)
    if part not in _PARTS:
        raise bad("part", f"one of {_PARTS}", part)
    threshold = _mean_income(whole("public", public, 1), seed)
    return (_block(seed, part, start, min(block, rows - start), threshold) for start in range(0, rows, block))


def people(part: _Name, rows: int, seed: int = 0, public: int = 10_000) -> dict[str, AnyArray]:
    """The same people in words: age, the attributes by name, and whether their income is "high" or "low".

    >>> {name: column.tolist() for name, column in people("test", 2).items()}["income"]
    ['low', 'high']
    """
    if part not in _PARTS:
        raise bad("part", f"one of {_PARTS}", part)
    age, values, noise = _people(seed, part, 0, whole("rows", rows, 1))
    threshold = _mean_income(whole("public", public, 1), seed)
    named = {name: np.array(census.VALUES[name])[value] for name, value in values.items()}
    income = np.where(_incomes(age, values, noise) > threshold, "high", "low")
    return {"age": age.astype(np.int64), **named, "income": income}


def columns() -> list[str]:
    """The names of the 67 columns; the first value of a categorical attribute has none."""
    return ["age", *(f"{name}={value}" for name, values in census.VALUES.items() for value in values[1:])]


def _mean_income(public: int, seed: int) -> float:
    """Mean income of the first `public` public rows."""
    starts = range(0, public, _CHUNK)
    return sum(float(_incomes(*_people(seed, "public", i, min(_CHUNK, public - i))).sum()) for i in starts) / public


def _block(seed: int, part: _Name, start: int, rows: int, threshold: float) -> Part:
    """Rows `start` and following of a part, encoded."""
    age, values, noise = _people(seed, part, start, rows)
    X = np.zeros((rows, len(columns())))
    X[:, 0] = 2 * (age - census.YOUNGEST) / (census.OLDEST - census.YOUNGEST) - 1
    column = 0  # of the first value of an attribute, had it one
    for name, value in values.items():
        others = np.flatnonzero(value)
        X[others, column + value[others]] = 1
        column += len(census.VALUES[name]) - 1
    return X, (_incomes(age, values, noise) > threshold).astype(np.int64)


def _people(seed: int, part: _Name, start: int, rows: int) -> tuple[FloatArray, dict[str, IntArray], FloatArray]:
    """Age, number of the value of each attribute, and the noise of income."""
    key = np.random.SeedSequence([seed, _PARTS.index(part)]).generate_state(2, np.uint64)
    stream = np.random.Philox(key=key).advance(start * (_NUMBERS // 4))
    u = np.maximum(np.random.Generator(stream).random((rows, _NUMBERS)).T.copy(), 2.0**-54)
    age = np.floor(np.interp(u[0], census.AGE_SHARES, census.AGES))
    sex = _drawn(u[1], census.SEX)
    state = _drawn(u[2], census.STATE)
    region = census.REGION[state]
    urban = (u[3] < census.URBAN[region]).astype(np.int64)
    race = _drawn(u[4], census.RACE[region])
    marital = _drawn(u[5], census.MARITAL[np.searchsorted([30, 50], age, side="right")])
    learned = ndtri(u[6]) + 0.5 * urban - 0.02 * (age - 40) + census.SCHOOLING[region]
    education = np.searchsorted(census.EDUCATION_CUTS, learned)
    skilled = ndtri(u[7]) + 0.35 * (education - 4) + 0.15 * (race == 0)
    occupation = np.searchsorted(census.OCCUPATION_CUTS, skilled)
    industry = _drawn(u[8], census.INDUSTRY[urban])
    found = (sex, urban, state, race, marital, education, occupation, industry)
    return age, dict(zip(census.VALUES, found, strict=True)), ndtri(u[9])


def _drawn(u: FloatArray, shares: FloatArray) -> IntArray:
    """Values with these shares, one row of shares for all or one for each number."""
    steps = np.cumsum(shares / shares.sum(axis=-1, keepdims=True), axis=-1)[..., :-1]
    return np.searchsorted(steps, u, side="right") if steps.ndim == 1 else (u[:, None] >= steps).sum(axis=1)


def _incomes(age: FloatArray, values: dict[str, IntArray], noise: FloatArray) -> FloatArray:
    """Monthly incomes: log-normal around a sum of effects."""
    level = 6.1 + 0.010 * (age - 40) - 0.045 * (age - 40) ** 2 / 100 + census.NOISE * noise
    level += census.STATE_PAY[census.REGION[values["state"]]]
    for name, effect in census.PAY.items():
        level += effect[values[name]]
    return np.exp(level)
