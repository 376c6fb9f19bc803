"""`wug demo`: everything once, on material that comes along."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from wug.cli import _common as common

CATEGORIES = ("coord", "agreement", "reflexives")
HELD_OUT = 40
"""Pairs of each pattern that the toy model is tested on; it is trained on other sentences."""


@click.command("demo")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo"),
    show_default=True,
    help="The folder for the model, the test material, the runs and the report.",
)
def command(output: Path) -> None:
    r"""Train a toy model, test it, print what it knows and write a report: in about a minute.

    The model learns from sentences made of templates, so it should know agreement in sentences of that kind,
    and nothing of the garden paths and fillers of the built-in suites, whose words it has never seen.

    \b
    wug demo
    wug demo --output /tmp/demo
    """
    from wug.files import write_text
    from wug.make import templates
    from wug.report.page import Report, render
    from wug.runs.cache import Cache
    from wug.runs.evaluate import ask_through, evaluate
    from wug.runs.opening import open_model, open_suites
    from wug.runs.store import Store, run_key
    from wug.train.toy import train_toy

    examples = {category: templates.generate(category, n=4 * HELD_OUT, seed=1) for category in CATEGORIES}
    tests = {category: [e for e in made if e.item <= HELD_OUT] for category, made in examples.items()}
    tested = {e.good for made in tests.values() for e in made}
    lessons = [e.good for made in examples.values() for e in made if e.good not in tested]

    with common.progress("training a toy model") as tell:
        common.say(f"training a toy model on {len(set(lessons)):,} sentences made of templates")
        folder = train_toy(sorted(set(lessons)), output / "toy-model", progress=tell)
    for category, made in tests.items():
        write_text(output / f"{category}.tab", templates.sentence_focused(made).text)

    model = open_model(f"causal:{folder}", {"device": "cpu"})
    names = [*(str(output / f"{category}.tab") for category in CATEGORIES), "syntaxgym"]
    suites = [suite for name in names for suite in open_suites(name)]
    store = Store(output / "wug.db")
    number = store.begin(run_key([suite.checksum for suite in suites], {}), model.id, common.command_line())
    with common.progress("asking it") as tell:
        asker = ask_through(model, Cache(output / "answers.db"), tell)
        results = list(evaluate(suites, asker))
    for result in results:
        store.add(number, result)
    store.finish(number, "complete")
    run = store.run(number)
    page = output / "report.html"
    write_text(page, render([Report(r, run=number, command=run.command, created=run.started) for r in results]))
    common.deliver(results, "table")
    wug = "wug" if shutil.which("wug") else sys.argv[0]
    click.echo(
        f"\nThe report: {page}\nTry next:\n"
        f"  {wug} show {number} --db {store.path}\n      the same again, with every pattern\n"
        f"  {wug} run wug_agreement_pp --model causal:gpt2\n      a real model, by folder or hub name\n"
        f"  {wug} list suites\n      what else there is to ask"
    )
