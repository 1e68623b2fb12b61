"""What runs where the data is: the gate, its policy and its ledger. It trusts nobody.

Service, audit and command line may import it; it imports learners, sums, data, mechanisms and wire,
never algorithms.
"""

from tacit.owner.gate import Gate, RefusedError
from tacit.owner.ledger import Ledger, LedgerError
from tacit.owner.policy import Policy

__all__ = ["Gate", "Ledger", "LedgerError", "Policy", "RefusedError"]
