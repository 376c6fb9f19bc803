"""Backends, a module or a package each, and what other packages need of what they share."""

from wug.models._config import backend_for, read_config
from wug.models._hardware import cores, free_threads, gpu_is_shared, pick_device, ran_out, threads
from wug.models._hub import hub_is_away
from wug.models._in_memory import Watched, adopt
from wug.models._spec import Identity, ModelSpec, parse
from wug.models._words import read_words, words_of, write_words

SHARED = frozenset({"decoding"})
"""Sub-packages that backends share; every other public module or package here is a backend."""

__all__ = [
    "Identity",
    "ModelSpec",
    "Watched",
    "adopt",
    "backend_for",
    "cores",
    "free_threads",
    "gpu_is_shared",
    "hub_is_away",
    "parse",
    "pick_device",
    "ran_out",
    "read_config",
    "read_words",
    "threads",
    "words_of",
    "write_words",
]
