"""The recorder of benchmarks: what it keeps, and what becomes of it in the docs."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The module, with a temporary folder and temporary pages."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("recorded", BENCHMARKS / "recorded.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    for name in ("page", "log"):
        monkeypatch.setattr(module, name.upper(), tmp_path / f"{name}.md")
        (tmp_path / f"{name}.md").write_text("before\n<!-- recorded -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["recorded.py", "--quick"])
    return module


def test_what_a_benchmark_prints_is_kept_and_is_in_the_log(recorded: ModuleType, tmp_path: Path) -> None:
    path = recorded.RESULTS / "cpu.json"
    recorded.record(path, {"help": ["cogs.py", "--help"], "broken": ["cogs.py", "--nonsense"]}, None)
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["benchmarks"]["help"]["command"] == "python benchmarks/cogs.py --help"
    assert kept["benchmarks"]["help"]["printed"].startswith("usage: cogs.py")
    assert "--nonsense" in kept["benchmarks"]["broken"]["failed"]
    assert all({"numpy", "commit"} <= found["versions"].keys() for found in kept["benchmarks"].values())
    recorded.write_docs()
    page = (tmp_path / "log.md").read_text(encoding="utf-8")
    assert page.startswith("before\n<!-- recorded -->\nOn ")
    assert page.endswith("\n<!-- end -->\nafter\n")
    assert "usage: cogs.py" in page
    assert "old" not in page
    assert page.count(f"numpy {kept['benchmarks']['help']['versions']['numpy']}") == 1, "the same for both"


def test_one_benchmark_is_recorded_again_and_the_others_are_kept(recorded: ModuleType) -> None:
    path = recorded.RESULTS / "cpu.json"
    plan = {"first": ["cogs.py", "--help"], "second": ["masked.py", "--help"]}
    recorded.record(path, plan, None)
    before = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    recorded.record(path, {**plan, "second": ["cogs.py", "--help"]}, ["second"])
    after = json.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    assert after["first"] == before["first"]
    assert after["second"]["command"] == "python benchmarks/cogs.py --help"
    after["first"]["versions"]["numpy"] = "1.0"
    page = recorded.details({"benchmarks": after}).partition("### second")
    assert "numpy 1.0" in page[0], "what differs is given for each"
    assert f"numpy {after['second']['versions']['numpy']}" in page[2]
    with pytest.raises(SystemExit, match="no benchmark is called third: first, second"):
        recorded.record(path, plan, ["third"])


def test_every_planned_command_is_a_benchmark_with_a_title(recorded: ModuleType) -> None:
    for plan in (recorded.FULL, recorded.AIMED, recorded.QUICK, recorded.on_gpu(dry=False), recorded.on_gpu(dry=True)):
        for name, command in plan.items():
            assert name in recorded.TITLES
            assert (BENCHMARKS / command[0]).is_file()


def test_targets_and_measurements_are_one_table_of_the_page(
    recorded: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "benchmarks").mkdir()
    code = f"""
import sys
sys.path.insert(0, {str(BENCHMARKS)!r})
from timing import aim
aim("a run", "≤ 5 s", "4.0 s", met=True, peer="a loop: 9.0 s")
aim("a report", "< 700 MB", "800 MB", met=False)
print("| a | table |")
"""
    (tmp_path / "benchmarks" / "aiming.py").write_text(code, encoding="utf-8")
    monkeypatch.setattr(recorded, "ROOT", tmp_path)
    recorded.record(recorded.RESULTS / "cpu.json", {"aiming": ["aiming.py"]}, None)
    recorded.write_docs()
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| a run | ≤ 5 s | 4.0 s | a loop: 9.0 s | yes | " in page
    assert "| a report | < 700 MB | 800 MB |  | **no** | " in page
    assert "| a | table |" in (tmp_path / "log.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["benchmarks.md", "benchmark-log.md"])
def test_the_pages_of_the_docs_have_markers(recorded: ModuleType, name: str) -> None:
    text = (BENCHMARKS.parent / "docs" / name).read_text(encoding="utf-8")
    assert text.count(recorded.BEGIN) == 1
    assert recorded.END in text.partition(recorded.BEGIN)[2]
