"""The oracle: right by the rules, wrong as often as stated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug import registry
from wug.errors import InputError, UnknownName
from wug.families.pcfgset.language import meaning
from wug.models.oracle import Oracle, load
from wug.models.spec import parse
from wug.traits import FamilyTraits

SOURCES = [f"reverse {letter}{number} B2" for letter in "ABCDEFGHIJ" for number in range(1, 21)]


def oracle(name: str) -> Oracle:
    return load(parse(name, ["oracle"]))


def test_it_answers_by_the_rules() -> None:
    model = oracle("oracle:pcfgset")
    assert model.generate(["repeat A1 B2", "append A1 , B2", "copy"]) == ["A1 B2 A1 B2", "A1 B2", ""]
    assert (model.id, dict(model.options)) == ("oracle/pcfgset", {})


def test_it_errs_as_often_as_stated() -> None:
    answers = oracle("oracle:pcfgset?error=0.25&seed=1").generate(SOURCES)
    wrong = sum(answer != meaning(source) for source, answer in zip(SOURCES, answers, strict=True))
    assert 30 <= wrong <= 70  # of 200, 50 expected


@pytest.mark.parametrize("mistake", ["symbol", "early", "empty"])
def test_with_error_1_every_answer_is_wrong(mistake: str) -> None:
    answers = oracle(f"oracle:pcfgset?error=1&mistake={mistake}").generate([*SOURCES, "copy"])
    assert all(answer != meaning(source) for source, answer in zip(SOURCES, answers, strict=False))
    assert answers[-1] != ""


def test_a_mistake_is_of_the_kind_of_the_option() -> None:
    assert oracle("oracle:pcfgset?error=1&mistake=early").generate(["copy A1 B2"]) == ["A1"]
    assert oracle("oracle:pcfgset?error=1&mistake=empty").generate(["copy A1 B2"]) == [""]


@given(st.permutations(SOURCES[:20]))
def test_an_output_does_not_depend_on_other_sources(sources: list[str]) -> None:
    model = Oracle("pcfgset", error=0.5, seed=3)
    assert model.generate(sources) == [model.generate([source])[0] for source in sources]


def test_another_seed_errs_elsewhere() -> None:
    one, two = (oracle(f"oracle:pcfgset?error=0.5&seed={seed}").generate(SOURCES) for seed in (1, 2))
    assert one != two


def test_it_can_read_exceptions_as_exceptions() -> None:
    model = oracle("oracle:pcfgset?reading=exception")
    assert model.generate(["reverse echo A1 B2", "reverse A1 B2"]) == ["A1 B2 B2", "B2 A1"]
    assert dict(model.options) == {"reading": "exception"}


def test_what_changes_its_answers_is_among_its_options() -> None:
    model = oracle("oracle:pcfgset?error=0.1&seed=1")
    assert dict(model.options) == {"error": "0.1", "mistake": "symbol", "seed": "1"}


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("oracle:pcfgsett", UnknownName, "Did you mean 'pcfgset'"),
        ("oracle:pcfgset?eror=0.1", UnknownName, "Did you mean 'error'"),
        ("oracle:pcfgset?error=2", InputError, "error=2: write a number from 0 to 1"),
        ("oracle:pcfgset?error=nan", InputError, "error=nan: write a number"),
        ("oracle:pcfgset?error=much", InputError, "error=much: write a number"),
        ("oracle:pcfgset?seed=one", InputError, "seed=one: write a whole number"),
        ("oracle:pcfgset?mistake=symbl", InputError, "mistake=symbl: use one of symbol, early, empty"),
        ("oracle:pcfgset?reading=rules", InputError, "reading=rules: use one of rule, exception"),
    ],
)
def test_a_wrong_option_is_named(name: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        oracle(name)


def test_every_family_with_an_oracle_declares_the_symbols_of_wrong_outputs() -> None:
    assert all(family.TRAITS.oracle_symbols for family in registry.families() if family.oracle)


def test_without_symbols_it_makes_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "family_traits", lambda name: FamilyTraits())
    assert oracle("oracle:pcfgset").generate(["copy A1"]) == ["A1"]
    with pytest.raises(InputError, match="needs symbols"):
        oracle("oracle:pcfgset?error=0.1")
