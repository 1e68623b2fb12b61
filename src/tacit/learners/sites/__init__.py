"""Private training at a site (unit: the record). Paper C.

It knows neither owners of single shares nor peers.
"""
