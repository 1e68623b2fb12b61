"""Nobody gets in who should not; the whole table is `python -m benchmarks.strangers`."""

from benchmarks.strangers import KINDS, measure


def test_strangers_are_refused_and_change_nothing(tmp_path, any_database):
    table = measure(tmp_path, any_database, times=2)
    assert table.title == "Strangers at two campaigns, over TLS on loopback", table.note
    assert len(table.rows) == len(KINDS) + 1
    for row in table.rows:
        assert row.verdict is not None
        assert row.verdict.met, row
