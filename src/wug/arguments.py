"""Calls of the public API: arguments are checked against their annotations, and errors speak Python.

A mistake in a call is an InputError that says what to write. The annotations are those that type checkers see.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from wug.errors import InputError, UnknownMember, WugError, suggestion

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")
Class = TypeVar("Class")

OPTIONAL = " | None"
SETTINGS = (str, numbers.Real, os.PathLike, tuple, list, type(None))


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


ACCEPTED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "int": (_is_whole, "a whole number"),
    "str": (lambda value: isinstance(value, str), "text (a str)"),
    "str | Path": (lambda value: isinstance(value, str | os.PathLike), "a path (a str or Path)"),
    "Mapping[str, Setting]": (lambda value: isinstance(value, Mapping), "a dictionary of options"),
    "Setting": (lambda value: isinstance(value, SETTINGS), "text, a number, True, False or a list of texts"),
    "Callable[[int, int], None]": (callable, "a function that takes two numbers, done and total"),
}
"""Annotations that are checked as they are written, and what may be given. All others are left to the function."""

FLAGS = {
    "--no-cache": "cache=None",
    "--cache": "cache=…",
    "--column": "column=…",
    "--context": "context=…",
    "--model": "model=…",
    "--store": "store=…",
    "--device": "device=…",
    "--kind": "kind=…",
}
"""Flags of the command line that messages name, as Python writes them."""
MINICONS_EQUIVALENTS = {
    "IncrementalLMScorer": 'wug.open_model("causal:NAME", device="cpu")',
    "MaskedLMScorer": 'wug.open_model("masked:NAME", device="cpu")',
    "scorer": 'wug.open_model("causal:NAME", device="cpu")',
    "sequence_score": "[scored.logprob() for scored in model.score(texts)], in nats",
    "token_score": 'wug.surprisal(texts, model, unit="token"), in bits',
    "word_score_tokenized": "wug.surprisal(texts, model), one row per word",
    "conditional_score": "model.score(wug.Request(text, span)), or a suite of choices",
    "partial_score": "model.score(wug.Request(text, span)), where span is the scored part of text",
    "next_word_distribution": "wug.surprisal(texts, model), which has the entropy and the rank of every word",
    "compute_stats": "model.score(texts)",
    "prepare_text": "model.score(texts), which takes texts as they are",
    "logprobs": "model.score(texts)",
    "bos_token": "bos=True or bos=False where the model is opened",
    "reduction": "scored.logprob() for the sum; divide by len(scored.logprobs) for the mean",
    "base_two": "nothing: wug.surprisal is in bits",
    "bow_correction": "boundary=True",
    "PLL_metric": "pll=… where a masked model is opened",
    "batch_size": "nothing: the batch does not change scores, and wug chooses its size",
}
"""Names of other programs (minicons), and what to write instead."""
_NO_FLAGS: Mapping[str, str] = {}
_PAIR = r"'?([a-z_]+)=((?:[^\s,.;:()']|[,.](?=[^\s,.;:()']))+)'?"
_SCORING, _MODEL = re.compile(rf"-S {_PAIR}(?: -S {_PAIR})*"), re.compile(f"-M {_PAIR}")


def checked(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """The function, with an InputError for a call that does not fit its signature."""

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        _check(function, args, kwargs)
        return function(*args, **kwargs)

    return call


def public(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """The same for a function that only Python calls: errors name options as Python writes them."""
    return public_with({})(function)


def public_with(
    flags: Mapping[str, str],
) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """`public` for a function whose errors name further `flags`, given with their form in Python."""

    def decorate(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
        function = checked(function)

        @functools.wraps(function)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
            try:
                return function(*args, **kwargs)
            except WugError as error:
                error.args = (in_python(str(error), flags), *error.args[1:])
                raise

        return call

    return decorate


def members(wrap: Callable[[Any], Any]) -> Callable[[type[Class]], type[Class]]:
    """A decorator that wraps every public method of a class."""

    def decorate(kind: type[Class]) -> type[Class]:
        for name, value in list(vars(kind).items()):
            if inspect.isfunction(value) and not name.startswith("_"):
                setattr(kind, name, wrap(value))
        return kind

    return decorate


def instead_of(name: str) -> str:
    """What to write for a name of another program, for the end of a message; empty for other names."""
    return f" In wug, write {MINICONS_EQUIVALENTS[name]}" if name in MINICONS_EQUIVALENTS else ""


def require_member(of: str, name: str) -> None:
    """UnknownMember if an attribute that does not exist is a name of another program."""
    if name in MINICONS_EQUIVALENTS:
        raise UnknownMember(f"{of} has no {name}.{instead_of(name)}")


def in_python(message: str, flags: Mapping[str, str] = _NO_FLAGS) -> str:
    """A message in which options of the command line (`-S lines=good-bad`) are those of Python."""
    if (unknown := re.match(r"unknown option '(\w+)'", message)) and unknown[1] in MINICONS_EQUIVALENTS:
        return f"{unknown[0]}.{instead_of(unknown[1])}"
    message = _SCORING.sub(_as_options, message)
    message = _MODEL.sub(r'\1="\2"', message)
    message = message.replace("-S ", "").replace("-M ", "")
    message = re.sub(r"(?<![\w-])--kind (\w+)", r'kind="\1"', message)
    for flag, spelled in {**FLAGS, **flags}.items():
        message = re.sub(rf"(?<![\w-]){flag}(?![\w-])", spelled, message)
    return message


def _as_options(match: re.Match[str]) -> str:
    pairs = (f'"{name}": "{value}"' for name, value in re.findall(f"-S {_PAIR}", match[0]))
    return f"options={{{', '.join(pairs)}}}"


@functools.cache
def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _check(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """InputError for the first argument that is unknown, missing, repeated or of another type."""
    parameters = _parameters(function)
    is_method = "self" in parameters and args
    name = f"{type(args[0]).__name__}.{function.__name__}" if is_method else f"wug.{function.__qualname__}"
    kinds = {parameter.kind for parameter in parameters.values()}
    positional = [key for key, declared in parameters.items() if declared.kind is declared.POSITIONAL_OR_KEYWORD]
    shown = [key for key in parameters if key != "self"]
    for key in kwargs:
        if key not in parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise InputError(f"{name}() has no parameter {key!r}.{instead_of(key) or suggestion(key, shown)}")
        if key in positional[: len(args)]:
            raise InputError(f"{name}() got {key} twice: by position and by name")
    if len(args) > len(positional) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        allowed = ", ".join(key for key in positional if key != "self") or "none"
        named = [key for key in shown if key not in positional]
        more = f". Write the others by name, such as {named[0]}=…" if named else ""
        raise InputError(f"{name}() got too many positional arguments; it takes {allowed}{more}")
    passed = dict(zip(positional, args, strict=False)) | dict(kwargs)
    for key, declared in parameters.items():
        if declared.kind is declared.VAR_POSITIONAL:
            for value in args[len(positional) :]:
                _check_value(key, value, declared.annotation)
        elif declared.kind is declared.VAR_KEYWORD:
            for other in kwargs.keys() - parameters.keys():
                _check_value(other, kwargs[other], declared.annotation)
        elif key in passed:
            _check_value(key, passed[key], declared.annotation)
        elif declared.default is declared.empty:
            raise InputError(f"{name}() needs {key}: {name}({', '.join(positional[positional[0] == 'self' :])})")


def _check_value(name: str, value: object, annotation: Any) -> None:
    written = str(annotation)
    optional = written.endswith(OPTIONAL)
    accepts, wanted = ACCEPTED.get(written.removesuffix(OPTIONAL), (None, ""))
    if accepts is None or (optional and value is None) or accepts(value):
        return
    shown = repr(value) if len(repr(value)) < 60 else f"a {type(value).__name__}"
    raise InputError(f"{name}={shown}: write {wanted}{', or None' if optional else ''}")
