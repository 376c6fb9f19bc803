"""Apache Parquet, with the types of the columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from wug.errors import needs_extra
from wug.tables import Table, Tabular

SUFFIXES = (".parquet",)
MEDIA_TYPE = "application/vnd.apache.parquet"
BINARY = True
ROW_GROUP_ROWS = 20_000
"""Rows that are converted at a time if the types of all columns are known."""


def require() -> None:
    """MissingExtra if pyarrow is not installed."""
    with needs_extra("Parquet", "parquet"):
        import pyarrow.parquet  # noqa: F401


def write(table: Tabular, *, raw: bool = False) -> Iterator[bytes]:
    """The file."""
    require()
    import pyarrow
    import pyarrow.parquet

    source = table.values()
    has_types = all(name in table.kinds for name in table.names)
    first_batch = _batch(table, list(islice(source, ROW_GROUP_ROWS if has_types else None))).to_arrow()
    out = pyarrow.BufferOutputStream()
    with pyarrow.parquet.ParquetWriter(out, first_batch.schema) as writer:
        writer.write_table(first_batch)
        while rows := list(islice(source, ROW_GROUP_ROWS)):
            writer.write_table(_batch(table, rows).to_arrow())
    yield out.getvalue().to_pybytes()


def _batch(table: Tabular, rows: list[Sequence[object]]) -> Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(table.names)
    return Table(dict(zip(table.names, columns, strict=True)), table.kinds)
