"""A real Ray of several processes: the model has the bytes of one process, whoever is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import create_server
from typing import Any

import numpy as np
import pytest

from tacit import (
    PeerEnsemble,
    PrivateBoosting,
    PrivateClassifier,
    SiteEnsemble,
    SiteEnsembleRegressor,
)
from tacit.data.cohort import Cohort
from tacit.data.owner_blocks import BlockedCohort, OwnerBlock
from tacit.engines.by_block import ByBlock, ray_workers
from tacit.estimators.own_models import keep_own
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners import learner_or_simulation
from tacit.learners.query import Answer, Estimates
from tacit.mechanisms.streams import seeded
from tacit.wire import encode
from tests.engines.test_by_block import files, own, sample_of  # noqa: F401

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
ray = pytest.importorskip("ray", reason="Ray is not installed: `make ray` runs these")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes on this machine: the head, and one that a test takes away."""
    from ray.cluster_utils import Cluster

    found = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False, "object_store_memory": 10**8},
    )
    ray.init(found.address, log_to_driver=False, logging_level="ERROR")
    yield found
    ray.shutdown()
    found.shutdown()


def question() -> ShareQuery:
    learner, facts = learner_or_simulation("centroid"), Facts(3, 2)
    terms = ReportTerms.of("auto", learner.space(facts), 1.0)
    return ShareQuery(1, 1, None, learner, facts, Ensemble(2), terms)


def owners() -> Cohort:
    X = np.random.default_rng(0).uniform(-1, 1, (600, 3))
    return Cohort.of(X, (X[:, 0] > 0).astype(int))


def fragile(block: OwnerBlock, folder: Path, node: str | None) -> OwnerBlock:
    """A block whose first reader dies: the worker by its own hand, or its whole node."""

    class Fragile(OwnerBlock):
        first, owners = block.first, block.owners

        def read(self, chosen: Any) -> Any:
            import time

            mark, here = folder / str(block.first), ray.get_runtime_context().get_node_id()
            if node is None and not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if node == here:
                mark.touch()
                time.sleep(90)  # the node goes before this ends
            end = time.monotonic() + 60
            while node is not None and not any(folder.iterdir()) and time.monotonic() < end:
                time.sleep(0.05)  # until the node that goes has begun one
            yield from block.read(chosen)

    return Fragile()


def answer(blocks: tuple[Any, ...], workers: Any = map) -> bytes:
    said = ByBlock(BlockedCohort(blocks), 1.0, seeded(1), workers=workers).ask(question())
    assert isinstance(said, Answer)
    return said.mean.tobytes() + said.stderr.tobytes()


def test_a_cluster_gives_the_bytes_of_one_process(cluster, files, own):  # noqa: F811
    sample = sample_of(files)
    makers: tuple[Callable[[str], Any], ...] = (
        lambda engine: PrivateClassifier(4.0, rounds=2, engine=engine, random_state=1),
        lambda engine: PrivateBoosting("centroid", rounds=2, engine=engine, random_state=1),
    )
    for make in makers:
        inside, found = make("inline"), make("ray")
        for model in (inside, found):
            model.fit(files / "set", "y", owners="who", public=sample, baseline=own)
        assert encode(found.content()) == encode(inside.content())
    np.testing.assert_array_equal(
        found.predict_proba(files / "set"), inside.predict_proba(files / "set")
    )


def records() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (900, 3))
    return X, (X[:, 0] + rng.normal(0, 0.3, 900) > 0).astype(int), np.arange(900) % 4


def test_sites_train_on_a_cluster(cluster):
    X, y, sites = records()
    inside, found = (
        SiteEnsemble(epsilon=8.0, engine=engine, random_state=1).fit(
            X[100:], y[100:], owners=sites[100:], public=(X[:100], y[:100])
        )
        for engine in ("inline", "ray")
    )
    assert encode(found.content()) == encode(inside.content())
    assert found.transcript_ == inside.transcript_


