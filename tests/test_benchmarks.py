"""The benchmarks run; their figures are for `make bench`."""

import json
import os
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from importlib import import_module
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from benchmarks import __main__ as command
from benchmarks import boosting, choices, half_way, proofs, refining, rounds, same_bytes, timing
from benchmarks.central import CentralRun, table_of_means
from benchmarks.earlier import checksum, make_rows, measure, take_out
from benchmarks.noise_limit import tell
from benchmarks.plans import Measured, measured_in_rows, measured_in_table
from benchmarks.service.siege import SiegeRow, figures
from benchmarks.sizes import measure_method, write_rows
from benchmarks.tables import Table, Verdict
from benchmarks.walks import WalkRow

from tacit.algorithms.public_baseline import fit_public
from tacit.algorithms.wide_features import SMOOTH, wide_map
from tacit.data.cohort import Cohort, Public
from tacit_papers.datasets import DataMissing
from tacit_papers.evidence_benchmarks import digest_of_benchmark
from tacit_papers.ours.tasks import quick_task, task_of

ROOT = Path(__file__).parent.parent


def figures_here(module, *arguments):
    """What a child of a benchmark prints, without a process of its own."""
    with redirect_stdout(StringIO()) as said:
        import_module(module).main(*arguments)
    return json.loads(said.getvalue())


