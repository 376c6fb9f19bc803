"""The layers of the program: who may import whom, and what may be imported when a module is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from wug import registry

SOURCE = Path(__file__).resolve().parents[1] / "src" / "wug"
CORE = {
    *("errors", "files", "registry", "options", "rows", "stats", "stats_paired", "alignment", "tables"),
    *("arguments", "arrays", "formatting", "interfaces", "labels", "scores", "distributions", "timings", "identity"),
    *("configuration", "outcomes", "patterns", "problems", "record_tables", "requests", "samples", "traits"),
}
ALLOWED = {
    "arguments": {"errors"},
    "traits": set(),
    "types": CORE | {"families", "models", "views"},  # for plugins; no module imports it
    "requests": {"errors", "traits"},
    "outcomes": {"identity", "labels"},
    "identity": set(),
    "formatting": {"identity", "outcomes", "registry"},
    "labels": {"formatting", "identity", "registry", "tables"},
    "errors": set(),
    "files": {"errors"},
    "interfaces": {"errors", "identity", "options", "outcomes", "problems", "requests", "traits"},
    "registry": {"errors", "identity", "interfaces", "requests", "traits"},
    "problems": {"errors"},
    "record_tables": {"errors", "files", "formatting", "problems"},
    "options": {"errors", "files"},
    "rows": {"errors", "outcomes"},
    "arrays": set(),
    "distributions": {"arrays"},
    "stats": {"arrays", "distributions", "identity", "outcomes"},
    "stats_paired": {"arrays", "distributions", "outcomes", "stats"},
    "alignment": {"errors", "requests"},
    "tables": {"arguments", "errors", "files", "formatting", "interfaces", "registry"},
    "scores": {"arrays", "errors", "requests"},
    "timings": set(),
    "samples": {"outcomes", "registry"},
    "patterns": {"errors"},
    "configuration": {"arguments", "errors", "files", "labels", "outcomes", "tables"},
    "data": {"data", "errors", "files", "formatting", "registry"},
    "families": CORE | {"exchange", "families", "texts", "views"},
    "models": CORE | {"models"},
    "train": CORE | {"evaluation", "models", "train"},
    "views": CORE | {"results", "views"},
    "results": CORE | {"results", ""},
    "evaluation": CORE | {"data", "evaluation", "models", "results", ""},
    "exchange": CORE | {"data", "exchange", "results", ""},
    "api": CORE | {"api", "evaluation", "exchange", "families", "results", "texts", "views"},
    "testing": CORE | {"evaluation", "results", "views", "web"},
    "texts": CORE | {"evaluation", "texts"},
    "web": CORE | {"evaluation", "results", "views", "web"},
    "reproduce": CORE | {"data", "reproduce", "results", "views"},
}
ALLOWED_FOR_TYPES = {
    "errors": {"problems"},  # a SuiteError lists the problems of a file
    "interfaces": {"models", "samples", "tables"},  # all three use the registry
    "labels": {"interfaces", "outcomes"},
}
"""What else a module of the core may import for annotations alone (`if TYPE_CHECKING`)."""
HEAVY = {
    "torch",
    "transformers",
    "tokenizers",
    "scipy",
    "altair",
    "vl_convert",
    "duckdb",
    "pyarrow",
    "pandas",
    "polars",
    "starlette",
    "uvicorn",
    "playwright",
    "openpyxl",
    "ray",
    "accelerate",
    "bitsandbytes",
    "gguf",
    "peft",
    "torchao",
}
AT_HOME = {"web": {"starlette"}}
"""What a layer is made of may be imported at the top of its modules; `wug.cli` imports that layer late."""

KNOWS_NAMES = {
    "__init__": "one public function for reading times, whose result is not that of a run",
    "api/reading": "reading times from Python: several predictor sets on the same rows",
    "cli/reading": "reading times from the command line, in the words of their users",
    "cli/train": "one command per architecture",
    "train": "trains models of some backends and writes their folders",
}
"""Modules that may contain names of families and backends, with the reason."""
OTHER_MEANINGS = {
    "command": {"cli", "results"},
    "choices": {"exchange", "models"},
    "function": {"families"},
    "pairs": {"web"},
    "prompt": {"families"},
    "reading": {"models", "results"},
}
"""Names that are ordinary words in some layers: a command line, a field of a server's answer, all pairs of runs, one of
two readings of a source, what a model is asked."""

MODULES = sorted(SOURCE.rglob("*.py"))


def layer(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


@cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a file, parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, *, top_only: bool, members: bool = False, for_types: bool = False) -> set[str]:
    """The modules that a file imports, with `members` also what it imports from them.

    Those in `if TYPE_CHECKING` are left out, unless `for_types`.
    """
    found: set[str] = set()
    waiting: list[ast.AST] = [tree_of(path)]
    while waiting:
        node = waiting.pop()
        if not for_types and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if top_only and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "wug":
                found |= {f"wug.{alias.name}" for alias in node.names}
            else:
                found.add(node.module or "")
                found |= {f"{node.module}.{alias.name}" for alias in node.names} if members else set()
        waiting.extend(ast.iter_child_nodes(node))
    return found


@pytest.mark.parametrize("for_types", [False, True], ids=["at run time", "for types"])
def test_a_module_imports_only_from_layers_below_it(for_types: bool) -> None:
    for path in MODULES:
        own = layer(path)
        if own in ("__init__", "__main__", "cli"):
            continue
        for name in imports(path, top_only=False, for_types=for_types):
            parts = name.split(".")
            if parts[0] == "wug":
                target = parts[1] if len(parts) > 1 else ""
                allowed = (
                    ALLOWED[own]
                    | {own}
                    | (ALLOWED_FOR_TYPES.get(own, set()) if for_types else set())
                    | ({"__version__"} if own in ("evaluation", "exchange", "results", "train", "web") else set())
                )
                assert target in allowed, f"{path.relative_to(SOURCE)} imports wug.{target}"


def test_a_family_imports_no_other_family() -> None:
    """It finds one by name, in the registry; what several need is in the modules of `families`, or below."""
    families = set(registry.names("families"))
    for path in (path for path in MODULES if layer(path) == "families"):
        own = path.relative_to(SOURCE).parts[1]
        imported = [name.split(".") for name in imports(path, top_only=False, members=True)]
        others = {parts[2] for parts in imported if parts[:2] == ["wug", "families"] and len(parts) > 2} - {own}
        assert not others & families, path.relative_to(SOURCE)


def test_only_backends_and_training_import_the_code_for_hugging_face() -> None:
    """Other code knows what backends declare: `open_loaded`, `snapshot`, `revisions`."""
    for path in (path for path in MODULES if layer(path) not in ("models", "train")):
        found = {name for name in _imported_names(path) if name.startswith(("wug.models.huggingface", "huggingface_"))}
        assert not found, path.relative_to(SOURCE)


def test_heavy_packages_are_imported_late() -> None:
    """Inside functions, or at the top of modules of `models` and `train` that are imported inside functions."""
    tops = {path: imports(path, top_only=True, members=True) for path in MODULES}
    heavy = {
        path
        for path, found in tops.items()
        if any(name.split(".")[0] in HEAVY - AT_HOME.get(layer(path), set()) for name in found)
    }
    for path in heavy:
        assert layer(path) in ("models", "train"), path.relative_to(SOURCE)
        assert path.stem != "__init__", path.relative_to(SOURCE)
    late = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in heavy}
    for path in tops.keys() - heavy:
        assert not tops[path] & late, path.relative_to(SOURCE)


def test_only_the_web_layer_imports_it_at_the_top_of_a_module() -> None:
    for path in (path for path in MODULES if layer(path) != "web"):
        found = {name for name in imports(path, top_only=True) if name.startswith("wug.web")}
        assert not found, path.relative_to(SOURCE)


def test_the_site_names_no_family_and_no_backend() -> None:
    """What it needs of one is declared there: `editor`, `view`, `TRAITS`."""
    ordinary_words = {"choices", "pairs", "reading", "command", "endpoint", "function", "prompt", "replay"}
    names = {*registry.names("families"), *registry.names("models"), "circuit"} - ordinary_words
    for path in (path for path in MODULES if layer(path) == "web"):
        found = names & set(re.findall(r"[a-z0-9_]+", path.read_text(encoding="utf-8").lower()))
        assert not found, path.relative_to(SOURCE)


def test_nobody_imports_the_private_names_of_another_package() -> None:
    """A name that begins with `_` is for its package and the packages inside it."""
    for path in MODULES:
        home = ".".join(("wug", *path.relative_to(SOURCE).with_suffix("").parts, ""))
        for name in _imported_names(path):
            parts = name.split(".")
            private = next(
                (at for at, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")), None
            )
            if parts[0] == "wug" and private is not None:
                assert home.startswith(".".join((*parts[:private], ""))), f"{home[:-1]} imports {name}"


@pytest.mark.parametrize("folder", ["families", "models"])
def test_no_module_outside_them_contains_the_name_of_a_family_or_a_backend(folder: str) -> None:
    names = set(registry.names(folder))
    for path in MODULES:
        inside = path.relative_to(SOURCE).as_posix()
        if layer(path) == folder or inside.startswith(tuple(KNOWS_NAMES)):
            continue
        imported = {parts[2] for name in _imported_names(path) if (parts := name.split("."))[:2] == ["wug", folder]}
        written = {name for name in _literals(path) if layer(path) not in OTHER_MEANINGS.get(name, ())}
        assert not names & (imported | written), f"{inside} names {names & (imported | written)}"


def _literals(path: Path) -> Iterator[str]:
    """Every text in a file that is a value."""
    found = (node.value for node in ast.walk(tree_of(path)) if isinstance(node, ast.Constant))
    return (value for value in found if isinstance(value, str))


def _imported_names(path: Path) -> Iterator[str]:
    """Every name that a file imports, with the module that it comes from."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_module_changes_shutdown_json_or_thresholds_of_the_garbage_collector() -> None:
    """What one command changes there, all other code of the process has to live with."""
    hooks = {"_shutdown", "_run_exitfuncs", "c_make_encoder", "set_threshold"}
    for path in MODULES:
        names = {node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}
        strings = {node.value for node in ast.walk(tree_of(path)) if isinstance(node, ast.Constant)}
        assert not hooks & (names | strings), path
