"""The token before each text: which one the option `bos` of causal models means."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from wug.errors import ModelError
from wug.models.spec import ModelSpec
from wug.models.tokenization.tokens import SpecialTokens
from wug.models.weights.fingerprints import Folder

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

GENERIC_TOKENIZERS = ("TokenizersBackend", "PreTrainedTokenizerFast")
"""Tokenizer classes that take everything from their files."""

BY_TOKENIZER = ("tokenizer", "lm-eval")
"""Values of `bos` with which the tokenizer decides about texts with a context."""

log = logging.getLogger("wug")


def bos_id(tokenizer: PreTrainedTokenizerBase, policy: str, spec: ModelSpec) -> int | None:
    """The token before a text; None for none."""
    if policy == "no":
        return None
    if policy in BY_TOKENIZER:
        before = SpecialTokens.of(tokenizer.backend_tokenizer).before
        if len(before) > 1:
            raise ModelError(
                f"{spec}: bos={policy}: the tokenizer puts {len(before)} tokens before a text. Use bos=TOKEN"
            )
        return before[0] if before else None
    if policy in ("auto", "yes"):
        bos: int | None = tokenizer.bos_token_id
        if bos is None and policy == "yes":
            raise ModelError(f"{spec}: bos=yes, but the tokenizer has no BOS token. Use bos=no, or name a token")
        return bos
    index: int = tokenizer.convert_tokens_to_ids(policy)
    if index is None or (index == tokenizer.unk_token_id and policy != tokenizer.unk_token):
        raise ModelError(f"{spec}: bos={policy}: the tokenizer has no such token")
    return index


def first_id(tokenizer: PreTrainedTokenizerBase, spec: ModelSpec) -> int:
    """The BOS token, or else the EOS token."""
    found: int | None = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if found is None:
        raise ModelError(f"{spec}: bos=lm-eval, but the tokenizer has neither a BOS nor an EOS token")
    return found


def compare_with_default(tokenizer: PreTrainedTokenizerBase, bos: int | None) -> None:
    """Warn if texts do not begin as by the tokenizer's default, which most other programs use."""
    default = SpecialTokens.of(tokenizer.backend_tokenizer).before
    if default == (() if bos is None else (bos,)):
        return
    names = ", ".join(map(repr, tokenizer.convert_ids_to_tokens(list(default)))) or "no token"
    log.warning(
        "texts are scored %s, but by default the tokenizer (%s) puts %s before a text: other programs may give other "
        "numbers. bos=%s scores them so, bos=%s as now and without this warning",
        "without a BOS token" if bos is None else f"after the BOS token {tokenizer.convert_ids_to_tokens(bos)!r}",
        type(tokenizer).__name__,
        names,
        "TOKEN" if default else "no",
        "no" if bos is None else "yes",
    )


def has_bos_token(folder: Folder, policy: str) -> bool | None:
    """Whether texts will begin with a BOS token; None if only the tokenizer tells."""
    if policy != "auto":
        return policy != "no"
    settings = folder.settings("tokenizer_config.json")
    if settings.get("bos_token") is not None:
        return True
    # Other classes may have a BOS token that no file names.
    generic = settings.get("tokenizer_class") in GENERIC_TOKENIZERS
    return False if generic and "bos_token" not in folder.settings("special_tokens_map.json") else None