def test_a_race_to_the_end_gives_nobody_up():
    """And has the model of the race in which trees are given up."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 12))
    public = Public(X, (X.sum(axis=1) + rng.normal(size=300) > 0).astype(np.int64), classes=2)
    given_up = fit_public(public)
    with choices.nobody_given_up():
        whole = fit_public(public)
    assert whole.candidates["boosted trees"] != given_up.candidates["boosted trees"]
    assert whole.name == given_up.name
    assert choices.race(public).name == whole.name


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the benchmarks read memory from /proc"
)
def test_quick_benchmarks_write_rows(tmp_path, monkeypatch, capsys):
    """In this process: of those that begin processes of their own two do so."""
    few = replace(timing.QUICK, memory_owners=timing.QUICK.memory_owners[:1])
    for module in (command, boosting, refining):
        monkeypatch.setattr(module, "QUICK", few)
    for module in (proofs, refining, rounds):
        monkeypatch.setattr(module, "figures_of", figures_here)
    out = tmp_path / "bench.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--quick", "--out", str(out)])
    command.main()
    assert "floor" in capsys.readouterr().out
    told = json.loads(out.read_text())
    assert told["code"] == digest_of_benchmark("speed")
    assert told["quick"]
    assert told["rows"]


def test_a_walk_counts_each_function_once_and_switches_of_file():
    steps = [("tacit/cli/fit.py", "fit"), ("tacit/checks.py", "whole"), ("tacit/checks.py", "bad")]
    more = [("tacit/cli/plan.py", "plan"), ("tacit_papers/a/rows.py", "row")]
    row = WalkRow.of("fit", [*steps, steps[0], *more])
    assert (row.files, row.functions, row.rooms, row.switches) == (4, 5, 3, 3)
    assert row.verdict is not None
    assert row.verdict.met


def test_earlier_sources_fit_the_same_rows_in_a_process_of_their_own(tmp_path):
    kernels = Path(os.environ.get("NUMBA_CACHE_DIR", tmp_path))
    found = measure(ROOT / "src", kernels, 60, 3)
    assert found["rows"] == checksum(*make_rows(60, 3)) != checksum(*make_rows(61, 3))
    assert min(found["seconds"], found["processor"]) > 0
    with pytest.raises(SystemExit, match="one of this repository"):
        take_out("no-such-commit", tmp_path)


@pytest.mark.parametrize("kind", same_bytes.COMPARED)
def test_a_campaigns_model_has_the_same_bytes_in_memory_and_by_the_block(kind, tmp_path):
    """The ways of `benchmarks.same_bytes` that need neither Ray nor Flower; on other coins it has
    others.
    """
    trial = same_bytes.prepare(kind, tmp_path)
    said = {way(trial.own) for way in (same_bytes.in_memory, same_bytes.by_block)}
    assert len(said) == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.same_bytes.SEED", 8)
        assert same_bytes.in_memory(trial.own) not in said


def test_rivals_that_see_all_rows_are_told_in_means():
    found = [
        CentralRun("adult", 200, 1.0, run, {"two servers": 83.0 + run, "DP-EBM": 78.0})
        for run in (0, 1)
    ]
    table = table_of_means(found)
    assert table[0] == "| task, public rows | two servers | DP-EBM | runs |"
    assert table[2:] == ["| adult, 200 | 83.5 | 78.0 | 2 |"]


def test_a_method_is_measured_on_rows_of_a_size(tmp_path):
    rows = write_rows(3_000, tmp_path)
    found = measure_method("pooled LR, no privacy", rows, sys.executable)
    assert 0.6 < found.pop("accuracy") < 0.75  # the best possible is 0.69
    assert all(value >= 0 for value in found.values())


def test_all_rows_in_one_place_are_fitted_over_the_features_that_owners_were_asked_about():
    coins = np.random.default_rng(1)
    X = coins.uniform(-1, 1, (1500, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int64)  # no line tells them apart
    public, cohort = Public(X[:100], y[:100], 2), Cohort(X[100:], y[100:], np.arange(1401))
    model = half_way.fit_together(wide_map(public, SMOOTH), cohort, public)
    assert np.mean(model.predict(X) == y) > 0.93


def test_of_the_way_to_all_rows_owners_go_a_part(capsys, monkeypatch):
    monkeypatch.setattr("tacit.algorithms.wide_features.WIDE", 256)
    task = replace(quick_task(), owners=2_000)
    tests = {"test rows": (task.split.X_test, task.split.y_test)}
    half_way.tell(
        task,
        [half_way.walk(task, tests, task.public(50, 0), 1.0, run, whole=not run) for run in (0, 1)],
    )
    (line,) = capsys.readouterr().out.splitlines()
    alone, with_owners, together, way = (float(word) for word in line.split()[3:7])
    assert alone < with_owners < together
    assert 0 < way < 100


def test_test_images_are_moved_as_owners_are():
    """Of 5,500 training images of each class 20,000 are made; as they are they come first."""
    try:
        task = task_of("fashion 0 or 6")
        X, y = half_way.PICTURES[task.name].made_as_owners(task)
    except DataMissing as missing:
        pytest.skip(str(missing))
    assert np.bincount(y).tolist() == [3636, 3636]
    np.testing.assert_array_equal(X[:1000], task.split.X_test[:1000])
    assert not (X[1000:2000] == X[:1000]).all(axis=1).any()


def test_an_oracle_is_between_the_start_and_all_rows(capsys, monkeypatch):
    monkeypatch.setattr("tacit.algorithms.wide_features.WIDE", 256)
    tell(replace(quick_task(), owners=2_000), 50, epsilon=1.0, run=0, draws=2)
    lines = [line.rsplit(maxsplit=2) for line in capsys.readouterr().out.splitlines()[:5]]
    start, oracle, wiser, method, together = (float(line[-1]) for line in lines)
    assert start < oracle - 1 < together - 1
    assert oracle <= wiser + 1
    assert start < method < together + 1


def test_a_siege_is_written_beside_its_quiet_and_is_met_where_nothing_is_lost():
    quiet = SiegeRow("quiet", None, 9, 0, seconds=(0.01, 0.05, 0.04, 0.02), ratios=(1.0, 1.0))
    verdict = Verdict("<= 2x, 0 failed", met=True)
    flood = SiegeRow("floods", verdict, 8, 0, seconds=(0.015, 0.06, 0.05, 0.03), ratios=(1.5, 1.2))
    table = Table("siege", "Honest owners", ("strangers",), [quiet, flood], "")
    (row,) = figures(table, lost=0)
    assert row["strangers"] == "floods"
    assert (row["median_ms"], row["in_quiet"], row["met"]) == (15.0, 10.0, "yes")
    assert figures(table, lost=1)[0]["met"] == "no"


def test_what_came_of_plans_is_read_from_the_made_table():
    """Rises in brackets: of two runs where they have a standard error, else of the first alone."""
    made = "\n".join(
        [
            "before",
            "<!-- table: both trusts; code 0 -->",
            "| task | epsilon | 50 rows, nobody | 1,000 rows, two servers |",
            "|---|---|---|---|",
            "| pnad | 0.5 | 76.6 (-0.1) | 82.0 (+2.9 ± 0.3) |",
            "<!-- end of table -->",
            "| another | 1 | 2 | 3 |",
        ]
    )
    alone, both = measured_in_table(made)
    assert alone == Measured(
        "pnad", 50, 0.5, "nobody", runs=(0,), accuracy=76.6, came=-0.1, error=0.0
    )
    assert both == Measured(
        "pnad", 1000, 0.5, "two servers", runs=(0, 1), accuracy=82.0, came=2.9, error=0.3
    )
    with pytest.raises(ValueError, match="a cell that is none: 'nothing'"):
        list(measured_in_table(made.replace("76.6 (-0.1)", "nothing")))


def test_what_came_of_plans_is_the_mean_of_runs_on_disk():
    lines = [
        '{"task": "pnad", "public_rows": 50, "together": 83.0}',
        *(
            f'{{"task": "pnad", "public_rows": 50, "epsilon": 1.0, "trust": "nobody", "run": {run},'
            f' "public_only": 70.0, "accuracy": {right}}}'
            for run, right in ((100, 71.0), (101, 73.0))
        ),
    ]
    assert list(measured_in_rows(lines)) == [
        Measured("pnad", 50, 1.0, "nobody", runs=(100, 101), accuracy=72.0, came=2.0, error=1.0)
    ]
