"""Users' tables: CSV and parquet files, read by rules that are the same for public rows, owners'
rows and new rows.
"""

from tacit.data.conforming import conform, conform_labels, conform_owners
from tacit.data.infer import Described, describe, schema_of
from tacit.data.reading import column_names, read_blocks, read_rows, read_table
from tacit.data.schema_file import read_schema, schema_text
from tacit.data.table import UserTable

__all__ = [
    "Described",
    "UserTable",
    "column_names",
    "conform",
    "conform_labels",
    "conform_owners",
    "describe",
    "read_blocks",
    "read_rows",
    "read_schema",
    "read_table",
    "schema_of",
    "schema_text",
]
