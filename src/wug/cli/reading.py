"""`wug reading`: how well surprisal predicts reading times."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.errors import InputError
from wug.families.commands import FILE, FOLDER, OUTPUT_FILE
from wug.families.reading.settings import OPTIONS
from wug.files import user_path
from wug.labels import short_names
from wug.options import Option, written
from wug.tables import render_table
from wug.views.writers.table import align_columns

if TYPE_CHECKING:
    from wug.api.reading import Reading, ReadingRequest
    from wug.evaluation.cache import Cache

REPLACED = ("predictors", "use")
"""Options of the family that the command has in another form."""
REPEATABLE = ("measure", "where")


def _option(option: Option) -> click.Option:
    name, choices = f"--{option.name.replace('_', '-')}", isinstance(option.type, tuple) and not option.many
    text, _, default = option.help.partition("  ")
    default = default if default.startswith("[") else ""
    default_note = default or (
        f"[default: {written(option.default)}]" if option.default not in (None, (), "", False) else ""
    )
    help = f"{text[0].upper()}{text[1:]}{'; repeatable' if option.name in REPEATABLE else ''}.  {default_note}".rstrip()
    if option.type is bool:
        return click.Option([name], is_flag=True, default=None, help=help)
    kind = click.Choice(option.type) if choices and isinstance(option.type, tuple) else str
    return click.Option([name], type=kind, multiple=option.name in REPEATABLE, help=help, metavar=_metavar(option))


def _metavar(option: Option) -> str | None:
    metavars = {"baseline": "TERMS", "where": "CONDITION", "exclude": "KINDS", "split": "HOW", "frequency": "SOURCE"}
    if option.name in metavars:
        return metavars[option.name]
    if isinstance(option.type, tuple):
        return None
    return "N" if option.type is int else "COLUMN"


def _family_options(command: click.Command) -> click.Command:
    command.params[1:1] = [_option(option) for option in OPTIONS if option.name not in REPLACED]
    return command


@common.with_options(
    common.DEVICE, common.MODEL_OPTIONS, common.CACHE, common.NO_CACHE, common.SAVE, common.STORE, common.TABLE_FORMAT
)
@_family_options
@click.command("reading")
@click.argument("tables", nargs=-1, required=True, metavar="TABLE")
@click.option("--predictors", multiple=True, metavar="[NAME=]TERMS", help="Terms to add to the baseline; repeatable.")
@click.option("--model", "models", multiple=True, help="A model that gives the words' surprisal; repeatable.")
@click.option(
    "--use",
    "uses",
    multiple=True,
    metavar="COLUMNS",
    help="surprisal, surprisal_boundary, entropy, or several joined by +; repeatable.  [default: surprisal]",
)
@click.option("--surprisals", type=FILE, help="A table of surprisals, joined by text and position.")
@click.option("--allow-mismatch", is_flag=True, help="Leave out words that differ from those of --surprisals.")
@click.option("--words", "words_file", type=OUTPUT_FILE, help="Write per-word log-likelihoods to a file.")
@click.option("--r", "r_folder", type=FOLDER, help="Write data and an R script (lm, lmer, gam) to a folder.")
@click.option("--plot", type=OUTPUT_FILE, help="Write the figure of ΔLL: .svg, .pdf, .png, .html or .json.")
def command(tables: tuple[str, ...], **options: Any) -> None:
    """Test how well surprisal predicts reading times.

    TABLE has one row per word, or per participant and word. Two regressions are fitted: the baseline, and the baseline
    with the predictors. ΔLL is the gain in log-likelihood per row on test folds.

    \b
    wug reading spr.csv --model wug-causal --word word --text story --position zone --measure rt --baseline length
    wug reading eye.csv --measure gaze --baseline "freq + len" --predictors surp --split none
    wug reading spr.csv --surprisals words.csv --measure rt --word word --text story --position zone
    """
    from wug.api.reading import run_reading
    from wug.evaluation.service import opened_cache

    if len(tables) > 1:
        raise click.UsageError("name one table; join the files first")
    path, columns = _source(tables[0])
    if options["plot"] is not None:
        from wug.views import chart_files

        chart_files.require(options["plot"])
    with (
        opened_cache(None if options["no_cache"] else options["cache"]) as cache,
        common.progress("scoring texts") as report,
    ):
        reading = run_reading(_request(path, columns, options, cache, report))
    _write_files(reading, options)
    hint = common.store_runs(reading.results, options["store_path"]) if options["save"] else None
    match options["format"]:
        case "json":
            printing.print_data(_as_json(reading))
        case "table":
            for line in _lines(reading):
                printing.print_text(line)
            if hint:
                common.notify(hint)
        case format:
            common.deliver(reading.results, common.ResultOptions(format=format))


def _request(
    path: Path,
    columns: Mapping[str, str],
    options: dict[str, Any],
    cache: Cache | None,
    report: Callable[[int, int], None],
) -> ReadingRequest:
    from wug.api.reading import ReadingRequest
    from wug.families.reading.settings import settings

    names = [option.name for option in OPTIONS if option.name not in (*REPLACED, *REPEATABLE)]
    values = {name: written(options[name]) for name in names if options[name] is not None}
    if not options["measure"] and "measure" not in columns:
        raise click.UsageError("name the column with the reading times: --measure COLUMN")
    try:
        reading_settings = settings({**columns, **values}, options["measure"], options["where"])
    except InputError as error:
        raise click.UsageError(str(error)) from None
    if options["models"] and (reading_settings.word is None or reading_settings.position is None):
        raise click.UsageError("--model needs --word, --text and --position")
    if not (options["predictors"] or options["models"] or options["surprisals"]):
        raise click.UsageError("name predictors: --predictors TERMS, --model MODEL or --surprisals FILE")
    return ReadingRequest(
        table=path,
        settings=reading_settings,
        predictors=options["predictors"],
        models=list(common.open_models(options["models"], options["model_options"], options["device"])),
        uses=options["uses"] or ("surprisal",),
        surprisals=options["surprisals"],
        allow_mismatch=options["allow_mismatch"],
        cache=cache,
        progress=report,
    )


def _source(table: str) -> tuple[Path, Mapping[str, str]]:
    """The file of a path or of a published set, and what the catalogue says about its columns."""
    from wug.evaluation.suites import find_suites

    path = user_path(table)
    if path.is_file():
        return path, {}
    if path.is_dir():
        raise InputError("is a folder. Name the table itself", file=table)
    if path.suffix or path.parent.name:
        raise InputError("no such file", file=table)
    (location, *further_locations) = find_suites(table).locations
    if further_locations or not location.path.is_file() or not location.options.get("measure"):
        raise InputError("not one table of reading times. Name the file itself", file=table)
    return location.path, {name: value for name, value in location.options.items() if name != "language"}


def _write_files(reading: Reading, options: dict[str, Any]) -> None:
    paths: list[Path] = []
    if options["words_file"] is not None:
        reading.words.write(options["words_file"])
        paths.append(options["words_file"])
    if options["r_folder"] is not None:
        paths += reading.to_r(options["r_folder"])
    if options["plot"] is not None:
        from wug.views import chart_files

        chart_files.save(reading.plot(), options["plot"])
        paths.append(options["plot"])
    for path in paths:
        common.notify(f"wrote {path}")


def _as_json(reading: Reading) -> str:
    """The results as `wug run` prints them, with `p` in the estimates of ΔLL."""
    from wug.views.result_tables import estimate_table

    results = json.loads(render_table(estimate_table(reading.results, "json"), "json"))
    for result in results:
        p = {estimate["group"]: estimate["value"] for estimate in result["estimates"] if estimate["metric"] == "p"}
        result["estimates"] = [estimate for estimate in result["estimates"] if estimate["metric"] != "p"]
        for estimate in result["estimates"]:
            if estimate["metric"] == "delta_ll":
                estimate["p"] = p.get(estimate["group"])
    return json.dumps(results, ensure_ascii=False, indent=2)


def _lines(reading: Reading) -> Iterator[str]:
    from wug.families.reading.view import LEAST_SQUARES

    names = short_names(result.model for result in reading.results)
    yield from align_columns(list(reading.summary(names)), "llrrrrrr")
    if lags := list(reading.lag_summary(names)):
        yield from ("", *align_columns(lags, "llllrrrr"))
        yield f"  {LEAST_SQUARES}"
    models_by_warning: dict[str, list[str]] = {}
    for result in reading.results:
        for text in result.warnings:
            models_by_warning.setdefault(text, []).append(names[result.model])
    for text, models in models_by_warning.items():
        yield f"  {text}" if len(models) == len(names) else f"  {', '.join(models)}: {text}"
    yield from (str(result.signature) for result in reading.results)
