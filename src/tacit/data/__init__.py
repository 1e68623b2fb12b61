"""Rows and what is public about them: schemas, users' tables, and the one way from a file to rows
(`table_file`, then `sample` for the data user's rows); cohorts in memory.
Knows neither mechanisms nor learners; everything above may import it.
"""
