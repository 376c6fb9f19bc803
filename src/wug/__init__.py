"""wug: test what a language model knows about language, the way linguists test speakers.

    model = wug.open_model("causal:gpt2")                 or a model of transformers that is loaded already
    model.score("The keys to the cabinet are here.")      log-probabilities, token by token
    wug.surprisal(texts, model)                           a table, one row a word
    results = wug.run(["blimp", "my_suite.json"], [model, "masked:bert-base-cased"], limit=200)
    results.to_pandas(); results.plot(); wug.compare(results); wug.report(results, "page.html")

Types: Model, Table, Results, Comparison, Store, Suite; Request, Scored, Token, Answer; Result, Estimate, Outcome,
Check; WugError, the root of all errors that are meant for you. docs/python.md describes every name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from wug.errors import WugError as WugError
from wug.types import Answer as Answer
from wug.types import Check as Check
from wug.types import Estimate as Estimate
from wug.types import Outcome as Outcome
from wug.types import Request as Request
from wug.types import Result as Result
from wug.types import Scored as Scored
from wug.types import Suite as Suite
from wug.types import Token as Token

if TYPE_CHECKING:
    from wug.api.comparison import Comparison as Comparison
    from wug.api.model import Model as Model
    from wug.api.results import Results as Results
    from wug.api.settings import Setting
    from wug.api.stores import Store as Store
    from wug.stats import Method
    from wug.tables import Table as Table
    from wug.texts.surprisals import Context, Unit, Words

__version__ = "0.2.0"

__all__ = ["compare", "open_model", "open_store", "open_suites", "read_suite", "report", "run", "surprisal"]
"""The functions; the types beside them are in `dir(wug)` too, and would make `help(wug)` a book."""

_TYPES = ("Answer", "Check", "Estimate", "Outcome", "Request", "Result", "Scored", "Suite", "Token", "WugError")
_LATE = {"Comparison": "api.comparison", "Model": "api.model", "Results": "api.results", "Store": "api.stores"}
_LATE |= {"Table": "tables"}
"""Types that are imported when they are first asked for."""


@overload
def open_model(model: str | Path | Model, options: Mapping[str, Setting] | None = None, **more: Setting) -> Model: ...
@overload
def open_model(
    model: object, options: Mapping[str, Setting] | None = None, *, tokenizer: object = None, **more: Setting
) -> Model: ...
def open_model(
    model: object, options: Mapping[str, Setting] | None = None, *, tokenizer: object = None, **more: Setting
) -> Model:
    """The model that a name stands for (`causal:gpt2`, a folder), or one that transformers loaded, with its tokenizer.

    Options are keywords, as `dtype="bfloat16"`. A loaded model is known as the same model is by its folder.
    """
    from wug.api.model import model_of
    from wug.api.settings import as_text

    return model_of(model, tokenizer, as_text(options, more))


def open_suites(
    names: str | Path | Iterable[str | Path],
    options: Mapping[str, Setting] | None = None,
    *,
    kind: str | None = None,
    **more: Setting,
) -> list[Suite]:
    """The suites of files, folders, built-in or published names; `kind`: the family, where content does not tell."""
    from wug.api.running import suites_of
    from wug.api.settings import as_text

    return suites_of(_list(names), as_text(options, more), kind)


def read_suite(
    source: str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    options: Mapping[str, Setting] | None = None,
    *,
    name: str = "suite",
    kind: str | None = None,
    **more: Setting,
) -> Suite:
    """The suite in a dictionary, a list of dictionaries (a row a pair), a file, or text; `name`, where it has none."""
    from wug.api.settings import as_text
    from wug.runs import suite_texts

    return suite_texts.read_suite(source, as_text(options, more), name=name, kind=kind)


def surprisal(
    texts: str | Path | Iterable[str] | Iterable[Sequence[str]],
    model: object,
    unit: Unit = "word",
    *,
    words: Words = "space",
    context: Context = "text",
    boundary: bool = False,
    entropy: bool = True,
    window: int | None = None,
    stride: int | None = None,
    sources: Iterable[str] | None = None,
    cache: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """The surprisal of each word of some texts, in bits: a table, one row a word.

    `texts`: one, several, lists of words or regions, or the path of a file. `unit`: "word", "token", "sentence" or
    "regions". `words`: parted by "space", by the "tokenizer", or "given". `context` of a word: the "text" before
    it, or its "sentence". `boundary`: its end counted with it, in a column more. `window`, `stride`: tokens, for
    long texts. `sources`: what an encoder–decoder reads before each text, one opened with score="source".
    """
    from wug.api import surprisals

    manner = {"words": words, "context": context, "boundary": boundary, "entropy": entropy, "sources": sources}
    return surprisals.surprisal(texts, model, unit, cache, progress=progress, window=window, stride=stride, **manner)


def run(
    suites: str | Path | Suite | Iterable[str | Path | Suite],
    models: object = None,
    *,
    limit: int | None = None,
    store: str | Path | Store | None = None,
    cache: str | Path | None = None,
    options: Mapping[str, Setting] | None = None,
    kind: str | None = None,
    interval: Method = "wilson",
    progress: Callable[[int, int], None] | None = None,
) -> Results:
    """A result for each suite and model; both may be names, paths, what is open already, or lists of these.

    Without models the built-in one that fits is asked. Patterns and lists (`causal:NAME@step*`,
    `causal:runs/*/checkpoint-*`, `@models.txt`) are a sweep, in which a model that fails is a warning. `limit`: so
    many items of each suite. `store`: a file that keeps the run, for `wug view` and `open_store`. `cache`: one that
    keeps answers, so that a run resumes. `options`: of scoring. `progress` is told how many of how many are done.
    """
    from wug.api import running
    from wug.api.settings import as_text

    return running.run(
        _list(suites),
        None if models is None else _list(models),
        limit=limit,
        store=store,
        cache=cache,
        options=as_text(options),
        kind=kind,
        interval=interval,
        progress=progress,
    )


def compare(
    results: Iterable[Result],
    by: str | Callable[[Result], str] = "model",
    *,
    suites: Sequence[str] = (),
    checks: Sequence[str] = (),
    all_pairs: bool = False,
    pool: bool = False,
    items: int = 0,
) -> Comparison:
    """Each side's difference from the first on the items that they share, with intervals and p-values.

    `by`: the model, a field of the signature such as "bos", or a function that names the side of a result.
    `suites`, `checks`: only these, `*` for anything. `items`: so many items that differ, with each difference.
    """
    from wug.api import comparison
    from wug.runs.compare import Choice

    return comparison.compare(results, by, Choice(suites, checks, all_pairs, pool, items))


def report(results: Iterable[Result], path: str | Path, *, comparison: Comparison | None = None) -> None:
    """Write results as one HTML page that opens anywhere, without a network; several models are compared in it."""
    from wug.api import reporting

    reporting.report(list(results), path, comparison)


def open_store(path: str | Path | None = None) -> Store:
    """A file of runs: `.runs()` lists them, `.results(7)` gives a run's; by default the one of the command line."""
    from wug.api import stores

    return stores.open_store(path)


def _list(given: Any) -> list[Any]:
    """What is given, one or several."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, (str, Path, Suite)) else [given]


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'wug' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"wug.{_LATE[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_TYPES, *_LATE])
