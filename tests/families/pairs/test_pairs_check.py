"""What `wug check` finds in files of minimal pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import wug
from wug.evaluation.checking import check_file
from wug.families import pairs

WORDS = "pattern\tform\tform_alt\tsent\tlen_prefix\n"
SENTENCES = "pattern\tsent\tsent_alt\n"
ORIGINAL = "pattern\tconstr_id\tsent_id\tform\tclass\ttype\tprefix\tlen_prefix\tsent\n"


def found(folder: Path, text: str, name: str = "file.tab") -> list[str]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return [f"{problem.level}: {problem}" for problem in check_file(path, "pairs")]


def test_a_good_file_has_no_problems(tmp_path: Path) -> None:
    assert found(tmp_path, SENTENCES + "p\tcats sleep\tcats sleeps\n") == []


def test_identical_pairs_are_reported(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, SENTENCES + "p\tcats sleep\tcats  sleep <eos>\n")
    assert problem == "warning: item 1: the two sentences are identical but for white space: 'cats sleep'"


def test_pairs_that_differ_in_case_alone_are_reported(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, SENTENCES + "p\tcats sleep\tCats sleep\n")
    assert "differ only in case" in problem


def test_repeated_pairs_and_names_are_reported(tmp_path: Path) -> None:
    text = "pattern\tsent\tsent_alt\titem\np\ta b\ta c\tx\np\ta b\ta c\tx\n"
    assert found(tmp_path, text) == [
        "warning: item x: 2 pairs have this name",
        "warning: 1 pair is a copy of another: items x",
    ]


def test_a_pair_with_more_differences_than_its_pattern_is_reported(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, SENTENCES + "p\ta b c\ta x c\np\ta b d\ta x d\np\ta b c\tz b y\n")
    assert problem.startswith("warning: pattern p: 1 pair differs in more than one place")
    assert "items 3; 'a b c' against 'z b y'" in problem


def test_a_pattern_that_is_about_several_places_is_not_told(tmp_path: Path) -> None:
    assert found(tmp_path, SENTENCES + "p\ta b c\tz b y\np\ta b d\tz b y\n") == []


def test_a_len_prefix_that_points_at_a_neighbour_of_the_form_is_an_error(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, WORDS + "p\tis\tare\tthe cat is here\t3\n")
    assert problem == ("error: line 2: len_prefix is 3, which is 'here'; 'is' is at 2. Words are counted from 0")


def test_a_len_prefix_that_points_far_from_the_form_is_a_warning(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, WORDS + "p\tis\tare\tthe cat is here at home\t5\n")
    assert problem == "warning: line 2: len_prefix is 5, which is 'home'; 'is' is at 2"


def test_third_words_in_the_place_of_the_target_are_counted(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, WORDS + "p\tis\tare\tthe cat was here\t2\np\tis\tare\ta cat was here\t2\n")
    assert problem.startswith("warning: 2 rows have neither form at len_prefix (first: line 2, 'was')")


def test_a_len_prefix_beyond_the_sentence_is_an_error(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, WORDS + "p\tis\tare\tthe cat is <eos>\t3\n")
    assert problem == "error: line 2: len_prefix is 3, but the sentence has 3 words"


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        ("pattern\tform\tform_alt\tsent\n", "len_prefix"),
        ("form\tform_alt\tsent\tlen_prefix\n", "pattern"),
        ("pattern\tsent_alt\n", "sent"),
        ("pattern\tsent\n", "sent_alt"),
        (ORIGINAL.replace("class\t", ""), "class"),
    ],
)
def test_a_header_that_lacks_a_column_is_an_error(tmp_path: Path, header: str, missing: str) -> None:
    assert pairs.recognises(tmp_path / "file.tab", header)
    (problem,) = found(tmp_path, header)
    assert problem.startswith(f"error: header: column {missing!r} is missing.")


def test_a_column_that_nothing_is_done_with_is_a_warning(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, "pattern\tsent\tsent_alt\tnote\np\ta b\ta c\tx\n")
    assert problem == ("warning: header: unused: 'note'; to break results down by it, add -S groups=note")


def original(*rows: tuple[str, str, str, str, str]) -> str:
    """Rows of form, class, prefix, len_prefix and sent, all of one pair."""
    lines = [f"p\t1\t0\t{form}\t{kind}\toriginal\t{prefix}\t{k}\t{sent}\n" for form, kind, prefix, k, sent in rows]
    return ORIGINAL + "".join(lines)


def test_a_row_without_its_partner_is_an_error(tmp_path: Path) -> None:
    (problem,) = found(tmp_path, original(("is", "correct", "the cat", "2", "the cat is")))
    assert problem == "error: line 2: p/1/0 has no wrong row"


def test_a_pair_whose_rows_have_different_sentences_is_an_error(tmp_path: Path) -> None:
    good, bad = ("is", "correct", "the cat", "2", "the cat is"), ("are", "wrong", "the cat", "2", "the cat was")
    (problem,) = found(tmp_path, original(good, bad))
    assert problem == "error: line 3: sent is not that of the correct row: more than the target differs"


def test_a_prefix_that_is_not_what_stands_before_the_target_is_an_error(tmp_path: Path) -> None:
    good, bad = ("is", "correct", "a cat", "2", "the cat is"), ("are", "wrong", "a cat", "2", "the cat is")
    (problem,) = found(tmp_path, original(good, bad))
    assert problem == "error: line 2: len_prefix is wrong: prefix is 'a cat', but sent begins 'the cat'"


def test_unknown_words_of_a_prefix_stand_for_any_word(tmp_path: Path) -> None:
    good, bad = ("is", "correct", "<unk> cat", "2", "the cat is"), ("are", "wrong", "<unk> cat", "2", "the cat is")
    assert found(tmp_path, original(good, bad)) == []


def test_rows_of_true_and_false_that_do_not_pair_are_errors(tmp_path: Path) -> None:
    text = "False\tcats sleeps\nTrue\tcats sleep\nTrue\tcats nap\nFalse\tcats naps\nmaybe\tcats\n"
    path = tmp_path / "rows.txt"
    path.write_text(text, encoding="utf-8")
    from wug.families.pairs.formats.lines import parse_marks
    from wug.families.pairs.formats.tables import PairLabels

    assert [str(problem) for problem in parse_marks(path, PairLabels()).problems] == [
        "line 1: a False row with no True row above it",
        "line 2: a True row with no False row below it",
        "line 5: 'maybe\\tcats' is not True or False, a tab, and a sentence",
    ]


def test_more_than_a_hundred_faults_are_counted_and_not_listed(tmp_path: Path) -> None:
    problems = found(tmp_path, SENTENCES + "p\tonly one\n" * 5000)
    assert len(problems) == 101
    assert problems[-1] == "error: 4,900 more like these"


def test_a_missing_or_damaged_file_is_a_problem_and_no_traceback(tmp_path: Path) -> None:
    assert [problem.level for problem in check_file(tmp_path / "absent.tab", "pairs")] == ["error"]
    damaged = tmp_path / "damaged.tab.gz"
    damaged.write_bytes(b"\x1f\x8b\x08nothing")
    assert [problem.level for problem in check_file(damaged, "pairs")] == ["error"]


def test_the_check_shows_which_sentence_is_the_good_one(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("source_sentence,target_sentence,PID\nA cat.,A cats.,x\n", encoding="utf-8")
    assert wug("check", path).out.splitlines()[1:] == [
        "  read as rublimp; first pair: 'A cat.' (good), 'A cats.' (bad)"
    ]


def test_a_column_that_is_read_before_the_sentences_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("sentence_good,sentence_bad,context\nA cat.,A cats.,I see\nA dog.,A dogs.,\n", encoding="utf-8")
    how = "the column 'context' of 1 of 2 pairs is read before both sentences, such as 'I see'"
    assert f"  {how}" in wug("check", path).out.splitlines()
    assert f"p: {how}\n" in wug("run", path, "--no-save", "--model", "ngram:none").err
