"""The algorithms as generators: they yield what to ask and receive answers; they never see rows
of owners.
"""
