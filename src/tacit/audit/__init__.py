"""Checking the promise from outside: exact tables and samples of mechanisms, bounds of epsilon
through the whole gate, ledgers that must agree, and all that can be seen beside reports.

The command line may import it; it imports owner, learners, data and mechanisms.
"""
