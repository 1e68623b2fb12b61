"""Paper A again, quickly: rows, their order, their seeds, their pictures."""

from dataclasses import replace
from io import StringIO
from math import isfinite

import numpy as np
import pytest
from rich.console import Console

from tacit.mechanisms.streams import seeded
from tacit.render.pages import page_of
from tacit_papers.a.bound_claims import bound_statements
from tacit_papers.a.bounds import BoundRow, ScaleCell
from tacit_papers.a.claims import statements_a
from tacit_papers.a.experiment import DATASETS, cells_a
from tacit_papers.a.measurements import PublicRow, TableCell, TableRow, published_cell
from tacit_papers.a.published import CURVES, EPSILONS, TABLES
from tacit_papers.a.report import report_a
from tacit_papers.claims import judge_all
from tacit_papers.reproduce import print_claims, print_tables
from tacit_papers.shared.curves import CurveCell, CurveRow, OursRow
from tacit_papers.shared.first_learner import MECHANISMS, FirstRow
from tacit_papers.shared.splits import deal, load_split


@pytest.fixture(scope="module")
def split():
    return load_split("synthetic", quick=True)


@pytest.fixture(scope="module")
def rows():
    cells = (cell for cell in cells_a(quick=True) if cell.where != "readings")
    return [row for cell in cells for row in cell.rows()]


def of(rows, kind):
    return [row for row in rows if isinstance(row, kind)]


def test_quick_rows_are_there_and_finite(rows):
    tables, curves, publics = (of(rows, kind) for kind in (TableRow, CurveRow, PublicRow))
    assert len(tables) == 4 * 3 * 2  # two measures in Table IV
    assert {row.table for row in tables} == {"II", "III", "IV"}
    assert len(curves) == 3 * 5 * 10
    assert len(publics) == 3
    assert len(of(rows, OursRow)) == 3
    assert all(
        isfinite(row.mean) and isfinite(row.std) and row.mean > 0 for row in [*tables, *curves]
    )
    assert all(0 < row.error < 0.5 for row in publics)


def test_what_leaks_is_marked(rows):
    assert all(row.unsound for row in of(rows, TableRow))
    assert all(bool(row.unsound) == (row.variant == "as published") for row in of(rows, CurveRow))


def test_centroids_are_disturbed_least_by_piecewise_then_duchi_then_laplace(rows):
    second = [row for row in of(rows, TableRow) if row.table == "II"]
    assert (
        sum(row.holds for row in second) >= 4
    )  # of 6: two runs can be above the published error by chance
    for epsilon in (1.0, 7.0):
        by = {row.mechanism: row.mean for row in second if row.epsilon == epsilon}
        assert by["piecewise"] < by["duchi"] < by["laplace"]


def test_impurities_are_squared_as_in_the_paper(rows):
    # The published 36.76 for Laplace at epsilon 1 is the square: the plain difference would be
    # about 6.
    (row,) = [
        row
        for row in of(rows, TableRow)
        if (row.table, row.mechanism, row.epsilon) == ("III", "laplace", 1.0)
    ]
    assert 20 < row.mean < 70


def test_root_mean_squares_are_roots(rows):
    fourth = {
        (row.measure, row.mechanism, row.epsilon): row.mean
        for row in of(rows, TableRow)
        if row.table == "IV"
    }
    for mechanism in MECHANISMS:
        assert fourth["rmse", mechanism, 1.0] ** 2 == pytest.approx(
            fourth["mse", mechanism, 1.0], rel=0.2
        )


def test_boosting_helps_and_more_so_without_privacy(rows):
    ends = {
        (row.learner, row.mechanism, row.learners): row.mean
        for row in of(rows, CurveRow)
        if row.variant == "sound"
    }
    assert ends["stump", "none", 10] < ends["stump", "none", 1]
    assert ends["stump", "auto", 10] < 0.45
    assert ends["centroid", "auto", 10] < 0.45


def test_first_learners_stand_beside_ours_and_the_sample_alone(rows):
    firsts = of(rows, FirstRow)
    assert {row.where for row in firsts} == {
        "Table II, Fig. 2",
        "Table III, Fig. 6",
        "Table IV, Fig. 9",
        "Fig. 3",
    }
    for where in {row.where for row in firsts}:
        own = [row for row in firsts if row.where == where]
        assert {row.variant for row in own} == {"as published", "sound", "ours", "sample alone"}
        alone = {row.mean for row in own if row.variant == "sample alone"}
        assert all(row.mean >= min(alone) - 0.01 for row in own if row.variant == "ours")
    assert all(bool(row.unsound) == (row.variant == "as published") for row in firsts)
    gaps = {
        row.owners: row.error
        for row in firsts
        if (row.where, row.mechanism) == ("Fig. 3", "piecewise")
    }
    assert 2 < gaps[100] / gaps[1_000] < 5  # the root of ten, two runs


def test_votes_are_those_of_the_errors(rows):
    for row in of(rows, CurveRow):
        assert (row.alpha is None) == (row.error is None) == (row.reached == 0)
        assert row.alpha is None or (row.alpha > 0 and row.error < 0.5)


def test_a_seed_says_everything(rows):
    def few(seed):
        return next(cell for cell in cells_a(True, seed) if cell.where == "Fig. 3").rows()

    again = few(1)
    assert again == [row for row in rows if row in again]
    by_noise = [row for row in again if row.error]
    assert by_noise
    others = few(2)
    assert all(row not in others for row in by_noise)


