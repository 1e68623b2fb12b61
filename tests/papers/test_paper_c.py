"""Paper C again, quickly: rows, their seeds, their pictures; the hospitals where the data is
there.
"""

from math import isfinite

import numpy as np
import pytest

from tacit.render.pages import page_of
from tacit_papers.c.claims import statements_c
from tacit_papers.c.experiment import DATASETS, PLANS, cells_c, load_rows
from tacit_papers.c.methods import METHODS
from tacit_papers.c.report import report_c
from tacit_papers.c.span import VARIED, SpanCell
from tacit_papers.claims import judge_all
from tacit_papers.datasets import DataMissing
from tacit_papers.ours.hospitals import HospitalRow, hospital_rows


@pytest.fixture(scope="module")
def rows():
    return [row for cell in cells_c(quick=True) if is_of_sites(cell) for row in cell.rows()]


def is_of_sites(cell):
    return not isinstance(cell, SpanCell)


def test_quick_rows_are_there_and_finite(rows):
    assert len(rows) == 4 * len(METHODS)
    assert {row.varied for row in rows} == {"epsilon", "records", "sites"}
    assert all(isfinite(row.mean) and isfinite(row.std) and 0 <= row.mean <= 1 for row in rows)
    assert {row.method for row in rows} == set(METHODS)


def test_ours_is_never_worse_than_public_rows_alone(rows):
    """Two runs of 1,800 test rows: a difference of 0.01 is about one standard error of a run."""
    means = {(row.varied, row.at, row.method): row.mean for row in rows}
    for varied, at, method in means:
        if method == "ours":
            assert means[varied, at, "ours"] <= means[varied, at, "public rows alone"] + 0.01


def test_what_may_only_be_simulated_is_marked(rows):
    assert all(
        bool(row.unsound) == ("no privacy" in row.method or "published" in row.method)
        for row in rows
    )


def test_a_seed_says_everything(rows):
    cell = cells_c(True)[0]
    again = list(cell.rows())
    assert again == rows[: len(again)]
    assert list(cells_c(True, seed=2)[0].rows()) != again


def test_points_that_curves_share_are_measured_once():
    cells = [cell for cell in cells_c(quick=False) if is_of_sites(cell)]
    places = [
        (cell.dataset, *(getattr(cell, name, None) for name in ("records", "sites")))
        for cell in cells
    ]
    assert len(set(places)) == len(places)
    (shared,) = [
        cell
        for cell in cells
        if cell.settings.get("records") == 788 and cell.settings["sites"] == 10
    ]
    assert shared.where == "Fig. 1, Fig. 3abc"
    assert {("epsilon", 0.1), ("records", 0.1), ("sites", 0.1)} <= set(shared.settings["points"])


def test_the_report_shows_every_method_and_the_public_rows(rows):
    each = (0.1, 0.2, 0.3, 0.4)
    hospitals = [
        HospitalRow("public rows alone", None, 0.281, 0.01, each, runs=2, unsound=""),
        HospitalRow("ours", 1.0, 0.254, 0.01, each, runs=2, unsound=""),
    ]
    document = report_c([*rows, *hospitals])
    charts = list(document.charts)
    assert [chart.x_label for chart in charts] == [
        "epsilon",
        "records per site",
        "sites",
        "epsilon",
    ]
    kinds = {line.name: line.kind for line in charts[0].lines}
    assert kinds["public rows alone"] == "public"
    assert kinds["ours"] == "ours"
    assert kinds["FL feature, as published (unsound)"] == "paper"
    ours = [row for row in rows if (row.varied, row.method) == ("epsilon", "ours")]
    text = page_of(document).replace("\N{NO-BREAK SPACE}", " ")
    assert all(f"{100 * row.mean:.1f} ± {100 * row.std:.1f}" in text for row in ours)
    assert "va_long_beach" in text
    assert "Public rows alone err in 28.1 % (2 splits)." in text
    assert "The guarded default errs in 25.4 % at epsilon 1: better than them." in text


def test_the_papers_sizes():
    mnist, cover = PLANS["mnist"], PLANS["covertype"]
    assert (mnist.rows, cover.rows, mnist.strength, cover.strength) == (8_678, 346_598, 1e-2, 1e-7)
    for plan in PLANS.values():
        for _, setting in plan.settings:
            assert (setting.sites + 1) * setting.records <= plan.rows
    assert {setting.records for varied, setting in mnist.settings if varied == "records"} == {
        39,
        158,
        394,
        788,
    }


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="data set must be one of"):
        load_rows("cifar")
    assert DATASETS == ("mnist", "covertype", "heart", "synthetic")


def test_hospitals():
    try:
        found = hospital_rows(2, 1)
    except DataMissing as missing:
        pytest.skip(str(missing))
    by = {(row.method, row.epsilon): row for row in found}
    assert by["all records in one place", None].mean < by["switzerland alone", None].mean
    for epsilon in (0.5, 1.0, 2.0):
        start = by["public rows alone, as an ensemble starts", None]
        assert by["ours", epsilon].mean <= start.mean + 0.03
    assert all(len(row.by_site) == 4 and np.isfinite(row.by_site).all() for row in found)


def test_theorem_1_on_rows_of_a_known_law():
    own = [row for cell in cells_c(quick=True) if not is_of_sites(cell) for row in cell.rows()]
    assert {row.varied for row in own} == set(VARIED)
    gaps = {row.sites: row.gap for row in own if row.varied == "sites"}
    assert gaps[20] < 1e-3 < gaps[2]  # twenty models span all ten dimensions, two do not
    near = [row.estimation for row in own if row.varied == "records"]
    assert near[-1] < near[0]
    verdicts = {
        claim.text: claim.verdict
        for claim in judge_all("c", statements_c(), own)
        if claim.where == "Theorem 1"
    }
    assert len(verdicts) == 7
    assert "unchecked" not in verdicts.values()
