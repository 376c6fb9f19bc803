"""`wug score`: judge answers that were made elsewhere, a function a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.main import Named

if TYPE_CHECKING:
    from wug.types import Result, Row, Suite

    Judged = Iterable[tuple[Suite, str, Iterable[Row]]]
    """Suites, what their models are called, and the judgements."""
    Judge = Callable[..., Judged | None]
    """Judges files; None where it printed something else instead."""

PATH = click.Path(path_type=Path)


@click.group("score", cls=Named)
def command() -> None:
    """Judge answers that were made elsewhere, in published shapes.

    Files may be gzipped. What is printed and kept is what `wug run` would print and keep.

    \b
    wug score syntaxgym --predictions evaluated_suite.json
    wug score pairs     --predictions scored.tab --column NAME
    wug score cogs      --gold gen.tsv --predictions system.tsv
    wug score pcfgset   --predictions run=1.txt run=2.txt run=3.txt
    """


def _score(
    judge: Judge,
    spread: Literal["sample", "population"] | None,
    *,
    paths: tuple[Path, ...],
    more: tuple[Path, ...] | None = None,
    summary: bool,
    by: tuple[str, ...],
    save: bool,
    db: Path | None,
    form: str,
    **options: Any,
) -> None:
    """Print and keep a result for each suite and model, and the mean where a suite has several.

    `spread` says which standard deviation goes with a mean; None: there is no mean. `options` are those of the kind.
    """
    from wug.results.average import averages

    common.refuse_both(summary, by)
    # Where files may stand without an option before them, one that is there twice counts once.
    judged = judge(paths if more is None else list(dict.fromkeys([*paths, *more])), **options)
    if judged is None:
        return
    results: list[Result] = [common.scored(suite, model, {}, rows) for suite, model, rows in judged]
    if spread is not None:
        results += averages(results, population=spread == "population")
    kept = common.keep(results, db) if save else None
    common.deliver_made(results, form, kept, summary=summary, by=by)


def _predictions(about: str, *names: str) -> click.Option:
    """--predictions, repeatable; `names` are other spellings of it."""
    return click.Option(
        ["--predictions", *names, "paths"], multiple=True, required=True, type=PATH, help=f"{about}; repeatable."
    )


MORE = click.Argument(["more"], nargs=-1, type=PATH, metavar="[FILE]...")
"""Files without an option before them, so that a shell may write `--predictions run=*.txt`."""


def _two_files(ctx: click.Context, param: click.Parameter, value: tuple[Path, Path] | None) -> tuple[Path, Path] | None:
    """The callback of --gold, which swallows the option after it where only one file is given."""
    if value is not None and value[1].name.startswith("-"):
        raise click.BadParameter(f"takes two files, sources and targets, and got {value[0]} alone", ctx, param)
    return value


def _kind(
    *options: click.Parameter, spread: Literal["sample", "population"] | None = "population"
) -> Callable[[Judge], Judge]:
    """Make a command of a function that judges files; its name and its docstring are the command's."""

    def decorate(judge: Judge) -> Judge:
        params = [*options, *common.RESULT_OPTIONS]
        callback = partial(_score, judge, spread)
        command.add_command(click.Command(judge.__name__, params=params, callback=callback, help=judge.__doc__))
        return judge

    return decorate


