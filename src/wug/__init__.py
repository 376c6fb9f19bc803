"""wug: test what a language model knows about language, the way linguists test speakers.

    model = wug.open_model("causal:gpt2")                 or a loaded model of transformers
    model.score("The keys to the cabinet are here.")      log-probabilities, token by token
    wug.surprisal(texts, model)                           a table, one row per word
    results = wug.run(["blimp", "my_suite.json"], [model, "masked:bert-base-cased"], limit=200)
    results.to_pandas(); results.plot(); wug.compare(results); wug.report(results, "page.html")

Types: Model, Table, Results, Comparison, Store, Config, Suite; Request, Scored, Token, Answer; Result, Estimate,
Outcome, Metric; WugError, the root of all errors that are meant for you. docs/python.md describes every name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wug.errors import WugError as WugError
from wug.interfaces import Suite as Suite
from wug.outcomes import Estimate as Estimate
from wug.outcomes import Metric as Metric
from wug.outcomes import Outcome as Outcome
from wug.outcomes import Result as Result
from wug.requests import Answer as Answer
from wug.requests import Request as Request
from wug.requests import Scored as Scored
from wug.requests import Token as Token

if TYPE_CHECKING:
    from wug.api.comparison import Comparison as Comparison
    from wug.api.comparison import compare, report
    from wug.api.models import Model as Model
    from wug.api.models import open_model, surprisal
    from wug.api.reading import Reading as Reading
    from wug.api.reading import reading
    from wug.api.results import Results as Results
    from wug.api.results import Store as Store
    from wug.api.results import import_results, open_store
    from wug.api.running import metric, open_suites, people, read_suite, run
    from wug.configuration import Config as Config
    from wug.configuration import config
    from wug.tables import Table as Table

__version__ = "0.3.0.dev0"

__all__ = [
    "compare",
    "config",
    "import_results",
    "metric",
    "open_model",
    "open_store",
    "open_suites",
    "people",
    "read_suite",
    "reading",
    "report",
    "run",
    "surprisal",
]
"""The functions. The types are in `dir(wug)` too, and would make `help(wug)` very long."""

_TYPES = ("Answer", "Metric", "Estimate", "Outcome", "Request", "Result", "Scored", "Suite", "Token", "WugError")
_LAZY = {
    "api.comparison": ("Comparison", "compare", "report"),
    "api.models": ("Model", "open_model", "surprisal"),
    "api.reading": ("Reading", "reading"),
    "api.results": ("Results", "Store", "import_results", "open_store"),
    "api.running": ("metric", "open_suites", "people", "read_suite", "run"),
    "configuration": ("Config", "config"),
    "tables": ("Table",),
}
"""Names that are imported when they are first used, by module: importing wug is fast."""


def __getattr__(name: str) -> object:
    for module, names in _LAZY.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"wug.{module}"), name)
    if not name.startswith("_"):
        from wug.arguments import require_member

        require_member("wug", name)
    raise AttributeError(f"module 'wug' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_TYPES, *(name for names in _LAZY.values() for name in names)])
