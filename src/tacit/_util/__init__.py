"""What every room may use: array types, checks of parameters, kernels, threads, durable files,
Ctrl-C. Nothing here knows of owners, queries or privacy.

Every room may import it; it imports none.
"""
