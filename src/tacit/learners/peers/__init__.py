"""What peers count, release and keep for themselves (unit: the record). Paper D."""
