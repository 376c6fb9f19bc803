"""The template language, and custom grammars."""

from __future__ import annotations

from pathlib import Path

import pytest

from wug.errors import FormulaError, InputError, UnknownName
from wug.families.pairs import templates
from wug.families.pairs.templates.grammar import Feature, Slot, load, parse_template

FRENCH = """
language = "French"
function_words = ["la", "le"]

[lexicon.noun]
forms = ["sing", "plur", "gender", "article"]
items = [["table", "tables", "f", "la"], ["livre", "livres", "m", "le"]]

[lexicon.colour]
forms = ["sing.m", "sing.f", "plur.m", "plur.f"]
items = [["vert", "verte", "verts", "vertes"]]

[[pattern]]
name = "predicate"
category = "agreement"
text = "les {noun.plur} sont [{colour.plur.noun:gender}|*{colour.sing.noun:gender}]."

[[pattern]]
name = "article"
category = "agreement"
text = "{noun.article} {noun.sing} est [{colour.sing.noun:gender}|*{colour.plur.noun:gender}]."
"""


def grammar(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_text_is_words_slots_and_contrasts() -> None:
    person, place = Slot("person2", "person", (Feature("N"),)), Slot("place", "place", ())
    assert parse_template("the {person2.N} [is|*are] {place}.") == [
        ["the ", person, " ", "is", " ", place, "."],
        ["the ", person, " ", "are", " ", place, "."],
    ]


def test_brackets_with_several_wrong_forms_go_together() -> None:
    sentences = parse_template("[no|*the|*most] cats that [the|*no|*the] dogs see")
    assert ["".join(map(str, pieces)) for pieces in sentences] == [
        "no cats that the dogs see",
        "the cats that no dogs see",
        "most cats that the dogs see",
    ]


@pytest.mark.parametrize(
    ("text", "fault", "caret"),
    [
        ("the cat sleeps", "no difference between the sentences", 0),
        ("the cat [sleeps|sleep]", "a wrong form needs a star", 16),
        ("the cat [*sleeps|*sleep]", "the first alternative is the right one", 9),
        ("the cat [sleeps]", "a bracket needs a wrong alternative", 8),
        ("[a|*b] and [c|*d|*e]", "same number of starred alternatives", 0),
        ("the {} [a|*b]", "not a word of the lexicon", 5),
        ("the {cat.} [a|*b]", "not a word of the lexicon", 5),
        ("the {cat [a|*b]", "unexpected '{'", 4),
        ("the cat] [a|*b]", "unexpected ']'", 7),
    ],
)
def test_a_text_that_cannot_be_read_has_a_caret_under_its_fault(text: str, fault: str, caret: int) -> None:
    with pytest.raises(FormulaError, match=fault.replace("[", r"\[").replace("{", r"\{")) as caught:
        parse_template(text)
    assert caught.value.start == caret


def test_words_agree_in_what_another_word_has_by_nature(tmp_path: Path) -> None:
    examples = templates.generate("agreement", lexicon=grammar(tmp_path, FRENCH), only=["article"])
    assert [(example.good, example.bad) for example in examples] == [
        ("La table est verte.", "La table est vertes."),
        ("Le livre est vert.", "Le livre est verts."),
    ]


def test_two_slots_of_a_class_never_hold_the_same_word(tmp_path: Path) -> None:
    text = """
    [lexicon.name]
    items = ["Ann", "Bob", "Eve"]
    [[pattern]]
    name = "p"
    category = "c"
    text = "{name} and {name2} [sleep|*sleeps]."
    """
    examples = templates.generate("c", lexicon=grammar(tmp_path, text))
    assert len(examples) == 6
    assert all(example.good.split()[0] != example.good.split()[2] for example in examples)


def test_a_word_that_would_be_there_twice_leaves_the_sentence_out(tmp_path: Path) -> None:
    text = """
    function_words = ["the"]
    [lexicon.fish]
    items = ["fish", "trout"]
    [lexicon.food]
    items = ["fish", "bread"]
    [[pattern]]
    name = "p"
    category = "c"
    text = "the {fish} [eats|*eat] the {food}."
    """
    examples = templates.generate("c", lexicon=grammar(tmp_path, text))
    assert [example.good for example in examples] == [
        "The fish eats the bread.",
        "The trout eats the fish.",
        "The trout eats the bread.",
    ]


def test_the_other_values_of_a_feature_make_a_wrong_sentence_each(tmp_path: Path) -> None:
    text = """
    [lexicon.verb]
    forms = ["sing", "dual", "plur"]
    items = [["a", "b", "c"]]
    [[pattern]]
    name = "p"
    category = "c"
    vary = { N = ["sing", "dual", "plur"] }
    text = "[{verb.N}|*{verb.-N}]"
    """
    examples = templates.generate("c", lexicon=grammar(tmp_path, text))
    assert [(e.condition, e.good, e.bad, e.contrast) for e in examples] == [
        ("sing", "A", "B", "1"),
        ("sing", "A", "C", "2"),
        ("dual", "B", "A", "1"),
        ("dual", "B", "C", "2"),
        ("plur", "C", "A", "1"),
        ("plur", "C", "B", "2"),
    ]


def test_a_grammar_can_extend_the_built_in_one(tmp_path: Path) -> None:
    text = """
    extends = "english"
    [lexicon.predicate]
    forms = ["sing", "plur"]
    items = [["purrs", "purr"]]
    [[pattern]]
    name = "simple_sing"
    category = "coord"
    text = "every {person.sing} [{predicate.sing}|*{predicate.plur}]."
    """
    path = grammar(tmp_path, text)
    assert templates.generate("coord", lexicon=path, only=["simple_sing"])[0].good == "Every author purrs."
    assert len(templates.generate("coord", lexicon=path, only=["coord_short_ss"])) == 100
    assert load(path).categories == ["coord", "tense", "agreement", "reflexives", "npi"]


PATTERN = '[[pattern]]\nname = "p"\ncategory = "c"\n'
NOUN = '[lexicon.noun]\nforms = ["sing", "plur"]\nitems = [["cat", "cats"]]\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x = ", "not TOML"),
        ("patern = 3", "unknown key 'patern'. Did you mean 'pattern'?"),
        ("", "lexicon"),
        (NOUN, r"no \[\[pattern\]\]"),
        (NOUN + '[[pattern]]\ncategory = "c"\n', "name is missing"),
        (NOUN + PATTERN + 'text = "{cat} [a|*b]"\n', "unknown class 'cat'"),
        (NOUN + PATTERN + 'text = "{noun.dual} [a|*b]"\n', "noun has no form 'dual'; it has 'sing', 'plur'"),
        (NOUN + PATTERN + 'text = "{noun} [a|*b]"\n', "noun has no form ''"),
        (NOUN + PATTERN + 'text = "[{noun.sing}|*{noun.-N}]"\n', "N does not vary"),
        (
            NOUN + PATTERN + 'vary = { N = ["sing", "plur"] }\ntext = "{noun.-N} [a|*b]"\n',
            "outside a starred alternative",
        ),
        (NOUN + PATTERN + 'text = "{noun.noun:gender} [a|*b]"\n', "noun:gender is not a column"),
        (NOUN + PATTERN + 'text = "[a|b]"\n', "a wrong form needs a star"),
        (NOUN + PATTERN + 'text = "[a|*b]"\ncolor = 3\n', "unknown key 'color'"),
        (NOUN + PATTERN + 'text = "[a|*b]"\ncompare = "words"\n', "compare is 'word' or 'sentence'"),
        (NOUN + PATTERN + 'text = "[a|*b]"\ncondition = "{N}"\n', "which does not vary"),
        (NOUN + PATTERN + 'text = "[a|*b]"\nvary = { N = "sing" }\n', "a list of words is missing"),
        (NOUN + PATTERN + 'text = "[a|*b]"\nvary = { N = ["sing"] }\n', "N needs at least two values"),
        ("function_words = 3\n" + NOUN + PATTERN + 'text = "[a|*b]"\n', "a list of words is missing"),
        (NOUN + (PATTERN + 'text = "[a|*b]"\n') * 2, "a second pattern is called 'p'"),
        ('[lexicon.noun]\nforms = ["sing"]\nitems = [["a", "b"]]\n', "does not have a word for each"),
        ("[lexicon.noun]\nitems = []\n", "a class is forms"),
        ('extends = "englsh"\n', "Did you mean 'english'"),
    ],
)
def test_a_bad_grammar_is_an_error_that_says_where(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        load(grammar(tmp_path, text))


def test_a_grammar_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'english'"):
        load("englich")
    with pytest.raises(InputError, match="no such file"):
        load("absent.toml")
