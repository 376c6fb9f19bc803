"""`wug make`: what is written, that it passes `wug check`, and that nothing is written over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import refused, run_wug, wug
from reference import reference
from wug.files import read_bytes

CATEGORIES = ("coord", "tense", "agreement", "reflexives", "npi")
SETS = {
    "pcfgset": ("train.src", "dev.tgt", "test.src"),
    "systematicity": ("train.src", "test.tgt"),
    "productivity": ("train.src", "test.tgt"),
    "substitutivity": ("primitive/train.src", "equally_distributed/test_twin.tgt"),
    "overgeneralisation": ("train_pcfg_ratio=0.001.src", "test_pcfg_ratio=0.005_exception.tgt"),
    "localism": ("unrolled_train.tsv", "unrolled_test.tsv"),
}


def good(path: Path) -> bool:
    """Whether `wug check --strict` finds nothing."""
    said = wug("check", path, "--strict")
    assert said.code == 0, said.out
    first, *others = said.out.splitlines()
    return first.startswith(f"{path}: good") and not any("warning" in line for line in others)


@pytest.mark.parametrize("category", CATEGORIES)
def test_pairs_of_every_category_pass_the_check(tmp_path: Path, category: str) -> None:
    path = tmp_path / f"{category}.tab"
    said = wug("make", category, "--n", 20, "--seed", 1, "--filename", path)
    assert said.code == 0
    assert said.out == ""
    assert f"wrote {path}: " in said.err
    assert path.read_text(encoding="utf-8").startswith("pattern\tsent\tsent_alt")
    assert good(path)


@pytest.mark.parametrize("category", ["coord", "tense", "agreement", "reflexives"])
def test_word_focused_pairs_pass_the_check(tmp_path: Path, category: str) -> None:
    path = tmp_path / f"{category}.tab"
    assert wug("make", category, "--n", 20, "--format", "word", "-o", path).code == 0
    assert path.read_text(encoding="utf-8").startswith("pattern\tform\tform_alt\tsent\tlen_prefix")
    assert good(path)


def test_without_a_file_pairs_go_to_stdout_and_a_seed_settles_them() -> None:
    first, again, other = (wug("make", "coord", "--n", 3, "--seed", seed) for seed in (1, 1, 2))
    assert first.out == again.out != other.out
    assert first.err == ""
    assert len(first.out.splitlines()) == 1 + 3 * 10


def test_a_pattern_is_made_alone_and_whole() -> None:
    said = wug("make", "agreement", "--all", "--pattern", "simple_agrmt")
    rows = said.out.splitlines()[1:]
    assert len(rows) == 140  # as many as Marvin and Linzen have
    assert {row.split("\t")[0] for row in rows} == {"simple_agrmt"}


def test_punctuation_can_be_written_apart() -> None:
    row = wug("make", "coord", "--n", 1, "--pattern", "simple_sing", "--spaced").out.splitlines()[1]
    assert row.split("\t")[1].endswith(" . <eos>")


def test_the_command_of_make_templates_works_as_it_is(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.tab", tmp_path / "theirs.tab"
    wug("make", "coord", "--filename", ours)
    assert wug("make", "--filename", theirs, "--type", "coord").code == 0
    assert ours.read_text(encoding="utf-8") == theirs.read_text(encoding="utf-8")


def test_words_and_categories_of_ones_own_are_used(tmp_path: Path) -> None:
    lexicon = tmp_path / "mine.toml"
    lexicon.write_text(
        '[lexicon.chat]\nforms = ["s", "p"]\nitems = [["le chat", "les chats"]]\n'
        '[[pattern]]\nname = "accord"\ncategory = "accord"\ntext = "{chat.s} [dort|*dorment]."\n',
        encoding="utf-8",
    )
    said = wug("make", "templates", "--lexicon", lexicon, "--category", "accord", "--all")
    assert said.out.splitlines()[1] == "accord\tLe chat dort.\tLe chat dorment."
    refused(wug("make", "coord", "--lexicon", lexicon), "unknown category of templates 'coord'")


def test_a_file_that_exists_is_not_written_over_without_force(tmp_path: Path) -> None:
    path = tmp_path / "coord.tab"
    path.write_text("mine", encoding="utf-8")
    refused(wug("make", "coord", "--filename", path), "coord.tab: exists already", "--force")
    assert path.read_text(encoding="utf-8") == "mine"
    assert wug("make", "coord", "--filename", path, "--force").code == 0
    assert path.read_text(encoding="utf-8") != "mine"


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["coord", "--all", "--n", 3], 2, "exclude each other"),
        (["coord", "--n", 0], 2, "--n"),
        (["coord", "--pattern", "simpl_sing"], 1, "Did you mean 'simple_sing'?"),
        (["coord", "--lexicon", "none.toml"], 1, "none.toml: no such file"),
        (["npi", "--format", "word"], 1, "none of these pairs can be word-focused"),
        (["cord"], 2, "Did you mean 'coord'?"),
        (["pcfgset"], 2, "--output"),
        (["pcfgset", "-o", "x", "--table", "none.tsv"], 1, "none.tsv: no such file"),
        (["pcfgset", "-o", "x", "--table", "none.tsv", "--no-table"], 2, "exclude each other"),
        (["pcfgset", "-o", "x", "--compare-with", "none.src"], 2, "--statistics"),
        (["pcfgset", "-o", "x", "--no-table", "--unary", 0, "--function", 0.9, "--samples", 9], 1, "never end"),
        (["localism", "-o", "x", "--source", "none.src"], 1, "none.src: no such file"),
        (["localism", "-o", "x", "--source", "none.src", "--samples", 3], 2, "--samples is about new sources"),
        (["overgeneralisation", "-o", "x", "--ratio", 1], 2, "--ratio"),
    ],
)
def test_what_cannot_be_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], code: int, part: str
) -> None:
    monkeypatch.chdir(tmp_path)
    said = wug("make", *arguments)
    refused(said, part)
    assert said.code == code
    assert not any(path.name == "x" for path in tmp_path.iterdir())


@pytest.mark.parametrize("kind", SETS)
def test_every_set_has_the_published_names_and_passes_the_check(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / kind
    said = wug("make", kind, "--samples", 1000, "--seed", 1, "-o", folder)
    assert said.code == 0, said.err
    assert said.err.startswith("wrote ")
    assert all((folder / name).is_file() for name in SETS[kind])
    assert good(folder)
    refused(wug("make", kind, "--samples", 1000, "-o", folder), "exists already")


def test_samples_are_shared_out_and_a_seed_settles_them(tmp_path: Path) -> None:
    said = wug("make", "pcfgset", "--samples", 1000, "--seed", 5, "-o", tmp_path / "one")
    assert said.err == f"wrote 6 files to {tmp_path / 'one'}: train.src 851, dev.src 49, test.src 100 lines\n"
    wug("make", "pcfgset", "--samples", 1000, "--seed", 5, "-o", tmp_path / "two")
    wug("make", "pcfgset", "--samples", 1000, "--seed", 6, "-o", tmp_path / "three")
    one, two, three = ((tmp_path / name / "test.src").read_bytes() for name in ("one", "two", "three"))
    assert one == two != three


def test_a_set_is_made_of_a_corpus_that_is_there(tmp_path: Path) -> None:
    wug("make", "pcfgset", "--samples", 2000, "-o", tmp_path / "base")
    assert wug("make", "productivity", "--source", tmp_path / "base", "--most", 3, "-o", tmp_path / "long").code == 0
    base, new = (
        {
            name: (tmp_path / folder / f"{name}.src").read_text(encoding="utf-8").splitlines()
            for name in ("train", "test")
        }
        for folder in ("base", "long")
    )
    assert sorted(base["train"] + base["test"]) == sorted(new["train"] + new["test"])
    assert base["test"] != new["test"]


def test_a_table_and_the_probabilities_decide_what_is_drawn(tmp_path: Path) -> None:
    table = tmp_path / "table.tsv"
    table.write_text("depth\tlength\tcount\n1\t3\t1\n", encoding="utf-8")
    wug("make", "pcfgset", "--samples", 50, "--table", table, "-o", tmp_path / "flat")
    sources = (tmp_path / "flat" / "train.src").read_text(encoding="utf-8").splitlines()
    assert {len(source.split()) for source in sources} == {3}
    wug("make", "pcfgset", "--samples", 50, "--no-table", "--unary", 1, "--function", 0, "-o", tmp_path / "unary")
    sources = (tmp_path / "unary" / "train.src").read_text(encoding="utf-8").splitlines()
    assert not any("," in source for source in sources)


def test_statistics_are_compared_with_those_of_another_set(tmp_path: Path) -> None:
    other = tmp_path / "other.src"
    other.write_text("copy A1 B2\n", encoding="utf-8")
    arguments = ("--rounds", 1, "--longest", 2, "--statistics", "--compare-with", other)
    said = wug("make", "increasing-length", "-o", tmp_path / "lengths", *arguments)
    lines = said.out.splitlines()
    assert lines[0] == "increasing_length.src: 10 lines, compared with 1"
    assert lines[2].startswith("depths")
    assert lines[2].endswith("0.00% away (total variation)")
    assert good(tmp_path / "lengths")


def test_statistics_of_unrolled_sources_are_those_of_the_sources(tmp_path: Path) -> None:
    source = tmp_path / "mine.src"
    source.write_text("repeat copy A1 B2\necho copy reverse A1 B2\ncopy A1 B2\n", encoding="utf-8")
    said = wug("make", "localism", "--source", source, "-o", tmp_path / "unrolled.tsv", "--statistics")
    assert said.out.startswith("unrolled_test.tsv: 2 lines\n")  # a source of one function has no steps to unroll


def test_a_file_of_sources_is_unrolled_into_a_file(tmp_path: Path) -> None:
    source, target = tmp_path / "mine.src", tmp_path / "out" / "unrolled.tsv"
    source.write_text("repeat copy M5 B15\n", encoding="utf-8")
    said = wug("make", "localism", "--source", source, "-o", target)
    assert said.err == f"wrote 1 file to {tmp_path / 'out'}: unrolled.tsv 3 lines\n"
    assert target.read_text(encoding="utf-8") == (
        "unrolled\tcopy M5 B15 \t*1\nunrolled\trepeat *1\tM5 B15 M5 B15\noriginal\trepeat copy M5 B15\tM5 B15 M5 B15\n"
    )
    assert good(target)


def test_sources_of_one_function_have_nothing_to_unroll(tmp_path: Path) -> None:
    source = tmp_path / "mine.src"
    source.write_text("copy M5 B15\n", encoding="utf-8")
    refused(wug("make", "localism", "--source", source, "-o", tmp_path / "x.tsv"), "nothing to unroll")


@pytest.mark.parametrize(("content", "part"), [(b"", "no sources"), (b"cpy A1\n", "line 1"), (b"\xff", "not UTF-8")])
def test_sources_that_are_none_are_refused(tmp_path: Path, content: bytes, part: str) -> None:
    source = tmp_path / "mine.src"
    source.write_bytes(content)
    refused(wug("make", "localism", "--source", source, "-o", tmp_path / "x.tsv"), "mine.src", part)


def test_the_published_sources_unroll_into_the_published_file(tmp_path: Path) -> None:
    target = tmp_path / "unrolled.tsv"
    wug("make", "localism", "--source", reference("pcfgset/pcfgset/test.src.gz"), "-o", target)
    assert target.read_bytes() == read_bytes(reference("pcfgset/localism/unrolled_test.tsv.gz"))


@pytest.mark.parametrize("kind", [*CATEGORIES, "templates", *SETS, "increasing-length"])
def test_every_kind_has_help_with_an_example(kind: str) -> None:
    said = wug("make", kind, "--help")
    assert said.code == 0
    assert f"wug make {kind} --" in said.out
    assert kind in wug("make", "--help").out


def test_what_is_made_in_one_process_is_scored_in_another(tmp_path: Path) -> None:
    made = run_wug("make", "pcfgset", "--samples", 100, "-o", "set", cwd=tmp_path)
    assert made.code == 0, made.err
    files = ["--gold", "set/test.src", "set/test.tgt", "--predictions", "set/test.tgt", "--no-save"]
    assert "100.0%" in run_wug("score", "pcfgset", *files, cwd=tmp_path).out
    failed = run_wug("score", "pcfgset", "--predictions", "none", cwd=tmp_path)
    assert (failed.code, failed.out, failed.err) == (1, "", "error: none: no such file\n")


def test_a_chart_compares_a_set_with_another(tmp_path: Path) -> None:
    folder, chart = tmp_path / "set", tmp_path / "set.svg"
    said = wug("make", "pcfgset", "--samples", 200, "-o", folder, "--chart", chart)
    assert said.code == 0
    said = wug("make", "pcfgset", "--samples", 200, "--seed", 2, "-o", tmp_path / "other", "--chart", chart,
               "--compare-with", folder / "test.src")  # fmt: skip
    assert said.code == 0
    assert "(compared)" in chart.read_text(encoding="utf-8")


def test_what_was_written_is_a_json_line_in_a_log_of_json(tmp_path: Path) -> None:
    arguments = ("make", "scan", "--split", "simple", "-o", tmp_path / "scan", "--log-format", "json")
    (line,) = wug(*arguments).err.splitlines()
    assert json.loads(line)["message"].startswith("wrote 2 files")
