"""The files that are made, and that this program reads them back without an error."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from wug.errors import InputError, UnknownName
from wug.families import pcfgset
from wug.families.pcfgset.make import DataPlan, make, read_samples, sources_of
from wug.files import write_lines
from wug.models.oracle import Oracle
from wug.outcomes import Outcome

SMALL = DataPlan(seed=1, sizes={"train": 2_000, "dev": 50, "test": 200}, ratios=(0.005,), per_function=20, rounds=2)


@cache
def small(kind: str) -> dict[str, list[str]]:
    """The files of a small set, made once."""
    return make(kind, SMALL)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("pcfgset", {"train", "dev", "test"}),
        ("systematicity", {"train", "dev", "test"}),
        ("productivity", {"train", "dev", "test"}),
        ("increasing-length", {"increasing_length"}),
        (
            "overgeneralisation",
            {
                "dev",
                "train_pcfg_ratio=0.005",
                "test_pcfg_ratio=0.005_exception",
                "test_pcfg_ratio=0.005_original",
            },
        ),
        (
            "substitutivity",
            {
                f"{condition}/{name}"
                for condition in ("equally_distributed", "primitive")
                for name in ("train", "dev", "test", "test_twin")
            },
        ),
    ],
)
def test_files_have_the_published_names(kind: str, names: set[str]) -> None:
    assert set(small(kind)) == {f"{name}.{end}" for name in names for end in ("src", "tgt")}


def test_localism_files_have_the_published_names() -> None:
    assert set(small("localism")) == {"unrolled_train.tsv", "unrolled_test.tsv"}


KINDS = ("pcfgset", "systematicity", "productivity", "substitutivity", "localism", "overgeneralisation")


@pytest.mark.parametrize("kind", [*KINDS, "increasing-length"])
def test_what_is_made_is_read_without_a_fault_and_an_oracle_passes_it(kind: str, tmp_path: Path) -> None:
    paths = write_lines(small(kind), tmp_path / kind)
    assert all(path.exists() for path in paths)
    assert [problem for problem in pcfgset.check(tmp_path / kind, {}) if problem.level == "error"] == []
    for suite in pcfgset.read(tmp_path / kind, {}):
        rows = [row for row in suite.run(Oracle("pcfgset")) if isinstance(row, Outcome)]
        assert all(row.value for row in rows if row.metric in ("accuracy", "consistency", "overgeneralisation"))


def test_the_same_plan_gives_the_same_files() -> None:
    assert make("substitutivity", SMALL) == small("substitutivity")


def test_a_set_can_be_made_of_files_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "test.src").write_text("repeat copy A1 B2\ncopy A1 B2\n")
    for base in (tmp_path, tmp_path / "test.src"):
        assert make("localism", DataPlan(base=base)) == {
            "unrolled_test.tsv": [
                "unrolled\tcopy A1 B2 \t*1",
                "unrolled\trepeat *1\tA1 B2 A1 B2",
                "original\trepeat copy A1 B2\tA1 B2 A1 B2",
            ]
        }


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'localism'"):
        make("localsm", SMALL)


def test_a_folder_without_sources_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no train\.src, dev\.src or test\.src"):
        make("localism", DataPlan(base=tmp_path))


def test_exceptions_need_training_lines(tmp_path: Path) -> None:
    (tmp_path / "test.src").write_text("copy A1 B2\n")
    with pytest.raises(InputError, match="exceptions need training lines"):
        make("overgeneralisation", DataPlan(base=tmp_path))


def test_a_faulty_source_gives_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "test.src"
    path.write_text("copy A1\ncopy\n")
    with pytest.raises(InputError, match=r"test\.src, line 2: 'copy' has no argument"):
        read_samples(path)
    path.write_text("")
    with pytest.raises(InputError, match="the file has no sources"):
        read_samples(path)


def test_the_sources_of_files_are_each_given_once() -> None:
    files = {
        "a.src": ["copy A1"],
        "a.tgt": ["A1"],
        "b.src": ["copy A1"],
        "c.tsv": ["unrolled\tcopy B2 \t*1", "original\techo copy B2\tB2 B2"],
    }
    assert sources_of(files) == {"a.src": ["copy A1"], "c.tsv": ["echo copy B2"]}
