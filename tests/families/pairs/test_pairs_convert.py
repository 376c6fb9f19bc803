"""From one format of minimal pairs to another and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wug.errors import InputError, UnknownName
from wug.families import pairs
from wug.families.pairs.conversion import write_blimp, write_sentences
from wug.families.pairs.pair import Pair
from wug.families.pairs.suite import PairsSuite

SENTENCES = "pattern\tsent\tsent_alt\ncoord\tThe cat is tall .\tThe cat are tall .\ncoord\tCats nap .\tCats naps .\n"


def read(path: Path, **options: str) -> list[Pair]:
    (suite,) = pairs.read(path, options)
    assert isinstance(suite, PairsSuite)
    return [pair._replace(sentence=None) for pair in suite.items]


def source(folder: Path, text: str = SENTENCES, name: str = "coord.tab") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["new.tsv", "new.jsonl", "coord.txt"])
def test_sentence_pairs_come_back_the_same(tmp_path: Path, name: str) -> None:
    old, new = source(tmp_path), tmp_path / name
    pairs.convert(old, new, {})
    assert read(new) == read(old)


def test_sentence_pairs_that_differ_in_one_word_can_be_word_focused(tmp_path: Path) -> None:
    new = tmp_path / "new.tab"
    pairs.convert(source(tmp_path), new, {"to": "word"})
    assert new.read_text(encoding="utf-8").splitlines()[:2] == [
        "pattern\tform\tform_alt\tsent\tlen_prefix",
        "coord\tis\tare\tThe cat is tall .\t2",
    ]
    assert [pair.good for pair in read(new)] == ["The cat is tall .", "Cats nap ."]


def test_what_differs_in_several_words_cannot_be_word_focused(tmp_path: Path) -> None:
    old = source(tmp_path, "pattern\tsent\tsent_alt\np\tHe will go\tHe went\n")
    with pytest.raises(InputError, match="do not differ in one word"):
        pairs.convert(old, tmp_path / "new.tab", {"to": "word"})
    assert not (tmp_path / "new.tab").exists()


def test_a_format_that_would_lose_something_is_refused_with_what_is_lost(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="would lose pattern 'coord' of item 1"):
        pairs.convert(source(tmp_path), tmp_path / "other.txt", {})


def test_nothing_can_become_the_original_format(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="that other formats lack"):
        pairs.convert(source(tmp_path), tmp_path / "new.tab", {"to": "original"})


def test_an_unknown_format_gets_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'blimp'"):
        pairs.convert(source(tmp_path), tmp_path / "new.tab", {"to": "blmp"})


def test_the_original_format_becomes_word_focused_with_its_groups_and_names(tmp_path: Path) -> None:
    header = "pattern\tconstr_id\tsent_id\tform\tclass\ttype\tn_attr\tlen_prefix\tsent\n"
    rows = [f"NV\t1\t3\t{form}\t{kind}\tgenerated\t1\t2\tthe cat was here <eos>\n" for form, kind in FORMS]
    old, new = source(tmp_path, header + "".join(rows)), tmp_path / "new.tsv"
    pairs.convert(old, new, {})
    assert read(new) == read(old)
    assert read(new)[0].item == "NV/1/3"


FORMS = (("is", "correct"), ("are", "wrong"))


def test_triples_of_marvin_and_linzen_become_one_row_again(tmp_path: Path) -> None:
    text = "npi\tpast\tno cats have ever\tthe cats have ever\tmost cats have ever\nnpi\tpast\tno x ever\tthe x ever\n"
    old, new = source(tmp_path, text, "m.tsv"), tmp_path / "n.tsv"
    pairs.convert(old, new, {"to": "marvin-linzen"})
    assert new.read_text(encoding="utf-8") == text


def test_line_aligned_files_come_back_the_same(tmp_path: Path) -> None:
    source(tmp_path, "the cat is here <eos>\n", "a.text")
    source(tmp_path, "2\tis\tare\t1\n", "a.gold")
    source(tmp_path, "2\n", "a.eval")
    pairs.convert(tmp_path / "a.text", tmp_path / "b.text", {})
    assert read(tmp_path / "b.gold") == read(tmp_path / "a.gold")
    pairs.convert(tmp_path / "a.text", tmp_path / "c.tsv", {})
    pairs.convert(tmp_path / "c.tsv", tmp_path / "d.text", {})
    assert (tmp_path / "d.gold").read_text(encoding="utf-8") == "2\tis\tare\t1\n"


def test_groups_that_the_user_named_are_kept(tmp_path: Path) -> None:
    old = source(tmp_path, "ok,no,who\na b,a c,me\n", "m.csv")
    notices = pairs.convert(old, tmp_path / "n.jsonl", {"good": "ok", "bad": "no", "groups": "who"})
    assert notices[-1] == "read it with -S groups=who"
    assert json.loads((tmp_path / "n.jsonl").read_text(encoding="utf-8"))["who"] == "me"


TEXTS = st.text(alphabet="ab \"\t'é.", min_size=1, max_size=12).map(lambda text: " ".join(text.split())).filter(bool)


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4))
def test_any_sentences_survive_tables_and_json(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    made = [Pair(str(k), good, bad, {"pattern": name}) for k, (name, good, bad) in enumerate(rows, 1)]
    folder = tmp_path_factory.mktemp("any")
    for name, text in (("a.tab", write_sentences(made)), ("a.jsonl", write_blimp(made))):
        (folder / name).write_text(text, encoding="utf-8", newline="")
        assert read(folder / name) == made


def test_a_csv_file_has_commas_and_reads_back(tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    pairs.convert(source(tmp_path), new, {"to": "sentence"})
    assert new.read_text(encoding="utf-8").startswith("pattern,sent,sent_alt")
    assert read(new) == read(source(tmp_path))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("new.yaml", {}, r"pairs are not written as \.yaml: use \.tsv, \.tab, \.csv, \.jsonl"),
        ("new.jsonl.gz", {}, r"pairs are not written as \.gz"),
        ("new", {}, "pairs are not written as a file without a suffix"),
        ("new.csv", {"to": "blimp"}, r"the format blimp needs a file that ends in \.jsonl"),
        ("new.jsonl", {"to": "word"}, "the format word needs a file that ends in"),
    ],
)
def test_a_file_whose_name_promises_another_format_is_not_written(
    tmp_path: Path, name: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        pairs.convert(source(tmp_path), tmp_path / name, options)
    assert not (tmp_path / name).exists()
