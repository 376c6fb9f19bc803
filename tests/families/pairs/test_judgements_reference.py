"""Every value of `judgements/expected.tsv`: released scores and responses of people, judged by the command line."""

from __future__ import annotations

import csv
import functools
import itertools
from collections.abc import Sequence

import pytest

from command_line import CommandOutput, wug
from reference import FOLDER, reference

EXPECTED = "judgements/expected.tsv"
FORCED_CHOICE = tuple(
    f"{order}=meta_sum_logprob_{order}_1,meta_sum_logprob_{order}_2" for order in ("good_first", "bad_first")
)
SURPRISAL = "scores {0}_surprisal_grammatical, {0}_surprisal_ungrammatical, lower is better"
ANSWERS = ("answer=response_clean", "labels=C,N", "good=grammatical", "bad=ungrammatical")
PAIRS = {
    "column response_clean, labels C and N; neither: invalid": ANSWERS,
    "column response_clean; an invalid answer is no success": ANSWERS,
    "direct": ("good_score=direct_sum_logprob_good_sentence", "bad_score=direct_sum_logprob_bad_sentence"),
    "forced choice": FORCED_CHOICE,
    "margin": ("margin=sum_surprisal_diff_presented", "human=human_judged_as_gramm", "model=model"),
    "scores slor_grammatical, slor_ungrammatical": ("good_score=slor_grammatical", "bad_score=slor_ungrammatical"),
    **{
        SURPRISAL.format(kind): (
            f"good_score={kind}_surprisal_grammatical",
            f"bad_score={kind}_surprisal_ungrammatical",
            "lower_is_better=yes",
        )
        for kind in ("sum", "mean")
    },
    "wide table, default column names": (),
    "wide table, lower is better": ("lower_is_better=yes",),
    "margin: difference of LS; human: difference of ME": (
        "good_score=Good Sentence LS",
        "bad_score=Bad Sentence LS",
        "human=Good Sentence ME,Bad Sentence ME",
    ),
}
"""The options of `wug score pairs` for each rule of the expected values."""


BLIMP = "approved assignments; paradigms of the published set"
PEOPLE = {
    BLIMP: (),
    f"{BLIMP}; 1,000 random splits, +-0.01": (),
    "approved assignments; paradigms=all (three that the published set does not have)": ("paradigms=all",),
    "all assignments, rejected ones too; paradigms of the published set": ("status=all",),
    "mean of acc over the 118 paradigms of the published set (those with acc >= 0.7)": ("paradigms=published",),
    "ratings Good Sentence LS, Bad Sentence LS (z-scored by the authors)": (
        "rating=Good Sentence LS,Bad Sentence LS",
        "z_scored=yes",
    ),
    "long table: item phenomenon+test_item, rater participant, correct accuracy; attention checks left out": (
        "item=phenomenon,test_item",
        "rater=participant",
        "correct=accuracy",
        "groups=phenomenon",
        "exclude=phenomenon=attention check",
    ),
}
"""The options of `wug score people`; files in a published format need none."""


def _rows() -> list[dict[str, str]]:
    path = FOLDER / EXPECTED
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for before, row in itertools.pairwise(rows):
        if row["rule"] == "the same":
            row["rule"] = before["rule"]
    return rows


@functools.cache
def _scored(command: str, file: str, options: Sequence[str]) -> CommandOutput:
    flag = "--responses" if command == "people" else "--predictions"
    given = [part for option in options for part in ("-S", option)]
    return wug("score", command, flag, reference(f"judgements/{file}"), *given, "--no-save", "--format", "json")


def _command(row: dict[str, str]) -> tuple[str, tuple[str, ...]] | None:
    """The command and its options that give a value; None if no command of `wug score` does."""
    file, rule = row["file"], row["rule"]
    if rule in PAIRS:
        return "pairs", PAIRS[rule]
    if file.startswith(("bert_syntax", "linking/long")):
        return "pairs", ()
    if rule in PEOPLE:
        return "people", PEOPLE[rule]
    if file.startswith(("blimp_people", "turblimp", "qfrblimp", "zhoblimp")) and row["value"] != "refused":
        return "people", ()
    return None


ROWS = [row for row in _rows() if _command(row) is not None]


def test_the_reference_values_are_all_checked() -> None:
    reference(EXPECTED)
    assert len(ROWS) == 277


def test_counts_per_paradigm_have_no_majority() -> None:
    (result,) = _scored("people", "zhoblimp/human_validation_result.csv", ()).results
    assert {one["metric"] for one in result["estimates"]} == {"agreement", "paradigm_agreement"}
    assert "no majority agreement" in result["warnings"][0]


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['file']}-{row['metric']}-{row['group']}-{row['rule'][:20]}"
)
def test_a_published_value_is_reproduced(row: dict[str, str]) -> None:
    command = _command(row)
    assert command is not None
    said = _scored(command[0], row["file"], command[1])
    (result,) = said.results
    found = {(one["metric"], one["group"]): one for one in result["estimates"]}
    estimate = found[row["metric"], row["group"]]
    tolerance = 0.01 if row["metric"] == "split_half" else 6e-7
    assert estimate["value"] == pytest.approx(float(row["value"]), abs=tolerance)
    assert estimate["n"] == int(row["n"])
