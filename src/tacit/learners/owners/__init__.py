"""Shares of owners, one learner per file (unit: the owner). Papers A and B, and our own."""
