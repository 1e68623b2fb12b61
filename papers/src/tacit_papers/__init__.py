"""The four papers again, and our own comparisons: experiments, published figures, claims, reports.

One folder a paper; `runner`, `rows` and `claims` are what they have in common. Uses tacit, which
knows nothing of it.
"""

__version__ = "0.1.0"
