"""Parity of the prediction language with SyntaxGym's own parser, and with the document that describes it."""

from __future__ import annotations

import ast
import csv
import re

import pytest

from reference import reference
from wug.errors import FormulaError
from wug.families.syntaxgym.formula import parse

CONDITIONS = ["a", "b", "a b", "a.b", "a/b", "a-b_c", "é", "number_match", "number_mismatch"]
CONDITIONS += [f"cond{i}" for i in range(1, 5)]
REGIONS = {number: f"r{number}" for number in range(1, 11)}

# Read by the reference, refused here.
STRICTER = {
    "a prediction must be a comparison": ["(2;%number_match%)", "(1;%a%)", "((1;%a%))", "5"],
    "a chained comparison: the reference drops its last term": ["(1;%a%) < (1;%b%) < 3", "1 < 2 < 1", "3 > 2 > 5"],
    "& and | mixed: two documents disagree about what it means": ["1<2&2<3|1>2", "1>2&1>2|1<2", "1<2|1<2&1>2"],
    "an unknown region or condition: the reference fails later, or takes it as 0": [
        "(*;%nosuch%)=0",
        "(99;%a%)>0",
        "(1;%zzz%)>0",
    ],
    "a truth value in arithmetic, or a number in logic": ["(1<2)+1=2", "1<2 & 2", "0 & 1<2", "1<2 | 0", "1&2<3"],
}
# Refused by the reference, read here, with what it comes to.
BROADER = {
    "square brackets, which its own suites use": {
        "[[(5;%cond1%)+(3;%cond1%)] / 2] < [[(1;%cond2%)-(6;%cond2%)] / 4]": False,
        "[(1;%cond1%) > (1;%cond2%)] & [(1;%cond3%) < (1;%cond4%)]": False,
        "[(2;%cond1%) > (2;%cond2%)] | [(2;%cond3%) < (2;%cond4%)]": False,
        "~[(3;%cond1%) > (3;%cond2%)]": True,
    },
    "functions and operators that its document describes": {
        "abs((1;%cond1%) - (1;%cond2%)) > 3": False,
        "~((3;%cond1%) > (3;%cond2%))": True,
        "2*3=6": True,
        "6/2=3": True,
        "min((1;%a%),(2;%a%))<1": False,
    },
    "comparisons and words of Python": {
        "1>=1": True,
        "1<=1": True,
        "1==1": True,
        "1!=2": True,
        "1<2 and 2<3": True,
        "not 1<2": False,
    },
    "spaces, and names of conditions": {
        "( 1 ; %a% )>0": True,
        "(1;%a b%)>0": True,
        "(1;%a.b%)>0": True,
        "(1;%a/b%)>0": True,
        "(1;%é%)>0": True,
        "- 1 < 0": True,
    },
}
STRICT = {source for sources in STRICTER.values() for source in sources}
BROAD = {source: verdict for sources in BROADER.values() for source, verdict in sources.items()}


def bits(region: int | str, condition: str) -> float:
    """The values of the probe: region n has n bits in `a`, n + 10 in `b`; a sentence of ten regions has 55."""
    if region == "*":
        return 55.0
    return float(region) + (10 if condition == "b" else 0)


def verdict(source: str) -> bool | None:
    """True or False, or None where it is refused."""
    try:
        return parse(source).resolve(REGIONS, CONDITIONS).holds(bits)
    except FormulaError:
        return None


def test_every_probe_of_the_reference_parser_agrees_or_is_a_listed_difference() -> None:
    lines = reference("syntaxgym/reference_runs/grammar_probe.txt").read_text(encoding="utf-8").splitlines()
    seen = []
    for line in lines:
        probe = re.match(r"(OK  |FAIL) ('.*?')\s+(\S.*)$", line)
        if probe is None:
            assert line.startswith("---")
            continue
        source = ast.literal_eval(probe[2])
        seen.append(source)
        said = re.search(r"-> (?:np\.)?(True|False)", probe[3])
        if source in STRICT:
            assert probe[1] == "OK  "
            assert verdict(source) is None, source
        elif source in BROAD:
            assert probe[1] == "FAIL"
            assert verdict(source) is BROAD[source], source
        elif probe[1] == "FAIL":
            assert verdict(source) is None, source
        elif said:
            assert verdict(source) is (said[1] == "True"), source
        else:
            assert verdict(source) is not None, source  # read, but the probe had no values for its conditions
    assert len(seen) == 83
    assert STRICT | set(BROAD) <= set(seen)


def test_literal_formulas_come_to_what_the_reference_tests_assert() -> None:
    with reference("syntaxgym/reference_cases/extracted/formula_cases_literal.tsv").open(encoding="utf-8") as lines:
        cases = list(csv.DictReader(lines, delimiter="\t"))
    assert len(cases) == 5
    for case in cases:
        assert parse(case["formula"]).holds(bits) is (case["expected"] == "True"), case["formula"]


def formulas_of_the_document() -> list[str]:
    text = reference("../seeds/syntaxgym_suite_json.rst").read_text(encoding="utf-8")
    quoted = re.findall(r'"([^"\n]*;%[^"\n]*)"', text)
    inline = re.findall(r"^- ``([^`]*;%[^`]*)``", text, flags=re.MULTILINE)
    return quoted + inline


def test_every_formula_of_the_document_works_but_two_with_unbalanced_brackets() -> None:
    formulas = formulas_of_the_document()
    assert len(formulas) == 7
    refused = [source for source in formulas if verdict(source) is None]
    assert refused == [
        "~[[(3;%cond1%) > (3;%cond2%)]",
        "[(5;%cond1%)+(3;%cond1%)] / 2] < [[(1;%cond2%)-(6;%cond2%)] / 4]",
    ]


@pytest.mark.parametrize(
    ("source", "message", "column"),
    [
        ("~[[(3;%cond1%) > (3;%cond2%)]", "this [ is never closed", 1),
        ("[(5;%cond1%)+(3;%cond1%)] / 2] < [[(1;%cond2%)-(6;%cond2%)] / 4]", "this ] closes nothing", 29),
    ],
)
def test_an_unbalanced_bracket_has_a_caret_under_it(source: str, message: str, column: int) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(source)
    assert str(caught.value) == f"{message}\n    {source}\n    {' ' * column}^"
