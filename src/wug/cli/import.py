"""`wug import`: results of other evaluation programs as runs."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.errors import InputError, UnknownName
from wug.files import user_path
from wug.formatting import plural


@common.with_options(common.STORE, common.SUMMARY, common.BY, common.FORMAT)
@click.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--from", "source", metavar="FORMAT", help="Format of the files.  [default: recognised by content]")
@click.option(
    "--model", metavar="NAME", help="Name of the model, such as gpt2 or gpt2@step1000.  [default: in the files]"
)
@click.option("--sweep", metavar="NAME", help="Store the runs as one sweep of this name.")
def command(
    files: tuple[Path, ...],
    source: str | None,
    model: str | None,
    sweep: str | None,
    store_path: Path,
    summary: bool,
    by: tuple[str, ...],
    format: str,
) -> None:
    """Import results of other evaluation programs as runs.

    FILE is a file or a folder, plain or gzipped: results and samples of lm-eval, Every Eval Ever, logs of inspect,
    predictions for BabyLM, and the published tables of SyntaxGym. Each model and checkpoint becomes one run.

    \b
    wug import results/                               results and samples of lm-eval
    wug import evals/pythia-v0 --sweep pythia-v0      learning curves
    wug import log.json --from inspect --model gpt-4o-mini
    """
    from wug.cli.show import show_sweep
    from wug.exchange.importing import import_files
    from wug.results.store import Store

    options = common.ResultOptions(summary=summary, by=by, format=format)
    store = Store(store_path)
    paths, command_line = [user_path(file) for file in files], common.command_line()
    imports = import_files(paths, store, format=source, model=model, sweep=sweep, command=command_line)
    for notice in dict.fromkeys(stored_import.notice for stored_import in imports if stored_import.notice):
        printing.print_message(notice)
    if sweep is not None and format == "table" and not summary:
        try:
            show_sweep(store, f"sweep:{sweep}", format, by=by)
        except (InputError, UnknownName) as error:  # the runs are stored
            printing.print_message(f"--by: {error}", "warning")
        by_field = common.suggested_command("show", f"sweep:{sweep}", "--by", "FIELD")
        common.notify(f"{plural(len(imports), 'run')} saved · {by_field} · {common.suggested_command('view')}")
        return
    hint = common.next_steps({str(stored_import.number): stored_import.number for stored_import in imports})
    common.deliver_runs(
        [(stored_import.results[0].model, stored_import.number, stored_import.results) for stored_import in imports],
        options,
        hint,
    )
