"""Logical forms of COGS, SLOG and ReCOGS: reading, printing, checking, comparing, measuring.

    form = parse("* boy ( x _ 1 ) ; want . agent ( x _ 2 , x _ 1 )")
    str(form)                                         the text again
    violations(form)                                  what is wrong with it, in sentences
    equivalent(gold, form), renaming(gold, form), canonical(form)
    recogs_exact_match(gold_text, text)               the match that the authors of ReCOGS report
    smatch(gold, form)                                how far the two agree under the best renaming
    difference(gold_text, text, "cogs")               the two side by side, term by term
    judge(gold_text, text, "cogs")                    all measures of one prediction

Everything here works on text and on values, and nothing reads files.
"""

from __future__ import annotations

from wug.families.cogs.logical_form.checks import RULES, is_well_formed, violations
from wug.families.cogs.logical_form.difference import ERRORS, TermPair, difference, errors
from wug.families.cogs.logical_form.match import canonical, equivalent, renaming
from wug.families.cogs.logical_form.measures import COUNTS, FEATURES, judge
from wug.families.cogs.logical_form.parse import DIALECTS, Dialect, parse, recognise, tokens
from wug.families.cogs.logical_form.recogs import recogs_exact_match
from wug.families.cogs.logical_form.smatch import smatch

__all__ = [
    "COUNTS",
    "DIALECTS",
    "ERRORS",
    "FEATURES",
    "RULES",
    "Dialect",
    "TermPair",
    "canonical",
    "difference",
    "equivalent",
    "errors",
    "is_well_formed",
    "judge",
    "parse",
    "recognise",
    "recogs_exact_match",
    "renaming",
    "smatch",
    "tokens",
    "violations",
]
