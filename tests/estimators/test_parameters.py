"""What rows need not decide is refused before they are looked at: there is no such file here."""

from functools import partial

import pytest

from tacit import (
    PeerEnsemble,
    PrivateBoosting,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
)

SUMMED = {"trust": "two servers"}
OF_ALL = [
    ({"epsilon": -1.0}, "epsilon must be a"),
    ({"schema": "schema.toml"}, "schema must be a Schema or None"),
    ({"public_fraction": 2}, "public_fraction must be a number between 0 and 1"),
    ({"budget": 3.0}, "budget must be a Budget"),
    ({"engine": "clay"}, "engine must be"),
    ({"random_state": "one"}, "random_state must be None"),
]
OF_OWNERS = [
    ({"epsilon": [1.0, -2.0]}, "epsilon must be a finite number > 0, got -2.0"),
    ({"mechanism": "noise"}, "mechanism must be one of"),
    ({"rounds": 5000}, "rounds must be at most 1,000"),
    ({"trust": "three servers"}, "trust must be one of"),
    ({"delta": 1}, "delta must be 0, or above 0 and below 0.5"),
    (SUMMED | {"mechanism": "privunit"}, "mechanism must be auto with trust"),
    (SUMMED | {"epsilon": [1.0, 2.0]}, "epsilon must be one number with trust"),
]
OF_SITES = [
    ({"combine": "sum"}, "combine must be one of"),
    ({"privacy": "some"}, "privacy must be one of"),
    ({"loss": "gain"}, "loss must be one of"),
    ({"ridge": 0}, "ridge must be a finite number > 0"),
    ({"components": 0}, "components must be a whole number >= 1"),
]
CASES = {
    PrivateClassifier: [
        *OF_ALL,
        *OF_OWNERS,
        ({"rows_per_owner": 10_001}, "rows_per_owner must be at most 10,000"),
        (SUMMED | {"features": "waves"}, "features must be auto or trees with trust"),
        (SUMMED | {"rounds": 0}, "rounds must be a whole number >= 1"),
    ],
    PrivateBoosting: [
        *OF_ALL,
        *OF_OWNERS,
        ({"owners_per_round": 0}, "owners_per_round must be a whole number >= 1"),
        ({"attempts": 0}, "attempts must be a whole number >= 1"),
        ({"sums": "ring"}, "sums must be given with error='owners'"),
        ({"error": "owners", "error_epsilon": 0}, "error_epsilon must be a finite number > 0"),
    ],
    SiteEnsemble: [
        *OF_ALL,
        *OF_SITES,
        (SUMMED | {"combine": "feature"}, "combine must be 'guarded' with trust"),
        (SUMMED | {"epsilon": [1.0, 2.0]}, "epsilon must be one number with trust"),
    ],
    SiteEnsembleRegressor: [
        *OF_ALL,
        *OF_SITES,
        ({"target_range": (3, 1)}, "target_range must be finite with low < high"),
    ],
    PeerEnsemble: [
        *OF_ALL,
        ({"epsilon": {"north": -1.0}}, "epsilon must be a number > 0"),
        ({"rounds": 0}, "rounds must be a whole number >= 1"),
        ({"bins": 1}, "bins must be a whole number >= 2"),
    ],
}


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [(kind, *case) for kind, cases in CASES.items() for case in cases],
)
def test_bad_parameters_are_refused_before_rows_are_looked_at(kind, given, said):
    """With two servers the data user's own model had been fitted by then, which takes seconds."""
    fit = partial(kind(**given).fit, "nowhere.csv", "y", owners="who", public="nowhere.csv")
    with pytest.raises((TypeError, ValueError)) as refused:
        fit()
    assert said in str(refused.value)


@pytest.mark.parametrize("kind", CASES)
def test_good_parameters_are_not_refused(kind):
    kind().check_parameters()
    with pytest.raises(ValueError, match=r"nowhere\.csv is not there"):
        kind().fit("nowhere.csv", "y", owners="who", public="nowhere.csv")
