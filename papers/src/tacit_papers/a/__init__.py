"""Paper A: boosting from locally private shares of owners that are asked once."""