@_kind(
    click.Option(["--gold"], required=True, type=PATH, help="Sentence, logical form and type, with tabs between them."),
    _predictions("A system's forms: a file like the gold file, a table, one form a line, or JSONL", "--system"),
    MORE,
    click.Option(
        ["--per-line"],
        type=common.OUTPUT_FILE,
        metavar="FILE",
        help="Write every measure of each line to a file: .tsv (or .txt), or .jsonl.",
    ),
    click.Option(
        ["--reference-compat"], is_flag=True, help="The measures as the first public evaluator computes them."
    ),
    click.Option(["--smatch"], is_flag=True, help="Also the F1 of terms under the best renaming of indices."),
    click.Option(["--seed"], type=int, default=0, show_default=True, help="For the random starts of --smatch."),
    click.Option(["--bleu/--no-bleu"], default=True, show_default=True, help="BLEU of all forms together."),
    click.Option(["--dialect"], help="cogs, slog, recogs or variable_free.  [default: by the gold forms]"),
    spread="sample",
)
def cogs(paths: Sequence[Path], *, gold: Path, per_line: Path | None, **measures: Any) -> Judged:
    """Judge predicted logical forms: exact, well-formed, equal but for order or for the names of indices,
    and how near.

    Of several systems (one model's seeds) the mean comes as well, with the standard deviation of a sample.

    \b
    wug score cogs --gold gen.tsv --predictions system.tsv
    wug score cogs --gold gen.tsv --predictions seed_*.tsv --format json
    wug score cogs --gold dev.tsv --system dev.tsv --reference-compat
    """
    from wug.errors import InputError
    from wug.families.cogs import score, scoring
    from wug.families.cogs.suite import CogsSuite

    if per_line is not None and per_line.resolve() in {path.resolve() for path in (gold, *paths)}:
        raise InputError("is what is to be judged. Give --per-line another name", file=per_line)
    if per_line is not None:
        common.format_of(per_line, {".tsv": "tsv", ".txt": "tsv", ".jsonl": "jsonl"})
    systems = score(gold, paths, **measures)
    if per_line is not None:
        scoring.write_per_line(scoring.per_line(systems), per_line)
        common.say(f"wrote {per_line}")
    save: bool = click.get_current_context().params["save"]  # what is not kept needs no row a line
    for path, system in zip(paths, systems, strict=True):
        yield CogsSuite(system.gold, system.settings), _model(path.name, path), system.rows(lines=save)


@_kind(
    _predictions("A trace: lines `source -> answer` between lines of dashes, the whole source last"),
    MORE,
    click.Option(
        ["--tree", "trees"],
        multiple=True,
        type=common.POSITIVE,
        metavar="N",
        help="Print sample N as a tree instead of the results; repeatable.",
    ),
)
def localism(paths: Sequence[Path], *, trees: Sequence[int]) -> Judged | None:
    """Judge whether sources were answered alike step by step and as a whole.

    Of several runs the mean comes as well, with the standard deviation of the runs themselves. --tree shows what
    was answered at each step of a sample, and where it first went wrong.

    \b
    wug score localism --predictions run=1.txt.gz
    wug score localism --predictions run=1.txt.gz --tree 12
    """
    from wug.families.pcfgset.localism import answered_steps

    if trees:
        printing.echo("\n\n".join(text for path in paths for text in _drawn(path, trees)))
        return None
    return _answered(paths, answered_steps)


@_kind(
    _predictions("A log with both accuracies of each epoch, or, with --gold, the answers of one model"),
    MORE,
    click.Option(
        ["--gold"],
        type=PATH,
        help="For answers: …_exception.src, with its targets and the …_original files beside it.",
    ),
)
def overgeneralisation(paths: Sequence[Path], *, gold: Path | None) -> Judged:
    """Judge whether exceptions were read by the rules or as exceptions.

    Of several runs the mean comes as well, with the standard deviation of the runs themselves; the ratio=… in the
    name of a log says which belong together.

    \b
    wug score overgeneralisation --predictions ratio=0.001_run=1.txt
    wug score overgeneralisation --predictions ratio=*.txt --format csv
    wug score overgeneralisation --gold test_pcfg_ratio=0.001_exception.src --predictions answers.txt
    """
    from wug.families.pcfgset.overgeneralisation import answered_exceptions

    return _answered(paths, lambda path: answered_exceptions(path, gold))


@_kind(
    _predictions("A table in the original format with log-probabilities in further columns"),
    MORE,
    click.Option(
        ["--column", "columns"],
        multiple=True,
        metavar="NAME",
        help="A column of log-probabilities; repeatable.  [default: all that the format itself does not have]",
    ),
    spread="sample",
)
def pairs(paths: Sequence[Path], *, columns: Sequence[str]) -> Judged:
    """Judge the log-probabilities beside minimal pairs, each column as a model of its own.

    Of several columns the mean comes as well, with the standard deviation of a sample.

    \b
    wug score pairs --predictions best_model.tab.gz --column hidden650_batch128_dropout0.2_lr20.0
    wug score pairs --predictions all_models.tab.gz --format csv
    """
    from wug.families.pairs import read_published

    for path in paths:
        found = read_published(path, columns)
        for name, rows in found.columns.items():
            yield found.suite, _model(name, path), rows


