import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tacit import __version__
from tacit.audit.gate import CASES, audit_gate
from tacit.audit.non_interference import non_interference
from tacit.cli import app
from tacit.learners.stump import Stump
from tacit.owner.gate import Gate

run = CliRunner().invoke


def test_demo_shows_table_guarantee_and_picture(tmp_path):
    result = run(app, ["demo", "--owners", "5000", "--out", str(tmp_path / "new" / "demo.png")])
    assert result.exit_code == 0, result.output
    for word in ("PrivUnit", "Piecewise", "Guarantee", "reproducible, not private", "Picture"):
        assert word in result.output
    assert (tmp_path / "new" / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_for_machines_repeats_itself():
    arguments = ["demo", "--owners", "5000", "--json", "--seed", "3"]
    first, second = (run(app, arguments).output for _ in range(2))
    assert first == second
    rows = {row["mechanism"]: row for row in json.loads(first)["rows"]}
    assert rows["PrivUnit"]["predicted"] < rows["Piecewise"]["predicted"] < rows["Laplace"]["predicted"]


def test_demo_without_matplotlib_still_tells(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run(app, ["demo", "--owners", "500"])
    assert result.exit_code == 0
    assert "tacit[plot]" in result.output.replace("\n", "")


def test_audit_passes_and_says_so():
    result = run(app, ["audit", "--part", "mechanisms", "--epsilon", "1", "--dim", "1", "--reports", "20000", "--json"])
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
    monkeypatch.setattr(audit_gate, "__defaults__", (CASES[1:2], Gate, 0.999))
    picture = tmp_path / "new" / "audit.png"
    result = run(app, ["audit", "--part", "gate", "--owners", "400", "--picture", str(picture)])
    assert result.exit_code == 0, result.output
    for word in ("stump", "duchi", "two runs", "one run", "Books: every", "Coins: fresh", "Everything holds, in"):
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

    monkeypatch.setattr(non_interference, "__defaults__", ((Stump(),), ("duchi",), (), LogsRows, None))
    monkeypatch.setattr(audit_gate, "__defaults__", (CASES[1:2], NeverSpent, 0.999))
    result = run(app, ["audit", "--part", "non-interference", "--part", "gate", "--owners", "400"])
    assert result.exit_code == 1
    for word in ("differences", "DEBUG tacit.quiet", "than the policy allows", "FAILS"):
        assert word in result.output


@pytest.mark.parametrize("arguments", ["demo --epsilon nan", "demo --epsilon 0", "audit --epsilon -1"])
def test_a_bad_parameter_is_one_line(arguments):
    command = [sys.executable, "-c", "from tacit.cli import main; main()", *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("tacit: epsilon must be ")
    assert done.stderr.count("\n") == 1


def test_reproduce_shows_measured_beside_published(tmp_path):
    result = run(app, ["reproduce", "a", "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    for word in ("Table II", "Table IV", "(published)", "boosted stump", "sample alone", "2 of 2"):
        assert word in result.output
    assert (tmp_path / "rows.jsonl").read_text().count("\n") > 20
    assert len(list((tmp_path / "pictures").glob("*.png"))) >= 5
    for name in ("report.html", "report.md"):
        assert "tacit reproduce a --quick --seed 1" in (tmp_path / name).read_text()


def test_reproduce_refuses_another_paper():
    result = run(app, ["reproduce", "z"])
    assert isinstance(result.exception, ValueError)
    assert "paper must be one of a, c, d, ahead, got 'z'" in str(result.exception)


def test_version_and_help():
    assert __version__ in run(app, ["--version"]).output
    assert "demo" in run(app, ["--help"]).output