def test_sites_train_for_numbers_on_a_cluster(cluster):
    X, _, sites = records()
    y = X[:, 0] + X[:, 1]
    inside, found = (
        SiteEnsembleRegressor(epsilon=8.0, engine=engine, random_state=1).fit(
            X[100:], y[100:], owners=sites[100:], public=(X[:100], y[:100])
        )
        for engine in ("inline", "ray")
    )
    assert encode(found.content()) == encode(inside.content())


@pytest.mark.parametrize("method", ["turns", "stumps", "trees"])
def test_peers_make_their_own_models_on_a_cluster(cluster, method, tmp_path):
    X, y, peers = records()
    inside, found = (
        PeerEnsemble(epsilon=4.0, rounds=4, method=method, engine=engine, random_state=1).fit(
            X, y, owners=peers
        )
        for engine in ("inline", "ray")
    )
    assert encode(found.content()) == encode(inside.content())
    kept = []
    for place, model in enumerate((inside, found)):
        for who, its in model.models_.items():
            keep_own(tmp_path / f"{place} {who}", its.cells, its.inner)
        kept.append([(tmp_path / f"{place} {who}").read_bytes() for who in model.models_])
    assert kept[0] == kept[1]


def test_a_worker_that_is_killed_while_peers_make_models_changes_no_bit(
    cluster, tmp_path, monkeypatch
):
    X, y, peers = records()
    mark = tmp_path / "killed"

    def fit(engine: str) -> Any:
        return PeerEnsemble(epsilon=4.0, rounds=4, engine=engine, random_state=1).fit(
            X, y, owners=peers
        )

    def weak_workers(engine: str) -> Any:
        def spread(work: Any, tasks: Any) -> Any:
            def work_or_die(task: Any) -> Any:
                if not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return work(task)

            return ray_workers(engine)(work_or_die, tasks)

        return spread

    inside = fit("inline")
    monkeypatch.setattr("tacit.engines.by_block.workers_at", weak_workers)
    found = fit("ray")
    assert mark.exists()
    assert encode(found.content()) == encode(inside.content())
    probe = X[:50]
    for who, its in inside.models_.items():
        np.testing.assert_array_equal(
            its.predict_proba(probe), found.models_[who].predict_proba(probe)
        )


def test_a_worker_that_is_killed_while_a_site_trains_changes_no_bit(cluster, tmp_path):
    X, y, sites = records()
    cohort = Cohort.of(X, y, sites)
    query = SiteEnsemble(epsilon=8.0, random_state=1).fit(X, y, owners=sites).query_
    blocks = BlockedCohort.of(cohort, 1).blocks
    weak = tuple(fragile(block, tmp_path, None) for block in blocks[:1]) + blocks[1:]

    def train(some: tuple[Any, ...], workers: Any) -> bytes:
        said = ByBlock(BlockedCohort(some), np.full(4, 8.0), seeded(1), workers=workers).ask(query)
        assert isinstance(said, Estimates)
        return said.values.tobytes()

    assert train(weak, ray_workers("ray")) == train(blocks, map)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_killed_worker_changes_no_bit(cluster, tmp_path):
    blocks = BlockedCohort.of(owners(), 200).blocks
    weak = tuple(fragile(block, tmp_path, None) for block in blocks[:1]) + blocks[1:]
    assert answer(weak, ray_workers("ray")) == answer(blocks)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_lost_node_changes_no_bit(cluster, tmp_path):
    from threading import Thread
    from time import monotonic, sleep

    node = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    blocks = BlockedCohort.of(owners(), 100).blocks
    weak = tuple(fragile(block, tmp_path, node.node_id) for block in blocks)

    def take_away() -> None:
        end = monotonic() + 60
        while not list(tmp_path.iterdir()) and monotonic() < end:
            sleep(0.05)
        cluster.remove_node(node, allow_graceful=False)

    remover = Thread(target=take_away)
    remover.start()
    found = answer(weak, ray_workers("ray"))
    remover.join()
    assert found == answer(blocks)
    assert list(tmp_path.iterdir())