@_kind(
    _predictions("A table with the columns source, target and prediction, or, with --gold, plain answers"),
    MORE,
    click.Option(
        ["--gold"],
        nargs=2,
        type=PATH,
        metavar="SRC TGT",
        callback=_two_files,
        help="The sources and targets that plain answers belong to, line by line.",
    ),
)
def pcfgset(paths: Sequence[Path], *, gold: tuple[Path, Path] | None) -> Judged:
    """Judge answers to the task itself, to systematicity, productivity, or any set with one target a source.

    Plain answers stand one a line, or are the H- lines of fairseq. Of several runs of a test the mean comes as
    well, with the standard deviation of the runs themselves (as Hupkes et al. print it).

    \b
    wug score pcfgset --predictions run=1.txt
    wug score pcfgset --predictions systematicity/run=*.txt.gz --format json
    wug score pcfgset --gold test.src test.tgt --predictions answers.txt
    """
    from wug.families.pcfgset.plain import answered_plain

    return _answered(paths, lambda path: answered_plain(path, gold))


@_kind(
    _predictions("A table with the columns source, target and prediction"),
    click.Option(
        ["--twin", "twins"],
        multiple=True,
        required=True,
        type=PATH,
        help="The same with twins in the sources, row by row; as often as --predictions.",
    ),
    click.Option(["--gold"], type=PATH, help="For plain answers: test.src, with test.tgt and test_twin.src beside it."),
)
def substitutivity(paths: Sequence[Path], *, twins: Sequence[Path], gold: Path | None) -> Judged:
    """Judge whether sources and the same sources with a synonym in them were answered alike.

    Of several runs of a test the mean comes as well, with the standard deviation of the runs themselves.

    \b
    wug score substitutivity --predictions run=1.txt --twin run=1_synonym.txt
    wug score substitutivity --gold test.src --predictions answers.txt --twin twin_answers.txt
    """
    from wug.families.pcfgset.substitutivity import answered_twins

    if len(paths) != len(twins):
        raise click.UsageError(
            f"--predictions is given {len(paths)} times and --twin {len(twins)} times: every file needs its twin"
        )
    for path, twin in zip(paths, twins, strict=True):
        found = answered_twins(path, twin, gold)
        yield found.suite, _model(path.name, path, twin), found.rows


@_kind(
    _predictions("An evaluated suite (metric_value in each region)"),
    click.Option(["--gold"], type=PATH, help="The suite with the predictions, where the evaluated one has none."),
    click.Option(["--metric"], help="Judge by this metric only: sum, mean, median, range, max, min."),
    click.Option(
        ["--empty"],
        type=click.Choice(["exclude", "zero", "refuse"]),
        default="exclude",
        show_default=True,
        help="Items with nothing in a region that a prediction compares.",
    ),
    spread=None,
)
def syntaxgym(paths: Sequence[Path], *, gold: Path | None, metric: str | None, empty: str) -> Judged:
    """Judge evaluated suites: region values from a file, predictions judged here.

    \b
    wug score syntaxgym --predictions evaluated_suite.json
    wug score syntaxgym --predictions out_grnn.json --gold suite.json --metric mean --format tsv
    """
    from wug.families.syntaxgym.evaluated import read_evaluated

    for path in paths:
        found = read_evaluated(path, gold, metric, empty)
        yield found.suite, _model(found.model or path.name, path), found.rows()


def _drawn(path: Path, samples: Sequence[int]) -> list[str]:
    """Samples of a trace as trees."""
    from wug.errors import InputError
    from wug.families.pcfgset.localism import answered_steps
    from wug.families.pcfgset.predictions import answer_tree
    from wug.types import Outcome

    found = answered_steps(path)
    for number in samples:
        if number > len(found.suite):
            raise InputError(f"there is no sample {number:,}: the trace has {len(found.suite):,}", file=path)
    details = {row.item: row.detail for row in found.rows if isinstance(row, Outcome) and row.check == "consistency"}
    return [f"{path.name}, sample {number}\n{answer_tree(details[str(number)])}" for number in samples]


def _answered(paths: Sequence[Path], read: Callable[[Path], Any]) -> Judged:
    for path in paths:
        found = read(path)
        yield found.suite, _model(path.name, path), found.rows


def _model(name: str, *paths: Path) -> str:
    """What results call a model of which only files of answers are known."""
    from wug.files import checksum, read_bytes

    return f"file/{name}@{checksum(*(read_bytes(path) for path in paths))}"
