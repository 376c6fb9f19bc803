"""The built-in SyntaxGym suites load without a warning and keep to their designs."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from wug.families import syntaxgym

FOLDER = Path(str(files("wug"))) / "assets" / "suites" / "syntaxgym"

CONDITIONS = {
    "wug_agreement_pp": ["sing_match", "sing_mismatch", "plur_match", "plur_mismatch"],
    "wug_filler_gap": ["what_gap", "that_gap", "what_nogap", "that_nogap"],
    "wug_garden_path_mvrr": ["reduced_ambig", "unreduced_ambig", "reduced_unambig", "unreduced_unambig"],
    "wug_garden_path_npz": ["ambig_nocomma", "ambig_comma", "unambig_nocomma", "unambig_comma"],
    "wug_npi_licensing": ["no_the", "no_no", "the_the", "the_no"],
    "wug_reflexive": ["sing_match", "sing_mismatch", "plur_match", "plur_mismatch"],
}

# Words of grammar and of the designs themselves; every other word is lexical material.
GRAMMAR = set(
    "a all an and any are as at before behind beneath beside by during ever for from had has have herself "
    "himself him his i in into is it its me my near no nothing of off on only out over she he so some that "
    "the them themselves they this through to under up us very was we were what when whenever while who "
    "with you beyond above across after about opposite down could once may".split()
)

Sentence = list[str]

suites = pytest.mark.parametrize("name", sorted(CONDITIONS))


def load(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return data


def items(name: str) -> list[dict[str, Sentence]]:
    """Each item as condition name -> the contents of its regions."""
    return [
        {c["condition_name"]: [r["content"] for r in c["regions"]] for c in item["conditions"]}
        for item in load(name)["items"]
    ]


def differing(one: Sentence, other: Sentence) -> list[int]:
    """The numbers of the regions in which two sentences differ."""
    return [i for i, (a, b) in enumerate(zip(one, other, strict=True), start=1) if a != b]


def column(name: str, condition: str, region: int) -> list[str]:
    return [item[condition][region - 1] for item in items(name)]


def test_the_folder_holds_the_six_suites_and_their_card() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(CONDITIONS)
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(name in card for name in CONDITIONS)


@suites
def test_a_suite_loads_with_all_its_items(name: str) -> None:
    (suite,) = syntaxgym.read(FOLDER / f"{name}.json", {})
    assert suite.name == name
    assert len(suite) == 24


@suites
def test_check_finds_nothing(name: str) -> None:
    assert syntaxgym.check(FOLDER / f"{name}.json", {}) == []


@suites
def test_the_meta_block_is_complete(name: str) -> None:
    meta = load(name)["meta"]
    assert meta["name"] == name
    assert meta["metric"] == "sum"
    assert meta["author"] == "The wug authors"
    assert meta["tags"]
    assert meta["description"]
    assert re.search(r"\((19|20)\d\d\)", meta["reference"])


@suites
def test_items_are_numbered_and_have_every_condition_and_region_in_order(name: str) -> None:
    data = load(name)
    count = len(data["region_meta"])
    assert list(data["region_meta"]) == [str(n) for n in range(1, count + 1)]
    assert [item["item_number"] for item in data["items"]] == list(range(1, 25))
    for item in data["items"]:
        assert [c["condition_name"] for c in item["conditions"]] == CONDITIONS[name]
        for condition in item["conditions"]:
            assert [r["region_number"] for r in condition["regions"]] == list(range(1, count + 1))


@suites
def test_regions_are_clean_text_and_only_the_designed_ones_are_ever_empty(name: str) -> None:
    empty = {
        "wug_garden_path_mvrr": {(2, "reduced_ambig"), (2, "reduced_unambig")},
        "wug_garden_path_npz": {(3, "ambig_nocomma"), (3, "unambig_nocomma")},
        "wug_filler_gap": {(5, "what_gap"), (5, "that_gap")},
    }.get(name, set())
    for item in items(name):
        for condition, sentence in item.items():
            for number, content in enumerate(sentence, start=1):
                assert content == " ".join(content.split())
                assert (content == "") == ((number, condition) in empty)
            assert sentence[0][0].isupper()
            assert sentence[-1] == "."
            assert re.fullmatch(r"[A-Za-z ]+", " ".join(sentence[:-1]).replace(" ,", ""))


def test_no_sentence_stands_twice_in_the_collection() -> None:
    sentences = [tuple(filter(None, s)) for name in CONDITIONS for item in items(name) for s in item.values()]
    assert len(set(sentences)) == len(sentences) == 6 * 24 * 4


@suites
def test_no_lexical_word_stands_in_more_than_three_items(name: str) -> None:
    counts = Counter[str]()
    for item in items(name):
        words = {word for sentence in item.values() for word in " ".join(sentence).lower().split()}
        counts.update(words - GRAMMAR - {",", "."})
    assert [word for word, count in counts.items() if count > 3] == []


@pytest.mark.parametrize(
    ("name", "condition", "regions"),
    [
        ("wug_agreement_pp", "sing_match", (1, 3)),
        ("wug_filler_gap", "that_nogap", (3, 4, 5, 6)),
        ("wug_garden_path_mvrr", "reduced_ambig", (1, 3, 4, 5)),
        ("wug_garden_path_npz", "ambig_comma", (1, 2, 4)),
        ("wug_npi_licensing", "no_the", (2, 5, 8)),
        ("wug_reflexive", "sing_match", (1, 2, 4)),
    ],
)
def test_no_two_items_share_a_leading_word(name: str, condition: str, regions: tuple[int, ...]) -> None:
    for region in regions:
        contents = column(name, condition, region)
        assert len(set(contents)) == len(contents), region


def test_agreement_pairs_differ_in_the_verb_alone() -> None:
    for item in items("wug_agreement_pp"):
        assert differing(item["sing_match"], item["sing_mismatch"]) == [4]
        assert differing(item["plur_match"], item["plur_mismatch"]) == [4]
        assert item["sing_match"][3] == item["plur_mismatch"][3]
        assert item["plur_match"][3] == item["sing_mismatch"][3]


def opposite_numbers(item: dict[str, Sentence], last: int) -> tuple[Sentence, Sentence]:
    """The singular and the plural condition, after checking the subject, the attractor, and the last region."""
    singular, plural = item["sing_match"], item["plur_match"]
    assert differing(singular, plural) == [1, 3, last]
    assert plural[0] == plural_of(singular[0])
    assert singular[2] == plural_of(plural[2])
    return singular, plural


def test_agreement_has_subject_attractor_and_verb_in_opposite_numbers() -> None:
    for item in items("wug_agreement_pp"):
        singular, plural = opposite_numbers(item, 4)
        third, bare = singular[3], plural[3]
        assert (third, bare) in {("is", "are"), ("was", "were"), ("has", "have")} or third == f"{bare}s"


def test_agreement_verbs_are_balanced() -> None:
    counts = Counter(column("wug_agreement_pp", "sing_match", 4))
    assert [counts.pop(verb) for verb in ("is", "was", "has")] == [4, 4, 4]
    assert set(counts.values()) == {1}


def test_mvrr_crosses_reduction_with_the_participle_and_keeps_all_else() -> None:
    for item in items("wug_garden_path_mvrr"):
        assert differing(item["reduced_ambig"], item["unreduced_ambig"]) == [2]
        assert differing(item["reduced_unambig"], item["unreduced_unambig"]) == [2]
        assert differing(item["reduced_ambig"], item["reduced_unambig"]) == [3]
        assert item["unreduced_ambig"][1] in {"who was", "who were", "that was", "that were"}


def test_mvrr_ambiguous_participles_have_the_form_of_a_past_tense_and_the_others_not() -> None:
    strong = {"sent", "paid", "sold", "brought", "hung", "left"}
    ambiguous = column("wug_garden_path_mvrr", "reduced_ambig", 3)
    assert all(word in strong or word.endswith("ed") for word in ambiguous)
    unambiguous = column("wug_garden_path_mvrr", "reduced_unambig", 3)
    assert all(word.endswith("n") for word in unambiguous)
    assert max(Counter(unambiguous).values()) <= 3


def test_npz_crosses_the_comma_with_the_verb_and_keeps_all_else() -> None:
    for item in items("wug_garden_path_npz"):
        assert differing(item["ambig_nocomma"], item["ambig_comma"]) == [3]
        assert differing(item["unambig_nocomma"], item["unambig_comma"]) == [3]
        assert differing(item["ambig_nocomma"], item["unambig_nocomma"]) == [2]
        assert item["ambig_comma"][2] == ","


@pytest.mark.parametrize("name", ["wug_garden_path_mvrr", "wug_garden_path_npz"])
def test_no_disambiguating_verb_has_the_form_of_a_regular_participle(name: str) -> None:
    for item in items(name):
        (verb,) = {sentence[4] for sentence in item.values()}
        assert " " not in verb
        assert not verb.endswith(("ed", "en"))


def test_filler_gap_crosses_the_complementizer_with_the_object_and_keeps_all_else() -> None:
    for item in items("wug_filler_gap"):
        assert differing(item["what_gap"], item["that_gap"]) == [2]
        assert differing(item["what_nogap"], item["that_nogap"]) == [2]
        assert differing(item["what_gap"], item["what_nogap"]) == [5]
        assert (item["what_gap"][1], item["that_gap"][1]) == ("what", "that")


def test_filler_gap_without_its_filler_cannot_be_saved_by_a_reduced_relative() -> None:
    # "that the miner found in the river (was ...)": not with a name, and not with a verb whose participle differs.
    finite = set("took slew wore undertook bore forsook".split())
    for item in items("wug_filler_gap"):
        subject, verb = item["that_gap"][2:4]
        assert re.fullmatch("[A-Z][a-z]+", subject) or verb in finite


def test_filler_gap_has_no_verb_that_allows_a_later_gap() -> None:
    assert not {"put", "placed", "threw", "used", "needed", "kept"} & set(column("wug_filler_gap", "what_nogap", 4))


def test_npz_ambiguous_verbs_take_no_clausal_complement() -> None:
    verbs = {
        word for condition in ("ambig_comma", "unambig_comma") for word in column("wug_garden_path_npz", condition, 2)
    }
    assert (
        not {"read", "wrote", "commanded", "disagreed", "said", "knew", "heard", "saw", "complained", "argued"} & verbs
    )


def test_agreement_verbs_are_neither_modals_nor_nouns() -> None:
    verbs = set(column("wug_agreement_pp", "plur_match", 4))
    assert not {"need", "dare", "lead", "smell", "look", "play", "rest", "walk"} & verbs


def test_npi_continuations_are_events_so_that_ever_cannot_mean_always() -> None:
    states = {"been rich", "known hunger", "laughed aloud"}
    assert not states & set(column("wug_npi_licensing", "the_the", 8))


def test_npi_conditions_differ_in_the_two_determiners_they_are_named_for() -> None:
    for item in items("wug_npi_licensing"):
        assert differing(item["no_the"], item["the_the"]) == [1]
        assert differing(item["no_the"], item["no_no"]) == [4]
        assert differing(item["no_the"], item["the_no"]) == [1, 4]
        for name, sentence in item.items():
            assert f"{sentence[0].lower()}_{sentence[3]}" == name


def test_npi_items_are_half_ever_and_half_any() -> None:
    assert column("wug_npi_licensing", "no_the", 7) == ["ever"] * 12 + ["any"] * 12


def test_reflexive_pairs_differ_in_the_pronoun_alone() -> None:
    for item in items("wug_reflexive"):
        assert differing(item["sing_match"], item["sing_mismatch"]) == [5]
        assert differing(item["plur_match"], item["plur_mismatch"]) == [5]
        assert item["sing_match"][4] == item["plur_mismatch"][4]
        assert item["plur_match"][4] == item["sing_mismatch"][4] == "themselves"


def test_reflexive_has_subject_and_attractor_in_opposite_numbers() -> None:
    for item in items("wug_reflexive"):
        opposite_numbers(item, 5)


def test_reflexive_items_are_half_male_and_half_female_in_subject_and_attractor() -> None:
    assert column("wug_reflexive", "sing_match", 5) == ["himself"] * 12 + ["herself"] * 12
    nouns = [s.split()[1] for c, r in (("sing_match", 1), ("plur_match", 3)) for s in column("wug_reflexive", c, r)]
    male = set(nouns[:12] + nouns[24:36])
    female = set(nouns[12:24] + nouns[36:])
    assert not male & female


def plural_of(phrase: str) -> str:
    """The plural of a noun phrase of these suites."""
    if phrase.endswith(("man", "woman")):
        return f"{phrase[:-3]}men"
    if phrase.endswith("wife"):
        return f"{phrase[:-2]}ves"
    if phrase.endswith("y") and phrase[-2] not in "aeiou":
        return f"{phrase[:-1]}ies"
    return f"{phrase}es" if phrase.endswith(("s", "x", "ch")) else f"{phrase}s"
