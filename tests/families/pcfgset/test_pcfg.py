"""The language of PCFG SET: reading, meaning and exceptions."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import reference
from wug.errors import FormulaError, InputError
from wug.families.pcfgset.language import (
    BINARY,
    EXCEPTIONS,
    TWINNED,
    UNARY,
    answer,
    apply,
    arity,
    exceptional,
    exceptions,
    meaning,
    pairs,
    parse,
)

SYMBOLS = st.builds("{}{}".format, st.sampled_from("ABCXYZ"), st.integers(1, 20))
STRINGS = st.lists(SYMBOLS, min_size=1, max_size=5).map(" ".join)
SOURCES = st.recursive(
    STRINGS,
    lambda parts: (
        st.builds("{} {}".format, st.sampled_from(sorted(UNARY)), parts)
        | st.builds("{} {} , {}".format, st.sampled_from(sorted(BINARY)), parts, parts)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("copy A1 B2 C3", "A1 B2 C3"),
        ("reverse A1 B2 C3", "C3 B2 A1"),
        ("repeat A1 B2", "A1 B2 A1 B2"),
        ("shift A1 B2 C3", "B2 C3 A1"),
        ("echo A1 B2", "A1 B2 B2"),
        ("swap_first_last A1 B2 C3", "C3 B2 A1"),
        ("append A1 B2 , C3 D4", "A1 B2 C3 D4"),
        ("prepend A1 B2 , C3 D4", "C3 D4 A1 B2"),
        ("remove_first A1 B2 , C3 D4", "C3 D4"),
        ("remove_second A1 B2 , C3 D4", "A1 B2"),
    ],
)
def test_each_function_means_what_the_paper_says(source: str, target: str) -> None:
    assert meaning(source) == target


def test_arguments_nest_without_brackets() -> None:
    # append (swap (remove_first (reverse A1 B2), C3 D4), echo E5 F6)
    source = "append swap_first_last remove_first reverse A1 B2 , C3 D4 , echo E5 F6"
    assert meaning(source) == "D4 C3 E5 F6 F6"


def test_a_plain_string_means_itself() -> None:
    found = parse("A1 B2")
    assert (found.depth, found.functions, found.outermost) == (0, 0, None)
    assert meaning("A1 B2") == "A1 B2"


@pytest.mark.parametrize("function", TWINNED)
def test_a_twin_means_the_same(function: str) -> None:
    rest = "A1 B2 C3" if arity(function) == 1 else "A1 B2 , C3 D4"
    assert meaning(f"{function}_twin {rest}") == meaning(f"{function} {rest}")


def test_steps_come_innermost_first_and_left_before_right() -> None:
    found = parse("append shift A1 B2 , echo reverse C3 D4")
    assert [step.function for step in found.steps] == ["shift", "reverse", "echo", "append"]
    assert [step.arguments for step in found.steps] == [(("A1", "B2"),), (("C3", "D4"),), (1,), (0, 2)]
    assert found.depths == (1, 1, 2, 3)


def test_depth_length_and_functions_are_counted() -> None:
    found = parse("append shift A1 B2 , echo reverse C3 D4")
    assert (found.depth, found.length, found.functions, found.outermost) == (3, 9, 4, "append")
    assert found.strings == (("A1", "B2"), ("C3", "D4"))


@pytest.mark.parametrize(
    ("source", "start", "message"),
    [
        ("copy", 4, "'copy' has no argument"),
        ("", 0, "an empty source"),
        ("append A1 B2", 0, "lacks its second argument"),
        ("append A1 B2 ,", 14, "no string after the last comma"),
        ("append , A1 B2", 7, "'append' has no argument"),
        ("append A1 , , B2", 12, "no string before this comma"),
        ("append A1 copy B2 , C3", 10, "a comma is missing before 'copy'"),
        ("revers A1 B2", 0, "Did you mean 'reverse'?"),
        ("copy A1 B21", 8, "unknown word 'B21'. Symbols are A1 to Z20"),
        ("copy A1 , B2", 8, "this comma separates nothing"),
    ],
)
def test_a_source_without_meaning_shows_where_it_fails(source: str, start: int, message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(source)
    assert caught.value.start == start
    assert message in str(caught.value)
    assert f"\n    {source}\n    {' ' * start}^" in str(caught.value)


def test_what_answers_make_of_a_source_gets_an_answer() -> None:
    assert answer("copy") == answer("echo") == answer("append A1") == ""
    assert answer("swap_first_last A1") == answer("append , A1") == "A1"
    assert answer("remove_second A1 B2 ,") == "A1 B2"
    assert answer("reverse <unk> A1") == "A1 <unk>"


def test_a_meaning_of_billions_of_symbols_is_refused() -> None:
    source = "repeat " * 40 + "A1 B2"
    with pytest.raises(InputError, match="more than 1,000,000 symbols"):
        meaning(source)
    assert answer(source) == ""


def test_a_very_deep_source_is_read() -> None:
    assert meaning("copy " * 20_000 + "A1 B2") == "A1 B2"


def test_many_functions_that_remove_what_repeats_are_computed() -> None:
    assert meaning("remove_first " + "repeat " * 16 + "A1 , B2") == "B2"


def test_functions_take_strings_of_no_symbols() -> None:
    for name in UNARY:
        assert apply(name, [()]) == ()
    for name in BINARY:
        assert apply(name, [(), ()]) == ()


def test_pairs_are_neighbouring_functions() -> None:
    assert pairs("append reverse echo A1 B2 , copy C3".split()) == ["append reverse", "reverse echo"]


def test_an_exception_rewrites_its_pair_and_no_other() -> None:
    source = "prepend reverse echo A1 B2 , C3 D4"
    assert exceptions(source) == ["reverse echo", "prepend reverse"]
    assert exceptional(source, "reverse echo") == "prepend echo copy A1 B2 , C3 D4"
    assert exceptional(source, "prepend reverse") == "remove_second echo echo A1 B2 , C3 D4"


def test_a_pair_is_rewritten_wherever_it_stands() -> None:
    assert exceptional("append reverse echo A1 , reverse echo B2", "reverse echo") == (
        "append echo copy A1 , echo copy B2"
    )


def test_every_exception_keeps_the_number_of_arguments() -> None:
    for pair, reading in EXCEPTIONS.items():
        assert sum(arity(word) or 0 for word in pair.split()) == sum(arity(word) or 0 for word in reading.split())


@given(SOURCES)
def test_a_source_has_the_meaning_that_its_parts_have(source: str) -> None:
    found = parse(source)
    results = found.results()
    for step, result in zip(found.steps, results, strict=True):
        parts = [" ".join(results[part] if isinstance(part, int) else part) for part in step.arguments]
        assert meaning(f"{step.function} {' , '.join(parts)}") == " ".join(result)


@given(SOURCES)
def test_reading_strictly_and_leniently_agree_where_both_can(source: str) -> None:
    assert parse(source) == parse(source, lenient=True)
    assert answer(source) == meaning(source)


@given(st.lists(st.sampled_from(["copy", "append", ",", "A1", "B2", "*1", "x"]), max_size=8).map(" ".join))
def test_any_words_are_read_or_refused(source: str) -> None:
    start = 0
    try:
        parse(source)
    except FormulaError as fault:
        start = fault.start
    assert 0 <= start <= len(source)
    assert isinstance(answer(source), str)


PUBLISHED = [
    "pcfgset/dev",
    "pcfgset/test",
    "productivity/test",
    "systematicity/test",
    "substitutivity/primitive/test",
    "substitutivity/primitive/test_twin",
    "localism/increasing_string_length/increasing_length",
    *(f"pcfgset/per_function_test_first500/test_{name}" for name in (*UNARY, *BINARY)),
]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_interpreter_agrees_with_every_published_target(name: str) -> None:
    sources, targets = (_lines(reference(f"pcfgset/{name}.{end}.gz")) for end in ("src", "tgt"))
    assert len(sources) == len(targets)
    assert [meaning(source) for source in sources] == targets


@pytest.mark.parametrize("ratio", ["0.0001", "0.0005", "0.001", "0.005"])
def test_both_readings_of_the_published_exceptions_agree(ratio: str) -> None:
    folder = reference("pcfgset/overgeneralisation")
    lead = folder / f"test_pcfg_ratio={ratio}"
    sources = _lines(Path(f"{lead}_original.src"))
    assert [meaning(source) for source in sources] == _lines(Path(f"{lead}_original.tgt"))
    for source, target in zip(sources, _lines(Path(f"{lead}_exception.tgt")), strict=True):
        assert target in [meaning(exceptional(source, pair)) for pair in exceptions(source)]


def _lines(path: Path) -> list[str]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return text.decode().splitlines()


def test_a_source_of_very_many_functions_is_refused_before_it_is_computed() -> None:
    # 20,000 results of 2 to 20,002 symbols: 200 million together.
    with pytest.raises(InputError, match=r"20,000 steps of its meaning have more than 10,000,000 symbols"):
        meaning(" ".join(["echo"] * 20_000) + " A1 B1")
    with pytest.raises(InputError, match="more than 1,000,000 symbols"):
        meaning(" ".join(["repeat"] * 20_000) + " A1 B1")
    assert meaning(" ".join(["reverse"] * 20_001) + " A1 B1") == "B1 A1"
