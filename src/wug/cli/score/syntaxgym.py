"""`wug score syntaxgym`: judge region surprisals that were computed elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common


@click.command("syntaxgym")
@click.option(
    "--predictions",
    "paths",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    help="An evaluated suite (metric_value in each region); repeatable.",
)
@click.option(
    "--gold", type=click.Path(path_type=Path), help="The suite with the predictions, where the evaluated one has none."
)
@click.option("--metric", help="Judge by this metric only: sum, mean, median, range, max, min.")
@common.save_option
@common.db_option
@common.format_option
def command(
    paths: tuple[Path, ...], gold: Path | None, metric: str | None, save: bool, db: Path | None, form: str
) -> None:
    """Judge evaluated suites: region values from a file, predictions judged here.

    \b
    wug score syntaxgym --predictions evaluated_suite.json
    wug score syntaxgym --predictions out_grnn.json --gold suite.json --metric mean --format tsv
    """
    from wug.families.syntaxgym import read_evaluated
    from wug.files import checksum, read_bytes

    results = []
    for path in paths:
        found = read_evaluated(path, gold, metric)
        model = f"file/{found.model or path.name}@{checksum(read_bytes(path))}"
        results.append(common.scored(found.suite, model, {}, found.rows()))
    common.deliver(results, form, common.keep(results, db) if save else None)
