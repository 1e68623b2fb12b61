"""The numbers that paper A published, as it printed them: Tables II to IV and what its text says
of the curves.
"""

from typing import NamedTuple

EPSILONS = (1.0, 3.0, 5.0, 7.0, 9.0)


class Published(NamedTuple):
    """Mean and standard deviation over the paper's 10 runs."""

    mean: float
    std: float


_Cells = dict[tuple[str, str], tuple[tuple[float, float], ...]]

# By (data set, mechanism), one pair (mean, std) for each of EPSILONS.
_DISTANCES: _Cells = {
    ("mnist", "laplace"): (
        (88.950, 6.466),
        (28.310, 1.653),
        (17.623, 1.235),
        (12.504, 0.897),
        (9.866, 0.856),
    ),
    ("mnist", "duchi"): (
        (33.625, 1.259),
        (9.501, 0.335),
        (4.899, 0.084),
        (3.136, 0.164),
        (2.247, 0.084),
    ),
    ("mnist", "piecewise"): (
        (14.088, 0.878),
        (4.518, 0.210),
        (2.965, 0.129),
        (2.449, 0.140),
        (2.111, 0.106),
    ),
    ("fashion", "laplace"): (
        (256.974, 15.871),
        (82.804, 4.038),
        (50.814, 2.293),
        (35.740, 1.439),
        (27.713, 1.256),
    ),
    ("fashion", "duchi"): (
        (51.749, 1.507),
        (15.223, 0.330),
        (8.096, 0.350),
        (5.166, 0.126),
        (3.995, 0.213),
    ),
    ("fashion", "piecewise"): (
        (24.850, 1.349),
        (8.575, 0.412),
        (5.451, 0.344),
        (4.383, 0.155),
        (3.910, 0.178),
    ),
    ("synthetic", "laplace"): (
        (15.681, 1.375),
        (5.314, 0.471),
        (3.230, 0.354),
        (2.464, 0.214),
        (1.904, 0.133),
    ),
    ("synthetic", "duchi"): (
        (3.905, 0.353),
        (1.307, 0.158),
        (0.927, 0.077),
        (0.650, 0.066),
        (0.594, 0.045),
    ),
    ("synthetic", "piecewise"): (
        (3.266, 0.305),
        (0.970, 0.069),
        (0.553, 0.060),
        (0.372, 0.042),
        (0.268, 0.034),
    ),
}
_IMPURITIES: _Cells = {
    ("mnist", "laplace"): (
        (1290.09, 242.05),
        (141.96, 18.39),
        (47.95, 6.54),
        (26.18, 2.82),
        (14.58, 1.95),
    ),
    ("mnist", "duchi"): ((12.24, 1.86), (3.03, 0.60), (2.56, 0.43), (2.34, 0.29), (2.40, 0.50)),
    ("mnist", "piecewise"): ((5.32, 1.06), (0.27, 0.05), (0.22, 0.02), (0.20, 0.02), (0.18, 0.02)),
    ("fashion", "laplace"): (
        (5613.86, 539.39),
        (559.66, 69.57),
        (200.22, 19.55),
        (103.88, 8.77),
        (60.32, 5.97),
    ),
    ("fashion", "duchi"): ((25.13, 2.18), (6.03, 0.37), (5.24, 0.55), (4.99, 0.51), (5.25, 0.51)),
    ("fashion", "piecewise"): (
        (10.71, 0.97),
        (0.63, 0.08),
        (0.48, 0.06),
        (0.22, 0.03),
        (0.19, 0.01),
    ),
    ("synthetic", "laplace"): (
        (36.76, 8.86),
        (3.53, 0.91),
        (1.06, 0.30),
        (0.53, 0.09),
        (0.21, 0.05),
    ),
    ("synthetic", "duchi"): ((0.81, 0.28), (0.23, 0.07), (0.18, 0.03), (0.15, 0.04), (0.13, 0.04)),
    ("synthetic", "piecewise"): (
        (0.807, 0.213),
        (0.029, 0.008),
        (0.037, 0.007),
        (0.013, 0.002),
        (0.013, 0.004),
    ),
}
_COEFFICIENTS: _Cells = {
    ("mnist", "laplace"): (
        (518.3575, 90.0363),
        (58.0616, 4.3229),
        (21.6944, 2.4638),
        (11.7771, 2.2048),
        (7.0411, 1.3191),
    ),
    ("mnist", "duchi"): (
        (11.8556, 2.5871),
        (2.9711, 0.4087),
        (2.8311, 0.4233),
        (2.8072, 0.3401),
        (2.7251, 0.4631),
    ),
    ("mnist", "piecewise"): (
        (5.2721, 0.9986),
        (0.4872, 0.1812),
        (0.3388, 0.0652),
        (0.1703, 0.0390),
        (0.1483, 0.0349),
    ),
    ("fashion", "laplace"): (
        (270.5490, 52.7679),
        (30.7099, 5.1766),
        (10.9630, 1.7186),
        (5.9292, 1.0899),
        (3.6319, 0.6998),
    ),
    ("fashion", "duchi"): (
        (7.2207, 1.2067),
        (1.9912, 0.2762),
        (1.5668, 0.2830),
        (1.5195, 0.2493),
        (1.4536, 0.4074),
    ),
    ("fashion", "piecewise"): (
        (3.1646, 0.7951),
        (0.3595, 0.1080),
        (0.2461, 0.0419),
        (0.1183, 0.0215),
        (0.1091, 0.0244),
    ),
    ("brazil", "laplace"): (
        (11.9691, 1.3442),
        (1.2872, 0.1661),
        (0.5361, 0.0904),
        (0.2347, 0.0295),
        (0.1658, 0.0286),
    ),
    ("brazil", "duchi"): (
        (0.1616, 0.0227),
        (0.0436, 0.0070),
        (0.0377, 0.0075),
        (0.0400, 0.0059),
        (0.0372, 0.0027),
    ),
    ("brazil", "piecewise"): (
        (0.2050, 0.0200),
        (0.0100, 0.0021),
        (0.0105, 0.0024),
        (0.0034, 0.0012),
        (0.0043, 0.0006),
    ),
}
TABLES: dict[str, _Cells] = {"II": _DISTANCES, "III": _IMPURITIES, "IV": _COEFFICIENTS}

