"""Verified sums: Prio3 of the IETF's draft on verifiable distributed aggregation, over many owners
at once.

What is proven, how soundly, and whom one must trust: prio3.md. Every array of field elements has
64-bit words as its last axis, and owners as its first; an operation on one report is the same
operation on a batch of one.
"""
