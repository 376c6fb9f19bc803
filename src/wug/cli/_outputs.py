"""Files that commands write: where they may stand, and what their names ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

SUFFIXES = {".json": "json", ".csv": "csv", ".tsv": "tsv", ".md": "md", ".tex": "latex"}
"""How the name of a file with results ends, and the format that it has."""


class OutputFile(click.Path):
    """A file to write, in a folder that is there."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, or a usage error where nothing could be written there."""
        path: Path = super().convert(value, param, ctx)  # type: ignore[assignment]
        folder = path.parent
        if not folder.is_dir():
            self.fail(f"{str(path)!r}: there is no folder {str(folder)!r}. Make it first, or name another", param, ctx)
        return path


OUTPUT_FILE = OutputFile()


def in_a_folder(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """The callback of a file that wug keeps: where the command itself names one, its folder is there."""
    given = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
    return OUTPUT_FILE.convert(value, param, ctx) if given and value is not None else value


def agreed(form: str | None, output: Path | None, known: Mapping[str, str]) -> str | None:
    """The format that the user names, or else that of the file's suffix; an error where the two differ."""
    from wug.errors import InputError

    if output is None or form is None:
        return form if output is None else format_of(output, known)
    named = known.get(output.suffix.lower())
    if named is not None and named != form:
        raise InputError(f"its suffix stands for {named}, and {form} is asked for: change one of them", file=output)
    return form


def format_of(path: Path, known: Mapping[str, str]) -> str:
    """The format that the name of a file asks for, or an error that lists those that there are."""
    from wug.errors import InputError, suggestion

    suffix = path.suffix.lower()
    if suffix not in known:
        what = f"cannot be written as {suffix}" if suffix else "its name has no suffix"
        near = suggestion(suffix, known) if suffix else ""
        raise InputError(f"{what}: use {' '.join(known).strip()}.{near if 'Did you' in near else ''}", file=path)
    return known[suffix]
