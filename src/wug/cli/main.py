"""The command `wug`: finds its commands in this folder and turns errors into messages."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from types import FrameType
from typing import Any, NoReturn

import click

from wug import __version__, options, registry
from wug.cli import _printing as printing
from wug.configuration import KEYS, read_config
from wug.errors import WugError, nearest, suggestion
from wug.families.commands import FamilyCommands, commands_of
from wug.files import shortened


class SuggestingGroup(click.Group):
    """A group that suggests the nearest name for an unknown one, and shows full summaries of its commands."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the whole first sentence of each command."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [
            (name, command.get_short_help_str(limit=10_000))
            for name, command in commands
            if command is not None and not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or suggest the nearest name."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"no command {args[0]!r}.{suggestion(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


class DeclaredGroup(SuggestingGroup, ABC):
    """A group whose commands are declared by families, in their module `commands` or in the package itself."""

    @abstractmethod
    def declared_by(self, commands: FamilyCommands) -> Iterable[click.Command]:
        """The commands of a family that are in this group."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        declared = (self.declared_by(commands_of(family)) for family in registry.families())
        return sorted({str(command.name) for commands in declared for command in commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, or None; a family of this name is looked into before others are imported."""
        own = [*self.declared_by(commands_of(registry.family_of(cmd_name)))]
        if all(command.name != cmd_name for command in own):
            own = [command for family in registry.families() for command in self.declared_by(commands_of(family))]
        return next((printing.add_global_flags(command) for command in own if command.name == cmd_name), None)


class CommandFolder(SuggestingGroup):
    """The group whose commands are the modules of this folder."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the modules."""
        return [name for name in registry.names("cli") if name != "main"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The `command` of a module, or None."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = registry.find("cli", cmd_name).command
        return printing.add_global_flags(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, whose options have the defaults of configuration files."""
        name, command, remainder = super().resolve_command(ctx, args)
        if name is not None and command is not None:
            ctx.default_map = {name: option_defaults(command)}
        return name, command, remainder


def option_defaults(command: click.Command) -> dict[str, Any]:
    """The defaults of a command's options, for click's `default_map`, which environment and command line precede."""
    config = read_config()
    defaults: dict[str, Any] = {}
    for key in KEYS:
        if not key.variable or key.name not in config or os.environ.get(key.variable):
            continue
        for option in command.params:
            is_key = option.envvar == key.variable or (key.name == "device" and "--device" in option.opts)
            if is_key and option.name is not None:
                value = config[key.name].value
                defaults[option.name] = [value] if option.multiple and isinstance(value, str) else value
    if isinstance(command, click.Group):
        defaults |= {name: option_defaults(subcommand) for name, subcommand in command.commands.items()}
    return defaults


@click.group(cls=CommandFolder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", prog_name="wug")
def cli() -> None:
    """Test what a language model knows about language, the way linguists test speakers.

    \b
    wug run wug_agreement_pp                         evaluate a model on a suite, both built in
    wug run my_suite.json --model causal:gpt2        your suite, a model of the Hugging Face Hub
    wug check my_suite.json                          find errors in a suite
    wug report 1 -o page.html                        write a report

    Results go to stdout; progress and warnings to stderr. Exit codes: 0 done, 1 failed, 2 usage,
    130 interrupted.
    """


printing.add_global_flags(cli)


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    flags = printing.Verbosity()
    printing.begin_log()
    signal.signal(signal.SIGTERM, _interrupt)
    printing.prepare_streams()
    try:
        flags.apply()
        code = cli.main(prog_name="wug", standalone_mode=False, obj=flags)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _end("interrupted: run the same command to resume", 130)
    except click.NoSuchOption as error:
        _refuse(click.UsageError(f"No such option: {error.option_name}{_hint(error)}", error.ctx))
    except click.ClickException as error:
        _refuse(error)
    except BrokenPipeError:
        printing.silence_stdout()
        sys.exit(141)
    except Exception as error:
        if flags.debug:
            raise
        if isinstance(error, OSError):
            printing.silence_stdout()  # it may be what cannot be written
        _end(_explain(error), 1, "error")


SYNONYMS = {"batch_size": "batch"}
"""Names of model options in other programs."""


def _hint(error: click.NoSuchOption) -> str:
    name = error.option_name.lstrip("-").replace("-", "_")
    name = SYNONYMS.get(name, name)
    for folder, noun, flag in (("models", "models", "-M"), ("families", "suites", "-S")):
        if any(name in options.names(module.OPTIONS) for _, module in registry.modules(folder)):
            return f". Options of {noun} are written {flag} {name}=…"
    flags = [] if error.ctx is None else [text for option in error.ctx.command.params for text in option.opts]
    near = nearest(name, [text.removeprefix("--") for text in flags if text.startswith("--")])
    return f". Did you mean --{near}?" if near else ""


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _explain(error: Exception) -> str:
    if isinstance(error, WugError):
        return str(error)
    if isinstance(error, OSError):  # a full disk, a name that is too long, a read-only folder
        file = error.filename if error.filename is not None else "the output"
        name = os.fsdecode(file) if isinstance(file, str | bytes | os.PathLike) else str(file)
        fix = ". Free some space and run the command again" if error.errno == errno.ENOSPC else ""
        return f"{shortened(name)}: {error.strerror or error}{fix}"
    if isinstance(error, MemoryError):
        return "out of memory"
    return (
        f"wug itself failed ({type(error).__name__}: {error}).\n"
        "This is a bug: please report it with what `wug --debug …` prints for the same command"
    )


def _refuse(error: click.ClickException) -> NoReturn:
    if printing.is_json_log():
        printing.print_message(error.format_message(), "error")
    else:
        stream = io.StringIO()
        error.show(stream)
        printing.print_message(stream.getvalue().removesuffix("\n"))
    sys.exit(error.exit_code)


def _end(message: str, code: int, level: printing.Level = "info") -> NoReturn:
    with contextlib.suppress(OSError):  # stderr is closed
        printing.print_message(message, level)
    sys.exit(code)
