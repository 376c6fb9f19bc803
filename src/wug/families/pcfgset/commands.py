"""Commands that score predictions on PCFG SET; `make_commands` has those that make it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from wug.families import commands as family
from wug.families.pcfgset.make_commands import MAKE as MAKE


def score_plain(paths: Sequence[Path], *, gold: tuple[Path, Path] | None) -> family.ScoredSuites:
    """Score outputs on the task itself, systematicity, productivity, or any set with one target per source.

    Plain outputs are one per line, or the H- lines of fairseq. With several runs of a test, the mean and the population
    standard deviation are reported too (as in Hupkes et al.).

    \b
    wug score pcfgset --predictions run=1.txt
    wug score pcfgset --predictions systematicity/run=*.txt.gz --format json
    wug score pcfgset --gold test.src test.tgt --predictions answers.txt
    """
    from wug.families.pcfgset import suite

    return family.each_scored(paths, lambda path: suite.score_plain(path, gold))


def score_steps(paths: Sequence[Path], *, trees: Sequence[int]) -> family.ScoredSuites | str:
    """Score whether direct and stepwise outputs match.

    With several runs, the mean and the population standard deviation are reported too. --tree shows the output of each
    step of a sample, and where it first goes wrong.

    \b
    wug score localism --predictions trace.txt
    wug score localism --predictions trace.txt --tree 1
    """
    from wug.families.pcfgset.localism import score_trace

    if trees:
        return "\n\n".join(text for path in paths for text in _drawn(path, trees))
    return family.each_scored(paths, score_trace)


def score_exceptions(paths: Sequence[Path], *, gold: Path | None) -> family.ScoredSuites:
    """Score whether exceptions were read by the rules or as exceptions.

    With several runs, the mean and the population standard deviation are reported too; the ratio=… in the name of a log
    identifies those that belong together.

    \b
    wug score overgeneralisation --predictions ratio=0.001_run=1.txt
    wug score overgeneralisation --predictions ratio=*.txt --format csv
    wug score overgeneralisation --gold test_pcfg_ratio=0.001_exception.src --predictions answers.txt
    """
    from wug.families.pcfgset import overgeneralisation

    return family.each_scored(paths, lambda path: overgeneralisation.score_exceptions(path, gold))


def score_synonyms(paths: Sequence[Path], *, twins: Sequence[Path], gold: Path | None) -> family.ScoredSuites:
    """Score whether outputs are invariant under synonym substitution.

    With several runs of a test, the mean and the population standard deviation are reported too.

    \b
    wug score substitutivity --predictions run=1.txt --twin run=1_synonym.txt
    wug score substitutivity --gold test.src --predictions answers.txt --twin twin_answers.txt
    """
    from wug.families.pcfgset import substitutivity

    if len(paths) != len(twins):
        raise click.UsageError(
            f"--predictions is given {len(paths)} times and --twin {len(twins)} times: every file needs its twin"
        )
    for path, twin in zip(paths, twins, strict=True):
        scored = substitutivity.score_synonyms(path, twin, gold)
        yield scored.suite, family.model_id(path.name, path, twin), scored.rows


def _drawn(path: Path, samples: Sequence[int]) -> list[str]:
    from wug.errors import InputError
    from wug.families.pcfgset.localism import score_trace
    from wug.families.pcfgset.view_localism import sample
    from wug.outcomes import Outcome
    from wug.rows import OutcomeRow
    from wug.views.text import item_lines

    scored = score_trace(path)
    for number in samples:
        if number > len(scored.suite):
            raise InputError(f"there is no sample {number:,}: the trace has {len(scored.suite):,}", file=path)
    rows = {
        row.item: OutcomeRow(0, row)
        for row in scored.rows
        if isinstance(row, Outcome) and row.metric == "consistency" and int(row.item) in samples
    }
    views = {number: sample(rows[str(number)], [rows[str(number)]]) for number in samples}
    return [f"{path.name}, sample {n}: {view.note}\n" + "\n".join(item_lines(view)) for n, view in views.items()]


def _two_files(ctx: click.Context, param: click.Parameter, value: tuple[Path, Path] | None) -> tuple[Path, Path] | None:
    """The callback of --gold, which takes the option after it if only one file is given."""
    if value is not None and value[1].name.startswith("-"):
        raise click.BadParameter(f"takes two files, sources and targets, and got only {value[0]}", ctx, param)
    return value


SCORE = (
    family.ScoreCommand(
        "pcfgset",
        score_plain,
        (
            family.predictions("Table with the columns source, target and prediction, or plain outputs with --gold"),
            family.FILES,
            family.option(
                "--gold",
                "Sources and targets of plain outputs, line by line.",
                nargs=2,
                type=family.PATH,
                metavar="SRC TGT",
                callback=_two_files,
            ),
        ),
    ),
    family.ScoreCommand(
        "localism",
        score_steps,
        (
            family.predictions("Trace: lines `source -> answer` between lines of dashes, the whole source last"),
            family.FILES,
            family.option(
                "--tree trees",
                "Print sample N as a tree instead of the results; repeatable.",
                multiple=True,
                type=family.POSITIVE,
                metavar="N",
            ),
        ),
    ),
    family.ScoreCommand(
        "overgeneralisation",
        score_exceptions,
        (
            family.predictions("Log with both accuracies of each epoch, or the outputs of one model with --gold"),
            family.FILES,
            family.option(
                "--gold",
                "For outputs: …_exception.src, in a folder with its targets and the …_original files.",
                type=family.PATH,
            ),
        ),
    ),
    family.ScoreCommand(
        "substitutivity",
        score_synonyms,
        (
            family.predictions("Table with the columns source, target and prediction"),
            family.option(
                "--twin twins",
                "The same with synonyms in the sources, row by row; as often as --predictions.",
                multiple=True,
                required=True,
                type=family.PATH,
            ),
            family.option(
                "--gold", "For plain outputs: test.src, in a folder with test.tgt and test_twin.src.", type=family.PATH
            ),
        ),
    ),
)
