import dataclasses

import numpy as np
import pytest

from tacit_papers.datasets import Split

X, Y = np.array([[0.5, -1.0], [1.0, 0.0]]), np.array([0, 1])


def split(**changes):
    given = {
        "X_train": X,
        "y_train": Y,
        "X_public": X,
        "y_public": Y,
        "X_test": X,
        "y_test": Y,
    } | changes
    return Split("tiny", **given)


def test_what_it_says():
    tiny = split(X_test=X.astype(np.float32), y_test=Y.astype(np.uint8))
    assert (tiny.dim, tiny.classes) == (2, 2)
    assert all(
        array.dtype == (np.float64 if name.startswith("X") else np.int64)
        for name, array in tiny.arrays().items()
    )
    assert repr(tiny) == "Split('tiny', dim=2, classes=2, train=2, public=2, test=2)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        tiny.name = "other"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_train": X * 1.5}, r"^X_train must be inside \[-1, 1\], got entries outside or NaN$"),
        ({"X_public": np.where(X == 1, np.nan, X)}, r"^X_public must be inside \[-1, 1\]"),
        (
            {"X_test": X[0]},
            r"^X_test must be a matrix of real numbers with rows, got float64 of shape \(2,\)$",
        ),
        (
            {"X_train": X[:0]},
            r"^X_train must be a matrix of real numbers with rows, got float64 of shape \(0, 2\)$",
        ),
        ({"X_train": X.astype(str)}, r"^X_train must be a matrix of real numbers"),
        ({"X_test": X[:, :1]}, r"^X_test must have 2 columns like X_train, got 1$"),
        ({"y_train": Y[:1]}, r"^y_train must have one class for each of 2 rows, got 1$"),
        (
            {"y_public": Y.astype(float)},
            r"^y_public must be a vector of whole numbers, got float64",
        ),
        ({"y_test": Y - 1}, r"^y_test must hold class numbers >= 0, got a negative one$"),
        ({"y_test": 2 * Y + 1}, r"^classes must be 0..K-1 without gaps, got \[0, 1, 3\]$"),
    ],
)
def test_bad_parts_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        split(**changes)


def test_name_must_be_a_string():
    with pytest.raises(ValueError, match=r"^name must be a string, got 3$"):
        Split(3, X, Y, X, Y, X, Y)  # type: ignore[arg-type]
