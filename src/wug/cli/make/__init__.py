"""`wug make`: new test material, a function a kind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import click

from wug.cli import _common as common
from wug.cli.main import Named
from wug.cli.make import _sets as sets
from wug.cli.make import _templates as templates

Make: TypeAlias = Callable[..., None]


class Kinds(Named):
    """The kinds of material."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; where no command comes first, `--type KIND` names it, as in make_templates.py."""
        if args and args[0].startswith("-") and "--type" in args[:-1]:
            place = args.index("--type")
            args = [args[place + 1], *args[:place], *args[place + 2 :]]
        return super().parse_args(ctx, args)


@click.group("make", cls=Kinds)
def command() -> None:
    """Make new test material: minimal pairs, PCFG SET, COGS.

    The same seed always makes the same files. A file that exists is not written over without --force.

    \b
    wug make coord --n 200 --seed 1 --filename coord.tab
    wug make pcfgset --seed 1 -o my_pcfgset
    wug make localism --source test.src -o unrolled.tsv
    wug make cogs --seed 1 -o my_cogs
    """


def _kind(*options: click.Parameter) -> Callable[[Make], Make]:
    """Make a command of a function that makes material; its name and its docstring are the command's."""

    def decorate(make: Make) -> Make:
        name = make.__name__.strip("_").replace("_", "-")
        command.add_command(click.Command(name, params=list(options), callback=make, help=make.__doc__))
        return make

    return decorate


def _number(*names: str, least: int = 1, default: int | None = None, help: str) -> click.Option:
    return click.Option(names, type=click.IntRange(min=least), default=default, show_default=True, help=help)


@_kind(*templates.OPTIONS)
def agreement(**options: Any) -> None:
    """Make pairs of sentences with subject-verb agreement, in the categories of Marvin & Linzen (2018).

    All of them (--all) are as many grammatical sentences as in the published sets: 126,260.

    \b
    wug make agreement --n 100 --filename agreement.tab
    wug make agreement --all --pattern prep_anim --filename prep_anim.tab
    """
    templates.make("agreement", **options)


@_kind(*templates.OPTIONS)
def coord(**options: Any) -> None:
    """Make pairs of sentences with coordinated subjects: The author and the guard are/*is tired.

    Patterns coord_short_ss … coord_both_pp, and the controls simple_sing and simple_plur.

    \b
    wug make coord --filename coord.tab
    wug make coord --n 50 --seed 7 --pattern coord_long_rc1 --pattern simple_sing
    wug make coord --all --format word --filename coord_words.tab
    """
    templates.make("coord", **options)


@_kind(*templates.OPTIONS)
def npi(**options: Any) -> None:
    """Make pairs of sentences with negative polarity items, in the categories of Marvin & Linzen (2018).

    They differ before the word that shows the error, so they can only be sentence-focused.

    \b
    wug make npi --n 100 --filename npi.tab
    wug make npi --all --filename npi_all.tab
    """
    templates.make("npi", **options)


@_kind(*templates.OPTIONS)
def reflexives(**options: Any) -> None:
    """Make pairs of sentences with reflexive pronouns, in the categories of Marvin & Linzen (2018).

    Patterns simple_reflexives, reflexive_sent_comp and reflexives_across.

    \b
    wug make reflexives --n 100 --filename reflexives.tab
    wug make reflexives --all --pattern simple_reflexives
    """
    templates.make("reflexives", **options)


@_kind(*templates.OPTIONS)
def tense(**options: Any) -> None:
    """Make pairs of sentences in which a tense must fit another: When the authors arrived, they had/*have left.

    Patterns tense_when_past, tense_when_fut, tense_adv_past, tense_adv_fut and tense_vpe (graded).

    \b
    wug make tense --filename tense.tab
    wug make tense --n 50 --pattern tense_adv_past --format word
    """
    templates.make("tense", **options)


@_kind(
    click.Option(["--category"], required=True, metavar="NAME", help="The category of the patterns that are wanted."),
    *templates.OPTIONS,
)
def templates_(**options: Any) -> None:
    """Make pairs of sentences of any category, also of one that only --lexicon FILE has.

    \b
    wug make templates --lexicon french.toml --category accord --filename accord.tab
    """
    templates.make(**options)


@_kind(*sets.CORPUS, *sets.OUTPUT)
def pcfgset(**options: Any) -> None:
    """Make a PCFG SET corpus: train, dev and test, as .src and .tgt files.

    Sources are drawn to the depths and lengths of a table; no string of symbols is used twice.

    \b
    wug make pcfgset --seed 1 -o my_pcfgset
    wug make pcfgset --samples 1000 --statistics --beside test.src -o small
    wug make pcfgset --no-table --unary 0.6 --function 0.5 -o by_grammar
    """
    sets.make("pcfgset", **options)


