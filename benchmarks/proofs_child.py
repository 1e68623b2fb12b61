"""Memory of verifying, in a fresh process: `python -m benchmarks.proofs_child OWNERS` prints JSON.

Owners come in blocks; the same block comes again and again, which costs a server as much memory as
others would.
"""

import json
import sys

from benchmarks.children import measure
from benchmarks.proofs import block_of, servers_of, vectors_of
from tacit.sums.prio3.batch import verify_block
from tacit.sums.prio3.instances import prio3_bounded_vector

_BLOCK, _NUMBERS = 128, 1_000


def main(owners: int) -> None:
    """Print {"bytes": growth of the peak} of both servers' work on so many owners."""
    prio3 = prio3_bounded_vector(_NUMBERS, 16 * _NUMBERS)
    block, servers = block_of(prio3, vectors_of(_NUMBERS, _BLOCK)), servers_of(prio3)
    verify_block(servers, block)

    def work() -> None:
        for _ in range(0, owners, _BLOCK):
            verify_block(servers, block)

    growth, _ = measure(work)
    print(json.dumps({"bytes": growth}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
