"""The oldest versions that pyproject.toml allows, as constraints for pip: `python tests/lowest.py > lowest.txt`.

Of what wug runs with, in its core and its extras; tools of development stay as they are. `make lowest` runs the tests
with them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
TOOLS = ("dev", "docs", "models")
PINNED = {"torch"}
"""As constraints.txt has it."""


def lowest(project: Path = PROJECT) -> Iterator[str]:
    """A line for each package: its name and the version that its range begins with."""
    about = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    extras = [names for extra, names in about["optional-dependencies"].items() if extra not in TOOLS]
    for wanted in sorted({one for names in (about["dependencies"], *extras) for one in names}):
        name, _, rest = wanted.partition(">=")
        if rest and name not in PINNED and "[" not in name:
            yield f"{name}=={re.split('[,;]', rest)[0].strip()}"


if __name__ == "__main__":
    print("\n".join(lowest()))
