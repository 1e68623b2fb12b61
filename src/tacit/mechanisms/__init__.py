"""Randomisers: a share in a known space becomes a report that its owner can afford to send. One
mechanism per file, its proof in the note beside it; spaces, and coins and odds to draw with.

Sums, learners and everything above may import it; it imports `_util` alone.
"""
