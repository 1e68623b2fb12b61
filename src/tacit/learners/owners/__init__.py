"""What owners release, one learner per file, with both ends of it (unit: the owner). Papers A and
B, and our own.

It knows neither sites nor peers.
"""
