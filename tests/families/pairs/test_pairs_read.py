"""Reading minimal pairs in each of their formats."""

from __future__ import annotations

import contextlib
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.errors import InputError, SuiteError, UnknownName, WugError
from wug.evaluation.checking import check_file
from wug.families import pairs
from wug.families.pairs.pair import Pair
from wug.families.pairs.suite import PairsSuite
from wug.files import head

ORIGINAL = "\t".join(
    (
        *("pattern", "constr_id", "sent_id", "correct_number", "form", "class", "type", "prefix"),
        *("n_attr", "punct", "freq", "len_context", "len_prefix", "sent"),
    )
)


def read(path: Path, **options: str) -> list[Pair]:
    (suite,) = pairs.read(path, options)
    assert isinstance(suite, PairsSuite)
    return list(suite.items)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def words(pair: Pair) -> tuple[str, str]:
    """The two target words of a pair."""
    assert pair.target is not None
    start = pair.target.start
    return pair.good[start : pair.target.good_end], pair.bad[start : pair.target.bad_end]


def test_rows_of_the_original_format_pair_by_key_wherever_they_stand(tmp_path: Path) -> None:
    rows = [
        "NV\t1\t0\tsing\tis\tcorrect\toriginal\tThe cat\t0\tFalse\t9\t1\t2\tThe cat was here . <eos>",
        "NV\t2\t3\tplur\teat\tcorrect\tgenerated\tThe dogs\t1\tFalse\t9\t1\t2\tThe dogs ran . <eos>",
        "NV\t2\t3\tplur\teats\twrong\tgenerated\tThe dogs\t1\tFalse\t9\t1\t2\tThe dogs ran . <eos>",
        "NV\t1\t0\tsing\tare\twrong\toriginal\tThe cat\t0\tFalse\t9\t1\t2\tThe cat was here . <eos>",
    ]
    first, second = read(written(tmp_path, "a.tab", "\n".join([ORIGINAL, *rows])))
    assert (first.item, first.good, first.bad) == ("NV/1/0", "The cat is here .", "The cat are here .")
    assert words(first) == ("is", "are")
    assert first.groups == {
        "pattern": "NV",
        "type": "original",
        "attractors": "0",
        "number": "sing",
        "pattern_type": "NV/original",
    }
    assert (second.good, second.groups["type"], second.groups["attractors"]) == ("The dogs eat .", "nonce", "1")


def test_a_quoted_sentence_of_the_original_format_keeps_its_own_quotes(tmp_path: Path) -> None:
    rows = [
        f'NV\t1\t0\tsing\t{form}\t{kind}\toriginal\tThe cat\t0\tFalse\t9\t1\t2\t"The cat was "" here "" . <eos>"'
        for form, kind in (("is", "correct"), ("are", "wrong"))
    ]
    (pair,) = read(written(tmp_path, "a.tab", "\n".join([ORIGINAL, *rows])))
    assert pair.good == 'The cat is " here " .'


def test_word_focused_rows_put_both_forms_in_the_place_of_the_target(tmp_path: Path) -> None:
    text = "pattern\tform\tform_alt\tsent\tlen_prefix\nsimple\tis\tare\tThe cat is here <eos>\t2\n"
    (pair,) = read(written(tmp_path, "w.tab", text))
    assert (pair.good, pair.bad, words(pair)) == ("The cat is here", "The cat are here", ("is", "are"))
    assert pair.groups == {"pattern": "simple"}


def test_punctuation_written_together_with_the_target_stays(tmp_path: Path) -> None:
    text = "pattern\tform\tform_alt\tsent\tlen_prefix\nr\thimself\tthemselves\tHe saw himself.\t2\n"
    (pair,) = read(written(tmp_path, "w.tab", text))
    assert (pair.bad, words(pair)) == ("He saw themselves.", ("himself", "themselves"))


def test_sentence_focused_rows_are_two_sentences(tmp_path: Path) -> None:
    text = "pattern\tsent\tsent_alt\r\ncoord\tThe cat purrs. <eos>\tThe cat purr. <eos>\r\n"
    (pair,) = read(written(tmp_path, "s.tab", text))
    assert (pair.item, pair.good, pair.bad, pair.target) == ("1", "The cat purrs.", "The cat purr.", None)


CATS = {"sentence_good": "Cats sleep.", "sentence_bad": "Cats sleeps."}


def test_a_blimp_file_has_paradigm_field_and_term_and_one_spelling_of_each_field(tmp_path: Path) -> None:
    row = {**CATS, "UID": "p", "field": "syntax/semantics", "linguistics_term": "t", "pairID": "17"}
    (pair,) = read(written(tmp_path, "p.jsonl", json.dumps(row) + "\n"))
    assert pair.item == "p/17"
    assert pair.groups == {"field": "syntax_semantics", "term": "t", "paradigm": "p", "phenomenon": "t"}


