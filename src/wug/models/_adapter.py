"""Adapters of peft: a few weights that were trained on top of a model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from wug.errors import MissingExtra, ModelError, WugError
from wug.models._spec import ModelSpec


def adapt(model: Any, folder: Path, spec: ModelSpec, *, merge: bool) -> Any:
    """The model with the adapter of a folder; with `merge`, its weights changed and the adapter gone.

    To merge is to round: that is for weights in float32 alone, where it changes nothing that counts.
    """
    try:
        from peft import PeftConfig, PeftModel, load_peft_weights, set_peft_model_state_dict
    except ImportError:
        raise MissingExtra(f"adapter={folder}", "bigger") from None
    where = f"{spec}, adapter={folder}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of missing keys, which are an error here
            settings = PeftConfig.from_pretrained(str(folder))
            if settings.is_prompt_learning:
                raise ModelError(
                    f"{where}: it puts learnt prompts before a text ({settings.peft_type.value}). Adapters that change "
                    "layers can be used, such as LoRA"
                )
            found = PeftModel.from_pretrained(model, str(folder))
            loaded = set_peft_model_state_dict(found, load_peft_weights(str(folder), device="cpu"))
            _require_all(loaded, found, where)
            return found.merge_and_unload() if merge else found.get_base_model()
    except WugError:
        raise
    except Exception as error:  # damaged files raise whatever their readers do
        text = (str(error).strip() or type(error).__name__).split("\n")
        raise ModelError(f"{where}: it cannot be put on this model: {' '.join(text[:2])[:300]}") from error


def require_same_words(tokenizer: Any, folder: Path, spec: ModelSpec) -> None:
    """Refuse an adapter that brings words of its own: which embeddings they have, its base does not tell."""
    if not (folder / "tokenizer.json").is_file():
        return
    from tokenizers import Tokenizer

    try:
        words = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab(with_added_tokens=True)
    except Exception as error:  # the reader raises bare exceptions
        raise ModelError(f"adapter={folder}: its tokenizer.json cannot be read: {error}") from error
    if words != tokenizer.get_vocab():
        raise ModelError(
            f"{spec}, adapter={folder}: its tokenizer has other words than that of the model. Merge the two into a "
            "model of its own (peft: merge_and_unload, save_pretrained) and give that folder"
        )


def _require_all(loaded: Any, found: Any, where: str) -> None:
    """Refuse an adapter of which a part has no place in the model, or which leaves one of its places empty."""
    own = {name for name, _ in found.named_parameters() if any(part in name for part in (found.base_model.prefix,))}
    missing = sorted(own & set(loaded.missing_keys))
    extra = sorted(loaded.unexpected_keys)
    if missing or extra:
        kind, some = ("not in the adapter", missing) if missing else ("for no layer of this model", extra)
        raise ModelError(
            f"{where}: {len(some)} weights are {kind} (such as {some[0]}). It was probably trained on another model"
        )
