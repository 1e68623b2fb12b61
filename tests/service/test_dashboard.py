"""The dashboard's file is one that Grafana imports; what is drawn without its server is asked for
as the server does.
"""

import json
from copy import deepcopy
from pathlib import Path

import httpx
import pytest
from benchmarks.service import dashboard, drawing
from benchmarks.service.board import faults
from benchmarks.service.dashboard import BOARD
from benchmarks.service.drawing import ask_panels, chosen, with_choices
from benchmarks.service.prometheus import MissingError, at, over, program

WHOLE = json.loads(BOARD.read_text())
_HOURS = 6 * 3600.0


def panel(board, title="Connections to the database"):
    (found,) = (each for each in board["panels"] if each["title"] == title)
    return found


def test_grafana_imports_the_dashboard():
    assert faults(WHOLE) == []
    assert len(WHOLE["panels"]) > 15


def spoilt_size(board):
    panel(board)["gridPos"]["h"] += 1


def spoilt_width(board):
    panel(board)["gridPos"]["x"] += 1


def spoilt_id(board):
    panel(board)["id"] = board["panels"][0]["id"]


def spoilt_type(board):
    panel(board)["type"] = "graph"  # gone with Grafana 11


def spoilt_legend(board):
    panel(board)["targets"][0]["legendFormat"] = ""


def spoilt_variable(board):
    panel(board)["targets"][0]["expr"] = 'sum(tacit_up{job="$job"})'


def spoilt_source(board):
    panel(board)["targets"][0]["datasource"]["uid"] = "P1809F7CD0C75ACF3"


def spoilt_choice(board):
    board["templating"]["list"] = board["templating"]["list"][1:]


def spoilt_option(board):
    panel(board)["options"]["legend"]["sort"] = "Max"


def spoilt_custom(board):
    panel(board)["fieldConfig"]["defaults"]["custom"]["fill"] = 1


def spoilt_override(board):
    panel(board)["fieldConfig"]["overrides"][0]["properties"][0]["id"] = "colour"


def spoilt_unit(board):
    panel(board)["fieldConfig"]["defaults"]["unit"] = "seconds"


def spoilt_moment(board):
    panel(board, "Figures can be read")["targets"][0]["instant"] = False


def spoilt_column(board):
    del panel(board, "Campaigns")["targets"][-1]


def spoilt_version(board):
    board["schemaVersion"] = 16


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoilt_size, "overlap"),
        (spoilt_width, "wider than the grid"),
        (spoilt_id, "id 1 is there 2 times"),
        (spoilt_type, "a panel of type graph"),
        (spoilt_legend, "query A has no legend"),
        (spoilt_variable, "$job is not declared"),
        (spoilt_source, "query A asks another source"),
        (spoilt_choice, "$source is not declared"),
        (spoilt_option, "no such name of a legend: sort"),
        (spoilt_custom, "no such name of its own: fill"),
        (spoilt_override, "no such name of an override: colour"),
        (spoilt_unit, "unit seconds"),
        (spoilt_moment, "asks for another time than is shown"),
        (spoilt_column, "Value #H is of no query"),
        (spoilt_version, "schemaVersion"),
    ],
)
def test_a_dashboard_that_is_not_sound_is_told(spoil, said):
    board = deepcopy(WHOLE)
    spoil(board)
    assert any(said in fault for fault in faults(board))


def test_points_are_as_far_apart_as_grafana_has_them():
    """About a point a pixel, in round times, no closer than Prometheus looks. Rates go over four
    looks at least, and over a step and a look.
    """
    half, whole = {"gridPos": {"w": 12}}, {"gridPos": {"w": 24}}
    assert chosen(60.0, 5.0, half) == (5.0, "20s")
    assert chosen(_HOURS, 15.0, half) == (30.0, "60s")
    assert chosen(_HOURS, 15.0, whole) == (15.0, "60s")
    assert chosen(4 * _HOURS, 15.0, half) == (120.0, "135s")
    assert chosen(40 * _HOURS, 15.0, half) == (1200.0, "1215s")


def test_grafanas_variables_are_put_in():
    asked = 'rate(x{campaign=~"$campaign"}[$__rate_interval]) or y[$__range]'
    put_in = {"$__rate_interval": "1m", "$__range": "6h"}
    assert with_choices(asked, put_in) == 'rate(x{campaign=~".*"}[1m]) or y[6h]'
    for each in WHOLE["panels"]:
        for target in each.get("targets", ()):
            assert "$_" not in with_choices(target["expr"], put_in)


def test_each_panel_is_asked_for_its_time():
    """Tables and single figures for the end of it, graphs for all of it: a state that is over, and
    a service that is gone, are not shown as if they were.
    """
    asked = []

    def answer(request):
        asked.append((request.url.path, dict(request.url.params)))
        return httpx.Response(200, json={"status": "success", "data": {"result": []}})

    with httpx.Client(transport=httpx.MockTransport(answer), base_url="http://x") as client:
        found = ask_panels(client, WHOLE, (1000.0, 1000.0 + _HOURS), 15.0)
    assert {path for path, _ in asked} == {"/api/v1/query", "/api/v1/query_range"}
    for path, query in asked:
        assert "$" not in query["query"].replace('"$1"', "")
        if path.endswith("range"):
            assert float(query["start"]) % float(query["step"]) == 0
        else:
            assert float(query["time"]) == 1000.0 + _HOURS
    for each in WHOLE["panels"]:
        assert len(found["answers"][each["id"]]) == len(each.get("targets", ()))


def test_a_query_that_prometheus_refuses_is_an_error():
    def refuse(request):
        return httpx.Response(400, json={"status": "error", "error": "parse error"})

    with httpx.Client(transport=httpx.MockTransport(refuse), base_url="http://x") as client:
        with pytest.raises(ValueError, match=r"sum\(: parse error"):
            at(client, "sum(")
        with pytest.raises(ValueError, match=r"sum\(: parse error"):
            over(client, "sum(", (0.0, 60.0), 15.0)
        assert dashboard.ask(client, "sum(", "") == (0, "sum(: parse error")


@pytest.mark.parametrize("arguments", [[], ["--draw", "out"]])
def test_a_program_that_is_missing_is_named_in_a_line(arguments, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["dashboard", *arguments])
    monkeypatch.setattr("signal.signal", lambda *_: None)
    with pytest.raises(SystemExit) as ended:
        dashboard.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "is not on the PATH: apt-get install" in said
    assert list(Path(tmp_path).iterdir()) == []


def test_each_program_that_drawing_needs_is_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="prometheus"):
        program()
    for name, missing in (("npm", "chromium"), ("chromium", None)):
        with pytest.raises(MissingError, match=name):
            drawing.tools()
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        if missing is None:
            assert [Path(each).name for each in drawing.tools()] == ["npm", "chromium"]
