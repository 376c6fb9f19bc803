"""Flags of `wug run` for model and scoring options, among them those of evaluate_lm.py under their own names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from wug.cli._common import Function


def option_flags(function: Function) -> Function:
    """The flags, each with a hyphen and with an underscore."""
    flags = [
        click.option("--target", type=click.Choice(["sentence", "word"]), help="What of a pair is scored."),
        click.option("--eval-target-word", "--eval_target_word", is_flag=True, help="The same as --target word."),
        click.option(
            "--mask-target/--no-mask-target",
            "--mask_target/--no_mask_target",
            default=None,
            help="With --target word, whether a masked model is asked about the target alone.",
        ),
        click.option(
            "--single-piece-only",
            "--single_piece_only",
            is_flag=True,
            help="With --target word, leave out targets of several tokens.",
        ),
        click.option(
            "--print-word-probs",
            "--print_word_probs",
            is_flag=True,
            help="Print the log-probability of every word of every pair.",
        ),
        click.option("--original", is_flag=True, help="The file is in the original format (it is recognised anyway)."),
        click.option("--vocab", help="The vocabulary of a word-level model; the same as -M vocab=FILE."),
        click.option("--seed", type=int, help="For models that draw by chance; scoring has no chance in it."),
        click.option("--cuda", is_flag=True, help="The same as --device cuda."),
        click.option("--device", envvar="WUG_DEVICE", help="Such as cpu, cuda, cuda:1."),
    ]
    for flag in reversed(flags):
        function = flag(function)
    return function


def suite_options(flags: Mapping[str, Any]) -> dict[str, str]:
    """The scoring options that the flags ask for."""
    found: dict[str, str] = {}
    if flags["target"] or flags["eval_target_word"]:
        found["target"] = flags["target"] or "word"
    if flags["mask_target"] is False:
        found["mask_target"] = "no"
    for name in ("single_piece_only", "print_word_probs"):
        if flags[name]:
            found[name] = "yes"
    if flags["original"]:
        found["format"] = "original"
    return found


def model_options(flags: Mapping[str, Any], known: Sequence[str]) -> dict[str, str]:
    """The model options that the flags ask for, of those that a kind of model has."""
    wanted = {
        "vocab": flags["vocab"],
        "seed": None if flags["seed"] is None else str(flags["seed"]),
        "device": flags["device"] or ("cuda" if flags["cuda"] else None),
    }
    return {name: value for name, value in wanted.items() if value is not None and name in known}