@_kind(*sets.CORPUS, *sets.OUTPUT)
def systematicity(**options: Any) -> None:
    """Make a systematicity set: lines with one of four pairs of functions are tested, all others trained on.

    \b
    wug make systematicity --seed 1 -o my_systematicity
    wug make systematicity --source my_pcfgset -o my_systematicity
    """
    sets.make("systematicity", **options)


@_kind(
    *sets.CORPUS,
    _number("--most", default=8, help="Functions in a training line, at most."),
    *sets.OUTPUT,
)
def productivity(**options: Any) -> None:
    """Make a productivity set: long lines are tested, short ones trained on.

    \b
    wug make productivity --seed 1 -o my_productivity
    wug make productivity --source my_pcfgset --most 6 -o my_productivity
    """
    sets.make("productivity", **options)


@_kind(
    *sets.CORPUS,
    _number(
        "--per-function",
        help="Test lines for each of the four functions.  [default: as many as there are, 2,500 at most]",
    ),
    *sets.OUTPUT,
)
def substitutivity(**options: Any) -> None:
    """Make a substitutivity set: four functions have twins, equally distributed in training or only primitive.

    \b
    wug make substitutivity --seed 1 -o my_substitutivity
    wug make substitutivity --source my_pcfgset --per-function 500 -o my_substitutivity
    """
    sets.make("substitutivity", **options)


@_kind(
    *sets.CORPUS,
    click.Option(
        ["--ratio", "ratios"],
        multiple=True,
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help="The share of exceptions; repeatable.  [default: 0.0001, 0.0005, 0.001, 0.005]",
    ),
    *sets.OUTPUT,
)
def overgeneralisation(**options: Any) -> None:
    """Make an overgeneralisation set: training lines with exceptions, and both readings of these.

    \b
    wug make overgeneralisation --seed 1 -o my_overgeneralisation
    wug make overgeneralisation --source my_pcfgset --ratio 0.002 -o my_overgeneralisation
    """
    sets.make("overgeneralisation", **options)


@_kind(*sets.CORPUS, *sets.OUTPUT)
def localism(**options: Any) -> None:
    """Unroll sources into single steps, each with the answers to earlier ones in it.

    Of one file of sources comes one file, and -o may be its name.

    \b
    wug make localism --source test.src -o unrolled.tsv
    wug make localism --seed 1 --samples 10000 -o my_localism
    """
    sets.make("localism", **options)


@_kind(
    _number("--rounds", default=53, help="Lines for each function and each length."),
    _number("--longest", least=2, default=20, help="Symbols in the longest string."),
    *sets.OUTPUT,
)
def increasing_length(**options: Any) -> None:
    """Make the test of increasing string length: each function by itself, on strings of 2 symbols and more.

    \b
    wug make increasing-length --seed 1 -o my_lengths
    wug make increasing-length --rounds 10 --longest 40 -o my_lengths
    """
    sets.make("increasing-length", **options)


@_kind(
    click.Option(
        ["-o", "--output", "folder"],
        type=common.FOLDER,
        required=True,
        help="The folder for train.tsv, dev.tsv, test.tsv and gen.tsv.",
    ),
    common.SEED_OF_MATERIAL,
    _number("--train", default=24_155, help="Training lines, 155 primitives and single examples included."),
    _number("--test", default=3_000, help="Lines of dev and of test."),
    _number("--gen-per-type", default=1_000, help="Lines of each type in gen."),
    common.FORCE,
)
def cogs(*, folder: Path, seed: int, train: int, test: int, gen_per_type: int, force: bool) -> None:
    """Make a COGS-style set with a grammar and words of wug's own: sentences with their logical forms.

    gen.tsv has the 21 types of COGS, each held out of train.tsv: words in new roles, verbs in new frames, modifiers
    on subjects, deeper recursion. train.tsv is the same whatever the sizes of the other files.

    \b
    wug make cogs --seed 1 -o my_cogs
    wug make cogs --train 5000 --test 500 --gen-per-type 50 -o small
    """
    from wug.families.cogs.make import data
    from wug.files import write_lines

    names = ("train.tsv", "dev.tsv", "test.tsv", "gen.tsv")
    common.refuse_existing([folder / name for name in names], force)
    made = data.make(seed, data.Sizes(train, test, gen_per_type))
    for path, lines in zip(write_lines(made, folder), made.values(), strict=True):
        common.say(f"wrote {path}: {len(lines):,} lines")
