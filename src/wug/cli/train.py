"""`wug train`: train reference models from scratch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from wug.cli import _common as common
from wug.cli import _training_tasks as training_tasks
from wug.cli.main import SuggestingGroup
from wug.families.commands import FOLDER, option
from wug.options import Option
from wug.train.options import KINDS as OPTIONS
from wug.train.options import LSTM_DEFAULTS, Training

TEXTS = click.Argument(["texts"], nargs=-1, required=True, type=click.Path(path_type=Path))
SOURCE = click.Argument(["source"], type=click.Path(path_type=Path, exists=True))
OUTPUT = option("-o --output", "Folder for the model.", type=FOLDER, required=True)
SUITE = option(
    "--suite suites", "Test the model on this suite after each epoch and store the run; repeatable.", multiple=True
)


def _click_option(option: Option, shown_default: str | None) -> click.Option:
    name = option.name.replace("_", "-")
    negatable = option.type is bool and option.default is None
    value_type: Any = option.type
    if isinstance(option.type, tuple):
        value_type = click.Choice(option.type)
    elif option.type is int and option.least is not None:
        value_type = click.IntRange(int(option.least), None if option.most is None else int(option.most))
    return click.Option(
        [f"--{name}/--no-{name}" if negatable else f"--{name}", option.name],
        type=value_type,
        is_flag=option.type is bool or None,
        default=option.default,
        show_default=shown_default or option.type is not bool,
        envvar="WUG_DEVICE" if option.name == "device" else None,
        help=f"{option.help[0].upper()}{option.help[1:]}.",
    )


def _train_command(
    name: str,
    train: Callable[[Training], None],
    data: click.Argument,
    shown: Mapping[str, str] | None = None,
    help: str | None = None,
) -> click.Command:
    """A command, by default with the docstring of `train` as its help.

    `shown` has defaults that depend on another option.
    """
    flags = [_click_option(option, (shown or {}).get(option.name)) for option in OPTIONS[name]]
    return click.Command(
        name,
        params=[data, OUTPUT, *flags, SUITE, common.STORE],
        callback=partial(_train, train),
        help=help or train.__doc__,
    )


def _train(train: Callable[[Training], None], **values: Any) -> None:
    train(Training(**values))


KINDS = (
    *(
        _train_command(
            kind,
            partial(training_tasks.token_model, kind),
            TEXTS,
            help=training_tasks.TOKEN_MODEL_HELP.format(kind=kind, architecture=architecture),
        )
        for kind, architecture in (("causal", "Llama"), ("masked", "ModernBERT"))
    ),
    _train_command("lstm", training_tasks.lstm, TEXTS),
    _train_command(
        "seq2seq",
        training_tasks.seq2seq,
        SOURCE,
        shown={
            option.name: f"{option.default}; {LSTM_DEFAULTS[option.name]} for an LSTM"
            for option in OPTIONS["seq2seq"]
            if option.name in LSTM_DEFAULTS
        },
    ),
)


@click.group("train", cls=SuggestingGroup, commands=KINDS)
def command() -> None:
    """Train a small model from scratch, for `wug run`.

    To resume an interrupted or killed training from its last checkpoint, repeat the command; the loss curve is that of
    an uninterrupted one. Settings and loss curve are in FOLDER/training.

    \b
    wug train causal corpus.txt -o tiny --steps 9 --layers 1 --batch-size 8 --vocab 400     a quick trial
    wug train causal corpus.txt -o my-model --steps 6000
    wug train lstm corpus.txt.gz -o my-lstm --vocab 20000 --lowercase
    wug train seq2seq my_pcfgset/ -o my-pcfg --epochs 25 --suite my_pcfgset/test.src
    """
