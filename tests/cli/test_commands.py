import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tacit import __version__
from tacit.audit.gate import CASES, audit_gate
from tacit.audit.non_interference import non_interference, script
from tacit.cli import app, main
from tacit.cli._demo_trials import Trial
from tacit.estimators.measures import measure
from tacit.learners.owners.stump import Stump
from tacit.service.kinds import read_spec
from tests.cli.spoken import commands, document, example, run_program

run = CliRunner().invoke


EXAMPLE = example(commands()["demo"])
QUICK = EXAMPLE[: EXAMPLE.index("--out")]


def test_demo_shows_plot_table_and_report_and_repeats_itself(tmp_path, monkeypatch, capfd):
    result = run(app, [*QUICK, "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    for word in (
        "accuracy in %",
        "● tacit",
        "▲ tacit, two servers",
        "boosted centroids",
        "public rows alone",
        "all rows in one place",
        "not private",
    ):
        assert word in result.output
    assert "tacit fit people.csv --label income --public mine.csv" in result.output
    assert len((tmp_path / "new" / "files" / "mine.csv").read_text().splitlines()) == 61
    assert "income" not in (tmp_path / "new" / "files" / "new.csv").read_text()
    terms, public = read_spec(tmp_path / "new" / "files" / "campaign.toml").prepare()
    assert (terms.name, len(public.y)) == ("Who earns more", 60)
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    assert (tmp_path / "new" / "files" / "campaign.toml").read_text() in readme
    page = (tmp_path / "new" / "report.html").read_text()
    for word in (
        f"tacit {' '.join(QUICK)} --seed 1",
        "boosted centroids",
        "<svg",
        "Unit",
        "The same by other measures",
        "AUC",
    ):
        assert word in page
    assert list((tmp_path / "new").rglob("*.png"))

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)  # it is an extra
    monkeypatch.chdir(tmp_path)
    said, lines, status = run_program([*EXAMPLE, "--json"], monkeypatch, capfd)
    assert status == 0, lines
    found = document(said)
    assert set(found) >= {"rows", "report", "files", "seconds"}
    rows = {row["method"]: row for row in found["rows"]}
    order = ["boosted centroids", "tacit", "tacit, two servers"]
    order.append("all rows in one place, no privacy")
    assert sorted(order, key=lambda method: rows[method]["mean"]) == order
    files = [(tmp_path / name / "rows.jsonl").read_text() for name in ("new", "out/demo")]
    assert files[0] == files[1]


SEEN = np.zeros(10, dtype=int)  # classes of test rows


def test_stopping_the_demo_keeps_what_is_done(tmp_path, monkeypatch):
    def two(*given):
        right, better = (measure(np.eye(2)[[0] * k + [1] * (10 - k)], SEEN) for k in (8, 9))
        yield Trial(0, "public rows alone", None, right)
        yield Trial(0, "tacit", 4.0, better)
        os.kill(os.getpid(), signal.SIGINT)
        yield Trial(0, "never", 4.0, better)

    monkeypatch.setattr("tacit.cli.demo.population", lambda owned, public: None)
    monkeypatch.setattr("tacit.cli.demo.trials", two)
    result = run(app, [*QUICK, "--out", str(tmp_path)])
    assert result.exit_code == 130
    assert "80.0" in result.output
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2