def test_what_is_wrong_with_rows_is_said_as_in_one_process(cluster, tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 and no more")

    def names(path: Path) -> Any:
        from tacit.data.table_file import TableFile

        return TableFile.open(path).names

    with pytest.raises(ValueError, match=r"rows\.parquet cannot be read as a table"):
        list(ray_workers("ray")(names, [tmp_path / "rows.parquet"]))


def test_what_a_task_carries_is_kilobytes(files):  # noqa: F811
    from ray import cloudpickle

    from tacit.data.owner_blocks import RowReading
    from tacit.data.survey import survey
    from tacit.data.table_file import open_rows
    from tacit.engines.by_block import BlockTask, Everybody, answer_block

    cohort = survey(open_rows(files / "set"), RowReading(sample_of(files).schema, "y"))
    task = BlockTask(cohort.blocks[0], Everybody(), question(), 1.0, seeded(1))
    assert len(cloudpickle.dumps(task)) < 10_000
    assert len(cloudpickle.dumps(answer_block)) < 1_000


def test_a_cluster_that_cannot_be_reached_is_one_line(files, monkeypatch):  # noqa: F811
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    model = PrivateClassifier(engine="ray://127.0.0.1:1")
    with pytest.raises(ValueError, match=r"no Ray can be reached at ray://127\.0\.0\.1:1 "):
        model.fit(files / "set", "y", public=sample_of(files))


def test_an_address_of_the_surroundings_that_is_none_is_named(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", "somewhere")
    with pytest.raises(ValueError, match="RAY_ADDRESS must be host:port, auto or local"):
        ray_workers("ray")


def test_a_ray_that_does_not_come_up_here_is_one_line(monkeypatch):
    def fail(*arguments, **options):
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", fail)
    with pytest.raises(ValueError, match=r"no Ray can be reached at this machine \(no start\)"):
        ray_workers("ray")


def test_whoever_listens_and_is_no_ray_is_one_line():
    """Ray itself would also warn, in lines of its own; in a process that has no Ray yet."""
    with create_server(("127.0.0.1", 0)) as silent:
        where = f"ray://127.0.0.1:{silent.getsockname()[1]}"
        asking = f"from tacit.engines.by_block import ray_workers; ray_workers({where!r})"
        done = subprocess.run(
            [sys.executable, "-c", asking],
            env={**os.environ, "RAY_CLIENT_INITIAL_CONNECTION_TIMEOUT_S": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    assert f"ValueError: no Ray can be reached at {where} " in done.stderr
    assert "Warning" not in done.stderr


def test_a_command_says_in_one_line_that_no_cluster_answers(files, tmp_path, monkeypatch):  # noqa: F811
    from tacit.cli import app
    from tests.cli.made import run

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    given = ["fit", str(files / "set"), "--label", "y", "--public", str(files / "public.parquet")]
    out = tmp_path / "m.tacit"
    result = run(app, [*given, "--out", str(out), "--engine", "ray://127.0.0.1:1"])
    assert "no Ray can be reached at ray://127.0.0.1:1" in str(result.exception)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_a_cluster_predicts_the_same_file(cluster, files, tmp_path, name):  # noqa: F811
    from pyarrow import parquet

    from tacit.cli import app
    from tests.cli.made import run

    model = tmp_path / "m.tacit"
    PrivateClassifier(4.0, random_state=1).fit(files / "set", "y", public=sample_of(files)).save(
        model
    )
    said = {}
    for engine in ("inline", "ray"):
        out = tmp_path / engine / name
        out.parent.mkdir()
        given = [str(model), str(files / "set"), "--out", str(out), "--proba", "--label", "y"]
        result = run(app, ["predict", *given, "--engine", engine])
        assert result.exit_code == 0, result.output
        rows = out.read_text() if name == "p.csv" else parquet.read_table(out)
        said[engine] = (rows, result.output.replace(str(out.parent), ""))
    assert said["ray"] == said["inline"]
