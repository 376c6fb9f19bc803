"""The pcfgset family: what it recognises, reads and refuses."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from wug.errors import InputError, SuiteError, UnknownName
from wug.families import pcfgset
from wug.files import head
from wug.interfaces import Suite
from wug.models.oracle import Oracle
from wug.outcomes import Notice, Outcome

LOCALISM = (
    "unrolled\tcopy M5 B15 \t*1\nunrolled\trepeat *1\tM5 B15 M5 B15\noriginal\trepeat copy M5 B15\tM5 B15 M5 B15\n"
)


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


def plain(folder: Path, source: str = "copy A1 B2\nreverse A1 B2\n", target: str = "A1 B2\nB2 A1\n") -> Path:
    return write(folder, {"test.src": source, "test.tgt": target})


def published(folder: Path) -> Path:
    """A folder with the published layout, in small."""
    plain(folder / "pcfgset")
    plain(folder / "pcfgset" / "per_function_test", "echo A1 B2\n", "A1 B2 B2\n")
    write(folder / "pcfgset" / "per_function_test", {"test_binary.txt": "BINARY_FUNCTION A1 , B2\n"})
    for name in ("src", "tgt"):
        path = folder / "pcfgset" / "per_function_test" / f"test.{name}"
        path.rename(path.with_name(f"test_echo.{name}"))
    plain(folder / "systematicity")
    for condition in ("primitive", "equally_distributed"):
        plain(folder / "substitutivity" / condition, "repeat A1 B2\n", "A1 B2 A1 B2\n")
        twin = {"test_twin.src": "repeat_twin A1 B2\n", "test_twin.tgt": "A1 B2 A1 B2\n"}
        write(folder / "substitutivity" / condition, twin)
    write(folder / "localism", {"unrolled_test.tsv": LOCALISM, "unrolled_train.tsv": LOCALISM})
    lengths = {"increasing_length.src": "copy A1 B2\n", "increasing_length.tgt": "A1 B2\n"}
    write(folder / "localism" / "increasing_string_length", lengths)
    exceptions = {
        "test_pcfg_ratio=0.001_exception.src": "reverse echo A1 B2\n",
        "test_pcfg_ratio=0.001_exception.tgt": "A1 B2 B2\n",
        "test_pcfg_ratio=0.001_original.src": "reverse echo A1 B2\n",
        "test_pcfg_ratio=0.001_original.tgt": "B2 B2 A1\n",
    }
    write(folder / "overgeneralisation", exceptions)
    return folder


def names(suites: Sequence[Suite]) -> list[str]:
    return [suite.name for suite in suites]


def test_a_folder_without_a_test_of_its_own_has_all_tests_below(tmp_path: Path) -> None:
    assert names(pcfgset.read(published(tmp_path), {})) == [
        "localism",
        "increasing_string_length",
        "overgeneralisation_ratio=0.001",
        "pcfgset",
        "per_function",
        "substitutivity_equally_distributed",
        "substitutivity_primitive",
        "systematicity",
    ]


def test_every_suite_is_one_and_an_oracle_passes_it(tmp_path: Path) -> None:
    for suite in pcfgset.read(published(tmp_path), {}):
        assert isinstance(suite, Suite)
        assert (suite.kind, suite.needs) == ("pcfgset", "text")
        outcomes = [row for row in suite.run(Oracle("pcfgset")) if isinstance(row, Outcome)]
        assert {row.metric for row in outcomes} <= {metric.name for metric in suite.metrics}
        accurate = [row.value for row in outcomes if "accuracy" in row.metric or row.metric == "consistency"]
        assert all(accurate)


def test_a_folder_with_a_test_is_that_test_alone(tmp_path: Path) -> None:
    assert names(pcfgset.read(published(tmp_path) / "localism", {})) == ["localism"]
    assert names(pcfgset.read(tmp_path / "pcfgset", {})) == ["pcfgset"]


def test_another_split_can_be_chosen(tmp_path: Path) -> None:
    assert names(pcfgset.read(published(tmp_path) / "localism", {"split": "train"})) == ["localism_train"]


def test_one_file_is_one_test(tmp_path: Path) -> None:
    published(tmp_path)
    dev = {"dev.src": "copy A1 B2\n", "dev.tgt": "A1 B2\n"}
    assert names(pcfgset.read(write(tmp_path / "pcfgset", dev) / "dev.src", {})) == ["pcfgset_dev"]
    assert names(pcfgset.read(tmp_path / "pcfgset" / "dev.tgt", {})) == ["pcfgset_dev"]
    assert names(pcfgset.read(tmp_path / "localism" / "unrolled_test.tsv", {})) == ["localism"]
    ratio = tmp_path / "overgeneralisation" / "test_pcfg_ratio=0.001_original.src"
    assert names(pcfgset.read(ratio, {})) == ["overgeneralisation_ratio=0.001"]


def test_gzipped_files_are_the_same_suite(tmp_path: Path) -> None:
    folder = plain(tmp_path / "set")
    before = pcfgset.read(folder, {})[0].checksum
    for name in ("test.src", "test.tgt"):
        path = folder / name
        path.with_name(f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert pcfgset.read(folder, {})[0].checksum == before
    assert pcfgset.recognises(folder / "test.src.gz", head(folder / "test.src.gz"))


def test_the_checksum_changes_with_a_target(tmp_path: Path) -> None:
    one = pcfgset.read(plain(tmp_path / "one"), {})[0]
    two = pcfgset.read(plain(tmp_path / "two", target="A1 B2\nA1 B2\n"), {})[0]
    assert one.checksum != two.checksum


def test_the_first_items_of_a_suite_are_a_suite_that_says_so(tmp_path: Path) -> None:
    for suite in pcfgset.read(published(tmp_path), {}):
        short = suite.sample(1)
        found = dict(short.options)
        assert found.pop("limit", None) in (("1", "1 by group") if len(suite) > 1 else (None,))
        assert (len(short), found) == (1, suite.options)
        assert isinstance(short, Suite)


@pytest.mark.parametrize("sources", [["copy A1 B2", "revers A1 B2"], ["revers A1 B2"], ["revers copy A1 , B2"]])
def test_a_short_file_with_a_misspelt_function_is_recognised_and_the_error_located(
    tmp_path: Path, sources: list[str]
) -> None:
    (tmp_path / "test.src").write_text("\n".join(sources) + "\n", encoding="utf-8")
    (tmp_path / "test.tgt").write_text("A1 B2\n" * len(sources), encoding="utf-8")
    assert pcfgset.recognises(tmp_path / "test.src", head(tmp_path / "test.src"))
    faults = [problem for problem in pcfgset.check(tmp_path / "test.src", {}) if "revers" in problem.message]
    assert "Did you mean 'reverse'?" in faults[0].message
    assert "^^^^^^" in faults[0].message


def test_its_own_files_and_folders_are_recognised(tmp_path: Path) -> None:
    published(tmp_path)
    for path in (tmp_path, *tmp_path.rglob("*")):
        if path.name != "test_binary.txt":
            assert pcfgset.recognises(path, head(path)), path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("test.src", "The cat sees a dog .\nA dog sleeps .\n"),
        ("test.tgt", "see ( cat , dog )\n"),
        ("gold.tsv", "A cat slept .\tsleep ( cat )\tin_distribution\n"),
        ("suite.json", "{}"),
        ("test.src", ""),
        ("notes.txt", "copy A1 B2\n"),
    ],
)
def test_files_of_others_are_not_recognised(tmp_path: Path, name: str, text: str) -> None:
    write(tmp_path, {name: text})
    assert not pcfgset.recognises(tmp_path / name, text)
    assert not pcfgset.recognises(tmp_path, "")


def test_a_path_that_does_not_exist_is_not_recognised(tmp_path: Path) -> None:
    assert not pcfgset.recognises(tmp_path / "absent.src", "")


def test_an_unknown_option_and_an_unknown_split_are_named(tmp_path: Path) -> None:
    plain(tmp_path)
    with pytest.raises(UnknownName, match="Did you mean 'split'"):
        pcfgset.read(tmp_path, {"splitt": "test"})
    with pytest.raises(InputError, match=r"split=tset: use one of test, dev, train\. Did you mean 'test'"):
        pcfgset.read(tmp_path, {"split": "tset"})


def test_a_folder_without_the_split_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no dev set here: no dev\.src"):
        pcfgset.read(plain(tmp_path), {"split": "dev"})


def test_sources_without_targets_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"test.src": "copy A1 B2\n"})
    with pytest.raises(InputError, match=r"test\.src: the targets are missing: there is no test\.tgt"):
        pcfgset.read(tmp_path, {})
    assert [problem.place for problem in pcfgset.check(tmp_path, {})] == ["test.src"]


PLAIN_FAULTS = [
    ("copy A1\nrevers A1 B2\n", "A1\nB2 A1\n", "test.src, line 2, column 1", "Did you mean 'reverse'?"),
    ("copy A1\ncopy\n", "A1\nA1\n", "test.src, line 2, column 5", "'copy' has no argument"),
    ("copy A1\ncopy B2\n", "A1\n", "test.src, line 2", "test.src has 2 lines, test.tgt 1"),
    ("copy A1\n", "A1\nB2\n", "test.tgt, line 2", "test.src has 1 lines, test.tgt 2"),
    ("copy A1\ncopy B2\n", "A1\nb2\n", "test.tgt, line 2", "'b2' is not a symbol"),
    ("copy A1\ncopy B2\n", "A1\n\n", "test.tgt, line 2", "the target is empty"),
]


@pytest.mark.parametrize(("source", "target", "place", "message"), PLAIN_FAULTS)
def test_a_faulty_line_is_named_with_its_file(
    tmp_path: Path, source: str, target: str, place: str, message: str
) -> None:
    folder = plain(tmp_path, source, target)
    problems = pcfgset.check(folder, {})
    assert [(problem.level, problem.place) for problem in problems] == [("error", place)]
    assert message in problems[0].message
    with pytest.raises(SuiteError, match=r"(?s)test\.src.*1 error") as caught:
        pcfgset.read(folder, {})
    assert f"{place}: " in str(caught.value)


def test_a_wrong_target_is_an_error_in_check_and_a_warning_in_run(tmp_path: Path) -> None:
    folder = plain(tmp_path, target="A1 B2\nA1 B2\n")
    (problem,) = pcfgset.check(folder, {})
    assert (problem.level, problem.place) == ("error", "test.tgt, line 2")
    assert "target A1 B2\n    means  B2 A1" in problem.message
    (notice,) = [row for row in pcfgset.read(folder, {})[0].run(Oracle("pcfgset")) if isinstance(row, Notice)]
    assert "test.tgt, line 2: 1 of 2 targets are not the meanings of their sources" in notice.text
    (suite,) = pcfgset.read(plain(tmp_path, "reverse A1 B2\n" * 1_100, "A1 B2\n" * 1_100), {})
    (notice,) = [row for row in suite.run(Oracle("pcfgset")) if isinstance(row, Notice)]
    assert "1,100 of 1,100 targets" in notice.text


def test_crlf_is_read_and_shown_with_file_and_line(tmp_path: Path) -> None:
    folder = plain(tmp_path, "copy A1 B2\nreverse A1 B2\r\n")
    (problem,) = pcfgset.check(folder, {})
    assert (problem.level, problem.place) == ("warning", "test.src, line 2")
    assert "CRLF" in problem.message
    outcomes = [row.value for row in pcfgset.read(folder, {})[0].run(Oracle("pcfgset")) if isinstance(row, Outcome)]
    assert outcomes == [True, True]


def test_a_repeated_source_is_odd(tmp_path: Path) -> None:
    (problem,) = pcfgset.check(plain(tmp_path, "copy A1\ncopy A1\n", "A1\nA1\n"), {})
    assert (problem.level, problem.place) == ("warning", "test.src, line 2")


def test_checking_a_folder_names_the_folders_below(tmp_path: Path) -> None:
    published(tmp_path)
    plain(tmp_path / "systematicity", "copy\n", "A1\n")
    assert [problem.place for problem in pcfgset.check(tmp_path, {})] == ["systematicity/test.src, line 1, column 5"]


def test_checking_finds_faults_in_every_split(tmp_path: Path) -> None:
    write(plain(tmp_path), {"train.src": "copy\n", "train.tgt": "A1\n"})
    assert [problem.place for problem in pcfgset.check(tmp_path, {})] == ["train.src, line 1, column 5"]


def test_a_suite_full_of_faults_shows_the_first_twenty(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="5 more; `wug check` lists them all"):
        pcfgset.read(plain(tmp_path, "copy\n" * 25, "A1\n" * 25), {})


def test_an_empty_file_is_a_fault(tmp_path: Path) -> None:
    plain(tmp_path, "", "")
    assert [problem.message for problem in pcfgset.check(tmp_path, {})] == ["the file is empty", "the file is empty"]
