"""Tokenizers and token streams, kept beside the training, so that resuming it begins at once.

Only those of a training that was begun are used again: any other may be of another text.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from wug.train.checkpoint import Checkpoint
from wug.train.corpus import Ids
from wug.train.tokens import save_tokenizer


def kept_ids(folder: Path, make: Callable[[], Ids]) -> Ids:
    """The token stream of a folder's training, made if there is none yet."""
    path = folder / "training" / "ids.npy"
    if Checkpoint(folder).begun and path.exists():
        stored: Ids = np.load(path)
        return stored
    ids = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    with beside.open("wb") as out:
        np.save(out, ids)
    beside.replace(path)
    return ids


def kept_tokenizer(folder: Path, make: Callable[[], Any]) -> Any:
    """The tokenizer of a folder's training, made if there is none yet."""
    from transformers import AutoTokenizer

    path = folder / "training" / "tokenizer"
    if Checkpoint(folder).begun and (path / "tokenizer.json").exists():
        return AutoTokenizer.from_pretrained(path)
    tokenizer = make()
    save_tokenizer(tokenizer, path)
    return tokenizer
