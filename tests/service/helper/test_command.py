"""tacit helper: what it refuses before it listens."""

import pytest
from typer.testing import CliRunner

from tacit.cli import app


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "0.0.0.0"], "is not this machine: give --certificate and --key"),  # noqa: S104 - refused
        (["--campaign", "key"], "campaign must be a key of 64 hexadecimal digits, got 'key'"),
        (["--certificate", __file__], "certificate and key must be given together"),
    ],
    ids=["host", "campaign", "certificate"],
)
def test_it_does_not_listen_unsafely(tmp_path, arguments, message):
    result = CliRunner().invoke(app, ["helper", "--state", str(tmp_path / "state"), *arguments])
    assert isinstance(result.exception, ValueError)
    assert message in str(result.exception)
    assert not (tmp_path / "state").exists()
