"""Types of the columns that hold groups and details of outcomes.

A type is written as DuckDB's `from_json` takes it: a name ("VARCHAR"), a list with the type of its elements, or a
dictionary with the types of its fields. `JSON` marks values that share no type: their column holds JSON as text.
None is the type of values that are not there. A field that is None and one that is absent are the same.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from wug.files import is_unicode

Type: TypeAlias = Any
"""`str`, `[Type]`, `{field: Type}` or None; recursive, so that mypy cannot check it."""
Role: TypeAlias = Literal["group", "detail"]

FIXED = {
    "position": "INTEGER",
    "suite": "VARCHAR",
    "model": "VARCHAR",
    "item": "VARCHAR",
    "metric": "VARCHAR",
    "value": "DOUBLE",
    "judged": "BOOLEAN",
}
"""The first columns of every file of outcomes."""
MAX_EXACT_INTEGER = 2**53
"""Larger integers have no exact DOUBLE."""
MAX_STRUCT_FIELDS = 100

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class OutcomeColumn(NamedTuple):
    """A column of a file of outcomes, and the field of a group or detail that it holds."""

    name: str
    role: Role
    field: str
    type: Type


def dump(data: Any) -> str:
    """Compact JSON; lone surrogates, which UTF-8 cannot encode, are escaped."""
    text = _encode(data)
    return text if is_unicode(text) else json.dumps(data, separators=(",", ":"))


def storable(text: str) -> str:
    """The text, with lone surrogates written as escapes."""
    return text if is_unicode(text) else text.encode("utf-8", "backslashreplace").decode()


def type_of(value: object) -> Type:
    """The type of one value."""
    match value:
        case None:
            return None
        case bool():
            return "BOOLEAN"
        case int():
            return "BIGINT" if abs(value) <= MAX_EXACT_INTEGER else "JSON"
        case float():
            return "DOUBLE"
        case str():
            return "VARCHAR" if is_unicode(value) else "JSON"
        case list() | tuple():
            return [type_of_all(value)]
        case dict() if all(isinstance(name, str) for name in value):
            return {name: type_of(part) for name, part in value.items()}
    return "JSON"


def type_of_all(values: Iterable[object]) -> Type:
    """The type that all values share, before it is settled."""
    return functools.reduce(merge, map(type_of, values), None)


def merge(first: Type, second: Type) -> Type:
    """The common type of two types; `JSON` if there is none."""
    if first is None or first == second:
        return second
    if second is None:
        return first
    match first, second:
        case ("BIGINT", "DOUBLE") | ("DOUBLE", "BIGINT"):
            return "DOUBLE"
        case [one], [other]:
            return [merge(one, other)]
        case dict(), dict():
            return {name: merge(first.get(name), second.get(name)) for name in {**first, **second}}
    return "JSON"


def resolve_type(kind: Type) -> Type:
    """The type of a column: unknown parts become text, and what DuckDB cannot represent becomes JSON."""
    match kind:
        case None:
            return "VARCHAR"
        case [part]:
            inner = resolve_type(part)
            return "JSON" if inner == "JSON" else [inner]
        case dict():
            names = {name.lower() for name in kind}  # DuckDB does not distinguish case
            parts = {name: resolve_type(part) for name, part in kind.items()}
            usable = all(name.isprintable() and name and is_unicode(name) for name in names)
            fits = 0 < len(kind) <= MAX_STRUCT_FIELDS and len(names) == len(kind) and usable
            return parts if fits and "JSON" not in parts.values() else "JSON"
    return kind


class Chunk(NamedTuple):
    """Values of one field, ready for DuckDB: scalars as an array of their type, everything else as JSON text."""

    array: np.ndarray[Any, Any]
    type: Type
    """The type of the values, before it is settled."""
    as_text: bool
    """Whether the array holds JSON text rather than values of the type."""

    def sql(self, column: str, target: Type) -> str:
        """An expression that converts the column of this chunk to the settled type of all chunks."""
        if self.as_text:
            return column if target == "JSON" else f"from_json({column}, {literal(dump(target))})"
        if target == "JSON":
            return f"CAST(to_json({column}) AS VARCHAR)"
        return column if target == self.type else f"CAST({column} AS {target})"


def chunk_of(values: Sequence[object]) -> Chunk:
    """The values of a field in some outcomes."""
    kinds = set(map(type, values))
    missing = np.array([value is None for value in values], bool) if type(None) in kinds else None
    kinds.discard(type(None))
    if kinds == {str} and is_unicode("".join(filter(None, values))):  # type: ignore[arg-type]
        return Chunk(_objects(values), "VARCHAR", False)
    if kinds == {bool}:
        return Chunk(_masked(values, missing, np.bool_), "BOOLEAN", False)
    if kinds and kinds <= {int, float}:
        kind = type_of_all(values) if int in kinds else "DOUBLE"
        if kind in ("BIGINT", "DOUBLE"):
            array = _masked(values, missing, np.int64 if kind == "BIGINT" else np.float64)
            if kind == "BIGINT" or not np.isnan(array.data if missing is None else array.compressed()).any():
                return Chunk(array, kind, False)
    # DuckDB takes NaN in an array for NULL, so numbers with NaN are sent as text.
    texts = [None if value is None else dump(value) for value in values]
    return Chunk(_objects(texts), type_of_all(values), True)


def _objects(values: Sequence[object]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _masked(values: Sequence[Any], missing: np.ndarray[Any, Any] | None, dtype: Any) -> Any:
    if missing is None:
        return np.ma.masked_array(np.array(values, dtype))
    filled = np.array([0 if value is None else value for value in values], dtype)
    return np.ma.masked_array(filled, missing)


def name_columns(fields: Mapping[tuple[Role, str], Type]) -> tuple[OutcomeColumn, ...]:
    """The column of each field, named after it; with its role as a prefix if another column has that name."""
    plain = [_column_name(field) for _, field in fields]
    taken = set(FIXED)
    columns: list[OutcomeColumn] = []
    for (role, field), kind in fields.items():
        name = _column_name(field)
        if not name or name in FIXED or plain.count(name) > 1:
            name = f"{role}_{name}"
        unique = name
        while unique in taken:
            unique = f"{name}_{len(columns)}"
        taken.add(unique)
        columns.append(OutcomeColumn(field if unique == field.lower() else unique, role, field, kind))
    return tuple(columns)


def _column_name(field: str) -> str:
    """The field as the name of a column; DuckDB does not distinguish case."""
    return field.lower() if field.isprintable() and is_unicode(field) else ""


def identifier(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def dump_columns(columns: Sequence[OutcomeColumn]) -> str:
    """Columns as JSON, for the index."""
    return dump([[column.name, column.role, column.field, column.type] for column in columns])


def load_columns(text: str) -> tuple[OutcomeColumn, ...]:
    """Columns from the index."""
    return tuple(OutcomeColumn(name, role, field, kind) for name, role, field, kind in json.loads(text))