def test_blimp_has_the_twelve_phenomena_of_its_tables(tmp_path: Path) -> None:
    """The files call two paradigms s-selection, which the tables of the paper count among argument structure."""
    row = {**CATS, "UID": "p", "linguistics_term": "s-selection"}
    told = written(tmp_path, "told.jsonl", json.dumps({**row, "phenomenon": "argument_structure"}) + "\n")
    (pair,), (same,) = read(written(tmp_path, "p.jsonl", json.dumps(row) + "\n")), read(told)
    assert pair.groups == same.groups == {"term": "s-selection", "paradigm": "p", "phenomenon": "argument_structure"}


def test_the_critical_word_of_the_one_prefix_method_is_the_target(tmp_path: Path) -> None:
    row = {
        "sentence_good": "The man hurt himself there.",
        "sentence_bad": "The man hurt herself here.",
        "one_prefix_method": True,
        "one_prefix_prefix": "The man hurt",
        "one_prefix_word_good": "himself",
        "one_prefix_word_bad": "herself",
    }
    (pair,) = read(written(tmp_path, "p.jsonl", json.dumps(row)), target="word")
    assert words(pair) == ("himself", "herself")


def test_a_folder_of_blimp_files_is_one_suite(tmp_path: Path) -> None:
    for name in ("one", "two"):
        row = {"sentence_good": "Cats sleep.", "sentence_bad": "Cats sleeps.", "UID": name, "pairID": "0"}
        (tmp_path / f"{name}.jsonl.gz").write_bytes(gzip.compress(json.dumps(row).encode()))
    assert pairs.recognises(tmp_path, "")
    (suite,) = pairs.read(tmp_path, {})
    assert (suite.name, len(suite)) == (tmp_path.name, 2)
    assert [pair.item for pair in read(tmp_path)] == ["one/0", "two/0"]


def test_a_false_row_belongs_to_the_true_row_above_it(tmp_path: Path) -> None:
    text = "True\tthey saw themselves\nFalse\tthey saw himself\nFalse\tthey saw herself"
    first, second = read(written(tmp_path, "reflexives.txt", text))
    assert (first.bad, second.bad) == ("they saw himself", "they saw herself")
    assert first.groups == {"pattern": "reflexives"}


def test_a_marvin_linzen_row_with_two_wrong_sentences_is_two_pairs(tmp_path: Path) -> None:
    text = "npi\tpast\tno cats have ever slept\tthe cats have ever slept\tmost cats have ever slept\n"
    first, second = read(written(tmp_path, "templates.tsv", text))
    assert (first.bad, second.bad) == ("the cats have ever slept", "most cats have ever slept")
    assert second.groups == {"pattern": "npi", "condition": "past", "contrast": "2"}


def test_the_sample_of_marvin_and_linzen_has_pattern_and_condition_in_one_column(tmp_path: Path) -> None:
    text = "test case\tgrammatical\tungrammatical\nsimple--sing_MS_MV--0\tthe cat sleeps.\tthe cat sleep.\n"
    (pair,) = read(written(tmp_path, "sample.tsv", text))
    assert pair.groups == {"pattern": "simple", "condition": "sing_MS_MV"}


@pytest.mark.parametrize("named", ["set.text", "set.gold", "set.eval"])
def test_any_of_the_line_aligned_files_can_be_named(tmp_path: Path, named: str) -> None:
    written(tmp_path, "set.text", "the cat on the mats is here . <eos>\n")
    written(tmp_path, "set.gold", "5\tis\tare\t1\n")
    written(tmp_path, "set.eval", "5\n")
    path = tmp_path / named
    assert pairs.recognises(path, head(path))
    (pair,) = read(path)
    assert (pair.bad, words(pair), pair.groups) == (
        "the cat on the mats are here .",
        ("is", "are"),
        {"attractors": "1"},
    )


def test_columns_of_any_table_can_be_named(tmp_path: Path) -> None:
    text = 'id,ok,no,kind\nx1,"Cats, dogs sleep.","Cats, dogs sleeps.",simple\n'
    path = written(tmp_path, "mine.csv", text)
    assert not pairs.recognises(path, text)
    (pair,) = read(path, good="ok", bad="no", item="id", pattern="kind", groups="id")
    assert (pair.item, pair.good) == ("x1", "Cats, dogs sleep.")
    assert pair.groups == {"pattern": "simple", "id": "x1"}


def test_columns_of_forms_can_be_named_too(tmp_path: Path) -> None:
    text = '{"s": "The cat is here", "a": "is", "b": "are", "k": 2}\n'
    (pair,) = read(written(tmp_path, "m.jsonl", text), sentence="s", form="a", form_alt="b", len_prefix="k")
    assert words(pair) == ("is", "are")


