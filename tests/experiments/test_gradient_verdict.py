"""Where trees win: the table that says so."""

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.experiments.gradient_verdict import TreeRow


def test_the_table(tmp_path):
    done = CliRunner().invoke(app, ["reproduce", "trees", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "of 1 settings" in done.output
    assert (tmp_path / "rows.jsonl").read_text().count('"TreeRow"') == 1


@pytest.mark.parametrize(("difference", "wins"), [(0.01, True), (0.001, False), (-0.01, False)])
def test_a_win_is_more_than_noise(difference, wins):
    row = TreeRow("t", 1, 1, 1.0, 50, 3, 0.7, 0.8, 0.6, 0.75, "", 0.8 + difference, "", difference, 0.001)
    assert row.wins == wins
