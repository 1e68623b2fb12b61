"""What a command does once: fit the public rows, look ahead."""

import sys
from collections import Counter
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.refinement import look_ahead
from tacit.cli import app
from tests.cli.made import family_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("people")
    family_files(made)
    return made


@contextmanager
def entries(*functions):
    """How often each function is entered, wherever it is called from."""
    codes, counts = {each.__code__: each.__name__ for each in functions}, Counter[str]()

    def watch(frame, event, argument):
        if event == "call" and frame.f_code in codes:
            counts[codes[frame.f_code]] += 1

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield counts
    finally:
        sys.setprofile(before)


def fit(folder, *more):
    words = [str(folder / "people.csv"), "--label", "rich", "--public", str(folder / "mine.csv")]
    result = CliRunner().invoke(app, ["fit", *words, "--out", str(folder / "m.tacit"), *more])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("method", "plans"), [("classifier", 1), ("boosting", 0), ("sites", 0), ("peers", 0)]
)
def test_fit_fits_the_public_rows_once_and_looks_ahead_once(folder, method, plans):
    few = ["--owners", "town", "--leave-out", "town"] if method in ("sites", "peers") else []
    with entries(fit_public, look_ahead) as counts:
        fit(folder, "--method", method, "--epsilon", "4", *few)
    assert counts == Counter(fit_public=1, look_ahead=plans)


def test_plan_fits_the_public_rows_once_for_all_budgets(folder):
    words = ["plan", str(folder / "mine.csv"), "--label", "rich", "--owners", "5000"]
    with entries(fit_public, look_ahead) as counts:
        assert CliRunner().invoke(app, words).exit_code in (0, 3)
    assert counts == {"fit_public": 1, "look_ahead": 4}
