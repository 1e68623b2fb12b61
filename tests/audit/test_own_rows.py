"""An audit with one's own rows finds the same whatever the blocks are, and finds what is broken."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tacit.audit.mechanisms import Findings, audit_rows
from tacit.cli import app
from tacit.data.cohort import Cohort, Public
from tacit.data.owner_blocks import BlockedCohort
from tacit.learners.learner import Facts, ReportTerms, ShareQuery
from tacit.learners.models.ensemble import Ensemble
from tacit.learners.owners import learner_or_simulation
from tacit.mechanisms.base import Reports
from tacit.mechanisms.streams import seeded
from tests.cli.made import run


def rows(n, seed):
    X = np.random.default_rng(seed).uniform(-1, 1, (n, 3))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def question():
    learner, facts = learner_or_simulation("centroid"), Facts(3, 2)
    terms = ReportTerms.of("auto", learner.space(facts), 1.0)
    return ShareQuery(1, 1, None, learner, facts, Ensemble(2), terms)


def findings(query, blocks):
    found = Findings(query, 1.0, seeded(1))
    for numbers, some in blocks:
        found.take(numbers, some)
    return found


def test_blocks_change_nothing():
    X, y = rows(60, 1)
    public, cohort = Public(X, y, 2), Cohort.of(*rows(3000, 2))
    told = [
        [
            (check.name, check.sound, check.seen.partition(" differ")[0][:1])
            for check in audit_rows(public, BlockedCohort.of(cohort, size), 4.0, 4000, seeded(1))
        ]
        for size in (3000, 700)
    ]
    assert told[0] == told[1]
    assert len(told[0]) == 4
    assert all(sound for _, sound, _ in told[0])


def test_the_owners_that_are_furthest_apart_are_kept():
    query, cohort = question(), Cohort.of(*rows(500, 3))
    shares = query.learner.share(query, cohort)
    half = [(np.arange(250), cohort[:250]), (np.arange(250, 500), cohort[250:])]
    found = findings(query, half)
    np.testing.assert_array_equal(np.diagonal(found.highest), shares.max(axis=0))
    np.testing.assert_array_equal(np.diagonal(found.lowest), shares.min(axis=0))


def test_what_is_broken_is_found(monkeypatch):
    query, cohort = question(), Cohort.of(*rows(300, 4))
    kind, share, release = type(query.learner), type(query.learner).share, ShareQuery.release
    some = [(np.arange(300), cohort)]
    assert all(check.sound for check in findings(query, some).checks())
    with monkeypatch.context() as patch:  # a learner that goes beyond its space
        patch.setattr(kind, "share", lambda self, asked, rows: 3 * share(self, asked, rows))
        assert [check.sound for check in findings(query, some).checks()] == [False, True, True]

    def crowded(self, rows, epsilon, stream):  # an owner says something else among others
        made = release(self, rows, epsilon, stream)
        return Reports(made.points[::-1], *list(vars(made).values())[1:])

    with monkeypatch.context() as patch:
        patch.setattr(ShareQuery, "release", crowded)
        assert [check.sound for check in findings(query, some).checks()][2] is False
    weak = replace(query, terms=ReportTerms.of("auto", query.learner.space(query.facts), 8.0))
    found = findings(query, some)
    with monkeypatch.context() as patch:  # a mechanism that spends more than it says
        patch.setattr(
            ShareQuery,
            "mechanism",
            lambda self, epsilon: _Overdrawn(weak.terms, query).mechanism,
        )
        assert not found.prove("epsilon 1", 20_000, seeded(2)).sound


class _Overdrawn:
    """The mechanism of epsilon 8, which claims 1."""

    def __init__(self, terms, query):
        true = replace(query, terms=terms)
        self.mechanism = _MECHANISM(true, 8.0)
        object.__setattr__(self.mechanism, "epsilon", 1.0)


_MECHANISM = ShareQuery.mechanism


def test_a_command_reads_a_folder_and_names_what_is_missing(tmp_path):
    X, y = rows(1500, 5)
    table = pa.table(
        {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": y, "who": np.arange(1500) % 700}
    )
    (tmp_path / "people").mkdir()
    parquet.write_table(table[:100].drop(["who"]), tmp_path / "mine.parquet")
    parquet.write_table(table[100:800], tmp_path / "people" / "1.parquet")
    parquet.write_table(table[800:], tmp_path / "people" / "2.parquet")
    given = ["audit", "--part", "data", "--epsilon", "4", "--reports", "20000", "--label", "y"]
    given += ["--public", str(tmp_path / "mine.parquet")]
    result = run(app, [*given, "--data", str(tmp_path / "people"), "--owner-column", "who"])
    assert result.exit_code == 0, result.output
    assert "Data: epsilon 4" in result.output
    assert "go with --data" in str(run(app, given).exception)
