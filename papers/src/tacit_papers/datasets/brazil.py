"""GENERATED: a census in the shape of the Brazil extract of paper A. No row is a person.

The IPUMS extract may not be passed on, so people are drawn here from a small model: age and eight
categorical attributes, 67 dimensions after k-1 one-hot encoding, and an income. Shares of states
are about those of the census of 2010; effects of sex, race, region, age and schooling on log income
about those of a regression on the household survey PNAD 2015; everything else is made up to be
plausible. Use it for speed, memory and learning curves at the paper's size; conclude nothing about
Brazil.

Row i of a part is a function of (seed, part, i): it reads 12 numbers at place 12 i of a
counter-based stream (Philox). So any block size gives the same rows, and memory is that of one
block.
"""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from tacit._util.checks import bad, whole
from tacit._util.types import AnyArray, FloatArray, IntArray
from tacit_papers.datasets.split import Part, Split

YOUNGEST, OLDEST = 15, 90
AGE_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
AGES = (15, 21, 27, 37, 48, 58, 70, 91)  # quantiles at the shares above; ages are whole years

# share of the population in per cent; region: north, north-east, south-east, south, centre-west
_STATES = {
    "RO": (0.82, 0), "AC": (0.38, 0), "AM": (1.83, 0), "RR": (0.24, 0), "PA": (3.97, 0),
    "AP": (0.35, 0), "TO": (0.73, 0), "MA": (3.45, 1), "PI": (1.63, 1), "CE": (4.43, 1),
    "RN": (1.66, 1), "PB": (1.97, 1), "PE": (4.61, 1), "AL": (1.64, 1), "SE": (1.08, 1),
    "BA": (7.35, 1), "MG": (10.27, 2), "ES": (1.84, 2), "RJ": (8.38, 2), "SP": (21.63, 2),
    "PR": (5.48, 3), "SC": (3.28, 3), "RS": (5.61, 3), "MS": (1.28, 4), "MT": (1.59, 4),
    "GO": (3.15, 4), "DF": (1.35, 4),
}  # fmt: skip
_OCCUPATIONS = (
    "elementary", "agriculture", "domestic", "operator", "crafts", "sales", "clerk", "forces",
    "technician", "manager", "professional",
)  # fmt: skip
_INDUSTRIES = (
    "agriculture", "mining", "manufacturing", "utilities", "construction", "trade", "hotels",
    "transport", "finance", "public", "business", "education and health", "households",
)  # fmt: skip

VALUES: dict[str, tuple[str, ...]] = {
    "sex": ("male", "female"),
    "urban": ("rural", "urban"),
    "state": tuple(_STATES),
    "race": ("white", "brown", "black", "asian", "indigenous"),
    "marital": ("single", "union", "married", "separated", "widowed"),
    "education": (
        "none",
        "years 1-3",
        "years 4",
        "years 5-7",
        "primary",
        "some secondary",
        "secondary",
        "some university",
        "university",
    ),
    "occupation": _OCCUPATIONS,
    "industry": _INDUSTRIES,
}

SEX = np.array([0.58, 0.42])
STATE = np.array([share for share, _ in _STATES.values()])
REGION = np.array([region for _, region in _STATES.values()])
URBAN = np.array([0.73, 0.72, 0.93, 0.85, 0.89])
RACE = np.array([  # by region
    [0.20, 0.68, 0.10, 0.005, 0.015],
    [0.24, 0.60, 0.15, 0.004, 0.006],
    [0.52, 0.36, 0.11, 0.008, 0.002],
    [0.78, 0.16, 0.05, 0.006, 0.004],
    [0.39, 0.50, 0.09, 0.008, 0.012],
])  # fmt: skip
MARITAL = np.array([  # below 30, 30 to 49, from 50
    [0.62, 0.24, 0.13, 0.01, 0.00],
    [0.22, 0.27, 0.42, 0.08, 0.01],
    [0.11, 0.15, 0.50, 0.13, 0.11],
])  # fmt: skip
SCHOOLING = np.array([-0.05, -0.20, 0.15, 0.10, 0.10])  # by region
EDUCATION_CUTS = np.array([-1.1, -0.7, -0.3, 0.1, 0.5, 0.75, 1.35, 1.65])
OCCUPATION_CUTS = np.array([-1.7, -1.1, -0.75, -0.4, 0.0, 0.5, 0.9, 0.95, 1.5, 1.9])
INDUSTRY = np.array([  # rural, urban
    [0.62, 0.01, 0.08, 0.01, 0.05, 0.07, 0.02, 0.02, 0.00, 0.03, 0.01, 0.05, 0.03],
    [0.06, 0.01, 0.16, 0.01, 0.09, 0.21, 0.06, 0.06, 0.02, 0.07, 0.08, 0.11, 0.06],
])  # fmt: skip

NOISE = 0.62  # standard deviation of log income that nothing explains
STATE_PAY = np.array([-0.23, -0.42, 0.0, 0.02, 0.10])  # by region
PAY = {
    "sex": np.array([0.0, -0.45]),
    "urban": np.array([0.0, 0.20]),
    "race": np.array([0.0, -0.14, -0.14, 0.10, -0.30]),
    "marital": np.array([0.0, 0.04, 0.12, 0.05, 0.02]),
    "education": np.array([0.0, 0.10, 0.22, 0.32, 0.44, 0.52, 0.70, 1.00, 1.40]),
    "occupation": np.array([0.0, -0.10, -0.05, 0.18, 0.20, 0.15, 0.20, 0.45, 0.45, 0.75, 0.70]),
    "industry": np.array(
        [-0.20, 0.35, 0.05, 0.25, 0.02, 0.0, -0.05, 0.15, 0.40, 0.30, 0.15, 0.05, -0.15]
    ),
}