def test_the_report_shows_measured_beside_published(rows):
    curves, tables = of(rows, CurveRow), of(rows, TableRow)
    document = report_a(rows)
    charts = list(document.charts)
    boosted = {(r.dataset, r.learner, r.epsilon) for r in curves if r.epsilon is not None}
    assert (
        len(charts) == len(boosted) + 2 * 3 + 4 + 1 + 4
    )  # errors, votes; first learners and Fig. 3; tables
    for chart in charts[:1] + [chart for chart in charts if chart.title.startswith("Fig")][:1]:
        kinds = [line.kind for line in chart.lines]
        assert {"ours", "paper", "other", "public"} <= set(kinds)
        assert all(
            ("(unsound)" in line.name) == (line.kind == "paper")
            for line in chart.lines
            if line.kind != "other"
        )
    assert any(line.name == "ours: sample and owners combined" for line in charts[0].lines)
    printed = [
        line for chart in charts for line in chart.lines if line.name == "laplace, published"
    ]
    assert printed
    text = page_of(document).replace("\N{NO-BREAK SPACE}", " ")
    assert all(f"{row.mean:.3g} ± {row.std:.2g}" in text for row in tables)


def test_the_terminal_shows_measured_beside_published(rows):
    out = StringIO()
    console = Console(file=out, width=200)
    claims = judge_all("a", statements_a(), rows)
    print_tables(report_a(rows), console)
    print_claims(claims, console)
    text = out.getvalue()
    for word in (
        "Table II",
        "Table IV",
        "(published)",
        "Boosted stump",
        "sample alone",
        "ours: sample and",
        "Fig. 9",
    ):
        assert word in text
    assert f"paper A: Of {len(claims)} published claims " in text


def test_the_terminal_is_no_wider_than_eighty_columns(rows):
    out = StringIO()
    print_tables(report_a(rows), Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert not any("…" in line for line in lines)
    first = next(row for row in of(rows, TableRow) if row.table == "II")
    assert any(f"± {first.std:.2g}" in line for line in lines)


def test_the_papers_settings():
    cells = cells_a(quick=False)
    assert {cell.dataset for cell in cells} == set(DATASETS)
    tables = {
        (cell.learner, cell.dataset): cell
        for cell in cells
        if isinstance(cell, TableCell) and "Table" in cell.where
    }
    assert len(tables) == 9
    assert all(cell.epsilons == EPSILONS for cell in tables.values())
    curves = {
        (cell.learner, cell.dataset, e)
        for cell in cells
        if isinstance(cell, CurveCell)
        for e in cell.epsilons
    }
    assert {key for key in CURVES if key[2] is not None} <= {
        (dataset, learner, e) for learner, dataset, e in curves
    }


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="data set must be one of"):
        load_split("cifar", quick=True)


def test_no_row_is_dealt_twice_before_all_are(split):
    owners = deal(split, 100, 3, seeded(1))
    assert len(owners) == 100
    assert set(owners.sizes.tolist()) == {3}
    have = len(split.y_train)
    twice = deal(split, 2, have, seeded(1))
    first, second = (sorted(map(tuple, twice[i : i + 1].X[:, :2].tolist())) for i in (0, 1))
    assert first == second == sorted(map(tuple, split.X_train[:, :2].tolist()))


@pytest.mark.parametrize("table", ["II", "III", "IV"])
def test_published_tables_are_complete(table):
    cells = TABLES[table]
    assert sum(len(values) for values in cells.values()) == 45
    assert {name for name, _ in cells} < set(DATASETS)
    for name in {name for name, _ in cells}:
        for epsilon in EPSILONS:
            laplace, duchi, piecewise = (
                published_cell(table, name, mechanism, epsilon) for mechanism in MECHANISMS
            )
            assert laplace
            assert duchi
            assert piecewise
            assert laplace.mean > duchi.mean
            assert laplace.mean > piecewise.mean > piecewise.std > 0


def test_published_curves_go_down():
    assert all(first > last for first, last in CURVES.values())
    assert published_cell("II", "brazil", "duchi", 1.0) is None
    assert published_cell("II", "mnist", "duchi", 2.0) is None


def test_errors_of_means_follow_the_bound(rows):
    own = [row for row in rows if isinstance(row, BoundRow)]
    assert {row.varied for row in own} == {"dimensions", "owners", "epsilon"}
    ratios = [row.error / row.bound for row in own]
    assert 1 < min(ratios) < max(ratios) < 6
    twice = [replace(row, error=2 * row.error) if row.owners > 1_000 else row for row in own]
    for found, met in ((own, True), (twice, False)):
        claims = judge_all("a", bound_statements(), found)
        (owners,) = [claim for claim in claims if "over owners" in claim.text]
        assert (owners.verdict == "holds") == met


def test_scales_are_those_of_exact_shares():
    cell = ScaleCell(
        where="x",
        dataset="synthetic",
        runs=1,
        quick=True,
        learner="centroid",
        owners=500,
        rows_per_owner=4,
    )
    (row,) = cell.rows()
    split = load_split("synthetic", quick=True)
    means = [split.X_train[split.y_train == k].mean(axis=0) for k in (0, 1)]
    assert row.value == pytest.approx(np.linalg.norm(means[0] - means[1]), rel=0.1)
