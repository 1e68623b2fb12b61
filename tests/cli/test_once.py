"""What a command does once: fit the public rows, look ahead, read the heading of a file."""

import sys
from collections import Counter
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from types import FunctionType

import pytest
from typer.testing import CliRunner

from tacit.algorithms.outlook import look_ahead
from tacit.algorithms.public_baseline import fit_public
from tacit.cli import app
from tacit.data.table_file import TableFile
from tacit.owner.policy import Policy
from tacit.service.device.join import Joining
from tacit.service.kinds import read_spec
from tests.cli.made import family_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("people")
    family_files(made)
    return made


@contextmanager
def entries(*functions):
    """How often each function is entered, wherever it is called from: its code is another
    meanwhile, which counts and goes on to what it was. A profiler would look at every call.
    """
    counts = Counter[str]()

    def counted(*given, _original, **named):
        counts[_original.__name__] += 1
        return _original(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        for each in functions:
            function = getattr(each, "__func__", each)  # of a class's method
            copy = FunctionType(
                function.__code__, function.__globals__, function.__name__, function.__defaults__
            )
            copy.__kwdefaults__ = function.__kwdefaults__
            enter = partial(counted, _original=copy)
            patch.setattr(function, "__kwdefaults__", {"_enter": enter})
            patch.setattr(function, "__code__", _call.__code__)
        yield counts


def _call(*given, _enter, **named):
    return _enter(*given, **named)


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
    assert counts == {"fit_public": 1, "look_ahead": 4 + 1}  # two servers: one start for all


OPENED = Counter[str]()
WATCHED: list[str] = []


def _watch(event, given):
    """Python cannot take an audit hook back: this one is idle unless a folder is watched."""
    path = str(given[0]) if event == "open" and WATCHED else ""
    if path.endswith((".csv", ".parquet")) and path.startswith(WATCHED[0]):
        OPENED[path.rpartition("/")[2]] += 1


sys.addaudithook(_watch)


@contextmanager
def opens(folder):
    """How often Python opens each table of a folder for reading; rows are read by another library,
    which needs no heading.
    """
    OPENED.clear()
    WATCHED.append(str(folder))
    try:
        yield OPENED
    finally:
        WATCHED.clear()


@pytest.mark.parametrize("way", ["public", "given up"])
def test_fit_reads_each_heading_once(folder, way):
    test = ["--test", str(folder / "new.csv"), "--owners", "family", "--json"]
    with opens(folder) as counts, entries(TableFile.open) as opened:
        if way == "public":
            fit(folder, *test)
        else:
            words = ["fit", str(folder / "people.csv"), "--label", "rich", "--public-rows", "100"]
            out = ["--out", str(folder / "m.tacit")]
            assert CliRunner().invoke(app, [*words, *out, *test]).exit_code == 0
    files = {"people.csv", "new.csv", "mine.csv"} - ({"mine.csv"} if way == "given up" else set())
    assert dict(counts) == dict.fromkeys(files, 1)
    assert opened["open"] == len(files)


def test_plan_and_predict_read_each_heading_once(folder):
    fit(folder)
    with opens(folder) as counts, entries(TableFile.open) as opened:
        words = ["plan", str(folder / "mine.csv"), "--label", "rich", "--owners", "500"]
        CliRunner().invoke(app, [*words, "--trust", "nobody"])
        words = ["predict", str(folder / "m.tacit"), str(folder / "people.parquet")]
        result = CliRunner().invoke(app, [*words, "--out", str(folder / "p.tsv")])
        assert result.exit_code == 0, result.output
    assert counts["mine.csv"] == 1
    assert opened["open"] == 2


CAMPAIGN = """
kind = "boosting"
name = "once"
sample = "mine.csv"
label = "rich"
epsilon = 1.0
start = 2
owners_per_round = 2
"""


def test_serve_and_join_read_each_heading_once(folder, tmp_path):
    (folder / "campaign.toml").write_text(CAMPAIGN)
    policy = Policy(epsilon_per_release=Fraction(1), epsilon_total=Fraction(1))
    with opens(folder) as counts, entries(TableFile.open) as opened:
        terms, _ = read_spec(folder / "campaign.toml").prepare()
        joining = Joining(folder / "people.csv", None, policy, tmp_path, "family")
        names, cohort = joining.rows(terms)
    assert len(names) == len(cohort) == 2000
    assert dict(counts) == {"mine.csv": 1, "people.csv": 1}
    assert opened["open"] == 2
