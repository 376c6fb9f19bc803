"""`wug train`: train reference models from scratch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from wug.cli import _common as common
from wug.cli import _printing as printing
from wug.cli.main import SuggestingGroup
from wug.errors import InputError
from wug.families.commands import FOLDER, option
from wug.options import Option
from wug.train.options import KINDS, LSTM_DEFAULTS, NETWORK_OPTIONS, Training

if TYPE_CHECKING:
    from wug.train.loop import TrainingProgress

TEXTS = click.Argument(["texts"], nargs=-1, required=True, type=click.Path(path_type=Path))
SOURCE = click.Argument(["source"], type=click.Path(path_type=Path, exists=True))
OUTPUT = option("-o --output", "Folder for the model.", type=FOLDER, required=True)
SUITE = option(
    "--suite suites", "Test the model on this suite after each epoch and store the run; repeatable.", multiple=True
)
_TRANSFORMER_HELP = """Train a {kind} language model with {architecture}'s architecture on TEXTS.

TEXTS are plain text files with one paragraph per line, also .gz or .xz. The model sees one sentence at a time.

\b
wug train {kind} corpus.txt -o tiny --steps 9 --layers 1 --batch-size 8 --vocab 400     a quick trial
wug train {kind} corpus.txt -o my-model --steps 6000
wug run wug_agreement_pp --model my-model
"""
HELP = {
    "causal": _TRANSFORMER_HELP.format(kind="causal", architecture="Llama"),
    "masked": _TRANSFORMER_HELP.format(kind="masked", architecture="ModernBERT"),
    "lstm": """Train a word-level LSTM on TEXTS.

TEXTS are plain text files with one paragraph per line, also .gz or .xz. The vocabulary is the most frequent words;
other words are <unk>. Each sentence starts after <eos>.

\b
wug train lstm corpus.txt -o tiny --steps 9 --layers 1 --batch-size 8 --vocab 400     a quick trial
wug train lstm corpus.txt -o my-lstm --steps 6000 --vocab 20000
wug run wug_agreement_pp --model my-lstm
""",
    "seq2seq": """Train a sequence-to-sequence model on SOURCE: a PCFG SET, SCAN or COGS folder, or a file of one.

The vocabulary is the words of the training set. A T5 has relative positions; an LSTM reads the source in both
directions. Both have as many layers in the encoder as in the decoder.

\b
wug train seq2seq my_scan -o tiny --steps 9 --layers 1 --batch-size 8     a quick trial
wug train seq2seq my_pcfgset -o my-lstm --epochs 6 --network lstm
wug train seq2seq cogs/train.tsv -o my-cogs --steps 20000 --layers 2
wug train seq2seq exceptions/ -o profile --epochs 25 --suite exceptions/     a run after each epoch
""",
}


def _click_option(option: Option, kind: str) -> click.Option:
    name = option.name.replace("_", "-")
    is_negatable = option.type is bool and option.default is None
    value_type: Any = option.type
    if isinstance(option.type, tuple):
        value_type = click.Choice(option.type)
    elif option.type is int and option.least is not None:
        value_type = click.IntRange(int(option.least), None if option.most is None else int(option.most))
    default_text: str | bool = option.type is not bool
    if kind == "seq2seq" and option.name in LSTM_DEFAULTS.keys() - NETWORK_OPTIONS["t5"]:
        default_text = f"{option.default}; {LSTM_DEFAULTS[option.name]} for an LSTM"
    return click.Option(
        [f"--{name}/--no-{name}" if is_negatable else f"--{name}", option.name],
        type=value_type,
        is_flag=option.type is bool or None,
        default=option.default,
        show_default=default_text,
        envvar="WUG_DEVICE" if option.name == "device" else None,
        help=f"{option.help[0].upper()}{option.help[1:]}.",
    )


def _command(kind: str) -> click.Command:
    data = SOURCE if kind == "seq2seq" else TEXTS
    options = (_click_option(option, kind) for option in KINDS[kind])
    params = [data, OUTPUT, *options, SUITE, common.STORE]
    return click.Command(kind, params=params, callback=partial(_train, kind), help=HELP[kind])


def _train(kind: str, **values: Any) -> None:
    from wug.train.run import TrainingOutput, run_training

    context = click.get_current_context()
    typed_values = {
        name: value
        for name, value in values.items()
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    try:
        training = Training.of(kind, {**typed_values, "store_path": values["store_path"]})
    except InputError as error:
        raise click.UsageError(error.message) from None
    state = run_training(training, TrainingOutput(common.notify, _progress, common.command_line()))
    if state is None:
        return
    folder, losses = training.output, state.losses[-50:]
    printing.print_text(
        f"trained {folder}: {state.step:,} steps, loss {sum(losses) / len(losses):.4f}, {state.seconds:,.0f} s"
    )
    common.notify(f"wug run SUITE --model {folder} · the loss curve: {folder / 'training' / 'loss.tsv'}")
    if (folder / "best").is_dir():
        common.notify(f"the model with the best test result: {folder / 'best'}")


@contextmanager
def _progress() -> Iterator[Callable[[TrainingProgress], None]]:
    last_time = 0.0

    def print_progress(progress: TrainingProgress) -> None:
        nonlocal last_time
        if time.monotonic() - last_time > common.SECONDS_BETWEEN_LINES or progress.step == progress.steps:
            last_time = time.monotonic()
            time_left = time.strftime("%H:%M:%S", time.gmtime(progress.seconds_left))
            common.notify(f"step {progress.step:,} of {progress.steps:,} · {_state(progress)} · {time_left} left")

    with common.progress_bar("training") as draw:
        yield (lambda now: draw(now.step, now.steps, _state(now))) if draw else print_progress


def _state(progress: TrainingProgress) -> str:
    return f"loss {progress.loss:.4f} · {progress.rate:.1f} steps/s"


@click.group("train", cls=SuggestingGroup, commands=[_command(kind) for kind in KINDS])
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
