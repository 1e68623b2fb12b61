"""Files of made-up families, and a model that was fitted to them."""

import pytest

import tacit.estimators.planning  # noqa: F401 - before the limit is changed, which it copies
from tests.cli.made import family_files, fit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("people")
    family_files(made)
    return made


@pytest.fixture(autouse=True)
def narrow_sums(monkeypatch):
    """Shares that two servers add up have 150 numbers instead of 2,000, which take seconds to plan
    for: what commands say of them is the same.
    """
    monkeypatch.setattr("tacit.algorithms.wide_features.WIDE", 150)


@pytest.fixture
def worth_asking(monkeypatch):
    """Owners are asked for any gain."""
    monkeypatch.setattr("tacit.algorithms.outlook.Outlook.why_not", "")


@pytest.fixture(scope="module")
def model(folder):
    """A model of people.csv with a seed, for which owners were asked."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tacit.algorithms.outlook.Outlook.why_not", "")
        result = fit(folder, "--seed", "1", out="model.tacit")
    assert result.exit_code == 0, result.output
    return folder / "model.tacit"
