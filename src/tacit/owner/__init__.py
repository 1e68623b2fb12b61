"""What runs where the data is: the gate, its policy and its ledger. It trusts nobody.

Service, audit and command line may import it; it imports learners, sums, data, mechanisms and wire,
never algorithms. Whoever reads a question must know every class in it: importing this room makes
all of them known to `wire`.
"""

from tacit.learners import owners
from tacit.learners.peers import alike, cells, leaf_counts, noisy_tree, peer_model
from tacit.learners.sites import losses, projection, train
from tacit.owner.gate import Gate, RefusedError
from tacit.owner.ledger import Ledger, LedgerError
from tacit.owner.policy import Policy

QUESTIONS = (owners, alike, cells, leaf_counts, noisy_tree, peer_model, losses, projection, train)

__all__ = ["Gate", "Ledger", "LedgerError", "Policy", "RefusedError"]
