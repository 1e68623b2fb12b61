"""Randomisers: a share in a known space becomes a report that its owner can afford to send."""
