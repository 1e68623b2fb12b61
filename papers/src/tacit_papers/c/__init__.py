"""Paper C: sites train private linear models that an aggregator combines."""