def test_the_target_of_a_sentence_pair_is_the_one_place_where_it_differs(tmp_path: Path) -> None:
    text = "pattern\tsent\tsent_alt\np\tHe hurt himself.\tHe hurt themselves.\n"
    (pair,) = read(written(tmp_path, "s.tab", text), target="word")
    assert words(pair) == ("himself", "themselves")


def test_word_scores_are_refused_where_no_pair_differs_in_one_place(tmp_path: Path) -> None:
    text = "pattern\tsent\tsent_alt\np\tWho did he see?\tHe did see who?\n"
    with pytest.raises(InputError, match="target=sentence"):
        read(written(tmp_path, "s.tab", text), target="word")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"target": "words"}, "Did you mean 'word'"),
        ({"normalise": "tokens"}, "Did you mean 'token'"),
        ({"targt": "word"}, "Did you mean 'target'"),
        ({"format": "sentnce"}, "Did you mean 'sentence'"),
    ],
)
def test_an_unknown_option_or_value_gets_the_nearest_one(
    tmp_path: Path, options: dict[str, str], complaint: str
) -> None:
    path = written(tmp_path, "s.tab", "pattern\tsent\tsent_alt\np\ta b\ta c\n")
    with pytest.raises((UnknownName, InputError), match=complaint):
        pairs.read(path, options)


@pytest.mark.parametrize(
    "options",
    [
        {"target": "word", "print_word_probs": "yes"},
        {"single_piece_only": "yes"},
        {"mask_target": "no"},
        {"print_word_probs": "perhaps"},
        {"good": "sent"},
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path: Path, options: dict[str, str]) -> None:
    path = written(tmp_path, "s.tab", "pattern\tsent\tsent_alt\np\ta b\ta c\n")
    with pytest.raises(InputError):
        pairs.read(path, options)


def test_all_faults_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    text = "pattern\tform\tform_alt\tsent\tlen_prefix\np\tis\tare\tThe cat is\t9\np\tis\tare\tThe cat is\tx\np\tis\n"
    with pytest.raises(SuiteError) as caught:
        read(written(tmp_path, "w.tab", text))
    places = [problem.place for problem in caught.value.problems]
    assert sorted(places) == ["line 2", "line 3", "line 4"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "True\tonly right\n",
        'pattern\tsent\tsent_alt\np\t"open\ta\n',
        "pattern\tsent\tsent_alt\n",
        '{"sentence_good": "a b", "sentence_bad": 3}\n',
        '{"sentence_good": "a b", "sentence_bad": "a c"}\nnot json\n[1]\n',
        "x" * 10,
        "\x00\x01",
    ],
)
def test_a_bad_file_is_an_error_of_ours(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError):
        read(written(tmp_path, "bad.tab", text))


HEADERS = ("pattern\tsent\tsent_alt\n", "pattern\tform\tform_alt\tsent\tlen_prefix\n", ORIGINAL + "\n", "True\t")


@given(st.sampled_from(HEADERS), st.text(alphabet='a1\t\n"é<eos> {}\x00', max_size=60), st.binary(max_size=6))
def test_no_file_whatever_gives_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, header: str, text: str, noise: bytes
) -> None:
    path = tmp_path_factory.mktemp("any") / "file.txt"
    for content in (header.encode() + text.encode(), text.encode() + noise, header.encode() + noise):
        path.write_bytes(content)
        pairs.recognises(path, head(path))
        check_file(path, "pairs")
        with contextlib.suppress(WugError):
            pairs.read(path, {"target": "word"})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        '{"meta": {}}',
        "[1, 2]",
        "a cat\t* cat ( x _ 1 )\tin_distribution\n",
        "sentence_id\ttoken_id\ttoken\tsurprisal\n1\t1\tThe\t3.2\n",
        "True story\n",
        "append A B , C\tA B C\n",
    ],
)
def test_files_of_other_families_are_not_taken_for_pairs(tmp_path: Path, text: str) -> None:
    assert not pairs.recognises(written(tmp_path, "other.tsv", text), text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"good": "ok", "bad": "ok"}, "good and bad are both the column 'ok'"),
        ({"form": "ok", "form_alt": "ok"}, "form and form_alt are both the column 'ok'"),
        ({"good": "ok", "bad": "no", "form": "ok"}, "leave out form"),
        ({"good": "ok", "bad": "no", "format": "blimp"}, r"give either format or columns \(good, bad\)"),
    ],
)
def test_columns_that_do_not_go_together_are_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pairs.read(written(tmp_path, "x.csv", "ok,no,sent,len_prefix\nA,B,A,0\n"), options)
