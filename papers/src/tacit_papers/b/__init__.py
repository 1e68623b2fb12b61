"""Paper B: the same with errors by secure sums."""
