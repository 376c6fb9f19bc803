"""Outcomes for other programs: one query over the files of several results, written by DuckDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from wug.outcomes import Result
from wug.results.columns import FIXED, OutcomeColumn, dump, identifier, literal
from wug.results.database import connect, database_errors, source
from wug.results.outcomes import OutcomeFile
from wug.results.queries import OutcomeTable, table_of
from wug.tables import RowTable, escape_formula

ExportFormat: TypeAlias = Literal["csv", "tsv", "json", "jsonl", "parquet"]
OPTIONS: dict[ExportFormat, str] = {
    "csv": "FORMAT csv, HEADER",
    "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    "json": "FORMAT json, ARRAY",
    "jsonl": "FORMAT json",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
}
FIRST = ("suite", "model", "item", "metric", "value")
FORMULA = "'=', '+', '-', '@', chr(9), chr(13)"
"""First characters of text that a spreadsheet evaluates."""
ROWS_AT_A_TIME = 1000
NUMBER = "-?[0-9.]+(?:[eE][+-]?[0-9]+)?"


def export_outcomes(results: Sequence[Result], path: Path, format: ExportFormat, *, raw: bool = False) -> None:
    """Write one row per outcome: suite, model, item, metric, value, a column per group field, details as JSON.

    In csv and tsv, text that a spreadsheet would evaluate gets a leading apostrophe, unless `raw`.
    """
    tables = [table_of(result.outcomes) for result in results]  # temporary files live as long as these
    guard = format in ("csv", "tsv") and not raw
    _, query = _query([table.locate() for table in tables], guard=guard, as_json=format in ("json", "jsonl"))
    with database_errors(path.parent), connect() as db:
        db.execute(f"COPY ({query}) TO {literal(str(path))} ({OPTIONS[format]})")


def outcome_table(results: Sequence[Result]) -> RowTable:
    """The same rows for other formats, read as they are written."""
    tables = [table_of(result.outcomes) for result in results]
    names, query = _query([table.locate() for table in tables])
    return RowTable(names, _rows(query, tables), {**dict.fromkeys(names, str), "value": float, "detail": object})


def _rows(query: str, tables: Sequence[OutcomeTable]) -> Iterator[Sequence[object]]:
    """The rows of a query; `tables` live until they are read."""
    with connect() as db:
        selected = db.execute(query)
        while some := selected.fetchmany(ROWS_AT_A_TIME):
            yield from some


def _query(files: Sequence[OutcomeFile], *, guard: bool = False, as_json: bool = False) -> tuple[list[str], str]:
    """The names of the columns, and the rows in SQL; with `guard`, formulas get an apostrophe."""
    fields = list(dict.fromkeys(column.field for file in files for column in _columns_with_role(file, "group")))
    names = _unique(fields)
    shown = [escape_formula(name) if guard else name for name in names]
    header = ", ".join(
        [*(f"NULL::{FIXED[name]} AS {name}" for name in FIRST), *(f"NULL::VARCHAR AS {identifier(n)}" for n in shown)]
    )
    selects = [f"SELECT {header}, {_details((), as_json=as_json)} AS detail WHERE FALSE"]
    for file in files:
        if file.path is None:
            continue
        columns = {column.field: column for column in _columns_with_role(file, "group")}
        cells = [_cell(identifier(name) if name != "value" else name, guard and name != "value") for name in FIRST]
        for field in fields:
            group = f"CAST({identifier(columns[field].name)} AS VARCHAR)" if field in columns else "NULL"
            cells.append(_cell(group, guard))
        cells.append(_details(_columns_with_role(file, "detail"), as_json=as_json))
        where = f"position BETWEEN {file.first} AND {file.first + file.rows - 1}"
        selects.append(f"SELECT {', '.join(cells)} FROM {source(file.path)} WHERE {where}")
    return [*FIRST, *names, "detail"], " UNION ALL ".join(selects)


def _columns_with_role(file: OutcomeFile, role: str) -> list[OutcomeColumn]:
    return [column for column in file.columns if column.role == role]


def _unique(fields: Sequence[str]) -> list[str]:
    """Names of columns for group fields; DuckDB does not distinguish case."""
    taken = {*FIRST, "detail"}
    names = []
    for number, field in enumerate(fields):
        name = field or "group"
        name = f"group_{name}" if name.lower() in taken else name
        name = f"{name}_{number}" if name.lower() in taken else name
        taken.add(name.lower())
        names.append(name)
    return names


def _cell(text: str, guard: bool) -> str:
    if not guard or text == "NULL":
        return text
    formula = f"left({text}, 1) IN ({FORMULA}) AND NOT regexp_full_match({text}, {literal(NUMBER)})"
    return f"CASE WHEN {formula} THEN '''' || {text} ELSE {text} END"


def _details(columns: Sequence[OutcomeColumn], *, as_json: bool) -> str:
    """The details of an outcome as one JSON object, without those that are missing; NULL if there are none."""
    kind = "JSON" if as_json else "VARCHAR"
    if not columns:
        return f"CAST(NULL AS {kind})"
    parts = []
    for column in columns:
        name = identifier(column.name)
        parts.append(f"CASE WHEN {name} IS NOT NULL THEN {literal(dump(column.field) + ':')} || {_json(column)} END")
    text = f"nullif('{{' || concat_ws(',', {', '.join(parts)}) || '}}', '{{}}')"
    return f"CAST({text} AS {kind})" if as_json else text


def _json(column: OutcomeColumn) -> str:
    """A value as strict JSON, without NaN, infinity and lone surrogates."""
    name = identifier(column.name)
    if column.type in ("VARCHAR", "BIGINT", "BOOLEAN"):
        return f"CAST(to_json({name}) AS VARCHAR)"
    if column.type == "DOUBLE":
        return f"CASE WHEN isfinite({name}) THEN CAST(to_json({name}) AS VARCHAR) ELSE 'null' END"
    text = name if column.type == "JSON" else f"CAST(to_json({name}) AS VARCHAR)"
    odd = " OR ".join(f"contains({text}, {literal(part)})" for part in ("NaN", "Infinity", "\\u"))
    return f"CASE WHEN {odd} THEN strict_json({text}) ELSE {text} END"
