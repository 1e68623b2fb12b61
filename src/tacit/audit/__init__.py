"""Checking the promise from outside: exact tables and samples of mechanisms, bounds of epsilon
through the whole gate, ledgers that must agree, and all that can be seen beside reports.

It examines everything, devices too, so it may import every room but the command line.
"""
