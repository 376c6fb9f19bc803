"""Sentences and logical forms of single clauses, and the words that they are made of."""

from __future__ import annotations

import pytest

from wug.families.cogs.make.grammar import Clause, Phrase, Verb, WordClass, english, line, primitive, read

SEE, GIVE = Verb("see", "saw", "seen"), Verb("give", "gave", "given")
WANT, SAY, NAP = Verb("want", "wanted", "wanted"), Verb("say", "said", "said"), Verb("nap", "napped", "napped")
ANN, A_CAT, THE_DOG = Phrase("Ann"), Phrase("cat", "a"), Phrase("dog", "the")
CUP_ON_MAT = Phrase("cup", "a", "on", Phrase("mat", "the"))


@pytest.mark.parametrize(
    ("clause", "sentence", "form"),
    [
        (
            Clause("transitive", SEE, {"agent": A_CAT, "theme": THE_DOG}),
            "A cat saw the dog .",
            "* dog ( x _ 4 ) ; cat ( x _ 1 ) AND see . agent ( x _ 2 , x _ 1 ) AND see . theme ( x _ 2 , x _ 4 )",
        ),
        (
            Clause("passive_by", SEE, {"theme": A_CAT, "agent": ANN}),
            "A cat was seen by Ann .",
            "cat ( x _ 1 ) AND see . theme ( x _ 3 , x _ 1 ) AND see . agent ( x _ 3 , Ann )",
        ),
        (Clause("unaccusative", NAP, {"theme": ANN}), "Ann napped .", "nap . theme ( x _ 1 , Ann )"),
        (
            Clause("do_dative", GIVE, {"agent": ANN, "recipient": THE_DOG, "theme": CUP_ON_MAT}),
            "Ann gave the dog a cup on the mat .",
            "* dog ( x _ 3 ) ; * mat ( x _ 8 ) ; give . agent ( x _ 1 , Ann ) AND give . recipient ( x _ 1 , x _ 3 ) "
            "AND give . theme ( x _ 1 , x _ 5 ) AND cup ( x _ 5 ) AND cup . nmod . on ( x _ 5 , x _ 8 )",
        ),
        (
            Clause("pp_dative_passive_by", GIVE, {"theme": THE_DOG, "recipient": A_CAT, "agent": ANN}),
            "The dog was given to a cat by Ann .",
            "* dog ( x _ 1 ) ; give . theme ( x _ 3 , x _ 1 ) AND give . recipient ( x _ 3 , x _ 6 ) "
            "AND give . agent ( x _ 3 , Ann ) AND cat ( x _ 6 )",
        ),
        (
            Clause("infinitive", WANT, {"agent": THE_DOG}, infinitive=NAP),
            "The dog wanted to nap .",
            "* dog ( x _ 1 ) ; want . agent ( x _ 2 , x _ 1 ) AND want . xcomp ( x _ 2 , x _ 4 ) "
            "AND nap . agent ( x _ 4 , x _ 1 )",
        ),
        (
            Clause("clausal", SAY, {"agent": ANN}, complement=Clause("unergative", NAP, {"agent": A_CAT})),
            "Ann said that a cat napped .",
            "say . agent ( x _ 1 , Ann ) AND say . ccomp ( x _ 1 , x _ 5 ) AND cat ( x _ 4 ) "
            "AND nap . agent ( x _ 5 , x _ 4 )",
        ),
    ],
    ids=lambda value: value.frame if isinstance(value, Clause) else "",
)
def test_a_clause_becomes_a_sentence_and_its_form(clause: Clause, sentence: str, form: str) -> None:
    assert line(clause, "any") == (sentence, form, "any")


def test_words_by_themselves_have_the_forms_of_primitives() -> None:
    assert primitive("noun", "cat").form == "LAMBDA a . cat ( a )"
    assert primitive("name", "Ann") == ("Ann", "Ann", "primitive")
    assert primitive("unergative", "nap") == ("nap", "LAMBDA a . LAMBDA e . nap . agent ( e , a )", "primitive")
    assert primitive("transitive", "see").form == (
        "LAMBDA a . LAMBDA b . LAMBDA e . see . agent ( e , b ) AND see . theme ( e , a )"
    )


def test_a_class_gives_its_first_words_most_weight() -> None:
    words = WordClass.of(["one", "two", "three"])
    weights = [
        after - before for before, after in zip((0, *words.cumulative_weights), words.cumulative_weights, strict=False)
    ]
    assert weights == [1_010_000, 416_126, 249_741]  # 1e6 * (1, 2 ** -1.3, 3 ** -1.3), and 10,000 more


def test_a_lexicon_is_read_with_its_verbs_in_three_forms() -> None:
    lexicon = read(
        '[nouns]\npeople = "man fox"\n[names]\npeople = "Ann"\n[verbs]\ndative = "give gave given; lend lent"\n'
        '[held_out]\nsubj_common = "owl"\nactive = "bless blessed"\n'
    )
    assert lexicon.verbs["dative"].items == (GIVE, Verb("lend", "lent", "lent"))
    assert dict(lexicon.held_out) == {"subj_common": "owl"}
    assert dict(lexicon.held_out_verbs) == {"active": Verb("bless", "blessed", "blessed")}


def test_the_lexicon_has_as_many_words_as_that_of_cogs() -> None:
    lexicon = english()
    assert {name: len(words.items) for name, words in lexicon.nouns.items()} == dict.fromkeys(
        ("people", "things", "insides", "surfaces"), 100
    )
    assert len(lexicon.names.items) == 100
    assert {len(words.items) for words in lexicon.verbs.values()} == {20}


def test_no_word_is_of_two_kinds() -> None:
    lexicon = english()
    nouns = [noun for words in lexicon.nouns.values() for noun in words.items]
    held_out = [*lexicon.held_out.values(), *(verb.lemma for verb in lexicon.held_out_verbs.values())]
    forms = {form for words in lexicon.verbs.values() for v in words.items for form in (v.lemma, v.past, v.participle)}
    every = [*nouns, *lexicon.names.items, *held_out]
    assert len(set(every)) == len(every)
    assert not forms & set(every)


def test_a_verb_of_two_classes_has_the_same_forms_in_both() -> None:
    forms: dict[str, set[Verb]] = {}
    for words in english().verbs.values():
        for verb in words.items:
            forms.setdefault(verb.lemma, set()).add(verb)
    assert all(len(found) == 1 for found in forms.values())


def test_nouns_go_with_the_article_a() -> None:
    nouns = [noun for words in english().nouns.values() for noun in words.items]
    nouns += [word for word in english().held_out.values() if word.islower()]
    assert [noun for noun in nouns if noun[0] in "aeiou"] == []


def test_a_held_out_verb_has_one_form_for_both_voices() -> None:
    assert all(verb.past == verb.participle for verb in english().held_out_verbs.values())
