"""What operators are given works as it says: traces, a dashboard, containers."""

import asyncio
import json
import re
import threading
from collections import defaultdict
from pathlib import Path

import pytest
import yaml
from benchmarks.service.compose import FILE, Stand, in_order, read
from examples import containers
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from tacit.cli import _options, app
from tacit.cli._options import check_port
from tacit.service.protocol.serving import Address
from tacit.sums.protocol import CoordinatorSide
from tacit.wire import encode
from tests.cli.spoken import commands
from tests.service.coordinator.made import client_of, folder_of, running
from tests.service.coordinator.test_watch import get
from tests.service.helper.made import helper, speaker_of
from tests.sums.made import COORDINATOR_KEY, batch, reports, terms

ROOT = Path(__file__).parents[2]
NAME = "a name that is nobody's business"


def traced(service):
    """Where the spans of a service go."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    service.watch.trace(provider.get_tracer("tacit"))
    return exporter


def test_every_request_is_a_span_and_nothing_that_was_sent_is_in_it(tmp_path):
    service = running(folder_of(tmp_path))
    spans = traced(service)

    async def main():
        async with client_of(service.app) as client:
            found = await client.get("/v1/status")
            await client.get(f"/{NAME}", headers={"x-tacit-owner": NAME})
            service.store.standing = None  # breaks inside
            await client.get("/v1/model")
            return found.headers["x-request-id"]

    named = asyncio.run(main())
    first, second, third = spans.get_finished_spans()
    assert first.name == "status"
    assert first.attributes == {
        "http.route": "status",
        "http.response.status_code": 200,
        "tacit.request": named,  # as in the log
    }
    assert 0 < first.end_time - first.start_time < 60e9
    assert (second.name, second.attributes["http.response.status_code"]) == ("-", 404)
    assert third.status.status_code is StatusCode.ERROR
    assert NAME not in "".join(span.to_json() for span in (first, second, third))


def test_the_dashboard_asks_for_what_there_is(tmp_path):
    """Metrics and labels of every expression and legend are those of a coordinator that has been
    talked to, one that has been refused among them, and of a helper that keeps something.
    """
    board = json.loads((ROOT / "docs" / "grafana" / "tacit.json").read_text())
    service = running(folder_of(tmp_path))

    async def main():
        async with client_of(service.app) as client:
            await client.get("/v1/status")
            await client.get("/nowhere")

    asyncio.run(main())
    service.watch.observe_batch("/v1/enrol", 3)
    labels: defaultdict[str, set[str]] = defaultdict(set)
    campaign = 32 * "ab"
    keeping = helper(tmp_path, campaign)
    block = encode(CoordinatorSide(batch(), COORDINATOR_KEY).block(reports(terms())))
    keeping.check(block, speaker_of(block, campaign))
    shown = [get(each, "/metrics").text for each in (service.watch, keeping.watch)]
    for name, inside in re.findall(r"^(tacit_\w+?)(?:\{(.*)\})? \S+$", "".join(shown), re.M):
        labels[name] |= set(re.findall(r'(\w+)="', inside))
    # without questions there are none to count; several campaigns are told apart
    labels |= {"tacit_questions": {"state"}, "tacit_reports": {"outcome"}}
    asked = set()
    for panel in board["panels"]:
        for target in panel.get("targets", ()):  # rows have none
            names = re.findall(r"tacit_\w+", target["expr"])
            groups = re.findall(r"by \(([^)]*)\)|(\w+)=~?\"", target["expr"])
            used = {word.strip() for found in groups for word in ",".join(found).split(",")} - {""}
            known = {"campaign", "job", "instance"}  # Prometheus knows whom it has asked
            known |= set(re.findall(r'label_replace\(.*?, "(\w+)"', target["expr"]))
            legend = set(re.findall(r"{{(\w+)}}", target["legendFormat"])) - known
            for name in names:
                assert (used - known) | legend <= labels[name], (panel["title"], name)
            if not re.search(r"\b(by|sum)\b", target["expr"]):
                of_all = names[0] in ("tacit_up", "tacit_kept_bytes") or "database" in names[0]
                assert "campaign" in target["legendFormat"] or of_all
            asked |= set(names)
    assert asked <= labels.keys()
    assert len(asked) >= 12
    (stands,) = (panel for panel in board["panels"] if panel["title"] == "Campaigns")
    (state,) = (each for each in stands["targets"] if "tacit_campaign{" in each["expr"])
    (tidied,) = (each for each in stands["transformations"] if each["id"] == "organize")
    assert tidied["options"]["excludeByName"][f"Value #{state['refId']}"]  # it is always 1


def test_every_command_of_the_containers_is_one_of_ours(tmp_path):
    """`python -m benchmarks.service.compose` runs them all, to the end of the campaign."""
    services, known = read(), commands()
    order = in_order(services)
    assert order.index("coordinator") < order.index("invite") < order.index("owner-north")
    stand = Stand(tmp_path, "sqlite:///x.db")
    ran = set()
    for name, service in services.items():
        if "command" not in service:
            continue
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        words = stand.command(service)
        if words[0] == "sh":
            words = words[2].removeprefix("exec ").replace('"$(cat', "KEY").split()
            words = [word for word in words if not word.endswith(')"')]
        if words[0] != "tacit":
            continue
        command = known[words[1]]
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        allowed = {option for parameter in command.params for option in parameter.opts}
        assert given <= allowed, name
        ran.add(words[1])
    assert ran == {"serve", "helper", "invite", "join"}
    assert app is not None


def test_the_files_of_containers_are_sound():
    whole = yaml.safe_load(FILE.read_text())
    mounted = {
        volume.partition(":")[0]
        for service in whole["services"].values()
        for volume in service.get("volumes", [])
        if not volume.startswith(".")
    }
    assert mounted == set(whole["volumes"])
    for service in whole["services"].values():
        for name, wait in service.get("depends_on", {}).items():
            healthy = wait["condition"] == "service_healthy"
            assert healthy == ("healthcheck" in whole["services"][name])
    lines = (ROOT / "Containerfile").read_text().splitlines()
    steps = [line.split()[0] for line in lines if line and not line.startswith(("#", " "))]
    known = {"FROM", "WORKDIR", "COPY", "RUN", "LABEL", "ENV", "USER", "ENTRYPOINT", "CMD"}
    assert set(steps) <= known
    assert (steps[0], steps[-2:]) == ("FROM", ["ENTRYPOINT", "CMD"])
    assert "USER" in steps  # it does not run as root
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists()
                assert f"!{source}" in ignored


def test_what_the_trial_needs_is_made_once(tmp_path):
    containers.main(tmp_path)
    first = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    containers.main(tmp_path)
    again = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert first == again
    assert {"campaign.toml", "policy.toml", "north.csv"} <= {file.name for file in first}


@pytest.mark.parametrize("name", ["north", "south"])
def test_the_trial_has_as_many_tokens_as_owners(name, tmp_path):
    containers.main(tmp_path)
    rows = (tmp_path / f"{name}.csv").read_text().splitlines()[1:]
    owners = {row.rpartition(",")[2] for row in rows}
    (invite,) = [word for word in read()["invite"]["command"] if word.startswith("--owners=")]
    assert invite == f"--owners={len(owners)}"


def test_two_services_do_not_share_a_port(monkeypatch):
    """The second was begun beside the first, and each had some of the other's requests: of two
    campaigns on the usual port, owners reached now one and now the other.
    """
    monkeypatch.setattr(_options, "_GOING", 0.5)
    with Address(host="127.0.0.1", port=0).listen() as first:
        _, port = first.getsockname()
        with pytest.raises(ValueError, match=f"cannot listen on 127.0.0.1, port {port}"):
            check_port("127.0.0.1", port)
    check_port("127.0.0.1", port)


def test_workers_of_a_service_that_was_killed_are_waited_for():
    """They see within a second or so that it is gone, and listen until then."""
    first = Address(host="127.0.0.1", port=0).listen()
    going = threading.Timer(0.5, first.close)
    going.start()
    check_port("127.0.0.1", first.getsockname()[1])
    assert first.fileno() == -1
