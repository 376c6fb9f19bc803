"""Backends, one module or package each, and shared code for other packages."""

from wug.models.huggingface.devices import cores, free_threads, gpu_is_shared, pick_device, ran_out, threads
from wug.models.huggingface.hub import hub_is_away
from wug.models.huggingface.in_memory import WatchedModel, adopt
from wug.models.huggingface.loading import backend_for
from wug.models.spec import Identity, ModelSpec, parse
from wug.models.tokenization.words import read_words, words_of, write_words

SHARED = frozenset({"decoding", "huggingface", "spec", "tokenization", "weights"})
"""Shared code. Every other public module or package in this folder is a backend."""

__all__ = [
    "Identity",
    "ModelSpec",
    "WatchedModel",
    "adopt",
    "backend_for",
    "cores",
    "free_threads",
    "gpu_is_shared",
    "hub_is_away",
    "parse",
    "pick_device",
    "ran_out",
    "read_words",
    "threads",
    "words_of",
    "write_words",
]
