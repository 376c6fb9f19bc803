"""Loads a model's tokenizer with the pipeline of its tokenizer.json.

For many model types, transformers takes only the vocabulary from the file and rebuilds the normalizer, the
pre-tokenizer and the BPE, WordPiece or Unigram model from defaults of the class.
"""

from __future__ import annotations

import base64
import json
import logging
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.errors import ModelError
from wug.models.spec import ModelSpec
from wug.models.tokenization.tokens import tokenizer_errors

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PROBES = (
    "The keys to the cabinet are on the table.",
    " Leading, trailing  and double spaces ",
    "I'M sure she'd say “it's” – don't WE? (1234567 or 3.14%)",
    "La niña comió; çà et là, Straße, İstanbul, ﬁn, e\u0301te\u0301",
    "Ключи от шкафа на столе",
    "日本語の文です。中文句子。ＡＢＣ",
    "한국어 문장 이다",
    "مفاتيح الخزانة على الطاولة",
    "मेज पर चाबियाँ हैं กุญแจอยู่บนโต๊ะ",
    "Tabs\tand\nlines\r\n\u00a0here \u200b👍🏽",
)
"""Texts that the loaded tokenizer must tokenize as tokenizer.json does: scripts, case, digits, punctuation, spaces."""
VOCABULARY_PROBES = 300
"""Tokens of the vocabulary that are written out as a further probe."""
MAX_GROWTH = 1000
"""Largest factor by which the normalizers together may lengthen a text; SentencePiece's own count as 33."""

log = logging.getLogger("wug")


@tokenizer_errors()
def load_tokenizer(location: str, spec: ModelSpec, settings: Mapping[str, Any]) -> Any:
    """The tokenizer of a folder or of a model on the Hugging Face Hub; `settings` are for `from_pretrained`."""
    import transformers
    from tokenizers import Tokenizer

    file = None if settings.get("gguf_file") else find_file(location, "tokenizer.json", settings)
    if file is None:
        return transformers.AutoTokenizer.from_pretrained(location, **settings)
    _require_bounded(file, spec)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(location, **settings)
    except Exception as error:  # classes raise whatever a file of another kind than theirs leads to
        if isinstance(error, ImportError) or "trust_remote_code" in str(error):
            raise
        return _read(location, file, spec, settings)
    own_code = (tokenizer.init_kwargs.get("auto_map") or {}).get("AutoTokenizer") or ()
    if own_code and not settings.get("trust_remote_code"):
        log.warning(
            "%s: the tokenizer's code of its own (%s) is not run. If you trust it, add -M trust_remote_code=yes",
            spec,
            own_code[0],
        )
    if not tokenizer.is_fast or type(tokenizer) is transformers.PreTrainedTokenizerFast:
        return tokenizer
    probe = differing_probe(tokenizer, Tokenizer.from_file(str(file)))
    if probe is None:
        return tokenizer
    if own_code and settings.get("trust_remote_code"):
        raise ModelError(
            f"{spec}: the tokenizer's code of its own ({own_code[0]}) tokenizes {probe!r} differently from "
            "tokenizer.json. Which of the two the model was trained with is unknown. Remove auto_map from "
            "tokenizer_config.json to use the file, or remove the file to use the code"
        )
    log.warning(
        "%s: transformers rebuilds the tokenizer as %s, which tokenizes %r differently from the model's "
        "tokenizer.json. wug uses tokenizer.json",
        spec,
        type(tokenizer).__name__,
        probe,
    )
    return _with_special_tokens(_read(location, file, spec, settings), tokenizer)


def find_file(location: str, name: str, settings: Mapping[str, Any]) -> Path | None:
    """A file of a folder or of a model on the Hugging Face Hub; None if it has none of that name."""
    from transformers.utils import cached_file

    options = {key: settings[key] for key in ("revision", "local_files_only") if key in settings}
    path = cached_file(location, name, _raise_exceptions_for_missing_entries=False, **options)
    return None if path is None else Path(path)


def differing_probe(tokenizer: PreTrainedTokenizerBase, expected: Tokenizer) -> str | None:
    """A text that a tokenizer of transformers tokenizes differently from one of tokenizers; None if there is none."""
    expected.no_truncation()
    expected.no_padding()
    for text in _probes(expected):
        if (
            tokenizer(text, add_special_tokens=False)["input_ids"]
            != expected.encode(text, add_special_tokens=False).ids
        ):
            return text
    return None


