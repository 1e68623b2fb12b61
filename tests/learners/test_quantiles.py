import numpy as np
import pytest

from tacit.learners.owners.stump import quantiles

RNG = np.random.default_rng(0)
TABLES = {
    "uniform": RNG.uniform(-1, 1, (4001, 5)),
    "crowded": 0.3 + 1e-9 * RNG.normal(size=(999, 2)),
    "few values": RNG.integers(-2, 3, (500, 4)) / 2,
    "beyond [-1, 1]": 50 * RNG.normal(size=(300, 3)),
    "one row": RNG.uniform(-1, 1, (1, 3)),
    "two rows": RNG.uniform(-1, 1, (2, 3)),
    "columns of a wider table": RNG.uniform(-1, 1, (100, 6))[:, ::2],
}


@pytest.mark.parametrize(
    "steps", [[0.5], [0.25, 0.5, 0.75], np.arange(1, 10) / 10, [0.0, 1.0]], ids=len
)
@pytest.mark.parametrize("name", list(TABLES))
def test_quantiles_are_numpys_bit_for_bit(name, steps):
    table = TABLES[name]
    np.testing.assert_array_equal(
        quantiles(table, np.array(steps)), np.quantile(table, steps, axis=0)
    )