# By (data set, base learner, epsilon or None without privacy): misclassification of the first
# learner and after 10. For stumps on synthetic rows the text gives one pair for every epsilon >= 5,
# "close to the non-private".
CURVES: dict[tuple[str, str, float | None], tuple[float, float]] = {
    ("mnist", "centroid", None): (0.09, 0.04),
    ("mnist", "centroid", 5.0): (0.37, 0.17),
    ("mnist", "centroid", 7.0): (0.30, 0.09),
    ("fashion", "centroid", None): (0.11, 0.05),
    ("fashion", "centroid", 7.0): (0.39, 0.19),
    ("fashion", "centroid", 9.0): (0.37, 0.20),
    ("synthetic", "centroid", None): (0.13, 0.09),
    ("synthetic", "centroid", 5.0): (0.19, 0.14),
    ("synthetic", "centroid", 7.0): (0.17, 0.12),
    ("mnist", "stump", None): (0.14, 0.07),
    ("mnist", "stump", 5.0): (0.34, 0.13),
    ("mnist", "stump", 7.0): (0.19, 0.09),
    ("fashion", "stump", 7.0): (0.40, 0.18),
    ("fashion", "stump", 9.0): (0.34, 0.19),
    ("synthetic", "stump", 5.0): (0.30, 0.19),
    ("synthetic", "stump", 7.0): (0.30, 0.19),
}

# The same for a first learner alone.
FIRST_ERRORS = {("mnist", "logistic", 1.0): 0.25, ("fashion", "logistic", 9.0): 0.22}