_NUMBERS = (
    12  # uniform numbers for one row: three steps of Philox, which makes four words at a step
)
_Name: TypeAlias = Literal["train", "test", "public"]
_PARTS: tuple[_Name, ...] = ("train", "test", "public")
_CHUNK = (
    100_000  # public rows at once when their mean income is taken, whatever the caller's block is
)


def brazil(train: int = 120_000, test: int = 20_000, public: int = 10_000, seed: int = 0) -> Split:
    """GENERATED census with 67 dimensions; the class says whether income is above the mean income
    of the public part.

    The paper's sizes are 12e6, 2e6 and 1e5; its training part alone would be 6.4 GB, so read that
    from `brazil_blocks`, which gives the same rows, and for the same `public` the same classes.
    """
    sizes = {
        part: whole(part, rows, 1) for part, rows in zip(_PARTS, (train, test, public), strict=True)
    }
    parts = {
        part: next(brazil_blocks(rows, rows, seed, public, part)) for part, rows in sizes.items()
    }
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
    return (
        _block(seed, part, start, min(block, rows - start), threshold)
        for start in range(0, rows, block)
    )


def people(part: _Name, rows: int, seed: int = 0, public: int = 10_000) -> dict[str, AnyArray]:
    """The same people in words: age, the attributes by name, and whether their income is "high" or
    "low".

    >>> {name: column.tolist() for name, column in people("test", 2).items()}["income"]
    ['low', 'high']
    """
    if part not in _PARTS:
        raise bad("part", f"one of {_PARTS}", part)
    age, values, noise = _people(seed, part, 0, whole("rows", rows, 1))
    threshold = _mean_income(whole("public", public, 1), seed)
    named = {name: np.array(VALUES[name])[value] for name, value in values.items()}
    income = np.where(_incomes(age, values, noise) > threshold, "high", "low")
    return {"age": age.astype(np.int64), **named, "income": income}


def columns() -> list[str]:
    """The names of the 67 columns; the first value of a categorical attribute has none."""
    return ["age", *(f"{name}={value}" for name, values in VALUES.items() for value in values[1:])]


def _mean_income(public: int, seed: int) -> float:
    """Mean income of the first `public` public rows."""
    starts = range(0, public, _CHUNK)
    return (
        sum(
            float(_incomes(*_people(seed, "public", i, min(_CHUNK, public - i))).sum())
            for i in starts
        )
        / public
    )


def _block(seed: int, part: _Name, start: int, rows: int, threshold: float) -> Part:
    """Rows `start` and following of a part, encoded."""
    age, values, noise = _people(seed, part, start, rows)
    X = np.zeros((rows, len(columns())))
    X[:, 0] = 2 * (age - YOUNGEST) / (OLDEST - YOUNGEST) - 1
    column = 0  # of the first value of an attribute, had it one
    for name, value in values.items():
        others = np.flatnonzero(value)
        X[others, column + value[others]] = 1
        column += len(VALUES[name]) - 1
    return X, (_incomes(age, values, noise) > threshold).astype(np.int64)


def _people(
    seed: int, part: _Name, start: int, rows: int
) -> tuple[FloatArray, dict[str, IntArray], FloatArray]:
    """Age, number of the value of each attribute, and the noise of income."""
    key = np.random.SeedSequence([seed, _PARTS.index(part)]).generate_state(2, np.uint64)
    stream = np.random.Philox(key=key).advance(start * (_NUMBERS // 4))
    u = np.maximum(np.random.Generator(stream).random((rows, _NUMBERS)).T.copy(), 2.0**-54)
    age = np.floor(np.interp(u[0], AGE_SHARES, AGES))
    sex = _draw(u[1], SEX)
    state = _draw(u[2], STATE)
    region = REGION[state]
    urban = (u[3] < URBAN[region]).astype(np.int64)
    race = _draw(u[4], RACE[region])
    marital = _draw(u[5], MARITAL[np.searchsorted([30, 50], age, side="right")])
    learned = ndtri(u[6]) + 0.5 * urban - 0.02 * (age - 40) + SCHOOLING[region]
    education = np.searchsorted(EDUCATION_CUTS, learned)
    skilled = ndtri(u[7]) + 0.35 * (education - 4) + 0.15 * (race == 0)
    occupation = np.searchsorted(OCCUPATION_CUTS, skilled)
    industry = _draw(u[8], INDUSTRY[urban])
    found = (sex, urban, state, race, marital, education, occupation, industry)
    return age, dict(zip(VALUES, found, strict=True)), ndtri(u[9])


def _draw(u: FloatArray, shares: FloatArray) -> IntArray:
    """Values with these shares, one row of shares for all or one for each number."""
    steps = np.cumsum(shares / shares.sum(axis=-1, keepdims=True), axis=-1)[..., :-1]
    return (
        np.searchsorted(steps, u, side="right")
        if steps.ndim == 1
        else (u[:, None] >= steps).sum(axis=1)
    )


def _incomes(age: FloatArray, values: dict[str, IntArray], noise: FloatArray) -> FloatArray:
    """Monthly incomes: log-normal around a sum of effects."""
    level = 6.1 + 0.010 * (age - 40) - 0.045 * (age - 40) ** 2 / 100 + NOISE * noise
    level += STATE_PAY[REGION[values["state"]]]
    for name, effect in PAY.items():
        level += effect[values[name]]
    return np.exp(level)
