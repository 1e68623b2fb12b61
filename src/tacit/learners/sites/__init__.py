"""Private training at a site (unit: the record). Paper C."""
