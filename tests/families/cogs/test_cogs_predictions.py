"""Predictions in the shapes in which people keep them."""

from __future__ import annotations

import gzip
import json
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wug.errors import InputError
from wug.evaluation.checking import check_file
from wug.families import cogs
from wug.families.cogs.read import GoldLine, read_predictions
from wug.families.cogs.suite import CogsSuite, read_gold
from wug.files import head

EMMA, CAT, DOG = "nap . agent ( x _ 1 , Emma )", "cat ( x _ 1 ) AND nap . agent ( x _ 2 , x _ 1 )", "dog ( x _ 1 )"
SENTENCES = ("Emma napped .", "A cat napped .", "A dog .")
FORMS = (EMMA, CAT, DOG)
ANSWERS = ("Emma", "cat (", "")


@pytest.fixture
def gold(tmp_path: Path) -> CogsSuite:
    lines = [f"{sentence}\t{form}\ttype_{n}\n" for n, (sentence, form) in enumerate(zip(SENTENCES, FORMS, strict=True))]
    (tmp_path / "gold.tsv").write_text("".join(lines))
    return read_gold(tmp_path / "gold.tsv")


def read(gold: CogsSuite, text: str | bytes, name: str = "system.tsv") -> tuple[str, ...]:
    path = Path(gold.file).parent / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return tuple(read_predictions(path, gold.items)[0])


