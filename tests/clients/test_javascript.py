"""The JavaScript client: vectors in Node and in a real browser, and owners in Node and in a browser
that join a real coordinator.
"""

import hashlib
import json
import ssl
import subprocess
import sys
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from benchmarks.loopback import Authority, serve
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding

from tacit.service.kinds import read_spec
from tacit.service.protocol.handshake import greeting
from tests.browser import browser, watched
from tests.clients.campaigns import (
    CLIENT,
    folder_of,
    node,
    published,
    records_of,
    rehearse,
)
from tests.service.coordinator.made import rows, running, write
from tests.sums.made import HELPER_KEY, public
from tests.vectors.checks import FILE

LARGEST = 100_000  # bytes of the client


def test_the_client_is_small_and_needs_nothing_else():
    sources = sorted((CLIENT / "src").glob("*.js"))
    assert sum(file.stat().st_size for file in sources) < LARGEST
    assert "dependencies" not in json.loads((CLIENT / "package.json").read_text())
    for file in sources:
        for line in file.read_text().splitlines():
            if line.startswith(("import ", "} from")):
                assert '"./' in line or line == "import {", f"{file.name}: {line}"
            assert len(line) <= 110, f"{file.name}: {line}"


def test_the_vectors_in_node():
    command = [node(), str(CLIENT / "test" / "run_vectors.js"), str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 150


def test_the_gate_charges_repeats_refuses_and_waits():
    command = [node(), str(CLIENT / "test" / "gate.js"), str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the gate holds")


def test_changed_bytes_are_read_or_refused_and_nothing_else():
    command = [node(), str(CLIENT / "test" / "mutations.js"), str(FILE), "1000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert min(counts["read"], counts["refused"]) > 200


@pytest.fixture(scope="module")
def seen():
    with browser() as running_browser:
        yield running_browser


OTHERS = {
    "boosting": 'kind = "boosting"\nlearner = "logistic"\nrounds = 2\nowners_per_round = 5',
    "sites": 'kind = "sites"',
    "two servers": f"""
kind = "classifier"
owners = 4000
trust = "two servers"
helper = "https://helper.invalid"
helper_key = "{public(HELPER_KEY).hex()}"
""",
}
GREET = """
import { Link, Owner } from "CLIENT/src/client.js";
import { Policy } from "CLIENT/src/policy.js";
import { readFileSync } from "node:fs";
const bytes = new Uint8Array(readFileSync("greeting"));
const asked = [];
const send = async (url, { method }) => {
  asked.push(method + new URL(url).pathname);
  return { status: 200, header: () => null, bytes };
};
const policy = new Policy({ epsilonPerRelease: "8", epsilonTotal: "8" });
const link = new Link("https://x.invalid", { send });
const said = await Owner.greet(link, { records: [], policy }).catch(
  (problem) => problem.message,
);
console.log(JSON.stringify([said, asked]));
"""


@pytest.mark.parametrize("kind", OTHERS)
def test_other_campaigns_are_refused_before_anything_is_sent(tmp_path, kind, monkeypatch):
    monkeypatch.setattr("tacit.algorithms.wide_features.WIDE", 150)
    sample = [{k: v for k, v in row.items() if k != "who"} for row in rows(60, 1, seed=1)]
    for place in range(0, 60, 4):  # noise, so that there is something to ask owners for
        sample[place]["ill"] = sample[place - 1]["ill"]
    write(tmp_path / "mine.csv", sample)
    common = 'name = "other"\nsample = "mine.csv"\nlabel = "ill"\nepsilon = 1.0\nstart = 4000\n'
    (tmp_path / "campaign.toml").write_text(common + OTHERS[kind])
    terms, _ = read_spec(tmp_path / "campaign.toml").prepare(bytes(32))
    key = Ed25519PrivateKey.generate()
    (tmp_path / "greeting").write_bytes(greeting(terms, terms.template(), key))
    (tmp_path / "greet.mjs").write_text(GREET.replace("CLIENT", str(CLIENT)))
    command = [node(), "greet.mjs"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    said, asked = json.loads(done.stdout)
    assert "does not do" in said
    assert "nothing was sent; tacit join" in said
    assert asked == ["GET/v1/campaign"]


@contextmanager
def files_of(folder):
    """A folder's files on this machine, under one origin."""

    class Quiet(SimpleHTTPRequestHandler):
        def __init__(self, *given):
            super().__init__(*given, directory=str(folder))

        def log_message(self, *given):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def test_the_vectors_in_a_browser(seen):
    with files_of(CLIENT.parents[1]) as url:
        page, _ = watched(seen, url)
        page.goto(f"{url}/clients/javascript/page/style.css")  # any page of that origin
        found = page.evaluate(
            """async () => {
              const { check } = await import("/clients/javascript/test/vectors.js");
              const vectors = await fetch("/docs/reference/wire-vectors.json");
              return check(await vectors.json());
            }"""
        )
    assert found["failures"] == []
    assert found["passed"] > 150


@pytest.mark.parametrize("owners", [20])
def test_owners_in_node_make_the_model_of_python_owners(tmp_path, owners):
    outcomes, over_http, here = rehearse(folder_of(tmp_path, owners))
    assert outcomes == ["counted"] * owners
    assert over_http == here


@contextmanager
def page_of(address, *more):
    """The page for a person, served by Node on this machine, before a coordinator."""
    command = [node(), str(CLIENT / "node" / "serve.js"), address, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield next(iter(server.stdout or ())).strip()
        finally:
            server.terminate()


def look(page, url, file, at_first=""):
    """Choose limits and a file, as a person does first; `at_first` is said with limits that are
    too low.
    """
    page.goto(url)
    page.get_by_label("A CSV file").set_input_files(file)
    page.get_by_text("Your limit allows none of the epsilons on offer: 4, 8.").wait_for()
    assert page.get_by_text("in odds, at most").is_hidden()
    assert at_first in page.locator("#state").inner_text()
    page.get_by_label("Epsilon for one answer").fill("8")
    page.get_by_label("Epsilon in all, for ever").fill("8")
    page.get_by_label("Epsilon in all, for ever").blur()
    page.get_by_text("in odds, at most").wait_for()


def test_the_page_says_what_is_wrong_with_a_file_and_that_nobody_answers(seen, tmp_path):
    files = {"nothing": "", "twice": "a,a\n1,2\n", "ragged": "a,b\n1,2\n3\n", "good": "a,b\n1,2\n"}
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
    with page_of("http://127.0.0.1:9") as url:  # where no coordinator is
        page, _ = watched(seen, url)
        page.goto(url)
        for name, words in {
            "nothing": "the file is empty: its first line must name the columns",
            "twice": "two columns have the same name",
            "ragged": "line 3 must have 2 cells, got 1",
            "good": "The campaign does not answer now. It is asked again",
        }.items():
            page.get_by_label("A CSV file").set_input_files(tmp_path / f"{name}.csv")
            page.get_by_text(words).wait_for()
        assert page.get_by_role("button", name="I agree").is_hidden()


def test_a_person_agrees_in_a_browser_and_owners_in_node_join_beside(seen, tmp_path):
    """Real coins, TLS by a certificate that is pinned, and answers of both counted."""
    folder = folder_of(tmp_path, 8, "piecewise")
    authority = Authority.create(tmp_path, "here")
    certificate = x509.load_pem_x509_certificate(authority.certificate.read_bytes())
    pin = hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()
    tokens = [f"token number {i:04d}" for i in range(8)]
    service = running(folder)
    service.store.add_tokens(tokens)
    everybody = records_of(folder)
    for i, records in enumerate(everybody):
        write(tmp_path / f"rows {i}.csv", records)
    policy = {"epsilonPerRelease": "8", "epsilonTotal": "8", "timeStep": 0}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    joined = []
    with serve(service.app, authority) as address, page_of(address, "--pin", pin) as url:
        for i in range(1, 8):
            command = [node(), str(CLIENT / "node" / "join.js"), address, "--yes", "--pin", pin]
            command += ["--data", str(tmp_path / f"rows {i}.csv"), "--token", tokens[i]]
            command += ["--policy", str(tmp_path / "policy.json")]
            command += ["--home", str(tmp_path / f"home {i}")]
            if i == 1:  # a mistyped token keeps nobody from coming again with the right one
                mistyped = [*command, "--token", "another"]
                refused = subprocess.run(mistyped, capture_output=True, text=True, check=False)
                assert refused.returncode == 1
                assert "not enrolled: the token is unknown" in refused.stderr
            joined.append(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sys.stderr, text=True)
            )
        try:
            page, wrong = watched(seen, url, viewport={"width": 390, "height": 800})
            look(page, url, tmp_path / "rows 0.csv", "Nothing leaves unless you raise your limit.")
            words = page.get_by_text("Of your budget of 8, 0 is spent.").inner_text()
            assert "epsilon 8" in words
            assert "2,981 times" in words
            assert page.get_by_text("Columns used: a, b, c, place").is_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
            page.get_by_label("The token of your invitation").fill("another")
            page.get_by_role("button", name="I agree").click()
            page.get_by_text("not enrolled: the token is unknown").wait_for()
            look(page, url, tmp_path / "rows 0.csv")  # also when the page was loaded again since
            page.get_by_label("The token of your invitation").fill(tokens[0])
            page.get_by_role("button", name="I agree").click()
            counted = page.get_by_text("Your report was counted")
            counted.or_(page.locator(".state.wrong")).first.wait_for(timeout=120_000)
            assert counted.is_visible(), page.locator("#state").inner_text()
            spent = page.evaluate(
                """() => new Promise((done) => {
                  const opening = indexedDB.open("tacit");
                  opening.onsuccess = () => {
                    const store = opening.result.transaction("releases").objectStore("releases");
                    const asked = store.getAll();
                    asked.onsuccess = () => done(asked.result.map((each) => each.epsilon));
                  };
                })"""
            )
            assert spent == ["8"]
            assert page.locator("#left").inner_text() == "0"
            assert page.get_by_label("8 spent and 0 to be spent of 8").is_visible()
            assert page.get_by_role("button", name="I agree").is_hidden()
            said = [each.communicate(timeout=60)[0] for each in joined]
            published(address, verify=ssl.create_default_context(cafile=authority.certificate))
            look(page, url, tmp_path / "rows 0.csv")
            page.get_by_text("You have answered.").wait_for()
            page.get_by_label("8 spent and 0 to be spent of 8").wait_for()
            assert page.get_by_label("The token of your invitation").is_hidden()
            page.get_by_role("button", name="Go on").click()
            page.get_by_text("What you answered is counted as spent above.").wait_for()
            expected = ("status of 403", "status of 410")  # the token that was none, the end
            assert [each for each in wrong if not any(one in each for one in expected)] == []
        finally:
            for each in joined:
                each.kill()
                each.communicate()
    assert all(text.splitlines()[-1] == "counted" for text in said)
    ledgers = [
        json.loads((tmp_path / f"home {i}" / "ledger.json").read_text()) for i in range(1, 8)
    ]
    assert [[line["entry"]["epsilon"] for line in each] for each in ledgers] == [["8"]] * 7
