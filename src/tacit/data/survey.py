"""The first look at a table that is read by the block: every row once, before anybody is asked. A
file that cannot be read is found then, and the message names file and row group.
"""

from dataclasses import replace
from functools import reduce
from itertools import accumulate
from operator import add

from tacit.data.owner_blocks import BlockedCohort, GroupBlock, RowReading, Workers, row_groups
from tacit.data.owner_ranges import bring_together
from tacit.data.scratch import ScratchFolder
from tacit.data.table_file import TableFile


def survey(table: TableFile, reading: RowReading, workers: Workers = map) -> BlockedCohort:
    """All rows of a table read once; what is left is where they are."""
    table.require(reading.label, reading.owner)
    blocks = list(row_groups(table, reading))
    folder = None
    if reading.owner is None:
        found = list(workers(GroupBlock.counted, blocks))
    else:
        folder = ScratchFolder()
        found = list(bring_together(blocks, table.count_rows(), folder.path, workers))
    starts = accumulate((each.block.owners for each in found), initial=0)
    numbered = [
        replace(each.block, first=first) for each, first in zip(found, starts, strict=False)
    ]
    if not sum(block.owners for block in numbered):
        raise ValueError(f"{table.path} has no rows")
    counts = reduce(add, (each.counts for each in found))
    return BlockedCohort(tuple(numbered), counts, folder)