def test_audit_passes_and_says_so():
    result = run(
        app,
        [
            "audit",
            "--part",
            "mechanisms",
            "--epsilon",
            "1",
            "--dim",
            "1",
            "--reports",
            "20000",
            "--json",
        ],
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["sound"]
    assert found["seconds"] > 0
    assert {row["mechanism"] for row in found["mechanisms"]} == {
        "RandomizedResponse", "Duchi", "Piecewise", "Hybrid", "PrivUnit", "Laplace",
    }  # fmt: skip
    assert all(row["sound"] and row["proven"] <= row["claimed"] for row in found["mechanisms"])
    assert "gate" not in found


def test_audit_of_the_gate_shows_tables_and_a_picture(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.cli.audit.CASES", CASES[1:2])
    picture = tmp_path / "new" / "audit.png"
    result = run(app, ["audit", "--part", "gate", "--owners", "400", "--picture", str(picture)])
    assert result.exit_code == 0, result.output
    for word in (
        "stump",
        "duchi",
        "two runs",
        "one run",
        "Books: every",
        "Coins: fresh",
        "Everything holds, in",
    ):
        assert word in result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_audit_fails_on_a_leak(monkeypatch):
    from tests.mechanisms.mutants import WiderThanClaimed

    monkeypatch.setattr("tacit.audit.mechanisms.PRIVATE", (WiderThanClaimed,))
    monkeypatch.setattr("tacit.audit.mechanisms.small_table", lambda kind, epsilon: None)
    result = run(app, ["audit", "--part", "mechanisms", "--epsilon", "1", "--dim", "1"])
    assert result.exit_code == 1
    assert "FAILS" in result.output


def test_audit_fails_on_a_gate_that_tells_of_rows(monkeypatch):
    from tests.audit.mutants import LogsRows, NeverSpent

    few = script((Stump(),), ("duchi",), ())
    monkeypatch.setattr(non_interference, "__defaults__", (few, LogsRows, None))
    monkeypatch.setattr(audit_gate, "__defaults__", (CASES[1:2], NeverSpent, 0.999))
    monkeypatch.setattr("tacit.cli.audit.CASES", CASES[1:2])
    result = run(app, ["audit", "--part", "non-interference", "--part", "gate", "--owners", "400"])
    assert result.exit_code == 1
    for word in ("differences", "DEBUG tacit.quiet", "than the policy allows", "FAILS"):
        assert word in result.output


@pytest.mark.parametrize(
    "arguments", ["demo --epsilon nan", "demo --epsilon 0", "audit --epsilon -1"]
)
def test_a_bad_parameter_is_one_line(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tacit", *arguments.split()])
    with pytest.raises(SystemExit) as end:
        main()
    told = capsys.readouterr().err
    assert end.value.code == 2
    assert told.startswith("tacit: epsilon must be ")
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["serve", ""], "what is given is empty"),
        (["serve", "campaign.toml", "--state", ""], "what is given after --state is empty"),
        (["admin", "grant", "ada", "--roles", "look", "--state="], "--state= is empty"),
    ],
)
def test_what_is_empty_stands_for_no_folder(words, told, tmp_path, monkeypatch):
    """As `"$STATE"` does that nobody has set: the folder one is in was served, or had a new key."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "admin.key").write_text("key")
    refused = run(app, words)
    assert refused.exit_code == 2
    assert told in refused.output
    assert [file.name for file in tmp_path.iterdir()] == ["admin.key"]


def test_the_program_as_a_process():
    command = [sys.executable, "-m", "tacit", "predict", "gone.tacit", "gone.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "tacit: gone.tacit is not there: give a model that tacit fit wrote\n"


def test_reproduce_refuses_another_paper():
    result = run(app, ["reproduce", "z"])
    assert isinstance(result.exception, ValueError)
    assert "paper must be one of a, b, c, d, all, ahead, trees, future, got 'z'" in str(
        result.exception
    )


def test_reproduce_runs_as_many_as_were_asked_for(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(
        "tacit_papers.reproduce.run_cells", lambda cells, *_, **__: asked.extend(cells)
    )
    run(app, ["reproduce", "ahead", "--dataset", "adult", "--runs", "2", "--out", str(tmp_path)])
    assert {cell.run_number for cell in asked} == {0, 1}
    refused = run(app, ["reproduce", "c", "--runs", "2", "--out", str(tmp_path)])
    assert "--runs is for ahead and trees" in str(refused.exception)


def test_version_and_help():
    assert __version__ in run(app, ["--version"]).output
    assert "demo" in run(app, ["--help"]).output
