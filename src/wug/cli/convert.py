"""`wug convert`: the same material in another format."""

from __future__ import annotations

from pathlib import Path

import click

from wug.cli import _common as common


@click.command("convert")
@click.argument("source", type=click.Path(path_type=Path), metavar="IN")
@click.argument("target", type=click.Path(path_type=Path), metavar="OUT")
@click.option("--kind", help="The family, where the content does not tell.")
@click.option(
    "-S",
    "options",
    multiple=True,
    callback=common.pairs,
    metavar="KEY=VALUE",
    help="An option of the format.",
)
@click.option("--force", is_flag=True, help="Write over a file that exists.")
def command(source: Path, target: Path, kind: str | None, options: dict[str, str], force: bool) -> None:
    """Write test material in another format of its family.

    The name of OUT says which. What the other format cannot hold is said on stderr.

    \b
    wug convert suite.json suite.csv
    """
    from wug import registry
    from wug.errors import InputError, WugError
    from wug.evaluation.opening import family_of, located

    places = located(str(source), kind, options).places
    if len(places) > 1:
        raise InputError(f"holds {len(places)} suites: convert them one by one", file=source)
    path = places[0].path
    family = family_of(path, kind or places[0].family or None, options)
    module = registry.find("families", family)
    if "convert" not in vars(module):
        raise WugError(f"{family} material has no other format to convert to")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {str(target.parent)!r}. Make it first, or name another", file=target)
    common.refuse_existing([target], force)
    for notice in module.convert(path, target, options):
        common.say(f"note: {notice}")
    common.say(f"wrote {target}")
