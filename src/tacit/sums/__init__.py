"""Sums over owners in which nobody sees a single owner's term."""
