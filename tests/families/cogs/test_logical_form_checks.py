"""What is wrong with a logical form, in sentences."""

from __future__ import annotations

import pytest

from wug.families.cogs.logical_form import RULES, Dialect, is_well_formed, parse, violations
from wug.families.cogs.logical_form.parse import LogicalForm


def rules(text: str, dialect: Dialect = "cogs") -> set[str]:
    return {violation.rule for violation in violations(parse(text, dialect))}


@pytest.mark.parametrize(
    "text",
    [
        "Paula",
        "LAMBDA a . shark ( a )",
        "LAMBDA a . LAMBDA e . crawl . agent ( e , a )",
        "LAMBDA a . LAMBDA e . roll . theme ( e , a )",
        "LAMBDA a . LAMBDA b . LAMBDA e . bless . agent ( e , b ) AND bless . theme ( e , a )",
        "LAMBDA a . LAMBDA b . LAMBDA e . bless . theme ( e , a ) AND bless . agent ( e , b )",
        "smile . agent ( x _ 1 , Emma )",
        "* boy ( x _ 1 ) ; want . agent ( x _ 2 , x _ 1 ) AND want . xcomp ( x _ 2 , x _ 4 ) "
        "AND go . agent ( x _ 4 , x _ 1 )",
        "* mat ( x _ 9 ) ; cat ( x _ 1 ) AND cat . nmod . on ( x _ 1 , x _ 9 ) AND nap . agent ( x _ 0 , x _ 1 )",
    ],
)
def test_a_form_like_the_published_ones_has_nothing_wrong(text: str) -> None:
    assert violations(parse(text, "cogs")) == []


def form_that_breaks(rule: str, text: str, message: str, *, level: str) -> LogicalForm:
    """The parsed form, whose first violation of the rule has this message and level."""
    form = parse(text, "cogs")
    first = next(violation for violation in violations(form) if violation.rule == rule)
    assert message in str(first)
    assert first.level == level
    return form


UNDERIVABLE = {
    "role": {
        "eat . patient ( x _ 1 , Emma )": "`patient` in `eat . patient ( x _ 1 , Emma )` is not a role",
        "cat . nmod . under ( x _ 1 , x _ 2 )": "`nmod . under` in",
        "cat . nmod ( x _ 1 , x _ 2 )": "`nmod` in",
        "a . b . c . d ( x _ 1 , x _ 2 )": "`b . c . d` in",
    },
    "arity": {
        "cat ( x _ 1 , x _ 2 )": "has 2 arguments, not 1",
        "eat . agent ( x _ 1 )": "has 1 argument, not 2",
    },
    "zero-padded": {
        "cat ( x _ 01 )": "the index of `x _ 01` in `cat ( x _ 01 )` has a leading zero",
        "cat ( x _ 00 )": "leading zero",
    },
    "argument": {
        "cat ( a )": "`a` is not allowed there in `cat ( a )`",
        "cat ( Emma )": "`Emma` is not allowed there",
        "see . agent ( Emma , x _ 1 )": "`Emma` is not allowed there",
        "see . ccomp ( x _ 1 , Emma )": "`Emma` is not allowed there",
        "see . theme ( x _ 1 , ? )": "`?` is not allowed there",
    },
    "word": {
        "Cat ( x _ 1 )": "`Cat` in `Cat ( x _ 1 )` is not a lower-case word",
        "c ( x _ 1 )": "is not a lower-case word",
        "MARIE": "`MARIE` is not a proper name",
    },
    "prefix": {
        "cat ( x _ 1 ) ; nap . agent ( x _ 2 , x _ 1 )": "is before `;`, where only nouns with an iota",
        "* cat ( x _ 1 ) AND nap . agent ( x _ 2 , x _ 1 )": "has an iota, but is after the last `;`",
    },
    "lambda": {
        "LAMBDA a . shark ( b )": "`LAMBDA a . shark ( b )` is not the form of a noun or a verb",
        "LAMBDA a . LAMBDA b . LAMBDA e . see . agent ( e , b ) AND eat . theme ( e , a )": "not the form of a noun",
        "LAMBDA a . shark ( a ) AND shark ( a )": "not the form of a noun",
        "LAMBDA e . LAMBDA a . crawl . agent ( e , a )": "not the form of a noun",
        "LAMBDA a . LAMBDA e . see . agent ( x _ 0 , a )": "not the form of a noun",
    },
}
"""Forms that no derivation gives, by the rule that they break, with a part of its message."""


@pytest.mark.parametrize(
    ("text", "rule", "message"),
    [(text, rule, message) for rule, texts in UNDERIVABLE.items() for text, message in texts.items()],
)
def test_a_form_that_cannot_be_derived_is_reported_with_the_reason(text: str, rule: str, message: str) -> None:
    assert not is_well_formed(form_that_breaks(rule, text, message, level="grammar"))


