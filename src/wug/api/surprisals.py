"""Surprisals of texts by any model that Python can name or hand over."""

from __future__ import annotations

from contextlib import closing, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

from wug.api.model import model_of
from wug.files import user_path
from wug.runs.cache import Cache
from wug.tables import Table


def surprisal(texts: Any, model: object, unit: str, cache: str | Path | None, **manner: Any) -> Table:
    """A table, one row a word, token, sentence or region."""
    kept = nullcontext() if cache is None else closing(Cache(user_path(cache)))
    with kept as answers:
        table: Table = import_module("wug.texts").surprisal(
            texts, model_of(model).opened, unit, cache=answers, **manner
        )
        return table
