"""Adapters of peft: weights trained on top of a model."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import InputError, ModelError, WugError, first_line, needs_extra
from wug.files import read_object
from wug.models.spec import ModelSpec

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MATCHING_S = 20.0
"""Timeout for matching the regular expressions of an adapter with the names of all layers."""
MATCH = """
import json, re, sys
expressions, names = json.load(sys.stdin)
for expression in expressions:
    for form in (expression, rf"(.*\\.)?({expression})$", rf"(^|.*\\.){expression}($|\\..*)"):
        try:
            pattern = re.compile(form)
        except (re.error, RecursionError, OverflowError):
            continue
        for name in names:
            pattern.fullmatch(name), pattern.match(name)
"""
"""Matches names as peft does, in a process that can be killed."""


def adapt(model: PreTrainedModel, folder: Path, spec: ModelSpec, *, merge: bool) -> Any:
    """The model with an adapter; with `merge`, merged into its weights, which is for float32 only, since it rounds."""
    context = f"{spec}, adapter={folder}"
    _require_harmless(model, folder, context)
    with needs_extra(f"adapter={folder}", "bigger"):
        from peft import PeftConfig, PeftModel, load_peft_weights, set_peft_model_state_dict
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about missing keys, which are an error here
            settings = PeftConfig.from_pretrained(str(folder))
            if settings.is_prompt_learning:
                raise ModelError(
                    f"{context}: it puts learnt prompts before a text ({settings.peft_type.value}). Adapters that "
                    "change layers can be used, such as LoRA"
                )
            adapted = PeftModel.from_pretrained(model, str(folder))
            loaded = set_peft_model_state_dict(adapted, load_peft_weights(str(folder), device="cpu"))
            _require_all(loaded, adapted, context)
            return adapted.merge_and_unload() if merge else adapted.get_base_model()
    except WugError:
        raise
    except Exception as error:  # damaged files raise whatever their readers do
        raise ModelError(f"{context}: it cannot be put on this model: {first_line(error)}") from error


def require_same_words(tokenizer: PreTrainedTokenizerBase, folder: Path, spec: ModelSpec) -> None:
    """Refuse an adapter whose tokenizer has other words: their embeddings are unknown."""
    if not (folder / "tokenizer.json").is_file():
        return
    from tokenizers import Tokenizer

    try:
        words = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab(with_added_tokens=True)
    except Exception as error:  # the reader raises bare exceptions
        raise ModelError(f"adapter={folder}: its tokenizer.json cannot be read: {error}") from error
    if words != tokenizer.get_vocab():
        raise ModelError(
            f"{spec}, adapter={folder}: its tokenizer has other words than that of the model. Merge the two "
            "into one model (peft: merge_and_unload, save_pretrained) and give that folder"
        )


def _require_all(loaded: Any, adapted: Any, context: str) -> None:
    """Refuse an adapter with weights for missing layers, or without weights for its own."""
    expected = {name for name, _ in adapted.named_parameters() if adapted.base_model.prefix in name}
    missing = sorted(expected & set(loaded.missing_keys))
    extra = sorted(loaded.unexpected_keys)
    if missing or extra:
        kind, names = ("not in the adapter", missing) if missing else ("for no layer of this model", extra)
        raise ModelError(
            f"{context}: {len(names)} weights are {kind} (such as {names[0]}). It was probably trained on another model"
        )


def _require_harmless(model: PreTrainedModel, folder: Path, context: str) -> None:
    """Refuse an adapter whose configuration makes peft import modules, load other adapters, or match forever."""
    try:
        settings = read_object(folder / "adapter_config.json")
    except InputError as error:
        raise ModelError(f"{context}: {error}. Download or copy it again") from None
    # Every LoRA adapter has megatron_core as its default; peft imports it only with a megatron_config.
    for name, default in (("megatron_config", None), ("megatron_core", "megatron.core"), ("adapters", None)):
        if settings.get(name) not in (None, default):
            raise ModelError(
                f"{context}: adapter_config.json sets {name}, by which peft imports a module or loads other adapters. "
                "Such adapters are refused"
            )
    expressions = sorted({text for text in _texts(settings) if re.search(r"[*+{]", text)})
    names = [name for name, _ in model.named_modules()]
    if not expressions:
        return
    try:
        request = json.dumps([expressions, names]).encode()
        command = [sys.executable, "-I", "-c", MATCH]
        subprocess.run(command, input=request, capture_output=True, timeout=MATCHING_S, check=True)
    except subprocess.TimeoutExpired:
        raise ModelError(
            f"{context}: a regular expression in adapter_config.json takes more than {MATCHING_S:.0f} seconds to match "
            "the names of the layers. Write target_modules as a list of names"
        ) from None
    except subprocess.CalledProcessError as error:
        raise ModelError(f"{context}: a regular expression in adapter_config.json cannot be matched: {error}") from None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for element in (*value, *(value.values() if isinstance(value, dict) else ())):
            yield from _texts(element)
