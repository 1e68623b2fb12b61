"""The algorithms as generators: they yield what to ask and receive answers; they never see rows of
owners. What they fit on public rows before they ask is here too.

Engines, estimators and the service may import it; it imports learners, sums, data and mechanisms.
"""
