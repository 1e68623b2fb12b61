"""The numbers that paper B published: Table 2, and what its text says of top-k hitting rates."""

from tacit_papers.a.published import EPSILONS, TABLES, Published

# Mean squared error of averaged coefficients. The census has the very numbers of paper A's Table
# IV, which calls them root mean squares and has a tenth of the owners.
_SQUARES: dict[tuple[str, str], tuple[tuple[float, float], ...]] = {
    ("mnist", "laplace"): (
        (27.4852, 0.7686),
        (2.9896, 0.1591),
        (1.0848, 0.0801),
        (0.5387, 0.0302),
        (0.3333, 0.0148),
    ),
    ("mnist", "duchi"): (
        (0.6149, 0.0367),
        (0.1566, 0.0100),
        (0.1300, 0.0073),
        (0.1347, 0.0086),
        (0.1350, 0.0075),
    ),
    ("mnist", "piecewise"): (
        (0.5104, 0.0417),
        (0.0381, 0.0032),
        (0.0299, 0.0021),
        (0.0139, 0.0007),
        (0.0129, 0.0013),
    ),
    ("fashion", "laplace"): (
        (26.6123, 0.8602),
        (3.1190, 0.1216),
        (1.0818, 0.0787),
        (0.5538, 0.0332),
        (0.3353, 0.0130),
    ),
    ("fashion", "duchi"): (
        (0.6189, 0.0203),
        (0.1614, 0.0077),
        (0.1334, 0.0126),
        (0.1389, 0.0066),
        (0.1344, 0.0099),
    ),
    ("fashion", "piecewise"): (
        (0.4861, 0.0235),
        (0.0361, 0.0023),
        (0.0280, 0.0014),
        (0.0134, 0.0015),
        (0.0120, 0.0006),
    ),
}
# Top-k hitting rates of Piecewise that the text states, by data set, epsilon and k.
HITS = {("mnist", 5.0, 3): 0.8, ("mnist", 5.0, 1): 0.4, ("synthetic", 3.0, 3): 1.0}


def published_square(dataset: str, mechanism: str, epsilon: float) -> Published | None:
    """A cell of Table 2; None where the paper has none.

    >>> published_square("mnist", "piecewise", 5.0)
    Published(mean=0.0299, std=0.0021)
    """
    cells = {**_SQUARES, **{key: cell for key, cell in TABLES["IV"].items() if key[0] == "brazil"}}
    found = cells.get((dataset, mechanism))
    return (
        None
        if found is None or epsilon not in EPSILONS
        else Published(*found[EPSILONS.index(epsilon)])
    )
