"""What `wug make cogs` makes: forms that the judge accepts, and nothing of what is held out in training."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from command_line import refused, wug
from wug.errors import InputError
from wug.families import cogs
from wug.families.cogs import make as cogs_make
from wug.families.cogs.logical_form import parse, violations
from wug.families.cogs.make import LEXICAL, STRUCTURAL, Files, Sizes, make
from wug.families.cogs.make.grammar import CogsLine, english
from wug.families.cogs.read import GENERALISATIONS
from wug.files import checksum

SIZES = Sizes(train=4_000, test=200, each=30)
NAMES = ("train.tsv", "dev.tsv", "test.tsv", "gen.tsv")


@cache
def made() -> Files:
    return make(1, SIZES)


@dataclass(frozen=True)
class Event:
    """A verb with its arguments, as read off a line without the program that made it."""

    verb: str
    form: str
    """`active`, `passive` or `infinitive`, by the word before it."""
    arguments: Mapping[str, str]
    """The words of the roles, in their order."""
    before: frozenset[str]
    """The roles whose words precede the verb."""
    modified: frozenset[str]
    """The roles whose nouns have a modifier."""

    @property
    def subject_modified(self) -> bool:
        return bool(self.before & self.modified)


def events(line: CogsLine) -> Iterator[Event]:
    words = line.sentence.split()
    heads = set(re.findall(r"nmod \. \w+ \( x _ (\d+)", line.form))
    found: dict[int, list[tuple[str, str, str]]] = {}
    for verb, role, event, other in re.findall(
        r"(\w+) \. (agent|theme|recipient|xcomp|ccomp) \( x _ (\d+) , (x _ \d+|\w+) \)", line.form
    ):
        found.setdefault(int(event), []).append((verb, role, other.removeprefix("x _ ")))
    for event, terms in found.items():
        places = {role: int(other) if other.isdecimal() else words.index(other) for _, role, other in terms}
        yield Event(
            terms[0][0],
            {"was": "passive", "to": "infinitive"}.get(words[event - 1], "active"),
            {role: words[places[role]] for _, role, _ in terms},
            frozenset(role for role, place in places.items() if place < event),
            frozenset(role for _, role, other in terms if other in heads),
        )


def nested_modifiers(line: CogsLine) -> int:
    inner = dict(re.findall(r"nmod \. \w+ \( x _ (\d+) , x _ (\d+)", line.form))

    def depth(index: str) -> int:
        return 1 + depth(inner[index]) if index in inner else 0

    return max((depth(index) for index in inner), default=0)


def nested_clauses(line: CogsLine) -> int:
    return line.form.count(" . ccomp (")


def words_of(line: CogsLine) -> set[str]:
    return set(line.sentence.split()) | set(line.form.split())


def held_out_word(seen: str) -> str:
    lexicon = english()
    return lexicon.held_out[seen] if seen in lexicon.held_out else lexicon.held_out_verbs[seen].lemma


@pytest.mark.parametrize("name", NAMES)
def test_the_judge_finds_nothing_wrong_with_any_form(name: str) -> None:
    assert [line for line in made()[name] if violations(parse(line.form))] == []


@pytest.mark.parametrize("name", NAMES)
def test_an_index_is_the_place_of_a_word_that_is_not_a_function_word(name: str) -> None:
    function_words = {"a", "the", "was", "by", "to", "that", "in", "on", "beside", "."}
    for line in made()[name]:
        words = line.sentence.lower().split()
        for index in re.findall(r"x _ (\d+)", line.form):
            assert words[int(index)] not in function_words


@pytest.mark.parametrize("name", NAMES)
def test_terms_stand_in_the_order_of_their_first_index(name: str) -> None:
    for line in made()[name]:
        definite, _, body = line.form.rpartition(" ; ")
        for part in (definite.split(";"), body.split(" AND ")):
            places = [int(index) for index in re.findall(r"\( x _ (\d+)", " ".join(part))]
            assert places == sorted(places)


def test_no_sentence_comes_twice() -> None:
    sentences = [line.sentence for lines in made().values() for line in lines]
    assert len(set(sentences)) == len(sentences) == 4_000 + 2 * 200 + 21 * 30


def test_training_has_the_published_numbers_of_primitives_and_single_examples() -> None:
    types = Counter(line.type for line in made()["train.tsv"])
    assert types.pop("in_distribution") == SIZES.train - 155
    assert types.pop("primitive") == 143
    assert len(types) == 12
    assert set(types.values()) == {1}
    assert all(name.startswith("exposure_example_") for name in types)


def test_the_primitives_are_of_the_published_kinds() -> None:
    forms = [line.form for line in made()["train.tsv"] if line.type == "primitive"]
    assert sum("LAMBDA" not in form for form in forms) == 21
    assert sum(form.count("LAMBDA") == 1 for form in forms) == 41
    assert sum(form.count("LAMBDA") == 2 and "agent" in form for form in forms) == 21
    assert sum(form.count("LAMBDA") == 2 and "theme" in form for form in forms) == 20
    assert sum(form.count("LAMBDA") == 3 for form in forms) == 40


def test_gen_has_every_type_of_cogs_equally_often() -> None:
    assert Counter(line.type for line in made()["gen.tsv"]) == dict.fromkeys(GENERALISATIONS, 30)


def test_all_words_of_the_tests_are_in_training() -> None:
    known = {word for line in made()["train.tsv"] for word in line.sentence.split()}
    for name in NAMES[1:]:
        assert {word for line in made()[name] for word in line.sentence.split()} <= known


@pytest.mark.parametrize("seen", [*english().held_out, *english().held_out_verbs])
def test_training_shows_a_held_out_word_in_one_line_only(seen: str) -> None:
    kind = "primitive" if seen.startswith("prim_") else f"exposure_example_{seen}"
    assert [line.type for line in made()["train.tsv"] if held_out_word(seen) in words_of(line)] == [kind]
    assert not any(held_out_word(seen) in words_of(line) for name in ("dev.tsv", "test.tsv") for line in made()[name])


@pytest.mark.parametrize("seen", [*english().held_out, *english().held_out_verbs])
def test_a_held_out_word_is_shown_as_what_it_is_called(seen: str) -> None:
    if seen.startswith("prim_"):
        return
    word = held_out_word(seen)
    (line,) = [line for line in made()["train.tsv"] if line.type == f"exposure_example_{seen}"]
    (event,) = [event for event in events(line) if word in (event.verb, *event.arguments.values())]
    roles = [role for role, argument in event.arguments.items() if argument == word]
    match seen:
        case "subj_common" | "subj_proper" | "transitive_subj":
            assert (roles, event.form) == (["agent"], "active")
            assert "agent" in event.before
        case "obj_common" | "obj_proper":
            assert (roles, event.form, event.before) == (["theme"], "active", frozenset({"agent"}))
        case "unacc_subj":
            assert (roles, event.form, set(event.arguments)) == (["theme"], "active", {"theme"})
        case "active":
            assert (list(event.arguments), event.form) == (["agent", "theme"], "active")
        case "passive":
            assert event.form == "passive"
        case "obj_omitted_transitive":
            assert (list(event.arguments), event.form) == (["agent"], "active")
        case "unacc":
            assert (list(event.arguments), event.form) == (["theme"], "active")
        case "do_dative":
            assert (list(event.arguments), event.form) == (["agent", "recipient", "theme"], "active")
        case "pp_dative":
            assert (list(event.arguments), event.form) == (["agent", "theme", "recipient"], "active")
        case _:
            pytest.fail(f"nobody says what {seen} is shown as")


@pytest.mark.parametrize("kind", LEXICAL)
def test_every_line_of_a_lexical_type_has_the_word_in_its_new_place(kind: str) -> None:
    word = held_out_word(LEXICAL[kind].word)
    for line in made()["gen.tsv"]:
        if line.type != kind:
            continue
        (event,) = [event for event in events(line) if word in (event.verb, *event.arguments.values())][:1]
        roles = [role for role, argument in event.arguments.items() if argument == word]
        shape = (list(event.arguments), event.form)
        if "_to_obj_" in kind:
            assert (roles, event.form, event.before) == (["theme"], "active", frozenset({"agent"}))
        elif "_to_subj_" in kind:
            assert (roles, event.form, event.before) == (["agent"], "active", frozenset({"agent"}))
        elif kind == "prim_to_inf_arg":
            assert (event.arguments["xcomp"], event.form) == (word, "active")
        elif kind == "active_to_passive":
            assert event.form == "passive"
        elif kind.endswith("_to_transitive") or kind == "passive_to_active":
            assert shape == (["agent", "theme"], "active")
        elif kind == "do_dative_to_pp_dative":
            assert shape == (["agent", "theme", "recipient"], "active")
        elif kind == "pp_dative_to_do_dative":
            assert shape == (["agent", "recipient", "theme"], "active")
        else:
            role = "theme" if kind.endswith("as_unacc_subj") else "agent"
            assert (roles, shape) == ([role], ([role], "active"))


def test_the_two_types_of_new_agents_have_verbs_of_two_classes() -> None:
    lexicon = english()
    for kind, name in (("unerg_subj", "unergative"), ("obj_omitted_transitive_subj", "omissible")):
        verbs = {verb.lemma for verb in lexicon.verbs[name].items}
        lines = [line for line in made()["gen.tsv"] if line.type == f"only_seen_as_unacc_subj_as_{kind}"]
        assert all(any(e.verb in verbs and e.arguments["agent"] == "turtle" for e in events(line)) for line in lines)


def test_no_subject_is_modified_but_in_the_type_that_asks_for_it() -> None:
    for name in NAMES:
        for line in made()[name]:
            modified = any(event.subject_modified for event in events(line))
            assert modified == (line.type == "obj_pp_to_subj_pp"), line


def test_only_themes_after_the_verb_are_modified_in_training() -> None:
    for line in made()["train.tsv"]:
        for event in events(line):
            assert event.modified <= {"theme"} - event.before


@pytest.mark.parametrize(("kind", "depth"), [("pp_recursion", nested_modifiers), ("cp_recursion", nested_clauses)])
def test_training_nests_twice_at_most_and_the_test_three_to_twelve_times(kind: str, depth: object) -> None:
    assert callable(depth)
    for name in NAMES:
        for line in made()[name]:
            assert line.type == kind or depth(line) <= 2
    found = Counter(depth(line) for line in made()["gen.tsv"] if line.type == kind)
    assert found == dict.fromkeys(range(3, 13), 3)
    assert 2 in {depth(line) for line in made()["train.tsv"]}


def test_lexical_and_structural_types_are_those_of_the_suite() -> None:
    assert {name for name, known in GENERALISATIONS.items() if known.kind == "lexical"} == set(LEXICAL)
    assert {name for name, known in GENERALISATIONS.items() if known.kind == "structural"} == set(STRUCTURAL)


def test_the_same_seed_makes_the_same_lines_on_every_python() -> None:
    small = make(5, Sizes(600, 20, 10))
    assert checksum(*(str(line) for lines in small.values() for line in lines)) == "00c5919958c0"


def test_another_seed_makes_other_lines() -> None:
    assert make(2, Sizes(600, 5, 1))["dev.tsv"] != make(3, Sizes(600, 5, 1))["dev.tsv"]


def test_training_does_not_depend_on_the_sizes_of_the_tests() -> None:
    assert make(1, Sizes(4_000, 1, 1))["train.tsv"] == made()["train.tsv"]


def test_fewer_lines_of_a_type_are_the_first_of_more() -> None:
    few = make(1, Sizes(4_000, 200, 3))["gen.tsv"]
    assert set(few) <= set(made()["gen.tsv"])


def test_too_few_training_lines_are_refused() -> None:
    with pytest.raises(InputError, match="155 are primitives"):
        make(1, Sizes(train=155))


def test_more_sentences_than_there_are_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cogs_make, "MAX_DRAWS", 50)
    with pytest.raises(InputError, match="Make fewer of them, or more training lines"):
        make(1, Sizes(160, 1, 50))


def test_the_command_writes_four_files_that_the_check_finds_good(tmp_path: Path) -> None:
    said = wug("make", "cogs", "--train", 600, "--test", 20, "--gen-per-type", 10, "-o", tmp_path / "mine")
    assert (said.code, said.out) == (0, "")
    assert "gen.tsv 210 lines" in said.err
    assert [len((tmp_path / "mine" / name).read_text().splitlines()) for name in NAMES] == [600, 20, 20, 210]
    assert cogs.check(tmp_path / "mine", {}) == []
    assert [(suite.name, len(suite)) for suite in cogs.read(tmp_path / "mine", {})] == [
        ("cogs-dev", 20),
        ("cogs-test", 20),
        ("cogs-gen", 210),
    ]


def test_the_command_does_not_write_over_files(tmp_path: Path) -> None:
    (tmp_path / "gen.tsv").write_text("mine")
    refused(wug("make", "cogs", "-o", tmp_path), "gen.tsv", "--force")
    assert (tmp_path / "gen.tsv").read_text() == "mine"
