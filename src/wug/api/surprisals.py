"""Surprisals of texts by any model that Python can name or hand over."""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from wug import texts as texts_of
from wug.api.model import model_of
from wug.files import user_path
from wug.runs.cache import Cache
from wug.tables import Table
from wug.texts.surprisals import Unit


def surprisal(texts: Any, model: object, unit: Unit, cache: str | Path | None, **manner: Any) -> Table:
    """A table, one row a word, token, sentence or region."""
    kept = nullcontext() if cache is None else closing(Cache(user_path(cache)))
    with kept as answers:
        return texts_of.surprisal(texts, model_of(model).opened, unit, cache=answers, **manner)
