"""Files of texts, sentences by rule, and the command."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from command_line import refused, wug
from wug.errors import InputError, SuiteError
from wug.texts import read_texts
from wug.texts.text import joined, sentences

CONLLU = """# newdoc
# sent_id = a1
# text = Don't go.
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\t_\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
3.1\tnow\t_\t_\t_\t_\t_\t_\t_\t_
4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_

# sent_id = a2
1\tStay\tstay\tVERB\t_\t_\t0\troot\t_\t_

# newdoc
1\t猫\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tだ\t_\t_\t_\t_\t_\t_\t_\t_
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Dr. Wug met J. Smith. Then he left.", ["Dr. Wug met J. Smith.", "Then he left."]),
        ("“Go!” she said. “Now.” He went.", ["“Go!”", "she said.", "“Now.”", "He went."]),
        ("It cost 3.50 dollars, i.e. nothing. Yes.", ["It cost 3.50 dollars, i.e. nothing.", "Yes."]),
        ("Wait... what? So it was I. Yes.", ["Wait... what?", "So it was I.", "Yes."]),
        ("猫だ。犬だ！ はい。", ["猫だ。", "犬だ！", "はい。"]),
        ("A title\n\nA paragraph\ngoes on.", ["A title", "A paragraph\ngoes on."]),
        ("   ", []),
        ("", []),
    ],
)
def test_sentences_end_where_readers_say_so(text: str, expected: list[str]) -> None:
    assert [text[a:b] for a, b in sentences(text)] == expected


def test_words_are_joined_as_their_script_is_written() -> None:
    assert joined(["a", "b"])[0] == "a b"
    assert joined(["猫", "が", "cat", "を"])[0] == "猫が cat を"
    assert joined(["안녕", "하세요"])[0] == "안녕 하세요"  # Korean has spaces
    assert joined(["a", ",", "b"], [False, True, True]) == ("a, b", ((0, 1), (1, 2), (3, 4)))


def test_plain_files_are_lines_paragraphs_or_one_text(tmp_path: Path) -> None:
    path = write(tmp_path, "story.txt", "One\ntwo.\r\n\nThree.\n")
    assert [text.text for text in read_texts(path)] == ["One", "two.", "Three."]
    assert [text.text for text in read_texts(path, part="paragraph")] == ["One\ntwo.", "Three."]
    assert [text.text for text in read_texts(path, part="file")] == ["One\ntwo.\n\nThree."]
    with pytest.raises(InputError, match="has no text in it"):
        read_texts(write(tmp_path, "empty.txt", "\n \n"))


def test_a_column_of_a_table_with_the_others_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path, "items.csv", 'item,sentence,condition\n1,"Yes, no.",a\n2,Go,b\n')
    texts = read_texts(path, column="sentence")
    assert [(text.text, text.columns) for text in texts] == [
        ("Yes, no.", {"item": "1", "condition": "a"}),
        ("Go", {"item": "2", "condition": "b"}),
    ]
    with pytest.raises(InputError, match="Did you mean 'sentence'"):
        read_texts(path, column="sentences")
    with pytest.raises(InputError, match=r"\(--column\)\. Columns: item, sentence, condition"):
        read_texts(path)
    with pytest.raises(SuiteError, match="line 2"):
        read_texts(write(tmp_path, "bad.csv", "item,sentence\n1,a,b\n"), column="sentence")
    with pytest.raises(InputError, match="line 1: sentence is 3, not text"):
        read_texts(write(tmp_path, "bad.jsonl", '{"sentence": 3}\n'), column="sentence")


def test_universal_dependencies_give_words_as_they_are_written(tmp_path: Path) -> None:
    path = write(tmp_path, "a.conllu", CONLLU)
    found = read_texts(path)
    assert [text.text for text in found] == ["Don't go.", "Stay", "猫だ"]
    assert [found[0].text[a:b] for a, b in found[0].words or ()] == ["Don't", "go", "."]
    assert found[0].columns == {"sent_id": "a1"}
    by_document = read_texts(path, part="file")
    assert [text.text for text in by_document] == ["Don't go. Stay", "猫だ"]
    assert by_document[0].sentences == ((0, 9), (10, 14))
    with pytest.raises(InputError, match="line 4: expected the 10 CoNLL-U fields"):
        read_texts(write(tmp_path, "b.conllu", CONLLU.replace("1-2\tDon't", "Don't")))


def test_words_without_a_space_after_any_of_them_are_written_together(tmp_path: Path) -> None:
    words = "".join(f"{n}\t{word}" + "\t_" * 7 + "\tSpaceAfter=No\n" for n, word in enumerate(("can", "not"), 1))
    assert [text.text for text in read_texts(write(tmp_path, "a.conllu", words))] == ["cannot"]


def test_words_one_a_line(tmp_path: Path) -> None:
    path = write(tmp_path, "words.txt", "我\n喜欢\n猫\n\nyes\nno\n\n")
    found = read_texts(path, words=True)
    assert [(text.text, text.words) for text in found] == [
        ("我喜欢猫", ((0, 1), (1, 3), (3, 4))),
        ("yes no", ((0, 3), (4, 6))),
    ]
    with pytest.raises(InputError, match="no paragraphs"):
        read_texts(path, words=True, part="paragraph")
    with pytest.raises(InputError, match="line 2: expected one word"):
        read_texts(write(tmp_path, "two.txt", "a\nb\tc\n"), words=True)


