"""Sums over owners in which nobody sees a single owner's term: the interface, exact noise, and two
servers that each hold one half of every term and add noise of their own.

Learners and everything above may import it; it imports mechanisms, wire and `_util`.
"""

NOBODY = "nobody"  # whom owners trust that randomise what they say themselves
HOW = "two servers"  # the name of these sums, beside those of mechanisms
TRUSTS = (NOBODY, HOW)
