"""Sentences, streams and rows."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

from wug.errors import InputError
from wug.train.corpus import TokenRows, corpus_checksum, encode, frequent_words, read_units, sentences, word_ids


def test_a_paragraph_falls_into_sentences() -> None:
    assert sentences("Mr. Smith came. He saw J. Bell! Did they talk? Yes.") == [
        "Mr. Smith came.",
        "He saw J. Bell!",
        "Did they talk?",
        "Yes.",
    ]


def test_a_quotation_that_is_cut_loses_its_lone_marks() -> None:
    assert sentences('"Come here. Sit down." He "sat".') == ["Come here.", "Sit down.", 'He "sat".']


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_texts_are_read_compressed_or_not(tmp_path: Path, pack: object) -> None:
    path = tmp_path / "text"
    path.write_bytes(pack(b"One two. Three four.\n\nFive.\n"))  # type: ignore[operator]
    assert sorted(read_units([path], "sentence", 0)) == ["Five.", "One two.", "Three four."]
    assert sorted(read_units([path], "paragraph", 0)) == ["Five.", "One two. Three four."]


def test_a_text_without_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    with pytest.raises(InputError, match="no text"):
        read_units([tmp_path / "empty.txt"], "sentence", 0)
    with pytest.raises(InputError, match="no such file"):
        corpus_checksum([tmp_path / "none.txt"])


def test_rows_begin_where_a_sentence_does() -> None:
    ids = np.array([0, 5, 6, 0, 7, 0, 8, 9, 0, 4, 0, 3, 2, 1], dtype=np.uint16)
    rows = TokenRows(ids, 0, length=3, batch=4, seed=1)
    assert rows.steps_per_epoch == 1
    seen = np.concatenate([rows.starts(step) for step in range(20)])
    assert set(seen) == {0, 3, 5, 8, 10}
    assert np.array_equal(rows.starts(7), TokenRows(ids, 0, 3, 4, 1).starts(7))


def test_the_vocabulary_has_the_most_frequent_words() -> None:
    texts = ["A cat, a dog.", "A cat sleeps."]
    words = frequent_words(texts, "punctuation", size=5, lowercase=True, special=("<eos>", "<unk>"))
    assert words == ["<eos>", "<unk>", "a", ".", "cat"]
    stream = encode(texts, lambda some: word_ids(some, "punctuation", words, "<unk>", lowercase=True), 0)
    assert stream.tolist() == [0, 2, 4, 1, 2, 1, 3, 0, 2, 4, 1, 3]


@pytest.mark.parametrize(
    ("name", "message"),
    [("c.jsonl", "not plain text, by its name"), ("c.csv", "not plain text, by its name"), ("", "is a folder")],
)
def test_what_is_no_plain_text_is_not_learnt_from(tmp_path: Path, name: str, message: str) -> None:
    if name:
        (tmp_path / name).write_text('{"text": "A wug."}\n')
    with pytest.raises(InputError, match=message):
        corpus_checksum([tmp_path / name])