def test_the_command_writes_what_the_name_says(tmp_path: Path) -> None:
    source = write(tmp_path, "items.csv", "item,sentence\n7,The keys are here.\n8,Go.\n")
    done = wug("surprisal", str(source), "--column", "sentence", "--boundary", "-o", str(tmp_path / "words.csv"))
    assert done.code == 0, done.err
    with (tmp_path / "words.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["item"], row["word"]) for row in rows] == [
        ("7", "The"), ("7", "keys"), ("7", "are"), ("7", "here."), ("8", "Go."),
    ]  # fmt: skip
    assert list(rows[0])[7:10] == ["surprisal", "surprisal_boundary", "entropy"]
    again = wug("surprisal", str(source), "--column", "sentence", "--boundary", "--format", "json")
    assert [float(row["surprisal"]) for row in rows] == [row["surprisal"] for row in json.loads(again.out)]


def test_the_command_refuses_what_it_cannot_write_before_it_asks(tmp_path: Path) -> None:
    source = write(tmp_path, "a.txt", "Go.\n")
    for options, message in [
        (["--format", "parquet"], "parquet is not text"),
        (["-o", str(tmp_path / "words.xlsx")], "cannot be written as .xlsx: use .csv .html .htm .json"),
    ]:
        done = wug("surprisal", str(source), *options)
        assert done.code == 1
        assert message in done.err
    done = wug("surprisal", str(tmp_path / "none.txt"))
    assert (done.code, "no such file" in done.err) == (1, True)


def test_csv_guards_text_that_a_spreadsheet_would_compute(tmp_path: Path) -> None:
    source = write(tmp_path, "a.txt", "a =1+1 @b - 'c\n")
    done = wug("surprisal", source, "--format", "csv", "--no-cache")
    assert [row["word"] for row in csv.DictReader(done.out.splitlines())] == ["a", "'=1+1", "'@b", "'-", "'c"]
    assert wug("surprisal", source, "-o", tmp_path / "words.tsv", "--raw", "--no-cache").code == 0
    rows = list(csv.DictReader((tmp_path / "words.tsv").read_text().splitlines(), delimiter="\t"))
    assert [row["word"] for row in rows] == ["a", "=1+1", "@b", "-", "'c"]


def test_a_text_where_a_file_is_expected_names_the_pipe_that_scores_it() -> None:
    refused(wug("surprisal", "The keys are here."), "no such file", "echo 'The keys are here.' | wug surprisal -")
    refused(wug("surprisal", "story.text"), "story.text: no such file\n")


def test_the_device_of_the_environment_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path, "a.txt", "Go.\n")
    monkeypatch.setenv("WUG_DEVICE", "cuda:99")
    refused(wug("surprisal", source, "--no-cache"), "cuda:99")
    refused(wug("surprisal", source, "--no-cache", "--device", "cuda:98"), "cuda:98")
    assert wug("surprisal", source, "--no-cache", "--device", "cpu").code == 0
    assert wug("surprisal", source, "--no-cache", "-M", "device=cpu").code == 0


def test_every_model_named_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = write(tmp_path, "a.txt", "Go on.\n")
    said = wug("surprisal", source, "--model", "wug-causal", "--model", "wug-lstm", "--no-cache", "--format", "csv")
    rows = list(csv.DictReader(said.out.splitlines()))
    assert [(row["model"].partition("@")[0], row["word"]) for row in rows] == [
        ("causal/wug-causal", "Go"), ("causal/wug-causal", "on."), ("lstm/wug-lstm", "Go"), ("lstm/wug-lstm", "on."),
    ]  # fmt: skip
    monkeypatch.setenv("WUG_MODEL", "wug-lstm wug-causal")
    shown = wug("surprisal", source, "--no-cache").out.splitlines()
    assert [line.split()[0] for line in shown] == ["model", "wug-lstm", "wug-lstm", "wug-causal", "wug-causal"]


def test_a_built_in_model_reads_running_text_by_the_sentence(tmp_path: Path) -> None:
    source = write(tmp_path, "a.txt", "The boy swam. The girl slept.\n")
    apart = write(tmp_path, "b.txt", "The boy swam.\nThe girl slept.\n")

    def bits(path: Path, *more: str) -> list[float]:
        said = wug("surprisal", path, "--no-cache", "--format", "json", *more)
        assert ("trained on single sentences" in said.err) == (path == source and not more), said.err
        return [row["surprisal"] for row in json.loads(said.out)]

    assert bits(source) == pytest.approx(bits(apart), abs=1e-4)
    assert bits(source, "--context", "text")[3] > bits(source)[3] + 5  # The, after a full stop


def test_a_division_of_plain_files_is_refused_for_a_table(tmp_path: Path) -> None:
    source = write(tmp_path, "items.csv", "item,sentence\n7,Go on. Stop.\n")
    refused(wug("surprisal", source, "--column", "sentence", "--text", "file"), "with --column, each row is a text")


def test_a_json_file_is_not_read_as_lines_of_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="JSON, not text"):
        read_texts(write(tmp_path, "suite.json", '{"text": "A wug."}\n'))


def test_rows_without_a_text_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "t.csv", "id,s\n1,Go.\n2,\n3, \n")
    said = wug("surprisal", path, "--column", "s", "--no-entropy", "--no-cache")
    assert "t.csv: 2 of 3 rows have no text in the column 's': they have no words, and no rows here" in said.err


def test_lines_with_several_words_are_counted_where_words_are_given_one_per_line(tmp_path: Path) -> None:
    source = write(tmp_path, "w.txt", "The\nbig cat\n")
    said = wug("surprisal", source, "--words", "given", "--no-entropy", "--no-cache").err
    what = "1 lines with several words, each of which counts as one word; the first: line 2, 'big cat'"
    assert f"w.txt: {what}" in said
