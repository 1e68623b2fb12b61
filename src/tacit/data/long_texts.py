"""Texts of a parquet file that would take more memory than there is.

A file writes a text once that many rows have, so some kilobytes may mean gigabytes: by one long
text, or by one of a megabyte in a million rows. What a file says of its own size leaves the second
out, so texts that may come to too much are first read as the file has them, each once beside who
has it; then what they come to is known before anything is made of them.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

_LONGEST = 1 << 22  # bytes of a text: a CSV file is read in such blocks
_TEXTS = pa.types.is_string, pa.types.is_large_string, pa.types.is_binary
_READ = 1 << 16  # bytes of a column at once
_PART = 4  # of memory that one piece of a file may take; what is made of it takes more


def open_parquet(path: Path, texts: Sequence[str] = ()) -> Any:
    """A parquet file whose row groups are read a page of each column at a time, so that one as
    large as the file takes no more memory; columns of `texts` stay as they are stored.
    """
    return parquet.ParquetFile(
        path,
        page_checksum_verification=True,
        read_dictionary=list(texts),
        pre_buffer=False,
        buffer_size=_READ,
    )


def memory() -> int:
    """Bytes that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def declared_size(content: Any, columns: list[str]) -> int:
    """Bytes that some columns have by what the file says, each text once."""
    return sum(chunk.total_uncompressed_size for chunk in chunks_of(content, columns))


def read_pieces(
    path: Path, content: Any, columns: list[str], rows: int, group: int | None
) -> Iterator[Any]:
    """Columns of a parquet file, or of one row group of it, in pieces of at most so many rows; an
    error where a text is longer than any in a CSV file, or a piece would take more than a part of
    memory.
    """
    refused = ValueError(
        f"{path} has texts so long that they take more than this machine's memory of "
        f"{memory() >> 30} GB holds, or one of more than {_LONGEST >> 20} MB: leave their column "
        "out"
    )
    if any(each.total_uncompressed_size > _longest(each) for each in chunks_of(content, columns)):
        raise refused  # before it is read
    texts = [name for name in columns if _may_grow(content, name)]
    chosen = None if group is None else [group]
    reader = content
    if texts:
        reader = open_parquet(path, texts)
    for batch in reader.iter_batches(rows, columns=columns, row_groups=chosen):
        sizes, lengths = zip(*map(_measure, batch.columns), strict=True)
        if not (sum(sizes) <= memory() // _PART and max(lengths) <= _LONGEST):
            raise refused
        if not texts:
            yield batch
            continue
        plain = [
            column.dictionary_decode().cast(content.schema_arrow.field(name).type)
            if name in texts
            else column
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(plain, names=batch.schema.names)


def _may_grow(content: Any, name: str) -> bool:
    """Whether texts of a column, each in every row, would be too much."""
    kind = content.schema_arrow.field(name).type
    if not any(is_one(kind) for is_one in _TEXTS):
        return False
    limit = memory() // _PART
    return any(
        chunk.has_dictionary_page and chunk.num_values * chunk.total_uncompressed_size > limit
        for chunk in chunks_of(content, [name])
    )


def chunks_of(content: Any, columns: Sequence[str], only: int | None = None) -> Iterator[Any]:
    """What a file says of the parts of some columns, perhaps of one row group."""
    known, wanted = content.metadata, {*columns}
    for group in map(known.row_group, range(known.num_row_groups) if only is None else [only]):
        for chunk in map(group.column, range(group.num_columns)):
            if chunk.path_in_schema in wanted or chunk.path_in_schema.split(".")[0] in wanted:
                yield chunk


def _longest(chunk: Any) -> int:
    """Bytes that a part of a column has at most, if none of its values is too long."""
    return (int(chunk.num_values) + 1) * (_LONGEST + 16)


def _measure(column: Any) -> tuple[int, int]:
    """Bytes of a column, with each text as often as rows have it, and of its longest text."""
    shared = pa.types.is_dictionary(column.type)
    values = column.dictionary if shared else column
    if not any(is_one(values.type) for is_one in _TEXTS):
        return int(column.nbytes), 0
    lengths = pc.binary_length(values)
    longest = int(pc.max(lengths).as_py() or 0)
    more = int(pc.sum(lengths.take(column.indices)).as_py() or 0) if shared else 0
    return int(column.nbytes) + more, longest
