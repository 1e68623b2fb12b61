"""Field, polynomial and hash kernels against Python's whole numbers and PyCryptodome."""

import numpy as np
import pytest
from Crypto.Hash import TurboSHAKE128
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.sums.prio3.fields import (
    FIELD64,
    FIELD128,
    derive_seeds,
    expand,
    keep_elements,
    power_list,
    turboshake128,
)
from tacit.sums.prio3.flp import extend, interpolate, nodes, transform
from tests.sums.prio3.reference import P64, P128, lagrange, root

FIELDS = pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=lambda field: field.name)


def edges(p):
    """Where words, halves of words and the modulus end, and their neighbours."""
    near = {
        0,
        p,
        p // 2,
        2**31,
        2**32,
        2**63,
        2**64,
        2**64 - 28,
        2**96,
        2**127,
        p - 2**64,
        p - 2**32,
    }
    return sorted({(x + step) % p for x in near for step in (-2, -1, 0, 1, 2)})


@FIELDS
def test_moduli_are_the_draft_s(field):
    assert field.modulus == (P64 if field is FIELD64 else P128)
    for n in (1, 2, 64, 2**20):
        assert field.root(n) == root(field.modulus, n)
    with pytest.raises(ValueError, match="power of two"):
        field.root(12)


@FIELDS
def test_arithmetic_at_all_edges(field):
    p, numbers = field.modulus, edges(field.modulus)
    array = field.array(numbers)
    for operation, expected in (
        (field.add, lambda a, b: (a + b) % p),
        (field.subtract, lambda a, b: (a - b) % p),
        (field.multiply, lambda a, b: a * b % p),
    ):
        found = operation(array[:, None], array[None])
        assert field.integers(found.reshape(-1, field.words)) == [
            expected(a, b) for a in numbers for b in numbers
        ]


@FIELDS
@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_arithmetic_of_any_elements(field, data):
    p = field.modulus
    numbers = data.draw(st.lists(st.integers(0, p - 1), min_size=1, max_size=9))
    others = numbers[::-1]
    a, b = field.array(numbers), field.array(others)
    total = sum(x * y for x, y in zip(numbers, others, strict=True)) % p
    assert field.integers(field.dot(a, b)[None]) == [total]
    assert field.integers(field.total(a)[None]) == [sum(numbers) % p]
    assert field.integers(field.power(a, 37)) == [pow(x, 37, p) for x in numbers]
    powers = field.powers(a[0], 11)
    assert field.integers(powers) == [pow(numbers[0], k, p) for k in range(1, 12)]
    assert field.to_signed(a) == [x if x <= p // 2 else x - p for x in numbers]


@FIELDS
def test_a_long_dot_product_of_the_largest_elements(field):
    p = field.modulus
    most = np.broadcast_to(field.constant(p - 1), (100_000, field.words))
    assert field.integers(field.dot(most, most)[None]) == [100_000 % p]


@FIELDS
def test_bytes_that_are_no_elements_are_marked(field):
    p = field.modulus
    rows = [[0, p - 1], [p, 1], [1, 2 ** (8 * field.size) - 1], [p - 1, p - 2**32]]
    data = b"".join(x.to_bytes(field.size, "little") for row in rows for x in row)
    encoded = np.frombuffer(data, np.uint8).reshape(4, -1)
    elements, fits = field.decode(encoded)
    assert fits.tolist() == [True, False, False, True]
    assert field.integers(elements[3]) == rows[3]
    assert field.integers(elements[1]) == [0, 0]
    assert (field.encode(elements)[[0, 3]] == encoded[[0, 3]]).all()
    small = field.from_small(np.array([[-3, 0, 2**40]]))
    assert field.integers(small[0]) == [p - 3, 0, 2**40]


@FIELDS
def test_vectors_of_nobody_are_bytes_of_nobody(field):
    encoded = field.encode(field.zeros(0, 3))
    assert encoded.shape == (0, 3 * field.size)
    elements, fits = field.decode(encoded)
    assert (elements.shape, fits.shape) == ((0, 3, field.words), (0,))


@FIELDS
@pytest.mark.parametrize("n", [1, 2, 4, 16])
def test_transforms_are_values_at_roots_of_unity(field, n):
    p, rng = field.modulus, np.random.default_rng(n)
    rows = [[int(x) ** 2 % p for x in rng.integers(0, 2**62, n)] for _ in range(3)]
    values = transform(field, field.array(rows))
    points = power_list(field, n)
    for row, found in zip(rows, values, strict=True):
        assert field.integers(found) == [
            sum(c * pow(x, k, p) for k, c in enumerate(row)) % p for x in points
        ]
    assert (interpolate(field, values) == field.array(rows)).all()
    wider = extend(field, values, 4 * n)
    assert (wider[:, ::4] == values).all()
    for row, found in zip(rows, wider, strict=True):
        at = power_list(field, 4 * n)[-1]
        value = sum(c * pow(at, k, p) for k, c in enumerate(row)) % p
        assert field.integers(found)[-1] == value


@FIELDS
@pytest.mark.parametrize(("count", "size"), [(1, 1), (4, 4), (7, 8), (10, 16)])
def test_weights_evaluate_polynomials_also_at_their_nodes(field, count, size):
    p, points = field.modulus, power_list(field, size)
    values = [pow(3, k + 5, p) for k in range(count)]
    tests = [0, 5, p - 1, *points]
    weights = nodes(field, count, size).weights(field.array(tests))
    found = field.integers(field.dot(weights, field.array(values)))
    assert found == [lagrange(p, list(points[:count]), values, t) for t in tests]


@pytest.mark.parametrize("length", [0, 1, 7, 166, 167, 168, 169, 400])
@pytest.mark.parametrize("owners", [1, 8, 11])
def test_turboshake_is_pycryptodome_s(length, owners):
    messages = np.random.default_rng(length).integers(0, 256, (owners, length), dtype=np.uint8)
    found = turboshake128(messages, 1, 50)
    for message, row in zip(messages, found, strict=True):
        library = TurboSHAKE128.new(data=message.tobytes(), domain=1)
        assert row.astype("<u8").tobytes() == library.read(400)


@FIELDS
def test_candidates_above_the_modulus_are_passed_over(field):
    p, top = field.modulus, 2 ** (8 * field.size) - 1
    rows = [[1, 2, 3, 4], [p, 1, 2, 3], [1, top, p, 2]]
    data = b"".join(x.to_bytes(field.size, "little") for row in rows for x in row)
    words = np.frombuffer(data, "<u8").reshape(3, 4, field.words).astype(np.uint64)
    kept = keep_elements(field, words, 2)
    assert kept is not None
    assert [field.integers(row) for row in kept] == [[1, 2], [1, 2], [1, 2]]
    assert keep_elements(field, words, 3) is None


def test_more_is_squeezed_where_candidates_were_refused(monkeypatch):
    seed, asked = bytes(32), []
    plain = expand(FIELD64, seed, b"tag", b"", 24)

    def refuse_some(field, candidates, length):
        asked.append(candidates.shape[1])
        return keep_elements(field, candidates, length) if len(asked) > 2 else None

    monkeypatch.setattr("tacit.sums.prio3.fields.keep_elements", refuse_some)
    assert (expand(FIELD64, seed, b"tag", b"", 24) == plain).all()
    assert asked == [24, 32, 40]


def test_seeds_and_tags_have_a_longest():
    for seed, tag in ((bytes(256), b""), (bytes(32), bytes(2**16))):
        with pytest.raises(ValueError, match="at most"):
            derive_seeds(seed, tag, b"")
