"""Logs of services: one line per event, and nothing of what was sent."""

import json
import logging
import sys

import pytest
from typer.testing import CliRunner

from tacit.cli import app
from tacit.cli._options import JsonFormatter, LineFormatter, log_to_stderr

SENT = "a token, a key, a label"


def record(message="refused", *arguments, exc_info=None, **extra):
    made = logging.getLogger("tacit.test").makeRecord(
        "tacit.test", logging.INFO, "f", 1, message, arguments, exc_info
    )
    vars(made).update(extra)
    return made


def test_json_lines_hold_figures():
    event = json.loads(
        JsonFormatter().format(record("question %d closed", 3, status=403, route="report"))
    )
    assert event.pop("time").endswith("+00:00")
    assert event == {
        "level": "info",
        "where": "tacit.test",
        "event": "question 3 closed",
        "status": "403",
        "route": "report",
    }


@pytest.mark.parametrize("formatter", [JsonFormatter(), LineFormatter()], ids=["json", "line"])
def test_tracebacks_and_their_texts_are_left_out(formatter):
    try:
        raise ValueError(SENT)
    except ValueError:
        line = formatter.format(
            record(f"Exception with {SENT}", exc_info=sys.exc_info(), body=SENT)
        )
    assert SENT not in line
    assert "ValueError" in line


def test_a_line_is_one_line():
    assert "\n" not in LineFormatter().format(record("campaign one\ncampaign two"))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])  # noqa: S104 - refused
def test_serving_off_this_machine_needs_tls(tmp_path, host):
    (tmp_path / "campaign.toml").write_text("")
    with pytest.raises(ValueError, match="give --certificate and --key"):
        CliRunner().invoke(
            app, ["serve", str(tmp_path / "campaign.toml"), "--host", host], catch_exceptions=False
        )


def test_an_empty_host_is_not_every_host(tmp_path):
    """As a library takes it: it would be served to everybody."""
    (tmp_path / "campaign.toml").write_text("")
    told = CliRunner().invoke(app, ["serve", str(tmp_path / "campaign.toml"), "--host", ""])
    assert told.exit_code == 2
    assert "is empty" in told.output


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "line"])
def test_every_request_of_the_http_client_is_not_an_event(capsys, monkeypatch, as_json):
    """An owner asks again and again: its log must not fill with that, nor name whom it asks."""
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])  # those of the tests come back afterwards
    level = root.level
    try:
        log_to_stderr(as_json)
        logging.getLogger("httpx").info("HTTP Request: GET %s", SENT)
        logging.getLogger("httpcore.connection").info("connect %s", SENT)
        logging.getLogger("tacit.test").info("question 3 closed")
    finally:
        root.setLevel(level)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "question 3 closed" in said
    assert SENT not in said
