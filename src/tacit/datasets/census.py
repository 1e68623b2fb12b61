"""Numbers of the generated census: values of the attributes, their shares, their effects on log income.

States and regions are about the census of 2010. Effects of sex, race, region, age and schooling are about those of a
regression on the household survey PNAD 2015. Everything else is made up to be plausible.
"""

import numpy as np

YOUNGEST, OLDEST = 15, 90
AGE_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
AGES = (15, 21, 27, 37, 48, 58, 70, 91)  # quantiles at the shares above; ages are whole years

REGIONS = ("north", "north-east", "south-east", "south", "centre-west")
_STATES = {  # share of the population in per cent, region
    "RO": (0.82, 0), "AC": (0.38, 0), "AM": (1.83, 0), "RR": (0.24, 0), "PA": (3.97, 0), "AP": (0.35, 0),
    "TO": (0.73, 0), "MA": (3.45, 1), "PI": (1.63, 1), "CE": (4.43, 1), "RN": (1.66, 1), "PB": (1.97, 1),
    "PE": (4.61, 1), "AL": (1.64, 1), "SE": (1.08, 1), "BA": (7.35, 1), "MG": (10.27, 2), "ES": (1.84, 2),
    "RJ": (8.38, 2), "SP": (21.63, 2), "PR": (5.48, 3), "SC": (3.28, 3), "RS": (5.61, 3), "MS": (1.28, 4),
    "MT": (1.59, 4), "GO": (3.15, 4), "DF": (1.35, 4),
}  # fmt: skip
_SCHOOLING = (
    "none", "years 1-3", "year 4", "years 5-7", "primary", "some secondary", "secondary", "some university",
    "university",
)  # fmt: skip
_OCCUPATIONS = (
    "elementary", "agriculture", "domestic", "operator", "crafts", "sales", "clerk", "forces", "technician",
    "manager", "professional",
)  # fmt: skip
_INDUSTRIES = (
    "agriculture", "mining", "manufacturing", "utilities", "construction", "trade", "hotels", "transport", "finance",
    "public", "business", "education and health", "households",
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
    "industry": np.array([-0.20, 0.35, 0.05, 0.25, 0.02, 0.0, -0.05, 0.15, 0.40, 0.30, 0.15, 0.05, -0.15]),
}
