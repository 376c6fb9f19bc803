"""Logical forms of COGS, SLOG and ReCOGS: parsing, printing, checking, comparing, measuring.

    form = parse("* boy ( x _ 1 ) ; want . agent ( x _ 2 , x _ 1 )")
    str(form)                                         the text again
    violations(form)                                  what is wrong with it
    equivalent(gold, form), renaming(gold, form), canonical(form)
    recogs_exact_match(gold_text, text)               the match that the authors of ReCOGS report
    smatch(gold, form)                                how far the two agree under the best renaming
    difference(gold_text, text, "cogs")               the two side by side, term by term
    score_form(gold_text, text, "cogs")               all measures of one prediction

Everything here works on text and on values; nothing reads files.
"""

from __future__ import annotations

from wug.families.cogs.logical_form.checks import RULES as RULES
from wug.families.cogs.logical_form.checks import is_well_formed as is_well_formed
from wug.families.cogs.logical_form.checks import violations as violations
from wug.families.cogs.logical_form.difference import ERRORS as ERRORS
from wug.families.cogs.logical_form.difference import TermPair as TermPair
from wug.families.cogs.logical_form.difference import difference as difference
from wug.families.cogs.logical_form.difference import term_errors as term_errors
from wug.families.cogs.logical_form.match import canonical as canonical
from wug.families.cogs.logical_form.match import equivalent as equivalent
from wug.families.cogs.logical_form.match import recogs_exact_match as recogs_exact_match
from wug.families.cogs.logical_form.match import renaming as renaming
from wug.families.cogs.logical_form.measures import score_form as score_form
from wug.families.cogs.logical_form.parse import DIALECTS as DIALECTS
from wug.families.cogs.logical_form.parse import Dialect as Dialect
from wug.families.cogs.logical_form.parse import parse as parse
from wug.families.cogs.logical_form.parse import recognise as recognise
from wug.families.cogs.logical_form.parse import tokens as tokens
from wug.families.cogs.logical_form.smatch import smatch as smatch
