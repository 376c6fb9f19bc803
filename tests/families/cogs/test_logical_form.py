"""Reading and printing logical forms."""

from __future__ import annotations

import pytest

from wug.errors import FormulaError, UnknownName
from wug.families.cogs.logical_form import parse, recognise, tokens
from wug.families.cogs.logical_form.parse import LogicalForm, Term, render_term

BOY = (
    "* boy ( x _ 1 ) ; want . agent ( x _ 2 , x _ 1 ) AND want . xcomp ( x _ 2 , x _ 4 ) "
    "AND go . agent ( x _ 4 , x _ 1 )"
)


def test_a_sentence_form_comes_apart_into_iotas_and_conjuncts() -> None:
    assert parse("* boy ( x _ 1 ) ; see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , Emma )") == LogicalForm(
        "sentence",
        (Term("boy", ("1",), definite=True),),
        (Term("see.agent", ("2", "1")), Term("see.theme", ("2", "Emma"))),
    )


def test_a_name_is_a_form_by_itself() -> None:
    assert parse("Paula") == LogicalForm("name", (), (Term("Paula", ()),))


def test_a_lambda_form_keeps_its_variables_in_order() -> None:
    form = parse("LAMBDA a . LAMBDA e . crawl . agent ( e , a )")
    assert (form.kind, form.lambdas, form.body) == ("lambda", ("a", "e"), (Term("crawl.agent", ("e", "a")),))


@pytest.mark.parametrize(
    "text",
    [
        BOY,
        "Paula",
        "LAMBDA a . LAMBDA b . LAMBDA e . bless . agent ( e , b ) AND bless . theme ( e , a )",
        "cake . nmod . on ( x _ 12 , x _ 3 )",
        "like . theme ( x _ 1 , ? ) AND TV . nmod ( x _ 4 , x _ 1 )",
        "Emma ( 3 ) ; * cake ( 17 ) ; eat ( 4 ) AND agent ( 4 , 3 ) AND nmod . in ( 17 , 3 )",
        "say ( agent = Emma , ccomp = eat ( agent = * cat ( nmod . on = mat ) , theme = cake ) )",
        "eat ( agent = Emma , theme = * cake )",
        "walk",
    ],
)
def test_printing_a_form_gives_its_text_again(text: str) -> None:
    assert str(parse(text, "variable_free" if text == "walk" else None)) == text


def test_odd_spacing_does_not_matter_to_a_reader() -> None:
    assert parse("  boy (\tx _ 1  ) ") == parse("boy ( x _ 1 )")


def test_only_ascii_white_space_separates_tokens() -> None:
    assert tokens("boy\u00a0( x _ 1 )") == ["boy\u00a0(", "x", "_", "1", ")"]
    assert tokens(" a\tb\x0bc\r\n") == ["a", "b", "c"]
    assert tokens("a\x1cb") == ["a\x1cb"]
    assert tokens("") == []


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "expected a predicate, found the end", 0),
        ("boy ( x _ 1", "expected ',' or ')', found the end", 11),
        ("boy x _ 1 )", "expected '(' after 'boy', found 'x'", 4),
        ("boy ( x _ one )", "expected an index after 'x _', found 'one'", 10),
        ("boy ( , )", "expected an argument, found ','", 6),
        ("boy ( x _ 1 ) run . agent ( x _ 2 , x _ 1 )", "expected 'AND', ';' or the end, found 'run'", 14),
        ("a ( x _ 1 ) AND b ( x _ 1 ) ; c ( x _ 1 )", "expected 'AND' or the end, found ';'", 28),
        ("boy ( x _ 1 ) AND", "expected a predicate, found the end", 17),
        ("boy ( x _ 1 ) ;", "expected a predicate, found the end", 15),
        ("LAMBDA a ball ( a )", "expected '.' after 'LAMBDA a', found 'ball'", 9),
        ("boy ( 1 )", "expected an argument, found '1'", 6),
        ("cat", "expected '(' after 'cat', found the end", 3),
    ],
)
def test_text_that_is_no_form_is_refused_with_its_place(text: str, message: str, column: int) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text, "cogs")
    assert (caught.value.message, caught.value.start) == (message, column)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("eat ( agent Emma )", "expected '=' after 'agent', found 'Emma'"),
        ("eat ( agent = Emma", "expected ',' or ')', found the end"),
        ("eat ( agent = Emma ) )", "expected the end, found ')'"),
        ("eat ( agent = )", "expected a word, found ')'"),
        ("eat ( )", "expected a role, found ')'"),
    ],
)
def test_a_variable_free_text_that_is_no_form_is_refused(text: str, message: str) -> None:
    with pytest.raises(FormulaError, match=f"^{message.replace(')', '[)]').replace('(', '[(]')}"):
        parse(text, "variable_free")


@pytest.mark.parametrize(
    ("forms", "dialect"),
    [
        (["boy ( x _ 1 )"], "cogs"),
        (["Paula", "LAMBDA a . cat ( a )"], "cogs"),
        (["boy ( x _ 1 )", "eat . theme ( x _ 1 , ? )"], "slog"),
        (["* TV ( x _ 1 ) ; boy ( x _ 2 )"], "slog"),
        (["cake . nmod ( x _ 1 , x _ 2 )"], "slog"),
        (["cake . nmod . in ( x _ 1 , x _ 2 )"], "cogs"),
        (["Emma ( 3 ) ; eat ( 4 )"], "recogs"),
        (["eat ( agent = Emma )"], "variable_free"),
        ([], "cogs"),
    ],
)
def test_the_dialect_is_inferred_from_the_forms(forms: list[str], dialect: str) -> None:
    assert recognise(forms) == dialect


def test_a_variable_free_form_is_terms_like_any_other() -> None:
    form = parse("eat ( agent = Emma , theme = * cake )")
    assert form.prefix == (Term("Emma", ("1",)), Term("cake", ("2",), definite=True))
    assert form.body == (Term("eat", ("0",)), Term("agent", ("0", "1")), Term("theme", ("0", "2")))


def test_an_unknown_dialect_is_an_error() -> None:
    with pytest.raises(UnknownName, match=r"'slug'\. Did you mean 'slog'"):
        parse("boy ( x _ 1 )", "slug")  # type: ignore[arg-type]


def test_a_term_is_printed_in_its_dialect() -> None:
    assert render_term(Term("eat.agent", ("2", "Emma"))) == "eat . agent ( x _ 2 , Emma )"
    assert render_term(Term("agent", ("2", "1")), "recogs") == "agent ( 2 , 1 )"


@pytest.mark.parametrize(
    "text",
    [
        "( " * 100_000,
        "boy ( x _ 1 ) AND " * 50_000,
        "a . " * 100_000,
        "LAMBDA a . " * 50_000,
        "boy ( " + "x _ 1 , " * 50_000,
        "x" * 300_000,
    ],
    ids=lambda text: text[:20],
)
def test_length_alone_breaks_nothing(text: str) -> None:
    with pytest.raises(FormulaError):
        parse(text, "cogs")


def test_depth_alone_breaks_nothing() -> None:
    text = "say ( ccomp = " * 30_000 + "go" + " )" * 30_000
    assert str(parse(text, "variable_free")) == text
