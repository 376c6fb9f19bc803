"""Backends, one module or package each, and shared code for other packages."""

from wug.models.spec import Identity as Identity
from wug.models.spec import ModelSpec as ModelSpec

SHARED = frozenset({"decoding", "hardware", "huggingface", "spec", "tokenization", "weights"})
"""Shared code. Every other public module or package in this folder is a backend."""
