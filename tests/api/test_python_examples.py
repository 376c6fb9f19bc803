"""The examples of docs/python.md and the README pass mypy strict, and run with the names of local models."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest

import tiny
import tiny_masked
import wug

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"
FENCED = re.compile(r"^(<!-- not run: [^>]*-->\n\n)?```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples(page: Path) -> list[tuple[bool, str]]:
    """The Python of a page: whether it names models on the Hugging Face Hub, and the code."""
    return [(bool(mark), code) for mark, code in FENCED.findall(page.read_text(encoding="utf-8"))]


def execute(code: str, names: dict[str, Any]) -> None:
    exec(compile(code, "<example>", "exec"), names)


def test_the_page_has_examples() -> None:
    assert len(examples(PAGE)) > 8
    assert [of_the_hub for of_the_hub, _ in examples(PAGE)].count(True) == 1


def test_the_first_example_runs_with_models_that_are_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces names of the Hugging Face Hub and the catalogue by local ones; nothing else changes."""
    monkeypatch.chdir(tmp_path)
    causal = tiny.save_causal(tmp_path / "causal")
    masked = tiny_masked.save_masked(tmp_path / "masked")
    (tmp_path / "my_suite.json").write_text(_suite(), encoding="utf-8")
    places = {"causal:gpt2": f"causal:{causal}", "cuda": "cpu", "masked:bert-base-cased": f"masked:{masked}"}
    (code,) = [code for of_the_hub, code in examples(PAGE) if of_the_hub]
    for name, here in {**places, "blimp": "wug_coord", "limit=200": "limit=3"}.items():
        assert name in code
        code = code.replace(name, here)
    names: dict[str, Any] = {}
    execute(code, names)
    assert [result.suite for result in names["results"]] == ["wug_coord", "agreement"] * 2
    assert names["model"].options["dtype"] == "bfloat16"
    assert (tmp_path / "words.parquet").is_file()
    assert wug.open_store("runs").runs()["status"] == ["complete", "complete"]


def test_the_examples_pass_mypy_strict(tmp_path: Path) -> None:
    from mypy import api

    written = []
    for number, code in enumerate(code for of_the_hub, code in examples(PAGE) if of_the_hub):
        written.append(_written(tmp_path / f"hub_{number}.py", code))
    rest = "\n".join(code for of_the_hub, code in examples(PAGE) if not of_the_hub)
    written.append(_written(tmp_path / "python_md.py", rest))
    for number, (_, code) in enumerate(examples(ROOT / "README.md")):
        written.append(_written(tmp_path / f"readme_{number}.py", code))
    wrong = _written(tmp_path / "wrong.py", "import wug\n\nwug.open_model('causal:gpt2').score('a').surprisl()\n")
    options = ["--strict", f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={ROOT / '.mypy_cache'}"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a parser that mypy brings along
        output, errors, status = api.run([*options, *written, wrong])
    assert (errors, status) == ("", 1)
    # Of a file that it has seen before, mypy names the folder in which it saw it.
    assert [line.rpartition("/")[2] for line in output.splitlines() if "error:" in line] == [
        'wrong.py:3: error: "Scored" has no attribute "surprisl"; maybe "surprisal"?  [attr-defined]'
    ]


def test_every_name_is_on_the_page_and_every_name_on_the_page_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = set(re.findall(r"\bwug\.([A-Za-z_]+)", text)) - {"db", "evaluation", "texts"}
    assert named == set(dir(wug))


def _written(path: Path, code: str) -> str:
    path.write_text(code, encoding="utf-8")
    return str(path)


def _suite() -> str:
    conditions = ", ".join(
        f'{{"condition_name": "{name}", "regions": [{{"region_number": 1, "content": "the boy {verb}"}}]}}'
        for name, verb in (("match", "swims"), ("mismatch", "swim"))
    )
    return (
        '{"meta": {"name": "agreement"}, "region_meta": {"1": "all"}, "predictions": ["(1;%match%) < (1;%mismatch%)"],'
        f' "items": [{{"item_number": 1, "conditions": [{conditions}]}}]}}'
    )