MEANINGLESS = {
    "unbound": {
        "nap . agent ( x _ 1 , x _ 2 )": "`x _ 2` in `nap . agent ( x _ 1 , x _ 2 )` is not introduced by",
        "cat . nmod . on ( x _ 1 , x _ 2 ) AND mat ( x _ 2 )": "`x _ 1` in",
    },
    "two-words": {
        "cat ( x _ 1 ) AND dog ( x _ 1 ) AND nap . agent ( x _ 2 , x _ 1 )": "both 'cat' and 'dog'",
        "cat ( x _ 1 ) AND nap . agent ( x _ 1 , Emma )": "`x _ 1` is both 'cat' and 'nap'",
        "nap . agent ( x _ 1 , Emma ) AND eat . theme ( x _ 1 , Ava )": "both 'nap' and 'eat'",
    },
    "target": {
        "say . agent ( x _ 1 , Emma ) AND say . ccomp ( x _ 1 , x _ 3 ) AND cat ( x _ 3 )": "`x _ 3` in "
        "`say . ccomp ( x _ 1 , x _ 3 )` is not a verb",
        "say . agent ( x _ 1 , x _ 3 ) AND nap . agent ( x _ 3 , Emma )": "is not a noun",
    },
    "modifier-head": {
        "cat ( x _ 1 ) AND dog . nmod . on ( x _ 1 , x _ 4 ) AND mat ( x _ 4 )": "`dog . nmod . on ( x _ 1 , x _ 4 )` "
        "modifies x _ 1, which is a cat",
    },
    "role-twice": {
        "eat . agent ( x _ 1 , Emma ) AND eat . agent ( x _ 1 , Ava )": "x _ 1 has two of the role agent",
    },
    "duplicate": {
        "nap . agent ( x _ 1 , Emma ) AND nap . agent ( x _ 1 , Emma )": "occurs 2 times",
    },
    "iota-unused": {
        "* cat ( x _ 1 ) ; nap . agent ( x _ 2 , Emma )": "`* cat ( x _ 1 )` is not used in any conjunct",
    },
    "disconnected": {
        "nap . agent ( x _ 1 , Emma ) AND nap . agent ( x _ 4 , Ava )": "the form falls into 2 parts that share no "
        "index and no name",
    },
}
"""Well-formed forms that no sentence means, by the rule that they break, with a part of its message."""


@pytest.mark.parametrize(
    ("text", "rule", "message"),
    [(text, rule, message) for rule, texts in MEANINGLESS.items() for text, message in texts.items()],
)
def test_a_form_that_no_sentence_means_is_reported_with_the_reason(text: str, rule: str, message: str) -> None:
    assert is_well_formed(form_that_breaks(rule, text, message, level="sense"))


def test_parts_that_share_only_a_name_hang_together() -> None:
    assert rules("nap . agent ( x _ 1 , Emma ) AND nap . agent ( x _ 4 , Emma )") == set()


def test_a_duplicate_is_the_only_thing_wrong_with_a_duplicate() -> None:
    assert rules("* cat ( x _ 1 ) ; * cat ( x _ 1 ) ; nap . agent ( x _ 2 , x _ 1 )") == {"duplicate"}


def test_slog_adds_questions_television_and_relative_clauses() -> None:
    text = (
        "* TV ( x _ 1 ) ; see . agent ( x _ 2 , ? ) AND see . theme ( x _ 2 , x _ 1 ) AND TV . nmod ( x _ 1 , x _ 2 )"
    )
    assert rules(text, "slog") == set()
    assert rules(text, "cogs") == {"word", "argument", "role"}


@pytest.mark.parametrize(
    "text",
    [
        "poke ( agent = ? , theme = girl )",
        "break ( agent = boy , theme = * cake ( nmod = give ( theme = * cake , recipient = baby ) ) )",
        "* cake ( nmod . in = closet )",
        "cat ( nmod = eat ( agent = cat , theme = * cake ) )",
        "give ( theme = shirt ( nmod . beside = * TV ) , agent = Emma )",
    ],
)
def test_variable_free_forms_of_slog_are_well_formed(text: str) -> None:
    assert rules(text, "variable_free") == set()
    assert str(parse(text, "variable_free")) == text


def test_in_slog_a_television_is_no_verb() -> None:
    assert rules("TV . agent ( x _ 1 , Emma )", "slog") == {"role"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Emma ( 3 ) ; * cake ( 17 ) ; eat ( 4 ) AND agent ( 4 , 3 ) AND theme ( 4 , 17 )", set()),
        ("Emma ( 3 ) ; eat ( 4 ) AND agent ( 5 , 3 )", {"unbound", "disconnected"}),
        ("Emma ( 3 ) ; eat ( 4 ) AND patient ( 4 , 3 )", {"role"}),
        ("agent ( 3 ) ; eat ( 4 )", {"prefix", "arity"}),
        ("Emma ( 3 ) ; eat ( 04 ) AND agent ( 04 , 3 )", {"zero-padded"}),
    ],
)
def test_recogs_forms_have_a_grammar_of_their_own(text: str, found: set[str]) -> None:
    assert rules(text, "recogs") == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("eat ( agent = Emma , theme = * cake ( nmod . on = plate ) )", set()),
        ("eat ( agent = Emma , agent = Ava )", {"role-twice"}),
        ("eat ( patient = Emma )", {"role"}),
        ("* eat ( agent = Emma )", {"prefix"}),
        ("eat ( agent = cat ( theme = Emma ) )", {"target"}),
    ],
)
def test_variable_free_forms_are_checked_as_terms(text: str, found: set[str]) -> None:
    assert rules(text, "variable_free") == found


def test_every_violation_has_a_rule_that_is_explained() -> None:
    texts = ["cat ( x _ 1 , x _ 2 )", "nap . agent ( x _ 1 , x _ 2 )", "LAMBDA a . shark ( b )"]
    assert all(rules(text) <= RULES.keys() for text in texts)
