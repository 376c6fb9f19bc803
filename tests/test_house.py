"""The size of the source tree does not grow unnoticed."""

from __future__ import annotations

from pathlib import Path

from house import Counts, count

AT_MOST = Counts(files=446, lines=63_600, untyped=517, class_names_used_twice=64, long_modules=3)
"""Lower these when the tree shrinks. Where it has to grow, the change says why."""


def test_the_tree_is_no_larger_than_agreed() -> None:
    found = count()
    for name in Counts.__slots__:
        assert getattr(found, name) <= getattr(AT_MOST, name), f"{name}: {getattr(found, name):,}"


def test_files_lines_untyped_values_and_names_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x: Any = 1\nclass Line:\n    pass\n")
    (tmp_path / "b.py").write_text("class Line:\n    pass\nclass _Own:\n    pass\n" + "\n" * 400)
    assert count(tmp_path) == Counts(2, 407, 1, 1, 1)
