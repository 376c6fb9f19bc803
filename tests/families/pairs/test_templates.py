"""Minimal pairs made from templates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from wug.errors import InputError, UnknownName
from wug.evaluation.checking import check_file
from wug.families import pairs
from wug.families.pairs import templates
from wug.families.pairs.templates import Example
from wug.families.pairs.templates.grammar import load

CATEGORIES = ("coord", "tense", "agreement", "reflexives", "npi")
MARVIN_LINZEN = {
    "agreement": {
        "simple_agrmt": 140,
        "sent_comp": 1_680,
        "vp_coord": 840,
        "long_vp_coord": 400,
        "prep_anim": 16_800,
        "prep_inanim": 5_600,
        "subj_rel": 11_200,
        **{
            f"obj_rel_{comp}{place}_{kind}": 11_200
            for comp in ("", "no_comp_")
            for place in ("across", "within")
            for kind in ("anim", "inanim")
        },
    },
    "reflexives": {"simple_reflexives": 280, "reflexive_sent_comp": 3_360, "reflexives_across": 22_400},
    "npi": {
        "simple_npi_anim": 120,
        "simple_npi_inanim": 144,
        "npi_across_anim": 4_800,
        "npi_across_inanim": 5_760,
    },
}
"""How many right sentences Marvin & Linzen (2018) have in each category."""
FUNCTION_WORDS = load().function_words


def sentences(examples: list[Example]) -> Counter[str]:
    """How many right sentences each pattern has."""
    return Counter(pattern for pattern, _ in {(example.pattern, example.item) for example in examples})


@pytest.mark.parametrize("category", MARVIN_LINZEN)
def test_all_sentences_of_the_categories_of_marvin_and_linzen_are_as_many_as_theirs(category: str) -> None:
    assert sentences(templates.generate(category)) == MARVIN_LINZEN[category]


def test_conditions_are_as_large_as_each_other() -> None:
    examples = templates.generate("agreement", only=["prep_anim"])
    assert Counter(example.condition for example in examples) == {
        f"{main}_MS_MV_{other}_ES": 4_200 for main in ("sing", "plur") for other in ("sing", "plur")
    }


def test_every_pattern_of_the_specification_is_there() -> None:
    grammar = load()
    names = {
        category: {name for name, pattern in grammar.patterns.items() if pattern.category == category}
        for category in CATEGORIES
    }
    assert names["coord"] == {
        "simple_sing",
        "simple_plur",
        *(f"coord_short_{numbers}" for numbers in ("ss", "sp", "ps", "pp")),
        "coord_long_adj",
        "coord_long_post2",
        "coord_long_rc1",
        "coord_both_pp",
    }
    assert names["tense"] == {
        "tense_when_past",
        "tense_when_fut",
        "tense_adv_past",
        "tense_adv_fut",
        "tense_vpe",
    }
    for category, counts in MARVIN_LINZEN.items():
        assert names[category] == set(counts)
    assert grammar.categories == list(CATEGORIES)


@pytest.mark.parametrize("category", CATEGORIES)
def test_generated_sentences_repeat_no_word_and_no_pair(category: str) -> None:
    examples = templates.generate(category, n=300, seed=3)
    assert len({(example.pattern, example.good, example.bad) for example in examples}) == len(examples)
    for example in examples:
        assert example.good != example.bad
        assert example.good[0].isupper()
        assert example.good.endswith(".")
        words = example.good.lower().strip(".").replace(",", "").split()
        repeated = {word for word, count in Counter(words).items() if count > 1}
        assert repeated <= FUNCTION_WORDS, example


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_generated_file_passes_the_check(tmp_path: Path, category: str) -> None:
    examples = templates.generate(category, n=200, seed=5)
    for name, written in (
        ("plain.tab", templates.sentence_focused(examples)),
        ("spaced.tab", templates.sentence_focused(examples, spaced=True)),
        *((("word.tab", templates.word_focused(examples)),) if category != "npi" else ()),
    ):
        path = tmp_path / name
        path.write_text(written.text, encoding="utf-8", newline="")
        assert pairs.recognises(path, written.text)
        assert check_file(path, "pairs") == []


def test_the_same_seed_gives_the_same_pairs_whatever_else_is_requested() -> None:
    alone = templates.generate("coord", n=8, seed=7, only=["coord_both_pp"])
    together = templates.generate("coord", n=8, seed=7)
    assert [example for example in together if example.pattern == "coord_both_pp"] == alone
    assert templates.generate("coord", n=8, seed=8, only=["coord_both_pp"]) != alone


def test_a_seed_gives_these_very_pairs() -> None:
    examples = templates.generate("tense", n=2, seed=0, only=["tense_when_past"])
    assert [(example.good, example.bad) for example in examples] == [
        (
            "When the nurses appeared, they had already rested.",
            "When the nurses appeared, they have already rested.",
        ),
        ("When the singers called, they had already voted.", "When the singers called, they have already voted."),
    ]


def test_a_sample_takes_equally_from_each_condition() -> None:
    examples = templates.generate("agreement", n=10, only=["prep_anim"])
    assert sorted(Counter(example.condition for example in examples).values()) == [2, 2, 3, 3]


def test_a_pattern_with_fewer_sentences_gives_what_it_has() -> None:
    assert len(templates.generate("coord", n=1_000, only=["simple_sing"])) == 70


def test_a_right_sentence_with_two_wrong_ones_makes_two_pairs() -> None:
    first, second = templates.generate("npi", n=1, only=["npi_across_anim"])
    assert (first.good, first.item, first.contrast, second.contrast) == (second.good, second.item, "1", "2")
    assert first.bad.startswith("The ")
    assert second.bad.split()[0] in ("Most", "Many")


def test_word_focused_files_name_the_word_and_its_place() -> None:
    pair = Example("p", "", "", 1, "When they came, she had left.", "When they came, she have left.", "word")
    assert templates.word_focused([pair]).text == (
        "pattern\tform\tform_alt\tsent\tlen_prefix\np\thad\thave\tWhen they came , she had left . <eos>\t5\n"
    )


def test_pairs_with_no_single_different_word_are_not_in_word_focused_files() -> None:
    examples = templates.generate("tense", n=3)
    written = templates.word_focused(examples)
    assert "tense_when_fut" not in written.text
    assert [notice.split(":")[0] for notice in written.notices] == ["tense_when_fut", "tense_adv_fut"]
    with pytest.raises(InputError, match="none of these pairs"):
        templates.word_focused(templates.generate("npi", n=3))


def test_sentence_focused_files_have_conditions_and_contrasts_where_there_are_any() -> None:
    plain = templates.sentence_focused(templates.generate("coord", n=1, only=["simple_sing"]))
    assert plain.text.split("\n")[0] == "pattern\tsent\tsent_alt"
    triples = templates.sentence_focused(templates.generate("npi", n=1))
    assert triples.text.split("\n")[0] == "pattern\tsent\tsent_alt\tcondition\tcontrast"


def test_unknown_categories_and_patterns_get_the_nearest_one() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'coord'"):
        templates.generate("cord")
    with pytest.raises(UnknownName, match="Did you mean 'simple_sing'"):
        templates.generate("coord", only=["simple_sng"])
    with pytest.raises(InputError, match="n is 0"):
        templates.generate("coord", n=0)
