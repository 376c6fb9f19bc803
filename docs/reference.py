"""Write docs/reference.md from the docstrings of what `import wug` offers: `python docs/reference.py`."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import wug

TARGET = Path(__file__).with_name("reference.md")
SECTION = re.compile(r"(?m)^(Args|Returns|Raises|Examples):$")
HEAD = """# Python reference

Every public name of `wug`. `python docs/reference.py` generates this page from the docstrings, and tests run the
examples. New here? Take the [Python tutorial](tutorial-python.md), or read the [Python guide](python.md).
"""


def page() -> str:
    """The whole page: functions, then types."""
    functions = [name for name in dir(wug) if not inspect.isclass(getattr(wug, name))]
    types = [name for name in dir(wug) if inspect.isclass(getattr(wug, name))]
    parts = [HEAD, "## Functions", *(_function(f"wug.{name}", getattr(wug, name), "###") for name in functions)]
    parts += ["## Types", *("\n\n".join(_class(name, getattr(wug, name))) for name in types)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _function(name: str, function: Any, level: str) -> str:
    return f"{level} {name}\n\n```text\n{_signature(name, function)}\n```\n\n{_doc(function)}"


def _class(name: str, kind: type) -> Iterator[str]:
    yield f"### wug.{name}"
    yield _doc(kind)
    fields = _fields(kind)
    own = [base for base in reversed(kind.__mro__) if base.__module__.startswith("wug.")]
    known = {key: value for base in own for key, value in vars(base).items()}
    members = [(key, value) for key, value in known.items() if not key.startswith("_") and key not in fields]
    lines = [f"- `{key}`: {text}".rstrip(": ") for key, text in fields.items()]
    lines += [f"- `{key}`: {_line(value)}" for key, value in members if isinstance(value, property)]
    lines += [f"- `{_signature(key, value)}`: {_line(value)}" for key, value in members if _is_method(value)]
    yield "\n".join(lines)


def _fields(kind: type) -> dict[str, str]:
    """The fields of a class with the sentences below them: annotated names, and what a constructor sets."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    made = [node.body for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    found = {}
    for body in (tree.body, *made):
        for node, after in zip(body, [*body[1:], None], strict=True):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            name = getattr(targets[0], "attr", getattr(targets[0], "id", "_"))
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            if not name.startswith("_") and (text or isinstance(node, ast.AnnAssign)):
                found[name] = " ".join(str(text).split())
    return found


def _is_method(value: object) -> bool:
    return inspect.isfunction(value) or isinstance(value, classmethod)


def _signature(name: str, function: Any) -> str:
    plain = function.__func__ if isinstance(function, classmethod) else function
    found = inspect.signature(plain)
    own = [one for one in found.parameters.values() if one.name not in ("self", "cls")]
    text = str(found.replace(parameters=own))
    return name + re.sub(r"'((?:[^'\\]|\\.)*?)'(?=[,)\s=]|$)", _unquoted, text)


def _unquoted(found: re.Match[str]) -> str:
    """An annotation without its quotation marks; a default value keeps them."""
    before = found.string[: found.start()].rstrip()
    return found[1] if before.endswith((":", "->")) else found[0]


def _doc(thing: Any) -> str:
    """A docstring as Markdown: its sections are lists, examples and code."""
    first, *parts = SECTION.split(inspect.cleandoc(thing.__doc__ or ""))
    made = [first.strip()]
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        text = textwrap.dedent(body.strip("\n"))
        if title == "Examples":
            made.append(f"```text\n{text.rstrip()}\n```")
        elif title == "Returns":
            made.append(f"**Returns:** {' '.join(text.split())}")
        else:
            entries = [" ".join(entry.split()) for entry in re.split(r"\n(?=\S)", text.strip())]
            listed = [re.sub(r"^(\*{0,2}\w+): ", r"- `\1`: ", entry) for entry in entries]
            made.append(f"**{'Parameters' if title == 'Args' else title}**\n\n" + "\n".join(listed))
    return "\n\n".join(made)


def _line(thing: Any) -> str:
    plain = thing.fget if isinstance(thing, property) else thing.__func__ if isinstance(thing, classmethod) else thing
    return " ".join(SECTION.split(inspect.cleandoc(plain.__doc__ or ""))[0].split())


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
