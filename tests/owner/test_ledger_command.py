"""tacit ledger: what was released, when, to whom, for how much, and what is left."""

import json

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.owner.ledger import LedgerError
from tests.owner.made import gate, query, question

run = CliRunner().invoke


def spent(folder):
    door = gate(folder, epsilon_total=1, releases=3)
    door.answer(question(1, asked=query(epsilons=(0.3,))))
    door.answer(question(2, asked=query(epsilons=(0.25,), mechanism="duchi")))
    return ["ledger", "show", str(folder / "ledger.db"), "--mark", str(folder / "ledger.mark")]


def test_show_prints_releases_and_what_is_left(tmp_path):
    command = spent(tmp_path)
    (tmp_path / "policy.toml").write_text(
        "epsilon_per_release = 1\nepsilon_total = 1\nreleases = 3"
    )
    result = run(app, [*command, "--policy", str(tmp_path / "policy.toml")], env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    for word in ("2 releases", "trial", "privunit", "duchi", "0.25"):
        assert word in result.output
    assert (
        "owner 0: epsilon 0.55 spent in 2 releases, 0.45 left, 1 more release allowed"
        in result.output
    )


def test_names_are_shown_as_they_are(tmp_path):
    gate(tmp_path, owners=["[/]"]).answer(question(campaign="[red]flu[/]"))
    command = [
        "ledger",
        "show",
        str(tmp_path / "ledger.db"),
        "--mark",
        str(tmp_path / "ledger.mark"),
    ]
    result = run(app, command, env={"COLUMNS": "160"})
    assert result.exit_code == 0, result.output
    assert "[red]flu[/]" in result.output
    assert "[/]: epsilon 1 spent" in result.output


def test_show_for_machines(tmp_path):
    found = json.loads(run(app, [*spent(tmp_path), "--json"]).stdout)
    assert [entry["epsilon"] for entry in found["releases"]] == ["3/10", "1/4"]
    assert found["owners"] == {"owner 0": {"spent": "0.55", "releases": 2, "delta": "0"}}


def test_a_moved_ledger_is_adopted_on_purpose(tmp_path):
    command = spent(tmp_path)
    (tmp_path / "ledger.mark").unlink()
    with pytest.raises(LedgerError, match="tacit ledger adopt"):
        run(app, command, catch_exceptions=False)
    result = run(app, ["ledger", "adopt", *command[2:]])
    assert "adopted with 2 releases" in result.output.replace("\n", "")
    assert run(app, command).exit_code == 0


def test_a_mark_beside_its_ledger_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    command = [*spent(tmp_path)[:3], "--json"]
    assert len(json.loads(run(app, command).stdout)["releases"]) == 2
    (tmp_path / "ledger.mark").unlink()
    assert isinstance(run(app, command).exception, LedgerError)
