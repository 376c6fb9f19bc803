"""Surprisals of texts by any model that Python can name or hand over."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

from wug import texts as texts_of
from wug.api.model import models_of
from wug.errors import InputError
from wug.evaluation.cache import Cache
from wug.files import refuse_surrogates, user_path
from wug.tables import Table
from wug.texts import Text

DEFAULT = "wug-causal"


def given(texts: Any, text: str | Iterable[str] | None) -> Any:
    """The texts of either argument; `text` is never the name of a file."""
    if (texts is None) == (text is None):
        raise InputError("wug.surprisal() needs texts, or text=…, and not both")
    if text is None:
        return texts
    several = [text] if isinstance(text, str) else text
    if not isinstance(several, Iterable):
        raise InputError(f"text={text!r}: write a str, or a list of them")
    return [Text(refuse_surrogates(one)) if isinstance(one, str) else one for one in several]


def surprisal(texts: Any, model: Any, cache: str | Path | None, **manner: Any) -> Table:
    """A table, one row per word, token, sentence or region of each model."""
    opened = (one.opened for one in models_of(DEFAULT if model is None else model))
    kept = nullcontext() if cache is None else closing(Cache(user_path(cache)))
    with kept as answers:
        return texts_of.surprisal(texts, opened, cache=answers, **manner)
