"""wug: test what a language model knows about language, the way linguists test speakers.

    model = wug.open_model("causal:gpt2")                 or a model of transformers that is loaded already
    model.score("The keys to the cabinet are here.")      log-probabilities, token by token
    wug.surprisal(texts, model)                           a table, one row per word
    results = wug.run(["blimp", "my_suite.json"], [model, "masked:bert-base-cased"], limit=200)
    results.to_pandas(); results.plot(); wug.compare(results); wug.report(results, "page.html")

Types: Model, Table, Results, Comparison, Store, Suite; Request, Scored, Token, Answer; Result, Estimate, Outcome,
Check; WugError, the root of all errors that are meant for you. docs/python.md describes every name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wug.arguments import public
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
    from wug.api.model import AnyModel
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


@public
def open_model(
    model: AnyModel,
    tokenizer: Callable[..., object] | None = None,
    *,
    options: Mapping[str, Setting] | None = None,
    **more: Setting,
) -> Model:
    """Open a model by name (`causal:gpt2`, a folder), or one that transformers has loaded, with its tokenizer.

    Options of the model are keywords, such as `dtype="bfloat16"`, or a dictionary `options`. A loaded model that
    equals its files has the id that its folder has.
    """
    from wug.api.model import model_of
    from wug.api.settings import as_text

    return model_of(model, tokenizer, as_text(options, more))


@public
def open_suites(
    names: str | Path | Suite | Iterable[str | Path | Suite],
    options: Mapping[str, Setting] | None = None,
    *,
    kind: str | None = None,
    **more: Setting,
) -> list[Suite]:
    """Open the suites of files, folders, built-in or published names.

    Scoring options are keywords, such as `metric="mean"`, or a dictionary `options`. `kind`: the family, if the content
    does not tell.
    """
    from wug.api.running import suites_of
    from wug.api.settings import as_text

    return suites_of(names, as_text(options, more), kind)


@public
def read_suite(
    source: str | Path | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    name: str = "suite",
    *,
    options: Mapping[str, Setting] | None = None,
    kind: str | None = None,
    **more: Setting,
) -> Suite:
    """Read a suite from a dictionary, a list of dictionaries (one row per pair), a file, or the text of one.

    `name` is for a suite that does not say its own. Options as in `open_suites`.
    """
    from wug.api.settings import as_text
    from wug.evaluation import inline_suites as suite_texts

    return suite_texts.read_suite(source, as_text(options, more), name=name, kind=kind)


@public
def surprisal(
    texts: str | Path | Iterable[str] | Iterable[Sequence[str]] | Iterable[Path] | None = None,
    model: AnyModel | Iterable[AnyModel] | None = None,
    unit: Unit = "word",
    *,
    text: str | Iterable[str] | None = None,
    words: Words = "space",
    context: Context | None = None,
    boundary: bool = False,
    entropy: bool = True,
    window: int | None = None,
    stride: int | None = None,
    window_bos: bool = True,
    column: str | None = None,
    sources: Iterable[str] | None = None,
    cache: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Table:
    """Compute the surprisal of each word of some texts, in bits: a table with one row per word and model.

    Args:
        texts: One text, several, lists of words or regions, or files as `Path`. A str that names a file is refused.
        model: One model or a list; the built-in wug-causal by default. The column `model` has their ids.
        unit: What has a row: "word", "token", "sentence" or "regions".
        text: Texts whose characters are scored even if a file has that name.
        words: Words are separated by "space", by the "tokenizer", or "given" as lists.
        context: Of a word: the "text" before it or only its "sentence". By default the sentence for models that were
            trained on single sentences, such as the built-in ones, and the text for others.
        boundary: Add the column `surprisal_boundary`, which counts the end of a word with that word.
        entropy: Add the columns `entropy` and `rank`.
        window: Tokens per window, for texts that are longer than the model's context; by default that context.
        stride: Tokens from one window to the next; by default half a window.
        window_bos: Whether each window begins with a BOS token, or only the text (causal models).
        column: The column with the texts, for files that are tables.
        sources: One source per text, for an encoder–decoder opened with score="source".
        cache: A file that keeps model outputs, so that the same call is not computed again.
        progress: Called with the numbers of requests done and in total.
    """
    from wug.api import surprisals

    return surprisals.surprisal(
        surprisals.given(texts, text),
        model,
        cache,
        unit=unit,
        words=words,
        context=context,
        boundary=boundary,
        entropy=entropy,
        window=window,
        stride=stride,
        window_bos=window_bos,
        column=column,
        sources=sources,
        progress=progress,
    )


@public
def run(
    suites: str | Path | Suite | Iterable[str | Path | Suite],
    models: AnyModel | Iterable[AnyModel] | None = None,
    *,
    limit: int | None = None,
    store: str | Path | Store | None = None,
    cache: str | Path | None = None,
    options: Mapping[str, Setting] | None = None,
    kind: str | None = None,
    interval: Method = "wilson",
    progress: Callable[[int, int], None] | None = None,
) -> Results:
    """Evaluate each model on each suite.

    Args:
        suites: One suite or several: names, paths, or suites that are open.
        models: One model or several; by default the built-in one that fits. Patterns and lists
            (`causal:NAME@step*`, `causal:runs/*/checkpoint-*`, `@models.txt`) are a sweep, in which a model that
            fails is a warning.
        limit: Items of each suite, at most.
        store: A file that keeps the run, for `wug view` and `open_store`.
        cache: A file that keeps model outputs, so that a run resumes.
        options: Scoring options, for suites given by name or path.
        kind: The family, if the content does not tell.
        interval: The method for intervals of proportions: "wilson" or "clopper-pearson".
        progress: Called with the numbers of requests done and in total.
    """
    from wug.api import running
    from wug.api.settings import as_text

    return running.run(
        suites,
        models,
        limit=limit,
        store=store,
        cache=cache,
        options=as_text(options),
        kind=kind,
        interval=interval,
        progress=progress,
    )


@public
def compare(
    *results: Result | Iterable[Result],
    by: str | Callable[[Result], str] = "model",
    suites: str | Sequence[str] = (),
    checks: str | Sequence[str] = (),
    all_pairs: bool = False,
    pool: bool = False,
    items: int = 0,
) -> Comparison:
    """Compare each side with the first on the items that they share, with intervals and p-values.

    `by` tells the sides apart: the model, a field of the signature such as "bos", or a function that names the side of
    a result. `suites`, `checks`: only these, `*` for anything. `items`: list this many items that differ.
    """
    from wug.api import comparison

    return comparison.compare(results, by, suites, checks, all_pairs=all_pairs, pool=pool, items=items)


@public
def report(results: Result | Iterable[Result], path: str | Path, *, comparison: Comparison | None = None) -> None:
    """Write results as one HTML page (.html) that opens offline; several models are compared in it."""
    from wug.api import reporting

    reporting.report(results, path, comparison)


@public
def open_store(path: str | Path | None = None) -> Store:
    """Open a file of runs, by default that of the command line: `.runs()` lists them, `.results(7)` are a run's."""
    from wug.api import stores

    return stores.open_store(path)


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'wug' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"wug.{_LATE[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_TYPES, *_LATE])
