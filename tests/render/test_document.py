from dataclasses import replace
from itertools import pairwise

import pytest

from tacit.render.document import Chart, Figures, Line, Table
from tacit.render.drawing import Scale, as_table, draw, nice_ends, widen
from tacit_papers.claims import Claim, overview
from tests.render.made import CURVES, DISTANCES, DOCUMENT, OWNERS


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Line("a", (1.0,), (1.0, 2.0)), "equally long"),
        (lambda: Line("a", (), ()), "not empty"),
        (lambda: Line("a", (1.0,), (1.0,), (1.0, 2.0)), "error must be as long as y"),
        (lambda: Line("a", (1.0,), (float("nan"),)), "finite"),
        (lambda: Line("a", (1.0,), (1.0,), None, "theirs"), "kind must be one of"),  # type: ignore[arg-type]
        (lambda: Chart("c", "x", "y", ()), "lines must not be empty"),
        (lambda: Chart("c", "x", "y", (Line("a", (0.0,), (1.0,)),), "log"), "x must be > 0"),
        (lambda: Chart("c", "x", "y", (Line("a", (), (0.0,)),), y_scale="log"), "y must be > 0"),
        (
            lambda: Chart("c", "x", "y", (Line("a", (), (0.0,)),), "square"),  # type: ignore[arg-type]
            "x_scale must be one of",
        ),
        (lambda: Table("t", ("a", "b"), (("1",),)), "must have 2 cells, got 1"),
        (lambda: Table("t", ("a",), (("1",),), strong=(1,)), "strong must name rows"),
    ],
    ids=range(11),
)
def test_what_cannot_be_drawn_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_scales_keep_order_and_ends():
    scale = Scale(0.1, 100.0, 300.0, 0.0, "log")
    assert [scale.at(value) for value in (0.1, 100.0, 0.01, 1e9)] == [300.0, 0.0, 300.0, 0.0]
    assert scale.at(1.0) == pytest.approx(200.0)
    assert widen([2.0, 2.0], "linear", 0.1) == (1.0, 3.0)
    assert widen([2.0], "log", 0.1) == (1.0, 4.0)


@pytest.mark.parametrize(
    "values", [[0.0], [5.0], [-3.0, 0.25], [1e-7, 2e-7], [49.0, 51.0], [1.0, 3e6]], ids=range(6)
)
@pytest.mark.parametrize("kind", ["linear", "log"])
def test_grids_hold_their_values_in_few_round_numbers(values, kind):
    if kind == "log" and min(values) <= 0:
        values = [abs(value) + 1e-6 for value in values]
    low, high, ticks = nice_ends(values, kind)
    assert low <= min(values) <= max(values) <= high
    assert low < high
    assert 2 <= len(ticks) <= 9
    assert ticks[0] == low
    assert ticks[-1] == high


def test_every_point_and_bar_is_on_the_sheet():
    for chart in (CURVES, OWNERS, DISTANCES):
        drawing = draw(chart)
        for mark in (mark for curve in drawing.curves for mark in curve.points):
            assert drawing.left <= mark.x <= drawing.right
            assert drawing.top <= mark.high <= mark.y <= mark.low <= drawing.bottom


def test_lines_differ_without_colour():
    many = Chart(
        "c", "x", "y", tuple(Line(f"line {n}", (0.0, 1.0), (n, n + 1.0)) for n in range(10))
    )
    looks = {(curve.marker, "hollow" in curve.look) for curve in draw(many).curves}
    assert len(looks) == 10


def test_numbers_along_the_axis_keep_apart():
    crowded = Chart("c", "x", "y", (Line("a", tuple(float(n) for n in range(40)), (1.0,) * 40),))
    at = [tick.at for tick in draw(crowded).columns]
    assert min(right - left for left, right in pairwise(at)) >= 40
    kept = [tick.at for tick in draw(crowded).columns if tick.kept]
    assert 2 <= len(kept) < len(at)


def test_a_curve_of_many_points_has_round_numbers_and_may_share_its_height():
    x = tuple(20 + 1.9 * n for n in range(21))
    slight = Chart("c", "x", "y", (Line("a", x, tuple(n / 100 for n in range(21))),))
    assert [tick.text for tick in draw(slight).columns] == [
        *("20", "25", "30", "35", "40", "45", "50", "55")
    ]
    shared = replace(slight, y_ends=(-1.0, 1.5))
    assert [row.text for row in draw(slight).rows][-1] == "0.2"
    assert [row.text for row in draw(shared).rows] == [
        "\u22121",
        "\u22120.5",
        "0",
        "0.5",
        "1",
        "1.5",
    ]


def test_the_table_says_the_same_as_the_chart():
    heading, first, *rest = as_table(CURVES)
    assert heading == (
        "epsilon",
        "tacit",
        "as published (unsound)",
        "exact noise",
        "printed",
        "public rows alone",
    )
    assert first == ("0.025", "1.9 ± 0.3", "8.2 ± 2.7", "8.9", "9", "1.85 ± 0.2")
    assert rest[0][4] == ""
    assert len(rest) == 5


@pytest.mark.parametrize(
    ("bars", "drawn"),
    [
        ((2.0, 1.0), ((0.0, 100.0), (0.0, 50.0))),
        ((-2.0, -1.0), ((0.0, 100.0), (50.0, 50.0))),
        ((0.0, 0.0), ((0.0, 0.0), (0.0, 0.0))),
    ],
)
def test_bars_of_a_table_are_on_one_scale_from_zero(bars, drawn):
    rows = (("a", "1"), ("b", "2"))
    assert Table("", ("name", "adds"), rows, bars=bars).drawn_bars == drawn
    wide = Table("", ("name", "adds"), rows, bars=(1.0, -1.0), ends=(-4.0, 4.0)).drawn_bars
    assert wide == ((50.0, 12.5), (37.5, 12.5))
    with pytest.raises(ValueError, match="one for each of 2 rows"):
        Table("", ("name", "adds"), rows, bars=(1.0,))


def test_charts_are_found_in_order():
    assert list(DOCUMENT.charts) == [OWNERS, DISTANCES, CURVES]


def test_claims_are_counted_and_those_that_differ_come_first():
    claims = [
        Claim("a", "Fig. 2", "errors fall", "17 %", "18 %", "holds", ""),
        Claim("a", "Fig. 3", "more owners help", "yes", "no", "differs", "fewer rows"),
        Claim("b", "Fig. 4", "not said how", "", "", "unchecked", "no data"),
    ]
    document = overview(claims)
    first, of_a, of_b = document.sections
    assert first.parts[0] == Figures(
        (
            ("Claims: holds", "1", "of 3"),
            ("Claims: differs", "1", "of 3"),
            ("Claims: unchecked", "1", "of 3"),
        )
    )
    assert isinstance(first.parts[1], Table)
    assert first.parts[1].rows == (("paper A", "1", "1", "0", "2"), ("paper B", "0", "0", "1", "1"))
    (table,) = of_a.parts
    assert isinstance(table, Table)
    assert [row[4] for row in table.rows] == ["differs", "holds"]
    assert of_b.text == "Of 1 published claims 0 hold, 0 differ, 1 could not be checked."
