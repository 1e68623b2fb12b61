"""Checking the promise from outside: exact tables, statistical lower bounds."""