def refused(gold: CogsSuite, text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        read(gold, text)
    assert "system.tsv" in str(caught.value)
    return str(caught.value)


def table(*rows: tuple[str, ...], end: str = "\n") -> str:
    return "".join("\t".join(row) + end for row in rows)


def like_gold(*answers: str) -> list[tuple[str, str, str]]:
    return [
        (sentence, answer, f"type_{n}") for n, (sentence, answer) in enumerate(zip(SENTENCES, answers, strict=False))
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_like_the_gold_file_is_read(gold: CogsSuite, end: str) -> None:
    assert read(gold, table(*like_gold(*ANSWERS), end=end)) == ANSWERS


def test_a_gzipped_file_is_read(gold: CogsSuite) -> None:
    text = table(*like_gold(*ANSWERS))
    assert read(gold, gzip.compress(text.encode()), "seed_1.tsv.gz") == ANSWERS


def test_sentences_put_predictions_in_order(gold: CogsSuite) -> None:
    assert read(gold, table(*reversed(like_gold(*ANSWERS)))) == ANSWERS


def test_types_that_the_gold_file_does_not_know_do_no_harm(gold: CogsSuite) -> None:
    assert read(gold, table(*((s, a, "?") for s, a, _ in like_gold(*ANSWERS)))) == ANSWERS


def test_a_paste_of_source_target_and_prediction_is_read(gold: CogsSuite) -> None:
    assert read(gold, table(*zip(SENTENCES, FORMS, ANSWERS, strict=True))) == ANSWERS


def test_a_paste_with_another_target_is_read_with_a_notice(gold: CogsSuite) -> None:
    path = Path(gold.file).with_name("system.tsv")
    path.write_text(table(*zip(SENTENCES, (EMMA, CAT, "cat ( x _ 9 )"), ANSWERS, strict=True)))
    warnings = ["1 targets differ from the gold form, which is used instead"]
    assert read_predictions(path, gold.items) == (list(ANSWERS), warnings)


@pytest.mark.parametrize(
    "third",
    [FORMS, ("Emma", "", "Ava")],
    ids=["the columns may be swapped", "a label, or a broken prediction"],
)
def test_three_columns_that_could_be_anything_are_refused(gold: CogsSuite, third: tuple[str, ...]) -> None:
    second = FORMS if third is not FORMS else ("cat (", *FORMS[1:])
    assert "Name the columns in a header line" in refused(gold, table(*zip(SENTENCES, second, third, strict=True)))


def test_columns_may_be_named(gold: CogsSuite) -> None:
    rows = zip(ANSWERS, FORMS, SENTENCES, strict=True)
    assert read(gold, table(("prediction", "target", "source"), *rows)) == ANSWERS


def test_two_columns_are_sentence_and_prediction(gold: CogsSuite) -> None:
    assert read(gold, table(*zip(SENTENCES, ANSWERS, strict=True))) == ANSWERS


def test_one_form_a_line_is_read_in_the_order_of_the_gold_file(gold: CogsSuite) -> None:
    assert read(gold, "Emma\ncat (\n\n") == ANSWERS


@pytest.mark.parametrize("names", [("sentence", "prediction"), ("source", "output"), ("input", "logical_form")])
def test_json_lines_have_named_fields(gold: CogsSuite, names: tuple[str, str]) -> None:
    rows = reversed(list(zip(SENTENCES, ANSWERS, strict=True)))
    text = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    assert read(gold, text, "answers.jsonl") == ANSWERS


def test_json_lines_without_sentences_are_in_order(gold: CogsSuite) -> None:
    assert read(gold, "".join(json.dumps({"prediction": a}) + "\n" for a in ANSWERS)) == ANSWERS


def test_a_file_that_is_one_line_short_is_refused(gold: CogsSuite) -> None:
    message = refused(gold, table(*like_gold(EMMA, CAT)))
    assert "no prediction for source 3: A dog ." in message
    assert "2 predictions for 3 sources" in refused(gold, "Emma\ncat (\n")


def test_a_file_with_a_line_too_many_is_refused(gold: CogsSuite) -> None:
    assert "4 predictions for 3 sources" in refused(gold, "a\nb\nc\nd\n")


def test_a_repeated_sentence_is_refused(gold: CogsSuite) -> None:
    rows = like_gold(*ANSWERS)
    message = refused(gold, table(*rows, rows[1]))
    assert "line 4: a repeated source: 'A cat napped .' is already on line 2" in message


def test_an_unknown_sentence_is_refused(gold: CogsSuite) -> None:
    message = refused(gold, table(("A bat napped .", EMMA), *zip(SENTENCES[1:], ANSWERS[1:], strict=True)))
    assert "line 1: a prediction for a source that is not in the gold file" in message


def test_a_file_that_starts_with_a_quote_is_refused(gold: CogsSuite) -> None:
    quoted = table(*((f'"{s}"', f'"{a}"', f'"{t}"') for s, a, t in like_gold(*ANSWERS)))
    assert "Is the file quoted? Write it without quotes" in refused(gold, quoted)
    assert "line 1: the file starts with a quote character" in refused(gold, '"Emma"\n"cat"\n"dog"\n')


def test_a_quote_in_a_sentence_swallows_no_lines(tmp_path: Path) -> None:
    lines = ['" Emma napped .\tEmma\tt', "A cat napped .\tEmma\tt", "A dog .\tEmma\tt"]
    (tmp_path / "gold.tsv").write_text("\n".join(lines))
    gold = read_gold(tmp_path / "gold.tsv")
    assert read_predictions(tmp_path / "gold.tsv", gold.items)[0] == ["Emma"] * 3


def test_an_empty_file_is_refused(gold: CogsSuite) -> None:
    assert refused(gold, "").endswith("the file is empty")


@pytest.mark.parametrize("data", [b"\xff\xd8\xff\xe0 JFIF", b"a\x00b\nc\nd\n"])
def test_a_binary_file_is_refused(gold: CogsSuite, data: bytes) -> None:
    assert any(text in refused(gold, data) for text in ("a JPEG image, not text", "line 1: contains a NUL byte"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\tc\n\n", "line 2: 1 column, but line 1 has 3"),
        ("a\tb\tc\td\n", "line 1: 4 columns: a table has two or three"),
        ("a\nb\tc\nd\n", "line 2: a tab, but line 1 has none"),
        ('{"prediction": "a"}\nb\n', "line 2: not JSON (Expecting value at column 1)"),
        ('{"prediction": "a"}\n[]\n', "line 2: not a JSON object"),
        ('{"prediction": 1}\n', "line 1: no field with the prediction as text"),
        ('{"predictoin": "a"}\n', "line 1: no field with the prediction as text"),
        ('{"prediction": "a", "source": "b"}\n{"prediction": "a"}\n', "line 2: some lines have a source"),
        ("prediction\tsource\n", "there are no rows below the header"),
    ],
)
def test_a_line_of_another_shape_is_refused_with_its_number(gold: CogsSuite, text: str, message: str) -> None:
    assert message in refused(gold, text)


@given(
    st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from([*SENTENCES, *FORMS, "\t", "\n", '"', "{", '{"prediction": "a"}', "type_0"]))
        .map("".join)
        .map(str.encode),
    )
)
@settings(deadline=None)
def test_no_file_is_too_odd_to_be_read_or_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.tsv"
        path.write_bytes(data)
        pairs = zip(SENTENCES, FORMS, strict=True)
        gold = [GoldLine(n, sentence, form, f"type_{n}") for n, (sentence, form) in enumerate(pairs)]
        assert cogs.recognises(path, head(path)) in (True, False)
        check_file(path, "cogs")
        with suppress(InputError):
            assert len(read_predictions(path, gold)[0]) == 3
        with suppress(InputError):
            assert len(read_gold(path)) > 0


def test_predictions_of_a_repeated_sentence_keep_their_order(tmp_path: Path) -> None:
    rows = [("Same .", EMMA, "t"), ("Same .", DOG, "t"), ("Other .", CAT, "t")]
    (tmp_path / "gold.tsv").write_text(table(*rows))
    gold = read_gold(tmp_path / "gold.tsv")
    assert read(gold, table(*rows)) == (EMMA, DOG, CAT)
    assert read(gold, table(rows[0], rows[2], rows[1])) == (EMMA, DOG, CAT)
    assert "no prediction for source 3: Other ." in refused(gold, table(*rows[:2]))
