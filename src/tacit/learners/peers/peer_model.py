"""The published model of peers with the public cells that it reads rows by: what may be saved
and served.
"""

from dataclasses import dataclass

from tacit.learners.peers.additive import Additive
from tacit.learners.peers.cells import Cells
from tacit.learners.peers.noisy_tree import Trees
from tacit.wire import message


@message("served scores")
@dataclass(frozen=True)
class ServedScores:
    """Released scores over public cells: nothing in it knows anybody's rows but through noise."""

    cells: Cells
    scores: Additive | Trees
