"""What a helper keeps, logs and says of two worlds: sizes, order, refusals and words are the same,
whatever owners add.
"""

import logging
import sqlite3

import numpy as np
import pytest

from tacit import Ball, seeded
from tacit.audit.sums import longest
from tacit.sums.halves import Batch, SumTerms, TallyLaw, seal_reports
from tacit.sums.protocol import Checked, CoordinatorSide, HelperSum
from tacit.sums.vector_terms import VectorTerms
from tacit.wire import decode, encode
from tests.service.helper.made import client_of, headers_of, helper, name_of
from tests.service.helper.test_service import CAMPAIGN
from tests.sums.made import COORDINATOR_KEY, HELPER_KEY, public

OWNERS = 12
VECTOR = VectorTerms.of(Ball(dim=9), 1.0, 1e-6)
WORLDS = {
    "error terms": (TallyLaw(1.0, 3), np.zeros(2, int), np.full(2, 1 << 20)),
    "shares": (VECTOR, np.zeros(9, int), longest(VECTOR)),
}


def seen_of(folder, law, added, caplog):
    """All that a helper has of a sum of owners who add this, some of whose halves are damaged."""
    about = Batch(bytes(32), 1, 1, SumTerms(law, public(COORDINATOR_KEY), public(HELPER_KEY)))
    sealed = seal_reports(np.tile(added, (OWNERS, 1)), about, seeded(8))
    sealed[3, -1] ^= 1  # does not open at the helper
    sent = [row.tobytes() for row in sealed]
    folder.mkdir()
    made = helper(folder, name_of(CAMPAIGN), noise=seeded(3))
    http, side, said = client_of(made), CoordinatorSide(about, COORDINATOR_KEY), []

    def post(path, body):
        response = http.post(path, content=body, headers=headers_of(body, CAMPAIGN, path))
        said.append((path, len(body), response.status_code, len(response.content)))
        return response.content

    with caplog.at_level(logging.DEBUG, logger="tacit"):
        caplog.clear()
        for part in (sent[:5], sent[5:]):
            side.take(decode(post("/v1/block", encode(side.block(part))), Checked))
        early = CoordinatorSide(about, COORDINATOR_KEY)
        post("/v1/sum", encode(early.request))  # of other owners: refused
        post("/v1/block", encode(early.block(sent[1:])))  # other bytes in this place: refused
        answer = post("/v1/sum", encode(side.request))
        lines = [
            record.getMessage() for record in caplog.records if record.name.startswith("tacit")
        ]
    side.open(decode(answer, HelperSum), seeded(3))
    made._sheets.close()
    return {"said": said, "lines": lines, "kept": kept_in(folder / "released.db")}


def kept_in(file):
    """Every row of every table: its whole numbers, and of bytes how many there are."""
    with sqlite3.connect(file) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        return {
            name: sorted(
                [len(each) if isinstance(each, bytes) else each for each in row]
                for row in connection.execute(f"SELECT * FROM {name}")  # noqa: S608 - its own tables
            )
            for (name,) in tables
        }


@pytest.mark.parametrize("name", WORLDS)
def test_what_a_helper_keeps_logs_and_says_is_the_same_in_both_worlds(name, tmp_path, caplog):
    law, one, other = WORLDS[name]
    first = seen_of(tmp_path / "one", law, one, caplog)
    second = seen_of(tmp_path / "other", law, other, caplog)
    assert first == second
    assert [status for _, _, status, _ in first["said"]] == [200, 200, 409, 409, 200]
    assert len(first["kept"]["nonces"]) == OWNERS - 1
    assert len(first["lines"]) >= 2
    assert not any(str(int(x)) in line for line in first["lines"] for x in other if abs(x) > 99)