def guard_embeddings(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, spec: ModelSpec) -> None:
    """Refuse token ids beyond the embeddings: of the vocabulary at once, of added tokens when a text has them."""
    import torch

    size = model.get_input_embeddings().weight.shape[0]
    beyond = {index: token for token, index in tokenizer.get_vocab().items() if index >= size}
    if not beyond:
        return
    if ordinary := sorted(beyond.keys() - tokenizer.added_tokens_decoder.keys()):
        first = ordinary[0]
        raise ModelError(
            f"{spec}: {len(ordinary):,} tokens of the tokenizer (such as {beyond[first]!r}, id {first:,}) are beyond "
            f"the model's {size:,} embeddings. The tokenizer is probably that of another model"
        )

    def require_known(_: object, inputs: tuple[Any, ...]) -> None:
        ids = inputs[0]
        if ids.is_cuda and torch.cuda.is_current_stream_capturing():
            return
        if ids.numel() and (index := int(ids.max())) >= size:
            raise ModelError(
                f"{spec}: the token {beyond.get(index)!r} (id {index:,}) is beyond the model's {size:,} embeddings. "
                "Take it out of the texts; if it is the BOS token, add -M bos=no"
            )

    for module in model.modules():  # an encoder and a decoder have one each
        if isinstance(module, torch.nn.Embedding) and module.num_embeddings == size:
            module.register_forward_pre_hook(require_known)


def _probes(backend: Tokenizer) -> Iterator[str]:
    yield from PROBES
    size = backend.get_vocab_size()
    words = [backend.decode([index]) for index in range(0, size, max(1, size // VOCABULARY_PROBES))]
    yield " ".join(word for word in words if word.strip())


def _read(location: str, file: Path, spec: ModelSpec, settings: Mapping[str, Any]) -> Any:
    """The tokenizer with everything as its files have it."""
    from transformers import PreTrainedTokenizerFast

    try:
        return PreTrainedTokenizerFast.from_pretrained(location, **settings)
    except Exception as error:  # the reader raises bare exceptions
        raise ModelError(f"{spec}: {file} cannot be read: {error}") from error


def _with_special_tokens(tokenizer: PreTrainedTokenizerBase, rebuilt: PreTrainedTokenizerBase) -> Any:
    """The tokenizer, with the special tokens of the rebuilt one that it has in its vocabulary and does not name."""
    words = tokenizer.get_vocab()
    tokens = rebuilt.special_tokens_map
    names = [name for name, token in tokens.items() if isinstance(token, str) and token in words]
    tokenizer.add_special_tokens({name: tokens[name] for name in names if getattr(tokenizer, name, None) is None})
    return tokenizer


def _require_bounded(file: Path, spec: ModelSpec) -> None:
    """Refuse a tokenizer whose normalizers or decoders could blow up a text."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        growth = max(_growth(content.get(section)) for section in ("normalizer", "decoder"))
    except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise ModelError(f"{spec}: {file} cannot be read: {error}") from None
    if growth > MAX_GROWTH:
        raise ModelError(
            f"{spec}: refused: the normalizers or decoders of {file} can make a text {growth:.0e} times as long"
        )


def _growth(step: object) -> float:
    """A bound of the factor by which a step of a tokenizer lengthens a text."""
    match step:
        case dict() if step.get("type") == "Sequence":
            steps = [*(step.get("normalizers") or ()), *(step.get("decoders") or ())]
            return math.prod(_growth(inner) for inner in steps)
        case {"type": "Replace", "pattern": {"String": str(old)}, "content": str(new)}:
            return max(1.0, len(new) / max(1, len(old)))
        case {"type": "Replace", "content": str(new)}:
            return 1 + len(new)  # a regular expression can match nothing, between any two characters
        case {"type": "Precompiled", "precompiled_charsmap": str(packed)}:
            data = base64.b64decode(packed)
            trie = 4 + int.from_bytes(data[:4], "little")  # then the replacements, each ended by a zero byte
            return max(1, *map(len, data[trie:].split(b"\0")))
    return 1
