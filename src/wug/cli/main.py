"""The command `wug`: finds its commands in this folder and turns errors into messages."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

import click

from wug import __version__, options, registry
from wug.cli import _manner as manner
from wug.cli import _printing as printing
from wug.errors import WugError, nearest, suggestion
from wug.files import shortened


class Named(click.Group):
    """A group that knows the nearest name for an unknown one, and says in full what its commands do."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, with the whole first sentence of each command."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [
            (name, own.get_short_help_str(limit=10_000)) for name, own in found if own is not None and not own.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name for an unknown one."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"no command {args[0]!r}.{suggestion(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


class Commands(Named):
    """The group whose commands are the modules of this folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The modules' names."""
        return [name for name in registry.names("cli") if name != "main"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The module's `command`; None for a name that is not there."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = registry.find("cli", cmd_name).command
        return manner.on_either_side(command)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", prog_name="wug")
def cli() -> None:
    """Test what a language model knows about language, the way linguists test speakers.

    \b
    wug run wug_agreement_pp --model causal:gpt2     ask a model
    wug check my_suite.json                          look for faults in a suite
    wug report 1 -o page.html                        a page to look at and to send

    Results go to stdout; progress and warnings to stderr. Exit codes: 0 done, 1 failed, 2 usage,
    130 interrupted.
    """


manner.on_either_side(cli)


def main() -> NoReturn:
    """Run the command line; every exit has its code."""
    wanted = manner.Manner()
    manner.begin_log()
    signal.signal(signal.SIGTERM, _interrupt)
    printing.prepare()
    try:
        wanted.take_effect()
        code = cli.main(prog_name="wug", standalone_mode=False, obj=wanted)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Abort:
        _end("interrupted: run the same command to resume", 130)
    except click.NoSuchOption as error:
        refusal = click.UsageError(f"No such option: {error.option_name}{_hint(error)}", error.ctx)
        refusal.show(printing.Safe(sys.stderr))  # type: ignore[arg-type]
        sys.exit(refusal.exit_code)
    except click.ClickException as error:
        error.show(printing.Safe(sys.stderr))  # type: ignore[arg-type]
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _end("interrupted: run the same command to resume", 130)
    except BrokenPipeError:
        printing.silence_stdout()
        sys.exit(141)
    except WugError as error:
        if wanted.debug:
            raise
        _end(f"error: {error}", 1)
    except OSError as error:
        if wanted.debug:
            raise
        printing.silence_stdout()  # it may be what cannot be written
        _end(f"error: {_explain(error)}", 1)
    except MemoryError:
        if wanted.debug:
            raise
        _end("error: the memory of this machine does not suffice for this", 1)
    except Exception as error:
        if wanted.debug:
            raise
        _end(
            f"error: wug itself failed ({type(error).__name__}: {error}).\n"
            "This is a bug: please report it with what `wug --debug …` prints for the same command",
            1,
        )


RENAMED = {"--engine": "--executor"}
SYNONYMS = {"batch_size": "batch"}
"""What other programs call an option of a model."""


def _hint(error: click.NoSuchOption) -> str:
    """The end of the message about an unknown option: what to write instead, as far as that can be told."""
    if error.option_name in RENAMED:
        return f". It is called {RENAMED[error.option_name]}"
    name = error.option_name.lstrip("-").replace("-", "_")
    name = SYNONYMS.get(name, name)
    for folder, what, flag in (("models", "models", "-M"), ("families", "suites", "-S")):
        if any(name in options.names(module.OPTIONS) for _, module in registry.usable(folder)):
            return f". Options of {what} are written {flag} {name}=…"
    known = [] if error.ctx is None else [text for option in error.ctx.command.params for text in option.opts]
    near = nearest(name, [text.removeprefix("--") for text in known if text.startswith("--")])
    return f". Did you mean --{near}?" if near else ""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _explain(error: OSError) -> str:
    """What the system refused: a full disk, a name that is too long, a folder that may only be read."""
    where = error.filename if error.filename is not None else "the output"
    name = os.fsdecode(where) if isinstance(where, str | bytes | os.PathLike) else str(where)
    remedy = ". Make room and give the command again" if error.errno == errno.ENOSPC else ""
    return f"{shortened(name)}: {error.strerror or error}{remedy}"


def _end(message: str, code: int) -> NoReturn:
    with contextlib.suppress(OSError):  # nobody listens
        printing.tell(message)
    sys.exit(code)
