"""What the kinds of `wug score` share: which files are judged, and what becomes of the judgements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wug.cli import _common as common

if TYPE_CHECKING:
    from wug.types import Result, Row, Suite


def predictions_option(about: str, *names: str) -> Callable[[common.Function], common.Function]:
    """--predictions, repeatable; `names` are other spellings of it.

    Files without an option before them count as well, so that a shell may write `--predictions run=*.txt`.
    """

    def decorate(function: common.Function) -> common.Function:
        function = click.argument("more", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")(function)
        return click.option(
            "--predictions",
            *names,
            "paths",
            multiple=True,
            required=True,
            type=click.Path(path_type=Path),
            help=f"{about}; repeatable.",
        )(function)

    return decorate


def each_once(paths: Sequence[Path], more: Sequence[Path]) -> list[Path]:
    """All files given, in order; one that is there twice counts once."""
    return list(dict.fromkeys([*paths, *more]))


def model_of(name: str, *paths: Path) -> str:
    """What results call a model of which only files of answers are known."""
    from wug.files import checksum, read_bytes

    return f"file/{name}@{checksum(*(read_bytes(path) for path in paths))}"


def finish(
    judged: Iterable[tuple[Suite, str, Iterable[Row]]],
    *,
    population: bool = False,
    save: bool,
    db: Path | None,
    form: str,
) -> None:
    """Print and keep a result for each suite and model, and the mean where a suite has several."""
    from wug.runs.average import averages

    results: list[Result] = [common.scored(suite, model, {}, rows) for suite, model, rows in judged]
    results += averages(results, population=population)
    common.deliver(results, form, common.keep(results, db) if save else None)
