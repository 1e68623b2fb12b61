"""The break-even chart, and that it is drawn where something is to be seen."""

from tacit_papers.ours.break_even import BreakEvenRow
from tacit_papers.ours.break_even_chart import draw_break_even


def rows(gain, summed=10.0):
    """A task on which `gain` tells what so many owners at an epsilon add, with two servers
    `summed` times as much; in one size never, in one always.
    """
    better_by = {"nobody": 1.0, "two servers": summed}
    sizes = {50: lambda owners, epsilon: 1.0, 200: gain, 1000: lambda owners, epsilon: 0.0}
    return [
        BreakEvenRow(
            dataset="task",
            trust=trust,
            owners=owners,
            epsilon=epsilon,
            public_rows=size,
            rows_per_owner=1,
            public_accuracy=0.8,
            rise=0.0,
            gain=better * law(owners, epsilon),
            collect=better * law(owners, epsilon) > 1e-3,
        )
        for trust, better in better_by.items()
        for size, law in sizes.items()
        for owners in (1_000, 100_000, 10_000_000)
        for epsilon in (0.1, 1.0)
    ]


def test_it_is_drawn_and_the_line_moves_with_the_rows(tmp_path):
    paths = [tmp_path / "a" / "one.png", tmp_path / "two.png"]
    draw_break_even(rows(lambda owners, epsilon: owners * epsilon**2 / 1e8), 1e-3, paths[0])
    draw_break_even(rows(lambda owners, epsilon: owners * epsilon**2 / 1e9), 1e-3, paths[1])
    first, second = (path.read_bytes() for path in paths)
    assert len(first) > 10_000
    assert first != second
    draw_break_even(rows(lambda owners, epsilon: owners * epsilon**2 / 1e8), 1e-3, paths[1])
    assert paths[1].read_bytes() == first
    draw_break_even(rows(lambda owners, epsilon: owners * epsilon**2 / 1e8, 3.0), 1e-3, paths[1])
    assert paths[1].read_bytes() != first  # the line of two servers is its own
