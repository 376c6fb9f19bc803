"""Flags of `wug run` for model and scoring options, among them those of evaluate_lm.py under their own names."""

from __future__ import annotations

from dataclasses import dataclass

import click

DEVICE = click.Option(["--device"], help="Such as cpu, cuda, cuda:1.  [default: WUG_DEVICE, or the best there is]")
OPTIONS = (
    click.Option(["--target"], type=click.Choice(["sentence", "word"]), help="What of a pair is scored."),
    click.Option(["--eval-target-word", "--eval_target_word"], is_flag=True, help="The same as --target word."),
    click.Option(
        ["--mask-target/--no-mask-target", "--mask_target/--no_mask_target"],
        default=None,
        help="With --target word, whether a masked model is asked about the target alone.",
    ),
    click.Option(
        ["--single-piece-only", "--single_piece_only"],
        is_flag=True,
        help="With --target word, leave out targets of several tokens.",
    ),
    click.Option(
        ["--print-word-probs", "--print_word_probs"],
        is_flag=True,
        help="Print the log-probability of every word of every pair.",
    ),
    click.Option(["--original"], is_flag=True, help="The file is in the original format (it is recognised anyway)."),
    click.Option(["--vocab"], help="The vocabulary of a word-level model; the same as -M vocab=FILE."),
    click.Option(["--seed"], type=int, help="For models that draw by chance; scoring has no chance in it."),
    click.Option(["--cuda"], is_flag=True, help="The same as --device cuda."),
    DEVICE,
)
"""Each with a hyphen and with an underscore."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What the flags say."""

    target: str | None
    eval_target_word: bool
    mask_target: bool | None
    single_piece_only: bool
    print_word_probs: bool
    original: bool
    vocab: str | None
    seed: int | None
    cuda: bool
    device: str | None

    @property
    def suite_options(self) -> dict[str, str]:
        """The scoring options that they ask for."""
        wanted = {
            "target": self.target or ("word" if self.eval_target_word else None),
            "mask_target": "no" if self.mask_target is False else None,
            "single_piece_only": "yes" if self.single_piece_only else None,
            "print_word_probs": "yes" if self.print_word_probs else None,
            "format": "original" if self.original else None,
        }
        return {name: value for name, value in wanted.items() if value is not None}

    @property
    def model_options(self) -> dict[str, str]:
        """The model options that they ask for, each for the backends that have it."""
        wanted = {
            "vocab": self.vocab,
            "seed": None if self.seed is None else str(self.seed),
            "device": self.device or ("cuda" if self.cuda else None),
        }
        return {name: value for name, value in wanted.items() if value is not None}
