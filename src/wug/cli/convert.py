"""`wug convert`: convert test data to another format."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common
from wug.errors import InputError, WugError
from wug.families.commands import FORCE, PATH
from wug.files import refuse_existing


@common.with_options(common.KIND, common.SUITE_OPTIONS, FORCE)
@click.command("convert")
@click.argument("source", type=PATH, metavar="IN")
@click.argument("target", type=PATH, metavar="OUT")
def command(source: Path, target: Path, kind: str | None, suite_options: dict[str, str], force: bool) -> None:
    """Convert test data to another format of its family.

    The suffix of OUT determines the format. Fields that it cannot store are listed on stderr.

    \b
    wug convert suite.json suite.csv
    """
    from wug.evaluation.suites import find_suites, recognised_family

    locations = find_suites(str(source), kind, suite_options).locations
    if len(locations) > 1:
        raise InputError(f"has {len(locations)} suites: convert them one at a time", file=source)
    path = locations[0].path
    family = recognised_family(path, kind or locations[0].family or None, suite_options)
    if family.convert is None:
        raise WugError(f"{family.name} has no other format to convert to")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {str(target.parent)!r}. Make it first, or name another", file=target)
    refuse_existing([target], force=force)
    for notice in family.convert(path, target, suite_options):
        common.notify(f"note: {notice}")
    common.notify(f"wrote {target}")
