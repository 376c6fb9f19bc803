"""The prose linter: what it finds, and that it finds nothing in the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

import prose


@pytest.mark.parametrize("page", prose.PAGES, ids=lambda page: str(page.relative_to(prose.ROOT)))
def test_a_page_is_in_standard_english(page: Path) -> None:
    assert list(prose.problems(page)) == []


def test_the_source_is_in_standard_english() -> None:
    assert [problem for path in prose.MODULES for problem in prose.source_problems(path)] == []


def test_docstrings_and_comments_of_tests_and_benchmarks_are_in_standard_english() -> None:
    assert [problem for path in sorted(prose.TESTS) for problem in prose.source_problems(path)] == []


def test_other_texts_of_tests_are_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "test_module.py"
    path.write_text('"""A table."""\nx = "so many of them"  # it stands here\n', encoding="utf-8")
    monkeypatch.setattr(prose, "TESTS", {path})
    assert [problem.partition(" ")[0] for problem in prose.source_problems(path)] == ["test_module.py:2:"]


def test_folders_of_the_source_that_are_left_out_exist() -> None:
    assert all((prose.SOURCE / name).is_file() for name in prose.EXEMPT)


@pytest.mark.parametrize(
    "code",
    [
        '"""A table stands here."""',
        "x = 1  # so many of them",
        'raise ValueError(f"{x} is no number")',
        'x = """\n95 % of them\n"""',
    ],
)
def test_the_former_style_is_found_in_source(tmp_path: Path, code: str) -> None:
    (tmp_path / "module.py").write_text(code + "\n", encoding="utf-8")
    assert len(list(prose.source_problems(tmp_path / "module.py"))) == 1


@pytest.mark.parametrize("code", ["beside = stands('anew')", '"""`so many` in code."""', 'x = {"alike": 1}'])
def test_names_keys_and_code_are_not_prose(tmp_path: Path, code: str) -> None:
    (tmp_path / "module.py").write_text(code + "\n", encoding="utf-8")
    assert list(prose.source_problems(tmp_path / "module.py")) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The table has one row a word.", "one row a word"),
        ("It takes 0.2 nats a token.", "nats a token"),
        ("A table stands beside it.", "stands"),
        ("The run goes on where it was.", "goes on"),
        ("A tie is no success.", "is no"),
        ("This is right in 95 % of samples.", "95%"),
        ("word " * 31 + ".", "31 words per sentence"),
    ],
)
def test_the_former_style_is_found(tmp_path: Path, text: str, found: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{text}\n", encoding="utf-8")
    assert any(found in problem for problem in prose.problems(page))


@pytest.mark.parametrize(
    "text",
    [
        "There is no limit. A word of a text is no longer read.",
        "```text\none row a word stands beside 95 %\n```",
        "Use `beside`, as in `one row a word`.",
        "<!-- options: families/pairs -->\n| a | stands beside |\n<!-- end -->",
        "| " + "word " * 40 + "|",
        "Understand the standard: it is given for each word in a text.",
    ],
)
def test_code_generated_tables_and_good_english_are_not_found(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert list(prose.problems(page)) == []
