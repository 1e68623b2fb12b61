"""What peers release about their records, the model made of it, and what each keeps for itself
(unit: the record). Paper D, and our own.

It knows neither owners of single shares nor sites.
"""
